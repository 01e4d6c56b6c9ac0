"""How close passages are to a question: exact for few, the likely ones exactly for many.

The vectors are mapped, not read; a process only remembers which position of the file each passage
has, and reads what is new. Above `EXACT` passages their sign bits tell which are likely close, and
only those are compared by their vectors. A passage's id is never given twice within one index, so
what is remembered of passages that are gone does no harm: the caller names those it may compare.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from memsvc.index.vectorfile import Mapped, VectorFile
from memsvc.index.vectorstore import file_of

__all__ = ["EXACT", "FAR", "NO_VECTOR", "cosines", "middle"]

NO_VECTOR = np.float32(-2.0)
"""Stands for the cosine of a passage that the model has not read."""
FAR = np.float32(-1.5)
"""Stands for that of a passage which was not compared, because its signs say that it is not close."""
EXACT = 20_000
"""So many passages are all compared."""
NEAR = 4_000
"""Of more, so many whose signs are closest are compared, and as many that share words as well."""
REMEMBERED = 4
_BLOCK = 50_000
Bonus = Callable[[], NDArray[np.float64]]

_NEW = (  # two texts are far cheaper to fetch than a row for each vector
    "SELECT max(vector_id), count(*), group_concat(chunk_id, ' '), group_concat(position, ' ') "
    "FROM (SELECT vector_id, chunk_id, position FROM index_vector "
    "WHERE vector_id > ? AND +file_id = ? ORDER BY vector_id LIMIT ?)"  # by id: few are new
)


def cosines(
    connection: Connection,
    model_id: str,
    *,
    chunk_ids: NDArray[np.int64],
    query: NDArray[np.float32],
    bonus: Bonus | None = None,
) -> NDArray[np.float32]:
    """The cosine of each passage with a unit vector; NO_VECTOR where the model has not read it.

    Of more than `EXACT` passages the unlikely ones get FAR instead. `bonus` gives what each passage
    has beside its cosine: those that it may lift among the best are compared as well. Inside a
    write transaction only what was read before is compared: what is not committed may never be.
    """
    held = file_of(connection, model_id)
    if held is None or held[0].dimension != len(query):
        return np.full(len(chunk_ids), NO_VECTOR, dtype=np.float32)
    row, file = held
    places = _places((row.file_id, row.generation), file)
    if "memsvc_begin" not in connection.get_execution_options():
        places.read_new(connection, row.file_id)
    return places.compare(chunk_ids, query, bonus=bonus, rows=row.rows)


def middle(
    connection: Connection, model_id: str, chunk_ids: NDArray[np.int64]
) -> NDArray[np.float32] | None:
    """The unit vector in the middle of those of some passages; None if the model read none."""
    held = file_of(connection, model_id)
    if held is None:
        return None
    row, file = held
    places = _places((row.file_id, row.generation), file)
    if "memsvc_begin" not in connection.get_execution_options():
        places.read_new(connection, row.file_id)
    found = places.vectors(chunk_ids, row.rows)
    total: NDArray[np.float32] = found.sum(axis=0)
    length = float(np.linalg.norm(total)) if len(found) else 0.0
    return total / np.float32(length) if length else None


@dataclass(frozen=True, slots=True)
class _Found:
    """Where the passages of a set are, as of the last vector that was read."""

    chunk_ids: NDArray[np.int64]
    last: int
    places: NDArray[np.int64]
    there: NDArray[np.int64]


class _Places:
    """Where in one file each passage's vector is; safe to share by threads."""

    def __init__(self, file: VectorFile) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._position_of = np.full(0, -1, dtype=np.int32)
        self._last = 0
        self._mapped: Mapped | None = None
        self._found: OrderedDict[int, _Found] = OrderedDict()

    def read_new(self, connection: Connection, file_id: int) -> None:
        """Take in what was stored since; an older snapshot than before changes nothing."""
        with self._lock:
            count = _BLOCK
            while count == _BLOCK:
                last, count, ids, positions = connection.exec_driver_sql(
                    _NEW, (self._last, file_id, _BLOCK)
                ).one()
                if count:
                    self._add(_numbers(ids), _numbers(positions))
                    self._last = int(last)

    def _add(self, chunk_ids: NDArray[np.int64], positions: NDArray[np.int64]) -> None:
        top = int(chunk_ids.max()) + 1
        if top > len(self._position_of):
            longer = np.full(max(top, 5 * len(self._position_of) // 4), -1, dtype=np.int32)
            longer[: len(self._position_of)] = self._position_of
            self._position_of = longer
        self._position_of[chunk_ids] = positions

    def _map(self, rows: int) -> Mapped | None:
        """The file with at least so many vectors, if it is long enough."""
        with self._lock:
            if self._mapped is None or self._mapped.count < rows:
                self._mapped = self._file.map()
            return self._mapped

    def _of(
        self, chunk_ids: NDArray[np.int64], count: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The position of each passage, and which of them have one below `count`."""
        with self._lock:
            position_of, last = self._position_of, self._last
            found = self._found.get(id(chunk_ids))
        if found is not None and found.chunk_ids is chunk_ids and found.last == last:
            return found.places, found.there
        places = np.full(len(chunk_ids), -1, dtype=np.int64)
        inside = chunk_ids < len(position_of)
        places[inside] = position_of[chunk_ids[inside]]
        there = np.flatnonzero((places >= 0) & (places < count))
        if not chunk_ids.flags.writeable:  # of a set, which is asked for again and again
            with self._lock:
                self._found[id(chunk_ids)] = _Found(chunk_ids, last, places, there)
                while len(self._found) > REMEMBERED:
                    self._found.popitem(last=False)
        return places, there

    def vectors(self, chunk_ids: NDArray[np.int64], rows: int) -> NDArray[np.float32]:
        """The vectors of those passages that have one."""
        mapped = self._map(rows)
        if mapped is None:
            return np.zeros((0, 0), dtype=np.float32)
        places, there = self._of(chunk_ids, mapped.count)
        return mapped.copy(places[there])

    def compare(
        self,
        chunk_ids: NDArray[np.int64],
        query: NDArray[np.float32],
        *,
        bonus: Bonus | None,
        rows: int,
    ) -> NDArray[np.float32]:
        result = np.full(len(chunk_ids), NO_VECTOR, dtype=np.float32)
        mapped = self._map(rows)
        if mapped is None:
            return result
        places, there = self._of(chunk_ids, mapped.count)
        if len(there) > EXACT:
            result[there] = FAR
            there = _likely(mapped, places, there, query, bonus)
        there = there[np.argsort(places[there], kind="stable")]
        result[there] = mapped.products(places[there], query)
        return result


def _likely(
    mapped: Mapped,
    places: NDArray[np.int64],
    there: NDArray[np.int64],
    query: NDArray[np.float32],
    bonus: Bonus | None,
) -> NDArray[np.int64]:
    """Those of `there` whose vectors are worth comparing."""
    apart = mapped.distances(places[there], query)
    wanted = np.zeros(len(there), dtype=np.bool_)
    wanted[apart <= np.searchsorted(np.cumsum(np.bincount(apart)), NEAR)] = True
    if bonus is not None:
        more = bonus()[there]
        sharing = np.flatnonzero(more > 0)
        if len(sharing) > NEAR:
            angles = np.arange(mapped.dimension + 1) * (np.pi / mapped.dimension)
            sums = np.cos(angles)[apart[sharing]] + more[sharing]
            sharing = sharing[np.argpartition(-sums, NEAR)[:NEAR]]
        wanted[sharing] = True
    return there[wanted]


def _numbers(text: str) -> NDArray[np.int64]:
    return np.fromstring(text, dtype=np.int64, sep=" ")


_LOCK = threading.Lock()
_PLACES: OrderedDict[tuple[int, int], _Places] = OrderedDict()


def _places(key: tuple[int, int], file: VectorFile) -> _Places:
    with _LOCK:
        places = _PLACES.setdefault(key, _Places(file))
        _PLACES.move_to_end(key)
        while len(_PLACES) > REMEMBERED:
            _PLACES.popitem(last=False)
        return places
