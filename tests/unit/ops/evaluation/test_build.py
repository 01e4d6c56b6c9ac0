"""Gold made of a catalogue: what is asked, what is left out, and that it is the same each time."""

from dataclasses import replace

import pytest

from memsvc.model.catalogue import Catalogue, CatalogueNote
from memsvc.ops.evaluation.build import MOST_GOLD, build_gold, first_paragraph
from memsvc.ops.evaluation.gold import Gold, Question

LONG = "the harbour crane lifts heavy boxes"


def note(key: str, title: str, opening: str = "", **more: object) -> CatalogueNote:
    values: dict[str, object] = {
        "version": 1,
        "path": f"heron/{key}.md",
        "aliases": (),
        "content_hash": f"hash of {key}",
        "links": (),
        **more,
    }
    return CatalogueNote(id=key, title=title, opening=opening, **values)  # type: ignore[arg-type] # passed on


def catalogue(*notes: CatalogueNote) -> Catalogue:
    return Catalogue(
        at="2026-11-30T10:04:11.000000Z",
        scope="team/heron",
        scopes=("team/heron", "team/shared"),
        notes=notes,
        counts={},
    )


def asked(gold: Gold, kind: str) -> list[Question]:
    return [question for question in gold.questions if question.kind.value == kind]


def pairs(gold: Gold, kind: str) -> set[tuple[str, tuple[str, ...]]]:
    return {(question.query, question.gold) for question in asked(gold, kind)}


def test_titles_and_first_paragraphs_ask_for_their_notes_and_links_for_their_targets() -> None:
    crane = note("a", "Crane", f"# Crane\n\nToday {LONG}.\n\nMore of it.", links=("b",))
    boat = note("b", "Boat", "Short.")
    gold = build_gold(catalogue(crane, boat))
    assert pairs(gold, "title") == {("Crane", ("a",)), ("Boat", ("b",))}
    assert pairs(gold, "body") == {(f"Today {LONG}.", ("a",))}
    assert pairs(gold, "bridge") == {(f"Today {LONG}.", ("b",))}
    assert gold.excluded["body"] == {"no paragraph of four words": 1}
    assert (gold.hashes["a"], gold.hashes["b"]) == ("hash of a", "hash of b")


@pytest.mark.parametrize("how", ["title", "stem", "alias"])
def test_a_name_of_two_notes_asks_for_neither_and_is_counted(how: str) -> None:
    first = note("a", "Crane", f"first {LONG}", path="heron/x/crane.md")
    twin = {
        "title": note("b", "CRANE", f"second {LONG}"),
        "stem": note("b", "Boat", f"second {LONG}", path="heron/y/crane.md"),
        "alias": note("b", "Boat", f"second {LONG}", aliases=("Crane",)),
    }[how]
    link = note("c", "Guide", f"third {LONG}", links=("a", "d"))
    alone = note("d", "Pier", f"fourth {LONG}")
    gold = build_gold(catalogue(first, twin, link, alone))
    titles = {one.source for one in asked(gold, "title")}
    assert "a" not in titles
    assert {"c", "d"} <= titles
    assert gold.excluded["title"]["ambiguous name"] == (1 if how == "alias" else 2)
    assert pairs(gold, "bridge") == {(f"third {LONG}", ("d",))}
    assert gold.excluded["bridge"]["ambiguous name of a linked note"] == 1
    assert {one.source for one in asked(gold, "body")} == {"a", "b", "c", "d"}


def test_a_paragraph_of_two_notes_asks_for_neither_and_is_counted() -> None:
    gold = build_gold(
        catalogue(note("a", "Crane", LONG), note("b", "Boat", LONG), note("c", "Pier", f"x {LONG}"))
    )
    assert {one.source for one in asked(gold, "body")} == {"c"}
    assert gold.excluded["body"] == {"same text elsewhere": 2}


def test_what_was_replaced_asks_for_what_took_its_place() -> None:
    old = note("a", "Old crane", f"was {LONG}", successor="b")
    new = note("b", "New crane", f"now {LONG}")
    gold = build_gold(catalogue(old, new))
    assert pairs(gold, "temporal") == {("Old crane", ("b",))}
    assert pairs(gold, "title") == {("New crane", ("b",))}


