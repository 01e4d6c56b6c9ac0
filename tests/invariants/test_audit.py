"""The audit proves itself, also against somebody who has the database file and rewrites it well."""
# ruff: noqa: S608 - column names are ours

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memsvc.errors import Denied, InvalidInput, Misconfigured
from memsvc.ledger.chain import event_hash
from memsvc.ledger.tables import audit_event
from memsvc.model.requests import AuditRequest
from tests.invariants.vandal import behind_the_back, cut_tail, move_up, rechain
from tests.service.world import World, agent, human

COLUMNS = [column.name for column in audit_event.columns]
EVENTS = 6


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    first = made.save("Release", "The heron release is on 3 March.", reason="because")
    made.correct(first, "The heron release is on 12 March.", reason="moved")
    made.save("Port", "The heron port is 6544.", reason="setup")
    made.save("Owner", "The heron owner is Ada Quill.", reason="setup")
    yield made
    made.service.close()


def database(world: World) -> Path:
    return world.root / "home" / "memsvc.db"


def problems(world: World, **more: list[str]) -> list[str]:
    found = world.service.audit_verify(**more)
    listed = found["problems"]
    assert isinstance(listed, list)
    assert found["ok"] == (not listed)
    return [str(one) for one in listed]


def other_value(column: str, present: object) -> object:
    if isinstance(present, int):
        return present + 100
    return {"outcome": "failed", "detail": "{}"}.get(column, f"{present}x")


# -- without an anchor ---------------------------------------------------------------------


@pytest.mark.guarantee("A2")
@pytest.mark.parametrize("seq", [1, 3, EVENTS])
@pytest.mark.parametrize("column", COLUMNS)
def test_one_changed_field_is_found_whichever_it_is(world: World, column: str, seq: int) -> None:
    assert problems(world) == []
    with behind_the_back(database(world)) as raw:
        present = raw.execute(f"SELECT {column} FROM audit_event WHERE seq = ?", (seq,)).fetchone()[
            0
        ]
        value = other_value(column, present)
        assert value != present
        done = raw.execute(f"UPDATE audit_event SET {column} = ? WHERE seq = ?", (value, seq))
        assert done.rowcount == 1
    assert any(
        f"event {seq}" in one or "missing" in one or "gone" in one for one in problems(world)
    )


@pytest.mark.guarantee("A2")
@pytest.mark.parametrize("value", ["CAST(reason AS BLOB)", "CAST(x'ff' AS TEXT)", "7", "''"])
def test_a_field_that_became_another_kind_of_value_is_found(world: World, value: str) -> None:
    with behind_the_back(database(world)) as raw:
        raw.execute(f"UPDATE audit_event SET reason = {value} WHERE seq = 2")
    assert any("changed" in one for one in problems(world))


DAMAGE: dict[str, list[str]] = {
    "first removed": ["DELETE FROM audit_event WHERE seq = 1"],
    "middle removed": ["DELETE FROM audit_event WHERE seq = 3"],
    "last removed": [f"DELETE FROM audit_event WHERE seq = {EVENTS}"],
    "removed and numbers closed": [
        "DELETE FROM audit_event WHERE seq = 3",
        "UPDATE audit_event SET seq = seq - 1 WHERE seq > 3",
        "UPDATE sqlite_sequence SET seq = seq - 1 WHERE name = 'audit_event'",
    ],
    "a copy put at the end": [
        f"INSERT INTO audit_event SELECT {EVENTS + 1}, "
        + ", ".join(COLUMNS[1:])
        + " FROM audit_event WHERE seq = 2"
    ],
    "a copy put in the middle": [
        "UPDATE audit_event SET seq = -seq WHERE seq > 3",
        "UPDATE audit_event SET seq = 1 - seq WHERE seq < 0",
        "INSERT INTO audit_event SELECT 4, " + ", ".join(COLUMNS[1:])
        + " FROM audit_event WHERE seq = 3",
    ],
    "one put before the first": [
        "INSERT INTO audit_event SELECT 0, " + ", ".join(COLUMNS[1:])
        + " FROM audit_event WHERE seq = 1",
    ],
    "numbers swapped": [
        "UPDATE audit_event SET seq = 99 WHERE seq = 2",
        "UPDATE audit_event SET seq = 2 WHERE seq = 3",
        "UPDATE audit_event SET seq = 3 WHERE seq = 99",
    ],
    "all removed": ["DELETE FROM audit_event"],
}  # fmt: skip


