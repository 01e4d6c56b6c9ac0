"""What leaves with a note or a passage, and what a retraction refuses."""

from dataclasses import replace

import pytest

from memsvc.errors import (
    Denied,
    InvalidInput,
    NotFound,
    RejectedClaim,
    SecretFound,
    StaleVersion,
    Uneditable,
)
from memsvc.ledger import registry
from memsvc.model.requests import (
    AuditRequest,
    CorrectRequest,
    ReadRequest,
    RestoreRequest,
    ReviewFilter,
)
from memsvc.model.vocabulary import CorrectMode, NoteId
from tests.service.interrupted import cut_off
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


def test_a_title_that_was_amended_is_a_name_too_unless_it_has_a_number(world: World) -> None:
    for old, new in (("The tall harbour crane", "Crane 11"), ("Crane 12 is tall", "Crane 12")):
        note = world.save(old, f"{new} moves slowly.")
        world.forget(world.correct(note, f"{new} moves slowly.", "amend", title=new).id)
    assert world.save("The tall harbour crane", "It is green.").outcome == "created"
    with pytest.raises(RejectedClaim):
        world.save("Crane 12 is tall", "It is green.")


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


@pytest.mark.guarantee("C2")
def test_words_that_are_too_few_to_be_a_claim_are_rejected_by_nobody(world: World) -> None:
    note = world.save("Lamp", f"{LAMP}\n\nNo tea.")
    later = world.correct(note, f"No tea.\n\n{PORT}", "changed")
    world.correct(later, f"{PORT}\n\nIt is old.")
    assert world.save("Tea", "No tea.\n\nThe cup is blue.").outcome == "created"
    with pytest.raises(RejectedClaim):
        world.save("Tea again", f"No tea.\n\n{PORT}")
    texts = [hit.text for hit in world.hits("lamp hangs high", history=True, detail="full")]
    assert any("No tea." in text for text in texts), "what was true once stays in history"


@pytest.mark.guarantee("A1")
def test_new_rejections_are_one_event_and_none_is_none(world: World) -> None:
    def events() -> list[object]:
        found = world.service.audit_list(human(), AuditRequest(action="tombstone")).events
        return [event.detail["claims"] for event in found]

    for name in ("a", "b"):
        world.write(f"heron/{name}.md", f"{PORT} {LAMP}\n")
    note = world.save("Tea", "The tea is served at four.")
    later = world.correct(note, "The tea is served at five.", "changed")
    world.correct(later, "Tea is served at five.", "amend")
    (first,) = world.ids("deploy port lamp")
    assert events() == []
    (second,) = (one.id for one in world.forget(first).also_stated_in)
    assert events() == [len(world.service.tombstones(human()))] == [3]
    assert world.forget(second).outcome == "retracted"
    assert events() == [3]


def test_a_note_that_left_is_neither_corrected_nor_forgotten_again(world: World) -> None:
    note = world.save("Port", f"{PORT} {LAMP}")
    kept = world.save("Lamp", LAMP)
    world.forget(note.id)
    with pytest.raises(NotFound):
        world.correct(note, LAMP)
    with pytest.raises(NotFound):
        world.forget(note.id)
    with pytest.raises(NotFound):  # somebody forgot it while the correction waited for the lock
        cut_off(world, note.id, "Port", LAMP)
    assert world.correct(kept, "The lamp hangs low today.").outcome == "corrected"


@pytest.mark.guarantee("W5")
def test_a_correction_is_of_the_file_as_it_stands(world: World) -> None:
    note = world.save("Port", PORT)
    path = world.file(note.path)
    path.write_text(path.read_text().replace(PORT, f"{PORT} {LAMP}"))
    with pytest.raises(StaleVersion) as stale:
        world.correct(note, "The heron deploy port is 9999.", "changed")
    assert LAMP in str(stale.value.data["body"])
    assert LAMP in path.read_text()


@pytest.mark.guarantee("W4")
def test_what_an_interrupted_correction_left_is_finished_before_the_next_one(world: World) -> None:
    note = world.save("Port", PORT)
    cut_off(world, note.id, "Port", f"{PORT} {LAMP}\n")
    assert LAMP not in world.file(note.path).read_text()
    with pytest.raises(StaleVersion) as stale:
        world.correct(note, "The heron deploy port is 9999.", "changed")
    assert LAMP in str(stale.value.data["body"])
    assert LAMP in world.file(note.path).read_text()
    assert world.service.reviews(human()) == []


def test_a_note_whose_text_the_ledger_lost_is_left_as_it_is(world: World) -> None:
    note, kept = world.save("Port", PORT), world.save("Lamp", LAMP)
    with world.service._database.write() as connection:
        connection.exec_driver_sql("DELETE FROM note_version WHERE note_id = ?", (note.id,))
    with pytest.raises(Uneditable, match="doctor"):
        world.correct(note, LAMP)
    assert PORT in world.file(note.path).read_text()
    assert world.forget(kept.id).outcome == "retracted"


def test_a_version_tells_how_it_ended_also_after_its_claim_was_rejected_again(world: World) -> None:
    note = world.save("Port", f"{PORT} {LAMP}")
    later = world.correct(note, f"{PORT} {LAMP} So it is.", "changed")
    world.forget(note.id)
    world.service.restore(human(), RestoreRequest(id=note.id))
    now = world.service.read(agent(), ReadRequest(id=note.id))
    assert now.version > later.version
    world.service.correct(
        agent(),
        CorrectRequest(id=note.id, version=now.version, mode=CorrectMode.WRONG, body=LAMP),
    )
    told = [
        str(world.service.read(agent(), ReadRequest(id=note.id, version=number)))
        for number in (1, later.version, now.version)
    ]
    ends = [
        "wrong" if "as wrong" in one else "forgotten" * ("was forgotten" in one) for one in told
    ]
    assert ends == ["wrong", "forgotten", "wrong"]


def test_a_version_that_was_amended_before_it_was_rejected_was_believed_until_then(
    world: World,
) -> None:
    note = world.save("Port", f"{PORT} {LAMP}")
    later = world.correct(note, f"{LAMP} {PORT}", "amend")
    world.correct(later, LAMP)
    with world.service._database.read() as connection:
        first, second, third = registry.versions_of(connection, NoteId(note.id))
    assert (first.end_mode, second.end_mode) == ("wrong", "wrong")
    assert first.recorded_to == second.recorded_from
    assert second.recorded_to == third.recorded_from


def test_only_a_claim_that_counts_makes_another_note_state_the_same(world: World) -> None:
    note = world.save("Host", "The staging host is called marsh.\n\nSee below.")
    world.save("Host", "The staging host is called osprey now.\n\nSee below.")
    same = world.save("Other", "Bob says so. The staging host is called marsh.")
    reply = world.forget(note.id)
    assert [one.id for one in reply.also_stated_in] == [same.id]
