"""Puts versions into the index and takes them out, inside the caller's transaction.

Each call marks the scopes it touched as changed, so that every process drops what it remembered.
"""

import hashlib
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    delete,
    func,
    insert,
    literal,
    select,
    update,
)
from sqlalchemy.dialects.sqlite import insert as upsert

from memsvc.database import in_batches
from memsvc.index.analyse import document_terms
from memsvc.index.chunks import Chunk, chunk, embed_text
from memsvc.index.schema import chunks, entries, gone, links, scopes, state, terms
from memsvc.index.schema import vectors as vector_rows
from memsvc.index.sqlite_fts import forget_deleted, scope_key, scope_token
from memsvc.index.values import ChunkText, IndexEntry, PassageVector
from memsvc.index.vectorstore import (
    Known,
    add_vectors,
    detach,
    file_of,
    has_vector,
    known,
    put_vectors,
    scrub,
    share,
    tidy,
    untidy,
)

__all__ = [
    "Put",
    "chunks_without_vector",
    "count_without_vector",
    "forget_deleted",
    "put",
    "put_all",
    "put_later",
    "put_vectors",
    "remove_note",
    "scrub",
    "tidy",
    "together",
    "untidy",
    "update_state",
]

Vectors = Mapping[int, PassageVector]

_LATER = "memsvc_index_later"
TOLD = 20_000
"""What went in at least so many last changes is kept, for processes that saw it before."""
_STORED = tuple(
    one.name for one in fields(IndexEntry) if one.name not in ("scope", "body", "links")
)
_MUTABLE = frozenset(
    {
        "status",
        "trust",
        "valid_from",
        "valid_to",
        "valid_to_original",
        "ended_at",
        "recorded_to",
        "end_mode",
        "latest",
        "superseded_by",
        "updated",
        "problem",
    }
)


@dataclass(frozen=True, slots=True)
class Put:
    """A version to be indexed, with vectors of its passages by ordinal, if some are made already."""

    entry: IndexEntry
    vectors: Vectors = field(default_factory=dict)
    model_id: str = ""


@dataclass(frozen=True, slots=True)
class _Ready:
    """A version cut into passages, with the ids that it gets."""

    put: Put
    entry_id: int
    first: int
    pieces: Sequence[Chunk]
    texts: Sequence[str]
    key: str


def put(
    connection: Connection,
    entry: IndexEntry,
    vectors: Vectors | None = None,
    model_id: str = "",
) -> list[ChunkText]:
    """Index one version, in place of what was there of it; its passages in order.

    `vectors` are by ordinal. A passage that the note had before keeps the vectors it had.
    """
    return put_all(connection, [Put(entry, vectors or {}, model_id)])[0]


@contextmanager
def together(connection: Connection) -> Iterator[None]:
    """What is put by `put_later` meanwhile goes in at the end, or before another change needs it."""
    connection.info[_LATER] = []
    try:
        yield
        _put_waiting(connection)
    finally:
        del connection.info[_LATER]


def put_later(connection: Connection, one: Put) -> None:
    """Index one version at the end of `together`; at once where there is none."""
    waiting: list[Put] | None = connection.info.get(_LATER)
    if waiting is None:
        put_all(connection, [one])
        return
    names = (one.entry.note_id, one.entry.version)
    if any((other.entry.note_id, other.entry.version) == names for other in waiting):
        _put_waiting(connection)
    waiting.append(one)


def _put_waiting(connection: Connection) -> None:
    waiting: list[Put] = connection.info.get(_LATER, [])
    if waiting:
        puts, waiting[:] = list(waiting), []
        put_all(connection, puts)


def put_all(connection: Connection, puts: Sequence[Put]) -> list[list[ChunkText]]:
    """The same for several versions, no two of them the same, with few statements for all."""
    if not puts:
        return []
    there = _clear(connection, [one.entry for one in puts])
    change = _next_change(connection)
    entry_id = _last_id(connection, entries.name)
    first = _last_id(connection, chunks.name) + 1
    made: list[_Ready] = []
    for one in puts:
        entry_id += 1
        pieces = chunk(one.entry.body, one.entry.title)
        texts = [embed_text(one.entry.title, piece) for piece in pieces]
        made.append(_Ready(one, entry_id, first, pieces, texts, scope_key(one.entry.scope)))
        first += len(pieces)
    connection.execute(insert(entries), [_entry_row(one) | {"change": change} for one in made])
    connection.execute(insert(chunks), [row for one in made for row in _chunk_rows(one)])
    connection.execute(insert(terms), [row for one in made for row in _terms_rows(one)])
    _give_vectors(connection, made, there)
    pairs = [
        {"entry_id": one.entry_id, "target": target}
        for one in made
        for target in dict.fromkeys(one.put.entry.links)
    ]
    if pairs:
        connection.execute(insert(links), pairs)
    _touch(connection, [one.key for one in made])
    return [
        [ChunkText(one.first + at, at, text) for at, text in enumerate(one.texts)] for one in made
    ]


