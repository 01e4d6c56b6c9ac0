"""C5: nothing of a purged note is left in any byte that memsvc reaches, and the reply says what is not."""

import hashlib
import sqlite3
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from memsvc import database
from memsvc.bootstrap import open_service
from memsvc.database import Database
from memsvc.embedding.loader import LazyEmbedder
from memsvc.errors import InvalidInput, NotFound, RejectedClaim, StorageFailed
from memsvc.index.values import PassageVector
from memsvc.index.vectorstore import put_vectors
from memsvc.model.replies import ForgetReply, SaveReply
from memsvc.model.requests import (
    AuditRequest,
    DecisionRequest,
    ReadRequest,
    RestoreRequest,
    ReviewFilter,
    TextHistoryRequest,
)
from memsvc.model.vocabulary import Disposition
from memsvc.notes.document import read_document
from memsvc.ops.evaluation.build import build_gold
from memsvc.ops.evaluation.store import EvalStore
from memsvc.service.api import MemoryService
from memsvc.settings import Settings
from tests.e2e.test_crash import steps
from tests.fakes import FakeEmbedder
from tests.invariants.traces import holding, where
from tests.service.interrupted import cut_off
from tests.service.world import World, agent, human

TITLE = "Zyqortle harbour"
OLD = "The vexopluma gate opens at 6544907213 for the quibbrax ferry."
NEW = "The vexopluma gate opens at 5433907218 for the quibbrax ferry."
MEANWHILE = "The quorflimmer crew rows on Sundays."
LATER = "The jundwelk barge took over from the quibbrax ferry."
EDITED = "A person wrote frobnuzzle here."
NEIGHBOUR = "The marsh lantern is lit by the warden at dusk."
WORDS = (
    "zyqortle",
    "vexopluma",
    "quibbrax",
    "jundwelk",
    "frobnuzzle",
    "tagglewump",
    "sorkeldine",
    "quorflimmer",
)
"""Of a word, the index may keep only what differs from the word before it: look for its end."""
NUMBERS = [b"6544907213", b"5433907218"]
"""Long ones: a few digits occur in any hash."""
NEEDLES = [one[2:].encode() for one in WORDS] + NUMBERS
REVIEWED = ("brindlefex", "ossamquill", "trovendrake", "wimblestrop", "yandlecroft", "karvosten")
"""Words of what waited for a person, was applied, rejected, clashed, was rejected as wrong."""
MORE = [one[2:].encode() for one in REVIEWED]
MODEL = "all-MiniLM-L6-v2@fake"
"""By this name rejected claims are read as vectors, too."""


class Modelled(World):
    """A world whose model is quick and always there."""

    def open(self) -> MemoryService:
        lazy = LazyEmbedder.of(FakeEmbedder(MODEL))
        service = open_service(Settings(home=self.root / "home"), embedder=lazy)
        service.ensure_ready()
        return service


def leave_deleted_bytes(raw: sqlite3.Connection, _record: object) -> None:
    """As SQLite does unless it was built to write zeros over what is deleted."""
    raw.execute("PRAGMA secure_delete=OFF").close()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    event.listen(Engine, "connect", leave_deleted_bytes)
    made = Modelled(tmp_path)
    yield made
    made.service.close()
    event.remove(Engine, "connect", leave_deleted_bytes)


