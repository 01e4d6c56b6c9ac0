"""Proposals and other items for a person: withheld until decided, each decision on record."""

import re
import shutil
from dataclasses import fields
from typing import Any

import pytest

from memsvc.errors import Denied, InvalidInput, NotFound, RejectedClaim, SecretFound, VaultOffline
from memsvc.interfaces.render import render
from memsvc.ledger import chain, registry
from memsvc.ledger import writer as ledger
from memsvc.model.identity import Caller, Scope
from memsvc.model.replies import ForgetReply, SaveReply
from memsvc.model.requests import (
    AuditRequest,
    CorrectRequest,
    DecisionRequest,
    ReadRequest,
    RestoreRequest,
    ReviewFilter,
)
from memsvc.model.vocabulary import CorrectMode, Disposition, ProjectSlug, VaultName
from memsvc.service.gateway.drafts import sha
from memsvc.service.gateway.files import scan
from tests.service.world import World, agent, human

HERON = "The heron release moves to 12 March because the pump is late.\n"
PORT = "The staging database listens on port 5433.\n"


@pytest.fixture
def reviewed(world: World) -> World:
    world.service.vault_policy(human(), "personal", ["review=agents"])
    return world


def decide(
    world: World, item: str, how: str = "keep-new", *, by: Caller | None = None, **more: Any
) -> dict[str, Any]:
    request = DecisionRequest(id=item, disposition=Disposition(how), **more)
    return world.service.decide(by or human(), request)


def items(world: World, **more: str) -> list[dict[str, Any]]:
    return world.service.reviews(human(), ReviewFilter(**more))


def only(world: World) -> str:
    (item,) = items(world)
    return str(item["review_id"])


def events(world: World, action: str) -> list[Any]:
    return world.service.audit_list(human(), AuditRequest(action=action)).events


def propose(world: World, title: str = "Heron date", body: str = HERON, **more: Any) -> SaveReply:
    reply = world.save(title, body, **more)
    assert reply.outcome == "proposed"
    return reply


def head_of(world: World, path: str) -> dict[str, str]:
    return dict(re.findall(r"^(\w+): ?(.*)$", world.file(path).read_text(), re.MULTILINE))


@pytest.mark.guarantee("W1")
def test_a_proposal_is_a_file_that_recall_withholds_until_a_person_approves(
    reviewed: World,
) -> None:
    proposal = propose(reviewed)
    assert head_of(reviewed, proposal.path)["status"] == "proposed"
    asked = reviewed.ask("when is the heron release")
    assert proposal.id not in [hit.id for hit in asked.hits]
    assert asked.coverage.withheld == {"proposed": 1}
    (proposed,) = events(reviewed, "propose")
    assert (proposed.note_id, proposed.actor) == (proposal.id, "agent:tester")

    reply = decide(reviewed, only(reviewed), reason="checked with the team")

    assert reviewed.ids("when is the heron release") == [proposal.id]
    head = head_of(reviewed, proposal.path)
    assert (head["status"], head["trust"], head["author"]) == ("active", "verified", "agent:tester")
    assert items(reviewed) == []
    (approved,) = events(reviewed, "approve")
    assert approved.seq == reply["event"]
    assert (approved.actor, approved.reason) == ("human:alice", "checked with the team")
    assert approved.detail["proposed_by"] == "agent:tester"
    assert approved.detail["edited_by"] == []
    reviewed.restart()
    reviewed.service.reindex(human())
    assert reviewed.ids("when is the heron release") == [proposal.id]


@pytest.mark.guarantee("C1")
def test_a_rejected_proposal_leaves_a_tombstone(reviewed: World) -> None:
    proposal = propose(reviewed)
    other = propose(reviewed, "Staging port", PORT)
    (first, second) = (str(item["review_id"]) for item in items(reviewed))
    reply = decide(reviewed, first, "keep-old", reason="the pump came")
    assert reply["tombstones"] >= 1
    assert not reviewed.file(proposal.path).exists()
    with pytest.raises(RejectedClaim):
        reviewed.save("Heron again", HERON.upper(), by=human())
    (rejected,) = events(reviewed, "reject")
    assert (rejected.note_id, rejected.detail["by"]) == (proposal.id, "human:alice")
    decide(reviewed, second)
    assert reviewed.ids("staging database port") == [other.id]
    assert proposal.id not in reviewed.ids("heron release pump")


def test_what_an_active_note_states_is_not_rejected_along_with_a_proposal(
    reviewed: World,
) -> None:
    reviewed.save("Staging port", PORT, by=human())
    propose(reviewed, "Staging", f"{PORT}\nThe staging database runs on host osprey.\n")
    decide(reviewed, only(reviewed), "keep-old")
    assert reviewed.save("Port once more", f"{PORT}\nAsk Bob.\n", by=human()).outcome == "created"
    with pytest.raises(RejectedClaim):
        reviewed.save("Host", "The staging database runs on host osprey.\n", by=human())


@pytest.mark.guarantee("W2")
def test_an_agent_decides_nothing_and_sees_no_withheld_text(reviewed: World) -> None:
    propose(reviewed)
    item = only(reviewed)
    for how in ("keep-new", "keep-old"):
        with pytest.raises(Denied):
            decide(reviewed, item, how, by=agent())
    with pytest.raises(Denied):
        reviewed.service.review_show(agent(), item)
    assert "title" not in reviewed.service.reviews(agent())[0]
    with pytest.raises(Denied):
        decide(reviewed, item, by=human(confirmed=""))
    assert only(reviewed) == item
    assert [event.outcome for event in events(reviewed, "approve")] == ["refused", "refused"]
    assert decide(reviewed, item)["outcome"] == "approved"


def test_an_edit_is_no_approval_and_gives_the_item_another_id(reviewed: World) -> None:
    proposal = propose(reviewed)
    first = only(reviewed)
    path = reviewed.file(proposal.path)
    path.write_text(path.read_text().replace("12 March", "19 March").replace("proposed", "active"))
    assert proposal.id not in reviewed.ids("when is the heron release")
    assert reviewed.service.read(human(), ReadRequest(id=proposal.id)).status == "proposed"
    second = only(reviewed)
    assert second != first
    with pytest.raises(NotFound):
        decide(reviewed, first)
    reply = decide(reviewed, second)
    assert reply["proposed_by"] == "agent:tester"
    assert reply["edited_by"] == ["human:file"]
    (hit,) = reviewed.hits("when is the heron release")
    assert "19 March" in hit.text


