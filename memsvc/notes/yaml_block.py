"""Reads a frontmatter block's YAML into values, with the place of every key in the text.

YAML 1.2, core schema, on purpose narrow: dates and times stay text, `no` is text, `007` is text.
An unquoted `[[Note]]` is the link that its writer meant, not a list in a list.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

__all__ = ["MAX_HEAD", "Block", "Entry", "read_block"]

MAX_HEAD = 64 * 1024
"""Characters of YAML that are looked at; a larger block is a problem, not a wait."""

_MAX_NESTING = 40
_MAX_NODES = 10_000
_STR = "tag:yaml.org,2002:str"
_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,2})?\Z")
_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {word: word[0] in "tT" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
_LINK = re.compile(r"\[\[[^\[\]\n\"']+\]\]\Z")
_COLON = re.compile(r"[ \t]*:")
_COMMENT = re.compile(r"[ \t]*(?:#.*)?\r?\Z")
_ODD_BREAKS = re.compile("[\x85\u2028\u2029]|\r(?!\n)")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

Shape = Literal["empty", "scalar", "text", "flow", "list", "map"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One top-level key: its value, and where it stands (offsets into the block's text)."""

    key: str
    value: object
    texts: tuple[str, ...]
    """The value as written: one text for a scalar, one for each scalar of a list."""
    shape: Shape
    indent: int
    item_indent: int
    start: int
    """Where the key's first line begins."""
    colon_end: int
    """Just behind the colon; -1 if the entry is written in a way that is left alone."""
    value_end: int


@dataclass(frozen=True, slots=True)
class Block:
    """The entries in their order. With a `problem` there are none."""

    entries: tuple[Entry, ...] = ()
    problem: str = ""
    fixed: str = ""
    """Why the block can be read and not edited."""
    is_text: bool = False
    """The block is no mapping at all: prose between two rules."""


class _Unreadable(Exception):
    """The block is YAML, but none that is taken in."""


@lru_cache(maxsize=256)
def read_block(head: str) -> Block:
    """The entries of a block, or what is wrong with it. Linear time; never raises."""
    if len(head) > MAX_HEAD:
        return Block(problem=f"the frontmatter is larger than {MAX_HEAD // 1024} KB")
    try:
        return _read(head)
    except RecursionError:
        return Block(problem="the frontmatter is nested too deeply")
    except _Unreadable as error:
        return Block(problem=str(error))
    except YAMLError as error:
        return Block(problem=f"the frontmatter is no YAML: {_where(error)}")
    except (ValueError, LookupError, TypeError, AttributeError, AssertionError, OverflowError):
        # what the library lets through on nonsense such as a directive without a number
        return Block(problem="the frontmatter is no YAML")


def _read(head: str) -> Block:
    if _nesting(head) > _MAX_NESTING:
        raise _Unreadable("the frontmatter is nested too deeply")
    root = _compose(head)
    if root is None or (isinstance(root, ScalarNode) and root.value in _NULL):
        return Block()
    if not isinstance(root, MappingNode):
        return Block(problem="the frontmatter is not a list of properties", is_text=True)
    fixed = ""
    if root.flow_style:
        fixed = "the frontmatter is written as {…}; write one property a line to edit it"
    elif _ODD_BREAKS.search(head):  # line ends to the YAML library, to nobody else
        fixed = "the frontmatter holds a line separator that is no newline; take it out to edit it"
    return Block(_Reader(head).entries(root), fixed=fixed)


def _compose(head: str) -> Node | None:
    yaml = YAML(typ="safe", pure=True)
    yaml.version = (1, 2)
    yaml.composer.warn_double_anchors = False
    found: Node | None = yaml.compose(head)
    return found


def _where(error: YAMLError) -> str:
    """The library's complaint without the text it complains about."""
    problem = getattr(error, "problem", None)
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    line = f" (line {mark.line + 2})" if mark is not None else ""
    words = str(problem).split("\n", 1)[0] if problem else "it holds characters that YAML forbids"
    return re.sub(r"'[^']*'|\"[^\"]*\"", "…", words)[:80] + line


def _nesting(head: str) -> int:
    """How deep brackets nest, whatever they stand in."""
    if head.count("[") + head.count("{") <= _MAX_NESTING:
        return 0
    depth = deepest = 0
    for character in head:
        if character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}" and depth:
            depth -= 1
    return deepest


