"""Reads the JSONL of the MCP reference server `memory`: an entity becomes a note, a relation a link."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from memsvc.errors import InvalidInput
from memsvc.model.exchange import Imported, Outline
from memsvc.notes.frontmatter import Value, compose
from memsvc.notes.slugs import free_name
from memsvc.ops.exchange.jsonl import json_lines
from memsvc.ops.exchange.sources import Foreign, Unreadable, bad
from memsvc.service.gateway.drafts import text_key

__all__ = ["ServerMemorySource"]

_MARKS = ("_aim",)
"""First lines by which forks of the server know their own files."""
_MOST_TITLE = 300


@dataclass(slots=True)
class _Entity:
    name: str
    line: int
    path: str
    types: dict[str, None] = field(default_factory=dict)
    observations: dict[str, None] = field(default_factory=dict)
    relations: dict[tuple[str, str], None] = field(default_factory=dict)
    """Kind of relation and the other entity's name."""


class ServerMemorySource:
    """A memory file: lines of entities with observations, and of relations between them."""

    form = "server-memory"
    roots = False

    def __init__(self, path: Path) -> None:
        self._file = path
        self._entities: dict[str, _Entity] = {}
        self.notices: list[str] = []

    def outlines(self) -> Iterator[Outline | Imported]:
        """Every entity, and the lines that are none."""
        relations: list[tuple[int, dict[str, object]]] = []
        taken: set[str] = set()
        for number, _, data in json_lines(self._file):
            try:
                kind, found = _line(data)
                if kind == "entity":
                    self._add(number, found, taken)
                elif kind == "relation":
                    relations.append((number, found))
            except Unreadable as error:
                yield bad(f"line {number}", str(error))
        for number, data in relations:
            try:
                self._relate(data)
            except Unreadable as error:
                yield bad(f"line {number}", str(error))
        for entity in self._entities.values():
            title = _title(entity.name)
            yield Outline(
                place=f"line {entity.line}",
                key=entity.name,
                path=entity.path,
                found_at=entity.path,
                title=title,
                text_key=text_key(title, self._body(entity)),
            )

    def _add(self, number: int, data: dict[str, object], taken: set[str]) -> None:
        name, observed = data.get("name"), data.get("observations")
        if not isinstance(name, str) or not name.strip():
            raise Unreadable("the entity has no name")
        if not isinstance(observed, list):
            raise Unreadable("the entity's observations are no list")
        texts = [_observation(one) for one in observed]
        entity = self._entities.get(name)
        if entity is None:
            path = free_name(name, lambda one: one in taken)
            taken.add(path)
            entity = self._entities[name] = _Entity(name, number, path)
        else:
            self.notices.append(f"line {number} adds to the entity of line {entity.line}")
        kind = data.get("entityType")
        if isinstance(kind, str) and kind.strip():
            entity.types[kind.strip()] = None
        entity.observations |= dict.fromkeys(text for text in texts if text.strip())

    def _relate(self, data: dict[str, object]) -> None:
        ends = data.get("from"), data.get("to"), data.get("relationType")
        if not all(isinstance(one, str) and one.strip() for one in ends):
            raise Unreadable("the relation lacks from, to or relationType")
        start, end, kind = (str(one) for one in ends)
        if start not in self._entities:
            raise Unreadable("the relation begins at an entity that the file does not have")
        self._entities[start].relations[(kind, end)] = None

    def record(self, outline: Outline) -> Foreign:
        """One entity as a note."""
        entity = self._entities[outline.key]
        values: dict[str, Value] = {"title": outline.title}
        kinds = [_title(kind) for kind in entity.types]
        if kinds:
            values["entity_type"] = kinds[0] if len(kinds) == 1 else kinds
        try:
            content = compose(values, self._body(entity))
        except InvalidInput as error:
            raise Unreadable("name or entityType cannot be kept as frontmatter") from error
        return Foreign(content=content, source=(f"server-memory:{outline.title}"[:400],))

    def _body(self, entity: _Entity) -> str:
        """Observations as a list, relations as a list of links; never empty."""
        items = [f"- {_indented(text)}" for text in entity.observations]
        relations = [f"- {_title(kind)} {self._link(other)}" for kind, other in entity.relations]
        parts = ["\n".join(items)] if items else []
        if relations:
            parts.append("## Relations\n\n" + "\n".join(relations))
        if not parts:
            parts = [f"- entity type: {', '.join(_title(kind) for kind in entity.types) or 'none'}"]
        return "\n\n".join(parts) + "\n"

    def _link(self, name: str) -> str:
        shown = "".join(" " if one in "[]|#^" else one for one in _title(name)).strip()
        other = self._entities.get(name)
        if other is None:
            return f"[[{shown}]]" if shown else _title(name)
        stem = other.path.removesuffix(".md")
        return f"[[{stem}]]" if shown in ("", stem) else f"[[{stem}|{shown}]]"


def _line(data: object) -> tuple[str, dict[str, object]]:
    """What a line is, and what it holds. Raises Unreadable."""
    if isinstance(data, Unreadable):
        raise data
    if not isinstance(data, dict):
        raise Unreadable("the line is no object")
    kind = data.get("type")
    if kind not in ("entity", "relation", *_MARKS):
        raise Unreadable("the line is neither an entity nor a relation")
    return str(kind), data


def _observation(one: object) -> str:
    """An observation's text; forks keep it in an object."""
    if isinstance(one, dict):
        one = one.get("content")
    if not isinstance(one, str):
        raise Unreadable("an observation is no text")
    return one


def _indented(text: str) -> str:
    """A text of several lines as one list item."""
    return "\n  ".join(line.rstrip("\r") for line in text.strip().split("\n"))


def _title(name: str) -> str:
    return " ".join(name.split())[:_MOST_TITLE].rstrip()
