"""One review item as a person reads it: the text, why it waits, and how it differs."""

from collections.abc import Iterator

from sqlalchemy import Connection

from memsvc.embedding.protocol import Embedder
from memsvc.index import reader as index
from memsvc.ledger import reader, registry
from memsvc.ledger.records import NoteRecord, VersionRecord
from memsvc.model.replies import Json, Related, as_data
from memsvc.model.vocabulary import ReviewKind
from memsvc.notes.threeway import merged, three_way
from memsvc.scope.proof import ReadScope
from memsvc.service.gateway.review.cases import sides, standing_text
from memsvc.service.texts import bounded, difference

__all__ = ["review_page"]

Row = dict[str, Json]


def review_page(
    scope: ReadScope, connection: Connection, row: Row, *, embedder: Embedder | None
) -> Row:
    """The item with its `title` and `text`, the `reasons` why it waits, the `nearest` active note,
    its `differences` from what stands, each in unified lines, and for a conflict `three_way`.
    """
    detail = row["detail"] if isinstance(row["detail"], dict) else {}
    page: Row = {key: value for key, value in row.items() if key != "closed_at"}
    page["reasons"] = [*_reasons(scope, connection, detail)]
    note = registry.find_note(connection, str(row["note_id"]))
    version = _version(connection, note)
    if note is None or version is None or note.scope not in scope:
        return page
    close = _nearest(scope, connection, version, embedder)
    page |= {
        "title": version.title,
        "text": version.body,
        "author": version.author,
        "on_behalf_of": version.on_behalf_of,
        "path": note.path,
        "status": note.status.value,
        "source": list[Json](version.source),
        "reason": version.reason,
        "nearest": as_data(close) if close else None,
    }
    wanted = [str(one) for one in _listed(detail.get("supersedes"))]
    wanted += [str(detail["corrects"])] if "corrects" in detail else []
    wanted += [close.id] if close else []
    page["differences"] = [
        *_from_earlier(connection, version),
        *_from_others(scope, connection, version, wanted),
    ]
    if row["kind"] == ReviewKind.CONFLICT:
        page["three_way"] = _three_way(connection, version, row)
    return page


def _listed(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _version(connection: Connection, note: NoteRecord | None) -> VersionRecord | None:
    return registry.find_version(connection, note.note_id, note.version) if note else None


def _nearest(
    scope: ReadScope, connection: Connection, version: VersionRecord, embedder: Embedder | None
) -> Related | None:
    close = index.similar(
        scope, connection, title=version.title, body=version.body, embedder=embedder
    )
    return next((one for one in close if one.id != version.note_id), None)


def _reasons(scope: ReadScope, connection: Connection, detail: Row) -> Iterator[str]:
    """Why the item waits, each in a sentence; what was rejected is named by its tombstone."""
    if detail.get("why"):
        yield str(detail["why"])
    named = detail.get("tombstone")
    for one in reader.tombstones(scope, connection) if named else ():
        if one["tombstone_id"] == named:
            why = f" because: {one['reason']}" if one["reason"] else ""
            yield (
                f"a {one['claim_kind']} of note {one['note_id']} was rejected on "
                f"{one['at'][:10]} by {one['actor']}{why} (tombstone {named})"
            )
    edited = ", ".join(str(one) for one in _listed(detail.get("edited_by")))
    if edited:
        yield f"edited since it was proposed, by {edited}"


def _from_earlier(connection: Connection, version: VersionRecord) -> Iterator[Json]:
    """How the text differs from the note's own last approved one."""
    earlier = standing_text(connection, version)
    if earlier is not None:
        yield _difference(earlier, version)


def _from_others(
    scope: ReadScope, connection: Connection, version: VersionRecord, wanted: list[str]
) -> Iterator[Json]:
    for one in dict.fromkeys(wanted):
        note = registry.find_note(connection, one)
        old = _version(connection, note)
        if note is not None and old is not None and note.scope in scope:
            yield _difference(old, version)


def _difference(old: VersionRecord, new: VersionRecord) -> Row:
    lines, added, removed, problem = difference(old.body, new.body)
    text, cut = bounded(lines)
    return {
        "against": str(old.note_id),
        "version": old.version,
        "title": old.title,
        "added": added,
        "removed": removed,
        "diff": text,
        "cut": cut,
        "problem": problem,
    }


def _three_way(connection: Connection, version: VersionRecord, row: Row) -> Row:
    """Before, committed and file: both differences, and one text with clashes marked."""
    detail = row["detail"] if isinstance(row["detail"], dict) else {}
    ours, base = sides(connection, version.note_id, row["version"], detail)
    before, committed = base.body if base else "", ours.body if ours else ""
    text, clashes = merged(three_way(before, committed, version.body))
    shown, cut = bounded(text.splitlines())
    return {
        "base": base.version if base else 0,
        "committed": ours.version if ours else 0,
        "file": version.version,
        "base_to_committed": bounded(difference(before, committed)[0])[0],
        "base_to_file": bounded(difference(before, version.body)[0])[0],
        "merged": shown,
        "clashes": clashes,
        "cut": cut,
    }
