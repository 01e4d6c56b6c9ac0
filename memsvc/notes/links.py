"""Finds the links of a note and the notes they mean: the one parser and the one resolver.

Links are Obsidian's wikilinks and embeds and relative markdown links, outside code and comments.
A resolver is made for one set of notes, those a caller may see, and knows no others.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from posixpath import normpath
from typing import Literal, NamedTuple
from urllib.parse import unquote

from memsvc.notes.plain import without_code

__all__ = ["Link", "LinkResolver", "Linkable", "link_targets_of", "parse_links"]

MAX_TARGET = 1000
"""Characters of a link's inside; longer ones are no links."""

_WIKI = re.compile(
    rf"(!?)\[\[([^\[\]|\n]{{0,{MAX_TARGET}}})(?:\|([^\[\]\n]{{0,{MAX_TARGET}}}))?\]\]"
)
_DESTINATION = re.compile(
    r"\]\([ \t]*(?:<([^<>\n]*)>|([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*))"
    r"(?:[ \t]+(?:\"[^\"\n]*\"|'[^'\n]*'))?[ \t]*\)"
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")


@dataclass(frozen=True, slots=True)
class Link:
    """One link as written: `target` without heading or block, `""` for the note itself.

    The target of a markdown link is decoded and begins with `./`, `../` or `/`, as it is relative
    to its note's folder. `body[start:end]` is its source.
    """

    target: str
    heading: str
    block: str
    alias: str
    embed: bool
    style: Literal["wiki", "markdown"]
    start: int
    end: int


class Linkable(NamedTuple):
    """A note that links may mean: the caller's key for it, and the names it goes by."""

    key: str
    path: str
    title: str = ""
    aliases: tuple[str, ...] = ()


def parse_links(body: str) -> list[Link]:
    """The links of a body in order of place. Linear in the text; never raises."""
    prose = without_code(body)
    found = [_wiki(match) for match in _WIKI.finditer(prose)] if "[[" in prose else []
    if "](" in prose:
        found.extend(_markdown_links(prose))
    return sorted((link for link in found if _names_something(link)), key=lambda link: link.start)


def link_targets_of(value: object) -> list[str]:
    """The targets named by a frontmatter value, without headings, in order and each once.

    Links are strings that hold `[[…]]`; an unquoted `[[x]]`, which YAML reads as a list within a
    list, is one too. Other strings are no links.
    """
    found: dict[str, None] = {}
    pending: list[tuple[object, int]] = [(value, 0)]
    while pending:
        part, depth = pending.pop()
        if isinstance(part, str):
            for match in _WIKI.finditer(part):
                found.setdefault(_split(match[2])[0], None)
        elif isinstance(part, list | tuple):
            if depth and part and all(isinstance(item, str | int | float) for item in part):
                inside = ", ".join(str(item) for item in part)
                if "[[" not in inside:
                    found.setdefault(_split(inside.split("|", 1)[0])[0], None)
                    continue
            pending.extend((item, depth + 1) for item in reversed(part))
    return [target for target in found if target]


class LinkResolver:
    """Finds the note that a link's target means, among the notes it was made of.

    In this order: the path relative to the linking note (for `./` and `../`), the exact path, a
    path's end, the file's name, an alias, a title; all without regard to case, Unicode form and
    `.md`. Of several, the one nearest to the linking note's folder, then the shortest path, then
    the first in order: the answer depends on nothing else.
    """

    def __init__(self, notes: Iterable[tuple[str, str, str, tuple[str, ...]]]) -> None:
        self._exact: dict[str, Linkable] = {}
        self._stems: defaultdict[str, list[Linkable]] = defaultdict(list)
        self._aliases: defaultdict[str, list[Linkable]] = defaultdict(list)
        self._titles: defaultdict[str, list[Linkable]] = defaultdict(list)
        self._folded: dict[str, str] = {}
        for note in (Linkable(*names) for names in notes):
            path = _fold_path(note.path)
            self._folded[note.path] = path
            held = self._exact.get(path)
            if held is None or (note.path, note.key) < (held.path, held.key):
                self._exact[path] = note
            self._stems[path.rsplit("/", 1)[-1]].append(note)
            for alias in note.aliases:
                self._aliases[_fold_name(alias)].append(note)
            if note.title:
                self._titles[_fold_name(note.title)].append(note)

    def resolve(self, target: str, *, from_path: str) -> str | None:
        """The key of the note that `target` means when written in the note at `from_path`."""
        wanted = target.strip().replace("\\", "/")
        if not wanted or len(wanted) > MAX_TARGET:
            return None
        if wanted.startswith(("./", "../")):
            folder = from_path.rpartition("/")[0]
            relative = normpath(f"{folder}/{wanted}" if folder else wanted)
            found = self._exact.get(_fold_path(relative))
            if found is not None or wanted.startswith("../"):
                return found.key if found is not None else None
            wanted = wanted.removeprefix("./")
        path = _fold_path(wanted.lstrip("/"))
        if path in self._exact:
            if "/" in path or wanted.startswith("/"):
                return self._exact[path].key
            return self._nearest(self._stems[path], from_path)
        if wanted.startswith("/"):
            return None
        ending = [
            note
            for note in self._stems.get(path.rsplit("/", 1)[-1], ())
            if f"/{self._folded[note.path]}".endswith(f"/{path}")
        ]
        name = _fold_name(wanted)
        return (
            self._nearest(ending, from_path)
            or self._nearest(self._aliases.get(name, ()), from_path)
            or self._nearest(self._titles.get(name, ()), from_path)
        )

    def _nearest(self, notes: Iterable[Linkable], from_path: str) -> str | None:
        here = _fold_path(from_path).split("/")[:-1]

        def distance(note: Linkable) -> tuple[int, int, int, str, str]:
            path = self._folded[note.path]
            folders = path.split("/")[:-1]
            shared = 0
            for one, other in zip(here, folders, strict=False):
                if one != other:
                    break
                shared += 1
            steps = len(here) + len(folders) - 2 * shared
            return (steps, len(folders), len(path), path, note.key)

        best = min(notes, key=distance, default=None)
        return best.key if best is not None else None


def _wiki(match: "re.Match[str]") -> Link:
    target, heading, block = _split(match[2].removesuffix("\\"))
    return Link(
        target=target,
        heading=heading,
        block=block,
        alias=(match[3] or "").strip(),
        embed=bool(match[1]),
        style="wiki",
        start=match.start(),
        end=match.end(),
    )


def _markdown_links(prose: str) -> list[Link]:
    """Every `[label](destination)` whose destination is a place in the vault."""
    ends = {match.start(): match for match in _DESTINATION.finditer(prose)}
    found: list[Link] = []
    stack: list[int] = []
    covered = 0
    for bracket in re.finditer(r"(?<!\\)[\[\]]", prose):
        at = bracket.start()
        if at < covered:
            continue
        if bracket[0] == "[":
            stack.append(at)
        elif stack:
            opened = stack.pop()
            match = ends.get(at)
            if match is not None:
                covered = match.end()
                link = _markdown(prose, opened, match)
                found.extend([link] if link is not None else [])
    return found


def _markdown(prose: str, opened: int, match: "re.Match[str]") -> Link | None:
    destination = (match[1] if match[1] is not None else match[2]).strip()
    if not destination or len(destination) > MAX_TARGET or _SCHEME.match(destination):
        return None
    path, _, fragment = destination.partition("#")
    target, heading, block = _split(f"#{unquote(fragment)}" if fragment else "")
    target = unquote(path)
    if target and not target.startswith(("./", "../", "/")):
        target = f"./{target}"
    embed = prose[opened - 1 : opened] == "!"
    return Link(
        target=target,
        heading=heading,
        block=block,
        alias=prose[opened + 1 : match.start()][:MAX_TARGET].strip(),
        embed=embed,
        style="markdown",
        start=opened - embed,
        end=match.end(),
    )


def _names_something(link: Link) -> bool:
    return bool(link.target or link.heading or link.block)


def _split(inside: str) -> tuple[str, str, str]:
    """Target, heading and block of `target#heading#sub` or `target#^block`."""
    target, _, rest = inside.partition("#")
    if rest.startswith("^"):
        return target.strip(), "", rest[1:].strip()
    return target.strip(), rest.strip(), ""


def _fold_path(path: str) -> str:
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
    return folded.removesuffix(".md")


def _fold_name(name: str) -> str:
    return " ".join(unicodedata.normalize("NFC", name).casefold().split())
