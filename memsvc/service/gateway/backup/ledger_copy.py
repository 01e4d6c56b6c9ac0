"""The copy of a ledger that travels: without the index, without a trace of what was deleted."""

from pathlib import Path

from memsvc.database import Database
from memsvc.errors import StorageFailed
from memsvc.index import schema
from memsvc.ledger.chain import Verdict
from memsvc.service.gateway.backup.backing import check_ledger

__all__ = ["slim"]


def slim(path: Path) -> Verdict:
    """Drop what can be rebuilt and write the file anew; what its chain shows.

    Raises InvalidInput when the chain does not hold, Misconfigured for a file that is no ledger,
    StorageFailed.
    """
    database = Database(path)
    try:
        with database.write(durable=False) as connection:
            schema.drop(connection)
        if not database.rewrite():
            raise StorageFailed("the copy of the ledger is in use by somebody else; repeat")
    finally:
        database.close()
    return check_ledger(path)
