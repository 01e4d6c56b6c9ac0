"""restore-note: a person brings a note back, to any version, and what that says of rejected claims."""

from dataclasses import replace
from pathlib import Path

import pytest

from memsvc.errors import (
    Denied,
    InvalidInput,
    NotFound,
    RejectedClaim,
    SecretFound,
    Uneditable,
)
from memsvc.ledger import registry
from memsvc.model.identity import Caller
from memsvc.model.replies import RestoreReply
from memsvc.model.requests import AuditRequest, DecisionRequest, ReadRequest, RestoreRequest
from memsvc.model.vocabulary import Disposition
from tests.e2e.test_crash import steps
from tests.service.world import World, agent, human

OLD = "The heron deploy port is 6544."
NEW = "The heron deploy port is 5433."
HAND = "Port notes\n\nThe osprey port is 7117.\n"


def restore(
    world: World, note_id: str, version: int = 0, *, by: Caller | None = None, reason: str = ""
) -> RestoreReply:
    request = RestoreRequest(id=note_id, version=version, reason=reason)
    return world.service.restore(by or human(), request)


def texts(world: World, query: str = "heron deploy port") -> list[str]:
    return [hit.text for hit in world.hits(query)]


def test_a_retracted_note_comes_back_with_its_file_byte_for_byte(world: World) -> None:
    note = world.save("Port", OLD, tags=("ports",))
    before = world.file(note.path).read_bytes()
    trash = world.forget(note.id).trash
    assert texts(world) == []
    reply = restore(world, note.id, reason="it was right")
    assert (reply.outcome, reply.version, reply.restored) == ("restored", 2, 1)
    assert (reply.path, reply.lifted, reply.notice) == (note.path, 1, "")
    assert world.file(note.path).read_bytes() == before
    assert not world.file(trash).exists()
    (hit,) = world.hits("heron deploy port")
    assert (hit.id, hit.version, hit.text, hit.trust) == (note.id, 2, OLD, "agent")
    world.restart()
    world.service.reindex(human())
    assert texts(world) == [OLD]
    corrected = world.correct(world.save("Port", OLD, by=agent("osprey")), NEW, by=agent("osprey"))
    assert corrected.version == 2
    view = world.service.read(agent(), ReadRequest(id=note.id))
    assert world.correct(hit, NEW).version == view.version + 1  # type: ignore[arg-type] # has both


@pytest.mark.guarantee("C6", "A1")
def test_a_restore_is_an_event_and_lifts_what_the_retraction_rejected(world: World) -> None:
    note = world.save("Port", f"{OLD}\n\nIt was chosen by vote in March.")
    other = world.save("Tea", "The tea is at four.")
    world.forget(other.id)
    world.forget(note.id)
    for text in (OLD, "The tea is at four."):
        with pytest.raises(RejectedClaim):
            world.save("Again", text, by=agent(name="other"))
    reply = restore(world, note.id, reason="voted again")
    assert reply.lifted == 3
    lift, event = world.service.audit_list(human(), AuditRequest(id=note.id)).events[:2]
    assert (event.action, event.outcome, event.reason) == ("restore", "done", "voted again")
    assert (event.seq, event.version, event.actor) == (reply.event, 2, "human:alice")
    assert event.detail["confirmed"] == "flag"
    assert (event.detail["restored"], event.detail["lifted"]) == (1, 3)
    assert event.after_hash == event.before_hash != ""
    assert (lift.action, lift.detail["restore"]) == ("lift", event.seq)
    standing = [one for one in world.service.tombstones(human()) if not one["lifted_at"]]
    assert {one["note_id"] for one in standing} == {other.id}
    lifted = [one for one in world.service.tombstones(human()) if one["lifted_at"]]
    assert {one["tombstone_id"] for one in lifted} == set(lift.detail["tombstones"])  # type: ignore[arg-type] # ids
    assert {one["lifted_by"] for one in lifted} == {"human:alice"}
    world.save("Elsewhere", f"{OLD} Or so they say.")
    with pytest.raises(RejectedClaim):
        world.save("Again", "The tea is at four.")


