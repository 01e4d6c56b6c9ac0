"""A rejection outlives every rotation of the tombstone key, in every process."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memsvc.errors import Denied, Misconfigured, RejectedClaim
from memsvc.model.requests import AuditRequest
from tests.e2e.test_crash import steps
from tests.service.world import World, agent, human

OLD, NEW = "The heron release is on 3 March.", "The heron release is on 12 March."
LOUD = "THE  HERON release  is on **3 March**"
NEIGHBOUR = "The heron release is on 13 March."


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.service.close()


def reject(world: World, wrong: str = OLD, right: str = NEW) -> None:
    world.correct(world.save("Release", wrong), right)


def refused(world: World, *texts: str) -> None:
    for number, text in enumerate(texts):
        with pytest.raises(RejectedClaim):
            world.save(f"Again {number}", text, by=agent(name="other"))


def ring(world: World) -> list[dict[str, str]]:
    data = json.loads((world.root / "home" / "tombstone.keys").read_text("utf-8"))
    return list(data["keys"])


@pytest.mark.guarantee("C1")
def test_what_was_rejected_before_and_after_a_rotation_stays_out(world: World) -> None:
    reject(world)
    refused(world, OLD, LOUD)
    world.service.rotate_key(human(), "yearly")
    refused(world, OLD, LOUD)
    second = ("The heron port is 6544.", "The heron port is 5433.")
    reject(world, *second)
    world.service.rotate_key(human())
    refused(world, OLD, LOUD, second[0])
    world.restart()
    refused(world, OLD, LOUD, second[0])
    world.service.reindex(human())
    refused(world, OLD, LOUD, second[0])
    assert world.save("Neighbour", NEIGHBOUR).outcome == "created"
    assert world.save("Elsewhere", OLD, by=agent("osprey")).outcome == "created"
    assert len({one["id"] for one in ring(world)}) == 3
    assert {one["key_id"] for one in stored(world)} == {one["id"] for one in ring(world)[:2]}


def stored(world: World) -> list[dict[str, str]]:
    import sqlite3

    raw = sqlite3.connect(world.root / "home" / "memsvc.db")
    raw.row_factory = sqlite3.Row
    found = [dict(row) for row in raw.execute("SELECT key_id FROM tombstone")]
    raw.close()
    return found


@pytest.mark.guarantee("A1", "A3")
def test_a_rotation_is_an_event_with_ids_and_never_with_a_key(world: World) -> None:
    reject(world)
    before = ring(world)
    reply = world.service.rotate_key(human(), "yearly")
    after = ring(world)
    assert after[:1] == before
    event = world.service.audit_list(human(), AuditRequest(action="config")).events[0]
    assert (event.seq, event.reason, event.outcome) == (reply["event"], "yearly", "done")
    assert event.detail["tombstone_key"] == after[-1]["id"] == reply["key"]
    assert event.detail["retained"] == [before[0]["id"]]
    said = repr(event) + repr(reply) + repr(world.service.audit_list(human()))
    for one in after:
        assert one["id"] in said
        assert one["key"] not in said
    mode = (world.root / "home" / "tombstone.keys").stat().st_mode
    assert mode & 0o077 == 0


def test_only_a_person_who_confirms_rotates(world: World) -> None:
    reject(world)
    before = ring(world)
    for caller in (agent(), human(confirmed="")):
        with pytest.raises(Denied):
            world.service.rotate_key(caller)
    assert ring(world) == before
    refusals = world.service.audit_list(
        human(), AuditRequest(action="config", outcome="refused")
    ).events
    assert len(refusals) == 2
    world.service.rotate_key(human())
    assert len(ring(world)) == 2


@pytest.mark.guarantee("C1")
def test_a_process_that_runs_on_uses_the_key_that_another_one_made(world: World) -> None:
    reject(world)
    refused(world, OLD)
    other = subprocess.run(
        [sys.executable, "-m", "memsvc", "tombstone", "rotate-key", "--confirm", "--json"],
        env={
            "MEMSVC_HOME": str(world.root / "home"),
            "MEMSVC_EMBEDDER": "none",
            "PATH": "/usr/bin",
        },
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=True,
        timeout=60,
    )
    key = json.loads(other.stdout)["key"]
    refused(world, OLD)
    reject(world, "The heron port is 6544.", "The heron port is 5433.")
    assert key in {one["key_id"] for one in stored(world)}
    refused(world, OLD, "The heron port is 6544.")
    assert world.save("Neighbour", NEIGHBOUR).outcome == "created"


@pytest.mark.guarantee("C1")
def test_a_key_file_from_before_the_last_rotation_stops_writes_instead_of_letting_claims_back(
    world: World,
) -> None:
    reject(world)
    file = world.root / "home" / "tombstone.keys"
    old = file.read_bytes()
    world.service.rotate_key(human())
    file.write_bytes(old)
    assert world.save("Unneeded", "The heron nest is 9 metres up.").outcome == "created"
    world.service.rotate_key(human())
    reject(world, "The heron port is 6544.", "The heron port is 5433.")
    new = file.read_bytes()
    for restart in (False, True):
        file.write_bytes(old)
        if restart:
            world.restart()
        with pytest.raises(Misconfigured, match="older than the last rotation"):
            world.save("Again", "The heron port is 6544.")
        findings = {one["check"]: one["state"] for one in world.service.doctor(human())}
        assert findings["tombstone keys"] == "fail"
        file.write_bytes(new)
        refused(world, OLD, "The heron port is 6544.")
    assert world.save("Neighbour", NEIGHBOUR).outcome == "created"


@pytest.mark.slow
@pytest.mark.guarantee("W3", "C1")
def test_a_rotation_killed_at_any_step_is_completed_by_the_next_one(tmp_path: Path) -> None:
    def check(world: World) -> bool:
        refused(world, OLD)
        before = len(ring(world))
        events = world.service.audit_list(human(), AuditRequest(action="config")).events
        recorded = sum("tombstone_key" in one.detail for one in events)
        assert before - 1 - recorded in (0, 1), "at most one key lacks its event, none its key"
        state = {one["check"]: one["state"] for one in world.service.doctor(human())}
        assert (state["tombstone keys"] == "warn") == (before - 1 != recorded)
        if before - 1 != recorded:
            reply = world.service.rotate_key(human())
            assert reply["resumed"]
            assert len(ring(world)) == before
        refused(world, OLD)
        assert world.save("Neighbour", NEIGHBOUR).outcome == "created"
        leftovers = [one.name for one in (world.root / "home").glob(".tombstone*")]
        assert leftovers in ([], [".tombstone.keys.new"])
        return recorded == 1

    steps(tmp_path, reject, lambda world: world.service.rotate_key(human()), check)


@pytest.mark.guarantee("C1")
def test_what_was_rejected_under_an_older_key_is_not_rejected_twice(world: World) -> None:
    other = world.save("Dates", f"{OLD}\n\nThe osprey release is on 4 April.")
    reject(world)
    world.service.rotate_key(human())
    before = {str(one["tombstone_id"]) for one in world.service.tombstones(human())}
    assert world.forget(other.id).tombstones == 2
    refused(world, OLD, "The osprey release is on 4 April.")
    (first,) = before
    world.service.lift(human(), first, "it was right")
    assert world.save("Again", OLD).outcome == "created"
    refused(world, "The osprey release is on 4 April.")
