"""What leaves with a note or a passage, and what a retraction refuses."""

from dataclasses import replace

import pytest

from memsvc.errors import Denied, InvalidInput, RejectedClaim, SecretFound
from memsvc.model.requests import AuditRequest, ReviewFilter
from tests.service.world import World, agent, human

PORT = "The heron deploy port is 6544."
LAMP = "The lamp hangs high."
SECRET = "AKIA" + "Z3MHALJ5RZQ6KP2D"


def test_a_passage_that_is_all_there_is_retracts_the_note(world: World) -> None:
    whole = world.save("Port", PORT)
    assert world.forget(whole.id, passage=f"  {PORT}\n").outcome == "retracted"
    other = world.save("Lamp", f"{LAMP}\n\n&nbsp;")
    reply = world.forget(other.id, passage=LAMP)
    assert reply.outcome == "passage_removed"
    assert reply.notice == ""
    rest = world.save("Tea", "The tea is served at four. It is green.")
    assert world.forget(rest.id, passage=" It is green.\n").outcome == "passage_removed"
    assert "green" not in world.file(rest.path).read_text()
    cup = world.save("Cup", "The cup is red. It is full.")
    assert world.forget(cup.id, passage="\n  It is full.  ").outcome == "passage_removed"
    assert world.ids("tea served") == [rest.id]


def test_a_passage_that_is_all_there_is_may_have_other_ends_of_lines(world: World) -> None:
    world.write("heron/dos.md", f"{PORT}\r\n{LAMP}\r\n")
    (dos,) = world.ids("deploy port")
    assert world.forget(dos, passage=f"{PORT}\n{LAMP}").outcome == "retracted"
    assert world.ids("deploy port") == []


def test_a_blank_passage_is_no_passage(world: World) -> None:
    note = world.save("Port", f"{PORT} {LAMP}")
    assert world.forget(note.id, passage=" \n").outcome == "retracted"
    assert world.ids("deploy port") == []


@pytest.mark.guarantee("W1")
def test_a_retraction_is_refused_for_its_words_and_changes_nothing(world: World) -> None:
    note = world.save("Port", f"{PORT} {LAMP}")
    with pytest.raises(SecretFound):
        world.forget(note.id, reason=f"the key {SECRET} leaked")
    with pytest.raises(InvalidInput, match="whole note"):
        world.forget(note.id, passage=PORT, mode="purge")
    with pytest.raises(InvalidInput):
        world.forget(note.id, passage="The heron deploy port is 9999.")
    assert world.ids("deploy port") == [note.id]
    assert PORT in world.file(note.path).read_text()
    refused = world.service.audit_list(human(), AuditRequest(outcome="refused")).events
    assert [event.action for event in refused] == ["forget"] * 3
    assert world.forget(note.id).outcome == "retracted"


def test_what_was_asked_of_a_retracted_note_is_closed(world: World) -> None:
    world.service.vault_policy(human(), "personal", ["review=agents"])
    note = world.save("Port", PORT)
    world.save("Lamp", LAMP)
    assert len(world.service.reviews(human(), ReviewFilter())) == 2
    world.forget(note.id, by=human())
    (left,) = world.service.reviews(human(), ReviewFilter())
    assert left["note_id"] != note.id


def test_two_files_of_one_name_both_stay_in_the_trash(world: World) -> None:
    for body in (PORT, LAMP):
        note = world.save("Port", body)
        world.forget(note.id)
    kept = sorted(path.read_text() for path in (world.vault / ".trash").rglob("*.md"))
    assert len(kept) == 2
    assert sum(PORT in text for text in kept) == sum(LAMP in text for text in kept) == 1


def test_a_title_with_a_number_is_rejected_with_its_note_and_a_name_is_not(world: World) -> None:
    first = world.save("Port is 6544 now", LAMP)
    second = world.save("The old harbour lamp", PORT)
    for note in (first, second):
        world.forget(note.id)
    with pytest.raises(RejectedClaim):
        world.save("Port is 6544 now", "The tea is served at four.")
    assert world.save("The old harbour lamp", "The tea is served at five.").outcome == "created"


@pytest.mark.guarantee("C6")
def test_a_rejection_is_lifted_by_a_person_who_confirms_it_and_by_nobody_else(world: World) -> None:
    world.forget(world.save("Port", PORT).id)
    rows = world.service.tombstones(human())
    stone = str(rows[0]["tombstone_id"])
    for caller in (agent(), replace(agent(), confirmed="flag"), human(confirmed="")):
        with pytest.raises(Denied):
            world.service.lift(caller, stone, "it was right")
        with pytest.raises(Denied):
            world.service.rotate_key(caller, "again")
    with pytest.raises(RejectedClaim):
        world.save("Port", PORT)
    for row in rows:
        world.service.lift(human(), str(row["tombstone_id"]).lower(), "it was right")
    assert world.save("Port", PORT).outcome == "created"
    assert world.service.rotate_key(human(), "a year went by")