def test_a_version_asks_by_its_old_title_or_else_by_its_old_text() -> None:
    first = note("a", "Berth", f"was {LONG}", successor="a")
    second = note("a", "Berth", f"became {LONG}", successor="a", version=2)
    third = note("a", "Mooring", f"now {LONG}", version=3)
    still = note("b", "Pier", f"here {LONG}", successor="b")
    later = note("b", "Pier", f"there {LONG}", version=2)
    same = note("c", "Quay", f"always {LONG}", successor="c")
    after = note("c", "Quay", f"always {LONG}", version=2)
    gold = build_gold(catalogue(first, second, third, still, later, same, after))
    assert pairs(gold, "temporal") == {("Berth", ("a",)), (f"here {LONG}", ("b",))}
    assert gold.excluded["temporal"] == {"asked already": 1, "its first paragraph stayed": 1}
    assert {one.gold for one in asked(gold, "title")} == {("a",), ("b",), ("c",)}


def test_a_replaced_title_that_another_note_has_now_is_ambiguous() -> None:
    old = note("a", "Crane", f"was {LONG}", successor="b")
    new = note("b", "New crane", f"now {LONG}")
    taken = note("c", "Crane", f"another {LONG}")
    gold = build_gold(catalogue(old, new, taken))
    assert asked(gold, "temporal") == []
    assert gold.excluded["temporal"] == {"ambiguous name": 1}
    assert pairs(gold, "title") == {("New crane", ("b",))}


def test_a_question_asks_for_eight_notes_at_most_and_the_cut_is_recorded() -> None:
    many = [note(f"t{number}", f"Target {number}") for number in range(11)]
    hub = note("a", "Hub", LONG, links=tuple(one.id for one in many))
    few = note("b", "Leaf", f"leaf {LONG}", links=("t1", "t2"))
    gold = build_gold(catalogue(hub, few, *many))
    by_source = {question.source: question for question in asked(gold, "bridge")}
    assert (len(set(by_source["a"].gold)), by_source["a"].cut) == (MOST_GOLD, 3)
    assert (set(by_source["b"].gold), by_source["b"].cut) == ({"t1", "t2"}, 0)


def test_the_same_seed_takes_the_same_sample_and_another_seed_another() -> None:
    notes = [note(f"n{number:03}", f"Title {number}", f"{number} {LONG}") for number in range(90)]
    one = build_gold(catalogue(*notes), seed=1, per_class=10)
    again = build_gold(catalogue(*reversed(notes)), seed=1, per_class=10)
    other = build_gold(catalogue(*notes), seed=2, per_class=10)
    assert (len(asked(one, "title")), one.available["title"]) == (10, 90)
    assert one.digest == again.digest
    assert one.digest != other.digest
    elsewhere = [replace(note, id=f"other {note.id}") for note in reversed(notes)]
    twin = build_gold(catalogue(*elsewhere), seed=1, per_class=10)
    assert [q.query for q in twin.questions] == [q.query for q in one.questions]
    grown = build_gold(catalogue(*notes, note("new", "Newer")), seed=1, per_class=10)
    assert len({q.id for q in one.questions} & {q.id for q in grown.questions}) >= 18


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f"# Title\n\n{LONG}\nstill here\n\nnext", f"{LONG} still here"),
        (f"```\ncode of four plain words\n```\n{LONG}", LONG),
        (f"| a table | of four | plain words |\n\n{LONG}", LONG),
        (f"<!-- a comment of four plain words -->\n\n{LONG}", LONG),
        (f"Too short.\n\n{LONG}", LONG),
        (f"- {LONG}\n- *and* [more](x.md) of [[that|this]]", f"{LONG} and more of this"),
        (f"## Part ##\n> {LONG}", LONG),
        ("# Only headings of four words here", ""),
        ("", ""),
    ],
)
def test_the_first_paragraph_is_plain_text_that_says_something(body: str, expected: str) -> None:
    assert first_paragraph(body) == expected


def test_a_long_paragraph_is_cut_between_words() -> None:
    found = first_paragraph(" ".join(f"word{number}" for number in range(400)))
    assert 900 < len(found) <= 1000
    assert found.split()[-1].startswith("word")
