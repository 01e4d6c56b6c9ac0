"""How a note's text changed: differences between versions, for a person, in scope, bounded."""

import difflib
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memsvc.errors import Denied, InvalidInput, NotFound
from memsvc.model.replies import TextHistoryReply
from memsvc.model.requests import TextHistoryRequest
from memsvc.service import texts
from tests.invariants.vandal import behind_the_back
from tests.service.world import World, agent, human


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.service.close()


def told(world: World, note_id: str, **more: int) -> TextHistoryReply:
    return world.service.text_history(human(), TextHistoryRequest(id=note_id, **more))


def test_each_version_shows_what_it_changed_and_how_the_older_text_ended(world: World) -> None:
    note = world.save("Release", "It is planned.\n\nThe heron release is on 3 March.\n")
    second = world.correct(
        note, "It is planned.\n\nThe heron release is on 12 March.\n", reason="misread"
    )
    world.correct(second, "It is done.\n", "changed", by=human())
    reply = told(world, note.id.lower())
    assert (reply.id, reply.title, reply.scope) == (note.id, "Release", "personal/heron")
    third, correction, first = reply.changes
    assert (first.version, first.against, first.removed, first.fate) == (1, 0, 0, "")
    assert "+The heron release is on 3 March." in first.diff.splitlines()
    assert (correction.author, correction.reason, correction.event) == (
        "agent:tester",
        "misread",
        second.event,
    )
    assert correction.fate == "wrong"
    lines = correction.diff.splitlines()
    assert "-The heron release is on 3 March." in lines
    assert "+The heron release is on 12 March." in lines
    assert " It is planned." in lines
    assert (third.fate, third.author) == ("changed", "human:alice")
    assert reply.next == 0


def test_a_file_that_a_person_edited_shows_its_difference_too(world: World) -> None:
    note = world.save("Release", "The heron release is on 3 March.")
    file = world.file(note.path)
    file.write_text(file.read_text("utf-8").replace("tags: []", "tags: [plan]"), "utf-8")
    world.ids("release")
    newest, _ = told(world, note.id).changes
    assert {"-tags: []", "+tags: [plan]"} <= set(newest.diff.splitlines())
    assert (newest.added, newest.removed) == (1, 1)


def test_only_a_person_sees_it_and_only_in_scope(world: World) -> None:
    note = world.save("Release", "The heron release is on 3 March.")
    with pytest.raises(Denied):
        world.service.text_history(agent(), TextHistoryRequest(id=note.id))
    for wrong in (note.id[:-1] + "0", "nothing", "*", "%"):
        with pytest.raises(NotFound) as unknown:
            told(world, wrong)
    with pytest.raises(NotFound) as outside:
        world.service.text_history(human("osprey"), TextHistoryRequest(id=note.id))
    assert outside.value.message == unknown.value.message
    with pytest.raises(InvalidInput):
        told(world, " ")
    assert len(told(world, note.id).changes) == 1


def test_a_text_from_before_a_note_moved_here_stays_in_its_own_scope(world: World) -> None:
    note = world.save("Release", "The osprey secret is zanzibar.", by=agent("osprey"))
    target = world.vault / "heron" / "release.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    text = world.file(note.path).read_text("utf-8")
    world.file(note.path).unlink()
    target.write_text(text.replace("zanzibar", "told"), "utf-8")
    assert world.ids("osprey secret") == [note.id]
    target.write_text(target.read_text("utf-8").replace("told", "written here"), "utf-8")
    assert world.ids("osprey secret") == [note.id]
    reply = told(world, note.id)
    assert "zanzibar" not in repr(reply)
    assert [one.problem for one in reply.changes] == ["", texts._ELSEWHERE, texts._ELSEWHERE]
    assert "+The osprey secret is written here." in reply.changes[0].diff.splitlines()


def test_a_forgotten_note_is_still_shown_to_the_person_who_may_restore_it(world: World) -> None:
    note = world.save("Release", "The heron release is on 3 March.")
    world.forget(note.id)
    assert world.ids("release") == []
    reply = told(world, note.id)
    assert reply.status == "retracted"
    assert "3 March" in reply.changes[0].diff


def test_a_purged_text_is_said_to_be_gone_and_is_no_deletion(world: World) -> None:
    note = world.save("Release", "The heron release is on 3 March.")
    world.correct(note, "The heron release is on 12 March.")
    with behind_the_back(world.root / "home" / "memsvc.db") as raw:
        raw.execute("UPDATE note_version SET content = '' WHERE version = 1")
    newest, first = told(world, note.id).changes
    for one in (newest, first):
        assert (one.diff, one.added, one.removed) == ("", 0, 0)
        assert "purged" in one.problem


def test_pages_join_without_a_gap(world: World) -> None:
    note: object = world.save("Count", "The count is 0 today.")
    for number in range(1, 6):
        note = world.correct(note, f"The count is {number} today.", "changed")  # type: ignore[arg-type] # a reply
    identity = note.id  # type: ignore[attr-defined] # a reply
    seen: list[tuple[int, int]] = []
    before = 0
    while True:
        page = told(world, identity, limit=4, before=before)
        seen += [(one.version, one.against) for one in page.changes]
        before = page.next
        if not before:
            break
    assert seen == [(number, number - 1) for number in range(6, 0, -1)]


