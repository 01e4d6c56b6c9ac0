"""Splits a note's text into claims, the smallest statements that can be rejected.

A claim is a sentence, a list item, a table row or cell, a heading, or a line of code. A sentence
that is wrapped over lines is one claim; `A; B` is one claim; `key: value` lines that follow each
other, and lines parted by a hard break, are a claim each. What a reader does not see is split as
well (comments, link definitions, anything nested too deep to be shown), so that no corner of the
markdown shelters a rejected statement.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from memsvc.notes.normal import fold, normal_form
from memsvc.notes.plain import BLANK, comment_spans, mask_inline, mask_lines, plain

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

__all__ = ["Claim", "ClaimKind", "claims", "counts", "dropped", "plain_claim", "whole"]

ClaimKind = Literal["sentence", "item", "row", "heading", "code"]

MAX_PARSED = 1_000_000
"""Characters; a longer text is split by lines, without reading its markdown blocks."""
WORDS = 4
"""So many words make a claim count; a cell with so many is a claim of its own."""
CJK_CHARACTERS = 6
"""Chinese, Japanese and Thai are written without spaces: so many characters stand for four words."""

_UNSPACED = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(r"[^\W_]+(?:['’.\-_/][^\W_]+)*")
_UNSPACED_CHARACTER = re.compile(f"[{_UNSPACED}]")
_VALUE = re.compile(
    r"\d"
    r"|[^\W_]_[^\W_]"
    r"|[a-z][A-Z]"
    r"|[^\W\d_]{2,}(?:\.|::|/)[^\W\d_]{2,}"
    r"|[^\W\d_]@[^\W\d_]"
)

_UNSEEN = (
    "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e0fff"
)
_CLOSERS = "\"'”’»)\\]}*_~`=" + BLANK + _UNSEEN
_END = re.compile(rf"[.!?…]+[{_CLOSERS}]*(?=\s|$)|[。！？｡．]+[{_CLOSERS}」』】）]*|\n")
_LAST_WORD = re.compile(r"[^\s(\[\"'“‘]{1,24}$")
_ABBREVIATIONS = re.compile(
    r"e\.?g|i\.?e|cf|vs?|viz|ca|approx|dr|mrs?|ms|prof|dept|figs?|eq|sec|ch|vol|pp|z\.b|d\.h|bzw|vgl"
    r"|u\.a|abs|str|resp|incl|excl"
)
_PERHAPS_LAST = {"inc", "ltd", "co", "corp", "jr", "sr", "st", "est", "al", "p", "max", "min"}
_MAX_DOUBTS = 3
"""Doubtful ends of one sentence that are also read as ends; more would cost quadratic time."""
_BEFORE_NUMBER = {"no", "nr", "art", "pos", "ver", "rev", "ext"}
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_DEFINITION = re.compile(r"^[ \t>]*\[([^\[\]\n^][^\[\]\n]*)\]:[ \t]*\S", re.MULTILINE)
_REFERENCE = re.compile(r"\]\[([^\[\]\n]+)\]")
_NO_BRACKETS = str.maketrans("()", "--")
_CALLOUT = re.compile(r"[ \t]*\[![^\]\n]+\][+-]?[^\n]*\n")
_MAY_BREAK = re.compile(r"[\n<]")
_PAIR_LINE = re.compile(
    rf"[*_` {BLANK}]{{0,4}}[^\s:*_`][^:\n]{{0,40}}[*_`{BLANK}]{{0,3}}:[*_`{BLANK}]{{0,3}}[ \t]"
)


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement: its plain text, its normal form, where it stands, and what it is."""

    text: str
    normal: str
    start: int
    end: int
    kind: ClaimKind
    aside: bool = False
    """A second reading, to be looked up among what was rejected and never to be rejected itself."""


def claims(body: str) -> list[Claim]:
    """Every claim of a body (without frontmatter) in order of place. Never raises.

    `body[claim.start:claim.end]` is its source. Repeated statements are repeated. Texts of signs
    alone are no claims.
    """
    source = _with_links(body.replace(BLANK, "\ufffd"))
    source = source.replace("\r\n", " \n").replace("\r", "\n")
    found: list[Claim] = []
    if len(source) <= MAX_PARSED:
        try:
            found.extend(_Blocks(source).claims())
        except RecursionError:
            found.extend(_by_lines(source, 0))
    else:
        found.extend(_by_lines(source, 0))
    for start, end in comment_spans(source):
        inside = source[start:end].strip("<>!-%")
        found.extend(_by_lines(inside, source.index(inside, start)))
    return sorted(found, key=lambda claim: (claim.start, -claim.end))


