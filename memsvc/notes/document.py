"""Reads one note file into what it says, whatever bytes it holds."""

import codecs
import hashlib
import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from urllib.parse import unquote

from memsvc.clock import parse_end, parse_instant, stamp
from memsvc.model.vocabulary import Kind, Status
from memsvc.notes.frontmatter import Frontmatter, parse

__all__ = ["MAX_NOTE_BYTES", "Document", "as_utf8", "read_document", "too_large_document"]

MAX_NOTE_BYTES = 5 * 1024 * 1024
"""A larger file is listed with a problem and never read."""

_MAX_TITLE = 300
_MAX_HEADING_LINE = 4 * _MAX_TITLE
_HEADING_WITHIN = 100_000
_KINDS = frozenset(Kind)
_STATUSES = frozenset(Status)
_WIDE = (
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16: its mark begins with that one's
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_BLANKS = re.compile(r"[\s\x00-\x1f\x7f]+")
_WIKILINK = re.compile(r"!?\[\[([^\[\]|#]*)[^\[\]]*\]\]\Z")
_MARKDOWN_LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)<>#]*)[^)]*\)\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)")
_HEADING = re.compile(r" {0,3}#[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*\r?\Z")
_UNDERLINE = re.compile(r" {0,3}=+[ \t]*\r?\Z")
_BLOCK_START = re.compile(r" {0,3}(?:[-*+>#|]|\d+[.)]|<!--)|(?: {4}|\t)|[ \t]*\r?\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A note file, read. Dates are stamps, the empty text where there is none; `valid_to` may
    be `clock.UNKNOWN`.

    `declared_id`, `status_declared` and all of `values` are what the file claims, not what holds.
    `superseded_by` and `supersedes` are link targets without brackets.
    """

    path: str
    content: str
    body_start: int
    title: str
    declared_id: str
    kind: Kind
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    source: tuple[str, ...]
    status_declared: str
    superseded_by: str
    supersedes: tuple[str, ...]
    valid_from: str
    valid_to: str
    problem: str
    """What keeps the file from being read as it is meant; empty for most."""
    lossy: bool
    """Some bytes are no text: `content` has U+FFFD for them."""
    editable: bool
    """Whether a verb may rewrite the file: it is UTF-8 and its frontmatter is sound."""
    content_hash: str
    """sha256 of the file's bytes."""
    values: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def body(self) -> str:
        """The text behind the frontmatter."""
        return self.content[self.body_start :]


@dataclass(frozen=True, slots=True)
class _Decoded:
    content: str
    problem: str = ""
    lossy: bool = False
    binary: bool = False


def read_document(raw: bytes, *, path: str) -> Document:
    """What a file of these bytes says; never raises.

    UTF-8, or UTF-16 and UTF-32 with a byte order mark. A file with NUL is binary and has no
    content. A date that is none is a problem that leaves the file editable.
    """
    decoded = _decode(raw)
    return _document(path, decoded, content_hash=hashlib.sha256(raw).hexdigest())


def too_large_document(path: str, size: int) -> Document:
    """What is said of a file that is too large to be read; its `content_hash` is empty."""
    megabytes = MAX_NOTE_BYTES // (1024 * 1024)
    problem = f"the file has {size} bytes and is not read: {megabytes} MiB are the most"
    return _document(path, _Decoded("", problem, binary=True), content_hash="")


def as_utf8(raw: bytes) -> bytes:
    """The bytes, turned into UTF-8 where their mark says UTF-16 or UTF-32."""
    encoding = _encoding(raw)
    return raw if encoding == "utf-8" else raw.decode(encoding, "replace").encode()


def _encoding(raw: bytes) -> str:
    return next((name for mark, name in _WIDE if raw.startswith(mark)), "utf-8")


def _decode(raw: bytes) -> _Decoded:
    encoding = _encoding(raw)
    lossy = False
    try:
        content = raw.decode(encoding)
    except UnicodeDecodeError:
        content, lossy = raw.decode(encoding, "replace"), True
    if "\x00" in content:
        return _Decoded("", "binary: the file holds NUL bytes and is no text", binary=True)
    if lossy:
        return _Decoded(content, f"not all of the file is {encoding.upper()} text", lossy=True)
    if encoding != "utf-8":
        return _Decoded(
            content, f"the file is {encoding.upper()}; save it as UTF-8 to edit it here"
        )
    return _Decoded(content)


def _document(path: str, decoded: _Decoded, *, content_hash: str) -> Document:
    head = parse(decoded.content)
    valid_from, bad_from = _moment(head, "valid_from")
    valid_to, bad_to = _moment(head, "valid_to")
    sound = not (decoded.problem or head.problem)
    successors = _targets(head, "superseded_by")
    status = _first(head, "status").strip().lower()
    kind = _first(head, "kind").strip().lower()
    problems = (decoded.problem, head.problem, bad_from, bad_to)
    return Document(
        path=path,
        content=decoded.content,
        body_start=head.body_start,
        title=_title(head, decoded.content, path),
        declared_id=_first(head, "id").strip(),
        kind=Kind(kind) if kind in _KINDS else Kind.NOTE,
        tags=_tags(head),
        aliases=_aliases(head),
        source=_unique(text.strip() for text in head.texts.get("source", ())),
        status_declared=status if status in _STATUSES else "",
        superseded_by=successors[0] if successors else "",
        supersedes=_targets(head, "supersedes"),
        valid_from=valid_from,
        valid_to=valid_to,
        problem="; ".join(problem for problem in problems if problem),
        lossy=decoded.lossy,
        editable=sound,
        content_hash=content_hash,
        values=head.values,
    )


def _first(head: Frontmatter, key: str) -> str:
    """A property's text, or the first of its list."""
    texts = head.texts.get(key, ())
    return texts[0] if texts else ""


def _unique(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text))


