"""What a write leaves behind in the files and the ledger: dates, names, and the event of each version."""

from dataclasses import replace

import pytest
from sqlalchemy import text

from memsvc.clock import UNKNOWN
from memsvc.errors import (
    InvalidInput,
    MemsvcError,
    SecretFound,
    StorageFailed,
    Uneditable,
    VaultOffline,
)
from memsvc.ledger import registry
from memsvc.model.requests import (
    AuditRequest,
    CorrectRequest,
    DecisionRequest,
    ReadRequest,
    RestoreRequest,
)
from memsvc.model.vocabulary import CorrectMode, Disposition, NoteId, VaultName
from memsvc.notes import disk
from memsvc.service.gateway import drafts
from memsvc.service.gateway.indexing import vectors_for
from memsvc.service.gateway.operations import Pending, Staging
from memsvc.service.model_desk import vector_notice
from tests.fakes import FakeEmbedder
from tests.service.interrupted import cut_off, once_recorded
from tests.service.world import World, agent, human

HOST = "The staging host is called marsh."
ID = "01KBA7ZD5QX4T9W2M3N8R6C0VE"
MADE = "2026-03-01T10:00:00.000000Z"
DAY = "2026-03-01T00:00:00.000000Z"


def test_an_edit_that_arrives_while_a_note_is_corrected_is_kept_and_said(world: World) -> None:
    note = world.save("Host", HOST)
    file = world.file(note.path)
    edited = f"{file.read_text('utf-8')}\nMy own line.\n"
    with once_recorded(lambda: file.write_text(edited, "utf-8")):
        reply = world.correct(note, "The staging host is called fen.", "changed")
    assert "edited meanwhile and kept" in reply.notice
    assert file.read_text("utf-8") == edited
    other = world.save("Port", "The staging port is 4711.")
    assert world.correct(other, "The staging port is 4712.", "changed").notice == ""


@pytest.mark.guarantee("W6")
def test_a_folder_that_takes_nothing_stops_a_forget_before_anything_is_recorded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = world.save("Host", HOST)
    true = disk.probe

    for refused in (world.file(note.path).parent, world.vault / ".trash"):

        def probe(folder: object, refused: object = refused) -> None:
            if folder == refused:
                raise StorageFailed("the folder takes no files")
            true(folder)  # type: ignore[arg-type] # passed on

        with monkeypatch.context() as readonly:
            readonly.setattr(disk, "probe", probe)
            with pytest.raises(StorageFailed):
                world.forget(note.id)
        assert world.ids("staging host") == [note.id]
        assert world.service.tombstones(human()) == []
    world.forget(note.id)
    assert world.ids("staging host") == []


def test_a_link_to_a_file_name_in_capitals_finds_its_note(world: World) -> None:
    there = world.save("Gate", "The gate opens at seven each day.")
    name = there.path.rsplit("/", 1)[1][:-3]
    here = world.save("Door", f"See [[{name}.MD]].")
    view = world.service.read(agent(), ReadRequest(id=here.id))
    assert [one.id for one in view.links_out] == [there.id]


def test_a_file_without_a_status_that_a_reviewer_rewrites_gets_none(world: World) -> None:
    world.service.vault_policy(human(), "personal", ["external_edits=propose"])
    path = world.write("heron/host.md", f"---\nid: {ID}\n---\n{HOST}\n")
    other = world.write("heron/port.md", "---\nstatus: active\n---\nThe staging port is 4711.\n")
    assert world.ids("staging") == []
    for item in world.service.reviews(human()):
        request = DecisionRequest(
            id=str(item["review_id"]),
            disposition=Disposition.REPLACE,
            body=f"{item['title']} is settled on staging.",
        )
        world.service.decide(human(), request)
    assert "status:" not in path.read_text("utf-8")
    assert "status: active\n" in other.read_text("utf-8")
    assert len(world.ids("settled on staging")) == 2