def test_an_agents_correction_of_its_proposal_stays_a_proposal(reviewed: World) -> None:
    proposal = propose(reviewed)
    reviewed.correct(proposal, "The heron release moves to 2 April.\n", "amend")
    assert head_of(reviewed, proposal.path)["status"] == "proposed"
    assert reviewed.ids("when is the heron release") == []
    (item,) = items(reviewed)
    assert item["version"] == 2
    decide(reviewed, str(item["review_id"]))
    (hit,) = reviewed.hits("when is the heron release")
    assert "2 April" in hit.text


def test_an_edit_seen_only_at_the_decision_makes_it_void(reviewed: World) -> None:
    proposal = propose(reviewed)
    item = only(reviewed)
    path = reviewed.file(proposal.path)
    path.write_text(path.read_text().replace("12 March", "19 March"))
    with pytest.raises(NotFound):
        decide(reviewed, item)
    assert reviewed.ids("when is the heron release") == []
    assert decide(reviewed, only(reviewed))["outcome"] == "approved"


def test_a_reviewers_own_text_replaces_a_proposal_in_their_name(reviewed: World) -> None:
    proposal = propose(reviewed)
    reply = decide(reviewed, only(reviewed), "replace", body="The heron release is on 30 May.")
    assert reply["edited_by"] == ["human:alice"]
    (hit,) = reviewed.hits("when is the heron release")
    assert (hit.id, hit.trust) == (proposal.id, "verified")
    assert "30 May" in hit.text
    assert head_of(reviewed, proposal.path)["author"] == "human:alice"


def test_a_proposal_supersedes_only_when_it_is_approved(reviewed: World) -> None:
    old = reviewed.save("Heron date", "The heron release is on 1 February.\n", by=human())
    new = propose(reviewed, "Heron moved", HERON, supersedes=(old.id,))
    assert reviewed.ids("when is the heron release") == [old.id]
    reply = decide(reviewed, only(reviewed))
    assert reply["superseded"] == [old.id]
    assert reviewed.ids("when is the heron release") == [new.id]
    assert head_of(reviewed, old.path)["status"] == "superseded"
    (event,) = events(reviewed, "supersede")
    view = reviewed.service.read(human(), ReadRequest(id=old.id))
    assert (event.note_id, event.version, event.detail["successor"]) == (old.id, 2, new.id)
    assert (view.version, view.status, view.superseded_by) == (2, "superseded", new.id)


def test_keep_both_leaves_the_old_note_active(reviewed: World) -> None:
    old = reviewed.save("Heron date", "The heron release is on 1 February.\n", by=human())
    new = propose(reviewed, "Heron moved", HERON, supersedes=(old.id,))
    decide(reviewed, only(reviewed), "keep-both")
    reviewed.service.reindex(human())
    assert sorted(reviewed.ids("when is the heron release")) == sorted([old.id, new.id])


def test_reject_both_retracts_the_old_note_too(reviewed: World) -> None:
    old = reviewed.save("Heron date", "The heron release is on 1 February.\n", by=human())
    kept = reviewed.save("Staging port", PORT, by=human())
    new = propose(reviewed, "Heron moved", HERON)
    item = only(reviewed)
    with pytest.raises(InvalidInput):
        decide(reviewed, item, "reject-both")
    decide(reviewed, item, "reject-both", old=old.id)
    assert reviewed.ids("when is the heron release") == []
    assert not reviewed.file(old.path).exists()
    assert not reviewed.file(new.path).exists()
    with pytest.raises(RejectedClaim):
        reviewed.save("Heron", "The heron release is on 1 February.\n", by=human())
    assert reviewed.ids("staging database port") == [kept.id]


@pytest.mark.parametrize("mode", ["changed", "wrong", "amend"])
def test_an_agents_correction_waits_and_is_applied_as_it_was_meant(
    reviewed: World, mode: str
) -> None:
    note = reviewed.save("Staging port", PORT, by=human())
    new = "The staging database listens on port 6544.\n"
    reply = reviewed.correct(note, new, mode)
    assert reply.outcome == "proposed"
    assert "stays as it is" in render(reply)
    (hit,) = reviewed.hits("staging database port")
    assert (hit.id, "5433" in hit.text) == (note.id, True)
    (item,) = items(reviewed)
    page = reviewed.service.review_show(human(), str(item["review_id"]))
    assert [one["against"] for one in page["differences"]] == [note.id]  # type: ignore[index, union-attr, call-overload] # JSON
    decide(reviewed, str(item["review_id"]))
    (hit,) = reviewed.hits("staging database port")
    assert (hit.id, "6544" in hit.text) == (note.id, True)
    assert len(list(reviewed.vault.glob("heron/*.md"))) == 1
    again = "The staging database listens on port 5433.\n"
    if mode == "wrong":
        with pytest.raises(RejectedClaim):
            reviewed.save("Port again", again, by=human())
    else:
        assert reviewed.save("Port again", again, by=human()).outcome == "created"


def test_a_correction_that_is_turned_down_leaves_its_note_and_what_both_say(
    reviewed: World,
) -> None:
    note = reviewed.save("Staging port", f"{PORT}\nAlice looks after the database.\n", by=human())
    new = "The staging database listens on port 6544.\n\nAlice looks after the database.\n"
    reviewed.correct(note, new, "amend")
    decide(reviewed, only(reviewed), "keep-old")
    (hit,) = reviewed.hits("staging database port")
    assert (hit.id, "5433" in hit.text) == (note.id, True)
    with pytest.raises(RejectedClaim):
        reviewed.save("Port", "The staging database listens on port 6544.\n", by=human())
    kept = reviewed.save("Who", "Alice looks after the database.\n\nBob too.\n", by=human())
    assert kept.outcome == "created"


def test_a_correction_and_its_note_are_rejected_together(reviewed: World) -> None:
    note = reviewed.save("Staging port", PORT, by=human())
    reviewed.correct(note, "The staging database listens on port 6544.\n", "amend")
    decide(reviewed, only(reviewed), "reject-both")
    assert reviewed.ids("staging database port") == []
    for port in ("5433", "6544"):
        with pytest.raises(RejectedClaim):
            reviewed.save("Port", f"The staging database listens on port {port}.\n", by=human())
    assert reviewed.save("Port", PORT.replace("5433", "7000"), by=human()).outcome == "created"


