"""Files are the truth: what people change in the folder reaches recall, through the policy."""

import shutil
from itertools import count
from pathlib import Path
from threading import Event, Thread, current_thread

import pytest

from memsvc.errors import Denied, NotFound, VaultOffline
from memsvc.model.requests import DecisionRequest, HistoryRequest, ReadRequest, RecallRequest
from memsvc.model.vocabulary import Disposition
from memsvc.notes import disk
from memsvc.notes.walk import Walked, walk
from memsvc.service.gateway.files import scan
from tests.service.world import World, agent, human


def actions(world: World, project: str = "heron") -> list[tuple[str, str, str]]:
    events = world.service.history(agent(project), HistoryRequest(limit=50)).events
    return [(one.action, one.outcome, one.actor) for one in events if one.action != "config"]


def test_a_new_file_is_found_and_left_alone(world: World) -> None:
    text = "# Heron host\n\nThe staging host is called marsh.\n"
    path = world.write("heron/Host.md", text)
    (hit,) = world.hits("staging host")
    assert (hit.title, hit.trust, hit.author) == ("Heron host", "human", "human:file")
    assert path.read_text("utf-8") == text
    assert world.ids("staging host", by=agent("osprey")) == []
    assert actions(world) == [("file_edit", "done", "human:file")]


def test_an_edit_is_found_by_its_new_text_and_not_by_its_old(world: World) -> None:
    note = world.save("Host", "The staging host is called marsh.")
    path = world.file(note.path)
    path.write_text(path.read_text("utf-8").replace("marsh", "fen"), "utf-8")
    (hit,) = world.hits("staging host called")
    assert (hit.id, hit.version) == (note.id, 2)
    assert "fen" in hit.text


def test_a_moved_file_keeps_its_id_and_takes_its_new_project(world: World) -> None:
    saved = world.save("Host", "The staging host is called marsh.")
    world.write("heron/plain.md", "The tea is served at four.\n")
    (plain,) = world.ids("tea served")
    for name in ("host.md", "plain.md"):
        target = world.file(f"osprey/{name}")
        target.parent.mkdir(exist_ok=True)
        world.file(f"heron/{name}").rename(target)
    assert world.ids("staging host", by=agent("osprey")) == [saved.id]
    assert world.ids("tea served", by=agent("osprey")) == [plain]
    assert world.ids("staging host tea served") == []
    assert ("file_move", "done", "human:file") in actions(world, "osprey")


def test_a_copy_of_a_file_that_was_moved_is_a_note_of_its_own(world: World) -> None:
    path = world.write("heron/plain.md", "The tea is served at four.\n")
    (plain,) = world.ids("tea served")
    path.rename(world.file("heron/moved.md"))
    assert world.ids("tea served") == [plain]
    world.write("heron/copy.md", world.file("heron/moved.md").read_bytes())
    world.restart()
    (hit,) = world.hits("tea served")
    assert len({hit.id, *hit.same_as}) == 2
    assert world.service.read(agent(), ReadRequest(id=plain)).path == "heron/moved.md"


def test_a_file_moved_and_edited_at_once_keeps_its_earlier_text_in_history(world: World) -> None:
    note = world.save("Host", "The staging host is called marsh.")
    world.ids("staging host")
    path = world.file(note.path)
    path.write_text(path.read_text("utf-8").replace("marsh", "fen"), "utf-8")
    path.rename(world.file("heron/moved.md"))

    def found() -> dict[int, bool]:
        return {hit.version: hit.current for hit in world.hits("staging host", history=True)}

    assert world.ids("staging host") == [note.id]
    assert found() == {1: False, 2: True}
    world.service.reindex(human())
    assert found() == {1: False, 2: True}


def test_a_deleted_file_is_one_audited_removal_and_may_come_back(world: World) -> None:
    note = world.save("Host", "The staging host is called marsh.")
    other = world.save("Tea", "The tea is served at four.")
    text = world.file(note.path).read_text("utf-8")
    world.file(note.path).unlink()
    assert world.ids("staging host") == []
    assert world.ids("tea served") == [other.id]
    assert [one for one in actions(world) if one[0] == "file_delete"] == [
        ("file_delete", "done", "human:file")
    ]
    world.file(note.path).write_text(text, "utf-8")
    assert world.ids("staging host") == [note.id]


