"""A note leaves recall: its text ends, its names are free again, and nothing of it waits any more."""

from datetime import datetime

from sqlalchemy import Connection

from memsvc.clock import stamp
from memsvc.index import writer as index
from memsvc.ledger import writer as ledger
from memsvc.ledger.records import NoteRecord
from memsvc.model.vocabulary import Status

__all__ = ["leave"]


def leave(
    connection: Connection,
    note: NoteRecord,
    *,
    now: datetime,
    status: Status,
    end_mode: str,
    withheld: str,
    state: str,
    trash_path: str = "",
) -> None:
    """Take a note out of every reader's sight, in the caller's transaction.

    `end_mode` says how its present version ends, `withheld` why it is gone, `state` how its review
    items are closed, `trash_path` where its file goes.
    """
    at = stamp(now)
    ledger.end_version(connection, note.note_id, note.version, recorded_to=at, end_mode=end_mode)
    ledger.update_note(
        connection,
        note.note_id,
        status=status.value,
        withheld=withheld,
        trash_path=trash_path,
        updated_at=at,
    )
    ledger.set_names(connection, note.note_id, vault=note.vault, names=())
    ledger.close_reviews(connection, note.note_id, at=now, state=state)
    index.remove_note(connection, note.note_id)
