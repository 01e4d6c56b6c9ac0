"""Tombstones in the ledger: each blocks in its own scope, once, until it is lifted."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import Connection

from memsvc.database import Database
from memsvc.ledger import migrate, tombstones, writer
from memsvc.ledger.records import TombstoneRecord
from memsvc.model.identity import Scope
from memsvc.model.vocabulary import ProjectSlug, VaultName

TEAM, OTHER = VaultName("team"), VaultName("other")
HERON, OSPREY = ProjectSlug("heron"), ProjectSlug("osprey")
HERE = Scope(TEAM, HERON)
NEIGHBOURS = (Scope(TEAM, OSPREY), Scope(OTHER, HERON))


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    database = Database(tmp_path / "memsvc.db")
    migrate.upgrade(database)
    with database.write() as made:
        yield made
    database.close()


def stone(
    name: str, digest: str, *, scope: Scope = HERE, at: int = 1, key_id: str = "k1"
) -> TombstoneRecord:
    return TombstoneRecord(
        tombstone_id=name, vault=scope.vault, project=scope.project, key_id=key_id, digest=digest,
        claim_kind="sentence", note_id="N1", version=1, at=f"2026-11-{at:02}T00:00:00.000000Z",
        actor="human:alice", reason="", event_seq=1,
    )  # fmt: skip


def lift(connection: Connection, name: str) -> None:
    when = datetime(2026, 11, 30, tzinfo=UTC)
    writer.lift_tombstone(connection, name, at=when, by="human:alice", event_seq=2)


def blocked(connection: Connection, scope: Scope, *digests: str) -> list[str]:
    return [one.tombstone_id for one in tombstones.blocking(connection, scope, digests)]


@pytest.mark.guarantee("C2")
def test_a_tombstone_blocks_its_digest_in_its_scope_only(connection: Connection) -> None:
    writer.add_tombstones(connection, [stone("T2", "a"), stone("T1", "b")])
    assert blocked(connection, HERE, "a") == ["T2"]
    assert blocked(connection, HERE, "a", "b", "c") == ["T1", "T2"]
    assert blocked(connection, HERE, "c") == blocked(connection, HERE) == []
    for scope in NEIGHBOURS:
        assert blocked(connection, scope, "a", "b") == []
        assert tombstones.standing(connection, scope) == []
        assert tombstones.standing_ids(connection, scope) == set()
        assert not tombstones.has_tombstones(connection, scope)
    assert [one.tombstone_id for one in tombstones.standing(connection, HERE)] == ["T1", "T2"]
    assert tombstones.standing_ids(connection, HERE) == {"T1", "T2"}
    assert tombstones.has_tombstones(connection, HERE)


@pytest.mark.guarantee("C6")
def test_a_lifted_tombstone_blocks_no_more_and_stays_on_record(connection: Connection) -> None:
    assert not tombstones.tombstones_exist(connection)
    writer.add_tombstones(connection, [stone("T1", "a"), stone("T2", "b", key_id="k2")])
    lift(connection, "T1")
    assert blocked(connection, HERE, "a", "b") == ["T2"]
    assert tombstones.standing_ids(connection, HERE) == {"T2"}
    assert [one.tombstone_id for one in tombstones.tombstones_of(connection, "N1")] == ["T2"]
    assert tombstones.tombstones_of(connection, "N2") == []
    assert tombstones.tombstone_keys(connection) == {"k2"}
    lift(connection, "T2")
    assert blocked(connection, HERE, "a", "b") == []
    assert not tombstones.has_tombstones(connection, HERE)
    assert tombstones.scopes_with_tombstones(connection) == []
    assert tombstones.tombstone_keys(connection) == frozenset()
    assert tombstones.tombstones_exist(connection)


def test_a_digest_stands_once_in_a_scope_and_again_after_it_was_lifted(
    connection: Connection,
) -> None:
    assert writer.add_tombstones(connection, [stone("T1", "a"), stone("T2", "a")]) == 1
    others = [stone("T3", "b"), *(stone(f"N{n}", "a", scope=s) for n, s in enumerate(NEIGHBOURS))]
    assert writer.add_tombstones(connection, others) == 3
    assert blocked(connection, HERE, "a", "b") == ["T1", "T3"]
    assert [blocked(connection, scope, "a") for scope in NEIGHBOURS] == [["N0"], ["N1"]]
    assert set(tombstones.scopes_with_tombstones(connection)) == {HERE, *NEIGHBOURS}
    assert len(tombstones.scopes_with_tombstones(connection)) == 3
    lift(connection, "T1")
    assert blocked(connection, HERE, "a") == []
    assert writer.add_tombstones(connection, [stone("T4", "a")]) == 1
    assert blocked(connection, HERE, "a") == ["T4"]


def test_the_oldest_of_many_comes_first(connection: Connection) -> None:
    many = [stone(f"T{number:04}", f"d{number}", at=28 - number % 28) for number in range(2_500)]
    writer.add_tombstones(connection, many)
    found = tombstones.blocking(connection, HERE, [one.digest for one in many])
    assert len(found) == len(many)
    assert [(one.at, one.tombstone_id) for one in found] == sorted(
        (one.at, one.tombstone_id) for one in many
    )
