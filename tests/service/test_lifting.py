"""Lifting a rejection by hand: which one, for whom, and what the reason may say."""

from dataclasses import replace

import pytest

from memsvc.errors import Denied, NotFound, RejectedClaim, SecretFound
from memsvc.model.requests import AuditRequest
from tests.service.world import World, agent, human

PORT = "The heron deploy port is 6544."
SECRET = "AKIA" + "Z3MHALJ5RZQ6KP2D"


def rejected(world: World) -> str:
    """The tombstone of a retracted note of one claim."""
    world.forget(world.save("Port", PORT).id)
    (row,) = world.service.tombstones(human())
    return str(row["tombstone_id"])


@pytest.mark.guarantee("C6")
def test_a_rejection_is_lifted_once_by_its_id_and_no_other_is_found(world: World) -> None:
    stone = rejected(world)
    for caller, wanted in (
        (human(), "01AAAAAAAAAAAAAAAAAAAAAAAA"),
        (human(), ""),
        (human("osprey"), stone),
    ):
        with pytest.raises(NotFound, match="tombstone list"):
            world.service.lift(caller, wanted, "")
    with pytest.raises(RejectedClaim):
        world.save("Port", PORT)
    done = world.service.lift(human(), f" {stone.lower()}\n", "")
    assert done["tombstone"] == stone
    with pytest.raises(NotFound, match="tombstone list"):
        world.service.lift(human(), stone, "")
    lifts = world.service.audit_list(human(), AuditRequest(action="lift", outcome="done")).events
    assert [str(event.seq) for event in lifts] == [done["event"]]
    assert world.save("Port", PORT).outcome == "created"


@pytest.mark.guarantee("C6", "A3")
def test_the_reason_for_lifting_a_rejection_holds_no_secret(world: World) -> None:
    stone = rejected(world)
    with pytest.raises(SecretFound):
        world.service.lift(human(), stone, f"the key {SECRET} leaked")
    with pytest.raises(RejectedClaim):
        world.save("Port", PORT)
    world.service.lift(human(), stone, "it was right")
    assert world.save("Port", PORT).outcome == "created"


@pytest.mark.guarantee("C6")
def test_a_rejection_is_lifted_by_who_reviews_its_scope(world: World) -> None:
    stone = rejected(world)
    with pytest.raises(Denied, match="reviewer"):
        world.service.lift(replace(agent(), confirmed="flag"), stone, "it was right")
    with pytest.raises(RejectedClaim):
        world.save("Port", PORT)
    assert world.service.lift(human(), stone, "it was right")["tombstone"] == stone
