"""Which passages hold a term, remembered while the scopes stay as they are."""

import threading
from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from memsvc.index.sets import Snapshot
from memsvc.index.sqlite_fts import matching

__all__ = ["postings"]

REMEMBERED = 512

_Key = tuple[Snapshot, tuple[str, ...], str, int]


def postings(
    connection: Connection, snapshot: Snapshot, keys: tuple[str, ...], term: str, *, most: int
) -> NDArray[np.int64]:
    """Ids of the passages of these scopes that hold the term, at most `most`, ascending."""
    key = (snapshot, keys, term, most)
    found = _CACHE.get(key)
    if found is None:
        found = matching(connection, keys, term, most=most)
        found.flags.writeable = False
        _CACHE.put(key, found)
    return found


class _Remembered:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: OrderedDict[_Key, NDArray[np.int64]] = OrderedDict()

    def get(self, key: _Key) -> NDArray[np.int64] | None:
        with self._lock:
            found = self._found.get(key)
            if found is not None:
                self._found.move_to_end(key)
            return found

    def put(self, key: _Key, found: NDArray[np.int64]) -> None:
        with self._lock:
            self._found[key] = found
            while len(self._found) > REMEMBERED:
                self._found.popitem(last=False)


_CACHE = _Remembered()