@pytest.mark.guarantee("C6", "W2")
def test_only_a_person_who_confirms_brings_a_note_back(world: World) -> None:
    note = world.save("Port", OLD)
    world.forget(note.id)
    for caller in (replace(agent(), confirmed="flag"), human(confirmed="")):
        for wanted in (note.id, "01AAAAAAAAAAAAAAAAAAAAAAAA"):
            with pytest.raises(Denied):
                restore(world, wanted, by=caller)
    refused = world.service.audit_list(human(), AuditRequest(action="restore")).events
    assert [(one.outcome, one.reason) for one in refused] == [("refused", "denied")] * 4
    assert texts(world) == []
    assert restore(world, note.id).outcome == "restored"
    assert texts(world) == [OLD]


@pytest.mark.guarantee("S1")
def test_a_note_of_another_project_is_not_found(world: World) -> None:
    note = world.save("Port", OLD)
    world.forget(note.id)
    messages = set()
    for wanted in (note.id, "01AAAAAAAAAAAAAAAAAAAAAAAA"):
        with pytest.raises(NotFound) as caught:
            restore(world, wanted, by=human("osprey"))
        messages.add(caught.value.message)
    assert len(messages) == 1
    assert restore(world, note.id).outcome == "restored"


def test_a_second_restore_changes_nothing(world: World) -> None:
    note = world.save("Port", OLD)
    world.correct(note, NEW)
    first = restore(world, note.id, 1)
    data = world.file(note.path).read_bytes()
    count = len(world.service.audit_list(human()).events)
    for version in (0, 1, 3):
        again = restore(world, note.id, version)
        assert (again.outcome, again.version, again.event) == ("unchanged", 3, first.event)
    assert world.file(note.path).read_bytes() == data
    assert len(world.service.audit_list(human()).events) == count
    assert restore(world, note.id, 2).outcome == "restored"


@pytest.mark.guarantee("C1")
def test_a_corrected_note_goes_back_to_an_older_version_and_only_that_is_said_again(
    world: World,
) -> None:
    note = world.save("Port", f"{OLD}\n\nIt was 1111 before, they say.")
    second = world.correct(note, f"{NEW}\n\nIt was 1111 before, they say.")
    world.forget(note.id, passage="It was 1111 before, they say.")
    assert second.version == 2
    assert texts(world) == [NEW]
    reply = restore(world, note.id, 2)
    assert (reply.version, reply.restored, reply.lifted) == (4, 2, 2)
    with pytest.raises(RejectedClaim):
        world.save("Again", OLD)
    reply = restore(world, note.id, 1)
    assert (reply.version, reply.restored) == (5, 1)
    (text,) = texts(world)
    assert OLD in text
    assert NEW not in text
    file = world.file(note.path).read_text("utf-8")
    assert OLD in file
    assert "version: 5\n" in file
    assert world.save("More", f"{OLD} We checked.").outcome == "created"
    world.service.reindex(human())
    assert world.ids("heron deploy port 5433 voted") != []
    assert NEW not in " ".join(texts(world))


def test_a_retracted_note_comes_back_in_an_older_version(world: World) -> None:
    note = world.save("Port", OLD)
    world.correct(note, NEW)
    world.forget(note.id)
    assert texts(world) == []
    reply = restore(world, note.id, 1)
    assert (reply.version, reply.restored, reply.lifted) == (3, 1, 2)
    assert texts(world) == [OLD]
    assert OLD in world.file(note.path).read_text("utf-8")
    restored = world.service.read(agent(), ReadRequest(id=note.id))
    assert [one.mode for one in restored.versions] == ["save", "wrong", "restore"]
    with pytest.raises(InvalidInput, match="1, 2, 3"):
        restore(world, note.id, 9)


