"""The vectors of an index in memory: read once by each process, then only what is new.

One float32 matrix for each index and model. A passage's id is never given twice within one index,
so rows of passages that are gone do no harm: the caller names the passages it may compare.
"""

import threading
from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, select

from memsvc.index.schema import vectors

__all__ = ["NO_VECTOR", "cosines"]

NO_VECTOR = np.float32(-2.0)
"""Stands for the cosine of a passage that the model has not read."""
REMEMBERED = 4
_BLOCK = 2_048
_SPARSE = 3
"""Rows are gathered when fewer than one in so many is wanted: else one product over all is cheaper."""


def cosines(
    connection: Connection,
    epoch: int,
    model_id: str,
    *,
    chunk_ids: NDArray[np.int64],
    query: NDArray[np.float32],
) -> NDArray[np.float32]:
    """The cosine of each passage with a unit vector; NO_VECTOR where the model has not read it.

    Inside a write transaction only what was read before is compared: what is not committed may
    never come to be.
    """
    matrix = _matrix(epoch, model_id)
    if "memsvc_begin" not in connection.get_execution_options():
        matrix.read_new(connection)
    return matrix.compare(chunk_ids, query)


class _Matrix:
    """Rows in the order they were stored, and the row of each passage."""

    def __init__(self, model_id: str) -> None:
        self._model_id = model_id
        self._lock = threading.Lock()
        self._forget()

    def _forget(self) -> None:
        self._rows = np.empty((0, 0), dtype=np.float32)
        self._row_of = np.full(0, -1, dtype=np.int64)
        self._count = 0
        self._last = 0

    def read_new(self, connection: Connection) -> None:
        """Take in what was stored since; an older snapshot than before changes nothing."""
        with self._lock:
            before = self._count
            self._read(connection)
            if self._count == before or self._count < 2 * _BLOCK:
                return
            living = connection.execute(
                select(func.count()).where(vectors.c.model_id == self._model_id)
            ).scalar_one()
            if self._count > 2 * living:  # most rows belong to passages that are gone
                self._forget()
                self._read(connection)

    def _read(self, connection: Connection) -> None:
        while True:
            found = connection.execute(
                select(vectors.c.vector_id, vectors.c.chunk_id, vectors.c.vector)
                .where(vectors.c.vector_id > self._last, vectors.c.model_id == self._model_id)
                .order_by(vectors.c.vector_id)
                .limit(_BLOCK)
            ).all()
            if not found:
                return
            block = np.frombuffer(b"".join(row.vector for row in found), dtype="<f4")
            chunk_ids = np.fromiter((row.chunk_id for row in found), np.int64, len(found))
            self._append(block.reshape(len(found), -1), chunk_ids)
            self._last = int(found[-1].vector_id)

    def _append(self, block: NDArray[np.float32], chunk_ids: NDArray[np.int64]) -> None:
        end = self._count + len(block)
        if end > len(self._rows):
            rows = np.empty((max(end, 3 * len(self._rows) // 2), block.shape[1]), dtype=np.float32)
            if self._count:  # before the first block the width is not known
                rows[: self._count] = self._rows[: self._count]
            self._rows = rows
        self._rows[self._count : end] = block
        top = int(chunk_ids.max()) + 1
        if top > len(self._row_of):
            longer = np.full(max(top, 3 * len(self._row_of) // 2), -1, dtype=np.int64)
            longer[: len(self._row_of)] = self._row_of
            self._row_of = longer
        self._row_of[chunk_ids] = np.arange(self._count, end)
        self._count = end

    def compare(
        self, chunk_ids: NDArray[np.int64], query: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        with self._lock:
            rows, count, row_of = self._rows, self._count, self._row_of
            places = np.full(len(chunk_ids), -1, dtype=np.int64)
            inside = chunk_ids < len(row_of)
            places[inside] = row_of[chunk_ids[inside]]
        there = np.flatnonzero(places >= 0)
        result = np.full(len(chunk_ids), NO_VECTOR, dtype=np.float32)
        if not len(there):
            return result
        if len(there) * _SPARSE >= count:
            result[there] = (rows[:count] @ query)[places[there]]
        else:
            result[there] = rows[places[there]] @ query
        return result


_LOCK = threading.Lock()
_MATRICES: OrderedDict[tuple[int, str], _Matrix] = OrderedDict()


def _matrix(epoch: int, model_id: str) -> _Matrix:
    with _LOCK:
        matrix = _MATRICES.setdefault((epoch, model_id), _Matrix(model_id))
        _MATRICES.move_to_end((epoch, model_id))
        while len(_MATRICES) > REMEMBERED:
            _MATRICES.popitem(last=False)
        return matrix