@pytest.mark.guarantee("A2")
@pytest.mark.parametrize("how", DAMAGE)
def test_removed_inserted_and_moved_events_are_found(world: World, how: str) -> None:
    assert problems(world) == []
    with behind_the_back(database(world)) as raw:
        for statement in DAMAGE[how]:
            raw.execute(statement)
    found = problems(world)
    assert any("event" in one for one in found)
    assert not any("guard" in one for one in found), "it is the events that must give it away"


@pytest.mark.guarantee("A2")
def test_an_event_changed_together_with_its_own_hash_no_longer_leads_to_the_next(
    world: World,
) -> None:
    with behind_the_back(database(world)) as raw:
        raw.execute("UPDATE audit_event SET reason = 'another' WHERE seq = 3")
        row = dict(raw.execute("SELECT * FROM audit_event WHERE seq = 3").fetchone())
        raw.execute("UPDATE audit_event SET hash = ? WHERE seq = 3", (event_hash(row),))
    assert problems(world) == ["event 4 does not follow event 3"]


@pytest.mark.guarantee("A1", "A2")
@pytest.mark.parametrize("name", ["audit_event_no_update", "audit_event_no_delete"])
@pytest.mark.parametrize("how", ["dropped", "emptied", "never"])
def test_a_guard_that_is_gone_or_does_nothing_is_found(world: World, name: str, how: str) -> None:
    assert problems(world) == []
    raw = sqlite3.connect(database(world))
    sql = raw.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()[0]
    raw.execute(f"DROP TRIGGER {name}")
    if how == "emptied":
        raw.execute(sql.replace("RAISE(ABORT, 'audit events are append-only')", "1"))
    if how == "never":
        raw.execute(sql.replace(" BEGIN", " WHEN 0 BEGIN"))
    raw.commit()
    raw.close()
    assert [name in one for one in problems(world)] == [True]


# -- with an anchor ------------------------------------------------------------------------


def rewrite_a_reason(raw: sqlite3.Connection) -> None:
    raw.execute("UPDATE audit_event SET reason = 'another' WHERE seq = 2")
    rechain(raw)


def remove_one(raw: sqlite3.Connection) -> None:
    raw.execute("DELETE FROM audit_event WHERE seq = 3")
    move_up(raw, above=3)
    rechain(raw)


def remove_the_first(raw: sqlite3.Connection) -> None:
    raw.execute("DELETE FROM audit_event WHERE seq = 1")
    move_up(raw, above=1)
    rechain(raw)


def insert_one(raw: sqlite3.Connection) -> None:
    for statement in DAMAGE["a copy put in the middle"]:
        raw.execute(statement)
    rechain(raw)


def swap_two(raw: sqlite3.Connection) -> None:
    for statement in DAMAGE["numbers swapped"]:
        raw.execute(statement)
    rechain(raw)


def cut_two(raw: sqlite3.Connection) -> None:
    cut_tail(raw, keep=EVENTS - 2)


REWRITES: dict[str, tuple[Callable[[sqlite3.Connection], None], str]] = {
    "a field": (rewrite_a_reason, "changed, removed, inserted or moved"),
    "one removed": (remove_one, "events that are gone"),
    "the first removed": (remove_the_first, "another database"),
    "one inserted": (insert_one, "changed, removed, inserted or moved"),
    "two swapped": (swap_two, "changed, removed, inserted or moved"),
    "the end cut": (cut_two, f"events that are gone; this database ends at event {EVENTS - 2}"),
}


@pytest.mark.guarantee("A2")
@pytest.mark.parametrize("how", REWRITES)
def test_a_chain_made_anew_looks_whole_and_an_anchor_gives_it_away(world: World, how: str) -> None:
    outside = world.root / "outside.jsonl"
    anchored = world.service.audit_anchor(human(), to=str(outside))
    assert anchored["seq"] == EVENTS
    assert problems(world) == []
    act, words = REWRITES[how]
    with behind_the_back(database(world)) as raw:
        act(raw)
    found = problems(world)
    assert len(found) == 2, found
    assert all(words in one for one in found), found
    assert any(str(outside) in one for one in found)
    shutil.rmtree(world.root / "home" / "anchors")
    assert problems(world) == [], "without its anchors nothing would show it"
    assert [words in one for one in problems(world, anchors=[str(outside)])] == [True]


