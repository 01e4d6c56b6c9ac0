"""How many writes of one principal the last hour holds: what the budget of a vault counts."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection

from memsvc.clock import stamp
from memsvc.database import Database
from memsvc.ledger import migrate, registry, writer
from memsvc.model.events import NewEvent
from memsvc.model.identity import Caller, Principal, Scope
from memsvc.model.vocabulary import Action, Outcome, PrincipalKind, ProjectSlug, VaultName

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
TEAM = VaultName("team")
SCOPE = Scope(TEAM, ProjectSlug("heron"))
ME = Principal(PrincipalKind.AGENT, "tester")


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    database = Database(tmp_path / "memsvc.db")
    migrate.upgrade(database)
    with database.write() as made:
        yield made
    database.close()


def record(
    connection: Connection,
    minutes: int,
    *,
    action: Action = Action.SAVE,
    outcome: Outcome = Outcome.DONE,
    by: Principal = ME,
    scope: Scope = SCOPE,
) -> None:
    caller = Caller(by, scope.vault, scope.project)
    event = NewEvent(action=action, outcome=outcome, caller=caller, scope=scope)
    writer.add_event(connection, event, at=NOON + timedelta(minutes=minutes))


def counted(connection: Connection, minutes: int = 0) -> int:
    since = stamp(NOON + timedelta(minutes=minutes))
    return registry.writes_since(connection, TEAM, ME, since=since)


@pytest.mark.guarantee("W1")
def test_writes_of_one_principal_in_one_vault_since_an_instant_are_counted(
    connection: Connection,
) -> None:
    assert counted(connection) == 0
    for minutes in (-30, -1, 0, 5, 9):
        record(connection, minutes)
    assert (counted(connection), counted(connection, -60), counted(connection, 6)) == (3, 5, 1)
    assert counted(connection, 60) == 0
    for action in (Action.CORRECT, Action.FORGET, Action.PROPOSE):
        record(connection, 10, action=action)
    assert counted(connection) == 6
    for action in (Action.REINDEX, Action.CONFIG, Action.APPROVE):
        record(connection, 11, action=action)
    for outcome in (Outcome.REFUSED, Outcome.FAILED):
        record(connection, 12, outcome=outcome)
    record(connection, 13, by=replace(ME, name="another"))
    record(connection, 14, by=replace(ME, kind=PrincipalKind.SERVICE))
    record(connection, 15, scope=Scope(VaultName("other"), SCOPE.project))
    assert counted(connection) == 6
    record(connection, 16, scope=Scope(TEAM, ProjectSlug("osprey")))
    assert counted(connection) == 7
