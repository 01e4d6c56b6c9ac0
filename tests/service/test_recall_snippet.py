"""The part of a note that a hit shows."""

import pytest

from memsvc.index.values import Part, Passage
from memsvc.service.recall.snippet import MAX_SNIPPET, snippet, whole
from tests.service.replies import hit


def shown(
    *texts: str,
    at: int = 1,
    first: int = 1,
    last: int = 0,
    terms: tuple[str, ...] = (),
    **more: str,
) -> tuple[str, bool]:
    """The snippet of passage `at` of a note whose passages from 1 on were read."""
    near = {
        number: Passage(
            number, more.get(f"heading{number}", ""), text, more.get(f"lead{number}", "")
        )
        for number, text in enumerate(texts, start=1)
    }
    return snippet(near, at, terms, first=first, last=last or len(texts))


def test_a_passage_is_shown_with_the_two_behind_it_and_then_the_one_before() -> None:
    one, two, three, four, five = (f"Passage {number}.\n" for number in range(1, 6))
    assert shown(one, two, three, four, five, at=2) == (f"{one}{two}{three}{four.strip()}…", True)
    assert shown(one, two, three, at=1) == (f"{one}{two}{three.strip()}", False)
    assert shown(one, two, three, at=3) == (f"…{two}{three.strip()}", True)


def test_neighbours_are_shown_while_there_is_room_for_whole_ones() -> None:
    half, rest = "h" * (MAX_SNIPPET - 20) + "\n", "r" * 18 + "\n"
    assert shown(half, rest) == (f"{half}{rest.strip()}", False)
    assert shown(half, rest + "rr") == (f"{half.strip()}…", True)
    assert shown("before\n", half, rest + "rr", at=2) == (f"…{half.strip()}…", True)


def test_a_passage_of_another_note_or_one_that_was_not_read_is_no_neighbour() -> None:
    assert shown("Mine.\n", "Also.\n", "Other.\n", last=2) == ("Mine.\nAlso.", False)
    assert shown("Other.\n", "Mine.\n", at=2, first=2) == ("Mine.", False)
    apart = {number: Passage(number, "", f"Part {number}.\n") for number in (1, 3)}
    assert snippet(apart, 1, (), first=1, last=3) == ("Part 1.…", True)
    assert shown("x" * 400, "\nMine. \n ", at=2) == ("…Mine.", True)
    assert shown("Mine.\n", last=3) == ("Mine.…", True)


def test_a_heading_is_left_out_and_a_line_of_code_that_looks_like_one_is_not() -> None:
    assert shown("# Setup\n\nRun it.\n")[0] == "Run it."
    assert shown("x" * 400, "# Setup\nRun it.", at=2, heading2="Setup")[0] == "…Run it."
    assert shown("x" * 400, "# install first\nrun", at=2)[0] == "…# install first\nrun"


def test_a_text_of_just_the_right_length_is_whole_and_a_longer_one_begins_where_it_answers() -> (
    None
):
    text = f"  {'a' * 379}. The falcon nests."
    assert len(text) == MAX_SNIPPET
    assert shown(text, terms=("falcon",)) == (text, False)
    longer, cut = shown(f"{'a' * 390}. The falcon nests. bb", terms=("falcon",))
    assert (longer, cut) == ("…The falcon nests. bb", True)
    behind, cut = shown(f"The falcon nests. {'b' * MAX_SNIPPET}", terms=("falcon",))
    assert (behind[:18], behind[-2:], cut) == ("The falcon nests. ", "b…", True)
    assert len(behind) == MAX_SNIPPET + 1
    filler = "x" * MAX_SNIPPET
    long = f"{'a' * 390}. The falcon nests. bb"
    assert shown(long, filler, terms=("falcon",)) == ("…The falcon nests. bb…", True)
    assert shown(filler, f"The falcon. {filler}", at=2)[0].startswith("…The falcon.")
    assert shown("a" * MAX_SNIPPET + "b")[0] == "a" * MAX_SNIPPET + "…"


def test_a_long_text_begins_at_the_sentence_with_the_most_different_words_of_the_question() -> None:
    near, far = "The falcon and the falcon. ", "The falcon nests. "
    text = f"{'a' * 300}. {near}{'b' * 400}. {far}{'c' * 400}. {far}"
    assert shown(text, terms=("falcon", "nests", "nest"))[0].startswith("…The falcon nests. ccc")


def test_a_table_s_header_stands_above_its_rows() -> None:
    assert shown("a | b\n", "1 | 2\n", at=2, first=2, lead2="a | b")[0] == "a | b\n…1 | 2"
    assert shown("a | b\n", "1 | 2\n", at=2, lead1="", lead2="a | b")[0] == "a | b\n1 | 2"


@pytest.mark.parametrize(
    ("part", "text", "cut", "start", "best"),
    [
        (Part("Whole text.\n", 0, 12, 3), "Whole text.", False, 0, 3),
        (Part("\n\nText. \n", 0, 9, 0), "Text.", False, 2, 2),
        (Part("Begins", 0, 20, 4), "Begins…", True, 0, 4),
        (Part("the end", 13, 20, 15), "the end", True, 13, 15),
        (Part("he end", 1, 7, 1), "he end", True, 1, 1),
        (Part("\nmid", 10, 20, 10), "mid…", True, 11, 11),
    ],
)
def test_a_whole_note_says_which_part_of_it_is_there(
    *,
    part: Part,
    text: str,
    cut: bool,
    start: int,
    best: int,
) -> None:
    found = whole(hit(text="old"), part)
    assert (found.text, found.cut, found.start, found.best) == (text, cut, start, best)
    assert found.length == part.length
