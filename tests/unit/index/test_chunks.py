"""Passages: all of the body, in order, along its markdown, in linear time."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsvc.index.chunks import MAX_CHUNKS, Chunk, chunk, embed_text

_PIECES = st.sampled_from(
    ["# A\n", "## B\n", "text. ", "Ein Satz! ", "\n", "\n\n", "- item\n", "```\n", "|a|b|\n", "项目。", " ", "\r\n",
     "word " * 60, "x" * 900]
)  # fmt: skip


@given(st.lists(_PIECES, max_size=40).map("".join))
def test_passages_joined_are_the_body(body: str) -> None:
    pieces = chunk(body, "A title")
    assert "".join(piece.text for piece in pieces) == body
    assert [piece.ordinal for piece in pieces] == list(range(len(pieces)))
    assert all(body[piece.start : piece.end] == piece.text for piece in pieces)


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=400))
def test_any_text_can_be_cut(body: str) -> None:
    assert "".join(piece.text for piece in chunk(body)) == body


def test_an_empty_body_has_one_passage_so_that_its_title_is_read() -> None:
    assert chunk("", "Title") == [Chunk(0, 0, 0, "", "")]
    assert embed_text("Title", chunk("", "Title")[0]) == "Title"


def test_passages_know_the_headings_above_them() -> None:
    body = "# Plan\n\nIntro to it all, which is long enough to stand by itself in one passage of its own.\n\n## Costs\n\nMoney.\n\n# Other\n\nEnd.\n"
    headings = [piece.heading for piece in chunk(body, "Title")]
    assert headings == ["Plan", "Plan > Costs", "Other"]
    assert chunk(body, "plan")[1].heading == "Costs"
    assert embed_text("Title", chunk(body, "Title")[1]) == "Title\nPlan > Costs\nMoney."


def test_a_heading_inside_code_is_code() -> None:
    pieces = chunk("```\n# not a heading\n```\n\ntext\n", "Title")
    assert {piece.heading for piece in pieces} == {""}


def test_a_long_paragraph_is_cut_at_sentences() -> None:
    sentence = "The quick brown fox jumps over the lazy dog near the river bank today. "
    pieces = chunk(sentence * 20, "Title")
    assert len(pieces) > 3
    assert all(piece.text.endswith("today. ") for piece in pieces)


@pytest.mark.parametrize(
    "body",
    ["a" * 5_000_000, "# h\n" * 100_000, "\n" * 1_000_000, "- x\n" * 300_000, "项" * 1_000_000,
     "a. " * 1_000_000, "```\n" * 300_000, "|a|b|\n" * 300_000],
    ids=["line", "headings", "blank", "items", "cjk", "sentences", "fences", "table"],
)  # fmt: skip
def test_hostile_bodies_are_cut_in_linear_time_into_a_bounded_number(body: str) -> None:
    begun = time.process_time()
    pieces = chunk(body, "Title")
    assert time.process_time() - begun < 8
    assert len(pieces) <= MAX_CHUNKS
    assert sum(len(piece.text) for piece in pieces) == len(body)
