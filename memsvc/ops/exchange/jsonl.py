"""Reads the JSON export of another home, line by line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from memsvc.errors import InvalidInput
from memsvc.ids import is_ulid
from memsvc.ledger.records import GONE
from memsvc.model.exchange import Imported, Outline
from memsvc.model.vocabulary import Kind, Status
from memsvc.notes.frontmatter import Value, compose
from memsvc.ops.exchange.schema import check_header
from memsvc.ops.exchange.sources import Foreign, Unreadable, bad, skipped
from memsvc.service.gateway.drafts import text_key

__all__ = ["JsonSource", "json_lines", "origin_of", "strings"]

MOST_LINE = 64 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


def json_lines(path: Path) -> Iterator[tuple[int, int, Any]]:
    """Line number, offset and value of every line that is not blank; an Unreadable for a bad one."""
    with path.open("rb") as file:
        offset = 0
        for number, raw in enumerate(iter(lambda: file.readline(MOST_LINE), b""), 1):
            at, offset = offset, offset + len(raw)
            text = raw.removeprefix(_BOM) if number == 1 else raw
            if text.strip():
                yield number, at, _value(text)


def _value(text: bytes) -> Any:  # noqa: ANN401 - any JSON
    try:
        return json.loads(text.decode("utf-8"))
    except UnicodeDecodeError:
        return Unreadable("the line is not UTF-8 text")
    except (ValueError, RecursionError):
        return Unreadable("the line is no JSON; it may have been cut off")


class JsonSource:
    """An export as `memsvc export --format json` makes it."""

    form = "json"
    roots = False

    def __init__(self, path: Path) -> None:
        self._path = path
        self.notices: list[str] = []
        first = next(json_lines(path), None)
        if first is None or not isinstance(first[2], dict):
            raise InvalidInput("that is no export of memsvc", argument="source")
        self._head: dict[str, Any] = first[2]
        check_header(self._head)
        folder = self._head.get("folder")
        self._folder = f"{folder}/" if isinstance(folder, str) and folder else ""

    def outlines(self) -> Iterator[Outline | Imported]:
        """Every note of the export, and the lines that are none."""
        ended, versions = False, 0
        for number, offset, data in json_lines(self._path):
            if number == 1:
                continue
            place = f"line {number}"
            if isinstance(data, Unreadable):
                yield bad(place, str(data))
            elif isinstance(data, dict) and data.get("end") is True:
                ended = True
            else:
                versions += len(_list(data, "versions"))
                yield self._outline(place, offset, data)
        if not ended:
            self.notices.append("the export has no closing line: it was cut off, and lacks notes")
        if versions:
            self.notices.append(
                f"{versions} versions in the export were not imported: history belongs to the home "
                "that recorded it; `memsvc restore` moves a home with all of it"
            )

    def _outline(self, place: str, offset: int, data: object) -> Outline | Imported:
        try:
            found = _checked(data)
        except Unreadable as error:
            return bad(place, str(error))
        status = Status(found["status"])
        if status in GONE:
            return skipped(place, f"the note was {status} there, and does not travel")
        note_id = str(found["id"])
        path = str(found["path"])
        return Outline(
            place=place,
            key=note_id or path or place,
            id=note_id if is_ulid(note_id) else "",
            path=path.removeprefix(self._folder),
            found_at=path,
            title=str(found["title"]),
            status=status,
            successor=str(found["superseded_by"]),
            offset=offset,
            text_key=text_key(str(found["title"]), str(found["body"])),
        )

    def record(self, outline: Outline) -> Foreign:
        """One note of the export."""
        with self._path.open("rb") as file:
            file.seek(outline.offset)
            data = _value(file.readline(MOST_LINE))
        if isinstance(data, Unreadable):
            raise data
        found = _checked(data)
        head = found["frontmatter"]
        content = str(head) + str(found["body"]) if isinstance(head, str) else _composed(found)
        where = f"memsvc:{self._head.get('vault', '')}/{self._head.get('project', '')}"
        return Foreign(
            content=content,
            valid_from=str(found["valid_from"]),
            valid_to=str(found["valid_to"]),
            created=str(found["created"]),
            kind=Kind(found["kind"]) if found["kind"] in set(Kind) else None,
            source=strings(found["source"]),
            origin=origin_of(where, author=str(found["author"]), trust=str(found["trust"])),
        )


def origin_of(where: str, *, author: str, trust: str) -> dict[str, str]:
    """Keys that keep where a note comes from, and who stood behind it there: text, no authority."""
    return {
        "imported_from": _line(where),
        "original_author": _line(author),
        "original_trust": _line(trust),
    }


def strings(value: object) -> tuple[str, ...]:
    """The texts of a list; nothing for anything else."""
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def _line(text: str) -> str:
    return " ".join(text.split())[:400]


def _list(data: object, key: str) -> list[object]:
    found = data.get(key) if isinstance(data, dict) else None
    return found if isinstance(found, list) else []


_TEXTS = ("id", "path", "title", "kind", "status", "trust", "author", "created", "valid_from")
_MORE = ("valid_to", "superseded_by", "reason", "body")


def _checked(data: object) -> dict[str, Any]:
    """The line's fields with their types checked; what is missing is empty. Raises Unreadable."""
    if not isinstance(data, dict):
        raise Unreadable("the line is no note")
    found: dict[str, Any] = {}
    for name in (*_TEXTS, *_MORE):
        value = data.get(name, "")
        if not isinstance(value, str):
            raise Unreadable(f"{name} is no text")
        found[name] = value
    if "body" not in data:
        raise Unreadable("the line has no body")
    head = data.get("frontmatter")
    if head is not None and not isinstance(head, str):
        raise Unreadable("frontmatter is no text")
    found["status"] = found["status"] or Status.ACTIVE.value
    if found["status"] not in set(Status):
        raise Unreadable("status is none that memsvc knows")
    return found | {"frontmatter": head, "source": data.get("source"), "tags": data.get("tags")}


def _composed(found: dict[str, Any]) -> str:
    """A file for a line without frontmatter, as other programs may write it."""
    values: dict[str, Value] = {"title": _line(str(found["title"])) or "untitled"}
    tags = [tag for tag in map(str.strip, strings(found["tags"])) if tag]
    if tags:
        values["tags"] = tags
    try:
        return compose(values, str(found["body"]))
    except InvalidInput as error:
        raise Unreadable("title or tags cannot be kept as frontmatter") from error