@pytest.mark.guarantee("C6")
def test_a_note_that_comes_back_leaves_what_it_was_corrected_from_rejected(world: World) -> None:
    note = world.save("Port", OLD)
    world.correct(note, NEW)
    world.forget(note.id)
    reply = restore(world, note.id)
    assert (reply.restored, reply.lifted) == (2, 1)
    assert texts(world) == [NEW]
    with pytest.raises(RejectedClaim):
        world.save("Again", OLD)
    assert world.save("More", f"{NEW} We checked.").outcome == "created"


@pytest.mark.guarantee("R5")
def test_the_history_of_a_note_comes_back_with_it(world: World) -> None:
    note = world.save("Port", OLD, valid_from="2026-01-01")
    world.correct(note, NEW, "changed", effective="2026-06-01")
    before = [hit.text for hit in world.hits("heron deploy port", history=True)]
    assert sorted(before) == sorted([NEW, OLD])
    world.forget(note.id)
    assert world.hits("heron deploy port", history=True) == []
    restore(world, note.id)
    back = [hit.text for hit in world.hits("heron deploy port", history=True)]
    assert sorted(back) == sorted(before)
    assert [hit.text for hit in world.hits("heron deploy port", as_of="2026-03-01")] == [OLD]
    world.service.reindex(human())
    assert [hit.text for hit in world.hits("heron deploy port", history=True)] == back


def test_a_place_that_is_taken_is_left_alone(world: World) -> None:
    note = world.save("Port", OLD)
    world.forget(note.id)
    other = world.save("Port", "Wine from the north, bottled at dusk.")
    assert other.path == note.path
    kept = world.file(other.path).read_bytes()
    reply = restore(world, note.id)
    assert reply.path == "heron/port-2.md"
    assert reply.path in reply.notice
    assert world.file(other.path).read_bytes() == kept
    assert OLD in world.file(reply.path).read_text("utf-8")
    assert texts(world) == [OLD]
    world.restart()
    assert texts(world) == [OLD]


def test_links_that_named_the_note_while_it_was_gone_lead_to_it_again(world: World) -> None:
    note = world.save("Port", OLD)
    world.forget(note.id)
    plan = world.save("Plan", "As [[port]] has it, we go on.")
    restore(world, note.id)
    view = world.service.read(agent(), ReadRequest(id=note.id))
    assert [one.id for one in view.links_in] == [plan.id]


def test_a_note_whose_file_was_deleted_is_written_again(world: World) -> None:
    note = world.save("Port", OLD)
    world.save("Tea", "The tea is at four.")
    world.file(note.path).unlink()
    assert texts(world) == []
    reply = restore(world, note.id)
    assert (reply.outcome, reply.lifted) == ("restored", 0)
    assert texts(world) == [OLD]
    assert "version: 2\n" in world.file(note.path).read_text("utf-8")


def test_a_hand_written_note_keeps_its_bytes(world: World) -> None:
    file = world.write("heron/hand.md", HAND.replace("\n", "\r\n"))
    (hit,) = world.hits("osprey port")
    world.forget(hit.id)
    world.file(".trash/heron/hand.md").unlink()
    restore(world, hit.id)
    assert file.read_bytes() == HAND.replace("\n", "\r\n").encode()
    assert world.ids("osprey port") == [hit.id]


def test_text_that_is_no_utf8_comes_back_from_the_trash_only(world: World) -> None:
    file = world.write("heron/latin.md", "Die Fähre fährt um 7117 ab.\n".encode("latin-1"))
    (hit,) = world.hits("7117")
    before = file.read_bytes()
    world.forget(hit.id)
    restore(world, hit.id)
    assert file.read_bytes() == before
    trash = world.forget(hit.id).trash
    world.file(trash).unlink()
    with pytest.raises(Uneditable):
        restore(world, hit.id)
    assert world.ids("7117") == []


@pytest.mark.guarantee("C4")
def test_a_replaced_note_comes_back_only_when_its_successor_is_gone(world: World) -> None:
    note = world.save("Port", OLD)
    after = world.save("Port now", NEW, supersedes=(note.id,))
    for version in (0, 1):
        with pytest.raises(InvalidInput, match=after.id):
            restore(world, note.id, version)
    assert texts(world) == [NEW]
    world.forget(after.id)
    assert restore(world, note.id).restored == 1
    (hit,) = world.hits("heron deploy port")
    assert (hit.text, hit.status, hit.superseded_by) == (OLD, "active", "")
    assert "superseded_by:\n" in world.file(note.path).read_text("utf-8")
    world.service.reindex(human())
    assert texts(world) == [OLD]


