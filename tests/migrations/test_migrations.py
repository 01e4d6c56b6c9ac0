"""Alembic brings a database to the tables that the code uses, with the guards in place."""

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError

from memsvc.database import Database
from memsvc.errors import Misconfigured
from memsvc.ledger.migrate import revision_of, scripts, upgrade
from memsvc.ledger.tables import HEAD, ledger


@pytest.fixture
def database(tmp_path: Path) -> Database:
    made = Database(tmp_path / "memsvc.db")
    upgrade(made)
    return made


def test_there_is_one_head_and_the_code_knows_it() -> None:
    config = Config()
    config.set_main_option("script_location", str(scripts()))
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]


def test_migrations_make_exactly_the_tables_of_the_code(database: Database) -> None:
    with database.read() as connection:
        context = MigrationContext.configure(
            connection,
            opts={"include_name": lambda name, kind, _: kind != "table" or name in ledger.tables},
        )
        assert compare_metadata(context, ledger) == []
        assert revision_of(connection) == HEAD


def test_a_second_upgrade_does_nothing(database: Database) -> None:
    assert upgrade(database) is False


def test_a_database_of_a_newer_version_is_refused_and_kept(database: Database) -> None:
    with database.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(Misconfigured, match="9999"):
        upgrade(database)


@pytest.mark.guarantee("A1")
@pytest.mark.parametrize(
    "statement", ["UPDATE audit_event SET reason = 'x'", "DELETE FROM audit_event"]
)
def test_events_refuse_update_and_delete(database: Database, statement: str) -> None:
    with database.write() as connection:
        connection.execute(
            text("INSERT INTO audit_event (action, outcome) VALUES ('save', 'done')")
        )
    with pytest.raises(IntegrityError, match="append-only"), database.write() as connection:
        connection.execute(text(statement))
    with database.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM audit_event")).scalar() == 1


def test_tombstones_refuse_deletion_and_other_changes_than_lifting(database: Database) -> None:
    with database.write() as connection:
        connection.execute(text("INSERT INTO tombstone (tombstone_id, digest) VALUES ('a', 'b')"))
    for statement in ("DELETE FROM tombstone", "UPDATE tombstone SET digest = 'c'"):
        with pytest.raises(IntegrityError, match="lifted"), database.write() as connection:
            connection.execute(text(statement))
    with database.write() as connection:
        connection.execute(text("UPDATE tombstone SET lifted_at = 'now'"))
