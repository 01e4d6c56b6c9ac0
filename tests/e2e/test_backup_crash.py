"""kill -9 at every step of backup, restore and merge: nothing is half there, and a repeat succeeds."""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from memsvc.bootstrap import open_service
from memsvc.ops.backup.archive import open_archive
from memsvc.ops.backup.making import BackupRequest, back_up
from memsvc.ops.backup.merging import MergeRequest, merge
from memsvc.ops.backup.restoring import Keys, RestoreRequest, restore
from memsvc.service.api import MemoryService
from memsvc.settings import Settings
from tests.e2e.soundness import check_sound
from tests.e2e.test_crash import Killer
from tests.service.world import World, human

MOST_STEPS = 300

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def killed(act: Callable[[], object], at: int) -> bool:
    """Do `act` in a child that dies at its n-th durable step; whether it died."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            Killer(at).arm()
            act()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0
    return False


def opened(home: Path, vault: str) -> MemoryService:
    return open_service(Settings(home=home, vault=vault, embedder="none"))


def prepared(root: Path) -> World:
    """A home with notes in a vault of its own folder too."""
    world = World(root)
    notes = root / "Notes"
    notes.mkdir()
    (notes / "cat.md").write_text("The cat is grey and 7 years old.\n")
    (notes / "cat.png").write_bytes(b"a cat")
    world.service.vault_add(human(), "notes", str(notes), {})
    world.save("Port", "The heron deploy port is 6544.")
    world.forget(world.save("Tea", "The tea is at four.").id)
    return world


def keep(world: World, name: str = "b.zip", *, replace: bool = False) -> None:
    service = world.open()
    request = BackupRequest(
        target=world.root / name, keys=(world.root / name).with_suffix(".keys"), replace=replace
    )
    back_up(service, human(), request)
    service.close()


def readable(path: Path) -> None:
    with open_archive(path) as archive:
        archive.verify()


def litter(root: Path) -> list[str]:
    marks = ("memsvc-tmp", "memsvc-restore")
    return [path.name for path in root.iterdir() if any(mark in path.name for mark in marks)]


@pytest.mark.guarantee("W4")
def test_a_backup_that_is_killed_leaves_none_or_a_whole_one_and_can_be_repeated(
    tmp_path: Path,
) -> None:
    world = prepared(tmp_path)
    world.service.close()
    effects = []
    for at in range(1, MOST_STEPS):
        died = killed(lambda: keep(world), at)
        made = (tmp_path / "b.zip").exists()
        effects.append(made)
        if made:
            readable(tmp_path / "b.zip")
            assert (tmp_path / "b.keys").exists()
        else:
            assert died
            keep(world)
            readable(tmp_path / "b.zip")
        assert litter(tmp_path) == [] or made
        for name in ("b.zip", "b.keys"):
            (tmp_path / name).unlink()
        if not died:
            break
    else:
        pytest.fail("the backup never got to its end")
    assert False in effects
    assert True in effects[:-1]
    world.service = world.open()
    check_sound(world)
    world.service.close()


@pytest.mark.guarantee("W4")
def test_a_restore_that_is_killed_leaves_no_half_home_and_can_be_repeated(tmp_path: Path) -> None:
    world = prepared(tmp_path)
    world.service.close()
    keep(world)
    home, notes = tmp_path / "home", tmp_path / "Notes"
    request = RestoreRequest(
        archive=tmp_path / "b.zip", home=home, keys=Keys(file=tmp_path / "b.keys")
    )
    effects, half = [], 0
    for at in range(1, MOST_STEPS):
        shutil.rmtree(home)
        shutil.rmtree(notes)
        died = killed(lambda: restore(request, human(), opened), at)
        placed = home.exists()
        effects.append(placed)
        if not placed:
            assert died
            half += notes.exists()
            restore(request, human(), opened)
            assert litter(tmp_path) == []
        world.service = world.open()
        assert (notes / "cat.png").read_bytes() == b"a cat"
        assert [hit.text for hit in world.hits("heron deploy port")] == [
            "The heron deploy port is 6544."
        ]
        found = world.hits("cat grey", by=human("shared", vault="notes"))
        assert [hit.text for hit in found] == ["The cat is grey and 7 years old."]
        restores = [
            one for one in world.service.audit_list(human()).events if one.action == "restore"
        ]
        assert len(restores) == 1
        check_sound(world)
        world.service.close()
        for name in litter(tmp_path):
            assert placed
            shutil.rmtree(tmp_path / name)
        if not died:
            break
    else:
        pytest.fail("the restore never got to its end")
    assert False in effects
    assert True in effects[:-1]
    assert half, "some kills came between the vault's place and the home's"


@pytest.mark.guarantee("W4", "C1")
def test_a_merge_that_is_killed_leaves_the_home_sound_and_can_be_repeated(tmp_path: Path) -> None:
    world = prepared(tmp_path)
    for number in range(3):
        world.save(f"n{number}", f"The number of n{number} is {number}77.")
    world.write("heron/pic.png", b"a heron")
    world.service.close()
    keep(world)
    request = MergeRequest(archive=tmp_path / "b.zip")

    def act() -> None:
        service = world.open()
        merge(service, human(), request)
        service.close()

    effects = []
    for at in range(1, MOST_STEPS):
        for path in ("heron/n0.md", "heron/n1.md", "heron/n2.md", "heron/port.md", "heron/pic.png"):
            world.file(path).unlink(missing_ok=True)
        died = killed(act, at)
        effects.append(world.file("heron/pic.png").exists())
        act()
        world.service = world.open()
        assert len(world.ids("number of n0 n1 n2", k=9)) == 3
        assert world.ids("heron deploy port") != []
        assert world.file("heron/pic.png").read_bytes() == b"a heron"
        assert [one for one in world.hits("tea at four") if "tea" in one.text] == []
        check_sound(world)
        world.service.close()
        if not died:
            break
    else:
        pytest.fail("the merge never got to its end")
    assert False in effects
    assert True in effects
