"""Passages: all of the body, in order, along its markdown, in linear time."""

import time
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsvc.embedding.tokens import TokenCounter
from memsvc.index.chunks import MAX_CHUNKS, Chunk, chunk, embed_text

_PIECES = st.sampled_from(
    ["# A\n", "## B\n", "text. ", "Ein Satz! ", "\n", "\n\n", "- item\n", "```\n", "|a|b|\n", "项目。", " ", "\r\n",
     "word " * 60, "x" * 900, "|-|-|\n", "===\n", "---\n", "  - nested\n", "1. one\n", "    code\n", "> said\n",
     "> [!note]\n", "<!--", "-->\n", "[^1]: foot\n", "These are:\n", "~~~\n", "\t", "e\u0301", "👩\u200d💻", "() => {};\n"]
)  # fmt: skip
WINDOW = 254
"""Tokens that the packaged model reads."""


@cache
def counter() -> TokenCounter:
    return TokenCounter()


def texts(body: str, title: str = "Title") -> list[str]:
    pieces = chunk(body, title)
    assert "".join(piece.text for piece in pieces) == body
    return [piece.text for piece in pieces]


def rows(number: int) -> str:
    head = "| Part | Price in euro | Supplier |\n|:--|--:|---|\n"
    return head + "".join(
        f"| Part number {at} | {at * 37} | The supplier called {at} |\n" for at in range(number)
    )


@given(st.lists(_PIECES, max_size=40).map("".join))
def test_passages_joined_are_the_body(body: str) -> None:
    pieces = chunk(body, "A title")
    assert "".join(piece.text for piece in pieces) == body
    assert [piece.ordinal for piece in pieces] == list(range(len(pieces)))
    assert all(body[piece.start : piece.end] == piece.text for piece in pieces)


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=400))
def test_any_text_can_be_cut(body: str) -> None:
    assert "".join(piece.text for piece in chunk(body)) == body


@given(st.lists(_PIECES, max_size=60).map("".join))
def test_no_passage_is_longer_than_the_model_reads(body: str) -> None:
    for piece in chunk(body, "A title of some words"):
        assert counter()(embed_text("A title of some words", piece)) <= WINDOW


@pytest.mark.parametrize(
    "body",
    ["".join(f"{n * 7919 % 65536:04x}-" for n in range(400)), "!?;:()[]{}" * 100, "0123456789" * 100,
     "项目的截止日期" * 100, "👩\u200d💻" * 200, "if (a[i] != b[j]) { c += d; }\n" * 60,
     "```\n" + "if (a[i] != b[j]) { c += d; }\n" * 60 + "```\n", rows(40)],
    ids=["hex", "marks", "digits", "cjk", "emoji", "bare code", "code", "table"],
)  # fmt: skip
def test_dense_text_is_cut_to_what_the_model_reads(body: str) -> None:
    pieces = chunk(body, "A title of some words")
    assert len(texts(body)) > 2
    assert all(counter()(embed_text("A title of some words", piece)) <= WINDOW for piece in pieces)


def test_an_empty_body_has_one_passage_so_that_its_title_is_read() -> None:
    assert chunk("", "Title") == [Chunk(0, 0, 0, "", "")]
    assert embed_text("Title", chunk("", "Title")[0]) == "Title"


def test_passages_know_the_headings_above_them() -> None:
    body = "# Plan\n\nIntro to it all, which is long enough to stand by itself in one passage of its own.\n\n## Costs\n\nMoney.\n\n# Other\n\nEnd.\n"
    headings = [piece.heading for piece in chunk(body, "Title")]
    assert headings == ["Plan", "Plan > Costs", "Other"]
    assert chunk(body, "plan")[1].heading == "Costs"
    assert embed_text("Title", chunk(body, "Title")[1]) == "Title\nPlan > Costs\nMoney."


@pytest.mark.parametrize(
    "hidden",
    ["```\n# not a heading\n```\n", "~~~sh\n\n# not a heading\n\n~~~\n", "    # not a heading\n\n    # nor this\n",
     "<!-- hidden\n\n# not a heading\n-->\n", "- item\n\n      # not a heading\n"],
    ids=["fence", "tildes", "indented", "comment", "in an item"],
)  # fmt: skip
def test_a_heading_inside_code_or_a_comment_is_none(hidden: str) -> None:
    pieces = chunk(f"# Real\n\n{hidden}\ntext\n", "Title")
    assert {piece.heading for piece in pieces} == {"Real"}


@pytest.mark.parametrize("mark", ["=====", "-----"])
def test_an_underlined_line_is_a_heading(mark: str) -> None:
    pieces = chunk(f"Intro. {'word ' * 60}\n\nCosts\n{mark}\n\nMoney. {'word ' * 30}\n", "Title")
    assert pieces[0].heading == ""
    assert pieces[-1].heading == "Costs"
    assert "Costs" not in [piece.heading for piece in chunk(f"Costs\n\n{mark}\n\nMoney.\n")]


def test_headings_alone_are_read_every_one() -> None:
    (piece,) = chunk("# First\n## Second\n# Third\n", "Title")
    assert embed_text("Title", piece) == "Title\nFirst\nSecond\nThird"