@pytest.mark.guarantee("A2")
def test_an_older_copy_of_the_database_is_found(world: World) -> None:
    copy = world.root / "older.db"
    source, target = sqlite3.connect(database(world)), sqlite3.connect(copy)
    source.backup(target)
    source.close()
    target.close()
    world.save("Later", "The heron budget is 40 crowns.")
    world.service.audit_anchor(human())
    assert problems(world) == []
    world.service.close()
    for file in database(world).parent.glob("memsvc.db*"):
        file.unlink()
    shutil.copy(copy, database(world))
    world.service = world.open()
    (found,) = problems(world)
    assert "an older copy was put in its place" in found
    with pytest.raises(Misconfigured, match="nothing was anchored"):
        world.service.audit_anchor(human())


@pytest.mark.guarantee("A2")
def test_a_whole_home_put_back_from_before_is_found_by_an_anchor_outside(world: World) -> None:
    outside, copy = world.root / "outside.jsonl", world.root / "copy"
    world.service.audit_anchor(human(), to=str(outside))
    world.service.close()
    shutil.copytree(world.root / "home", copy)
    world.service = world.open()
    world.save("Later", "The heron budget is 40 crowns.")
    world.service.audit_anchor(human(), to=str(outside))
    world.service.close()
    shutil.rmtree(world.root / "home")
    shutil.copytree(copy, world.root / "home")
    world.service = world.open()
    (found,) = problems(world)
    assert found.startswith(str(outside))
    assert "older copy" in found


@pytest.mark.guarantee("A2")
def test_another_database_in_the_same_home_is_found(world: World) -> None:
    world.service.audit_anchor(human())
    assert problems(world) == []
    world.service.close()
    for file in database(world).parent.glob("memsvc.db*"):
        file.unlink()
    world.service = world.open()
    for number in range(EVENTS):
        world.save(f"New {number}", f"The osprey statement number {number} is new.")
    assert any("another database" in one for one in problems(world))


@pytest.mark.guarantee("A2")
def test_an_anchor_that_was_changed_says_so(world: World) -> None:
    outside = world.root / "outside.jsonl"
    world.service.audit_anchor(human(), to=str(outside))
    genuine = json.loads(outside.read_text("utf-8"))
    for name, value in genuine.items():
        if name == "seq":
            changed: object = value + 1
        elif name == "at":
            changed = value.replace("2026", "2025").replace("2027", "2025")
        else:
            changed = value[:-1] + ("0" if value[-1] != "0" else "1")
        assert changed != value or name == "at"
        outside.write_text(json.dumps({**genuine, name: changed}) + "\n", "utf-8")
        if changed != value:
            assert problems(world), name
    outside.write_text("", "utf-8")
    assert any("no anchor there is of this database" in one for one in problems(world))
    outside.unlink()
    assert any("is gone" in one for one in problems(world))
    outside.write_text(json.dumps(genuine) + "\n", "utf-8")
    assert problems(world) == []


@pytest.mark.guarantee("A2")
def test_a_key_that_somebody_else_made_does_not_count_where_the_true_one_is_named(
    world: World,
) -> None:
    true = str(world.service.audit_anchor(human())["key"])
    assert problems(world, keys=[true]) == []
    with behind_the_back(database(world)) as raw:
        rewrite_a_reason(raw)
    home = world.root / "home"
    (home / "anchor.key").unlink()
    shutil.rmtree(home / "anchors")
    forged = str(world.service.audit_anchor(human())["key"])
    assert forged != true
    assert problems(world) == [], "whoever holds the whole home can make all of it anew"
    assert any("another key" in one for one in problems(world, keys=[true]))
    with pytest.raises(InvalidInput, match="ed25519"):
        world.service.audit_verify(keys=["nonsense"])


@pytest.mark.guarantee("A2")
def test_homes_may_share_a_file_and_each_sees_its_own(world: World, tmp_path: Path) -> None:
    other = World(tmp_path / "other")
    shared = tmp_path / "shared.jsonl"
    world.service.audit_anchor(human(), to=str(shared))
    other.service.audit_anchor(human(), to=str(shared))
    assert problems(world) == problems(other) == []
    with behind_the_back(database(world)) as raw:
        cut_two(raw)
    assert len(problems(world)) == 2
    assert problems(other) == []
    other.service.close()