def test_long_and_wide_differences_are_cut_and_say_so(world: World) -> None:
    many = "\n".join(f"The line {number} is here." for number in range(3000))
    note = world.save("Long", f"{many}\n")
    wide = world.correct(note, "The word is " + "wide " * 3000, "changed")
    world.correct(wide, "The word is narrow.", "changed")
    narrow, widened, first = told(world, note.id).changes
    for one in (narrow, widened, first):
        assert one.cut
        assert len(one.diff.splitlines()) <= texts.MOST_LINES
        assert len(one.diff) <= texts.MOST_CHARS
    assert first.added > 3000
    assert widened.removed > 2999


def test_a_text_that_is_hard_to_compare_ends_soon(world: World) -> None:
    def text(step: int) -> str:
        return "\n".join(f"x{number * step % 7}" for number in range(3800))

    begun = time.process_time()
    texts.difference(text(3), text(5))
    lines, _, _, problem = texts.difference(text(3) * 2, text(5) * 2)
    assert time.process_time() - begun < 20
    assert (lines, problem != "") == ([], True)
    added = f"{text(3)}\nand one more"
    huge = "\n".join(str(number) for number in range(60_000))
    assert texts.difference(text(3), added)[:1] == (
        ["@@ -3798,3 +3798,4 @@", *(f" {line}" for line in text(3).splitlines()[-3:]), "+and one more"],
    )  # fmt: skip
    assert texts.difference(huge, f"{huge}\nend")[1:3] == (1, 0)
    assert texts.difference("a\r\nb", "a\nb") == ([], 0, 0, "only line ends differ")
    assert texts.difference("a\nb", "a\nb") == ([], 0, 0, "")


@pytest.mark.parametrize("seed", range(40))
def test_a_difference_is_a_unified_one(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - texts, not secrets
    old = [chance.choice("abcdefgh") for _ in range(chance.randrange(0, 40))]
    new = [one for one in old if chance.random() > 0.15]
    for _ in range(chance.randrange(0, 4)):
        new.insert(chance.randrange(len(new) + 1), chance.choice("abcxyz"))
    lines, added, removed, _ = texts.difference("\n".join(old), "\n".join(new))
    assert (added, removed) == (
        sum(line.startswith("+") for line in lines),
        sum(line.startswith("-") for line in lines),
    )
    assert patched(old, lines) == new
    for at, line in enumerate(lines):
        if line.startswith("@@"):
            kept = [one[:1] for one in lines[at + 1 :]]
            kept = kept[: kept.index("@")] if "@" in kept else kept
            assert len(kept) - len("".join(kept).lstrip()) <= 3
            assert len(kept) - len("".join(kept).rstrip()) <= 3


def patched(old: list[str], lines: list[str]) -> list[str]:
    """What the unified lines make of a text, by the places and counts that they name."""
    made: list[str] = []
    at = 0
    for line in lines:
        if line.startswith("@@"):
            left, right = (one[1:] for one in line.strip("@ ").split())
            first, _, count = left.partition(",")
            begin = int(first) - (0 if count == "0" else 1)
            made += old[at:begin]
            at = begin
            start, _, size = right.partition(",")
            assert len(made) == int(start) - (0 if size == "0" else 1)
        elif line.startswith("+"):
            made.append(line[1:])
        else:
            assert old[at] == line[1:]
            made += [old[at]] if line.startswith(" ") else []
            at += 1
    return [*made, *old[at:]]


def test_a_difference_that_just_fits_is_not_cut() -> None:
    wide = "x" * 2_000
    assert texts.bounded([wide, "", "end"]) == (f"{wide}\n\nend", False)
    assert texts.bounded([wide + "y"]) == (f"{wide}…", True)
    full = [wide] * 100
    shown, cut = texts.bounded(full)
    assert (cut, len(shown) <= texts.MOST_CHARS) == (True, True)
    fits = texts.MOST_CHARS // 100
    exact = ["y" * 99] * fits
    assert texts.bounded(exact) == ("\n".join(exact), False)
    assert texts.bounded([*exact, ""])[1]
    assert texts.bounded(["z"] * texts.MOST_LINES) == ("\n".join(["z"] * texts.MOST_LINES), False)
    assert texts.bounded(["z"] * (texts.MOST_LINES + 1))[1]


def test_one_page_ends_and_ids_may_be_typed_by_hand(world: World) -> None:
    note = world.save("Count", "The count is 0 today.")
    note_id = f" {note.id.lower()} "
    world.correct(note, "The count is 1 today.", "changed")
    both = told(world, note_id, limit=2)
    assert ([one.version for one in both.changes], both.next) == ([2, 1], 0)
    newest = told(world, note_id, limit=1)
    assert ([(one.version, one.against) for one in newest.changes], newest.next) == ([(2, 1)], 2)
    oldest = told(world, note_id, limit=1, before=2)
    assert [(one.version, one.against, one.removed) for one in oldest.changes] == [(1, 0, 0)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("a b c d e f", "x b c d e f"),
        ("a b c d e f", "a b c d e x"),
        ("a b c d e f", "a b x d e f"),
        ("a b c", "x a b c"),
        ("a b c", ""),
        ("", "a b c"),
        ("a b c d e f g h i j k", "x b c d e f g h i j y"),
    ],
)
def test_a_difference_has_three_lines_around_it_as_diff_writes_them(old: str, new: str) -> None:
    before, after = old.split(), new.split()
    expected = list(difflib.unified_diff(before, after, lineterm=""))[2:]
    assert texts.difference("\n".join(before), "\n".join(after))[0] == expected