def test_a_correction_is_applied_with_the_title_and_the_text_of_the_reviewer(
    reviewed: World,
) -> None:
    note = reviewed.save("Staging port", PORT, by=human())
    reviewed.correct(note, "The staging database listens on port 6544.\n", "amend")
    own = "The staging database listens on port 7000."
    decide(reviewed, only(reviewed), "replace", body=own, title=" Port of staging ")
    (hit,) = reviewed.hits("staging database port")
    assert (hit.id, hit.title, "7000" in hit.text) == (note.id, "Port of staging", True)
    version = reviewed.service.read(human(), ReadRequest(id=note.id))
    assert (version.author, version.trust) == ("human:alice", "verified")


def test_a_correction_of_a_text_that_changed_since_is_not_applied(reviewed: World) -> None:
    note = reviewed.save("Staging port", PORT, by=human())
    reviewed.correct(note, "The staging database listens on port 6544.\n", "amend")
    reviewed.correct(note, "The staging database listens on port 7000.\n", "amend", by=human())
    item = only(reviewed)
    with pytest.raises(InvalidInput, match="changed since"):
        decide(reviewed, item)
    (hit,) = reviewed.hits("staging database port")
    assert "7000" in hit.text
    decide(reviewed, item, "keep-old")
    with pytest.raises(RejectedClaim):
        reviewed.save("Port", "The staging database listens on port 6544.\n", by=human())


@pytest.mark.guarantee("W1")
def test_an_external_edit_is_withheld_and_approved_or_undone(world: World) -> None:
    note = world.save("Staging port", PORT, by=human())
    world.service.vault_policy(human(), "personal", ["external_edits=propose"])
    path = world.file(note.path)
    before = path.read_text()
    path.write_text(before.replace("5433", "6544"))
    assert world.ids("staging database port") == []
    page = world.service.review_show(human(), only(world))
    assert "-The staging database listens on port 5433." in str(page["differences"])
    decide(world, only(world), "keep-old", reason="not agreed")
    (hit,) = world.hits("staging database port")
    assert (hit.id, "5433" in hit.text) == (note.id, True)
    assert "5433" in path.read_text()
    with pytest.raises(RejectedClaim):
        world.save("Port", "The staging database listens on port 6544.\n")

    path.write_text(path.read_text().replace("5433", "7000"))
    assert world.ids("staging database port") == []
    decide(world, only(world))
    (hit,) = world.hits("staging database port")
    assert "7000" in hit.text


def test_a_new_file_is_proposed_and_approved_without_touching_it(world: World) -> None:
    world.service.vault_policy(human(), "personal", ["external_edits=propose"])
    file = world.write("heron/port.md", "# Staging port\n\nIt is 5433, says Bob.\n")
    assert world.ids("staging port") == []
    decide(world, only(world))
    (hit,) = world.hits("staging port")
    assert hit.trust == "verified"
    assert file.read_text() == "# Staging port\n\nIt is 5433, says Bob.\n"
    world.service.reindex(human())
    assert world.ids("staging port") == [hit.id]


def test_a_file_back_at_its_approved_text_needs_nobody(world: World) -> None:
    note = world.save("Staging port", PORT, by=human())
    world.service.vault_policy(human(), "personal", ["external_edits=propose"])
    path = world.file(note.path)
    before = path.read_text()
    path.write_text(before.replace("5433", "6544"))
    assert world.ids("staging database port") == []
    path.write_text(before)
    assert world.ids("staging database port") == [note.id]
    assert items(world) == []


@pytest.mark.guarantee("C6")
def test_approving_what_was_rejected_needs_the_word_for_it(world: World) -> None:
    note = world.save("Staging port", PORT)
    world.forget(note.id, reason="never true")
    world.write("heron/port.md", f"# Port\n\n{PORT}")
    assert world.ids("staging database port") == []
    item = only(world)
    page = world.service.review_show(human(), item)
    assert "never true" in str(page["reasons"])
    with pytest.raises(RejectedClaim):
        decide(world, item)
    assert world.ids("staging database port") == []
    decide(world, item, lift=True)
    assert len(world.ids("staging database port")) == 1
    assert events(world, "lift")[0].actor == "human:alice"


@pytest.mark.guarantee("C1", "W1")
def test_a_reviewers_own_text_is_held_to_the_same_rules(reviewed: World) -> None:
    reviewed.forget(reviewed.save("Staging port", PORT, by=human()).id, by=human())
    propose(reviewed)
    item = only(reviewed)
    secret = "The key is AKIA" + "Z3MHALJ5RZQ6KP2D"
    for body, refused in ((PORT, RejectedClaim), (secret, SecretFound)):
        with pytest.raises(refused):
            decide(reviewed, item, "replace", body=body)
    assert reviewed.loose() == []
    assert reviewed.ids("staging database port") == []
    assert only(reviewed) == item
    decide(reviewed, item, "replace", body=PORT, lift=True)
    assert len(reviewed.ids("staging database port")) == 1


def test_a_dispute_in_a_file_waits_for_a_person(world: World) -> None:
    note = world.save("Staging port", PORT)
    path = world.file(note.path)
    path.write_text(path.read_text().replace("status: active", "status: disputed"))
    assert world.ids("staging database port") == []
    (item,) = items(world)
    assert item["kind"] == "dispute"
    decide(world, str(item["review_id"]))
    assert world.ids("staging database port") == [note.id]
    assert head_of(world, note.path)["status"] == "active"


def asked_to_purge(world: World, **more: Any) -> tuple[SaveReply, str]:
    note = world.save("Staging port", PORT, **more)
    world.forget(note.id, mode="purge")
    assert note.id not in world.ids("staging database port")
    return note, only(world)