@pytest.mark.guarantee("R5")
def test_a_deleted_file_that_is_back_has_its_earlier_texts_in_history(world: World) -> None:
    note = world.save("Host", "The staging host is called marsh.")
    world.correct(note, "The staging host is called fen.", mode="changed")
    path = world.file(note.path)
    text = path.read_bytes()
    path.unlink()
    assert world.ids("staging host", history=True) == []
    path.write_bytes(text)
    for _ in range(2):
        hits = world.hits("staging host", history=True)
        assert {(hit.version, hit.current) for hit in hits} == {(1, False), (3, True)}
        world.service.reindex(human())


@pytest.mark.guarantee("C1", "R5")
def test_a_forgotten_note_whose_file_is_back_waits_with_all_it_said_before(world: World) -> None:
    note = world.save("Host", "The staging host is called marsh.")
    world.correct(note, "The staging host is called fen.", mode="changed")
    text = world.file(note.path).read_bytes()
    world.forget(note.id)
    world.file(note.path).write_bytes(text)
    for _ in range(2):
        assert world.ids("staging host", history=True) == []
        assert world.service.reviews(human()) != []
        world.service.reindex(human())
    (item,) = world.service.reviews(human())
    decision = DecisionRequest(
        id=str(item["review_id"]), disposition=Disposition.KEEP_NEW, lift=True
    )
    world.service.decide(human(), decision)
    for _ in range(2):
        hits = world.hits("staging host", history=True)
        assert {(hit.version, hit.current) for hit in hits} >= {(1, False), (4, True)}
        world.service.reindex(human())


def test_a_note_is_corrected_where_its_file_went_and_not_when_it_was_deleted(world: World) -> None:
    moved = world.save("Host", "The staging host is called marsh.")
    gone = world.save("Tea", "The tea is served at four.")
    assert len(world.ids("staging tea")) == 2
    (world.vault / "heron/sub").mkdir()
    world.file(moved.path).rename(world.file("heron/sub/host.md"))
    world.file(gone.path).unlink()
    with pytest.raises(NotFound):
        world.correct(gone, "The tea is served at five.")
    reply = world.correct(moved, "The staging host is called fen.")
    assert (reply.path, reply.version) == ("heron/sub/host.md", 2)
    assert "fen" in world.file("heron/sub/host.md").read_text("utf-8")
    assert not world.file(gone.path).exists()
    assert world.ids("staging tea") == [moved.id]


def test_another_text_at_the_place_of_a_deleted_file_is_another_note(world: World) -> None:
    path = world.write("heron/plain.md", "The tea is served at four.\n")
    (first,) = world.ids("tea served")
    path.unlink()
    assert world.ids("tea served") == []
    world.write("heron/plain.md", "The tea is served at five.\n")
    (second,) = world.ids("tea served")
    assert second != first
    path.unlink()
    assert world.ids("tea served") == []
    world.write("heron/plain.md", "The tea is served at five.\n")
    assert world.ids("tea served") == [second]


@pytest.mark.guarantee("C4")
def test_an_edit_of_a_file_that_another_one_replaces_leaves_it_replaced(world: World) -> None:
    old = world.write("heron/old.md", "The staging host is called marsh.\n")
    assert len(world.ids("staging host")) == 1
    new = '---\nsupersedes: "[[old]]"\n---\nThe staging host is called fen.\n'
    world.write("heron/new.md", new)
    (hit,) = world.hits("staging host")
    assert hit.path == "heron/new.md"
    old.write_text("The staging host is called marsh, they said.\n", "utf-8")
    for _ in range(2):
        assert world.ids("staging host") == [hit.id]
        world.service.reindex(human())