@pytest.mark.guarantee("A1")
def test_every_version_names_the_event_that_made_it(world: World) -> None:
    note = world.save("Host", HOST)
    world.correct(note, "The staging host is called fen.")
    world.save("Moved", "The staging host is called sedge.", supersedes=(note.id,))
    file = world.write("heron/port.md", "The staging port is 4711.\n")
    assert len(world.ids("staging port")) >= 1
    file.write_text("The staging port is 4712.\n", "utf-8")
    assert len(world.ids("staging port")) >= 1
    gone = world.save("Gate", "The gate opens at seven each day.")
    world.forget(gone.id)
    world.service.restore(human(), RestoreRequest(id=gone.id))
    with world.service._database.read() as connection:
        rows = connection.execute(
            text(
                "SELECT v.version, v.event_seq, e.note_id = v.note_id FROM note_version v"
                " LEFT JOIN audit_event e ON e.seq = v.event_seq"
            )
        ).all()
    assert len(rows) == 8
    assert [row for row in rows if not row[2]] == []


@pytest.mark.parametrize(
    ("end", "began"),
    [
        ("2026-02-01T00:00:00.000000Z", ""),
        (DAY, ""),
        ("2026-03-01T00:00:01.000000Z", DAY),
        (UNKNOWN, DAY),
    ],
)
def test_a_start_that_nobody_named_gives_way_to_an_end_before_it(end: str, began: str) -> None:
    assert drafts.start_before(DAY, end, created=MADE) == began
    named = "2026-04-01T00:00:00.000000Z"
    assert drafts.start_before(named, end, created=MADE) == named


def test_a_blank_date_is_none_and_what_is_no_date_is_named() -> None:
    for blank in ("", "  ", "\n"):
        assert drafts.ending(blank, argument="valid_to") == ""
        assert drafts.instant(blank, argument="effective") == ""
    assert drafts.ending("2026-03-01", argument="valid_to") == DAY
    with pytest.raises(InvalidInput, match="valid_to is no date"):
        drafts.ending("soon", argument="valid_to")


@pytest.mark.guarantee("W6")
def test_a_file_that_cannot_be_parsed_is_never_rewritten(world: World) -> None:
    broken = b"---\ntags: [a\n---\nThe staging port is 4711.\n"
    path = world.write("heron/port.md", broken)
    fine = world.write("heron/host.md", f"{HOST}\n")
    for hit in world.hits("staging"):
        request = CorrectRequest(
            id=hit.id, version=1, mode=CorrectMode.CHANGED, body="The staging is over."
        )
        if hit.path == "heron/host.md":
            assert world.service.correct(agent(), request).version == 2
        else:
            with pytest.raises(Uneditable):
                world.service.correct(agent(), request)
    (port,) = world.ids("port 4711")
    with pytest.raises(Uneditable, match="cannot be marked as superseded"):
        world.save("Moved", "The staging port moved.", supersedes=(port,))
    assert path.read_bytes() == broken
    assert "The staging is over." in fine.read_text("utf-8")


@pytest.mark.guarantee("C1")
def test_a_forgotten_text_stays_ended_when_another_comes_to_its_place(world: World) -> None:
    note = world.save("Host", HOST)
    text_of = world.file(note.path).read_text("utf-8")
    world.forget(note.id)
    world.file(note.path).write_text(text_of.replace("marsh", "fen"), "utf-8")
    texts = [hit.text for hit in world.hits("staging host", history=True)]
    assert texts == ["The staging host is called fen."]
    with world.service._database.read() as connection:
        first, *_ = registry.versions_of(connection, NoteId(note.id))
    assert first.end_mode == "retracted"


def test_an_edit_says_when_its_note_was_last_changed(world: World) -> None:
    note = world.save("Host", HOST)
    before = world.service.read(agent(), ReadRequest(id=note.id)).updated
    with world.service._database.read() as connection:
        saved = registry.find_note(connection, note.id)
    file = world.file(note.path)
    file.write_text(file.read_text("utf-8").replace("marsh", "fen"), "utf-8")
    assert world.ids("staging host") == [note.id]
    with world.service._database.read() as connection:
        edited = registry.find_note(connection, note.id)
    assert saved is not None
    assert edited is not None
    assert edited.updated_at > saved.updated_at
    assert (before, edited.created_at) == (before, saved.created_at)


