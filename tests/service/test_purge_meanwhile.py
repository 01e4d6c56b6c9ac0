"""What happens beside a purge: an edit, a file that cannot be removed, texts that waited for a person."""

from collections.abc import Callable

import pytest
from sqlalchemy import Connection

from memsvc.errors import StorageFailed
from memsvc.ledger import writer as ledger
from memsvc.model.replies import ForgetReply
from memsvc.model.requests import AuditRequest, ForgetRequest
from memsvc.model.vocabulary import ForgetMode, NoteId, Role, VaultName
from memsvc.service.gateway.drafts import sha
from memsvc.service.gateway.standing import current
from memsvc.service.gateway.undo.purge import purge
from tests.invariants.traces import holding
from tests.service.world import World, human

OLD = "The vexopluma gate opens at 6544907213 for the quibbrax ferry."
NEW = "The vexopluma gate opens at 5433907218 for the quibbrax ferry."


def purged(world: World, note_id: str, first: Callable[[Connection], None]) -> ForgetReply:
    """A purge whose transaction begins with `first`."""
    gateway = world.service._gateway
    parts, request = gateway._parts, ForgetRequest(id=note_id, mode=ForgetMode.PURGE)
    now_is = current(parts, gateway.scanner, human(), note_id, need=Role.REVIEWER, gone=True)
    return purge(parts, now_is, request, first=first)[0]


def proposed(world: World, note_id: str, text: str) -> str:
    """The id of a new text that waits to become the note's."""
    view = world.hits("vexopluma gate", k=1)[0]
    assert view.id == note_id
    world.service.vault_policy(human(), "personal", ["review=agents"])
    reply = world.correct(view, text, "changed")  # type: ignore[arg-type] # has both
    assert reply.outcome == "proposed"
    world.service.vault_policy(human(), "personal", ["review="])
    rows = world.service.reviews(human())
    return next(str(row["note_id"]) for row in rows if note_id in str(row["detail"]))


@pytest.mark.guarantee("C5", "W6")
def test_an_edit_that_arrives_during_a_purge_is_kept_and_told(world: World) -> None:
    note = world.save("Ferry gate", OLD)
    file = world.file(note.path)
    world.write(".trash/copy.md", file.read_bytes())

    def edit(_: Connection) -> None:
        file.write_text("My own line.\n", "utf-8")

    reply = purged(world, note.id, edit)
    assert (reply.outcome, reply.erased) == ("purged", 1)
    assert reply.notice == "a file was edited meanwhile and kept; see `memsvc review list`"
    assert file.read_text("utf-8") == "My own line.\n"
    assert holding(world.root, b"xopluma") == []


@pytest.mark.guarantee("C5", "W4")
def test_a_file_that_could_not_be_removed_is_removed_at_the_next_access(world: World) -> None:
    lantern = world.save("Lantern", "The marsh lantern is lit by the warden at dusk.")
    note = world.save("Ferry gate", OLD)
    file = world.file(note.path)
    data = file.read_bytes()

    def put_in_the_way(_: Connection) -> None:
        file.unlink()
        file.mkdir()

    with pytest.raises(StorageFailed, match="next access"):
        purged(world, note.id, put_in_the_way)
    file.rmdir()
    file.write_bytes(data)
    assert world.ids("marsh lantern") == [lantern.id]
    assert not file.exists()
    assert holding(world.root, b"xopluma") == []


@pytest.mark.guarantee("W4")
def test_what_another_change_still_owes_is_owed_after_a_purge(world: World) -> None:
    note = world.save("Ferry gate", OLD)
    stray = world.write("heron/stray.txt", "The lantern.")
    digest = sha(stray.read_bytes())

    def owe(connection: Connection) -> None:
        ledger.add_operation(
            connection, vault=VaultName("personal"), kind="erase", path="heron/stray.txt",
            note_id=NoteId(note.id), version=1, before_hash=digest, after_hash="", event_seq=1,
            at=world.service._gateway._parts.clock.now(),
        )  # fmt: skip

    assert purged(world, note.id, owe).notice == ""
    assert stray.exists()
    world.ids("lantern")
    assert not stray.exists()


@pytest.mark.guarantee("C5", "A1")
def test_texts_that_waited_go_once_each_with_an_event_that_names_what_they_went_with(
    world: World,
) -> None:
    note = world.save("Ferry gate", OLD)
    before = proposed(world, note.id, "The vexopluma gate is shut.")
    assert world.forget(before, by=human(), mode="purge").also_purged == []
    waiting = proposed(world, note.id, NEW)
    file = next(world.file("heron").glob("*-2.md"))
    assert NEW in file.read_text("utf-8")
    reply = world.forget(f" {note.id.lower()}\n", by=human(), mode="purge")
    assert list(reply.also_purged) == [waiting]
    assert not [one for one in reply.out_of_reach if ".md" in one]
    assert not file.exists()
    events = world.service.audit_list(human(), AuditRequest(action="purge")).events
    assert [(one.note_id, one.detail.get("with")) for one in events] == [
        (waiting, note.id), (note.id, None), (before, None),
    ]  # fmt: skip


@pytest.mark.guarantee("C5", "S1")
def test_a_text_that_waited_and_is_another_projects_by_now_stays(world: World) -> None:
    note = world.save("Ferry gate", OLD)
    waiting = proposed(world, note.id, NEW)
    file = next(path for path in world.file("heron").glob("*.md") if path.name not in note.path)
    world.file("osprey").mkdir()
    there = world.file("osprey") / file.name
    file.rename(there)
    world.ids("vexopluma gate", by=human("osprey"))
    other = world.save("Lantern", "The marsh lantern is lit by the warden at dusk.")
    reply = world.forget(note.id, by=human(), mode="purge")
    assert list(reply.also_purged) == []
    assert NEW in there.read_text("utf-8")
    assert world.ids("marsh lantern") == [other.id]
    assert waiting != note.id