@pytest.mark.guarantee("C1")
def test_a_deleted_file_that_is_back_is_judged_by_what_was_rejected_since(world: World) -> None:
    bad = world.write("heron/bad.md", "The vault door code is 4711.\n")
    good = world.write("heron/good.md", "The garden door code is 4712.\n")
    world.write("heron/tea.md", "Tea is served at noon.\n")
    assert len(world.ids("door code")) == 2
    texts = {path: path.read_bytes() for path in (bad, good)}
    for path in texts:
        path.unlink()
        world.ids("door code")
    world.forget(world.save("Again", "The vault door code is 4711.").id)
    for path, text in texts.items():
        path.write_bytes(text)
    assert [hit.path for hit in world.hits("door code")] == ["heron/good.md"]
    (item,) = world.service.reviews(human())
    assert item["kind"] == "withheld"


def test_a_file_renamed_in_its_folder_keeps_a_project_that_no_folder_has(
    world: World, tmp_path: Path
) -> None:
    folder = tmp_path / "team"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs/old.md").write_text("An old note of everybody.\n", "utf-8")
    world.service.vault_add(human(), "team", str(folder), {"docs": "osprey"})
    by = agent(vault="team")
    saved = world.save("Host", "The staging host is called marsh.", by=by)
    assert world.ids("staging host", by=by) == [saved.id]
    place = folder / saved.path
    place.rename(place.with_name("renamed.md"))
    assert [hit.path for hit in world.hits("staging host", by=by)] == ["heron/renamed.md"]
    assert world.ids("staging host", by=agent("osprey", vault="team")) == []


def test_a_copied_file_gets_an_id_of_its_own(world: World) -> None:
    note = world.save("Host", "The staging host is called marsh.")
    copy = world.write("heron/host copy.md", world.file(note.path).read_bytes())
    before = copy.read_bytes()
    (hit,) = world.hits("staging host")  # both say the same, so one names the other
    assert len({hit.id, *hit.same_as}) == 2
    assert copy.read_bytes() == before


@pytest.mark.guarantee("C1", "W1")
def test_a_rejected_claim_in_a_file_is_withheld_and_queued(world: World) -> None:
    note = world.save("Host", "The staging host is called marsh today.")
    world.forget(note.id)
    path = world.write("heron/back.md", "Hello.\n\nThe staging host is called marsh today.\n")
    fine = world.write("heron/fine.md", "The staging host is called fen today.\n")
    text = path.read_text("utf-8")
    hits = world.hits("staging host called")
    assert [hit.path for hit in hits] == ["heron/fine.md"]
    assert fine.exists()
    assert path.read_text("utf-8") == text
    assert ("file_edit", "refused", "human:file") in actions(world)
    (item,) = world.service.reviews(human())
    assert item["kind"] == "withheld"
    path.write_text("Hello.\n\nThe staging host is called reed today.\n", "utf-8")
    assert {hit.path for hit in world.hits("staging host called")} == {
        "heron/fine.md",
        "heron/back.md",
    }
    assert world.service.reviews(human()) == []


@pytest.mark.guarantee("C1")
def test_a_forgotten_file_put_back_from_the_trash_stays_withheld(world: World) -> None:
    note = world.save("Host", "The staging host is called marsh today.")
    gone = world.forget(note.id)
    world.file(gone.trash).rename(world.file(note.path))
    tea = world.save("Tea", "The tea is served at four.")
    assert world.ids("staging host called marsh") == []
    assert world.ids("tea served") == [tea.id]


@pytest.mark.guarantee("W2")
def test_frontmatter_cannot_claim_trust_scope_or_another_notes_id(world: World) -> None:
    mine = world.save("Host", "The staging host is called marsh.")
    world.write(
        "osprey/evil.md",
        f"---\nid: {mine.id}\ntrust: verified\nproject: heron\nauthor: human:root\n---\nThe falcon is late.\n",
    )
    (hit,) = world.hits("falcon late", by=agent("osprey"))
    assert hit.id != mine.id
    assert (hit.trust, hit.author, hit.scope) == ("human", "human:file", "personal/osprey")
    assert world.ids("falcon late") == []
    assert world.ids("staging host") == [mine.id]