@pytest.mark.guarantee("W6")
def test_a_save_finishes_what_a_dead_process_owed_and_makes_no_folder_of_its_own(
    world: World,
) -> None:
    note = world.save("Host", HOST)
    cut_off(world, note.id, "Host", "The staging host is called fen.")
    reply = world.save("Gate", "The gate opens at seven each day.")
    assert (reply.outcome, reply.notice) == ("created", "")
    assert "fen" in world.file(note.path).read_text("utf-8")
    aside = world.root / "aside"
    world.vault.rename(aside)
    with pytest.raises(VaultOffline):
        world.save("Port", "The staging port is 4711.")
    assert not world.vault.exists()
    aside.rename(world.vault)
    world.restart()
    assert world.save("Port", "The staging port is 4711.").outcome == "created"


def test_a_save_that_is_repeated_says_so_and_one_that_leaves_something_out_too(
    world: World,
) -> None:
    first = world.save("Host", HOST, idempotency_key="k1")
    again = world.save("Host", HOST, idempotency_key="k1")
    assert (again.id, again.event) == (first.id, first.event)
    assert (first.notice, again.notice) == ("", "repeated: this save was done before")
    private = world.save(
        "Gate", "The gate opens at seven.\n\n<private>The code is suncode.</private>"
    )
    assert "<private>" in private.notice
    assert not private.notice.startswith(";")


def test_a_correction_keeps_the_sources_unless_it_names_its_own(world: World) -> None:
    note = world.save("Host", HOST, source=("meeting",))
    second = world.correct(note, "The staging host is called fen.", "changed")
    assert world.service.read(agent(), ReadRequest(id=note.id)).source == ["meeting"]
    world.correct(second, "The staging host is called sedge.", "changed", source=("ticket 7",))
    assert world.service.read(agent(), ReadRequest(id=note.id)).source == ["ticket 7"]
    world.service.reindex(human())
    (hit,) = world.hits("staging host")
    assert hit.source == ["ticket 7"]


def test_an_amended_file_that_named_no_start_names_none_after_it(world: World) -> None:
    path = world.write("heron/host.md", f"# Host\n\n{HOST}\n")
    (note_id,) = world.ids("staging host")
    request = CorrectRequest(
        id=note_id, version=1, mode=CorrectMode.AMEND, body="The staging host is marsh."
    )
    world.service.correct(agent(), request)
    assert "valid_" not in path.read_text("utf-8")
    request = CorrectRequest(
        id=note_id, version=2, mode=CorrectMode.CHANGED, body="The staging host is fen."
    )
    world.service.correct(agent(), request)
    assert "valid_from:" in path.read_text("utf-8")


def test_a_file_that_says_since_when_it_holds_ends_the_text_before_it_then(world: World) -> None:
    path = world.write("heron/host.md", f"---\nvalid_from: 2026-03-01\n---\n{HOST}\n")
    (note_id,) = world.ids("staging host")
    path.write_text("---\nvalid_from: 2026-04-01\n---\nThe staging host is fen.\n", "utf-8")
    assert world.ids("staging host") == [note_id]
    first, second = world.service.read(agent(), ReadRequest(id=note_id)).versions
    assert first.valid_to.startswith("2026-04-01")
    assert (second.valid_from[:10], second.valid_to) == ("2026-04-01", "")
    (then,) = world.hits("staging host", as_of="2026-03-15")
    assert "marsh" in then.text


@pytest.mark.guarantee("A1")
def test_an_arrival_that_is_withheld_says_why_in_its_event(world: World) -> None:
    gone = world.save("Host", HOST)
    world.forget(gone.id)
    world.write("heron/again.md", f"{HOST}\n")
    world.write("heron/fine.md", "The staging port is 4711.\n")
    assert len(world.ids("staging")) == 1
    made = world.service.audit_list(human(), AuditRequest(action="file_edit")).events
    assert sorted((one.outcome, one.reason) for one in made) == [
        ("done", ""),
        ("refused", "withheld: rejected_claim"),
    ]


def test_the_place_of_a_note_whose_file_is_away_is_not_given_to_another(world: World) -> None:
    note = world.save("Host", HOST)
    kept = world.file(note.path).read_bytes()
    world.file(note.path).unlink()
    other = world.save("Host", "The office host is Marge.")
    world.file(note.path).write_bytes(kept)
    assert other.path != note.path
    assert {hit.id for hit in world.hits("host")} == {note.id, other.id}


