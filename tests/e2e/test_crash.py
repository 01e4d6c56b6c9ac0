"""kill -9 at every step of every write: what was acknowledged is there, nothing else is half there."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from memsvc.errors import NotFound
from memsvc.model.requests import ReadRequest
from tests.e2e.soundness import check_sound
from tests.service.world import World, agent, human

MOST_STEPS = 200

pytestmark = pytest.mark.timeout(400)


class Killer:
    """Kills this process at the n-th durable step: before and after each commit, sync and rename."""

    def __init__(self, at: int) -> None:
        self.left = at

    def step(self, *_: object) -> None:
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def arm(self) -> None:
        for name in ("fsync", "replace", "link", "rename", "unlink"):
            setattr(os, name, self._around(getattr(os, name)))
        event.listen(Engine, "commit", self.step)
        event.listen(Engine, "checkin", self.step)

    def _around(self, real: Callable[..., object]) -> Callable[..., object]:
        def stepped(*args: object, **more: object) -> object:
            self.step()
            done = real(*args, **more)
            self.step()
            return done

        return stepped


def run_and_kill(world: World, act: Callable[[World], object], at: int) -> bool:
    """Do `act` in a child that dies at its n-th step; whether it got to the end."""
    world.service.close()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            world.service = world.open()
            Killer(at).arm()
            act(world)
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    world.service = world.open()
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return False
    assert os.WEXITSTATUS(status) == 0
    return True


def steps(
    tmp_path: Path,
    prepare: Callable[[World], object],
    act: Callable[[World], object],
    check: Callable[[World], bool],
) -> None:
    """Kill at step 1, 2, 3 … until the act survives; `check` says whether it took effect."""
    effects = []
    for at in range(1, MOST_STEPS):
        world = World(tmp_path / str(at))
        prepare(world)
        survived = run_and_kill(world, act, at)
        effects.append(check(world))
        check_sound(world)
        world.service.close()
        if survived:
            assert effects[-1]
            break
    else:
        pytest.fail("the act never got to its end")
    assert len(effects) > 6
    assert False in effects, "some kills came before the commit"
    assert True in effects[:-1], "some came after it, before the end"


def save(world: World) -> None:
    world.save("Port", "The heron deploy port is 6544.")


def first_id(world: World) -> str:
    return world.ids("heron deploy port", history=True)[0]


@pytest.mark.slow
@pytest.mark.guarantee("W4")
def test_save_survives_a_kill_at_every_step_or_never_was(tmp_path: Path) -> None:
    def check(world: World) -> bool:
        found = world.hits("heron deploy port")
        assert [hit.text for hit in found] in ([], ["The heron deploy port is 6544."])
        return bool(found)

    steps(tmp_path, lambda world: world.save("Tea", "The tea is at four."), save, check)


@pytest.mark.slow
@pytest.mark.guarantee("W4")
def test_correct_survives_a_kill_at_every_step_or_never_was(tmp_path: Path) -> None:
    def act(world: World) -> None:
        (hit,) = world.hits("heron deploy port")
        world.correct(hit, "The heron deploy port is 5433.")  # type: ignore[arg-type] # has id and version

    def check(world: World) -> bool:
        (hit,) = world.hits("heron deploy port")
        assert ("5433" in hit.text) != ("6544" in hit.text)
        rejected = bool(world.service.tombstones(agent()))
        assert rejected == ("5433" in hit.text)
        return rejected

    steps(tmp_path, save, act, check)


@pytest.mark.slow
@pytest.mark.guarantee("W4")
def test_forget_survives_a_kill_at_every_step_or_never_was(tmp_path: Path) -> None:
    def act(world: World) -> None:
        world.forget(first_id(world))

    def check(world: World) -> bool:
        gone = world.ids("heron deploy port") == []
        assert gone == bool(world.service.tombstones(agent()))
        assert gone == (not world.file("heron/port.md").exists())
        return gone

    steps(tmp_path, save, act, check)


@pytest.mark.slow
@pytest.mark.guarantee("W4", "C4")
def test_supersession_of_a_note_is_whole_after_a_kill_at_every_step(tmp_path: Path) -> None:
    def act(world: World) -> None:
        (hit,) = world.hits("heron deploy port")
        world.save("Port now", "The heron deploy port is 7000.", supersedes=(hit.id,))

    def check(world: World) -> bool:
        (hit,) = world.hits("heron deploy port 6544")
        replaced = "7000" in hit.text
        old = world.file("heron/port.md").read_text("utf-8")
        assert ('superseded_by: "[[' in old) == replaced
        return replaced

    steps(tmp_path, save, act, check)


@pytest.mark.slow
@pytest.mark.guarantee("R5", "W4")
def test_an_index_whose_making_was_killed_is_made_whole_at_the_next_start(tmp_path: Path) -> None:
    def prepare(world: World) -> None:
        for number in range(3):
            world.save(f"Gull {number}", f"The gull of pier {number} is white.")

    def check(world: World) -> bool:
        assert len(world.ids("gull pier white")) == 3
        actions = [one.action for one in world.service.audit_list(human()).events]
        return "reindex" in actions

    steps(tmp_path, prepare, lambda world: world.service.reindex(human()), check)


def test_a_note_that_never_was_is_not_found(tmp_path: Path) -> None:
    world = World(tmp_path)
    note = world.save("Tea", "The tea is at four.")
    with pytest.raises(NotFound):
        world.service.read(agent(), ReadRequest(id="01AAAAAAAAAAAAAAAAAAAAAAAA"))
    assert world.service.read(agent(), ReadRequest(id=note.id)).version == 1
    world.service.close()
