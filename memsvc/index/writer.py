"""Puts versions into the index and takes them out, inside the caller's transaction.

Each call marks the scopes it touched as changed, so that every process drops what it remembered.
"""

import hashlib
import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
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

from memsvc.index.analyse import document_terms
from memsvc.index.chunks import Chunk, chunk, embed_text
from memsvc.index.schema import chunks, entries, gone, links, scopes, state, terms
from memsvc.index.schema import vectors as vector_rows
from memsvc.index.sqlite_fts import scope_key, scope_token
from memsvc.index.values import ChunkText, IndexEntry
from memsvc.index.vectorstore import (
    Known,
    add_vectors,
    detach,
    file_of,
    has_vector,
    known,
    put_vectors,
    share,
    tidy,
    untidy,
)
from memsvc.model.identity import Scope

__all__ = [
    "bump",
    "chunks_without_vector",
    "count_without_vector",
    "put",
    "put_vectors",
    "remove_note",
    "remove_version",
    "rename",
    "set_links",
    "tidy",
    "untidy",
    "update_state",
]

TOLD = 20_000
"""What went in at least so many last changes is kept, for processes that saw it before."""
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


def put(
    connection: Connection,
    entry: IndexEntry,
    vectors: Mapping[int, NDArray[np.float32]] | None = None,
    model_id: str = "",
) -> list[ChunkText]:
    """Index one version, in place of what was there of it; its passages in order.

    `vectors` are by ordinal. A passage that the note had before keeps the vectors it had.
    """
    pieces = chunk(entry.body, entry.title)
    texts = [embed_text(entry.title, piece) for piece in pieces]
    there = known(connection, entry.note_id)
    _remove(connection, _is_version(entry.note_id, entry.version))
    first = _next_chunk(connection)
    key = scope_key(entry.scope)
    row = _entry_row(entry) | {
        "scope_key": key,
        "first_chunk": first,
        "chunk_count": len(pieces),
        "change": _next_change(connection),
    }
    added = connection.execute(insert(entries).values(row)).inserted_primary_key
    if added is None:
        raise RuntimeError("the database gave no id to a new row")
    entry_id = int(added[0])
    _put_chunks(connection, entry, entry_id, first, pieces, texts)
    carried = _carry_vectors(connection, there, texts, first, model_id)
    fresh = [
        ordinal
        for ordinal in sorted(vectors or {})
        if ordinal < len(pieces) and ordinal not in carried
    ]
    if vectors and fresh:
        matrix = np.array([vectors[ordinal] for ordinal in fresh], dtype=np.float32)
        add_vectors(connection, model_id, [first + ordinal for ordinal in fresh], matrix)
    _link(connection, entry_id, entry.links)
    _touch(connection, [key])
    return [ChunkText(first + ordinal, ordinal, text) for ordinal, text in enumerate(texts)]


def update_state(connection: Connection, note_id: str, version: int, **changed: object) -> None:
    """Change what is known of a version without its text: status, windows, trust, successor.

    A name that may not change raises TypeError; a version that is not indexed is passed over.
    """
    unknown = sorted(set(changed) - _MUTABLE)
    if unknown:
        raise TypeError(f"the index does not change {', '.join(unknown)} in place")
    if not changed:
        return
    values = {name: _plain(value) for name, value in changed.items()}
    if "trust" in changed:
        values["trust_rank"] = _trust_rank(changed["trust"])
    condition = _is_version(note_id, version)
    _touch(connection, _keys(connection, condition))
    values["change"] = _next_change(connection)
    connection.execute(update(entries).where(condition).values(values))


def remove_note(connection: Connection, note_id: str) -> None:
    """Take every version of a note out."""
    _touch(connection, _remove(connection, entries.c.note_id == note_id))


def remove_version(connection: Connection, note_id: str, version: int) -> None:
    """Take one version of a note out."""
    _touch(connection, _remove(connection, _is_version(note_id, version)))


def set_links(connection: Connection, note_id: str, targets: Iterable[str]) -> None:
    """What the note's latest version links to: ids of notes."""
    condition = (entries.c.note_id == note_id) & (entries.c.latest == 1)
    wanted = tuple(targets)
    for entry_id in connection.execute(select(entries.c.entry_id).where(condition)).scalars().all():
        connection.execute(delete(links).where(links.c.entry_id == entry_id))
        _link(connection, entry_id, wanted)
    _touch(connection, _keys(connection, condition))