def test_an_anchor_is_repeated_only_when_something_happened(world: World) -> None:
    outside = world.root / "outside.jsonl"
    for _ in range(3):
        world.service.audit_anchor(human(), to=str(outside))
    assert len(outside.read_text("utf-8").splitlines()) == 1
    world.save("Later", "The heron budget is 40 crowns.")
    world.service.audit_anchor(human(), to=str(outside))
    assert len(outside.read_text("utf-8").splitlines()) == 2
    assert problems(world) == []


def test_a_file_that_holds_something_else_is_left_alone(world: World) -> None:
    diary = world.root / "diary.txt"
    diary.write_text("Dear diary\n", "utf-8")
    for wrong in (diary, world.root, world.root / "none" / "a.jsonl", world.root / "note.md",
                  world.root / "home" / "anchors" / "more.jsonl"):  # fmt: skip
        with pytest.raises(InvalidInput):
            world.service.audit_anchor(human(), to=str(wrong))
    assert diary.read_text("utf-8") == "Dear diary\n"
    assert not (world.root / "note.md").exists()


def test_a_place_is_forgotten_by_a_person_only_and_on_record(world: World) -> None:
    outside = world.root / "outside.jsonl"
    with pytest.raises(InvalidInput, match="the known ones: none"):
        world.service.audit_forget_anchor(human(), str(outside))
    world.service.audit_anchor(human(), to=str(outside))
    outside.unlink()
    assert len(problems(world)) == 1
    for caller in (agent(), human(confirmed="")):
        with pytest.raises(Denied):
            world.service.audit_forget_anchor(caller, str(outside))
    with pytest.raises(InvalidInput, match=r"the known ones: .*outside\.jsonl"):
        world.service.audit_forget_anchor(human(), "elsewhere")
    assert len(problems(world)) == 1
    world.service.audit_forget_anchor(human(), str(outside))
    assert problems(world) == []
    newest, *_ = world.service.audit_list(human(), AuditRequest(action="config")).events
    assert (newest.outcome, newest.detail["anchors"]) == ("done", "forgotten")
    refused = world.service.audit_list(human(), AuditRequest(outcome="refused")).events
    assert len(refused) == 4


@pytest.mark.guarantee("A1")
def test_agents_do_not_anchor_and_their_try_is_on_record(world: World) -> None:
    with pytest.raises(Denied):
        world.service.audit_anchor(agent())
    assert not (world.root / "home" / "anchor.key").exists()
    (event,) = world.service.audit_list(human(), AuditRequest(outcome="refused")).events
    assert (event.action, event.actor, event.reason) == ("config", "agent:tester", "denied")
    world.service.audit_anchor(human())
    assert len(world.service.audit_list(human(), AuditRequest(outcome="refused")).events) == 1
    assert (world.root / "home" / "anchor.key").stat().st_mode & 0o077 == 0


@pytest.mark.guarantee("A2")
def test_anchors_that_a_later_commit_took_out_of_git_still_count(world: World) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=world.vault, check=True, capture_output=True)

    git("init", "-q")
    git("config", "user.name", "t")
    git("config", "user.email", "t@example.org")
    world.service.audit_anchor(human(), git=True)
    git("rm", "-rq", ".memsvc")
    git("commit", "-qm", "tidy up")
    shutil.rmtree(world.root / "home" / "anchors")
    assert problems(world) == []
    with behind_the_back(database(world)) as raw:
        cut_two(raw)
    (found,) = problems(world)
    assert "git repository" in found
    assert "events that are gone" in found


# -- exported ------------------------------------------------------------------------------


@pytest.mark.guarantee("A2", "A3")
def test_an_export_is_whole_proves_the_chain_and_holds_no_text_of_a_note(world: World) -> None:
    note = world.save("The quillwort plan", "The quillwort ferry sails at nine.")
    world.forget(note.id)
    exported = list(world.service.audit_export(human()))
    assert [one.seq for one in exported] == list(range(1, len(exported) + 1))
    head = "0" * 64
    for one in exported:
        kind, _, name = one.actor.partition(":")
        row = {column: getattr(one, column, None) for column in COLUMNS}
        detail = json.dumps(one.detail, sort_keys=True, ensure_ascii=False)
        row |= {"actor_kind": kind, "actor_name": name, "detail": detail}
        assert one.prev_hash == head
        head = event_hash(row)
        assert one.hash == head
    assert head == world.service.audit_verify()["head"]
    told = repr(exported).lower()
    assert note.id.lower() in told
    for word in ("quillwort", "ferry", "ada quill", "heron port", "3 march"):
        assert word not in told


