"""Many processes on one home, and a storm of kills."""

import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memsvc.model.requests import ReadRequest
from tests.e2e.soundness import check_sound
from tests.service.world import World, agent

ROOT = Path(__file__).parents[2]
CALLER = agent("storm")


def start(world: World, name: str, count: int, shared: str = "") -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "tests.e2e.writer", str(world.root / "home"), name, str(count)]
    return subprocess.Popen(
        [*command, shared] if shared else command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def acknowledged(lines: Iterator[str]) -> list[list[str]]:
    return [line.split() for line in lines if line.endswith("\n")]


def check_acknowledged(
    world: World, acks: list[list[str]], unsure: frozenset[str] = frozenset()
) -> None:
    """Everything that a writer was told is so; of `unsure` tokens a later step was on its way."""
    last: dict[str, str] = {}
    ids: dict[str, str] = {}
    for what, token, note_id, _ in acks:
        if what in ("saved", "corrected", "forgot"):
            last[token], ids[token] = what, note_id
    assert last
    for token, what in last.items():
        if token in unsure and what == "saved":
            continue
        found = world.ids(token, by=CALLER)
        if what == "forgot":
            assert ids[token] not in found
        else:
            assert found[:1] == [ids[token]], token


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.guarantee("W4", "W5", "A2")
def test_four_processes_write_to_one_home_and_nothing_is_lost(tmp_path: Path) -> None:
    world = World(tmp_path)
    shared = world.save("Shared list", "line zero\n", by=CALLER)
    writers = [start(world, f"w{number}", 25, shared.id) for number in range(4)]
    acks: list[list[str]] = []
    for writer in writers:
        out, err = writer.communicate(timeout=200)
        assert writer.returncode == 0, err
        acks += [line.split() for line in out.splitlines()]
    check_acknowledged(world, acks)
    lines = world.service.read(CALLER, ReadRequest(id=shared.id)).body.split("\n")
    added = [f"line {ack[1]}" for ack in acks if ack[0] == "added"]
    assert len(added) == 20
    assert sorted(line for line in lines if line.startswith("line w")) == sorted(added)
    check_sound(world)
    world.service.close()


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.guarantee("W4", "A2")
def test_a_storm_of_kills_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    world = World(tmp_path)
    chance = random.Random(7)  # noqa: S311 - when to kill, not a secret
    acks: list[list[str]] = []
    rounds = 0
    unsure: set[str] = set()
    while sum(ack[0] != "end" for ack in acks) < 300:
        rounds += 1
        writer = start(world, f"r{rounds}", 120)
        assert writer.stdout is not None
        lines = [writer.stdout.readline() for _ in range(chance.randint(1, 40))]
        writer.send_signal(signal.SIGKILL)
        rest, _ = writer.communicate(timeout=60)
        lines += rest.splitlines(keepends=True)
        told = acknowledged(iter(lines))
        acks += told
        unsure |= {told[-1][1]} if told else set()
        assert rounds < 100
    assert rounds > 3
    world.ids("anything", by=CALLER)
    assert len(unsure) < len(acks) / 4
    check_acknowledged(world, acks, frozenset(unsure))
    check_sound(world)
    world.service.close()