def test_tags_are_kept_without_their_signs_and_blanks(world: World) -> None:
    note = world.save("Host", HOST, tags=("  #port ", "gate", "#", " "))
    assert world.service.read(agent(), ReadRequest(id=note.id)).tags == ["port", "gate"]
    assert "tags: [port, gate]\n" in world.file(note.path).read_text("utf-8")


@pytest.mark.guarantee("W2")
def test_a_persons_text_stays_a_persons_when_an_agent_replaces_it(world: World) -> None:
    old = world.save("Host", HOST, by=human())
    new = world.save("Moved", "The staging host is called fen.", supersedes=(old.id,))
    views = [world.service.read(human(), ReadRequest(id=note)) for note in (old.id, new.id)]
    assert [(one.status, one.trust) for one in views] == [
        ("superseded", "human"),
        ("active", "agent"),
    ]


def test_a_passage_that_is_all_of_a_note_forgets_the_note(world: World) -> None:
    note = world.save("Host", f"\n{HOST}\n\n")
    reply = world.forget(note.id, passage=f" {HOST} ")
    assert reply.outcome == "retracted"
    assert world.ids("staging host") == []
    assert not world.file(note.path).exists()


@pytest.mark.guarantee("W6")
def test_a_file_that_a_person_edits_while_its_note_is_forgotten_is_kept(world: World) -> None:
    note = world.save("Host", HOST)
    with once_recorded(lambda: world.file(note.path).write_text("My own text.\n", "utf-8")):
        assert "edited meanwhile" in world.forget(note.id).notice
    assert world.file(note.path).read_text("utf-8") == "My own text.\n"
    assert "conflict" in [one["kind"] for one in world.service.reviews(human())]


@pytest.mark.guarantee("W6")
@pytest.mark.parametrize("verb", ["correct", "forget"])
def test_a_file_that_a_person_removes_meanwhile_is_a_conflict_only_where_it_was_to_change(
    world: World, verb: str
) -> None:
    note = world.save("Host", HOST)
    kept = world.save("Gate", "The gate opens at seven each day.")
    with once_recorded(world.file(note.path).unlink):
        if verb == "correct":
            notice = world.correct(note, "The staging host is called fen.", "changed").notice
        else:
            notice = world.forget(note.id).notice
    assert ("edited meanwhile" in notice) is (verb == "correct")
    assert not world.file(note.path).exists()
    assert world.ids("staging host gate opens") == [kept.id]


def test_a_lock_that_somebody_holds_is_not_taken_by_who_only_tries(world: World) -> None:
    parts = world.service._gateway._parts
    name = VaultName("personal")
    with parts.locked(name), parts.try_locked(name) as held:
        assert not held
    with parts.try_locked(name) as held:
        assert held
    with parts.try_locked(name) as held:
        assert held


def test_an_earlier_version_is_read_as_it_was_and_never_as_current(world: World) -> None:
    note = world.save("Host", HOST)
    world.correct(note, "The staging host is called marsh, in hall 1.", "amend")
    first, second = (
        world.service.read(agent(), ReadRequest(id=note.id, version=number)) for number in (1, 2)
    )
    assert (first.status, first.current) == ("active", False)
    assert (second.status, second.current) == ("active", True)
    world.save("Moved", "The staging host is called fen.", supersedes=(note.id,))
    first, third = (
        world.service.read(agent(), ReadRequest(id=note.id, version=number)) for number in (1, 3)
    )
    assert (first.status, first.current) == ("active", False)
    assert (third.status, third.current) == ("superseded", False)


@pytest.mark.guarantee("A1")
def test_what_is_refused_names_its_note_however_the_id_was_typed(world: World) -> None:
    note = world.save("Host", HOST)
    request = CorrectRequest(
        id=f" {note.id.lower()} ", version=7, mode=CorrectMode.CHANGED, body="The host is fen."
    )
    with pytest.raises(MemsvcError):
        world.service.correct(agent(), request)
    found = world.service.audit_list(human(), AuditRequest(action="correct")).events
    assert [(one.outcome in ("refused", "failed"), one.note_id) for one in found] == [
        (True, note.id)
    ]