def lived(world: World) -> SaveReply:
    """A note with a life: versions, an edit, links, a source, a tag, a key, a gold, copies, recalls."""
    for number in range(12):
        world.save(f"Minutes {number}", f"Minutes of meeting {number}: tea was served, twice.")
    world.save("Lantern", NEIGHBOUR)
    note = world.save(
        TITLE,
        f"{OLD}\n\nSee [[sorkeldine charter]].\n",
        tags=("tagglewump",),
        source=("https://example.org/sorkeldine",),
        idempotency_key="k1",
    )
    old_file = world.file(note.path).read_bytes()
    second = world.correct(note, f"{NEW}\n\n{MEANWHILE}\n")
    body = f"{NEW}\n\n{LATER}\n\nSee [[sorkeldine charter]].\n"
    world.correct(second, body, "changed", title=f"{TITLE} now")
    file = world.file(note.path)
    file.write_text(f"{file.read_text('utf-8')}\n{EDITED}\n", "utf-8")
    assert note.id in world.ids("which ferry uses the vexopluma gate")
    built = build_gold(world.service.catalogue(human()), per_class=50, seed=1)
    EvalStore(world.root / "home", human()).write_gold(built)
    world.write(
        "heron/harbour.sync-conflict-20261130-100411-ABCDEFG.md",
        f"{file.read_text('utf-8')}\nAn older line on the quibbrax.\n",
    )
    world.write(".trash/heron/old.md", old_file)
    world.write(f"heron/.{Path(note.path).name}.0123456789ab.memsvc-tmp", f"cut off {OLD}")
    return note


def decided(world: World, note_id: str, how: str) -> None:
    """What is proposed for the note, decided."""
    rows = world.service.reviews(human(), ReviewFilter(kind="correction"))
    (item,) = (str(row["review_id"]) for row in rows if note_id in str(row["detail"]))
    world.service.decide(human(), DecisionRequest(id=item, disposition=Disposition(how)))


def reviewed(world: World, note_id: str) -> None:
    """What a reviewer sees of a note: texts that wait, were applied, were rejected, and a conflict."""
    view = world.service.read(human(), ReadRequest(id=note_id))
    world.correct(view, f"{view.body}\nThe karvosten is red at 7 bells.\n", "amend")  # type: ignore[arg-type] # has both
    view = world.service.read(human(), ReadRequest(id=note_id))
    world.correct(view, view.body.replace("is red", "is blue"))  # type: ignore[arg-type] # has both
    world.save("Tea", "Tea is at four, as ever.")
    world.service.vault_policy(human(), "personal", ["review=agents"])
    for word, how in (("ossamquill", "keep-new"), ("trovendrake", "keep-old"), ("brindlefex", "")):
        view = world.service.read(human(), ReadRequest(id=note_id))
        body = f"{view.body}\nThe {word} is fed at dawn.\n"
        reply = world.correct(view, body, "changed", title=f"Of {word}")  # type: ignore[arg-type] # has both
        assert reply.outcome == "proposed"
        if how:
            decided(world, note_id, how)
    world.service.vault_policy(human(), "personal", ["review="])
    view = world.service.read(human(), ReadRequest(id=note_id))
    cut_off(world, note_id, view.title, f"{view.body}\nThe wimblestrop hums.\n")
    file = world.file(view.path)
    file.write_text(f"{file.read_text('utf-8')}\nThe yandlecroft sings.\n", "utf-8")
    kinds = [one["kind"] for one in world.service.reviews(human())]
    assert sorted(str(one) for one in kinds) == ["conflict", "correction"]


def rejection_traces(world: World, note_id: str) -> list[bytes]:
    """Pieces of the vectors of what was rejected of the note, as they lie in the database."""
    raw = sqlite3.connect(world.root / "home" / "memsvc.db")
    rows = raw.execute(
        "SELECT vector FROM index_rejection WHERE note_id = ?", (note_id,)
    ).fetchall()
    raw.close()
    return [row[0][:64] for row in rows if row[0]]