@pytest.mark.guarantee("C5")
def test_a_purge_request_that_is_approved_is_a_purge(world: World) -> None:
    world.write("heron/copy.md", f"# Copy\n\nTea at four.\n\n{PORT}")
    assert len(world.ids("tea at four")) == 1
    note, item = asked_to_purge(world)
    other = world.save("Runbook", "Ask Bob about the osprey.", source=("[[staging-port]]",))
    far = world.save("Staging", f"Eve: {PORT}", by=agent("osprey"))
    shown = world.service.review_show(human(), item)
    assert "agent:tester asks to erase it" in str(shown["reasons"])
    for how in ("keep-both", "replace"):
        with pytest.raises(InvalidInput):
            decide(world, item, how, body="mine" if how == "replace" else "")
    with pytest.raises(Denied):
        decide(world, item, by=human(confirmed=""))
    with pytest.raises(Denied):
        decide(world, item, by=agent())
    trash = [path.name for path in world.file(".trash").rglob("*.md")]
    assert trash == ["staging-port.md"]

    reply = decide(world, item, by=human("osprey"), reason="asked to")

    report = reply["purge"]
    assert set(report) == {one.name for one in fields(ForgetReply)}
    assert (reply["outcome"], report["outcome"], report["erased"]) == ("approved", "purged", 1)
    assert [one["id"] for one in report["derived"]] == [other.id]
    assert [one["title"] for one in report["also_stated_in"]] == ["Copy"]
    assert any("heron/copy.md" in one for one in report["out_of_reach"])
    assert list(world.file(".trash").rglob("*.md")) == []
    assert items(world) == []
    (purged,) = events(world, "purge")
    (approved,) = (one for one in events(world, "approve") if one.outcome == "done")
    assert (approved.seq, approved.reason) == (reply["event"], "asked to")
    assert (purged.seq, purged.note_id) == (report["event"], note.id)
    with pytest.raises(InvalidInput, match="purged"):
        world.service.restore(human(), RestoreRequest(id=note.id))
    with pytest.raises(NotFound):
        decide(world, item)
    with pytest.raises(RejectedClaim):
        world.save("Again", PORT)
    assert world.ids("staging database port", by=agent("osprey")) == [far.id]


@pytest.mark.guarantee("C6")
def test_a_purge_request_that_is_rejected_brings_the_note_back_as_it_was(world: World) -> None:
    note, item = asked_to_purge(world)
    before = world.file(f".trash/{note.path}").read_bytes()
    with pytest.raises(Denied, match="--confirm"):
        decide(world, item, "keep-old", by=human(confirmed=""))
    assert only(world) == item
    reply = decide(world, item, "keep-old", by=human("osprey"), reason="still needed")
    assert (reply["outcome"], reply["path"]) == ("rejected", note.path)
    assert reply["restored"]["lifted"] == 1
    assert world.ids("staging database port") == [note.id]
    assert world.file(note.path).read_bytes() == before
    assert items(world) == []
    (rejected,) = (one for one in events(world, "reject") if one.outcome == "done")
    (restored,) = events(world, "restore")
    assert (rejected.seq, rejected.note_id) == (reply["event"], note.id)
    assert restored.seq == reply["restored"]["event"]
    assert world.save("Port of staging", f"{PORT} Yes.").outcome == "created"


def test_a_purge_request_may_be_rejected_and_the_note_stay_forgotten(world: World) -> None:
    note, item = asked_to_purge(world)
    reply = decide(world, item, "reject-both", by=human(confirmed=""))
    assert (reply["outcome"], "restored" in reply) == ("rejected", False)
    assert items(world) == []
    assert world.ids("staging database port") == []
    with pytest.raises(RejectedClaim):
        world.save("Again", PORT)
    assert world.file(f".trash/{note.path}").exists()
    world.service.restore(human(), RestoreRequest(id=note.id))
    assert world.ids("staging database port") == [note.id]


@pytest.mark.guarantee("C1")
def test_a_purge_request_whose_note_may_not_come_back_stays_open(world: World) -> None:
    other = world.save("Runbook", f"{PORT}\nThen breathe.\n")
    note = world.save("Staging port", PORT)
    world.forget(other.id)
    world.forget(note.id, mode="purge")
    item = only(world)
    with pytest.raises(RejectedClaim):
        decide(world, item, "keep-old")
    assert only(world) == item
    assert world.ids("staging database port") == []
    assert [one.outcome for one in events(world, "reject")] == ["refused"]
    assert events(world, "restore") == []
    decide(world, item, "reject-both")
    assert items(world) == []
    assert not world.file(note.path).exists()


def test_a_proposal_that_was_to_be_purged_waits_again(reviewed: World) -> None:
    note = propose(reviewed)
    head = head_of(reviewed, note.path)
    reviewed.forget(note.id, mode="purge")
    (item,) = items(reviewed)
    assert item["kind"] == "purge_request"
    reply = decide(reviewed, str(item["review_id"]), "keep-old")
    assert "waits for a review" in reply["notice"]
    (item,) = items(reviewed)
    assert (item["kind"], item["note_id"]) == ("proposal", note.id)
    assert head_of(reviewed, note.path) == head
    assert reviewed.ids("when is the heron release") == []
    reviewed.service.reindex(human())
    assert reviewed.ids("when is the heron release") == []
    decide(reviewed, str(item["review_id"]))
    assert reviewed.ids("when is the heron release") == [note.id]


def test_a_source_alone_picks_no_request_to_purge(world: World) -> None:
    asked_to_purge(world, source=("mail.md",))
    world.service.vault_policy(human(), "personal", ["review=agents"])
    proposal = propose(world, source=("mail.md",))
    picked = world.service.selected(human(), [], ReviewFilter(source="mail.md"))
    by_id = {str(one["review_id"]): one for one in items(world)}
    assert [by_id[one]["note_id"] for one in picked] == [proposal.id]
    kinds = ReviewFilter(source="mail.md", kind="purge_request")
    assert world.service.selected(human(), [], kinds) == list(by_id)[:1]


