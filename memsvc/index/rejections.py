"""What was rejected, as vectors: whether a new statement is close in meaning to a rejected one.

A row holds no text. It can be made again from the ledger for as long as that holds the text, so
whoever erases a note's text must `forget` it here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects.sqlite import insert as upsert

from memsvc.index.schema import rejections
from memsvc.index.sqlite_fts import scope_key
from memsvc.model.identity import Scope

__all__ = ["Near", "Rejection", "forget", "known", "nearest", "put"]

_STORED = np.dtype("<f2")


@dataclass(frozen=True, slots=True)
class Rejection:
    """A tombstone, the note it came from, and its claim's unit vector; None if nobody has its text."""

    tombstone_id: str
    note_id: str
    vector: NDArray[np.float32] | None


@dataclass(frozen=True, slots=True)
class Near:
    """A tombstone and which of the statements it is close to, with their cosine."""

    tombstone_id: str
    statement: int
    cosine: float


def put(connection: Connection, scope: Scope, model_id: str, rows: Iterable[Rejection]) -> None:
    """Keep what a model made of rejected claims; what is there already stays."""
    key = scope_key(scope)
    values = [
        {
            "tombstone_id": row.tombstone_id,
            "model_id": model_id,
            "scope_key": key,
            "note_id": row.note_id,
            "vector": b"" if row.vector is None else row.vector.astype(_STORED).tobytes(),
        }
        for row in rows
    ]
    if values:
        connection.execute(upsert(rejections).on_conflict_do_nothing(), values)


def known(connection: Connection, scope: Scope, model_id: str) -> set[str]:
    """The tombstones of the scope that this model has been asked about."""
    rows = connection.execute(
        select(rejections.c.tombstone_id).where(
            rejections.c.scope_key == scope_key(scope), rejections.c.model_id == model_id
        )
    )
    return set(rows.scalars())


def nearest(
    connection: Connection,
    scope: Scope,
    *,
    model_id: str,
    statements: NDArray[np.float32],
    least: float,
) -> list[Near]:
    """Tombstones of the scope whose cosine with a statement is at least `least`, closest first.

    `statements` are unit rows, shape (statements, dimension).
    """
    size = statements.shape[1] * _STORED.itemsize
    rows = connection.execute(
        select(rejections.c.tombstone_id, rejections.c.vector).where(
            rejections.c.scope_key == scope_key(scope), rejections.c.model_id == model_id
        )
    )
    held = [(row.tombstone_id, row.vector) for row in rows if len(row.vector) == size]
    if not held or not len(statements):
        return []
    packed = np.frombuffer(b"".join(vector for _, vector in held), _STORED)
    cosines = statements @ packed.reshape(len(held), -1).astype(np.float32).T
    found = [
        Near(held[column][0], int(row), float(cosines[row, column]))
        for row, column in np.argwhere(cosines >= least)
    ]
    return sorted(found, key=lambda near: (-near.cosine, near.tombstone_id, near.statement))


def forget(connection: Connection, note_ids: Sequence[str]) -> None:
    """Drop every vector that was made of what these notes stated."""
    connection.execute(delete(rejections).where(rejections.c.note_id.in_(note_ids)))
