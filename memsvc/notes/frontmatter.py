"""Reads a note's frontmatter and edits it in place, touching only the lines that change."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from memsvc.errors import InvalidInput, Uneditable
from memsvc.notes.yaml_scalars import flow_list, quoted, scalar

if TYPE_CHECKING:
    from memsvc.notes.yaml_block import Entry

__all__ = ["Frontmatter", "Parts", "Value", "compose", "edit", "parse", "replace_body", "split"]

Value = str | int | list[str]
"""What a governed key may hold. A date is its text; the empty text is `key:` with nothing."""

Newline = Literal["\n", "\r\n"]

_BOM = "\ufeff"
_OPEN = re.compile(r"---[ \t]*(\r?\n)")
_CLOSE = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?$", re.MULTILINE)
_COMMENT = re.compile(r"[ \t]+#.*\Z")
_FLOW_KEYS = frozenset({"tags", "aliases"})
_NEVER_CLOSED = "the frontmatter is opened by --- and never closed"


@dataclass(frozen=True, slots=True)
class Parts:
    """Where a note's frontmatter and body are; offsets count characters of the content."""

    bom: str
    head: str
    """The YAML between the fences, without them."""
    head_start: int
    body_start: int
    has_block: bool
    never_closed: bool
    newline: Newline
    """The line end that most lines have."""


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """What a note's frontmatter says. With a `problem` there are no values.

    `texts` has each value as it was written: `1.10` is there "1.10", a list one text for each of
    its scalars; nothing and mappings have none.
    """

    values: Mapping[str, object]
    texts: Mapping[str, tuple[str, ...]]
    problem: str
    body_start: int
    newline: Newline
    bom: str


def split(content: str) -> Parts:
    """Find the frontmatter block; linear in the content's length.

    A block opens on the very first line, after a BOM, and closes with `---` or `...`.
    """
    bom = _BOM if content.startswith(_BOM) else ""
    newline = _newline(content)
    opened = _OPEN.match(content, len(bom))
    closed = _CLOSE.search(content, opened.end()) if opened else None
    if opened is None or closed is None:
        lone = opened is not None
        return Parts(
            bom, "", len(bom), len(bom), has_block=False, never_closed=lone, newline=newline
        )
    after = closed.end() + 1 if closed.end() < len(content) else closed.end()
    head = content[opened.end() : closed.start()]
    return Parts(
        bom, head, opened.end(), after, has_block=True, never_closed=False, newline=newline
    )


def _newline(content: str) -> Newline:
    windows = content.count("\r\n")
    return "\r\n" if windows and windows * 2 >= content.count("\n") else "\n"


def parse(content: str) -> Frontmatter:
    """The frontmatter's values, or the problem that keeps them from being read.

    A block with a problem still ends where it closes: the body is behind it. Only a block that
    holds no properties at all, prose between two rules, is part of the body.
    """
    parts = split(content)
    problem, is_text = (_NEVER_CLOSED if parts.never_closed else ""), False
    values: dict[str, object] = {}
    texts: dict[str, tuple[str, ...]] = {}
    if parts.has_block and parts.head.strip():
        # the YAML library takes 30 ms to import: only where there is YAML
        from memsvc.notes.yaml_block import read_block

        block = read_block(parts.head)
        problem, is_text = block.problem, block.is_text
        values = {entry.key: _copied(entry.value) for entry in block.entries}
        texts = {entry.key: entry.texts for entry in block.entries}
    return Frontmatter(
        MappingProxyType(values),
        MappingProxyType(texts),
        problem,
        len(parts.bom) if is_text else parts.body_start,
        parts.newline,
        parts.bom,
    )


def _copied(value: object) -> object:
    """The value apart from the cached one."""
    if isinstance(value, list):
        return [_copied(item) for item in value]
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return value