def test_items_are_grouped_by_likeness_and_a_group_that_grew_is_not_decided(
    reviewed: World,
) -> None:
    propose(reviewed, "Port", PORT, source=("mail.md#1",))
    propose(reviewed, "Port of staging", f"{PORT}\nSays Bob.\n", source=("mail.md#2",))
    propose(reviewed, "Heron", HERON, source=("chat.md",))
    rows = items(reviewed)
    assert [row["alike"] for row in rows] == [2, 2, 1]
    assert rows[0]["likeness"] == rows[1]["likeness"] != rows[2]["likeness"]
    assert [row["source"] for row in rows] == ["mail.md", "mail.md", "chat.md"]
    listed = str(rows[0]["likeness"])
    propose(reviewed, "Staging port", f"{PORT}\nSays Eve.\n", source=("mail.md",))
    with pytest.raises(NotFound, match="changed since"):
        reviewed.service.selected(human(), [], ReviewFilter(likeness=listed))
    now = str(items(reviewed)[0]["likeness"])
    chosen = reviewed.service.selected(human(), [], ReviewFilter(likeness=now))
    assert len(chosen) == 3
    request = DecisionRequest(id="", disposition=Disposition.KEEP_OLD)
    reply = reviewed.service.decide_all(human(), request, ids=chosen)
    assert (len(reply["decided"]), reply["failed"]) == (3, [])  # type: ignore[arg-type] # JSON
    (left,) = items(reviewed)
    assert left["source"] == "chat.md"


def test_one_failure_in_a_bulk_decision_leaves_the_others_done(reviewed: World) -> None:
    propose(reviewed)
    request = DecisionRequest(id="", disposition=Disposition.KEEP_NEW)
    ids = [only(reviewed), "01KBA7ZD5QX4T9W2M3N8R6C0VE"]
    reply = reviewed.service.decide_all(human(), request, ids=ids)
    assert [one["code"] for one in reply["failed"]] == ["not_found"]  # type: ignore[index, union-attr, call-overload] # JSON
    assert len(reviewed.ids("when is the heron release")) == 1


def test_nothing_is_selected_without_being_named(reviewed: World) -> None:
    propose(reviewed)
    with pytest.raises(InvalidInput):
        reviewed.service.selected(human(), [], ReviewFilter())
    assert reviewed.service.selected(human(), [], ReviewFilter(kind="proposal")) == [only(reviewed)]


def test_the_same_proposal_twice_is_one(reviewed: World) -> None:
    first = propose(reviewed)
    second = propose(reviewed)
    assert (second.id, len(items(reviewed))) == (first.id, 1)


def test_a_person_looks_after_every_project_and_an_agent_not(reviewed: World) -> None:
    propose(reviewed, by=agent("osprey"))
    item = only(reviewed)
    assert reviewed.service.reviews(agent("heron")) == []
    assert decide(reviewed, item, by=human("heron"))["scope"] == "personal/osprey"
    assert len(reviewed.ids("heron release", by=agent("osprey"))) == 1
    assert reviewed.ids("heron release", by=agent("heron")) == []


@pytest.mark.guarantee("A3")
def test_no_decision_puts_text_into_the_audit_and_the_chain_holds(reviewed: World) -> None:
    propose(reviewed)
    propose(reviewed, "Staging port", PORT)
    (first, second) = (str(item["review_id"]) for item in items(reviewed))
    decide(reviewed, first, "replace", body="The heron release is on 30 May, says Zebedee.")
    decide(reviewed, second, "keep-old")
    with reviewed.service._database.read() as connection:
        assert chain.verify(connection).ok
    told = str(reviewed.service.audit_list(human(), AuditRequest(limit=200)))
    assert "approve" in told
    for word in ("Zebedee", "pump", "listens"):
        assert word not in told


def test_a_decision_that_fails_leaves_everything_as_it_was(reviewed: World) -> None:
    proposal = propose(reviewed)
    before = reviewed.file(proposal.path).read_bytes()
    with pytest.raises(InvalidInput):
        decide(reviewed, only(reviewed), "replace", body=" \n", reason="nothing")
    with pytest.raises(NotFound):
        decide(reviewed, only(reviewed), old="01KBA7ZD5QX4T9W2M3N8R6C0VE")
    assert reviewed.file(proposal.path).read_bytes() == before
    assert reviewed.loose() == []
    assert decide(reviewed, only(reviewed))["outcome"] == "approved"


@pytest.mark.parametrize("status", ["proposed", "disputed"])
def test_a_correction_does_not_settle_what_a_file_leaves_open(world: World, status: str) -> None:
    note = world.save("Staging port", PORT)
    path = world.file(note.path)
    path.write_text(path.read_text().replace("status: active", f"status: {status}"))
    assert world.ids("staging database port") == []
    version = world.service.read(agent(), ReadRequest(id=note.id)).version
    request = CorrectRequest(
        id=note.id, version=version, mode=CorrectMode.AMEND, body="The staging port is 6544.\n"
    )
    world.service.correct(agent(), request)
    assert world.ids("staging database port") == []
    assert world.service.read(agent(), ReadRequest(id=note.id)).status == status
    path.write_text(path.read_text().replace(f"status: {status}", "status: active"))
    assert world.ids("staging port") == [note.id]
    assert items(world) == []


def test_a_withheld_file_that_an_agent_mends_still_waits_where_agents_are_reviewed(
    world: World,
) -> None:
    for policy, found in (("agents", 0), ("none", 1)):
        world.service.vault_policy(human(), "personal", [f"review={policy}"])
        world.write(f"heron/{policy}.md", f"The host of {policy}.\n<private>4711</private>\n")
        assert world.ids(f"host of {policy}") == []
        (note_id,) = (row["note_id"] for row in items(world) if row["title"] == policy)
        request = CorrectRequest(
            id=str(note_id), version=1, mode=CorrectMode.AMEND, body=f"The host of {policy}.\n"
        )
        world.service.correct(agent(), request)
        assert len(world.ids(f"host of {policy}")) == found
    (left,) = items(world)
    decide(world, str(left["review_id"]))
    assert len(world.ids("host of agents")) == 1


def test_a_file_moved_to_another_project_is_proposed_there(world: World) -> None:
    note = world.save("Staging port", PORT)
    world.service.vault_policy(human(), "personal", ["external_edits=propose"])
    target = world.vault / "osprey" / "port.md"
    target.parent.mkdir()
    world.file(note.path).rename(target)
    assert world.ids("staging database port") == []
    assert world.ids("staging database port", by=agent("osprey")) == []
    decide(world, only(world))
    assert world.ids("staging database port", by=agent("osprey")) == [note.id]
    world.service.reindex(human())
    assert world.ids("staging database port", by=agent("osprey")) == [note.id]
    assert items(world) == []