@pytest.mark.guarantee("C4")
def test_hand_written_supersession_counts(world: World) -> None:
    world.write(
        "heron/old.md",
        '---\nstatus: superseded\nsuperseded_by: "[[new]]"\n---\nThe heron deadline is 3 March.\n',
    )
    world.write("heron/new.md", "The heron deadline is 12 March.\n")
    assert [hit.path for hit in world.hits("heron deadline")] == ["heron/new.md"]
    assert {hit.path for hit in world.hits("heron deadline", history=True)} == {
        "heron/new.md",
        "heron/old.md",
    }


@pytest.mark.guarantee("C4")
def test_an_old_file_of_a_replaced_note_stays_replaced_while_its_successor_stands(
    world: World,
) -> None:
    old = world.save("Deadline", "The heron deadline is 3 March.")
    path = world.file(old.path)
    before = path.read_bytes()
    new = world.save("Deadline now", "The heron deadline is 12 March.", supersedes=(old.id,))
    path.write_bytes(before)
    assert world.ids("heron deadline 3 March") == [new.id]
    path.unlink()
    assert world.ids("heron deadline") == [new.id]
    path.write_bytes(before)
    assert world.ids("heron deadline 3 March") == [new.id]


def test_a_person_brings_a_replaced_note_back_by_an_edit(world: World) -> None:
    old = world.save("Deadline", "The heron deadline is 3 March.")
    path = world.file(old.path)
    before = path.read_bytes()
    new = world.save("Deadline now", "The heron deadline is 12 March.", supersedes=(old.id,))
    assert world.ids("heron deadline") == [new.id]
    path.write_bytes(before.replace(b"3 March.", b"3 March, after all."))
    assert set(world.ids("heron deadline")) == {new.id, old.id}


def test_an_old_file_comes_back_when_its_successor_goes_with_it(world: World) -> None:
    old = world.save("Deadline", "The heron deadline is 3 March.")
    path = world.file(old.path)
    before = path.read_bytes()
    new = world.save("Deadline now", "The heron deadline is 12 March.", supersedes=(old.id,))
    assert world.ids("heron deadline") == [new.id]
    path.write_bytes(before)
    world.file(new.path).unlink()
    assert world.ids("heron deadline") == [old.id]


@pytest.mark.guarantee("S1", "S3")
def test_a_deleted_file_that_comes_back_in_another_project_is_that_projects(world: World) -> None:
    note = world.save("Host", "The staging host is called marsh.")
    text = world.file(note.path).read_text("utf-8")
    world.file(note.path).unlink()
    assert world.ids("staging host") == []
    world.write("osprey/host.md", text)
    (hit,) = world.hits("staging host", by=agent("osprey"))
    assert (hit.scope, hit.path) == ("personal/osprey", "osprey/host.md")
    assert hit.id != note.id
    assert world.ids("staging host") == []
    world.file(note.path).write_text(text, "utf-8")
    assert world.ids("staging host") == [note.id]


def test_an_emptied_vault_goes_offline_and_nothing_is_removed(world: World) -> None:
    notes = [world.save(f"Note {n}", f"Statement number {n} is here.") for n in range(6)]
    assert world.ids("statement number 3")
    aside = world.root / "aside"
    (world.vault / "heron").rename(aside)
    for _ in range(2):
        with pytest.raises(VaultOffline):
            world.ask("statement number 3")
    assert [one for one in actions(world) if one[0] == "file_delete"] == []
    alerts = [
        one
        for one in world.service.audit_list(human()).events
        if one.action == "config" and one.outcome == "failed"
    ]
    assert len(alerts) == 1
    assert told(world, "vault online again") == 0
    aside.rename(world.vault / "heron")
    for _ in range(2):
        assert world.ids("statement number 3")[0] == notes[3].id
    assert told(world, "vault online again") == 1