def vector_traces(world: World, note_id: str) -> list[bytes]:
    """Pieces of the note's vectors, and of what is kept of its words' vectors, as they lie on disk."""
    raw = sqlite3.connect(world.root / "home" / "memsvc.db")
    rows = raw.execute(
        "SELECT v.position, d.packed FROM index_vector v JOIN index_chunk c USING (chunk_id) "
        "JOIN index_entry e USING (entry_id) LEFT JOIN index_detail d "
        "ON d.file_id = v.file_id AND d.position = v.position WHERE e.note_id = ?",
        (note_id,),
    ).fetchall()
    raw.close()
    (file,) = (world.root / "home" / "vectors").glob("*.vectors")
    data = file.read_bytes()
    found = []
    for position, packed in rows:
        begin = 1024 * (384 // 64) * 8 + position * 384 * 4
        found += [data[begin : begin + 64], packed[64:128]]
    return found


def purge(world: World, note_id: str, **more: object) -> ForgetReply:
    return world.forget(note_id, by=human(), mode="purge", **more)


def nothing_left(world: World) -> bool:
    return where(world.root, NEEDLES) == {}


@pytest.mark.guarantee("C5")
@pytest.mark.parametrize("first", ["", "retract", "purge"])
def test_a_purge_leaves_no_byte_of_the_note(world: World, first: str) -> None:
    note = lived(world)
    traces = vector_traces(world, note.id)
    assert len(traces) >= 6
    before = where(world.root, NEEDLES)
    assert {one.rpartition("/")[2] for one in before} >= {
        "memsvc.db-wal", "gold.json", "zyqortle-harbour.md", "old.md",
    }  # fmt: skip
    assert any("conflict" in one for one in before)
    assert any("memsvc-tmp" in one for one in before)
    assert set().union(*before.values()) == set(NEEDLES)
    reviewed(world, note.id)
    before = where(world.root, MORE)
    assert set().union(*before.values()) == set(MORE)
    traces = [*vector_traces(world, note.id), *(rejections := rejection_traces(world, note.id))]
    assert rejections
    for trace in traces:
        assert holding(world.root, trace)
    if first:
        world.forget(note.id, mode=first)
    needles = NEEDLES + MORE
    files = sum(1 for name in where(world.root, needles) if name.startswith("home/personal/"))
    reply = purge(world, note.id)
    assert (reply.outcome, reply.notice) == ("purged", "")
    assert reply.erased == files
    assert len(reply.also_purged) == 3
    assert where(world.root, needles) == {}
    for trace in traces:
        assert holding(world.root, trace) == []
    assert world.service.reviews(human()) == []
    world.restart()
    world.service.reindex(human())
    assert where(world.root, needles) == {}
    assert holding(world.root, b"marsh lantern")
    (hit,) = world.hits("who lights the marsh lantern", k=1)
    assert hit.text == NEIGHBOUR
    assert note.id not in world.ids("which ferry uses the vexopluma gate", history=True)


@pytest.mark.guarantee("C5", "A2")
def test_hashes_of_what_was_purged_stay_with_its_versions_and_events(world: World) -> None:
    note = lived(world)
    data = world.file(note.path).read_bytes()
    purge(world, note.id, reason="asked to")
    told_of = world.service.audit_list(human(), AuditRequest(action="purge")).events[0]
    assert told_of.before_hash == hashlib.sha256(data).hexdigest()
    assert (told_of.actor, told_of.reason, told_of.note_id) == ("human:alice", "asked to", note.id)
    assert told_of.detail["versions"] == 4
    told = world.service.text_history(human(), TextHistoryRequest(id=note.id))
    assert len(told.changes) == 4
    assert {(one.diff, one.fate) for one in told.changes} == {("", "purged"), ("", "")}
    assert all("purged" in one.problem for one in told.changes)
    assert told.title == ""
    assert world.service.audit_verify()["ok"]
    with pytest.raises(NotFound):
        world.service.read(human(), ReadRequest(id=note.id))


@pytest.mark.guarantee("C5", "C1")
def test_what_any_version_of_a_purged_note_claimed_stays_rejected(world: World) -> None:
    note = lived(world)
    copy = world.file(note.path).read_bytes()
    assert world.save("Twin", LATER, by=agent("osprey")).outcome == "created"
    purge(world, note.id)
    for text in (OLD, NEW, MEANWHILE, LATER, EDITED):
        with pytest.raises(RejectedClaim):
            world.save("Again", text)
    world.write(note.path, copy)
    assert note.id not in world.ids("which ferry uses the vexopluma gate")
    assert world.save("Near", NEW.replace("5433", "5434")).outcome == "created"
    (item,) = world.service.reviews(human())
    assert (item["kind"], item["note_id"]) == ("withheld", note.id)
    purge(world, note.id)
    assert b"frobnuzzle" not in world.file("heron/near.md").read_bytes()
    assert where(world.root, [b"obnuzzle", b"qortle"]) == {}


@pytest.mark.guarantee("C5")
def test_only_a_person_who_confirms_purges_and_the_note_is_kept_back_meanwhile(
    world: World,
) -> None:
    confirmed = replace(agent(), confirmed="flag")
    for caller, text in ((confirmed, OLD), (human(confirmed=""), NEW)):
        note = world.save(TITLE, text)
        reply = world.forget(note.id, by=caller, mode="purge")
        assert reply.outcome == "retracted"
        assert reply.trash
        assert note.id not in world.ids("vexopluma gate")
        assert world.file(reply.trash).exists()
    assert [one["kind"] for one in world.service.reviews(human())] == ["purge_request"] * 2
    with pytest.raises(NotFound):
        world.forget(note.id, by=human("osprey"), mode="purge")
    assert holding(world.root, b"xopluma")
    purge(world, note.id)
    assert [one["kind"] for one in world.service.reviews(human())] == ["purge_request"]
    assert world.file(reply.trash).exists() is False


@pytest.mark.guarantee("C5")
def test_a_purge_beside_a_long_reader_is_finished_at_the_next_access(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = lived(world)
    monkeypatch.setattr(database, "REWRITE_SECONDS", 0)
    reader = sqlite3.connect(world.root / "home" / "memsvc.db", isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM note").fetchone()[0] > 10
    reply = purge(world, note.id)
    assert "next access" in reply.notice
    left = where(world.root, NEEDLES)
    assert left
    assert {one.rpartition("/")[2].partition("-")[0] for one in left} == {"memsvc.db"}
    assert note.id not in world.ids("vexopluma gate")
    assert where(world.root, NEEDLES)
    with pytest.raises(StorageFailed, match="purge"):
        world.service.vault_remove(human(), "personal")
    reader.close()
    assert world.ids("marsh lantern")
    assert nothing_left(world)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.guarantee("C5", "W4")
def test_a_purge_that_is_killed_at_any_step_is_finished_at_the_next_access(
    tmp_path: Path,
) -> None:
    def prepare(world: World) -> None:
        world.save("Lantern", NEIGHBOUR)
        note = world.save(TITLE, OLD)
        world.correct(note, NEW, "changed")
        world.write(".trash/copy.md", world.file(note.path).read_bytes())
        world.ids("vexopluma gate")

    def act(world: World) -> None:
        purge(world, world.ids("vexopluma gate", k=1)[0])

    def check(world: World) -> bool:
        found = world.hits("vexopluma gate quibbrax")
        gone = NEW not in [hit.text for hit in found]
        words = [b"qortle", b"xopluma", b"ibbrax", *NUMBERS]
        assert bool(where(world.root, words)) == (not gone)
        assert holding(world.root, b"marsh lantern")
        assert gone == bool(world.service.tombstones(human()))
        return gone

    steps(tmp_path, prepare, act, check)


@pytest.mark.guarantee("C5")
def test_what_a_failed_transaction_left_among_the_vectors_is_erased_too(world: World) -> None:
    note = world.save(TITLE, OLD)
    vector = np.full(384, 0.051031, dtype=np.float32)
    home = Database(world.root / "home" / "memsvc.db")

    def fail() -> None:
        with home.write() as connection:
            (chunk_id,) = connection.exec_driver_sql("SELECT min(chunk_id) FROM index_chunk").one()
            put_vectors(connection, MODEL, [chunk_id], [PassageVector(vector, b"")])
            raise OSError

    with pytest.raises(OSError):  # noqa: PT011 - the one that is raised above
        fail()
    home.close()
    assert holding(world.root, vector[:16].tobytes())
    assert world.ids("vexopluma gate") == [note.id]
    purge(world, note.id)
    assert holding(world.root, vector[:16].tobytes()) == []


@pytest.mark.guarantee("C5")
def test_the_reply_says_where_the_text_may_still_be(world: World, tmp_path: Path) -> None:
    note = world.save(TITLE, OLD, reason="minutes")
    plain = purge(world, note.id)
    assert not any("git" in one for one in plain.out_of_reach)
    assert any("backups" in one for one in plain.out_of_reach)
    subprocess.run(["git", "init", "-q", str(world.vault)], check=True)
    note = world.save(TITLE, LATER)
    world.save("Plan", "As [[zyqortle-harbour]] has it.")
    world.save("Osprey's plan", LATER, by=agent("osprey"))
    world.write(".obsidian/workspace.json", f'{{"last": "{note.path}"}}')
    world.write(".obsidian/app.json", '{"theme": "dark"}')
    amended = world.correct(note, f"{LATER} Yes.", "amend", reason=f"it said: {LATER}")
    reply = purge(world, amended.id)
    said = "\n".join(reply.out_of_reach)
    for expected in ("git repository", "heron/plan.md", ".obsidian/workspace.json", "reasons"):
        assert expected in said
    for other in ("osprey", "app.json", "lantern"):
        assert other not in said
    assert [one.title for one in reply.also_stated_in] == []


@pytest.mark.guarantee("C5")
def test_exact_copies_of_a_note_without_an_id_are_removed_and_other_notes_are_not(
    world: World,
) -> None:
    text = f"# Harbour\n\n{OLD}\n"
    world.write("heron/harbour.md", text)
    world.write("heron/harbour.md.bak", text)
    world.write(".trash/harbour.md", text)
    world.write(".trash/lantern.md", NEIGHBOUR)
    other = world.write("heron/other.md", f"# Other\n\nTea at four.\n\n{OLD}\n")
    note_id = next(hit.id for hit in world.hits("vexopluma gate") if hit.title == "Harbour")
    reply = purge(world, note_id)
    assert reply.erased == 3
    assert [one.title for one in reply.also_stated_in] == ["Other"]
    assert any("heron/other.md" in one for one in reply.out_of_reach)
    assert other.exists()
    assert {name for name in holding(world.root, b"xopluma") if "memsvc.db" not in name} == {
        "home/personal/heron/other.md"
    }
    assert world.file(".trash/lantern.md").exists()


def test_a_file_that_another_note_has_now_is_left_alone(world: World) -> None:
    note = world.save(TITLE, OLD)
    world.forget(note.id)
    other = world.save(TITLE, "The second harbour is at the northern pier.")
    assert other.path == note.path
    reply = purge(world, note.id)
    assert reply.erased == 1
    assert world.ids("northern pier") == [other.id]
    assert read_document(world.file(other.path).read_bytes(), path="x").declared_id == other.id
    assert holding(world.root, b"xopluma") == []


def test_derived_notes_are_listed_and_retracted_when_asked(world: World) -> None:
    note = world.save(TITLE, OLD)
    one = world.save("Digest", "The gate is early.", source=("[[zyqortle-harbour]]", "minutes"))
    two = world.save("Digest of digest", "Early it is.", source=("[[digest]]",))
    far = world.save("Far", "Early too.", source=("[[zyqortle-harbour]]",), by=agent("osprey"))
    free = world.save("Free", "Nothing is early.", source=("minutes", "[[elsewhere]]"))
    listed = world.forget(note.id)
    assert {each.id: each.how for each in listed.derived} == dict.fromkeys(
        (one.id, two.id), "derived"
    )
    assert world.ids("early gate") != []
    reply = purge(world, note.id, derived=True)
    assert {each.id: each.how for each in reply.derived} == dict.fromkeys(
        (one.id, two.id), "derived, retracted"
    )
    assert world.ids("early digest") == [free.id]
    assert world.ids("early", by=agent("osprey")) == [far.id]
    with pytest.raises(RejectedClaim):
        world.save("Back", "The gate is early.")


def test_what_was_purged_cannot_be_restored_and_a_second_purge_changes_nothing_else(
    world: World,
) -> None:
    note = world.save(TITLE, OLD)
    kept = world.save("Lantern", NEIGHBOUR)
    purge(world, note.id)
    with pytest.raises(InvalidInput, match="purged"):
        world.service.restore(human(), RestoreRequest(id=note.id))
    again = purge(world, note.id)
    assert (again.outcome, again.erased, again.tombstones) == ("purged", 0, 0)
    assert world.ids("marsh lantern") == [kept.id]
    assert world.save(TITLE, "Another harbour altogether, with 7 piers.", idempotency_key="k9").id


@pytest.mark.guarantee("C5")
@pytest.mark.parametrize("item", ["brindlefex", "purge_request"])
def test_a_purge_leaves_a_text_that_was_approved_beside_the_note(world: World, item: str) -> None:
    note = lived(world)
    reviewed(world, note.id)
    rows = world.service.reviews(human(), ReviewFilter(kind="correction"))
    keep = DecisionRequest(id=str(rows[0]["review_id"]), disposition=Disposition.KEEP_BOTH)
    reply = world.service.decide(human(), keep)
    if item == "purge_request":
        world.forget(note.id, mode="purge")
        (row,) = world.service.reviews(human(), ReviewFilter(kind="purge_request"))
        wish = DecisionRequest(id=str(row["review_id"]), disposition=Disposition.KEEP_NEW)
        report = world.service.decide(human(), wish)["purge"]
        assert isinstance(report, dict)
        purged, beyond = report["also_purged"], report["out_of_reach"]
    else:
        done = purge(world, note.id)
        purged, beyond = list(done.also_purged), list(done.out_of_reach)
    assert isinstance(purged, list)
    assert len(purged) == 2
    assert str(reply["path"]) in str(beyond)
    assert where(world.root, [b"ovendrake", b"mblestrop", b"ndlecroft"]) == {}
    left = where(world.root, [b"indlefex"])
    assert f"home/personal/{reply['path']}" in left
    assert world.ids("who feeds the brindlefex at dawn", k=1) == [reply["id"]]


@pytest.mark.guarantee("C5")
def test_a_waiting_text_that_seems_to_say_the_same_is_named(world: World) -> None:
    note = world.save(TITLE, OLD)
    world.correct(note, LATER)
    again = world.save("Gate", "For the quibbrax ferry opens at 6544907213 the vexopluma gate.")
    assert again.outcome == "proposed"
    other = world.save("Lantern", NEIGHBOUR)
    beyond = str(purge(world, note.id).out_of_reach)
    assert again.id in beyond
    assert other.id not in beyond
    (item,) = world.service.reviews(human())
    assert item["note_id"] == again.id


@pytest.mark.guarantee("C5")
def test_reasons_that_quote_a_purged_note_leave_its_rejections(world: World) -> None:
    note = world.save(TITLE, OLD)
    quoted = world.correct(note, NEW, reason=f"it is not so: {OLD}")
    world.correct(quoted, LATER, reason="the council voted")
    reasons = {str(one["reason"]) for one in world.service.tombstones(human())}
    assert reasons == {f"it is not so: {OLD}", "the council voted"}
    reply = purge(world, note.id)
    assert any("reasons" in one for one in reply.out_of_reach)
    reasons = {str(one["reason"]) for one in world.service.tombstones(human())}
    assert reasons == {"", "the council voted"}