def edit(content: str, changes: Mapping[str, Value | None]) -> str:
    """The content with some keys changed and every other byte as it was.

    None removes a key, the empty text leaves it empty, a missing key goes to the end of the block;
    a note without a block gets one. Comments on a changed key's line stay. Raises Uneditable if
    the frontmatter has a problem, or is written so that the change would touch anything else.
    """
    parts = split(content)
    before = parse(content)
    if before.problem:
        raise Uneditable(f"{before.problem}; mend it in an editor first")
    head, newline = parts.head, parts.newline
    if parts.has_block:
        newline = "\r\n" if content[: parts.head_start].endswith("\r\n") else "\n"
    head = _edited(head, changes, newline=newline)
    if parts.has_block:
        after = content[: parts.head_start] + head + content[parts.head_start + len(parts.head) :]
    elif head:
        rest = content[len(parts.bom) :]
        after = f"{parts.bom}---{newline}{head}---{newline}{rest}"
    else:
        return content
    _verify(before, after, changes, body=content[before.body_start :])
    return after


def _edited(head: str, changes: Mapping[str, Value | None], *, newline: str) -> str:
    """The block's text with keys set, added and removed."""
    from memsvc.notes.yaml_block import read_block  # see parse

    block = read_block(head)
    if block.fixed:
        raise Uneditable(block.fixed)
    indent = block.entries[0].indent if block.entries else 0
    pieces: list[str] = []
    at = 0
    for entry in block.entries:
        if entry.key not in changes or _same(entry.value, changes[entry.key]):
            continue
        if entry.colon_end < 0:
            raise Uneditable(f"the property {entry.key} is written unusually; simplify it first")
        start, end, text = _replacement(head, entry, changes[entry.key], newline=newline)
        pieces += (head[at:start], text)
        at = end
    pieces.append(head[at:])
    present = {entry.key for entry in block.entries}
    pieces.extend(
        _line(key, value, indent=indent, newline=newline)
        for key, value in changes.items()
        if key not in present and value is not None
    )
    return "".join(pieces)


def _replacement(
    head: str, entry: "Entry", value: Value | None, *, newline: str
) -> tuple[int, int, str]:
    """Which stretch of the block gives way to which text, so that the key has the value."""
    line_end = _line_end(head, entry.value_end)
    if value is None:
        return entry.start, head.find("\n", line_end) + 1 or len(head), ""
    rest = head[entry.value_end : line_end]
    if entry.shape in ("list", "map"):
        rest = head[entry.colon_end : _line_end(head, entry.colon_end)]
    comment = None if entry.shape == "text" else _COMMENT.search(rest)
    inline, items = _rendered(
        key=entry.key, value=value, in_block=entry.shape == "list", in_flow=entry.shape == "flow"
    )
    margin = " " * (entry.item_indent if entry.shape == "list" else entry.indent + 2)
    first = inline + (comment.group() if comment else "")
    text = newline.join([first, *(f"{margin}- {item}" for item in items)])
    return entry.colon_end, line_end, text


def _same(present: object, value: Value | None) -> bool:
    """Whether a key already has the value, however it is written."""
    if value == "":
        return present is None
    return value is not None and type(present) is type(value) and present == value


def _line_end(text: str, start: int) -> int:
    """Where the line's terminator begins."""
    end = text.find("\n", start)
    if end < 0:
        return len(text)
    return end - 1 if end > start and text[end - 1] == "\r" else end


def _rendered(
    key: str, value: Value, *, in_block: bool = False, in_flow: bool = False
) -> tuple[str, list[str]]:
    """What follows the colon on its line, and the items of a list on lines of their own."""
    if not isinstance(value, list):
        text = scalar(value, key=key)
        return (f" {text}" if text else ""), []
    if not value:
        return " []", []
    if in_flow or (key in _FLOW_KEYS and not in_block):
        return f" {flow_list(value)}", []
    return "", [quoted(item) for item in value]


def _line(key: str, value: Value, *, indent: int = 0, newline: str = "\n") -> str:
    """A whole entry with its line ends."""
    inline, items = _rendered(key, value)
    margin = " " * indent
    name = scalar(key) if key else '""'
    lines = [f"{margin}{name}:{inline}", *(f"{margin}  - {item}" for item in items)]
    return "".join(f"{line}{newline}" for line in lines)