def told(world: World, reason: str) -> int:
    """How many events give this reason."""
    return sum(one.reason == reason for one in world.service.audit_list(human()).events)


def test_a_missing_vault_folder_is_an_outage(world: World) -> None:
    note = world.save("Host", "The staging host is called marsh.")
    aside = world.root / "aside"
    world.vault.rename(aside)
    with pytest.raises(VaultOffline) as caught:
        world.ask("staging host")
    assert str(world.root) not in str(caught.value)
    (notice, *_) = world.service.scopes(agent()).problems
    assert "offline" in notice
    with pytest.raises(VaultOffline):
        world.save("Other", "Another statement is here.")
    world.restart()
    with pytest.raises(VaultOffline):
        world.ask("staging host")
    assert not world.vault.exists()
    aside.rename(world.vault)
    world.restart()
    assert world.save("Other", "Another statement is here.").outcome == "created"
    assert world.ids("staging host") == [note.id]
    assert not any("offline" in one for one in world.service.scopes(agent()).problems)


def test_a_folder_that_goes_while_it_is_looked_at_loses_no_note(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = [world.save(f"Note {n}", f"Statement number {n} is here.") for n in range(3)]
    assert len(world.ids("statement number")) == 3
    aside, first = world.root / "aside", world.file(notes[0].path)
    text = first.read_bytes()
    first.unlink()  # as a folder does that is being taken away

    def last(root: Path) -> Walked:
        found = walk(root)
        world.vault.rename(aside)
        return found

    monkeypatch.setattr(scan, "walk", last)
    with pytest.raises(VaultOffline):
        world.ask("statement number")
    monkeypatch.undo()
    aside.rename(world.vault)
    first.write_bytes(text)
    assert set(world.ids("statement number")) == {note.id for note in notes}
    assert [one for one in actions(world) if one[0] == "file_delete"] == []
    first.unlink()
    assert len(world.ids("statement number")) == 2
    assert len([one for one in actions(world) if one[0] == "file_delete"]) == 1


def held_up(world: World, monkeypatch: pytest.MonkeyPatch, at: str) -> tuple[Thread, Event]:
    """A scan by a thread that has done this step and waits for the event before it goes on."""
    done, go = Event(), Event()
    step = getattr(scan, at)

    def slow(*arguments: object) -> object:
        found = step(*arguments)
        if current_thread() is scanner:
            done.set()
            assert go.wait(60)
        return found

    monkeypatch.setattr(scan, at, slow)
    scanner = Thread(target=lambda: world.service.scan_all(agent()))
    scanner.start()
    assert done.wait(60)
    return scanner, go


def test_a_slow_scan_does_not_hide_what_a_later_one_saw(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = world.save("Tea", "The tea is served at four.")
    assert world.ids("tea served") == [kept.id]
    scanner, go = held_up(world, monkeypatch, "walk")
    path = world.write("heron/Host.md", "The staging host is called marsh.\n")
    assert len(world.ids("staging host")) == 1
    go.set()
    scanner.join()
    path.unlink()
    assert world.ids("staging host") == []
    assert [one for one in actions(world) if one[0] == "file_delete"] != []
    assert world.ids("tea served") == [kept.id]


def test_what_another_thread_is_taking_in_is_not_missed_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scan, "CHEAP_SECONDS", 0.0)
    monkeypatch.setattr(scan, "DUTY", 1e9)
    kept = world.save("Tea", "The tea is served at four.")
    for _ in range(20):  # until the last walk is remembered as recent enough
        assert world.ids("tea served") == [kept.id]
    world.write("heron/Host.md", "The staging host is called marsh.\n")
    scanner, go = held_up(world, monkeypatch, "in_batches")  # it compares what the walk saw
    assert len(world.ids("staging host")) == 1
    go.set()
    scanner.join()
    assert len(world.ids("staging host")) == 1


@pytest.mark.parametrize("verb", ["recall", "read"])
def test_a_file_that_went_is_gone_also_for_a_process_that_never_saw_it(
    world: World, verb: str
) -> None:
    kept = world.save("Tea", "The tea is served at four.")
    other = world.open()
    try:
        ask = RecallRequest(query="tea staging host")
        assert [hit.id for hit in other.recall(agent(), ask).hits] == [kept.id]
        path = world.write("heron/Host.md", "The staging host is called marsh.\n")
        (found,) = world.ids("staging host")
        path.unlink()
        if verb == "recall":
            assert [hit.id for hit in other.recall(agent(), ask).hits] == [kept.id]
        else:
            with pytest.raises(NotFound):
                other.read(agent(), ReadRequest(id=found))
        assert other.read(agent(), ReadRequest(id=kept.id)).status == "active"
        assert len([one for one in actions(world) if one[0] == "file_delete"]) == 1
    finally:
        other.close()


def test_a_hit_that_never_stands_still_is_left_out_and_said(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = world.save("Tea", "The staging tea is served at four.")
    path = world.write("heron/Host.md", "The staging host is called marsh.\n")
    assert len(world.ids("staging")) == 2
    number = count()
    looked = disk.signature

    def edited(place: Path) -> disk.FileSignature:
        if place == path:
            path.write_text(f"The staging host is called marsh {next(number)}.\n", "utf-8")
        return looked(place)

    monkeypatch.setattr(disk, "signature", edited)
    reply = world.ask("staging")
    assert [hit.id for hit in reply.hits] == [kept.id]
    assert reply.count == 1
    assert "1 note is changing just now and left out; ask again" in reply.coverage.notices
    alone = world.ask("staging host marsh", k=1)
    assert (alone.hits, alone.abstained) == ([], True)
    assert "changing just now" in alone.reason
    monkeypatch.undo()
    assert len(world.ids("staging")) == 2


def test_a_loss_is_believed_when_the_person_accepts_it(world: World) -> None:
    for number in range(6):
        world.save(f"Note {number}", f"Statement number {number} is here.")
    shutil.rmtree(world.vault / "heron")
    with pytest.raises(VaultOffline):
        world.ask("statement number")
    with pytest.raises(Denied):
        world.service.vault_accept(agent(), "personal")
    with pytest.raises(VaultOffline):
        world.ask("statement number")
    assert world.service.vault_accept(human(), "personal")["removed"] == 6
    assert world.ids("statement number") == []
    assert world.save("New", "A new statement is here.").outcome == "created"


ODD = {
    "empty.md": b"",
    "binary.md": b"\x00\x01\x02" * 100,
    "latin.md": "Zugspitze caf\xe9 kestrel".encode("latin-1"),
    "utf16.md": "The bittern sings at dawn".encode("utf-16"),
    "bom.md": b"\xef\xbb\xbf---\ntitle: Bom\n---\nThe dunlin has a mark.\n",
    "never.md": b"---\ntitle: never closes\nThe gannet dives deep.\n",
    "bad.md": b"---\ntitle: [unclosed\nfoo: : bar\n---\nThe curlew calls here.\n",
    "dup.md": b"---\na: 1\na: 2\n---\nThe plover runs along.\n",
    "tabs.md": b"---\n\ttitle: x\n---\nThe skua steals fish.\n",
    "rule.md": b"The tern flies.\n\n---\n\nAfter the rule the ouzel sings.\n",
    "dates.md": b"---\ndate: 2026-01-01\ntime: 10:00\nflag: no\nv: 1.10\nlink: [[Note]]\nemoji: \xf0\x9f\x8e\x89\n---\nThe avocet wades.\n",
    "crlf.md": b"---\r\ntitle: Crlf\r\n---\r\nThe siskin eats seeds.\r\n",
}


@pytest.mark.guarantee("W6")
def test_odd_files_stay_as_they_are_and_their_text_is_found(world: World) -> None:
    for name, data in ODD.items():
        world.write(f"heron/{name}", data)
    (world.vault / "heron" / "pipe.md").mkdir()
    good = world.save("Good", "The merlin hunts larks.")
    words = {
        "latin.md": "kestrel",
        "utf16.md": "bittern",
        "bom.md": "dunlin",
        "never.md": "gannet",
        "bad.md": "curlew",
        "dup.md": "plover",
        "tabs.md": "skua",
        "rule.md": "ouzel",
        "dates.md": "avocet",
        "crlf.md": "siskin",
    }
    for name, word in words.items():
        assert [hit.path for hit in world.hits(word)] == [f"heron/{name}"], name
    assert world.ids("merlin larks") == [good.id]
    world.service.reindex(human())
    assert world.ids("merlin larks") == [good.id]
    for name, data in ODD.items():
        assert (world.vault / "heron" / name).read_bytes() == data, name


def test_a_huge_file_neither_stops_the_vault_nor_is_read(world: World) -> None:
    path = world.write("heron/huge.md", b"")
    with path.open("r+b") as file:
        file.truncate(500 * 1024 * 1024)
    note = world.save("Good", "The merlin hunts larks.")
    assert world.ids("merlin larks") == [note.id]
    assert path.stat().st_size == 500 * 1024 * 1024


def test_conflict_copies_and_hidden_folders_are_not_notes(world: World) -> None:
    world.write("heron/a.sync-conflict-20260101-101010-ABCDEFG.md", "The falcon is late.")
    world.write(".obsidian/plugin.md", "The falcon is late.")
    world.write("heron/real.md", "The falcon is early.")
    assert [hit.path for hit in world.hits("falcon")] == ["heron/real.md"]


@pytest.mark.guarantee("R5")
def test_a_rebuilt_index_gives_the_same_answers(world: World) -> None:
    old = world.save("Deadline", "The heron deadline is 3 March. See [[Host]].")
    world.save("Host", "The staging host is called marsh. #infra")
    world.save("Deadline moved", "The heron deadline is 12 March.", supersedes=(old.id,))
    fixed = world.save("Port", "The deploy port is 6544.")
    world.correct(fixed, "The deploy port is 5433.")
    world.write("heron/hand.md", "# Hand\n\nWritten by hand, links [[Port]].\n")
    world.forget(world.save("Gone", "The gone statement was here.").id)
    queries = ["heron deadline", "staging host", "deploy port", "written by hand", "gone statement"]

    def answers() -> list[object]:
        found: list[object] = []
        for query in queries:
            for history in (False, True):
                reply = world.ask(query, history=history)
                found.append([(hit.id, hit.version, hit.text, hit.current) for hit in reply.hits])
        view = world.service.read(agent(), ReadRequest(id=fixed.id))
        found.append([one.id for one in view.links_in])
        return found

    before = answers()
    assert any(before)
    world.service.reindex(human())
    assert answers() == before


def test_own_writes_cost_no_walk_and_hide_nobody_elses(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    walked: list[Path] = []

    def counted(root: Path) -> Walked:
        if root.samefile(world.vault):  # not what other tests may have left at work
            walked.append(root)
        return walk(root)

    monkeypatch.setattr(scan, "walk", counted)
    monkeypatch.setattr(scan, "CHEAP_SECONDS", 0.0)
    monkeypatch.setattr(scan, "DUTY", 1e9)
    first = world.save("Tea", "The tea is served at four.")

    def settled() -> int:
        """Asks until files are old enough to be told apart by their times; the walks so far."""
        count = -1
        while count != len(walked):
            count = len(walked)
            assert world.ids("tea served") == [first.id]
        return count

    before = settled()
    saved = world.save("Host", "The staging host is called marsh.")
    assert world.ids("staging host called") == [saved.id]
    world.forget(saved.id)
    assert world.ids("staging host called") == []
    assert len(walked) == before
    world.write("heron/Port.md", "The staging port is 4711.")
    assert len(world.ids("staging port")) == 1
    assert len(walked) > before
    settled()
    again = world.save("Gate", "The gate opens at seven.")
    world.write("heron/Door.md", "The door has a blue lock.")
    assert len(world.ids("door blue lock")) == 1
    assert world.ids("gate opens seven") == [again.id]
    assert world.ids("tea served") == [first.id]
