"""How a vault is looked at: bounded in time, going on where it stopped, and never fooled by a clock."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from memsvc.errors import VaultOffline
from memsvc.ledger.records import FileRecord
from memsvc.model.vocabulary import NoteId, VaultName
from memsvc.notes import disk
from memsvc.notes.disk import FileSignature
from memsvc.service.gateway.files import scan
from memsvc.service.gateway.files.scan import BATCH, RACY_NS, Scanner
from tests.service.interrupted import cut_off
from tests.service.world import World, agent

MANY = 2 * BATCH + 10
AGED = 1_700_000_000
PERSONAL = VaultName("personal")


@pytest.fixture
def many(world: World) -> tuple[World, Scanner]:
    """A vault with more new files than are taken in at once."""
    for number in range(MANY):
        path = world.write(f"heron/n{number}.md", f"The falcon number {number} nests.\n")
        os.utime(path, (AGED, AGED))
    return world, world.service._gateway.scanner


def test_a_scan_in_time_takes_all_in_at_once(many: tuple[World, Scanner]) -> None:
    _, scanner = many
    report = scanner.scan(PERSONAL, seconds=3_600)
    assert (report.files, report.taken, report.waiting) == (MANY, MANY, 0)
    assert not report.skipped


def test_a_scan_out_of_time_takes_some_in_and_the_next_goes_on_however_dear_a_walk_is(
    many: tuple[World, Scanner], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "CHEAP_SECONDS", 0.0)
    monkeypatch.setattr(scan, "DUTY", 1e9)
    _, scanner = many
    seen = []
    for _ in range(3):
        report = scanner.scan(PERSONAL, seconds=0)
        assert scanner.waiting(PERSONAL) == report.waiting
        seen.append((report.taken, report.waiting))
    assert seen == [(BATCH, MANY - BATCH), (BATCH, MANY - 2 * BATCH), (MANY - 2 * BATCH, 0)]


def test_a_new_process_says_of_a_vault_that_is_away_that_it_is(world: World) -> None:
    world.save("Host", "The staging host is called marsh.")
    aside = world.root / "aside"
    world.vault.rename(aside)
    with pytest.raises(VaultOffline):
        world.ask("staging host")
    world.restart()
    assert any("offline" in one for one in world.service.scopes(agent()).problems)
    aside.rename(world.vault)
    assert not any("offline" in one for one in world.service.scopes(agent()).problems)


@pytest.mark.parametrize("lost", [4, 5, 6, 10])
def test_a_loss_of_more_than_half_is_an_outage_and_says_how_many(world: World, lost: int) -> None:
    notes = [world.write(f"heron/n{n}.md", f"The falcon {n} nests.\n") for n in range(10)]
    assert len(world.ids("falcon nests", k=20)) == 10
    for path in notes[:lost]:
        path.rename(world.root / path.name)
    if lost > 5:
        with pytest.raises(VaultOffline, match=f"{lost} of 10 notes vanished at once"):
            world.ask("falcon nests")
        for path in notes[:lost]:
            (world.root / path.name).rename(path)
    assert len(world.ids("falcon nests", k=20)) == (10 if lost > 5 else 10 - lost)


def test_a_file_that_was_read_right_after_a_change_is_read_again() -> None:
    found = FileSignature(size=10, mtime_ns=5_000_000_000, ctime_ns=5_000_000_000, inode=7)
    state = FileRecord(
        path="heron/a.md", note_id=NoteId("N"), content_hash="0" * 64,
        seen_ns=found.mtime_ns + RACY_NS, **found._asdict(),
    )  # fmt: skip
    assert scan._unchanged(state, found)
    assert not scan._unchanged(replace(state, seen_ns=state.seen_ns - 1), found)
    assert not scan._unchanged(state, found._replace(size=11))
    assert not scan._unchanged(None, found)
    assert not scan._unchanged(state, None)


def test_a_file_of_the_same_look_is_read_again_while_its_time_is_close(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write within one tick of the file system's clock leaves no trace in size and times."""
    looks: dict[Path, FileSignature] = {}
    true = disk.signature

    def frozen(path: Path) -> FileSignature:
        return looks.setdefault(path, true(path))

    monkeypatch.setattr(disk, "signature", frozen)
    monkeypatch.setattr(scan, "RACY_NS", 3_600_000_000_000)
    world.write("heron/Host.md", "The staging host is marsh.\n")
    kept = world.save("Tea", "The tea is served at four.")
    assert len(world.ids("staging host marsh")) == 1
    world.write("heron/Host.md", "The staging host is sedge.\n")
    assert [hit.text for hit in world.hits("staging host")] == ["The staging host is sedge."]
    assert world.ids("tea served") == [kept.id]


def test_a_new_process_does_what_a_dead_one_owed_and_clears_up_after_it(world: World) -> None:
    note = world.save("Host", "The staging host is called marsh.")
    cut_off(world, note.id, "Host", "The staging host is called fen.")
    left = disk.stage(world.file(note.path), b"half a text")
    assert disk.leftovers(world.vault) != []
    world.restart()
    (hit,) = world.hits("staging host")
    assert hit.text == "The staging host is called fen."
    assert "fen" in world.file(note.path).read_text("utf-8")
    assert disk.leftovers(world.vault) == []
    left.discard()


def test_a_new_process_clears_up_also_where_nothing_is_owed(world: World) -> None:
    note = world.save("Host", "The staging host is called marsh.")
    assert world.ids("staging host") == [note.id]
    disk.stage(world.file(note.path), b"half a text")
    assert world.ids("staging host") == [note.id]
    assert disk.leftovers(world.vault) != []  # another thread may be at it
    world.restart()
    assert world.ids("staging host") == [note.id]
    assert disk.leftovers(world.vault) == []


@pytest.mark.parametrize(("there", "lost"), [(4, 3), (5, 4), (1, 1)])
def test_a_loss_of_few_notes_is_believed(world: World, there: int, lost: int) -> None:
    notes = [world.write(f"heron/n{n}.md", f"The falcon {n} nests.\n") for n in range(there)]
    assert len(world.ids("falcon nests", k=20)) == there
    for path in notes[:lost]:
        path.unlink()
    assert len(world.ids("falcon nests", k=20)) == there - lost


def test_only_what_was_written_just_now_is_looked_at_once_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "RACY_NS", 3_600_000_000_000)
    world.write("heron/new.md", "The staging host is marsh.\n")
    os.utime(world.write("heron/old.md", "The staging port is 4711.\n"), (AGED, AGED))
    assert len(world.ids("staging")) == 2
    assert world.service._gateway.scanner._seen[PERSONAL].recheck == {"heron/new.md"}