def plain_claim(text: str) -> Claim:
    """A title, or any one line, as a claim."""
    return Claim(plain(text), normal_form(text), 0, len(text), "heading")


def counts(text: str) -> bool:
    """Whether a claim's plain text is enough to be rejected by itself.

    Four words (or six characters of a script without spaces), a number, or an identifier
    (`snake_case`, `camelCase`, `file.py`, `a/b`, an address). Case matters: ask with the text, not
    with the normal form. When a new text is checked against what was rejected, do not ask at all.
    """
    if _VALUE.search(text):
        return True
    unspaced = len(_UNSPACED_CHARACTER.findall(text))
    words = len(_WORD.findall(_UNSPACED_CHARACTER.sub(" ", text)))
    return words + unspaced * WORDS // CJK_CHARACTERS >= WORDS


def whole(body: str) -> str:
    """The normal form of a whole body, which is always a claim; empty for an empty body."""
    return normal_form(_with_links(body))


def dropped(old: str, new: str) -> list[Claim]:
    """The claims of an old body that a new one does not make, each once.

    A claim that the new body states anywhere, as a claim or as its whole text, is kept.
    """
    kept = {claim.normal for claim in claims(new)} | {whole(new)}
    gone: dict[str, Claim] = {}
    for claim in claims(old):
        if claim.normal not in kept and not claim.aside:
            gone.setdefault(claim.normal, claim)
    return list(gone.values())


def _with_links(body: str) -> str:
    """The body with `[label][name]` as `[label](name)`, which is as long, where the name is defined."""
    defined = {_name(match[1]) for match in _DEFINITION.finditer(body)}
    if not defined:
        return body

    def direct(match: "re.Match[str]") -> str:
        if _name(match[1]) not in defined:
            return match[0]
        return f"]({match[1].translate(_NO_BRACKETS)})"  # where it leads is no part of a claim

    return _REFERENCE.sub(direct, body)


def _name(text: str) -> str:
    return " ".join(text.split()).casefold()


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # slow to import, and not needed to start

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


