"""What an import meets here: the same again, another text of the same, and what cannot wait."""

from pathlib import Path

import pytest

from memsvc.clock import stamp
from memsvc.errors import MemsvcError
from memsvc.model.replies import Json
from memsvc.model.requests import AuditRequest, CorrectRequest, DecisionRequest, ReadRequest
from memsvc.model.vocabulary import CorrectMode, Disposition
from tests.service.test_import import (
    bring,
    counts,
    export,
    file_of,
    lines,
    replaced_elsewhere,
    told,
    write_lines,
)
from tests.service.world import World, agent, human

FIRST = "The heron release is on 3 March."
SECOND = "The heron release is on 30 March."
ID = "01KBA7ZD5QX4T9W2M3N8R6C0VE"


@pytest.fixture
def rows(world: World, tmp_path: Path) -> list[dict[str, Json]]:
    """An export of another home with one note: what opens it, the note, what closes it."""
    there = World(tmp_path / "there")
    there.save("Date", FIRST)
    export(there, tmp_path / "there.json")
    there.service.close()
    return lines(tmp_path / "there.json")


def reasons(reply: dict[str, Json]) -> list[str]:
    return [str(one["reason"]) for one in told(reply)]


def test_an_id_that_comes_twice_is_taken_once(
    world: World, tmp_path: Path, rows: list[dict[str, Json]]
) -> None:
    head, note, tail = rows
    other = {**note, "body": f"{SECOND}\n"}
    source = write_lines(tmp_path / "twice.json", [head, note, note, other, tail])
    reply = bring(world, source)
    assert counts(reply) == {"created": 1, "unchanged": 1, "conflict": 1}
    assert any("earlier record of this import" in one for one in reasons(reply))
    codes = {str(one["outcome"]): one["code"] for one in told(reply)}
    assert codes == {"conflict": "conflict"}
    (event, *_) = world.service.audit_list(human(), AuditRequest(outcome="refused")).events
    assert (event.action, event.reason) == ("import", "conflict")
    assert [hit.text for hit in world.hits("heron release")] == [FIRST]


def test_a_text_that_comes_under_two_ids_is_one_note(
    world: World, tmp_path: Path, rows: list[dict[str, Json]]
) -> None:
    head, note, tail = rows
    source = write_lines(tmp_path / "two.json", [head, note, {**note, "id": ID}, tail])
    reply = bring(world, source)
    assert counts(reply) == {"created": 1, "unchanged": 1}
    assert any(f"note {note['id']} says the same" in one for one in reasons(reply))
    assert world.ids("heron release") == [note["id"]]
    again = write_lines(tmp_path / "again.json", [head, {**note, "id": ID}, tail])
    reply = bring(world, again)
    assert counts(reply) == {"unchanged": 1}
    assert world.ids("heron release") == [note["id"]]


def test_a_record_that_is_behind_a_note_here_says_so_and_is_never_proposed(
    world: World, tmp_path: Path, rows: list[dict[str, Json]]
) -> None:
    source = write_lines(tmp_path / "one.json", rows)
    bring(world, source)
    note = str(rows[1]["id"])
    request = CorrectRequest(id=note, version=1, mode=CorrectMode.CHANGED, body=SECOND)
    world.service.correct(human(), request)
    for propose in (False, True):
        reply = bring(world, source, propose=propose)
        assert counts(reply) == {"conflict": 1}
        assert "went on from this text: it has version 2" in reasons(reply)[0]
    assert world.service.reviews(human()) == []


