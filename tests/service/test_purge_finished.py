"""A purge that the disk or another process holds up: what is still owed, and when it is tried again."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from memsvc.database import Database
from memsvc.errors import StorageFailed
from memsvc.index import vectorstore
from memsvc.index.values import PassageVector
from memsvc.ledger import registry
from memsvc.model.vocabulary import VaultName
from memsvc.service.gateway import operations
from memsvc.service.gateway.undo import erasing
from tests.invariants.test_purge import MODEL, Modelled
from tests.invariants.traces import holding
from tests.service.interrupted import cut_off
from tests.service.world import World, human

OLD = "The vexopluma gate opens at 6544907213 for the quibbrax ferry."
NEIGHBOUR = "The marsh lantern is lit by the warden at dusk."


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = Modelled(tmp_path)
    yield made
    made.service.close()


def owed(world: World) -> list[str]:
    """The kinds of what is to be done yet."""
    with world.service._gateway._parts.database.read() as connection:
        return [one.kind for one in registry.operations(connection, VaultName("personal"))]


def obstacle(world: World) -> Path:
    """Something among the questions that cannot be read as a file, nor removed as one."""
    made = world.root / "home" / "eval" / "personal" / "heron" / "gold.json.d"
    made.mkdir(parents=True)
    return made


def purge(world: World, title: str, body: str = OLD) -> str:
    """The notice for a purge of a new note."""
    return world.forget(world.save(title, body).id, by=human(), mode="purge").notice


@pytest.mark.guarantee("C5")
def test_a_purge_owes_what_it_could_not_remove_and_finishes_it_once_that_can_be_done(
    world: World,
) -> None:
    lantern = world.save("Lantern", NEIGHBOUR)
    stuck = obstacle(world)
    assert "next access" in purge(world, "Gate")
    assert owed(world) == [erasing.SCRUB]
    assert world.ids("marsh lantern") == [lantern.id]
    assert owed(world) == [erasing.SCRUB]
    with pytest.raises(StorageFailed, match="purge"):
        world.service.vault_remove(human(), "personal")
    stuck.rmdir()
    assert world.ids("marsh lantern") == [lantern.id]
    assert owed(world) == []
    assert holding(world.root, b"xopluma") == []


@pytest.mark.guarantee("C5")
def test_questions_that_were_made_of_a_purged_note_go_and_those_of_others_stay(
    world: World,
) -> None:
    note = world.save("Gate", OLD)
    lantern = world.save("Lantern", NEIGHBOUR)
    folder = world.root / "home" / "eval" / "personal"
    made = {
        folder / project / name: text
        for project, name, text in (
            ("heron", "gold.json", f'["{note.id}", "which ferry"]'),
            ("heron", ".gold.json.0123456789ab", f'["{note.id}"]'),
            ("osprey", "gold.json", f'["{lantern.id}", "which lamp"]'),
        )
    }
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    assert world.forget(note.id, by=human(), mode="purge").notice == ""
    assert [path.exists() for path in made] == [False, False, True]
    assert owed(world) == []


def test_an_attempt_that_is_dear_and_fails_is_not_made_at_every_access(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasing, "_CHEAP_SECONDS", 0.0)
    monkeypatch.setattr(erasing, "_DUTY", 1e12)
    stuck = obstacle(world)
    assert "next access" in purge(world, "Gate")
    assert world.ids("marsh lantern") == []  # the first that fails, and that is dear
    stuck.rmdir()
    assert world.ids("marsh lantern") == []
    assert owed(world) == [erasing.SCRUB]
    erasing._NOT_BEFORE.clear()  # as when the time has come
    assert world.ids("marsh lantern") == []
    assert owed(world) == []
    stuck = obstacle(world)
    assert "next access" in purge(world, "Ferry", "The jundwelk barge took over from 7 ferries.")
    stuck.rmdir()
    assert world.ids("marsh lantern") == []
    assert owed(world) == []


def test_an_attempt_that_is_cheap_and_fails_is_made_at_the_next_access(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erasing, "_CHEAP_SECONDS", 1e6)
    monkeypatch.setattr(erasing, "_DUTY", 1e12)
    stuck = obstacle(world)
    purge(world, "Gate")
    world.ids("marsh lantern")
    stuck.rmdir()
    assert owed(world) == [erasing.SCRUB]
    assert world.ids("marsh lantern") == []
    assert owed(world) == []


def lost_vector(world: World) -> bytes:
    """Bytes of a vector that a transaction which failed left behind the last one."""
    vector = np.full(384, 0.051031, dtype=np.float32)
    home = Database(world.root / "home" / "memsvc.db")

    def fail() -> None:
        with home.write() as connection:
            (chunk_id,) = connection.exec_driver_sql("SELECT min(chunk_id) FROM index_chunk").one()
            vectorstore.put_vectors(connection, MODEL, [chunk_id], [PassageVector(vector, b"")])
            raise OSError

    with pytest.raises(OSError):  # noqa: PT011 - the one that is raised above
        fail()
    home.close()
    return vector[:16].tobytes()


@pytest.mark.guarantee("C5")
@pytest.mark.parametrize("rounds", [1, 3])
def test_a_file_of_vectors_that_was_copied_to_win_room_goes_with_what_failed_writes_left_in_it(
    world: World, monkeypatch: pytest.MonkeyPatch, rounds: int
) -> None:
    monkeypatch.setattr(vectorstore, "COMPACT_FROM", 1)
    monkeypatch.setattr(erasing, "_ROUNDS", rounds)
    lantern = world.save("Lantern", NEIGHBOUR)
    note = world.correct(world.save("Gate", OLD), f"{OLD} It rains.", "changed")
    trace = lost_vector(world)
    assert holding(world.root, trace)
    reply = world.forget(note.id, by=human(), mode="purge")
    assert ("next access" in reply.notice) == (rounds == 1)
    assert bool(owed(world)) == (rounds == 1)
    assert bool(holding(world.root, trace)) == (rounds == 1)
    assert world.ids("who lights the marsh lantern", k=1) == [lantern.id]
    assert owed(world) == []
    assert holding(world.root, trace) == []
    assert len(list((world.root / "home" / "vectors").glob("*.vectors"))) == 1


@pytest.mark.guarantee("C5")
def test_what_is_kept_of_rejected_claims_as_vectors_goes_with_their_note_only(world: World) -> None:
    def kept() -> dict[str, int]:
        with world.service._gateway._parts.database.read() as connection:
            rows = connection.exec_driver_sql(
                "SELECT note_id, count(*) FROM index_rejection WHERE vector NOTNULL GROUP BY note_id"
            ).all()
        return {str(note_id): int(count) for note_id, count in rows}

    note = world.save("Gate", OLD)
    lantern = world.save("Lantern", NEIGHBOUR)
    world.correct(note, "The gate is closed on 7 days.")
    world.correct(lantern, "The lamp is lit by 7 wardens.")
    world.save("Tea", "Tea is at four, as ever.")  # now the model has read what was rejected
    assert kept().keys() == {note.id, lantern.id}
    world.forget(note.id, by=human(), mode="purge")
    assert kept().keys() == {lantern.id}


@pytest.mark.guarantee("C5")
def test_a_vault_is_removed_only_when_its_purges_are_finished_whatever_else_is_owed(
    world: World,
) -> None:
    note = world.save("Lantern", NEIGHBOUR)
    stuck = obstacle(world)
    purge(world, "Gate")
    cut_off(world, note.id, "Lantern", "The marsh lantern is lit by nobody.")
    assert set(owed(world)) > {erasing.SCRUB}
    with pytest.raises(StorageFailed, match="purge"):
        world.service.vault_remove(human(), "personal")
    assert erasing.SCRUB in owed(world)
    stuck.rmdir()
    world.service.vault_remove(human(), "personal")
    assert holding(world.root, b"xopluma") == []


def test_nothing_is_scrubbed_where_no_purge_is_owed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    scrubbed: list[int] = []
    monkeypatch.setattr(operations, "scrub_again", lambda _, owed: scrubbed.append(len(owed)))
    note = world.save("Lantern", NEIGHBOUR)
    cut_off(world, note.id, "Lantern", "The marsh lantern is lit by nobody.")
    assert world.ids("marsh lantern") == [note.id]
    assert scrubbed == []
    obstacle(world)
    purge(world, "Gate")
    assert world.ids("marsh lantern") == [note.id]
    assert set(scrubbed) == {1}