class _Blocks:
    """One pass over the block tokens of a body."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.starts = [0]
        for match in re.finditer("\n", source):
            self.starts.append(match.end())
        self.starts.append(len(source) + 1)
        self.covered = bytearray(len(self.starts))

    def claims(self) -> Iterator[Claim]:
        tokens = _parser().parse(self.source)
        alone = _lone_numbers(tokens)
        prefix, stands = "", 0
        inside: list[str] = []
        row: list[Token] = []
        for token in tokens:
            if token.nesting > 0:
                inside.append(token.type)
                if token.type == "tr_open":
                    row = [token]
                if id(token) in alone:
                    prefix, stands = f"{token.info}{token.markup} ", (token.map or [0, 0])[0]
            elif token.nesting < 0:
                inside.pop()
                if token.type == "tr_close":
                    yield from self._row(row)
            elif token.type == "inline":
                if "tr_open" in inside[-2:]:
                    row.append(token)
                else:
                    yield from self._inline(token, _kind(inside), prefix, stands)
                    prefix = ""
            elif token.type in {"fence", "code_block", "html_block"}:
                yield from self._literal(token)
        yield from self._left_over()

    def _line(self, number: int) -> str:
        return self.source[self.starts[number] : self.starts[number + 1] - 1]

    def _cover(self, first: int, after: int) -> None:
        self.covered[first:after] = b"\x01" * (after - first)

    def _inline(self, token: "Token", kind: ClaimKind, prefix: str, stands: int) -> Iterator[Claim]:
        """The sentences of a text; the first has the prefix, which is in the line `stands`."""
        first, after = token.map or [0, 0]
        self._cover(first, after)
        places = []
        at = 0
        for number, line in enumerate(token.content.split("\n"), start=first):
            stripped = line.lstrip()
            where = self._line(number).rfind(stripped) if number < after else -1
            places.append((at + len(line) - len(stripped), self.starts[number] + max(where, 0)))
            at += len(line) + 1
        keys = [place for place, _ in places]
        for start, end, text in _block_sentences(token.content):
            begin, after_it = _placed(places, keys, start), _placed(places, keys, end - 1) + 1
            if prefix:  # a date, or the number of an item that stands alone
                yield replace(_claim(text, begin, after_it, kind), aside=True)
                begin = self.starts[stands] + max(self._line(stands).find(prefix.strip()), 0)
            yield _claim(prefix + text, begin, after_it, kind)
            prefix = ""
        for start, end, text in _joined_sentences(token.content):
            begin, after_it = _placed(places, keys, start), _placed(places, keys, end - 1) + 1
            yield replace(_claim(text, begin, after_it, kind), aside=True)

    def _row(self, row: list["Token"]) -> Iterator[Claim]:
        """A row is a claim, and each sentence of four words in a cell, wherever it stands."""
        number = (row[0].map or [0, 0])[0]
        self._cover(number, number + 1)
        line, start = self._line(number), self.starts[number]
        cells = [cell.content for cell in row[1:] if cell.content]
        yield from _if_said(
            _claim(" ".join(_seen(cell) for cell in cells), start, start + len(line), "row")
        )
        at = 0
        for cell in cells:
            found = line.find(cell, at)
            offset = start + max(found, at)
            at = max(found + len(cell), at)
            for first, end, text in _sentences(cell):
                if len(_WORD.findall(text)) >= WORDS:
                    yield _claim(text, offset + first, min(offset + end, start + len(line)), "row")

    def _literal(self, token: "Token") -> Iterator[Claim]:
        """Lines of code or HTML; the opening line of a fence is left over, for what it may say."""
        first, after = token.map or [0, 0]
        opening = int(token.type == "fence")
        self._cover(first + opening, after)
        number = first + opening
        for line in token.content.split("\n"):
            if number >= after:
                break
            where = self.starts[number] + max(self._line(number).find(line), 0)
            code = token.type != "html_block"
            for start, end, text in _sentences(line, literal=code):
                yield _claim(text, where + start, where + end, "code" if code else "sentence")
            number += 1

    def _left_over(self) -> Iterator[Claim]:
        for number in range(len(self.starts) - 1):
            if not self.covered[number]:
                yield from _by_lines(self._line(number), self.starts[number])


def _lone_numbers(tokens: list["Token"]) -> set[int]:
    """The only items of ordered lists that begin beyond 1: `12. March` is a date, and is kept."""
    found: set[int] = set()
    open_lists: list[list[Token]] = []
    for token in tokens:
        if token.type in {"ordered_list_open", "bullet_list_open"}:
            open_lists.append([])
        elif token.type == "list_item_open":
            open_lists[-1].append(token)
        elif token.type in {"ordered_list_close", "bullet_list_close"}:
            items = open_lists.pop()
            if len(items) == 1 and items[0].info not in {"", "0", "1"}:
                found.add(id(items[0]))
    return found


def _kind(inside: list[str]) -> ClaimKind:
    if inside[-1] == "heading_open":
        return "heading"
    return "item" if "list_item_open" in inside else "sentence"


def _placed(places: list[tuple[int, int]], keys: list[int], offset: int) -> int:
    """Where an offset of a block's content stands in the source."""
    content, source = places[max(bisect_right(keys, offset) - 1, 0)]
    return source + max(offset - content, 0)


def _claim(text: str, start: int, end: int, kind: ClaimKind) -> Claim:
    return Claim(text, fold(text), start, end, kind)


def _if_said(claim: Claim) -> Iterator[Claim]:
    if claim.normal:
        yield claim


def _by_lines(text: str, offset: int) -> Iterator[Claim]:
    """Sentences of each line by itself; the words after a fence's ticks count too."""
    at = offset
    for line in text.split("\n"):
        lead = len(line) - len(line.lstrip(" \t>"))
        fence = re.match(r"(?:`{3,}|~{3,})", line[lead:])
        if fence:
            opened = lead + fence.end()
            masked = BLANK * opened + line[opened:] if " " in line[opened:].strip() else ""
        else:
            masked = mask_lines(line)
        for start, end, said in _sentences(masked):
            yield _claim(said, at + start, at + end, "sentence")
        at += len(line) + 1


