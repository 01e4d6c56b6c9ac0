"""A merge of a backup beside people who write, a disk that refuses, and files that no note ever was."""

import shutil
from pathlib import Path

import pytest

from memsvc.errors import StorageFailed, VaultOffline
from memsvc.notes import disk
from memsvc.ops.backup.making import BackupRequest, back_up
from memsvc.service.gateway.backup import merging
from memsvc.service.gateway.operations import Staging
from tests.invariants.test_backup import backup, merged, restored
from tests.service.interrupted import once_recorded
from tests.service.world import World, human

MANY = 12


@pytest.fixture
def emptied(world: World) -> tuple[World, dict[str, str]]:
    """A vault whose notes vanished at once after a backup; ids by path."""
    saved = [world.save(f"note {n}", f"The number of {n} is {n}01.") for n in range(MANY)]
    backup(world)
    shutil.rmtree(world.vault / "heron")
    with pytest.raises(VaultOffline):
        world.service.scan_all(human())
    return world, {one.path: one.id for one in saved}


@pytest.mark.guarantee("W6")
def test_a_file_that_somebody_makes_meanwhile_stays_and_is_not_counted(
    emptied: tuple[World, dict[str, str]],
) -> None:
    world, ids = emptied
    taken, *_ = ids
    with once_recorded(lambda: world.write(taken, "Somebody wrote this just now.\n")):
        report = merged(world)
    assert report.files == MANY - 1
    assert [(one.id, one.why) for one in report.not_restored] == [(ids[taken], "not possible")]
    assert world.file(taken).read_text("utf-8") == "Somebody wrote this just now.\n"
    assert set(ids.values()) > set(world.ids("number", k=20)) >= set(ids.values()) - {ids[taken]}
    assert world.loose() == []


def test_a_merge_that_fails_leaves_nothing_behind_and_can_be_repeated(
    emptied: tuple[World, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, ids = emptied

    def refuse(*_: object, **__: object) -> None:
        raise StorageFailed("the disk is full")

    monkeypatch.setattr(Staging, "record", refuse)
    with pytest.raises(StorageFailed):
        merged(world)
    assert world.loose() == []
    assert not [path for path in world.vault.rglob("*.md") if "note" in path.name]
    monkeypatch.undo()
    assert merged(world).files == MANY
    assert set(world.ids("number", k=20)) == set(ids.values())


def test_a_text_of_the_backup_that_no_note_ever_had_is_named(world: World) -> None:
    note = world.save("Host", "The staging host is called marsh.")
    late: Path = world.write("heron/late.md", "The gate opens at seven.\n")
    world.write("heron/pic.png", b"picture")

    def edit(_done: int, _total: int, what: str) -> None:
        if what == "packing attachments":
            late.write_text("The gate opens at eight.\n", "utf-8")

    request = BackupRequest(target=world.root / "b.zip", keys=world.root / "b.keys")
    back_up(world.service, human(), request, progress=edit)
    late.unlink()
    report = merged(world)
    assert report.unknown == ("heron/late.md",)
    assert (report.files, report.notes, report.unchanged) == (0, 0, 1)
    assert world.ids("staging host") == [note.id]


def test_long_work_tells_how_far_it_is_and_when_it_is_done(world: World) -> None:
    for number in range(3):
        world.save(f"note {number}", f"The number of {number} is {number}01.")
    told: dict[str, list[tuple[int, int]]] = {}

    def tell(done: int, total: int, what: str) -> None:
        told.setdefault(what, []).append((done, total))

    request = BackupRequest(target=world.root / "b.zip", keys=world.root / "b.keys")
    back_up(world.service, human(), request, progress=tell)
    restored(world, ledger=world.root / "newer", progress=tell)
    assert {"packing notes", "writing newer texts"} <= told.keys()
    for what, steps in told.items():
        done, total = steps[-1]
        assert done == total, what
        assert steps == sorted(steps), what
    assert told["writing newer texts"][-1] == (3, 3)


def test_what_was_replaced_before_a_backup_is_not_told_as_replaced_since(world: World) -> None:
    old = world.save("Host", "The staging host is called marsh.")
    later = world.save("Port", "The staging port is 4711.")
    world.save("Host now", "The staging host is called fen.", supersedes=(old.id,))
    backup(world)
    path = world.file(old.path)
    path.write_text(f"{path.read_text('utf-8')}\nIt hummed.\n", "utf-8")
    world.save("Port now", "The staging port is 4712.", supersedes=(later.id,))
    assert len(world.ids("staging")) == 2
    report = restored(world, ledger=world.root / "newer")
    assert [(one.id, one.why) for one in report.not_restored] == [(later.id, "superseded")]
    assert len(world.ids("staging")) == 2


def test_a_text_that_the_ledger_has_not_byte_for_byte_is_told_when_it_is_written(
    world: World,
) -> None:
    world.save("Host", "The staging host is called marsh.")
    backup(world)
    world.write("heron/odd.md", b"The odd port is 13, caf\xe9.\n")
    world.write("heron/fine.md", b"The fine port is 14.\n")
    assert len(world.ids("port")) == 2
    report = restored(world, ledger=world.root / "newer")
    told = [one for one in report.notices if "vault personal" in one]
    assert any("1 notes written from the ledger" in one for one in told)
    assert any("1 notes are not in the ledger byte for byte" in one for one in told)
    assert len(world.ids("port")) == 2


def test_a_note_that_comes_back_by_hand_meanwhile_is_left_alone(
    emptied: tuple[World, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, ids = emptied
    taken, *_ = ids
    true = merging.Merging._still_lost

    def still_lost(run: merging.Merging, one: merging.Lost, *given: object) -> bytes | None:
        if one.note.path == taken:
            world.write(taken, "Somebody wrote this just now.\n")
        return true(run, one, *given)  # type: ignore[arg-type] # passed on

    monkeypatch.setattr(merging.Merging, "_still_lost", still_lost)
    report = merged(world)
    assert report.files == MANY - 1
    assert world.file(taken).read_text("utf-8") == "Somebody wrote this just now.\n"
    assert world.loose() == []


def test_an_attachment_that_somebody_makes_meanwhile_stays(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two"):
        world.write(f"heron/{name}.png", b"picture")
    world.save("Host", "The staging host is called marsh.")
    backup(world)
    for name in ("one", "two"):
        world.file(f"heron/{name}.png").unlink()
    true = disk.stage

    def stage(target: Path, data: bytes) -> disk.Staged:
        staged = true(target, data)
        if target.name == "one.png":
            target.write_bytes(b"mine")
        return staged

    monkeypatch.setattr(disk, "stage", stage)
    report = merged(world)
    assert report.attachments == 1
    assert world.file("heron/one.png").read_bytes() == b"mine"
    assert world.file("heron/two.png").read_bytes() == b"picture"
    assert [path.name for path in world.file("heron").iterdir() if path.name.startswith(".")] == []


@pytest.mark.guarantee("C6")
def test_a_note_that_counts_as_deleted_by_now_does_not_come_back_as_a_lost_file(
    emptied: tuple[World, dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, _ = emptied
    true = merging.Merging.put_back

    def put_back(run: merging.Merging, *given: object, **more: object) -> object:
        world.service.vault_accept(human(), "personal")  # a person takes the loss meanwhile
        return true(run, *given, **more)  # type: ignore[arg-type] # passed on

    monkeypatch.setattr(merging.Merging, "put_back", put_back)
    report = merged(world)
    assert (report.files, len(report.not_restored)) == (0, MANY)
    assert world.ids("number") == []
    monkeypatch.undo()
    assert merged(world).notes == MANY