def test_a_table_is_cut_between_rows_and_every_part_is_read_with_its_header() -> None:
    pieces = chunk(f"Prices of all parts that we buy.\n{rows(30)}\nAfter it.\n", "Title")
    parts = [piece for piece in pieces if "Part number" in piece.text]
    assert len(parts) > 3
    for piece in parts[1:]:
        assert piece.text.startswith("| Part number")
        assert piece.lead == "| Part | Price in euro | Supplier |"
        assert embed_text("Title", piece).count("Price in euro") == 1
    assert [embed_text("Title", piece).count("Price in euro") for piece in parts] == [1] * len(
        parts
    )
    assert chunk("a | b\n\nnot a table\n" * 30)[-1].lead == ""


def test_a_list_is_cut_between_items_and_read_with_the_line_that_announces_it() -> None:
    item = "- The service of number {} listens on this port and on no other one\n  - nested in {}\n\n  more of {}\n"
    body = "The ports are:\n\n" + "".join(item.replace("{}", str(n)) for n in range(12))
    pieces = chunk(f"{body}\nAnother paragraph, which is about something else altogether.\n", "T")
    items = [piece for piece in pieces if "service of number" in piece.text]
    assert len(items) > 3
    assert all(piece.text.lstrip().startswith(("- The", "The ports")) for piece in items)
    assert {piece.lead for piece in items if not piece.text.startswith("The ports")} == {"The ports are:"}  # fmt: skip
    assert pieces[-1].lead == ""


def test_a_long_item_is_cut_at_what_is_nested_in_it() -> None:
    nested = "".join(f"  - the nested line number {n} says what it has to say\n" for n in range(30))
    parts = texts(f"- The outer item\n{nested}")
    assert len(parts) > 3
    assert all(part.startswith("  - the nested line") for part in parts[1:])


def test_code_that_fits_is_not_cut_and_longer_code_is_cut_between_blank_lines() -> None:
    block = "def name():\n    first = call(1, 2)\n    return first\n\n"
    fits = f"```python\n{block * 8}```\n"
    assert f"{fits}\n" in texts(f"Before it.\n\n{fits}\nAfter it, a paragraph of words.\n")
    assert len(texts(fits.replace("```", "").replace("\n\n", "\n"))) > 1
    parts = texts(f"```python\n{block * 20}```\n")
    assert len(parts) > 3
    assert all(part.startswith("def name():") for part in parts[1:] if part.strip() != "```")


def test_quotes_footnotes_and_comments_begin_passages_of_their_own() -> None:
    words = "which says so in a fair number of words that nobody needs to count here at all"
    body = (
        f"A paragraph {words}.\n> [!note] Beware\n> A callout {words}.\n>\n> And more of it.\n\n"
        f"<!-- A comment {words}\n\nand its end -->\nText {words}.\n\n"
        f"[^1]: A footnote {words}.\n[^2]: Another {words}.\n"
    )
    starts = [part.split()[0] for part in texts(body)]
    assert starts == ["A", ">", "<!--", "Text", "[^1]:", "[^2]:"]


def test_text_without_blanks_is_cut_at_sentence_ends_and_never_within_a_letter() -> None:
    for sentence in ("项目的截止日期是三月十二日。", "締め切りは三月十二日です｡"):
        parts = texts(sentence * 40)
        assert len(parts) > 3
        assert all(part.endswith(sentence[-1]) for part in parts)
    assert all(part.endswith("，") for part in texts("项目的截止日期是三月十二日，" * 40))
    for letter in ("e\u0301", "👩\u200d💻", "❤\ufe0f"):
        parts = texts(letter * 400)
        assert len(parts) > 2
        assert all(len(part) % len(letter) == 0 for part in parts)


def test_a_long_paragraph_is_cut_at_sentences() -> None:
    sentence = "The quick brown fox jumps over the lazy dog near the river bank today. "
    pieces = chunk(sentence * 20, "Title")
    assert len(pieces) > 3
    assert all(piece.text.endswith("today. ") for piece in pieces)


@pytest.mark.parametrize(
    "body",
    ["a" * 5_000_000, "# h\n" * 100_000, "\n" * 1_000_000, "- x\n" * 300_000, "项" * 1_000_000,
     "a. " * 1_000_000, "```\n" * 300_000, "|a|b|\n" * 300_000, "a|b\n-|-\n" * 50_000, "<!-- \n" * 100_000,
     "<!-- x -->\n" * 50_000, "a\n===\n" * 50_000, "    x\n\n" * 50_000, "x:\n- a\n" * 50_000, "e" + "\u0301" * 1_000_000],
    ids=["line", "headings", "blank", "items", "cjk", "sentences", "fences", "table", "tables", "open comments",
         "comments", "underlines", "indented", "leads", "marks"],
)  # fmt: skip
def test_hostile_bodies_are_cut_in_linear_time_into_a_bounded_number(body: str) -> None:
    begun = time.process_time()
    pieces = chunk(body, "Title")
    assert time.process_time() - begun < 8
    assert len(pieces) <= MAX_CHUNKS
    assert sum(len(piece.text) for piece in pieces) == len(body)
