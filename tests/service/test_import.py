"""Foreign notes through the gateway: what is written, what is kept of them, and what is never overwritten."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from memsvc.errors import Denied, InvalidInput, StorageFailed
from memsvc.ledger import reader
from memsvc.model.exchange import ExportRequest
from memsvc.model.identity import Caller
from memsvc.model.replies import Json, SaveReply
from memsvc.model.requests import DecisionRequest, HistoryRequest, ReadRequest, ReviewFilter
from memsvc.model.vocabulary import Disposition
from memsvc.ops.exchange.publish import publish
from memsvc.ops.exchange.take_in import take_in
from memsvc.service import access
from memsvc.service.exchange_desk import _notes
from tests.service.world import World, agent, human

KEY = "ghp_" + "x7Kd92mQpL0sVbN4rT8uYcE1wZaH5jF3gR6o"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "one")
    yield made
    made.service.close()


@pytest.fixture
def other(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path / "two")
    yield made
    made.service.close()


def export(
    world: World, to: Path, form: str = "json", *, by: Caller | None = None, **wanted: bool
) -> dict[str, Json]:
    request = ExportRequest(**wanted)
    return publish(
        world.service, by or human(), to, form=form, request=request, replace=to.exists()
    )


def replaced_elsewhere(folder: Path, first: str, second: str) -> tuple[str, str]:
    """Another home's note and, once it is exported to `before.json`, the one that replaces it there,
    both exported to `after.json`; their ids.
    """
    there = World(folder / "there")
    old = there.save("Date", first)
    export(there, folder / "before.json")
    new = there.save("Moved", second, supersedes=(old.id,))
    export(there, folder / "after.json")
    there.service.close()
    return old.id, new.id


def bring(
    world: World, source: Path, *, by: Caller | None = None, **more: object
) -> dict[str, Json]:
    return take_in(world.service, by or human(), source, **more)  # type: ignore[arg-type] # passed on


def counts(reply: dict[str, Json]) -> dict[str, int]:
    records = reply["records"]
    assert isinstance(records, dict)
    return {name: int(str(count)) for name, count in records.items() if count}


def told(reply: dict[str, Json]) -> list[dict[str, Json]]:
    items = reply["told"]
    assert isinstance(items, list)
    return [one for one in items if isinstance(one, dict)]


def lines(path: Path) -> list[dict[str, Json]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write_lines(path: Path, rows: list[dict[str, Json]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def file_of(folder: Path, name: str, text: str | bytes) -> Path:
    place = folder / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(text.encode() if isinstance(text, str) else text)
    return place


KEPT = ("id", "path", "title", "kind", "status", "created", "valid_from", "valid_to", "body")
MORE = ("source", "tags", "supersedes", "superseded_by", "reason")


def essence(path: Path) -> list[dict[str, Json]]:
    return [{name: row[name] for name in (*KEPT, *MORE)} for row in lines(path)[1:-1]]


def odd_notes(world: World) -> None:
    """Notes whose texts are awkward to carry."""
    old = world.save("Heron date", "The heron release is on 3 March.", tags=("deadline",))
    world.save(
        "Heron new date",
        "The heron release is on 12 March, see [[heron-date]].",
        supersedes=(old.id,),
        source=("transcript:5f3c1a#turn=12", "https://example.org/a?b=c#d"),
        reason="release meeting",
    )
    world.save(
        "Ruled", "---\nproject: osprey\n---\nNot frontmatter: text.", valid_from="2026-01-02"
    )
    world.save("Ends", "It held for a while.", valid_from="2025-01-01", valid_to="2026-01-01")
    world.save(
        "“Ünïcode” 日本語: 100 % #1", "Zeile eins\u2028zwei 日本語 \U0001f426 e\u0301", tags=()
    )
    world.save("Long", "word " * 39_999 + "end", by=human())
    world.write("heron/windows.md", b"# Windows\r\n\r\nLine one.\r\n\r\n- item\r\n")
    world.write(
        "heron/deep/marked.md", b"\xef\xbb\xbf---\nowner: me # mine\nid_of: 7\n---\nBOM text.\n"
    )
    world.write("heron/broken.md", b"---\n: [\n---\nBroken head, sound text.\n")
    world.service.scan_all(human())


@pytest.mark.parametrize("form", ["json", "markdown"])
def test_a_scope_comes_out_as_it_went_in(
    world: World, other: World, tmp_path: Path, form: str
) -> None:
    odd_notes(world)
    first = tmp_path / "first.json"
    export(world, first)
    carried = tmp_path / "carried"
    assert export(world, carried, form)["notes"] == 9
    reply = bring(other, carried)
    assert (reply["format"], counts(reply)) == (form, {"created": 9})
    second = tmp_path / "second.json"
    export(other, second)
    wanted, found = essence(first), essence(second)
    if form == "markdown":  # a file whose head cannot be read has no id to carry
        for rows in (wanted, found):
            for row in rows:
                if row["path"] == "heron/broken.md":
                    row["id"] = row["created"] = ""
            rows.sort(key=lambda row: str(row["path"]))
        for row in found:
            row["valid_from"] = row["valid_from"] or ""
    assert found == wanted
    assert other.file("heron/windows.md").read_bytes().endswith(b"\r\n- item\r\n")
    assert b"owner: me # mine\n" in other.file("heron/deep/marked.md").read_bytes()
    assert other.file("heron/broken.md").read_bytes() == world.file("heron/broken.md").read_bytes()
    assert counts(bring(other, carried)) == {"unchanged": 9}
    assert len(other.ids("heron release")) == 1


def test_a_replaced_note_stays_replaced_whatever_comes_first(
    world: World, other: World, tmp_path: Path
) -> None:
    first = world.save("Port", "The staging database listens on port 5432.")
    second = world.save("Port 2", "The staging port is 5433.", supersedes=(first.id,))
    third = world.save("Port 3", "The staging port is 5434.", supersedes=(second.id,))
    export(world, tmp_path / "all.json")
    rows = lines(tmp_path / "all.json")
    turned = write_lines(tmp_path / "turned.json", [rows[0], *reversed(rows[1:-1]), rows[-1]])
    assert counts(bring(other, turned)) == {"created": 3}
    assert other.ids("staging port database") == [third.id]
    seen = other.service.read(human(), ReadRequest(id=first.id))
    assert (seen.status, seen.superseded_by) == ("superseded", second.id)
    assert other.service.read(human(), ReadRequest(id=third.id)).supersedes


def test_a_newer_export_replaces_here_what_it_replaced_there(
    world: World, other: World, tmp_path: Path
) -> None:
    old = world.save("Port", "The staging database listens on port 5432.")
    edited = world.save("Host", "The staging host is called pelican-1.")
    export(world, tmp_path / "before.json")
    bring(other, tmp_path / "before.json")
    assert set(other.ids("staging")) == {old.id, edited.id}
    new = world.save("Port now", "Staging listens on port 5433.", supersedes=(old.id,))
    host = world.save("Host now", "The staging host is pelican-2.", supersedes=(edited.id,))
    here = other.service.read(human(), ReadRequest(id=edited.id))
    other.correct(
        replace_reply(here.id, here.version), "The staging host is heron-9.", "changed", by=human()
    )
    export(world, tmp_path / "after.json")
    reply = bring(other, tmp_path / "after.json")
    assert counts(reply) == {"created": 2, "unchanged": 1, "conflict": 1}
    assert set(other.ids("staging")) == {new.id, host.id, edited.id}
    assert any("was not replaced" in str(one["reason"]) for one in told(reply))


def replace_reply(note_id: str, version: int) -> SaveReply:
    return SaveReply(outcome="created", id=note_id, path="", version=version, scope="", event=0)


@pytest.mark.guarantee("W2")
def test_a_file_that_claims_a_person_and_trust_gains_nothing(world: World, tmp_path: Path) -> None:
    text = (
        "---\ntrust: verified\nauthor: human:alice\nstatus: active\nversion: 40\nproject: osprey\n"
        "on_behalf_of: alice\nsession: s1\n---\nThe heron release is on 12 March.\n"
    )
    folder = file_of(tmp_path / "notes", "claims.md", text).parent
    reply = bring(world, folder, by=agent(name="robin"), form="markdown")
    assert counts(reply) == {"created": 1}
    (hit,) = world.hits("heron release")
    assert (hit.trust, hit.author, hit.scope) == ("agent", "agent:robin", "personal/heron")
    written = world.file(hit.path).read_text()
    assert "trust: agent\n" in written
    assert "author: agent:robin\n" in written
    assert "original_author: human:alice\n" in written
    assert "original_trust: verified\n" in written
    seen = world.service.read(human(), ReadRequest(id=hit.id))
    assert (seen.on_behalf_of, seen.session, seen.version) == ("", "", 1)
    (event,) = [
        one
        for one in world.service.history(human(), HistoryRequest(action="import")).events
        if one.note_id
    ]
    assert (event.actor, event.outcome, event.detail["run"]) == (
        "agent:robin",
        "done",
        reply["run"],
    )


@pytest.mark.guarantee("W1")
def test_what_breaks_the_policy_costs_one_record_and_is_on_record(
    world: World, tmp_path: Path
) -> None:
    note = world.save("Old date", "The heron release is on 3 March.")
    world.forget(note.id, reason="never decided")
    folder = tmp_path / "notes"
    file_of(folder, "secret.md", f"The token is {KEY} for now.\n")
    file_of(folder, "head.md", f"---\ntoken: {KEY}\n---\nHarmless words of a note.\n")
    file_of(folder, "rejected.md", "THE HERON release is on **3 March**.\n\nMore.\n")
    file_of(folder, "recalled.md", '<recalled-notes scope="a/b">\nx\n</recalled-notes>\n')
    file_of(folder, "private.md", "Public words stay. <private>Hidden words go.</private>\n")
    file_of(folder, "binary.md", b"a\x00b")
    file_of(folder, "latin.md", "gr\xfc\xdfe".encode("latin-1"))
    file_of(folder, "empty.md", "---\ntags: [a]\n---\n\n")
    file_of(folder, "innocent.md", "The heron release is on 12 March.\n")
    reply = bring(world, folder)
    assert counts(reply) == {"created": 2, "refused": 6, "skipped": 1}
    why = {str(one["place"]): str(one["code"]) for one in told(reply)}
    assert why == {
        "secret.md": "secret_found",
        "head.md": "secret_found",
        "rejected.md": "rejected_claim",
        "recalled.md": "recalled_text",
        "private.md": "",
        "binary.md": "unreadable_record",
        "latin.md": "unreadable_record",
        "empty.md": "skipped",
    }
    assert KEY not in json.dumps(reply)
    assert len(world.hits("heron release")) == 1
    assert len(world.hits("public words stay")) == 1
    assert not any("Hidden" in path.read_text() for path in world.vault.rglob("*.md"))
    events = world.service.history(human(), HistoryRequest(action="import", limit=50)).events
    assert sorted(one.outcome for one in events) == ["done"] * 3 + ["refused"] * 6
    assert not any(KEY in str(one) or "12 March" in str(one) for one in events)


@pytest.mark.guarantee("C1")
def test_a_rejected_note_does_not_come_back_by_import(world: World, tmp_path: Path) -> None:
    gone = world.save("Date", "The heron release is on 3 March.")
    kept = world.save("Place", "The heron release happens in Lisbon.")
    export(world, tmp_path / "before.json")
    export(world, tmp_path / "before", "markdown")
    world.forget(gone.id)
    for source in ("before.json", "before"):
        reply = bring(world, tmp_path / source)
        assert counts(reply) == {"refused": 1, "unchanged": 1}
        assert told(reply)[0]["code"] == "rejected_claim"
    assert world.ids("heron release") == [kept.id]
    (stone, *_) = world.service.tombstones(human())
    for stone in world.service.tombstones(human()):
        world.service.lift(human(), str(stone["tombstone_id"]), "a test")
    reply = bring(world, tmp_path / "before.json")
    assert "restore" in str(told(reply)[0]["reason"])
    assert world.ids("heron release") == [kept.id]


def test_a_note_whose_file_was_deleted_may_come_back(world: World, tmp_path: Path) -> None:
    note = world.save("Date", "The heron release is on 3 March.")
    world.save("Place", "The heron release happens in Lisbon.")
    export(world, tmp_path / "before.json")
    world.file(note.path).unlink()
    assert note.id not in world.ids("heron release")
    assert counts(bring(world, tmp_path / "before.json")) == {"created": 1, "unchanged": 1}
    assert note.id in world.ids("heron release")
    assert world.service.read(human(), ReadRequest(id=note.id)).version == 2
    world.restart()
    assert note.id in world.ids("heron release")


@pytest.mark.guarantee("W5")
def test_another_text_of_a_note_is_a_conflict_and_nothing_is_overwritten(
    world: World, tmp_path: Path
) -> None:
    note = world.save("Date", "The heron release is on 3 March.")
    export(world, tmp_path / "there.json")
    rows = lines(tmp_path / "there.json")
    rows[1]["body"] = "The heron release is on 30 March.\n"
    write_lines(tmp_path / "there.json", rows)
    before = world.file(note.path).read_bytes()
    reply = bring(world, tmp_path / "there.json")
    assert counts(reply) == {"conflict": 1}
    assert world.file(note.path).read_bytes() == before
    assert world.service.reviews(human(), ReviewFilter()) == []
    for _ in range(2):
        reply = bring(world, tmp_path / "there.json", propose=True)
    assert counts(reply) == {"conflict": 1}
    (item,) = world.service.reviews(human(), ReviewFilter())
    assert item["kind"] == "correction"
    assert world.file(note.path).read_bytes() == before
    world.service.decide(
        human(), DecisionRequest(id=str(item["review_id"]), disposition=Disposition.KEEP_NEW)
    )
    (hit,) = world.hits("heron release")
    assert (hit.id, "30 March" in hit.text) == (note.id, True)
    assert counts(bring(world, tmp_path / "there.json")) == {"unchanged": 1}


def test_a_policy_of_review_holds_what_an_agent_imports(world: World, tmp_path: Path) -> None:
    world.service.vault_policy(human(), "personal", ["review=agents"])
    folder = file_of(tmp_path / "notes", "a.md", "The heron release is on 12 March.\n").parent
    assert counts(bring(world, folder, by=agent())) == {"proposed": 1}
    assert world.ids("heron release") == []
    (item,) = world.service.reviews(human(), ReviewFilter())
    assert counts(bring(world, folder, by=agent())) == {"unchanged": 1}
    world.service.decide(
        human(), DecisionRequest(id=str(item["review_id"]), disposition=Disposition.KEEP_NEW)
    )
    assert len(world.ids("heron release")) == 1


def test_an_agents_import_stays_within_its_budget_and_goes_on_later(
    world: World, tmp_path: Path
) -> None:
    world.service.vault_policy(human(), "personal", ["write_budget=2"])
    for number in range(5):
        file_of(tmp_path / "notes", f"{number}.md", f"Heron number {number} stands in the reeds.\n")
    reply = bring(world, tmp_path / "notes", by=agent())
    assert counts(reply) == {"created": 2, "refused": 1}
    assert "budget" in str(reply["stopped"])
    reply = bring(world, tmp_path / "notes", by=human())
    assert counts(reply) == {"created": 3, "unchanged": 2}


@pytest.mark.guarantee("S1")
def test_an_export_holds_one_scope_and_what_stands_in_it(world: World, tmp_path: Path) -> None:
    mine = world.save("Mine", "The heron release is on 12 March.")
    gone = world.save("Gone", "The heron nests in the old crane.")
    world.save("Theirs", "The osprey release is on 5 May.", by=agent("osprey"))
    world.save("Ours", "The office closes on Fridays.", project="shared")
    world.write("heron/doubt.md", "---\nstatus: disputed\n---\nThe heron sings in winter.\n")
    world.forget(gone.id)
    export(world, tmp_path / "plain.json")
    assert [row["id"] for row in lines(tmp_path / "plain.json")[1:-1]] == [mine.id]
    export(world, tmp_path / "all.json", every=True, history=True)
    assert len(lines(tmp_path / "all.json")) == 5
    plain, whole = ((tmp_path / name).read_text() for name in ("plain.json", "all.json"))
    for text in ("osprey", "Fridays"):
        assert text not in plain + whole
    for text in ("sings in winter", "old crane"):
        assert (text in plain, text in whole) == (False, True)
    with pytest.raises(Denied):
        export(world, tmp_path / "no.json", by=agent(), every=True)
    with pytest.raises(Denied):
        export(world, tmp_path / "no.json", by=agent(), history=True)
    assert not (tmp_path / "no.json").exists()
    assert export(world, tmp_path / "agents.json", by=agent())["notes"] == 1


@pytest.mark.guarantee("S2")
def test_an_id_of_another_scope_is_neither_touched_nor_told(world: World, tmp_path: Path) -> None:
    note = world.save("Date", "The heron release is on 3 March.")
    export(world, tmp_path / "heron.json")
    reply = bring(world, tmp_path / "heron.json", by=human("osprey"))
    assert counts(reply) == {"created": 1}
    (hit,) = world.hits("heron release", by=agent("osprey"))
    assert hit.id != note.id
    assert hit.scope == "personal/osprey"
    assert note.id not in json.dumps(reply)
    assert counts(bring(world, tmp_path / "heron.json", by=human("osprey"))) == {"unchanged": 1}
    assert world.ids("heron release") == [note.id]


def test_what_waited_there_waits_here_and_history_is_for_people(
    world: World, other: World, tmp_path: Path
) -> None:
    old = world.save("Port", "The staging database listens on port 5432.")
    world.save("Port now", "Staging listens on port 5433.", supersedes=(old.id,))
    world.write("heron/idea.md", "---\nstatus: proposed\n---\nThe heron should migrate.\n")
    world.service.scan_all(human())
    export(world, tmp_path / "all.json", every=True, history=True)
    other.service.vault_policy(human(), "personal", ["review=agents"])
    reply = bring(other, tmp_path / "all.json", by=agent())
    assert counts(reply) == {"proposed": 2, "refused": 1}
    assert other.ids("staging port") == []
    other.service.vault_policy(human(), "personal", ["review=none"])
    reply = bring(other, tmp_path / "all.json")
    assert counts(reply) == {"created": 1, "unchanged": 2}
    assert any("history belongs" in str(one) for one in reply["notices"] or [])  # type: ignore[union-attr] # a list
    kinds = {str(one["kind"]) for one in other.service.reviews(human(), ReviewFilter())}
    assert kinds == {"proposal"}


@pytest.mark.guarantee("C5")
def test_what_was_purged_neither_leaves_nor_comes_back(world: World, tmp_path: Path) -> None:
    note = world.save("Door", "The crane code is zanzibar quux 7431.")
    kept = world.save("Gate", "The crane gate opens at seven each day.")
    export(world, tmp_path / "before.json")
    world.forget(note.id, by=human(), mode="purge")
    assert counts(bring(world, tmp_path / "before.json")) == {"refused": 1, "unchanged": 1}
    export(world, tmp_path / "after.json", every=True, history=True)
    assert "zanzibar" in (tmp_path / "before.json").read_text()
    after = (tmp_path / "after.json").read_text()
    assert (kept.id in after, "zanzibar" in after) == (True, False)
    world.service.close()
    raw = b"".join(path.read_bytes() for path in world.root.rglob("*") if path.is_file())
    assert (b"opens at seven" in raw, b"zanzibar" in raw) == (True, False)


@pytest.mark.slow
def test_a_likely_restatement_waits_at_this_door_too(tmp_path: Path) -> None:
    world = World(tmp_path / "home", embedder="packaged")
    try:
        note = world.save("Port", "The staging database listens on port 5432.")
        world.forget(note.id, reason="it was the old cluster")
        world.restart()
        folder = tmp_path / "notes"
        file_of(folder, "a.md", "The staging database is listening on port 5432.\n")
        file_of(folder, "b.md", "The staging database listens on port 5433.\n")
        reply = bring(world, folder)
        assert counts(reply) == {"created": 1, "proposed": 1}
        (item,) = world.service.reviews(human(), ReviewFilter())
        assert item["kind"] == "restatement"
    finally:
        world.service.close()


def test_a_dry_run_tells_the_same_and_changes_nothing(world: World, tmp_path: Path) -> None:
    world.save("Date", "The heron release is on 3 March.")
    folder = tmp_path / "notes"
    file_of(folder, "a.md", "# Place\n\nThe heron release happens in Lisbon.\n")
    file_of(folder, "b/a.md", "# Place\n\nThe heron release happens in Lisbon.\n")
    file_of(folder, "secret.md", f"The token is {KEY} for now.\n")
    before = world.service.history(human(), HistoryRequest()).events[0].seq
    files = sorted(world.vault.rglob("*"))
    dry = bring(world, folder, dry_run=True)
    assert counts(dry) == {"created": 1, "unchanged": 1, "refused": 1}
    assert world.service.history(human(), HistoryRequest()).events[0].seq == before
    assert sorted(world.vault.rglob("*")) == files
    assert counts(bring(world, folder)) == counts(dry)


def test_links_are_rewritten_only_when_a_name_is_taken(world: World, tmp_path: Path) -> None:
    world.write("heron/date.md", "# Our date\n\nOurs stays.\n")
    folder = tmp_path / "notes"
    file_of(folder, "date.md", "# Their date\n\nTheirs.\n")
    kept = "See [[sub/place|the place]] and ![[picture.png]] and [x](sub/place.md#a b).\n"
    changed = "Then [[date]], [[date#When|day]] and [d](date.md#When), not `[[date]]`.\n"
    file_of(folder, "index.md", f"# Index\n\n{kept}\n{changed}")
    file_of(folder, "sub/place.md", "# Place\n\nBack to [[index]].\n")
    assert counts(bring(world, folder)) == {"created": 3}
    text = world.file("heron/index.md").read_text()
    assert kept in text
    assert "Then [[heron/date-2]], [[heron/date-2#When|day]] and [d](date-2.md#When)" in text
    assert "not `[[date]]`" in text
    (hit,) = world.hits("Their date")[:1]
    seen = world.service.read(human(), ReadRequest(id=hit.id))
    assert [one.title for one in seen.links_in] == ["Index"]
    assert counts(bring(world, folder)) == {"unchanged": 3}


def test_sources_inside_a_vault_and_targets_around_it_are_refused(
    world: World, tmp_path: Path
) -> None:
    world.save("Date", "The heron release is on 3 March.")
    for place in (world.vault, world.vault / "heron", world.root / "home", tmp_path):
        with pytest.raises(InvalidInput):
            bring(world, place)
    for target in (world.vault / "out.json", world.root / "home" / "out.json"):
        with pytest.raises(InvalidInput):
            export(world, target)
    assert len(world.ids("heron release")) == 1


@pytest.mark.guarantee("S1")
def test_a_note_that_was_moved_here_leaves_with_its_text_and_without_what_it_said_elsewhere(
    world: World, tmp_path: Path
) -> None:
    world.write("osprey/host.md", "The staging host is called marsh.\n")
    assert len(world.ids("staging host", by=agent("osprey"))) == 1
    world.write("osprey/host.md", "The staging host is called fen.\n")
    assert len(world.ids("staging host fen", by=agent("osprey"))) == 1
    place = world.file("heron/host.md")
    place.parent.mkdir(exist_ok=True)
    world.file("osprey/host.md").rename(place)
    assert len(world.ids("staging host fen")) == 1
    export(world, tmp_path / "out.json", history=True)
    (note,) = [one for one in lines(tmp_path / "out.json") if "body" in one]
    assert note["body"] == "The staging host is called fen.\n"
    versions = note["versions"]
    assert isinstance(versions, list)
    assert [one["version"] for one in versions if isinstance(one, dict)] == [2]
    assert "marsh" not in (tmp_path / "out.json").read_text("utf-8")
    world.save("Other", "The osprey dives.", by=agent("osprey"))
    export(world, tmp_path / "there.json", by=human("osprey"), history=True)
    assert "fen" not in (tmp_path / "there.json").read_text("utf-8")


@pytest.mark.guarantee("S4")
def test_a_note_of_another_scope_is_looked_for_once_more_on_the_way_out(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.save("Host", "The staging host is called marsh.")
    theirs = world.save("Osprey", "The osprey host is called fen.", by=agent("osprey"))
    export(world, tmp_path / "one.json")
    assert "marsh" in (tmp_path / "one.json").read_text("utf-8")
    monkeypatch.setattr(reader, "note_ids", lambda *_, **__: [theirs.id])
    with pytest.raises(StorageFailed, match="another scope"):
        export(world, tmp_path / "two.json")
    assert not (tmp_path / "two.json").exists()
    with world.service._database.read() as connection:
        own, osprey = (access.reads(connection, agent(name)) for name in ("heron", "osprey"))
        (only,) = [one for one in osprey.scopes if one.project == "osprey"]
        assert len(list(_notes(osprey, connection, only, [theirs.id], history=False))) == 1
        with pytest.raises(StorageFailed, match="another scope"):
            list(_notes(own, connection, only, [theirs.id], history=False))