def test_a_proposal_names_active_notes_like_it(reviewed: World) -> None:
    known = reviewed.save("Staging port", PORT, by=human())
    proposal = propose(reviewed, "Port of staging", f"{PORT}\nSays Bob.\n")
    assert [one.id for one in proposal.similar] == [known.id]


def test_a_passage_that_an_agent_takes_out_waits_like_a_correction(reviewed: World) -> None:
    body = "The heron team ships on Friday. It never ships on Monday.\n"
    note = reviewed.save("Heron shipping", body, by=human())
    reply = reviewed.forget(note.id, passage=" It never ships on Monday.")
    assert (reply.outcome, reply.tombstones) == ("proposed", 0)
    (hit,) = reviewed.hits("heron ships monday", detail="full")
    assert "Monday" in hit.text
    decide(reviewed, only(reviewed))
    (hit,) = reviewed.hits("heron ships friday", detail="full")
    assert "Monday" not in hit.text
    with pytest.raises(RejectedClaim):
        reviewed.save("Shipping", "It never ships on Monday.\n", by=human())
    assert reviewed.forget(note.id).outcome == "retracted"


def test_a_decision_cut_off_before_its_files_is_finished_at_the_next_start(
    reviewed: World,
) -> None:
    kept, gone = propose(reviewed), propose(reviewed, "Staging port", PORT)
    (first, second) = (str(item["review_id"]) for item in items(reviewed))
    folder = reviewed.file(kept.path).parent
    texts = {path: reviewed.file(path).read_bytes() for path in (kept.path, gone.path)}
    decide(reviewed, first)
    decide(reviewed, second, "keep-old")
    after = reviewed.file(kept.path).read_bytes()
    with reviewed.service._database.write() as connection:
        for path, note, target in (
            (kept.path, kept, ""),
            (gone.path, gone, f".trash/{gone.path}x"),
        ):
            ledger.add_operation(
                connection,
                vault=VaultName("personal"),
                kind="trash" if target else "write",
                path=path,
                target=target,
                note_id=note.id,
                version=1 if target else 2,
                before_hash=sha(texts[path]),
                after_hash=sha(texts[path] if target else after),
                event_seq=1,
                at=reviewed.service._clock.now(),
            )
    for path, data in texts.items():
        reviewed.file(path).write_bytes(data)
    reviewed.restart()
    assert reviewed.ids("when is the heron release") == [kept.id]
    assert reviewed.ids("staging database port") == []
    assert sorted(path.name for path in folder.iterdir()) == [reviewed.file(kept.path).name]
    assert reviewed.file(kept.path).read_bytes() == after
    assert items(reviewed) == []


def test_a_text_whose_old_note_is_gone_is_approved_alone(reviewed: World) -> None:
    old = reviewed.save("Staging port", PORT, by=human())
    theirs = reviewed.save("Osprey port", PORT, by=human("osprey"))
    proposal = propose(reviewed, supersedes=(old.id,))
    reviewed.forget(old.id, by=human())
    for one in (theirs.id, old.id):
        with pytest.raises(NotFound):
            decide(reviewed, only(reviewed), old=one)
    assert decide(reviewed, only(reviewed))["outcome"] == "approved"
    assert reviewed.ids("when is the heron release") == [proposal.id]


def test_what_the_old_note_states_is_not_rejected_however_little_else_they_share(
    reviewed: World,
) -> None:
    more = " ".join(
        f"The {one} of {other} is {third}."
        for one, other, third in zip(
            ("kitchen", "boiler", "ladder", "garden", "window", "carpet", "engine", "cellar"),
            ("Bremen", "Dublin", "Lisbon", "Warsaw", "Athens", "Zagreb", "Prague", "Vienna"),
            ("yellow", "silent", "broken", "narrow", "frozen", "rented", "louder", "secret"),
            strict=True,
        )
    )
    old = reviewed.save("Staging", f"{PORT}\nSix swans live under the old bridge.", by=human())
    proposal = propose(reviewed, "Houses", f"{PORT}\n{more}", supersedes=(old.id,))
    assert proposal.similar == []
    decide(reviewed, only(reviewed), "keep-old")
    with pytest.raises(RejectedClaim):
        reviewed.save("Again", "The kitchen of Bremen is yellow.", by=human())
    assert reviewed.save("Again", PORT, by=human()).outcome == "created"


def test_a_new_file_that_is_kept_beside_others_is_approved(world: World) -> None:
    world.service.vault_policy(human(), "personal", ["external_edits=propose"])
    world.write("heron/port.md", PORT)
    assert world.ids("staging database port") == []
    assert decide(world, only(world), "keep-both")["outcome"] == "approved"
    assert [hit.path for hit in world.hits("staging database port")] == ["heron/port.md"]


def test_an_edit_of_a_plain_file_is_undone_to_the_byte(world: World) -> None:
    path = world.write("heron/port.md", PORT)
    assert len(world.ids("staging database port")) == 1
    world.service.vault_policy(human(), "personal", ["external_edits=propose"])
    path.write_text(PORT.replace("5433", "6544"))
    assert world.ids("staging database port") == []
    decide(world, only(world), "keep-old")
    assert path.read_bytes() == PORT.encode()
    assert len(world.ids("staging database port")) == 1


def test_a_reviewers_own_text_takes_the_place_of_a_plain_files(world: World) -> None:
    world.service.vault_policy(human(), "personal", ["external_edits=propose"])
    path = world.write("heron/port.md", PORT)
    assert world.ids("staging database port") == []
    own = "The staging database listens on port 7000."
    with pytest.raises(InvalidInput):
        decide(world, only(world), "replace", body=" ")
    with pytest.raises(InvalidInput):
        decide(world, only(world), "keep-new", body=own)
    reply = decide(world, only(world), "replace", body=own, title=" Port of staging ")
    assert (reply["edited_by"], reply["notice"]) == (["human:alice"], "")
    (hit,) = world.hits("staging database port")
    assert (hit.title, hit.author, "7000" in hit.text) == ("Port of staging", "human:alice", True)
    assert "5433" not in path.read_text()