def _verify(
    before: Frontmatter, after: str, changes: Mapping[str, Value | None], *, body: str
) -> None:
    """Read the result again; raises Uneditable if anything but the changes changed."""
    found = parse(after)
    wanted: dict[str, object] = dict(before.values)
    for key, value in changes.items():
        if value is None:
            wanted.pop(key, None)
        else:
            wanted[key] = None if value == "" else value
    same_texts = all(
        found.texts.get(key) == texts for key, texts in before.texts.items() if key not in changes
    )
    if found.problem or dict(found.values) != wanted or not same_texts:
        raise Uneditable(
            "the frontmatter cannot be changed without touching other properties "
            f"({found.problem or 'an anchor, a tag or an unusual layout'}); simplify it in an editor"
        )
    if after[found.body_start :] != body:
        raise Uneditable("the frontmatter cannot be changed without touching the text")


def compose(values: Mapping[str, Value], body: str) -> str:
    """A new note's content: the block with `values` in their order, then exactly `body`.

    A body that itself begins with a `---` block stays body. Raises InvalidInput if the values do
    not come back as they are, for example because they are too long.
    """
    head = "".join(_line(key, value) for key, value in values.items())
    content = f"---\n{head}---\n{body}"
    found = parse(content)
    wanted = {key: None if value == "" else value for key, value in values.items()}
    if found.problem or dict(found.values) != wanted or content[found.body_start :] != body:
        raise InvalidInput(
            "title, reason, source or tags cannot be kept as frontmatter "
            f"({found.problem or 'they hold characters that no file keeps'}); shorten or simplify them"
        )
    return content


def replace_body(content: str, body: str) -> str:
    """The content with another body: same frontmatter, the file's own line ends.

    Lines that both bodies begin or end with keep their bytes; so does a missing or present last
    line end. Raises Uneditable if the frontmatter has a problem.
    """
    found = parse(content)
    if found.problem:
        raise Uneditable(f"{found.problem}; mend it in an editor first")
    head, old = content[: found.body_start], content[found.body_start :]
    new = _merged(old, body, newline=found.newline)
    has_block = found.body_start > len(found.bom)
    if has_block and new and not head.endswith("\n"):
        head += found.newline
    elif not has_block and _OPEN.match(new):
        # a text that begins like frontmatter stays text behind an empty block
        head = f"{head}---{found.newline}---{found.newline}"
    after = head + new
    if parse(after).body_start != len(head):
        raise Uneditable("the new text would be taken for frontmatter; begin it with another line")
    return after


def _merged(old: str, new: str, *, newline: str) -> str:
    """The new text, with the old one's bytes where the lines are the same."""
    old_lines, new_lines = _lines(old), _lines(new)
    first = 0
    for mine, theirs in zip_longest(old_lines, new_lines):
        if mine is None or theirs is None or _bare(mine) != _bare(theirs):
            break
        first += 1
    last = 0
    room = min(len(old_lines), len(new_lines)) - first
    while last < room and _bare(old_lines[-1 - last]) == _bare(new_lines[-1 - last]):
        last += 1
    middle = [
        _bare(line) + (newline if line.endswith("\n") else "")
        for line in new_lines[first : len(new_lines) - last]
    ]
    text = [*old_lines[:first], *middle, *(old_lines[-last:] if last else [])]
    for at, line in enumerate(text[:-1]):
        if not line.endswith("\n"):
            text[at] = line + newline
    merged = "".join(text)
    if old and not old.endswith("\n"):
        return merged.removesuffix("\n").removesuffix("\r")
    return merged if not merged or merged.endswith("\n") else merged + newline


def _lines(text: str) -> list[str]:
    """Lines with their ends; only LF and CRLF end one."""
    pieces = text.split("\n")
    return [f"{piece}\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def _bare(line: str) -> str:
    return line[:-2] if line.endswith("\r\n") else line.removesuffix("\n")