class _Reader:
    """Turns nodes into values, with a limit on how many."""

    def __init__(self, head: str) -> None:
        self._head = head
        self._nodes = 0
        self._seen: set[int] = set()

    def entries(self, root: MappingNode) -> tuple[Entry, ...]:
        found: list[Entry] = []
        pairs = [(key, value) for key, value in root.value]
        keys = [self._key(key) for key, _ in pairs]
        if len(set(keys)) < len(keys):
            raise _Unreadable("a frontmatter key occurs twice")
        for at, (key_node, node) in enumerate(pairs):
            following = (
                pairs[at + 1][0].start_mark.index if at + 1 < len(pairs) else len(self._head)
            )
            found.append(self._entry(keys[at], key_node, node, following))
        return tuple(found)

    def _entry(self, key: str, key_node: Node, node: Node, following: int) -> Entry:
        aliased = id(node) in self._seen
        self._seen.add(id(node))
        value = self._value(node, 0)
        begin = key_node.start_mark.index
        start = self._head.rfind("\n", 0, begin) + 1
        colon = _COLON.match(self._head, key_node.end_mark.index)
        shape = self._shape(node, value)
        alone = not self._head[start:begin].strip(" ") and "\n" not in key
        return Entry(
            key=key,
            value=value,
            texts=self._texts(node, value),
            shape=shape,
            indent=key_node.start_mark.column,
            item_indent=node.start_mark.column,
            start=start,
            colon_end=colon.end() if colon and alone and not aliased else -1,
            value_end=self._value_end(node, shape, colon.end(), following) if colon else -1,
        )

    def _key(self, node: Node) -> str:
        if isinstance(node, ScalarNode):
            return _storable(node.value)
        return _storable(self._source(node))

    def _source(self, node: Node) -> str:
        return self._head[node.start_mark.index : node.end_mark.index]

    def _shape(self, node: Node, value: object) -> Shape:
        if isinstance(node, ScalarNode):
            if node.style in ("|", ">"):
                return "text"
            return "empty" if value is None and not node.value else "scalar"
        if isinstance(node, SequenceNode | MappingNode) and node.flow_style:
            return "flow"
        return "list" if isinstance(node, SequenceNode) else "map"

    def _value_end(self, node: Node, shape: Shape, colon_end: int, following: int) -> int:
        """Behind the value's last character, before a comment or the line's end."""
        if shape == "empty":
            return colon_end
        if shape in ("scalar", "flow"):
            return int(node.end_mark.index)
        begin = (
            self._head.rfind("\n", 0, following) + 1 if following < len(self._head) else following
        )
        lines = self._head[colon_end:begin].split("\n")
        while len(lines) > 1 and _is_between(lines[-1], of_text=shape == "text"):
            lines.pop()
        return colon_end + len("\n".join(lines).rstrip("\r"))

    def _value(self, node: Node, depth: int) -> object:
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            raise _Unreadable("the frontmatter holds too many values")
        if depth > _MAX_NESTING:
            raise _Unreadable("the frontmatter is nested too deeply")
        if isinstance(node, ScalarNode):
            return _scalar(node)
        if isinstance(node, SequenceNode):
            source = self._source(node) if node.flow_style else ""
            if _LINK.match(source):
                return _storable(source)
            return [self._value(item, depth + 1) for item in node.value]
        values: dict[str, object] = {}
        for key_node, item in node.value:
            key = self._key(key_node)
            if key in values:
                raise _Unreadable("a frontmatter key occurs twice")
            values[key] = self._value(item, depth + 1)
        return values

    def _texts(self, node: Node, value: object) -> tuple[str, ...]:
        if isinstance(node, ScalarNode):
            return () if value is None else (_storable(node.value),)
        if isinstance(value, str):
            return (value,)
        if not isinstance(value, list):
            return ()
        return tuple(
            text
            for item_node, item in zip(node.value, value, strict=True)
            if not isinstance(item, list | dict)
            for text in self._texts(item_node, item)
        )


def _is_between(line: str, *, of_text: bool) -> bool:
    """Whether a line behind a value is blank or a comment, so that it belongs to nobody."""
    if of_text:  # an indented `#` is part of a block of text
        return not line.strip() or line.startswith("#")
    return _COMMENT.match(line) is not None


def _scalar(node: ScalarNode) -> object:
    text: str = node.value
    if node.style is not None or str(node.tag) == _STR:
        return _storable(text)
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if _INT.match(text):
        return int(text)
    return float(text) if _FLOAT.match(text) else _storable(text)


def _storable(text: str) -> str:
    """The text without what UTF-8 or a database cannot hold: escaped surrogates, NUL."""
    if not _UNSTORABLE.search(text):
        return text
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return joined.replace("\x00", "\ufffd")