def test_what_an_approved_text_replaces_held_until_the_text_did(reviewed: World) -> None:
    old = reviewed.save("Heron date", "The heron release is on 1 February.\n", by=human())
    propose(reviewed, "Heron moved", supersedes=(old.id,), valid_from="2026-03-01")
    decide(reviewed, only(reviewed))
    ends = [one.valid_to for one in reviewed.service.read(human(), ReadRequest(id=old.id)).versions]
    assert ends[-1].startswith("2026-03-01")


def test_the_old_note_of_a_decision_is_taken_as_its_file_stands(reviewed: World) -> None:
    old = reviewed.save("Heron date", "The heron release is on 1 February.\n", by=human())
    new = propose(reviewed)
    path = reviewed.file(old.path)
    path.write_text(path.read_text().replace("1 February", "2 February"))
    reply = decide(reviewed, only(reviewed), "reject-both", old=f" {old.id.lower()} ")
    assert (reply["notice"], items(reviewed)) == ("", [])
    assert reviewed.ids("when is the heron release") == []
    assert not reviewed.file(new.path).exists()
    with pytest.raises(RejectedClaim):
        reviewed.save("Heron", "The heron release is on 2 February.\n", by=human())


def test_only_approving_needs_a_confirmation(reviewed: World) -> None:
    kept = propose(reviewed)
    (item,) = items(reviewed)
    with pytest.raises(Denied):
        decide(reviewed, str(item["review_id"]), by=human(confirmed=""))
    assert decide(reviewed, str(item["review_id"]))["outcome"] == "approved"
    assert len([one for one in events(reviewed, "approve") if one.outcome == "done"]) == 1
    propose(reviewed, "Port", PORT)
    assert (
        decide(reviewed, only(reviewed), "keep-old", by=human(confirmed=""))["outcome"]
        == "rejected"
    )
    assert reviewed.ids("when is the heron release") == [kept.id]
    assert reviewed.ids("staging database port") == []


@pytest.mark.parametrize("folder", ["", "heron/"])
def test_both_texts_of_a_file_stand_beside_each_other(world: World, folder: str) -> None:
    path = world.write(f"{folder}port.md", PORT)
    (first,) = world.hits("staging database port")
    world.service.vault_policy(human(), "personal", ["external_edits=propose"])
    path.write_text(PORT.replace("5433", "6544"))
    assert world.ids("staging database port") == []
    decide(world, only(world), "keep-both")
    found = {hit.path: hit for hit in world.hits("staging database port")}
    assert found.pop(f"{folder}port.md").id == first.id
    ((other, hit),) = found.items()
    assert other.rpartition("/")[0] == folder.removesuffix("/")
    assert "5433" in world.file(other).read_text()
    assert (hit.author, hit.trust) == ("human:file", "verified")
    world.restart()
    assert len(world.ids("staging database port")) == 2


def test_an_approved_text_leaves_nothing_else_open_about_its_note(world: World) -> None:
    world.service.vault_policy(human(), "personal", ["external_edits=propose"])
    world.write("heron/port.md", PORT)
    world.write("heron/date.md", HERON)
    assert world.ids("staging database port") == []
    (item,) = [one for one in items(world) if one["title"] == "port"]
    with world.service._database.write() as connection:
        ledger.add_review(  # as a merged backup may bring one along
            connection,
            review_id="01KBA7ZD5QX4T9W2M3N8R6C0VE",
            scope=Scope(VaultName("personal"), ProjectSlug("heron")),
            kind="restatement",
            note_id=str(item["note_id"]),
            version=1,
            at=world.service._clock.now(),
            event_seq=1,
            detail={},
        )
    assert len(items(world)) == 3
    decide(world, str(item["review_id"]))
    assert [one["title"] for one in items(world)] == ["date"]


def test_a_correction_that_is_approved_says_that_its_text_stands(reviewed: World) -> None:
    head = "id: 01KBA7ZD5QX4T9W2M3N8R6C0VE\nstatus: draft\n"
    path = reviewed.write("heron/port.md", f"---\n{head}---\n{PORT}")
    (hit,) = reviewed.hits("staging database port")
    request = CorrectRequest(
        id=hit.id, version=1, mode=CorrectMode.WRONG, body=PORT.replace("5433", "6544")
    )
    reviewed.service.correct(agent(), request)
    decide(reviewed, only(reviewed))
    assert "6544" in path.read_text()
    assert head_of(reviewed, "heron/port.md")["status"] == "active"
    assert reviewed.ids("staging database port") == [hit.id]


def test_a_file_that_is_approved_untouched_replaces_what_it_says_it_does(world: World) -> None:
    old = world.save("Heron date", "The heron release is on 1 February.\n")
    world.service.vault_policy(human(), "personal", ["external_edits=propose"])
    text = f'---\nsupersedes: "[[heron-date]]"\n---\n{HERON}'
    path = world.write("heron/moved.md", text)
    assert world.ids("when is the heron release") == [old.id]
    decide(world, only(world))
    assert [hit.path for hit in world.hits("when is the heron release")] == ["heron/moved.md"]
    assert path.read_text() == text


def test_an_approved_correction_is_an_event_of_its_own_and_says_what_it_rejected(
    reviewed: World,
) -> None:
    note = reviewed.save("Staging port", PORT, by=human())
    reviewed.correct(note, PORT.replace("5433", "6544"), "wrong")
    (item,) = items(reviewed)
    page = reviewed.service.review_show(human(), str(item["review_id"]))
    assert "review=agents" in str(page["reasons"])
    reply = decide(reviewed, str(item["review_id"]))
    assert reply["tombstones"] >= 1
    (corrected,) = (one for one in events(reviewed, "correct") if one.outcome == "done")
    (approved,) = (one for one in events(reviewed, "approve") if one.outcome == "done")
    assert corrected.seq != approved.seq
    assert corrected.note_id == note.id
    proposal = propose(reviewed)
    assert decide(reviewed, only(reviewed))["tombstones"] == 0
    assert reviewed.ids("when is the heron release") == [proposal.id]


def test_a_correction_keeps_the_title_unless_it_or_the_reviewer_gives_another(
    reviewed: World,
) -> None:
    note = reviewed.save("Staging port", PORT, by=human())
    reviewed.correct(note, PORT.replace("5433", "6544"), "amend", title="Their title")
    decide(reviewed, only(reviewed), "replace", body=PORT.replace("5433", "7000"))
    (hit,) = reviewed.hits("staging database port")
    assert (hit.title, "7000" in hit.text) == ("Staging port", True)
    now_is = reviewed.service.read(human(), ReadRequest(id=note.id))
    reviewed.correct(now_is, PORT.replace("5433", "8000"), "amend", title="Their title")  # type: ignore[arg-type] # has id and version
    decide(reviewed, only(reviewed))
    (hit,) = reviewed.hits("staging database port")
    assert (hit.title, "8000" in hit.text) == ("Their title", True)


