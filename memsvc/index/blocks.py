"""Reads a body's markdown into blocks: what a passage should not be cut through, where it fits.

A paragraph, a top list item with all that is nested in it, a table, a code block, a quote, a
comment, a footnote and a heading are a block each, with the blank lines after it. Linear in the
text; every character is in exactly one block.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

__all__ = ["HEADING", "Block", "Kind", "blocks"]

MAX_HEADING = 200
MAX_LEAD = 200
MAX_LINE = 400
"""Of a longer line only the beginning is looked at."""

HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+([^\n]*)|[ \t]*)$")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
_RULE = re.compile(r" {0,3}([=-])\1*$")
_DELIMITER = re.compile(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$")
_FOOTNOTE = re.compile(r" {0,3}\[\^[^\]\s]{1,60}\]:")


class Kind(Enum):
    """What a block is, as far as cutting it matters."""

    HEADING = auto()
    PROSE = auto()
    ITEM = auto()
    TABLE = auto()
    CODE = auto()
    QUOTE = auto()
    COMMENT = auto()


@dataclass(slots=True)
class Block:
    """`body[start:end]`. `lead` is the span of what it cannot be understood without, before it."""

    start: int
    end: int
    heading: str
    kind: Kind = Kind.PROSE
    lead: tuple[int, int] | None = None
    cost: int = 0

    @property
    def is_heading(self) -> bool:
        """Whether it leads on to what is below it."""
        return self.kind is Kind.HEADING


def blocks(body: str, title: str) -> Iterator[Block]:
    """The blocks of a body in order. Headings that only repeat `title` (folded) are in no path."""
    reader = _Reader(body, title)
    for match in _LINE.finditer(body):
        yield from reader.line(match.group(), *match.span())
    if reader.block is not None:
        yield reader.block


class _Reader:
    """The state between two lines."""

    def __init__(self, body: str, title: str) -> None:
        self.body = body
        self.title = title
        self.block: Block | None = None
        self.path: list[tuple[int, str]] = []
        self.heading = ""
        self.fence = ""
        self.comments = True
        self.comment_end = 0
        self.after_blank = False
        self.base: int | None = None  # the indent of the list's items, while in a list
        self.lead: tuple[int, int] | None = None
        self.above = (0, 0)  # the span of the line before
        self.lines = 0  # of the block, blank ones left out

    def line(self, line: str, start: int, end: int) -> Iterator[Block]:
        short = line[:MAX_LINE].rstrip()
        if self.fence or start < self.comment_end:
            self._inside(short, end)
        elif not short:
            self.after_blank = True
            if self.block is None:  # blank lines before anything else
                self.block = Block(start, start, self.heading, Kind.HEADING)
        elif short[0].isalpha() or not self._underlines(short):
            kind = self._begins(short, start)
            if kind is Kind.TABLE and self.block is not None:
                yield from self._split_off_header()
            elif kind is not None or self.block is None:
                yield from self._start(start, kind)
            self._after(short, start)
        if self.block is not None:
            self.block.end = end
        self.above = (start, end)

    def _inside(self, short: str, end: int) -> None:
        """A line of a code block or a comment, perhaps the last one."""
        if self.fence:
            bare = short.strip()
            if bare.startswith(self.fence) and not bare.strip(self.fence[0]):
                self.fence = ""
                self.after_blank = True
        elif end >= self.comment_end:
            self.after_blank = True

    def _begins(self, short: str, start: int) -> Kind | None:
        """What kind of block the line begins, or None if it goes on with the one above."""
        if short[0].isalpha():  # most lines: no mark begins with a letter
            return Kind.PROSE if self.after_blank else None
        indent = _indent(short)
        in_list = self.base is not None
        if in_list and indent > (self.base or 0) + 1 and not HEADING.match(short):
            return None  # nested in the item, whatever it is
        if indent >= 4 and self._is_indented_code():
            return None
        found = self._marked(short, indent, start)
        if found is not None:
            return found
        if self.after_blank:
            return Kind.PROSE
        return None

    def _marked(self, short: str, indent: int, start: int) -> Kind | None:
        """The kind of block that the line's first characters announce."""
        if indent >= 4:
            return Kind.CODE if self.after_blank or self.block is None else None
        if HEADING.match(short):
            return Kind.HEADING
        for kind, pattern in ((Kind.CODE, _FENCE), (Kind.ITEM, _ITEM), (Kind.PROSE, _FOOTNOTE)):
            if pattern.match(short):
                return kind
        bare = short.lstrip()
        if bare.startswith(">"):
            return None if self._goes_on(Kind.QUOTE) else Kind.QUOTE
        if bare.startswith("<!--") and self._closes(start):
            return Kind.COMMENT
        return Kind.TABLE if self._is_table(short) else None

    def _is_indented_code(self) -> bool:
        block = self.block
        return block is not None and block.kind is Kind.CODE and self.body[block.start] in " \t"

    def _goes_on(self, kind: Kind) -> bool:
        return self.block is not None and self.block.kind is kind and not self.after_blank

    def _closes(self, start: int) -> bool:
        """Whether a comment ends anywhere; remembered where not, so that nobody looks twice."""
        found = self.body.find("-->", start) if self.comments else -1
        self.comments = found >= 0
        if found >= 0:
            self.comment_end = found + 3
        return found >= 0

    def _is_table(self, short: str) -> bool:
        """Whether the line is the rule below a table's header."""
        if "|" not in short or self.after_blank or not self.lines or not _DELIMITER.match(short):
            return False
        return self._goes_on(Kind.PROSE) and "|" in self.body[self.above[0] : self.above[1]]

    def _underlines(self, short: str) -> bool:
        """Whether the line makes a heading of the one line above it; then it is one."""
        rule = _RULE.match(short)
        block = self.block
        if not rule or block is None or self.after_blank or self.lines != 1:
            return False
        if block.kind is not Kind.PROSE or len(short.strip()) < 3:
            return False
        text = self.body[block.start : block.start + MAX_LINE].split("\n", 1)[0].strip()
        self.heading = self._path_of(1 if rule[1] == "=" else 2, text)
        block.kind, block.heading = Kind.HEADING, self.heading
        self.after_blank = True
        return True

    def _start(self, start: int, kind: Kind | None) -> Iterator[Block]:
        """Give away the block above and begin another."""
        before, self.block = self.block, None
        if before is not None:
            yield before
        if kind is Kind.ITEM:
            self.lead = self.lead if self.base is not None else self._introduction(before)
        else:
            self.lead, self.base = None, None
        lead = self.lead if kind is Kind.ITEM else None
        self.block = Block(start, start, self.heading, Kind.PROSE if kind is None else kind, lead)
        self.lines = 0

    def _after(self, short: str, start: int) -> None:
        """What the line leaves behind for the next ones."""
        block = self.block
        self.lines += 1
        self.after_blank = False
        if block is None:
            return
        if not short[0].isalpha():
            opened = _FENCE.match(short) if self.base is not None or _indent(short) < 4 else None
            self.fence = opened[1] if opened else ""
        if block.start != start:
            return
        if block.kind is Kind.HEADING:
            found = HEADING.match(short)
            if found:
                self.heading = self._path_of(len(found[1]), (found[2] or "").rstrip("# \t"))
            block.heading = self.heading
            self.after_blank = True
        elif block.kind is Kind.ITEM:
            self.base = _indent(short)
        elif block.kind is Kind.COMMENT:
            self.after_blank = True

    def _introduction(self, before: Block | None) -> tuple[int, int] | None:
        """The line right above a list that announces it: `The ports are:`."""
        if before is None or before.kind is not Kind.PROSE:
            return None
        text = self.body[max(before.start, before.end - 2 * MAX_LEAD) : before.end].rstrip()
        if not text.endswith((":", "：")):
            return None
        end = max(before.start, before.end - 2 * MAX_LEAD) + len(text)
        start = max(before.start, self.body.rfind("\n", before.start, end) + 1)
        return (start, end) if end - start <= MAX_LEAD else None

    def _split_off_header(self) -> Iterator[Block]:
        """The line above is a table's header: what stands before it is a block of its own."""
        block, (start, end) = self.block, self.above
        if block is None:
            return
        if block.start < start:
            yield Block(block.start, start, block.heading, block.kind, block.lead)
        header = (start, min(end, start + MAX_LEAD))
        self.block = Block(start, end, self.heading, Kind.TABLE, header)
        self.base = None

    def _path_of(self, level: int, text: str) -> str:
        while self.path and self.path[-1][0] >= level:
            self.path.pop()
        if text and text.strip().casefold() != self.title:
            self.path.append((level, text.strip()))
        return " > ".join(part for _, part in self.path)[:MAX_HEADING]


def _indent(line: str) -> int:
    """Columns before the first letter."""
    return len(line[: len(line) - len(line.lstrip())].expandtabs(4))