def update_state(connection: Connection, note_id: str, version: int, **changed: object) -> None:
    """Change what is known of a version without its text: status, windows, trust, successor.

    A version that is the latest no more names no successor: its note's present one does. A name that
    may not change raises TypeError; a version that is not indexed is passed over.
    """
    unknown = sorted(set(changed) - _MUTABLE)
    if unknown:
        raise TypeError(f"the index does not change {', '.join(unknown)} in place")
    if not changed:
        return
    _put_waiting(connection)
    values = {name: _plain(value) for name, value in changed.items()}
    if changed.get("latest") is False:
        values.setdefault("superseded_by", "")
    if "trust" in changed:
        values["trust_rank"] = _trust_rank(changed["trust"])
    condition = _is_version(note_id, version)
    _touch(connection, _keys(connection, condition))
    values["change"] = _next_change(connection)
    connection.execute(update(entries).where(condition).values(values))


def remove_note(connection: Connection, note_id: str) -> None:
    """Take every version of a note out."""
    _put_waiting(connection)
    _remove(connection, entries.c.note_id == note_id)


def set_links(connection: Connection, note_id: str, targets: Iterable[str]) -> None:
    """What the note's latest version links to: ids of notes. Its text stays as it is indexed."""
    _put_waiting(connection)
    latest = and_(entries.c.note_id == note_id, entries.c.latest == 1)
    found = connection.execute(select(entries.c.entry_id).where(latest)).scalars().all()
    connection.execute(delete(links).where(links.c.entry_id.in_(found)))
    wanted = dict.fromkeys(targets)
    rows = [{"entry_id": entry, "target": target} for entry in found for target in wanted]
    if rows:
        connection.execute(insert(links), rows)
    _touch(connection, _keys(connection, latest))


def chunks_without_vector(
    connection: Connection, model_id: str, limit: int, after: int = 0
) -> list[ChunkText]:
    """The next passages that this model has not read, by id."""
    rows = connection.execute(
        select(
            chunks.c.chunk_id,
            chunks.c.ordinal,
            chunks.c.heading,
            chunks.c.lead,
            chunks.c.text,
            entries.c.title,
        )
        .join(entries, entries.c.entry_id == chunks.c.entry_id)
        .where(chunks.c.chunk_id > after, ~has_vector(model_id))
        .order_by(chunks.c.chunk_id)
        .limit(limit)
    )
    return [
        ChunkText(
            row.chunk_id,
            row.ordinal,
            embed_text(row.title, Chunk(row.ordinal, 0, 0, row.heading, row.text, row.lead)),
        )
        for row in rows
    ]


def count_without_vector(connection: Connection, model_id: str) -> int:
    """How many passages this model has not read."""
    query = select(func.count()).select_from(chunks).where(~has_vector(model_id))
    return connection.execute(query).scalar_one()


def _is_version(note_id: str, version: int) -> ColumnElement[bool]:
    return and_(entries.c.note_id == note_id, entries.c.version == version)


def _keys(connection: Connection, condition: ColumnElement[bool]) -> Sequence[str]:
    found = connection.execute(select(entries.c.scope_key).where(condition).distinct())
    return found.scalars().all()


def _touch(connection: Connection, keys: Iterable[str]) -> None:
    for key in sorted(set(keys)):
        generation = secrets.randbits(62)
        statement = upsert(scopes).values(scope_key=key, generation=generation)
        connection.execute(
            statement.on_conflict_do_update(
                index_elements=[scopes.c.scope_key], set_={"generation": generation}
            )
        )


def _remove(connection: Connection, condition: ColumnElement[bool]) -> None:
    """Take versions out, and tell the scopes that they leave: they may come back in another."""
    found = connection.execute(
        select(entries.c.entry_id, entries.c.scope_key).where(condition)
    ).all()
    if found:
        _say_gone(connection, condition, _next_change(connection))
    for row in found:
        ids = select(chunks.c.chunk_id).where(chunks.c.entry_id == row.entry_id)
        detach(connection, vector_rows.c.chunk_id.in_(ids))
        connection.execute(delete(terms).where(terms.c.chunk_id.in_(ids)))
        connection.execute(delete(chunks).where(chunks.c.entry_id == row.entry_id))
        connection.execute(delete(links).where(links.c.entry_id == row.entry_id))
        connection.execute(delete(entries).where(entries.c.entry_id == row.entry_id))
    _touch(connection, [row.scope_key for row in found])


