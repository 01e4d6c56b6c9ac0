"""Cuts a note's body into passages along its markdown, each short enough for the model to read.

Every character of the body is in exactly one passage, in order: joined, the passages are the body.
Time is linear in the text. A note has at most `MAX_CHUNKS` passages; the last of so many holds all
the rest, which full text still finds word by word while its vector covers only its beginning.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

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
MAX_HEADING = 200
MAX_TITLE = 200

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+([^\n]*)|[ \t]*)$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r" {0,1}(?:[-*+]|\d{1,9}[.)])[ \t]")
_SENTENCE = re.compile(r"[.!?][\"')\]]*\s|[。！？]")
_SPACE = re.compile(r"\s")


@dataclass(frozen=True, slots=True)
class Chunk:
    """`text` is `body[start:end]`; `heading` is the path of headings above it, `A > B`."""

    ordinal: int
    start: int
    end: int
    heading: str
    text: str


@dataclass(slots=True)
class _Block:
    start: int
    end: int
    heading: str
    is_heading: bool = False
    cost: int = 0


def chunk(body: str, title: str = "") -> list[Chunk]:
    """The passages of a body. An empty body gives one empty passage, so that its title is found.

    A heading that only repeats the title is left out of the heading paths.
    """
    spans = _pack(body, _blocks(body, title.strip().casefold()))
    if len(spans) > MAX_CHUNKS:
        rest = spans[MAX_CHUNKS - 1]
        spans[MAX_CHUNKS - 1 :] = [_Block(rest.start, len(body), rest.heading)]
    if not spans:
        spans = [_Block(0, 0, "")]
    return [
        Chunk(ordinal, span.start, span.end, span.heading, body[span.start : span.end])
        for ordinal, span in enumerate(spans)
    ]


def embed_text(title: str, piece: Chunk) -> str:
    """What the model reads of a passage: title, headings, and the text without heading lines."""
    text = piece.text
    while text:  # the path already says what leading heading lines say
        line, _, rest = text.partition("\n")
        if line.strip() and not _HEADING.match(line.rstrip()):
            break
        text = rest
    return "\n".join(part for part in (title[:MAX_TITLE], piece.heading, text.strip()) if part)


def _cost(text: str) -> int:
    """Tokens, roughly: four ASCII letters each, about one for a letter of another script."""
    extra = 0 if text.isascii() else len(text.encode("utf-8", "surrogatepass")) - len(text)
    return len(text) // 4 + (3 * extra) // 8


def _blocks(body: str, title: str) -> Iterator[_Block]:
    """Paragraphs, list items, tables, code blocks and headings, with the blank lines after them."""
    path: list[tuple[int, str]] = []
    heading = ""
    block: _Block | None = None
    fence = ""
    after_blank = False
    for match in _LINE.finditer(body):
        line = match.group()
        start, end = match.span()
        short = line[:400].rstrip()
        if fence:
            closed = short.strip().startswith(fence) and not short.strip().strip(fence[0])
            fence = "" if closed else fence
            after_blank = closed
        elif not short:
            after_blank = True
        else:
            found = _HEADING.match(short)
            opened = _FENCE.match(short)
            starts = bool(found or opened or after_blank or _ITEM.match(short))
            if found:
                heading = _path_of(path, len(found[1]), (found[2] or "").rstrip("# \t"), title)
            if starts and block is not None:
                yield block
                block = None
            if block is None:
                block = _Block(start, start, heading, is_heading=bool(found))
            fence = opened[1] if opened else ""
            after_blank = bool(found)
        if block is None:  # blank lines before anything else
            block = _Block(start, start, heading, is_heading=True)
        block.end = end
    if block is not None:
        yield block


def _path_of(path: list[tuple[int, str]], level: int, text: str, title: str) -> str:
    while path and path[-1][0] >= level:
        path.pop()
    if text and text.strip().casefold() != title:
        path.append((level, text.strip()))
    return " > ".join(part for _, part in path)[:MAX_HEADING]


def _pack(body: str, blocks: Iterator[_Block]) -> list[_Block]:
    spans: list[_Block] = []
    current: _Block | None = None
    for block in blocks:
        block.cost = _cost(body[block.start : block.end])
        if current is not None:
            filled = current.cost >= FULL_TOKENS or current.cost + block.cost > TARGET_TOKENS
            if (block.is_heading or filled) and not current.is_heading:
                spans.append(current)
                current = None
        if current is None:
            current = block
        else:
            current.end = block.end
            current.cost += block.cost
            current.heading = block.heading if current.is_heading else current.heading
            current.is_heading = current.is_heading and block.is_heading
        if current.cost > MOST_TOKENS:
            *done, current = _split(body, current)
            spans.extend(done)
    if current is not None:
        spans.append(current)
    return spans


def _split(body: str, block: _Block) -> list[_Block]:
    """A block that is too long, in pieces that are not."""
    length = block.end - block.start
    most = max(40, length * MOST_TOKENS // max(block.cost, 1))
    pieces = []
    start = block.start
    while block.end - start > most:
        end = _cut(body, start + most // 2, start + most)
        pieces.append(_Block(start, end, block.heading))
        start = end
    last = _Block(start, block.end, block.heading)
    last.cost = _cost(body[start : block.end])
    return [*pieces, last]


def _cut(body: str, low: int, high: int) -> int:
    for pattern in (_SENTENCE, _SPACE):
        last = 0
        for match in pattern.finditer(body, low, high):
            last = match.end()
        if last:
            return last
        newline = body.rfind("\n", low, high)
        if newline >= 0:
            return newline + 1
    return high
