"""Where each passage's vector is: rows of the index that name positions in a file of vectors.

A vector is on disk before the row that names it is committed. Positions are given out under the
database's write lock and never twice: what a failed transaction wrote is written over by the next.
Passages of one note that the model reads alike share a position. Positions that may have lost their
last passage are noted down, and `tidy` erases them once that is certain.
"""

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    delete,
    insert,
    select,
    update,
)

from memsvc.database import in_batches
from memsvc.index.schema import chunks, dead_vectors, details, entries, vector_files, vectors
from memsvc.index.values import PassageVector
from memsvc.index.vectorfile import VectorFile

__all__ = [
    "Known",
    "add_vectors",
    "detach",
    "file_of",
    "has_vector",
    "known",
    "put_vectors",
    "scrub",
    "share",
    "tidy",
    "untidy",
]

Known = dict[bytes, list[tuple[int, int]]]
"""File and position of vectors, by what was embedded."""

COMPACT_FROM = 8 * 1_024
"""A smaller file is never rewritten to win back room."""


def file_of(connection: Connection, model_id: str) -> tuple[Row[Any], VectorFile] | None:
    """The row and the file that hold a model's vectors, if there are any."""
    row = connection.execute(
        select(vector_files).where(vector_files.c.model_id == model_id)
    ).first()
    return None if row is None else (row, _file(connection, row))


def put_vectors(
    connection: Connection, model_id: str, ids: Sequence[int], given: Sequence[PassageVector]
) -> None:
    """Vectors of passages, one an id; ids of passages that are gone are passed over.

    Raises StorageFailed when the file refuses.
    """
    there: set[int] = set()
    for some in in_batches(ids):
        found = connection.execute(select(chunks.c.chunk_id).where(chunks.c.chunk_id.in_(some)))
        there.update(found.scalars())
        file_id = select(vector_files.c.file_id).where(vector_files.c.model_id == model_id)
        own = vectors.c.file_id == file_id.scalar_subquery()
        detach(connection, vectors.c.chunk_id.in_(some) & own)
    at = [row for row, chunk_id in enumerate(ids) if chunk_id in there]
    add_vectors(connection, model_id, [ids[one] for one in at], [given[one] for one in at])


def add_vectors(
    connection: Connection, model_id: str, ids: Sequence[int], given: Sequence[PassageVector]
) -> None:
    """The same for passages that are there and have no vector of this model."""
    if not len(ids):
        return
    matrix = np.array([one.vector for one in given], dtype=np.float32)
    row, file = _opened(connection, model_id, matrix.shape[1])
    file.write(row.rows, matrix)
    packed = [
        {"file_id": row.file_id, "position": row.rows + at, "packed": one.detail}
        for at, one in enumerate(given)
        if one.detail
    ]
    if packed:
        connection.execute(insert(details), packed)
    connection.execute(
        update(vector_files)
        .where(vector_files.c.file_id == row.file_id)
        .values(rows=row.rows + len(ids))
    )
    share(connection, ((one, row.file_id, row.rows + at) for at, one in enumerate(ids)))


def detach(connection: Connection, condition: ColumnElement[bool]) -> None:
    """Forget where the vectors are that meet a condition; what nobody else names is erased later."""
    named = select(vectors.c.file_id, vectors.c.position).where(condition).distinct()
    statement = insert(dead_vectors).prefix_with("OR IGNORE")
    connection.execute(statement.from_select(["file_id", "position"], named))
    connection.execute(delete(vectors).where(condition))


def known(connection: Connection, note_id: str) -> Known:
    """Where the vectors of a note's passages are, of any version, one a file."""
    rows = connection.execute(
        select(chunks.c.embed_hash, vectors.c.file_id, vectors.c.position)
        .join(entries, entries.c.entry_id == chunks.c.entry_id)
        .join(vectors, vectors.c.chunk_id == chunks.c.chunk_id)
        .where(entries.c.note_id == note_id)
        .order_by(vectors.c.vector_id)
    )
    found: Known = {}
    for row in rows:
        places = found.setdefault(row.embed_hash, [])
        if all(file_id != row.file_id for file_id, _ in places):
            places.append((row.file_id, row.position))
    return found


def share(connection: Connection, named: Iterable[tuple[int, int, int]]) -> None:
    """Let passages (id, file, position) have vectors that are there already."""
    rows = [
        {"chunk_id": chunk_id, "file_id": file_id, "position": position}
        for chunk_id, file_id, position in named
    ]
    if rows:
        connection.execute(insert(vectors), rows)


def has_vector(model_id: str) -> ColumnElement[bool]:
    """Whether a row of `index_chunk` has a vector of the model."""
    file_id = select(vector_files.c.file_id).where(vector_files.c.model_id == model_id)
    return (
        select(vectors.c.vector_id)
        .where(
            vectors.c.chunk_id == chunks.c.chunk_id, vectors.c.file_id == file_id.scalar_subquery()
        )
        .exists()
    )


def untidy(connection: Connection) -> bool:
    """Whether `tidy` has something to do; cheap."""
    if connection.execute(select(dead_vectors.c.position).limit(1)).first() is not None:
        return True
    files = _files(connection)
    if any(not file.holds(row.rows) for row, file in files):
        return True
    return bool(_strays(connection, [file.path for _, file in files]))


