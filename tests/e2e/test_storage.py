"""A full disk and a read-only folder end in a clear error and no half state."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from memsvc.errors import StorageFailed
from memsvc.model.requests import HistoryRequest
from tests.e2e.soundness import check_sound
from tests.service.world import World, agent, human


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 128 KB, really mounted."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def world_on(folder: Path, tmp_path: Path) -> World:
    world = World(tmp_path)
    world.service.vault_add(human(), "small", str(folder), {})
    return world


@pytest.mark.guarantee("W3", "W4")
def test_a_full_disk_refuses_a_save_and_leaves_nothing_of_it(
    small_disk: Path, tmp_path: Path
) -> None:
    world = world_on(small_disk, tmp_path)
    caller = agent(vault="small")
    kept = world.save("Kept", "The kestrel statement is kept.", by=caller)
    with pytest.raises(StorageFailed, match="full") as caught:
        world.save("Big", "The merlin statement is big. " * 9000, by=caller)
    assert str(small_disk) not in str(caught.value)
    assert [path.name for path in small_disk.rglob("*.md")] == ["kept.md"]
    assert [path.name for path in small_disk.rglob("*tmp*")] == []
    assert world.ids("merlin big", by=caller) == []
    assert world.ids("kestrel statement", by=caller) == [kept.id]
    outcomes = [one.outcome for one in world.service.history(caller, HistoryRequest()).events]
    assert outcomes[0] == "failed"
    assert world.service.audit_verify()["ok"]
    world.service.close()


@pytest.mark.guarantee("W3")
def test_a_read_only_vault_refuses_every_write_and_keeps_its_notes(
    small_disk: Path, tmp_path: Path
) -> None:
    world = world_on(small_disk, tmp_path)
    caller = agent(vault="small")
    kept = world.save("Kept", "The kestrel statement is kept.", by=caller)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for act in (
        lambda: world.save("New", "The merlin statement is new.", by=caller),
        lambda: world.correct(kept, "The kestrel statement is gone.", by=caller),
        lambda: world.forget(kept.id, by=caller),
    ):
        with pytest.raises(StorageFailed, match="read-only"):
            act()
    (hit,) = world.hits("kestrel merlin statement", by=caller)
    assert (hit.id, hit.version) == (kept.id, 1)
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    assert world.save("New", "The merlin statement is new.", by=caller).outcome == "created"
    world.service.close()


@pytest.mark.guarantee("W4")
def test_what_was_committed_before_a_rename_failed_is_finished_later(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.save("Kept", "The kestrel statement is kept.")
    real = os.link

    def broken(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    os.link = broken  # the step after the commit
    try:
        with pytest.raises(StorageFailed, match="Do not repeat"):
            world.save("Late", "The merlin statement is late.")
    finally:
        os.link = real
    assert len(world.ids("merlin statement late")) == 1
    world.restart()
    assert len(world.ids("merlin statement late")) == 1
    check_sound(world)
    world.service.close()
