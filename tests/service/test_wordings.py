"""What is rejected is rejected in the words it had before it was amended, too."""

import pytest

from memsvc.errors import RejectedClaim
from memsvc.model.replies import CorrectReply, SaveReply
from memsvc.model.requests import DecisionRequest, RestoreRequest, ReviewFilter
from memsvc.model.vocabulary import Disposition
from tests.service.world import World, agent, human

FIRST = "Falcon looks after the heron pump each spring."
SECOND = "The pump of heron is serviced by Falcon every spring."
THIRD = "Every spring, Falcon Ltd services the pump of heron."
RIGHT = "Nobody services the pump of heron."
HALL = "At night Bob locks the hall."
HALL_NOW = "The hall is locked by Bob at night."


def text(*parts: str) -> str:
    return "\n\n".join(parts) + "\n"


def amended(world: World) -> CorrectReply:
    note = world.save("Pump", text(FIRST, HALL))
    second = world.correct(note, text(SECOND, HALL), "amend")
    return world.correct(second, text(THIRD, HALL_NOW), "amend")


def refused(world: World, *texts: str) -> None:
    for one in texts:
        with pytest.raises(RejectedClaim):
            world.save("Again", one, by=agent(name="other"))


def saved(world: World, one: str) -> SaveReply:
    reply = world.save("Other", f"{one} So it says.", by=agent(name="other"))
    assert reply.outcome == "created"
    return reply


@pytest.mark.guarantee("C1", "C2")
def test_what_is_wrong_was_wrong_in_each_wording_and_its_neighbours_stand(world: World) -> None:
    world.correct(amended(world), text(RIGHT, HALL_NOW))
    refused(world, FIRST, SECOND, THIRD, FIRST.upper())
    saved(world, HALL)
    saved(world, FIRST.replace("Falcon", "Osprey"))
    history = [hit.text for hit in world.hits("heron pump Falcon spring", history=True)]
    assert not any(old in one for one in history for old in (FIRST, SECOND, THIRD))
    world.restart()
    world.service.rotate_key(human())
    world.service.reindex(human())
    refused(world, FIRST, SECOND)
    assert world.ids("who services the pump of heron") != []


@pytest.mark.guarantee("C2")
def test_what_was_true_before_it_changed_is_no_earlier_wording(world: World) -> None:
    note = world.save("Pump", text(FIRST, HALL))
    then = world.correct(note, text("In spring Osprey services the heron pump.", HALL), "changed")
    third = world.correct(then, text("Osprey services the heron pump in spring.", HALL), "amend")
    world.correct(third, text(RIGHT, HALL))
    refused(world, "In spring Osprey services the heron pump.")
    saved(world, FIRST)


def test_an_amendment_that_changed_the_meaning_is_undone_and_the_old_words_stand(
    world: World,
) -> None:
    second = world.correct(world.save("Pump", text(FIRST, HALL)), text(RIGHT, HALL), "amend")
    world.correct(second, text(FIRST, HALL))
    refused(world, RIGHT)
    saved(world, FIRST)


@pytest.mark.guarantee("C1", "C6")
def test_a_forgotten_note_is_forgotten_in_each_wording_and_comes_back_with_all(
    world: World,
) -> None:
    note = amended(world)
    world.forget(note.id)
    refused(world, FIRST, SECOND, THIRD, HALL, HALL_NOW)
    saved(world, FIRST.replace("Falcon", "Osprey"))
    world.service.rotate_key(human())
    world.service.restore(human(), RestoreRequest(id=note.id))
    assert all(one["lifted_at"] for one in world.service.tombstones(human()))
    saved(world, FIRST)


@pytest.mark.guarantee("C1")
def test_a_passage_is_forgotten_in_each_wording(world: World) -> None:
    note = amended(world)
    world.forget(note.id, passage=THIRD)
    refused(world, FIRST, SECOND, THIRD)
    saved(world, HALL)


@pytest.mark.guarantee("C6")
def test_a_corrected_note_that_is_brought_back_may_be_said_in_its_earlier_words(
    world: World,
) -> None:
    note = amended(world)
    world.correct(note, text(RIGHT, HALL_NOW))
    refused(world, FIRST)
    world.service.restore(human(), RestoreRequest(id=note.id, version=note.version))
    saved(world, FIRST)


@pytest.mark.guarantee("C1")
def test_a_correction_that_a_person_approves_rejects_each_wording(world: World) -> None:
    note = amended(world)
    world.service.vault_policy(human(), "personal", ["review=agents"])
    world.correct(note, text(RIGHT, HALL_NOW))
    saying = world.save("Meanwhile", f"{FIRST} So it says.", by=human())
    assert saying.outcome == "created"
    (item,) = world.service.reviews(human(), ReviewFilter(kind="correction"))
    request = DecisionRequest(id=str(item["review_id"]), disposition=Disposition.KEEP_NEW)
    world.service.decide(human(), request)
    world.service.vault_policy(human(), "personal", ["review=none"])
    refused(world, FIRST, SECOND, THIRD)
    saved(world, HALL)