def rename(connection: Connection, note_id: str, path: str, scope: Scope) -> None:
    """A note's file went elsewhere, perhaps into another scope: every version of it goes along."""
    condition = entries.c.note_id == note_id
    before = _keys(connection, condition)
    key = scope_key(scope)
    ids = select(chunks.c.chunk_id).join(entries, entries.c.entry_id == chunks.c.entry_id)
    connection.execute(
        update(terms)
        .where(terms.c.chunk_id.in_(ids.where(condition)), terms.c.sc != scope_token(key))
        .values(sc=scope_token(key))
    )
    change = _next_change(connection)
    _say_gone(connection, condition & (entries.c.scope_key != key), change)
    place = {"path": path, "vault": scope.vault, "project": scope.project, "scope_key": key}
    connection.execute(update(entries).where(condition).values(**place, change=change))
    _touch(connection, {*before, key})


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


def bump(connection: Connection) -> None:
    """Make every process drop what it remembered of every scope."""
    _touch(connection, connection.execute(select(scopes.c.scope_key)).scalars().all())


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


def _remove(connection: Connection, condition: ColumnElement[bool]) -> list[str]:
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
    return [row.scope_key for row in found]


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


def _next_chunk(connection: Connection) -> int:
    """The id after every one that was ever given; the transaction is the only writer."""
    found = connection.exec_driver_sql("SELECT seq FROM sqlite_sequence WHERE name = 'index_chunk'")
    return int(found.scalar() or 0) + 1


def _entry_row(entry: IndexEntry) -> dict[str, Any]:
    row: dict[str, Any] = {
        name: _plain(getattr(entry, name))
        for name in entry.__dataclass_fields__
        if name not in ("scope", "body", "links")
    }
    row |= {"vault": entry.scope.vault, "project": entry.scope.project}
    return row | {"trust_rank": entry.trust.rank}


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


def _put_chunks(
    connection: Connection,
    entry: IndexEntry,
    entry_id: int,
    first: int,
    pieces: Sequence[Chunk],
    texts: Sequence[str],
) -> None:
    token = scope_token(scope_key(entry.scope))
    title = _terms(entry.title)
    names = _terms(" \n ".join((*entry.aliases, *entry.tags)))
    connection.execute(
        insert(chunks),
        [
            {
                "chunk_id": first + piece.ordinal,
                "entry_id": entry_id,
                "ordinal": piece.ordinal,
                "heading": _legal(piece.heading),
                "lead": _legal(piece.lead),
                "text": _legal(piece.text),
                "embed_hash": _hash(text),
            }
            for piece, text in zip(pieces, texts, strict=True)
        ],
    )
    connection.execute(
        insert(terms),
        [
            {
                "chunk_id": first + piece.ordinal,
                "sc": token,
                "title": title,
                "names": names,
                "terms": _terms(f"{piece.heading}\n{piece.lead}\n{piece.text}"),
            }
            for piece in pieces
        ],
    )


def _terms(text: str) -> str:
    return " ".join(document_terms(text))


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]


def _carry_vectors(
    connection: Connection, there: Known, texts: Sequence[str], first: int, model_id: str
) -> set[int]:
    """Let passages keep the vectors of what reads the same; the ordinals that so have the model's."""
    if not there:
        return set()
    places = {
        ordinal: there[read]
        for ordinal, read in enumerate(_hash(text) for text in texts)
        if read in there
    }
    share(
        connection,
        (
            (first + ordinal, file_id, position)
            for ordinal, named in places.items()
            for file_id, position in named
        ),
    )
    held = file_of(connection, model_id)
    if held is None:
        return set()
    return {
        ordinal
        for ordinal, named in places.items()
        if any(file_id == held[0].file_id for file_id, _ in named)
    }


def _link(connection: Connection, entry_id: int, targets: Iterable[str]) -> None:
    rows = [{"entry_id": entry_id, "target": target} for target in dict.fromkeys(targets)]
    if rows:
        connection.execute(insert(links), rows)
