"""Runs the ledger's migrations on the connection that memsvc hands over, or on MEMSVC_HOME's database."""

from alembic import context
from sqlalchemy import Connection

from memsvc.ledger.tables import ledger


def _run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=ledger,
        include_name=lambda name, kind, _parents: kind != "table" or name in ledger.tables,
        render_as_batch=False,
        transactional_ddl=True,
    )
    with context.begin_transaction():
        context.run_migrations()


connection = context.config.attributes.get("connection")
if connection is not None:
    _run(connection)
else:
    import os

    from memsvc.database import Database
    from memsvc.settings import load_settings

    settings = load_settings(os.environ, {})
    with Database(settings.home / "memsvc.db").write() as own:
        _run(own)