def _seen(content: str) -> str:
    return " ".join(mask_inline(content).replace(BLANK, "").split())


def _sentences(
    content: str, *, literal: bool = False, parted: bool = True
) -> Iterator[tuple[int, int, str]]:
    """The sentences of a block: start, end, and text without markdown, of those that say anything.

    Hard breaks end one only if `parted`.
    """
    masked = content if literal else mask_inline(content)
    start = 0
    doubts: list[int] = []
    for end, certain in [*_ends(masked, parted=parted), (len(masked), True)]:
        if not certain:
            doubts.append(end)
            continue
        yield from _piece(masked, start, end, words=0)
        for doubt in doubts[:_MAX_DOUBTS]:
            yield from _piece(masked, start, doubt, words=WORDS)
            yield from _piece(masked, doubt, end, words=WORDS)
        start = end
        doubts.clear()


def _block_sentences(content: str) -> Iterator[tuple[int, int, str]]:
    """The sentences of a paragraph or item; the first line of a callout is its title."""
    masked = mask_lines(content)
    title = _CALLOUT.match(content)
    for begin, end in pairwise((0, *((title.end(),) if title else ()), len(masked))):
        for first, last, text in _sentences(masked[begin:end]):
            yield begin + first, begin + last, text


def _joined_sentences(content: str) -> Iterator[tuple[int, int, str]]:
    """The sentences that hard breaks part, read on: a break may stand inside one."""
    parted = list(_block_sentences(content))
    if len(parted) < 2 or not _MAY_BREAK.search(content):  # nothing that ends before its sentence
        return
    for one in _sentences(mask_lines(content), parted=False):
        if one not in parted:
            yield one


def _piece(masked: str, start: int, end: int, *, words: int) -> Iterator[tuple[int, int, str]]:
    """One sentence, if it says anything in at least so many words."""
    piece = masked[start:end]
    said = " ".join(piece.replace(BLANK, "").split())
    if any(char.isalnum() for char in said) and len(_WORD.findall(said)) >= words:
        lead = len(piece) - len(piece.lstrip(" \t\n" + BLANK))
        trail = len(piece) - len(piece.rstrip(" \t\n"))
        yield start + lead, end - trail, said


def _ends(masked: str, *, parted: bool) -> Iterator[tuple[int, bool]]:
    """Where sentences end, and whether that is certain."""
    for match in _END.finditer(masked):
        sign = match[0]
        if sign == "\n":
            if _breaks(masked, match.start(), parted=parted):
                yield match.end(), True
        elif not sign.startswith(".") or sign.startswith(".."):
            yield match.end(), True
        else:
            ending = _ending(masked, match)
            if ending != "abbreviation":
                yield match.end(), ending == "end"


def _breaks(masked: str, at: int, *, parted: bool) -> bool:
    """Whether a line end parts two statements: a definition, `key: value` twice, or a hard break."""
    before, after = masked[at - 1 : at], masked[at + 1 : at + 2]
    if after == ":" and masked[at + 2 : at + 3] in {" ", "\t"}:  # what a term means
        return True
    first = masked.rfind("\n", 0, at) + 1
    if _PAIR_LINE.match(masked, first, at) and _PAIR_LINE.match(masked, at + 1):
        return True
    hard = masked[max(at - 2, 0) : at] == "  " or before == "\\" or after == BLANK
    return parted and hard


def _ending(masked: str, match: "re.Match[str]") -> Literal["end", "doubt", "abbreviation"]:
    """What a full stop is, whatever the case of what follows: case is no part of a claim."""
    found = _LAST_WORD.search(masked, max(match.start() - 24, 0), match.start())
    if found is None:
        return "end"
    word = found[0].replace(BLANK, "").lower()
    following = masked[match.end() : match.end() + 3].lstrip()
    if _ABBREVIATIONS.fullmatch(word) or (word in _BEFORE_NUMBER and following[:1].isdigit()):
        return "abbreviation"
    if word in _PERHAPS_LAST or (_INITIALS.fullmatch(word) and word != "i"):
        return "doubt"
    return "end"