@pytest.mark.guarantee("C1", "C2")
def test_what_another_notes_retraction_rejected_is_lifted_by_hand_only(world: World) -> None:
    note = world.save("Port", OLD)
    other = world.save("Runbook", f"Read this. {OLD} Then breathe.")
    world.forget(other.id)
    world.forget(note.id)
    with pytest.raises(RejectedClaim) as caught:
        restore(world, note.id)
    assert texts(world) == []
    assert not world.file(note.path).exists()
    world.service.lift(human(), str(caught.value.data["tombstone"]), "")
    assert restore(world, note.id).outcome == "restored"
    assert texts(world) == [OLD]


@pytest.mark.guarantee("W1")
def test_a_secret_does_not_come_back(world: World) -> None:
    secret = "AKIA" + "Q3ZLN7XW5RT2VB6M"
    file = world.write("heron/key.md", f"# Key\n\nThe heron key is {secret}.\n")
    world.save("Tea", "The tea is at four.")
    world.ids("key")
    (item,) = world.service.reviews(human())
    with pytest.raises(InvalidInput, match="review"):
        restore(world, str(item["note_id"]))
    file.unlink()
    world.ids("key")
    with pytest.raises(SecretFound):
        restore(world, str(item["note_id"]))
    assert not file.exists()
    assert world.ids("heron key") == []


@pytest.mark.guarantee("W1")
def test_what_the_policy_forbids_by_now_does_not_come_back(world: World) -> None:
    secret = "AKIA" + "Q3ZLN7XW5RT2VB6M"
    private = "<private>The osprey key is under the mat.</private>"
    world.service.vault_policy(human(), "personal", ["secrets=off"])
    key = world.save("Key", f"The heron key is {secret}.")
    long = world.save("Long", f"{OLD}\n\n" + "The heron rests. " * 20)
    for note in (key, long):
        world.forget(note.id)
    world.service.vault_policy(human(), "personal", ["secrets=on", "max_note=100"])
    with pytest.raises(SecretFound):
        restore(world, key.id)
    with pytest.raises(InvalidInput, match="max_note"):
        restore(world, long.id)
    world.write("heron/hand.md", f"# Hand\n\n{private}\n")
    world.ids("osprey key")
    (item,) = world.service.reviews(human())
    world.file("heron/hand.md").unlink()
    assert world.ids("osprey key") == []
    with pytest.raises(InvalidInput, match="private"):
        restore(world, str(item["note_id"]))
    assert {one.name for one in world.file("heron").glob("*.md")} == set()
    world.service.vault_policy(human(), "personal", ["secrets=off", "max_note="])
    for note in (key, long):
        assert restore(world, note.id).outcome == "restored"
    assert set(world.ids("heron key deploy port")) == {key.id, long.id}


def test_a_reviewer_who_brings_a_note_back_waits_for_no_other(world: World) -> None:
    note = world.save("Port", OLD)
    world.forget(note.id)
    world.service.vault_policy(human(), "personal", ["review=all"])
    assert world.save("Other", NEW).outcome == "proposed"
    assert restore(world, note.id).notice == ""
    assert texts(world) == [OLD]