def test_the_reason_for_a_new_key_holds_no_secret(world: World) -> None:
    with pytest.raises(SecretFound):
        world.service.rotate_key(human(), "AKIA" + "Z3MHALJ5RZQ6KP2D")
    (event, *_) = world.service.audit_list(human()).events
    assert event.outcome == "refused"
    world.service.rotate_key(human(), "yearly")
    (event, *_) = world.service.audit_list(human()).events
    assert (event.outcome, event.reason) == ("done", "yearly")


def test_a_vault_whose_notes_vanished_takes_no_save(world: World) -> None:
    for number in range(3):
        world.save(f"Note {number}", f"Statement number {number} is here.")
    aside = world.root / "aside"
    (world.vault / "heron").rename(aside)
    with pytest.raises(VaultOffline):
        world.ask("statement number")
    with pytest.raises(VaultOffline):
        world.save("Other", "Another statement is here.")
    assert not (world.vault / "heron").exists()
    aside.rename(world.vault / "heron")
    assert len(world.ids("statement number")) == 3  # somebody looked: it is back
    assert world.save("Other", "Another statement is here.").outcome == "created"


def test_a_file_that_goes_right_after_it_was_written_is_deleted_like_any_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = Staging._publish_one

    def publish(staging: Staging, one: Pending) -> bool:
        done = true(staging, one)
        (staging.root / one.path).unlink()
        return done

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(Staging, "_publish_one", publish)
        note = world.save("Host", HOST)
    assert note.outcome == "created"
    kept = world.save("Gate", "The gate opens at seven each day.")
    assert world.ids("staging host gate opens") == [kept.id]


def test_an_empty_folder_names_projects_by_its_folders_and_one_with_notes_does_not(
    world: World,
) -> None:
    for name, layout in (("empty", "folders"), ("full", "mapped")):
        folder = world.root / name
        folder.mkdir()
        if name == "full":
            (folder / "a.md").write_text("The gate opens at seven.\n", "utf-8")
        world.service.vault_add(human(), name, str(folder), {})
        (found,) = [one for one in world.service.vault_list() if one["name"] == name]
        assert found["layout"] == layout


def test_a_long_text_is_read_in_the_background_and_a_short_one_at_once(world: World) -> None:
    parts = replace(world.service._gateway._parts, embedder=FakeEmbedder)
    vectors, model = vectors_for(parts, "Host", HOST)
    assert (len(vectors), model) == (1, "fake@1")
    long = "\n\n".join(f"## Part {number}\n\n{HOST * 30}" for number in range(40))
    assert vectors_for(parts, "Host", long) == ({}, "")


def test_what_is_said_of_vectors_that_miss_and_of_those_of_another_model() -> None:
    def told(missing: int, others: int) -> str:
        return vector_notice(
            {"without_vector": missing, "other_vectors": others, "passages": 9, "model_id": "m"}
        )

    assert told(0, 0) == ""
    assert "model prune" in told(0, 5)
    assert "model embed" in told(1, 5)
    assert "model embed" in told(1_000_000, 0)


@pytest.mark.guarantee("R5")
def test_a_returned_note_that_a_reviewer_rewrites_has_its_history_at_once(world: World) -> None:
    note = world.save("Host", f"{HOST} It is in hall 1.")
    second = world.correct(note, HOST, "amend")
    kept = world.file(note.path).read_bytes()
    world.forget(second.id)
    world.file(note.path).write_bytes(kept)
    assert world.ids("staging host hall", history=True) == []
    (item,) = world.service.reviews(human())
    request = DecisionRequest(
        id=str(item["review_id"]),
        disposition=Disposition.REPLACE,
        body="The staging host is called fen.",
    )
    world.service.decide(human(), request)
    before = [(hit.version, hit.text) for hit in world.hits("staging host hall", history=True)]
    world.service.reindex(human())
    again = [(hit.version, hit.text) for hit in world.hits("staging host hall", history=True)]
    assert before == again
    assert "The staging host is called fen." in [text for _, text in before]
    assert len(before) > 1
