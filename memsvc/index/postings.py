"""Which passages hold a term, remembered; after a change only what is new is looked up.

A passage never changes its terms or its scope, and its id is never given again: what is remembered
of passages that are gone does no harm, for the visible set decides what counts.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from memsvc.index.sets import Visible
from memsvc.index.sqlite_fts import matching

__all__ = ["holding"]

REMEMBERED = 1_024
REMEMBERED_PASSAGES = 4_000_000
"""In all the terms that are remembered."""

_Key = tuple[int, tuple[str, ...], str]


@dataclass(frozen=True, slots=True)
class _Posting:
    """Passages up to the id `last`, as of a change; not all of them when there are `more`."""

    ids: NDArray[np.int64]
    last: int
    change: int
    more: bool


def holding(
    connection: Connection, visible: Visible, term: str, *, most: int
) -> NDArray[np.int64] | None:
    """Ids of the passages of these scopes that hold the term, ascending, and perhaps of some that
    are gone; None when more than `most` hold it (never when negative).
    """
    key = (visible.snapshot[0], visible.keys, term)
    kept = _CACHE.get(key)
    committed = "memsvc_begin" not in connection.get_execution_options()
    if not committed or (kept is not None and kept.change > visible.change):
        return _cut(_fetched(connection, visible, term, most), most)
    if kept is not None and kept.change < visible.change:
        if 0 <= most < len(kept.ids) and most < _living(kept.ids, visible):
            return None
        kept = None if kept.more else _extended(connection, visible, term, kept)
        if kept is not None and 0 <= most < len(kept.ids):
            kept = None  # some of these are gone: count anew
    if kept is None or (kept.more and not 0 <= most < len(kept.ids)):
        kept = _fetched(connection, visible, term, most)
    _CACHE.put(key, kept)
    return _cut(kept, most)


def _living(ids: NDArray[np.int64], visible: Visible) -> int:
    """How many of the passages are in the set."""
    at = np.searchsorted(visible.chunk_ids, ids)
    at[at == len(visible.chunk_ids)] = 0
    return int((visible.chunk_ids[at] == ids).sum()) if len(visible.chunk_ids) else 0


def _cut(found: _Posting, most: int) -> NDArray[np.int64] | None:
    return None if 0 <= most < len(found.ids) else found.ids


def _fetched(connection: Connection, visible: Visible, term: str, most: int) -> _Posting:
    ids, last = matching(connection, visible.keys, term, most=-1 if most < 0 else most + 1)
    return _Posting(ids, last, visible.change, more=0 <= most < len(ids))


def _extended(connection: Connection, visible: Visible, term: str, kept: _Posting) -> _Posting:
    ids, last = matching(connection, visible.keys, term, most=-1, after=kept.last)
    ids = np.concatenate((kept.ids, ids)) if len(ids) else kept.ids
    return _Posting(ids, max(last, kept.last), visible.change, more=False)


class _Remembered:
    """The terms that were asked for last; safe to share by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: OrderedDict[_Key, _Posting] = OrderedDict()
        self._passages = 0

    def get(self, key: _Key) -> _Posting | None:
        with self._lock:
            found = self._found.get(key)
            if found is not None:
                self._found.move_to_end(key)
            return found

    def put(self, key: _Key, found: _Posting) -> None:
        found.ids.flags.writeable = False
        with self._lock:
            before = self._found.pop(key, None)
            self._passages += len(found.ids) - (0 if before is None else len(before.ids))
            self._found[key] = found
            while len(self._found) > REMEMBERED or (
                self._passages > REMEMBERED_PASSAGES and len(self._found) > 1
            ):
                _, dropped = self._found.popitem(last=False)
                self._passages -= len(dropped.ids)


_CACHE = _Remembered()