@pytest.mark.parametrize("decided", [Disposition.KEEP_NEW, Disposition.KEEP_OLD])
def test_a_proposed_text_that_comes_again_is_named_while_it_waits_and_after(
    world: World, tmp_path: Path, rows: list[dict[str, Json]], decided: Disposition
) -> None:
    head, note, tail = rows
    bring(world, write_lines(tmp_path / "one.json", rows))
    other = write_lines(tmp_path / "o.json", [head, {**note, "body": f"{SECOND}\n"}, tail])
    assert counts(bring(world, other, propose=True)) == {"proposed": 1}
    assert "waits for review already" in reasons(bring(world, other, propose=True))[0]
    (item,) = world.service.reviews(human())
    assert (item["kind"], item["title"]) == ("correction", "Date")
    world.service.decide(human(), DecisionRequest(id=str(item["review_id"]), disposition=decided))
    reply = bring(world, other, propose=True)
    if decided is Disposition.KEEP_NEW:
        assert counts(reply) == {"unchanged": 1}
    else:
        assert counts(reply) == {"refused": 1}
    assert world.service.reviews(human()) == []
    kept = SECOND if decided is Disposition.KEEP_NEW else FIRST
    assert [hit.text for hit in world.hits("heron release")] == [kept]


@pytest.mark.parametrize("status", ["proposed", "disputed"])
def test_what_waited_elsewhere_waits_here_and_says_why(
    world: World, tmp_path: Path, status: str
) -> None:
    text = f"---\nstatus: {status}\n---\n{FIRST}\n"
    folder = file_of(tmp_path / "notes", "a.md", text).parent
    file_of(tmp_path / "notes", "b.md", "The heron hall is in Lisbon.\n")
    assert counts(bring(world, folder)) == {"created": 1, "proposed": 1}
    (item,) = world.service.reviews(human())
    assert f"it was {status} where it comes from" in str(item["detail"])
    assert [hit.text for hit in world.hits("heron")] == ["The heron hall is in Lisbon."]
    again = bring(world, folder)
    assert counts(again) == {"unchanged": 2}
    assert "it waits for review here" in reasons(again)


def test_a_replaced_note_cannot_wait_and_is_no_second_voice(
    world: World, tmp_path: Path, rows: list[dict[str, Json]]
) -> None:
    there = World(tmp_path / "replaced")
    old = there.save("Date", FIRST)
    there.save("New date", SECOND, supersedes=(old.id,))
    export(there, tmp_path / "replaced.json")
    there.service.close()
    world.service.vault_policy(human(), "personal", ["review=agents"])
    reply = bring(world, tmp_path / "replaced.json", by=agent())
    assert counts(reply) == {"proposed": 1, "refused": 1}
    assert any("cannot wait for review" in one for one in reasons(reply))
    world.service.vault_policy(human(), "personal", ["review=none"])
    own = world.save("Mine", FIRST)
    assert counts(bring(world, tmp_path / "replaced.json")) == {"created": 1, "unchanged": 1}
    assert world.service.read(human(), ReadRequest(id=old.id)).status == "superseded"
    assert world.ids("heron release") == [own.id]


@pytest.mark.guarantee("C4")
@pytest.mark.parametrize(
    "head", ["status: superseded", "superseded_by: '[[elsewhere]]'", "status: Superseded"]
)
def test_a_note_that_says_it_was_replaced_stays_so_also_without_its_successor(
    world: World, tmp_path: Path, head: str
) -> None:
    folder = file_of(tmp_path / "notes", "a.md", f"---\n{head}\n---\n{FIRST}\n").parent
    file_of(tmp_path / "notes", "b.md", "The heron hall is in Lisbon.\n")
    assert counts(bring(world, folder)) == {"created": 2}
    assert [hit.text for hit in world.hits("heron release hall")] == [
        "The heron hall is in Lisbon."
    ]
    old = [hit.text for hit in world.hits("heron release", history=True)]
    assert FIRST in old
    world.service.reindex(human())
    assert [hit.text for hit in world.hits("heron release hall")] == [
        "The heron hall is in Lisbon."
    ]


