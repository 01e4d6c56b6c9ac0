"""Cuts a note's body into passages along its markdown, each short enough for the model to read.

Every character of the body is in exactly one passage, in order: joined, the passages are the body.
Time is linear in the text. A note has at most `MAX_CHUNKS` passages; the last of so many holds all
the rest, which full text still finds word by word while its vector covers only its beginning.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from memsvc.index.blocks import HEADING, Block, Kind, blocks

__all__ = ["MAX_CHUNKS", "Chunk", "chunk", "embed_text"]

MAX_CHUNKS = 2_000
FULL_TOKENS = 16
"""A passage of this size takes in no further block."""
TARGET_TOKENS = 60
"""Neighbouring small blocks share a passage up to here."""
MOST_TOKENS = 90
"""A longer block is cut at a sentence, else a line, else a blank, else anywhere.

Short passages find more: on memory-bench's published questions, on which these sizes were also
chosen, sentences gave .92 recall@5, passages like these .91, of 110 tokens .88; sentences cost more
vectors. One question is 1.4 points, and FULL_TOKENS 24 instead of 16 gave .88: not a fine optimum.
"""
WINDOW_TOKENS = 170
"""What a passage may come to when every mark counts as a token; title and headings come on top.

A model reads 254. Code and tables that keep within this are not cut, however many characters.
"""
MAX_TITLE = 200
MAX_MARKS = 32
"""So many marks on one letter are looked back over."""

_DENSE = re.compile(r"[^\W\d_]{1,5}|\d{1,2}|[^\w\s]|_")
_SENTENCE = re.compile(r"[.!?][\"')\]]*\s|[。！？｡．]")
_SPACE = re.compile(r"\s|[，、；：]")
_LINE_END = re.compile(r"\n")
_BLANK_LINE = re.compile(r"\n[ \t]*\r?\n")
_NESTED = re.compile(r"\n(?=[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t])")
_PROSE = (_SENTENCE, _LINE_END, _SPACE)
_CUTS = {
    Kind.CODE: (_BLANK_LINE, _LINE_END, _SPACE),
    Kind.TABLE: (_LINE_END, _SPACE),
    Kind.ITEM: (_NESTED, *_PROSE),
}
_JOINERS = "\u200d\ufe0e\ufe0f"
_WHOLE = (Kind.CODE, Kind.TABLE)


@dataclass(frozen=True, slots=True)
class Chunk:
    """`text` is `body[start:end]`; `heading` is the path of headings above it, `A > B`.

    `lead` is what stands above the passage and is needed to read it: the header of the table that
    its rows are of, the line that announces its list. It is empty where `text` holds it itself.
    """

    ordinal: int
    start: int
    end: int
    heading: str
    text: str
    lead: str = ""


def chunk(body: str, title: str = "") -> list[Chunk]:
    """The passages of a body. An empty body gives one empty passage, so that its title is found.

    A heading that only repeats the title is left out of the heading paths.
    """
    spans = _pack(body, blocks(body, title.strip().casefold()))
    if len(spans) > MAX_CHUNKS:
        rest = spans[MAX_CHUNKS - 1]
        spans[MAX_CHUNKS - 1 :] = [Block(rest.start, len(body), rest.heading, lead=rest.lead)]
    if not spans:
        spans = [Block(0, 0, "")]
    return [
        Chunk(
            ordinal,
            span.start,
            span.end,
            span.heading,
            body[span.start : span.end],
            _lead(body, span),
        )
        for ordinal, span in enumerate(spans)
    ]


def embed_text(title: str, piece: Chunk) -> str:
    """What the model reads of a passage: title, headings, lead, and the text without heading lines."""
    text = piece.text
    while text:  # the path already says what leading heading lines say
        line, _, rest = text.partition("\n")
        if line.strip() and not HEADING.match(line.rstrip()):
            break
        text = rest
    parts = (title[:MAX_TITLE], piece.heading, piece.lead, text.strip())
    if not text.strip():  # nothing but headings: only the last of them is in the path
        parts = (title[:MAX_TITLE], _bare(piece.text), "", "")
    return "\n".join(part for part in parts if part)


def _bare(text: str) -> str:
    """Heading lines without their marks."""
    lines = (line.strip().strip("#").strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def _lead(body: str, span: Block) -> str:
    if span.lead is None or span.lead[0] >= span.start:
        return ""
    return body[slice(*span.lead)].strip()


def _cost(text: str) -> int:
    """Tokens, roughly: four ASCII letters each, about one for a letter of another script."""
    extra = 0 if text.isascii() else len(text.encode("utf-8", "surrogatepass")) - len(text)
    return len(text) // 4 + (3 * extra) // 8


def _most(text: str, cost: int, kind: Kind) -> int:
    """How many letters of a text like this one make a passage; its length if it is short enough."""
    length = len(text)
    if 4 * cost <= WINDOW_TOKENS:  # not even if every letter were a token
        return length
    foreign = 0 if text.isascii() else cost - length // 4
    dense = len(_DENSE.findall(text)) + foreign
    if dense <= WINDOW_TOKENS and (cost <= MOST_TOKENS or kind in _WHOLE):
        return length
    return max(40, min(length * MOST_TOKENS // cost, length * WINDOW_TOKENS // max(dense, 1)))


def _pack(body: str, found: Iterator[Block]) -> list[Block]:
    spans: list[Block] = []
    current: Block | None = None
    for block in found:
        block.cost = _cost(body[block.start : block.end])
        if current is not None:
            filled = current.cost >= FULL_TOKENS or current.cost + block.cost > TARGET_TOKENS
            if (block.is_heading or filled) and not current.is_heading:
                spans.append(current)
                current = None
        if current is None:
            current = block
        else:
            _join(current, block)
        *done, current = _fitting(body, current)
        spans.extend(done)
    if current is not None:
        spans.append(current)
    return spans


def _join(current: Block, block: Block) -> None:
    current.end = block.end
    current.cost += block.cost
    if current.is_heading:
        current.heading, current.kind, current.lead = block.heading, block.kind, block.lead
    elif block.kind is not current.kind:
        current.kind = Kind.PROSE


def _fitting(body: str, block: Block) -> list[Block]:
    """A block, in pieces where it is too long."""
    most = _most(body[block.start : block.end], block.cost, block.kind)
    kind = Kind.PROSE if block.is_heading else block.kind
    pieces = []
    start = block.start
    while block.end - start > most:
        end = _cut(body, start + most // 2, start + most, kind)
        pieces.append(Block(start, end, block.heading, kind, block.lead))
        start = end
    if not pieces:
        return [block]
    cost = _cost(body[start : block.end])
    return [*pieces, Block(start, block.end, block.heading, kind, block.lead, cost)]


def _cut(body: str, low: int, high: int, kind: Kind) -> int:
    """Where to cut: at the last of the best marks between the two, else not within a letter."""
    for pattern in _CUTS.get(kind, _PROSE):
        last = 0
        for match in pattern.finditer(body, low, high):
            last = match.end()
        if last:
            return last
    for end in range(high, max(low, high - MAX_MARKS), -1):
        after = body[end]
        if not (unicodedata.combining(after) or after in _JOINERS or body[end - 1] in _JOINERS):
            return end
    return high
