"""What a note that is brought back becomes: which of its texts, how it stands, what is on record."""

from collections.abc import Callable

import pytest
from sqlalchemy import Connection

from memsvc.ledger import registry
from memsvc.ledger.records import VersionRecord
from memsvc.model.replies import RestoreReply
from memsvc.model.requests import ReadRequest, RestoreRequest
from memsvc.model.vocabulary import Role, Status
from memsvc.service.gateway.standing import current
from memsvc.service.gateway.undo.restore import bring_back
from tests.service.world import World, agent, human

OLD = "The heron deploy port is 6544."
NEW = "The heron deploy port is 5433."


def restore(world: World, note_id: str, version: int = 0, reason: str = "") -> RestoreReply:
    return world.service.restore(
        human(), RestoreRequest(id=note_id, version=version, reason=reason)
    )


def bring(
    world: World, note_id: str, version: int, first: Callable[[Connection], None]
) -> RestoreReply:
    """A restore whose transaction begins with `first`."""
    gateway = world.service._gateway
    parts, request = gateway._parts, RestoreRequest(id=note_id, version=version)
    now_is = current(parts, gateway.scanner, human(), note_id, need=Role.REVIEWER, gone=True)
    return bring_back(parts, now_is, request, first=first)


def versions(world: World, note_id: str) -> list[VersionRecord]:
    with world.service._gateway._parts.database.read() as connection:
        return registry.versions_of(connection, note_id)


def texts(world: World, *, history: bool = False) -> list[str]:
    return [hit.text for hit in world.hits("heron deploy port", history=history)]


@pytest.mark.guarantee("W6")
def test_an_edit_that_arrives_while_a_note_is_brought_back_is_kept(world: World) -> None:
    note = world.save("Port", OLD)
    world.correct(note, NEW)
    file = world.file(note.path)
    edited = f"{file.read_text('utf-8')}\nMy own line.\n"

    def edit(_: Connection) -> None:
        file.write_text(edited, "utf-8")

    reply = bring(world, note.id, 1, edit)
    assert reply.outcome == "restored"
    assert "edited meanwhile and kept" in reply.notice
    assert file.read_text("utf-8") == edited
    assert "conflict" in [one["kind"] for one in world.service.reviews(human())]


def test_what_goes_with_a_restore_happens_also_when_the_note_stands_already(world: World) -> None:
    note = world.save("Port", OLD)
    done: list[Connection] = []
    assert bring(world, note.id, 0, done.append).outcome == "unchanged"
    assert len(done) == 1
    world.correct(note, NEW)
    assert bring(world, note.id, 1, done.append).outcome == "restored"
    assert len(done) == 2


@pytest.mark.guarantee("C4")
def test_a_replaced_note_that_was_forgotten_comes_back_as_history(world: World) -> None:
    note = world.save("Port", OLD)
    after = world.save("Port now", NEW, supersedes=(note.id,))
    world.forget(note.id)
    assert texts(world, history=True) == [NEW]
    reply = restore(world, note.id)
    assert (reply.outcome, reply.restored) == ("restored", 2)
    assert texts(world) == [NEW]
    assert sorted(texts(world, history=True)) == sorted([NEW, OLD])
    view = world.service.read(agent(), ReadRequest(id=note.id))
    assert (view.status, view.superseded_by) == ("superseded", after.id)


@pytest.mark.guarantee("W1")
def test_an_edit_that_nobody_approved_waits_again_when_its_note_comes_back(world: World) -> None:
    note = world.save("Port", OLD)
    world.service.vault_policy(human(), "personal", ["external_edits=propose"])
    file = world.file(note.path)
    file.write_text(file.read_text("utf-8").replace("6544", "5433"), "utf-8")
    assert texts(world) == []
    (item,) = world.service.reviews(human())
    world.forget(note.id, by=human())
    assert world.service.reviews(human()) == []
    reply = restore(world, note.id)
    assert reply.restored == 2
    assert "waits for a review" in reply.notice
    assert texts(world) == []
    (again,) = world.service.reviews(human())
    assert (again["kind"], again["note_id"]) == (item["kind"], note.id)
    assert restore(world, note.id, 1).notice == ""
    assert texts(world) == [OLD]


def test_a_note_that_never_was_current_comes_back_as_current(world: World) -> None:
    head = "---\nstatus: superseded\n---\n"
    file = world.write("heron/port.md", f"{head}# Port\n\n{OLD}\n")
    assert texts(world) == []
    (hit,) = world.hits("heron deploy port", history=True)
    world.forget(hit.id)
    reply = restore(world, hit.id)
    assert (reply.outcome, reply.restored) == ("restored", 1)
    assert file.read_text("utf-8") == f"---\nstatus: active\n---\n# Port\n\n{OLD}\n"
    assert texts(world) == [OLD]
    first, second = versions(world, hit.id)
    assert (first.status, second.status) == (Status.SUPERSEDED, Status.ACTIVE)
    assert second.body == first.body
    assert OLD in world.service.read(agent(), ReadRequest(id=hit.id)).body
    world.service.reindex(human())
    assert texts(world) == [OLD]


def test_a_note_whose_place_is_taken_has_its_new_place_on_record(world: World) -> None:
    note = world.save("Port", OLD)
    world.forget(note.id)
    world.save("Port", "Wine from the north, bottled at dusk.")
    reply = restore(world, note.id)
    first, second = versions(world, note.id)
    assert (first.path, second.path) == (note.path, reply.path)
    assert first.path != second.path


def test_a_text_that_comes_back_has_no_end_of_its_own_and_the_reason_for_it(world: World) -> None:
    note = world.save("Port", OLD, reason="the ops team said so")
    world.correct(note, NEW, "changed", reason="it moved")
    restore(world, note.id, 1, reason="it moved back")
    restore(world, note.id, 2)
    first, _, third, fourth = versions(world, note.id)
    assert first.ended_at
    assert (fourth.valid_to, fourth.ended_at, fourth.recorded_to, fourth.end_mode) == ("",) * 4
    assert (third.valid_to, third.ended_at) == ("", "")
    assert first.recorded_from < third.recorded_from < fourth.recorded_from
    view = world.service.read(agent(), ReadRequest(id=note.id))
    assert [one.reason for one in view.versions] == [
        "the ops team said so", "it moved", "it moved back", "it moved",
    ]  # fmt: skip