def _next_change(connection: Connection) -> int:
    """The number of a change of entries; now and then what is told of old ones is cut."""
    change = int(
        connection.exec_driver_sql("UPDATE index_state SET change = change + 1 RETURNING change")
        .scalars()
        .one()
    )
    if change % TOLD == 0:
        connection.execute(delete(gone).where(gone.c.change <= change - TOLD))
        connection.execute(update(state).values(told_from=change - TOLD))
    return change


def _say_gone(connection: Connection, condition: ColumnElement[bool], change: int) -> None:
    """Tell other processes that versions leave the scopes they are in."""
    leaving = select(
        literal(change), entries.c.entry_id, entries.c.scope_key, entries.c.note_id
    ).where(condition)
    names = ["change", "entry_id", "scope_key", "note_id"]
    connection.execute(insert(gone).from_select(names, leaving))


def _clear(connection: Connection, puts: Sequence[IndexEntry]) -> dict[str, Known]:
    """Take out what is there of these versions; where the vectors of their notes are, by note."""
    ids = list({entry.note_id for entry in puts})
    there: dict[str, Known] = {}
    versions: set[tuple[str, int]] = set()
    for some in in_batches(ids):
        rows = connection.execute(
            select(entries.c.note_id, entries.c.version).where(entries.c.note_id.in_(some))
        )
        versions.update((row.note_id, row.version) for row in rows)
    for note_id in sorted({note_id for note_id, _ in versions}):
        there[note_id] = known(connection, note_id)
    for entry in puts:
        if (entry.note_id, entry.version) in versions:
            _remove(connection, _is_version(entry.note_id, entry.version))
    return there


def _last_id(connection: Connection, table: str) -> int:
    """The highest id that was ever given; the transaction is the only writer."""
    found = connection.exec_driver_sql("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,))
    return int(found.scalar() or 0)


def _entry_row(made: _Ready) -> dict[str, Any]:
    entry = made.put.entry
    row: dict[str, Any] = {name: _plain(getattr(entry, name)) for name in _STORED}
    return row | {
        "entry_id": made.entry_id,
        "vault": entry.scope.vault,
        "project": entry.scope.project,
        "trust_rank": entry.trust.rank,
        "scope_key": made.key,
        "first_chunk": made.first,
        "chunk_count": len(made.pieces),
    }


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return json.dumps([_legal(str(item)) for item in value], ensure_ascii=False)
    if isinstance(value, bool):
        return int(value)
    return _legal(str(value)) if isinstance(value, str) else value


def _legal(text: str) -> str:
    """Text that the database can hold: a lone surrogate cannot be stored."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _trust_rank(value: object) -> int:
    from memsvc.model.vocabulary import Trust  # only when a reviewer confirms something

    return Trust(str(value)).rank


def _chunk_rows(made: _Ready) -> list[dict[str, Any]]:
    return [
        {
            "chunk_id": made.first + piece.ordinal,
            "entry_id": made.entry_id,
            "ordinal": piece.ordinal,
            "heading": _legal(piece.heading),
            "lead": _legal(piece.lead),
            "text": _legal(piece.text),
            "embed_hash": _hash(text),
        }
        for piece, text in zip(made.pieces, made.texts, strict=True)
    ]


def _terms_rows(made: _Ready) -> list[dict[str, Any]]:
    entry = made.put.entry
    title = _terms(entry.title)
    names = _terms(" \n ".join((*entry.aliases, *entry.tags)))
    return [
        {
            "chunk_id": made.first + piece.ordinal,
            "sc": scope_token(made.key),
            "title": title,
            "names": names,
            "terms": _terms(f"{piece.heading}\n{piece.lead}\n{piece.text}"),
        }
        for piece in made.pieces
    ]


def _terms(text: str) -> str:
    return " ".join(document_terms(text))


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def _give_vectors(
    connection: Connection, made: Sequence[_Ready], there: Mapping[str, Known]
) -> None:
    """Passages keep the vectors of what their note had that reads the same; the others get theirs."""
    named: list[tuple[int, int, int]] = []
    fresh: dict[str, dict[int, PassageVector]] = {}
    held: dict[str, int] = {}
    for one in made:
        model_id = one.put.model_id
        if one.put.vectors and model_id not in held:
            found = file_of(connection, model_id)
            held[model_id] = -1 if found is None else found[0].file_id
        known_here = there.get(one.put.entry.note_id, {})
        for at, text in enumerate(one.texts):
            places = known_here.get(_hash(text), []) if known_here else []
            named += ((one.first + at, file_id, position) for file_id, position in places)
            vector = one.put.vectors.get(at)
            if vector is not None and all(held[model_id] != file_id for file_id, _ in places):
                fresh.setdefault(model_id, {})[one.first + at] = vector
    share(connection, named)
    for model_id, vectors in fresh.items():
        add_vectors(connection, model_id, list(vectors), list(vectors.values()))