def _title(head: Frontmatter, content: str, path: str) -> str:
    """The frontmatter's title, else the first top heading, else the file's name."""
    for candidate in (_first(head, "title"), _first_heading(content, head.body_start)):
        title = _one_line(candidate)
        if title:
            return title
    name = posixpath.basename(path)
    return _one_line(name[:-3] if name.lower().endswith(".md") else name) or "untitled"


def _one_line(text: str) -> str:
    return _BLANKS.sub(" ", text[:_MAX_HEADING_LINE]).strip()[:_MAX_TITLE].rstrip()


def _first_heading(content: str, start: int) -> str:
    """The first level-one heading outside code and comments near the start, or nothing."""
    fence, in_comment, above = "", False, ""
    at, stop = start, min(len(content), start + _HEADING_WITHIN)
    while at < stop:
        end = content.find("\n", at)
        end = len(content) if end < 0 else end
        line, closing = content[at : min(end, at + _MAX_HEADING_LINE)], content.find("-->", at, end)
        at = end + 1
        if in_comment:
            in_comment = closing < 0
        elif fence:
            fence = "" if _closes(line, fence) else fence
        elif opened := _opening_fence(line):
            fence, above = opened, ""
        elif (heading := _HEADING.match(line)) and heading[1].strip("# \t"):
            return heading[1]
        elif above and _UNDERLINE.match(line):
            return above
        else:
            in_comment = line.lstrip().startswith("<!--") and closing < 0
            above = "" if above or _BLOCK_START.match(line) else line.strip()
    return ""


def _opening_fence(line: str) -> str:
    """The run of backticks or tildes that opens a code block, or nothing."""
    found = _FENCE.match(line)
    if found is None or (found[1][0] == "`" and "`" in found[2]):
        return ""
    return found[1]


def _closes(line: str, fence: str) -> bool:
    found = _FENCE.match(line)
    return found is not None and found[1].startswith(fence) and not found[2].strip()


def _tags(head: Frontmatter) -> tuple[str, ...]:
    found: list[str] = []
    for key in ("tags", "tag"):
        texts = head.texts.get(key, ())
        if not isinstance(head.values.get(key), list):
            texts = tuple(piece for text in texts for piece in re.split(r"[,\s]+", text))
        found.extend(_BLANKS.sub(" ", text).strip().lstrip("#").strip() for text in texts)
    return _unique(found)


def _aliases(head: Frontmatter) -> tuple[str, ...]:
    found: list[str] = []
    for key in ("aliases", "alias"):
        texts = head.texts.get(key, ())
        if not isinstance(head.values.get(key), list):
            texts = tuple(piece for text in texts for piece in text.split(","))
        found.extend(_one_line(text) for text in texts)
    return _unique(found)


def _targets(head: Frontmatter, key: str) -> tuple[str, ...]:
    return _unique(_target(text.strip()) for text in head.texts.get(key, ()))


def _target(text: str) -> str:
    """What a link in frontmatter points to: `[[a/b|c]]`, `[c](a/b.md)` or a bare name."""
    if wiki := _WIKILINK.match(text):
        return wiki[1].strip()
    if link := _MARKDOWN_LINK.match(text):
        return unquote(link[1]).strip()
    return text


def _moment(head: Frontmatter, key: str) -> tuple[str, str]:
    """A date property as a stamp, and what is wrong with it."""
    text = _first(head, key).strip()
    if not text:
        present = head.values.get(key)
        wrong = present not in (None, "", [])
        return "", f"{key} is no date" if wrong else ""
    try:
        return parse_end(text) if key == "valid_to" else stamp(parse_instant(text)), ""
    except (ValueError, OverflowError):
        return "", f"{key} is no date"
