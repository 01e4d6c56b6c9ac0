"""Brings a database's ledger to this version's schema; Alembic is imported only when there is work."""

from pathlib import Path

from sqlalchemy import Connection, text

import memsvc
from memsvc.database import Database, table_exists
from memsvc.errors import Misconfigured
from memsvc.ledger.tables import HEAD

__all__ = ["revision_of", "scripts", "upgrade"]


def scripts() -> Path:
    """The folder of migration scripts: inside the wheel, or beside the package in a checkout."""
    package = Path(memsvc.__file__).parent
    shipped = package / "_migrations"
    return shipped if shipped.is_dir() else package.parent / "alembic"


def revision_of(connection: Connection) -> str:
    """The migration the database stands at; empty for a new one."""
    if not table_exists(connection, "alembic_version"):
        return ""
    return str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar() or "")


def upgrade(database: Database) -> bool:
    """Upgrade to HEAD in one transaction; whether anything was done.

    Raises Misconfigured when the database was made by a newer memsvc.
    """
    with database.read() as connection:
        if revision_of(connection) == HEAD:
            return False
    from alembic import command  # imports Mako and more: only when there is a migration to run
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(scripts()).replace("%", "%%"))
    with database.write() as connection:
        found = revision_of(connection)
        if found == HEAD:
            return False
        known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
        if found and found not in known:
            raise Misconfigured(
                f"the database is at schema {found}, which this memsvc does not know: "
                "install the newer version that made it"
            )
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        return True