@pytest.mark.guarantee("C4")
def test_a_deprecated_page_of_a_bundle_is_not_current(world: World, tmp_path: Path) -> None:
    page = "---\ntype: Table\nstatus: {}\n---\n\n{}\n"
    folder = file_of(tmp_path / "notes", "a.md", page.format("deprecated", FIRST)).parent
    file_of(folder, "b.md", page.format("stable", "The heron hall is in Lisbon."))
    assert counts(bring(world, folder, form="memex")) == {"created": 2}
    assert [hit.text for hit in world.hits("heron release hall")] == [
        "The heron hall is in Lisbon."
    ]
    assert FIRST in [hit.text for hit in world.hits("heron release", history=True)]


@pytest.mark.parametrize(
    ("head", "told_of"),
    [
        ("note: <private>4711</private>", "marked <private>"),
        ('note: "<recalled-notes scope=x>"', "recall reply"),
        ("token: ghp_" + "a8Kd03kfLq92mZx7Vb4Nc6Tr1Ys5Wp0QeRtZ", "holds a secret"),
    ],
)
def test_frontmatter_that_breaks_the_policy_costs_its_record(
    world: World, tmp_path: Path, head: str, told_of: str
) -> None:
    folder = file_of(tmp_path / "notes", "a.md", f"---\n{head}\n---\n{FIRST}\n").parent
    file_of(tmp_path / "notes", "b.md", "---\nnote: fine\n---\nThe heron hall is in Lisbon.\n")
    reply = bring(world, folder)
    assert counts(reply) == {"created": 1, "refused": 1}
    assert told_of in reasons(reply)[0]
    assert [hit.text for hit in world.hits("heron")] == ["The heron hall is in Lisbon."]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("a.md", "heron/a.md"),
        ("sub/a.md", "heron/sub/a.md"),
        ("x" * 210 + ".md", "heron/date.md"),
        ("x" * 197 + ".md", "heron/" + "x" * 197 + ".md"),
    ],
)
def test_a_file_keeps_its_name_where_that_is_a_legal_one(
    world: World, tmp_path: Path, rows: list[dict[str, Json]], name: str, path: str
) -> None:
    head, note, tail = rows
    bring(world, write_lines(tmp_path / "p.json", [head, {**note, "path": name}, tail]))
    assert [hit.path for hit in world.hits("heron release")] == [path]


@pytest.mark.parametrize(
    ("created", "kept"),
    [("2020-02-03T04:05:06Z", "2020-02-03"), ("2999-01-01T00:00:00Z", ""), ("soon", ""), ("", "")],
)
def test_a_note_is_as_old_as_its_source_says_unless_that_cannot_be(
    world: World, tmp_path: Path, rows: list[dict[str, Json]], created: str, kept: str
) -> None:
    head, note, tail = rows
    begun = stamp(world.service._clock.now())
    try:
        bring(world, write_lines(tmp_path / "c.json", [head, {**note, "created": created}, tail]))
    except MemsvcError as error:
        pytest.fail(error.message)
    (hit,) = world.hits("heron release")
    with world.service._database.read() as connection:
        born = connection.exec_driver_sql("SELECT created_at FROM note").scalar_one()
    assert born.startswith(kept)
    assert (born >= begun) is (kept == "")
    assert hit.id == note["id"]


def test_half_a_character_costs_its_record(
    world: World, tmp_path: Path, rows: list[dict[str, Json]]
) -> None:
    head, note, tail = rows
    bad = {**note, "id": ID, "body": "The heron hall \ud800 is in Lisbon.\n"}
    reply = bring(world, write_lines(tmp_path / "half.json", [head, bad, note, tail]))
    assert counts(reply) == {"created": 1, "refused": 1}
    assert [hit.id for hit in world.hits("heron release hall")] == [note["id"]]