@pytest.mark.guarantee("W1")
def test_what_nobody_approved_waits_again_when_it_comes_back(world: World) -> None:
    first = world.save("Port", OLD)
    world.service.vault_policy(human(), "personal", ["review=agents"])
    proposal = world.correct(first, NEW, "changed")
    (before,) = world.service.reviews(human())
    note_id = str(before["note_id"])
    world.forget(note_id)
    assert world.service.reviews(human()) == []
    reply = restore(world, note_id)
    assert "waits for a review" in reply.notice
    assert texts(world) == [OLD]
    (after,) = world.service.reviews(human())
    assert (after["kind"], after["note_id"]) == ("correction", note_id)
    assert after["review_id"] != before["review_id"]
    file = world.file(reply.path)
    file.write_text(file.read_text("utf-8").replace("status: proposed", "status: active"), "utf-8")
    assert texts(world) == [OLD]
    (item,) = world.service.reviews(human())
    request = DecisionRequest(id=str(item["review_id"]), disposition=Disposition.KEEP_NEW)
    world.service.decide(human(), request)
    assert texts(world) == [NEW]
    assert world.ids("heron deploy port") == [proposal.id]


def test_a_rejected_proposal_that_a_reviewer_brings_back_stands(world: World) -> None:
    world.service.vault_policy(human(), "personal", ["review=agents"])
    note = world.save("Port", OLD)
    (item,) = world.service.reviews(human())
    request = DecisionRequest(id=str(item["review_id"]), disposition=Disposition.KEEP_OLD)
    world.service.decide(human(), request)
    assert texts(world) == []
    assert restore(world, note.id).lifted == 1
    assert texts(world) == [OLD]
    assert world.service.reviews(human()) == []


def test_a_file_put_back_by_hand_waits_until_a_person_restores_it(world: World) -> None:
    note = world.save("Port", OLD)
    trash = world.forget(note.id).trash
    world.file(trash).rename(world.file(note.path))
    before = world.file(note.path).read_bytes()
    assert texts(world) == []
    reply = restore(world, note.id)
    assert (reply.outcome, reply.lifted) == ("restored", 1)
    assert texts(world) == [OLD]
    assert world.file(note.path).read_bytes() == before
    assert world.service.reviews(human()) == []


def test_a_person_who_edits_meanwhile_loses_nothing(world: World) -> None:
    note = world.save("Port", OLD)
    world.correct(note, NEW)
    file = world.file(note.path)
    file.write_text(f"{file.read_text('utf-8')}\nMy own line about port 8080.\n", "utf-8")
    reply = restore(world, note.id, 1)
    assert reply.version == 4
    assert "8080" not in file.read_text("utf-8")
    view = world.service.read(agent(), ReadRequest(id=note.id, version=3))
    assert "My own line" in view.body


@pytest.mark.slow
@pytest.mark.guarantee("W4")
def test_a_restore_survives_a_kill_at_every_step_or_never_was(tmp_path: Path) -> None:
    def prepare(world: World) -> None:
        note = world.save("Port", OLD)
        world.save("Tea", f"The note on the port is {note.id}.")
        world.forget(note.id)

    def act(world: World) -> None:
        (told,) = world.hits("note on the port")
        restore(world, told.text.split()[-1].rstrip("."))

    def check(world: World) -> bool:
        back = OLD in texts(world)
        assert back == world.file("heron/port.md").exists()
        assert back != world.file(".trash/heron/port.md").exists()
        assert back == all(one["lifted_at"] for one in world.service.tombstones(human()))
        return back

    steps(tmp_path, prepare, act, check)


@pytest.mark.guarantee("C6")
def test_a_restore_that_lifts_nothing_records_no_lift(world: World) -> None:
    deleted, gone = world.save("Gate", "The gate opens at seven."), world.save("Port", OLD)
    world.file(deleted.path).unlink()
    assert world.ids("gate opens") == []
    world.forget(gone.id)
    for note, lifted in ((deleted, 0), (gone, 1)):
        assert restore(world, note.id).lifted == lifted
        found = world.service.audit_list(human(), AuditRequest(action="lift")).events
        assert len(found) == lifted


@pytest.mark.guarantee("C4")
def test_a_restored_note_names_no_successor_that_is_gone(world: World) -> None:
    note = world.save("Port", OLD)
    after = world.save("Port now", NEW, supersedes=(note.id,))
    world.forget(after.id)
    restore(world, note.id)
    with world.service._database.read() as connection:
        found = registry.find_note(connection, note.id)
    assert found is not None
    assert (found.status, found.superseded_by) == ("active", "")