def test_an_export_pages_through_more_events_than_it_holds_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memsvc.service.audit._AT_ONCE", 2)
    assert [one.seq for one in world.service.audit_export(human())] == list(range(1, EVENTS + 1))
    only = world.service.audit_export(human(), AuditRequest(action="save"))
    assert {one.action for one in only} == {"save"}


def test_the_list_narrows_by_everything_that_an_event_names(world: World) -> None:
    world.save("Nest", "The osprey nest is 9 metres up.", by=agent("osprey", name="robin"))
    other = world.save("Beak", "The osprey beak is 3 centimetres long.", by=human("osprey"))
    with pytest.raises(Denied):
        world.service.rotate_key(agent("osprey"))
    everything = world.service.audit_list(human(), AuditRequest(limit=200)).events

    def seqs(**wanted: str | int) -> list[int]:
        found = world.service.audit_list(human(), AuditRequest(limit=200, **wanted)).events  # type: ignore[arg-type] # passed on
        return [one.seq for one in found]

    def those(test: Callable[[object], bool]) -> list[int]:
        found = [one.seq for one in everything if test(one)]
        assert 0 < len(found) < len(everything)
        return found

    middle = everything[3]
    assert seqs() == [one.seq for one in everything]
    assert seqs(project="osprey") == those(lambda one: one.project == "osprey")  # type: ignore[attr-defined] # an event
    assert seqs(vault="personal", project="heron", action="save") == those(
        lambda one: one.project == "heron" and one.action == "save"  # type: ignore[attr-defined] # an event
    )
    assert seqs(vault="elsewhere") == seqs(project="*") == seqs(vault="%") == []
    assert seqs(actor="agent") == those(lambda one: one.actor.startswith("agent:"))  # type: ignore[attr-defined] # an event
    assert (
        seqs(actor="robin")
        == seqs(actor="agent:robin")
        == those(
            lambda one: one.actor == "agent:robin"  # type: ignore[attr-defined] # an event
        )
    )
    assert seqs(outcome="refused") == those(lambda one: one.outcome == "refused")  # type: ignore[attr-defined] # an event
    assert seqs(id=other.id[:24].lower()) == those(lambda one: one.note_id[:24] == other.id[:24])  # type: ignore[attr-defined] # an event
    assert seqs(id=other.id) == [other.event]
    assert seqs(since=middle.at) == [one.seq for one in everything if one.at >= middle.at]
    assert seqs(until=middle.at) == [one.seq for one in everything if one.at < middle.at]
    assert seqs(before=middle.seq) == [one.seq for one in everything if one.seq < middle.seq]
    for wrong in (
        {"action": "steal"},
        {"outcome": "lost"},
        {"actor": "cat:tom"},
        {"since": "soon"},
    ):
        with pytest.raises(InvalidInput):
            seqs(**wrong)


def test_pages_of_the_list_join_without_a_gap(world: World) -> None:
    seen: list[int] = []
    before = 0
    while True:
        page = world.service.audit_list(human(), AuditRequest(limit=4, before=before))
        seen += [one.seq for one in page.events]
        before = page.next
        if not before:
            break
    assert seen == list(range(EVENTS, 0, -1))


@pytest.mark.guarantee("A1", "S1")
def test_events_of_a_removed_vault_are_kept_for_the_person_and_for_nobody_else(
    world: World, tmp_path: Path
) -> None:
    (tmp_path / "team").mkdir()
    world.service.vault_add(human(), "team", str(tmp_path / "team"), {})
    world.save("Team", "The team lunch is at noon.", by=agent(vault="team"))
    world.service.vault_remove(human(), "team")
    kept = world.service.audit_list(human(), AuditRequest(vault="team")).events
    assert [one.action for one in kept] == ["config", "save", "config"]
    assert [one for one in world.service.audit_list(agent()).events if one.vault == "team"] == []
    assert world.service.audit_list(agent()).events


def test_a_home_of_very_many_projects_is_still_listed(world: World) -> None:
    with behind_the_back(database(world)) as raw:
        columns = ", ".join(COLUMNS[1:])
        for number in range(1500):
            raw.execute(
                f"INSERT INTO audit_event ({columns}) SELECT "
                + columns.replace("project,", f"'p{number}',")
                + " FROM audit_event WHERE seq = 2"
            )
    listed = world.service.audit_list(human(), AuditRequest(project="p1499")).events
    assert len(listed) == 1