def tidy(connection: Connection) -> None:
    """Erase vectors that no passage has, forget those that were lost, and win back room.

    The first thing in a durable write transaction of its own: what it sees is committed, so that
    what it erases is wanted by nobody. Raises StorageFailed.
    """
    files = _files(connection)
    strays = _strays(connection, [file.path for _, file in files])
    for row, file in files:
        if not file.holds(row.rows):
            _forget(connection, row.file_id)
            continue
        gone = _erase_dead(connection, row.file_id, file)
        if row.rows >= COMPACT_FROM and 2 * (row.dead + gone) > row.rows:
            _compact(connection, row, file)
    connection.execute(delete(dead_vectors))
    for path in strays:  # not what was just compacted: that is not committed yet
        try:
            path.unlink(missing_ok=True)
        except PermissionError:  # mapped, where that forbids it: the next time
            continue


def scrub(connection: Connection) -> None:
    """`tidy`, and erase what transactions that failed wrote behind the last vector."""
    tidy(connection)
    for row, file in _files(connection):
        file.erase_from(row.rows)


def _erase_dead(connection: Connection, file_id: int, file: VectorFile) -> int:
    named = select(vectors.c.vector_id).where(
        vectors.c.file_id == dead_vectors.c.file_id, vectors.c.position == dead_vectors.c.position
    )
    gone = connection.execute(
        select(dead_vectors.c.position).where(dead_vectors.c.file_id == file_id, ~named.exists())
    )
    positions = gone.scalars().all()
    file.erase(positions)
    if positions:
        connection.exec_driver_sql(
            "DELETE FROM index_detail WHERE file_id = ? AND position = ?",
            [(file_id, position) for position in positions],
        )
    connection.execute(
        update(vector_files)
        .where(vector_files.c.file_id == file_id)
        .values(dead=vector_files.c.dead + len(positions))
    )
    return len(positions)


def _forget(connection: Connection, file_id: int) -> None:
    """The file is lost: its passages have no vector until they are read again."""
    connection.execute(delete(vectors).where(vectors.c.file_id == file_id))
    connection.execute(delete(details).where(details.c.file_id == file_id))
    connection.execute(delete(vector_files).where(vector_files.c.file_id == file_id))


def _compact(connection: Connection, row: Row[Any], file: VectorFile) -> None:
    """Copy what is wanted into a new file; the old one goes once this is committed."""
    old = np.array(
        connection.execute(
            select(vectors.c.position)
            .where(vectors.c.file_id == row.file_id)
            .distinct()
            .order_by(vectors.c.position)
        )
        .scalars()
        .all(),
        dtype=np.int64,
    )
    mapped = file.map()
    if mapped is None:
        return
    values = {"generation": secrets.randbits(62), "rows": len(old), "dead": 0}
    connection.execute(
        update(vector_files).where(vector_files.c.file_id == row.file_id).values(values)
    )
    fresh = file_of(connection, row.model_id)
    if fresh is None:
        return
    for start in range(0, len(old), COMPACT_FROM):
        fresh[1].write(start, mapped.copy(old[start : start + COMPACT_FROM]))
    rows = connection.execute(
        select(vectors.c.vector_id, vectors.c.position).where(vectors.c.file_id == row.file_id)
    ).all()
    moved = np.searchsorted(old, [one.position for one in rows]).tolist()
    connection.exec_driver_sql(
        "UPDATE index_vector SET position = ? WHERE vector_id = ?",
        [(to, one.vector_id) for to, one in zip(moved, rows, strict=True)],
    )
    down = [(to, row.file_id, place) for to, place in enumerate(old.tolist()) if to != place]
    if down:  # from the lowest: a place is free before something moves to it
        connection.exec_driver_sql(
            "UPDATE index_detail SET position = ? WHERE file_id = ? AND position = ?", down
        )


def _opened(connection: Connection, model_id: str, dimension: int) -> tuple[Row[Any], VectorFile]:
    """The row and the file for a model's vectors, made if there is none or the file was lost."""
    found = file_of(connection, model_id)
    if found is not None and not found[1].holds(found[0].rows):
        _forget(connection, found[0].file_id)
        found = None
    if found is None:
        connection.execute(
            insert(vector_files).values(
                model_id=model_id, dimension=dimension, generation=secrets.randbits(62)
            )
        )
        found = file_of(connection, model_id)
    if found is None:
        raise RuntimeError("a row that was just written cannot be read")
    return found


def _files(connection: Connection) -> list[tuple[Row[Any], VectorFile]]:
    rows = connection.execute(select(vector_files).order_by(vector_files.c.file_id)).all()
    return [(row, _file(connection, row)) for row in rows]


def _file(connection: Connection, row: Row[Any]) -> VectorFile:
    name = hashlib.sha256(row.model_id.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return VectorFile(_folder(connection) / f"{name}-{row.generation:x}.vectors", row.dimension)


def _folder(connection: Connection) -> Path:
    """Beside the database, which the vectors belong to."""
    return Path(str(connection.engine.url.database)).parent / "vectors"


def _strays(connection: Connection, wanted: Sequence[Path]) -> list[Path]:
    folder = _folder(connection)
    names = {path.name for path in wanted}
    return [path for path in folder.glob("*.vectors") if path.name not in names]