def test_a_correction_of_a_note_that_is_gone_is_kept_beside_or_turned_down(
    reviewed: World,
) -> None:
    note = reviewed.save("Staging port", PORT, by=human())
    reviewed.correct(note, PORT.replace("5433", "6544"), "amend")
    reviewed.forget(note.id, by=human())
    item = only(reviewed)
    with pytest.raises(InvalidInput, match="not active any more"):
        decide(reviewed, item)
    assert reviewed.ids("staging database port") == []
    decide(reviewed, item, "keep-both")
    (hit,) = reviewed.hits("staging database port")
    assert (hit.id != note.id, "6544" in hit.text) == (True, True)


def test_an_edit_that_is_undone_says_how_much_it_rejected(world: World) -> None:
    path = world.write("heron/port.md", PORT)
    assert len(world.ids("staging database port")) == 1
    world.service.vault_policy(human(), "personal", ["external_edits=propose"])
    path.write_text(f"{PORT}\nThe spare port is 6544.\n")
    assert world.ids("staging database port") == []
    assert decide(world, only(world), "keep-old")["tombstones"] >= 1
    with pytest.raises(RejectedClaim):
        world.save("Spare", "The spare port is 6544.\n")


@pytest.mark.guarantee("C5")
def test_a_file_that_came_to_say_what_is_purged_is_read_before_the_purge(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    diary = world.write("heron/diary.md", "Tea is served at four.\n")
    assert len(world.ids("tea served")) == 1
    _, item = asked_to_purge(world)
    monkeypatch.setattr(scan, "CHEAP_SECONDS", 0.0)
    monkeypatch.setattr(scan, "DUTY", 1e9)
    for _ in range(20):  # until the last walk is remembered as recent enough
        assert len(world.ids("tea served")) == 1
    diary.write_text(f"Tea is served at four.\n\n{PORT}")
    report = decide(world, item)["purge"]
    assert "another note that names or quotes it: heron/diary.md" in report["out_of_reach"]
    assert PORT in diary.read_text()
    (edit, *_) = events(world, "file_edit")
    assert (edit.outcome, edit.seq < report["event"]) == ("refused", True)
    assert world.ids("tea served") == []


def test_a_decision_waits_for_a_vault_that_is_away(world: World) -> None:
    note, item = asked_to_purge(world)
    aside = world.root / "aside"
    world.vault.rename(aside)
    for how in ("keep-new", "keep-old"):
        with pytest.raises(VaultOffline):
            decide(world, item, how)
    assert not world.vault.exists()
    aside.rename(world.vault)
    world.restart()
    assert decide(world, item, "keep-old")["outcome"] == "rejected"
    assert world.ids("staging database port") == [note.id]


def test_an_edit_that_breaks_the_policy_is_told_as_that_also_where_edits_are_proposed(
    world: World,
) -> None:
    note = world.save("Staging port", PORT, by=human())
    path = world.file(note.path)
    before = path.read_text("utf-8")
    told = []
    for policy in ("trust", "propose"):
        world.service.vault_policy(human(), "personal", [f"external_edits={policy}"])
        path.write_text(f"{before}\nThe key is {'AKIA' + 'Z3MHALJ5RZQ6KP2D'}.\n", "utf-8")
        assert world.ids("staging database port") == []
        told.append(world.service.read(human(), ReadRequest(id=note.id)).problem)
        path.write_text(before, "utf-8")
        assert world.ids("staging database port") == [note.id]
    assert told[0] == told[1] != ""
    world.service.vault_policy(human(), "personal", ["external_edits=propose"])
    path.write_text(before.replace("5433", "6544"), "utf-8")
    assert world.ids("staging database port") == []
    assert world.service.read(human(), ReadRequest(id=note.id)).problem not in told


def test_a_proposal_whose_folder_was_deleted_is_turned_down_and_can_come_back(
    reviewed: World,
) -> None:
    proposal = propose(reviewed)
    item = only(reviewed)
    shutil.rmtree(reviewed.file(proposal.path).parent)
    decide(reviewed, item, "keep-old")
    with reviewed.service._database.read() as connection:
        note = registry.find_note(connection, proposal.id)
    assert note is not None
    assert (note.status, note.trash_path) == ("rejected", "")
    reviewed.service.restore(human(), RestoreRequest(id=proposal.id))
    assert reviewed.ids("when is the heron release") == [proposal.id]


def test_a_page_compares_with_what_its_text_replaces_only_within_the_scope(
    reviewed: World,
) -> None:
    old = reviewed.save("Heron date", "The heron release is on 1 February.\n", by=human())
    propose(reviewed, "Heron moved", supersedes=(old.id,))
    item = only(reviewed)

    def against() -> list[str]:
        page = reviewed.service.review_show(human(), f" {item.lower()} ")
        return [one["against"] for one in page["differences"]]  # type: ignore[union-attr,index,call-overload,misc] # a list of rows

    assert old.id in against()
    (reviewed.vault / "osprey").mkdir()
    reviewed.file(old.path).rename(reviewed.vault / "osprey" / "date.md")
    assert reviewed.ids("heron release", by=agent("osprey")) == [old.id]
    assert against() == []


def test_a_page_names_the_nearest_note_and_compares_with_it(reviewed: World) -> None:
    near = reviewed.save("Heron day", "The heron release moves to 11 March.\n", by=human())
    propose(reviewed)
    page: Any = reviewed.service.review_show(human(), only(reviewed))
    assert page["nearest"]["id"] == near.id
    assert [one["against"] for one in page["differences"]] == [near.id]
    decide(reviewed, only(reviewed), "keep-old")
    reviewed.forget(near.id)
    propose(reviewed, "Tea", "The tea is served at four each day.\n")
    page = reviewed.service.review_show(human(), only(reviewed))
    assert (page["nearest"], page["differences"]) == (None, [])