@pytest.mark.guarantee("C4")
def test_a_note_that_comes_before_its_successor_leads_to_it_later(
    world: World, tmp_path: Path
) -> None:
    old, new = replaced_elsewhere(tmp_path, FIRST, SECOND)
    head, *notes, tail = lines(tmp_path / "after.json")
    alone = [one for one in notes if one["id"] == old]
    assert counts(bring(world, write_lines(tmp_path / "a.json", [head, *alone, tail]))) == {
        "created": 1
    }
    assert world.ids("heron release on 3 March") == []
    assert counts(bring(world, tmp_path / "after.json")) == {"created": 1, "unchanged": 1}
    for _ in range(2):
        (hit,) = world.hits("heron release on 3 March")
        assert (hit.id, hit.replaces) == (new, [old])
        world.service.reindex(human())


def test_a_dry_run_puts_nothing_on_record_whatever_it_meets(
    world: World, tmp_path: Path, rows: list[dict[str, Json]]
) -> None:
    head, note, tail = rows
    source = write_lines(tmp_path / "dry.json", [head, note, {"id": 7}, tail])
    before = len(world.service.audit_list(human()).events)
    reply = bring(world, source, dry_run=True)
    assert counts(reply)["created"] == 1
    assert len(world.service.audit_list(human()).events) == before
    assert world.ids("heron release") == []
    assert counts(bring(world, source))["created"] == 1
    assert len(world.service.audit_list(human()).events) > before


def test_a_note_that_was_moved_to_another_project_stays_there_when_it_comes_again(
    world: World, tmp_path: Path
) -> None:
    folder = file_of(tmp_path / "notes", "a.md", f"{FIRST}\n").parent
    assert counts(bring(world, folder)) == {"created": 1}
    (first,) = world.ids("heron release")
    world.file("osprey").mkdir()
    world.file("heron/a.md").rename(world.file("osprey/a.md"))
    assert world.ids("heron release", by=agent("osprey")) == [first]
    for outcome in ("created", "unchanged"):
        assert counts(bring(world, folder)) == {outcome: 1}
        (second,) = world.ids("heron release")
        assert second != first
    assert world.ids("heron release", by=agent("osprey")) == [first]


def test_the_dates_of_a_record_stand_in_its_file(
    world: World, tmp_path: Path, rows: list[dict[str, Json]]
) -> None:
    head, note, tail = rows
    dated = {**note, "valid_from": "2026-03-01", "valid_to": "2027-06-01", "frontmatter": None}
    bring(world, write_lines(tmp_path / "d.json", [head, dated, tail]))
    (hit,) = world.hits("heron release")
    text = world.file(hit.path).read_text("utf-8")
    assert "valid_from: 2026-03-01\n" in text
    assert "valid_to: 2027-06-01\n" in text
    world.service.reindex(human())
    view = world.service.read(agent(), ReadRequest(id=hit.id))
    assert (view.valid_from, view.valid_to) == ("2026-03-01", "2027-06-01")


@pytest.mark.guarantee("C4")
def test_what_was_replaced_here_by_another_is_not_replaced_again(
    world: World, tmp_path: Path
) -> None:
    old, _ = replaced_elsewhere(tmp_path, FIRST, SECOND)
    bring(world, tmp_path / "before.json")
    mine = world.save("Mine", "The heron release is on 7 April.", supersedes=(old,))
    before = world.service.read(human(), ReadRequest(id=old))
    reply = bring(world, tmp_path / "after.json")
    assert counts(reply)["created"] == 1
    after = world.service.read(human(), ReadRequest(id=old))
    assert (after.superseded_by, after.version) == (mine.id, before.version)
    assert not any("was not replaced" in one for one in reasons(reply))


def test_what_cannot_be_read_is_on_record_with_a_word_for_it(
    world: World, tmp_path: Path, rows: list[dict[str, Json]]
) -> None:
    head, note, tail = rows
    bring(world, write_lines(tmp_path / "bad.json", [head, note, {"id": 7}, tail]))
    made = [one for one in world.service.audit_list(human()).events if one.action == "import"]
    assert {one.outcome for one in made} > {"done"}
    assert all(one.reason for one in made if one.outcome != "done")
