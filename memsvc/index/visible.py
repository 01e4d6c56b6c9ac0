"""The visible set: which versions a read may see. Nothing else selects notes or passages.

A set is remembered for as long as nothing in its scopes changed and no validity begins or ends;
the scopes, their state and the filters are the key. After that only what changed is asked for
again: the versions that went through a later change, those that left, those whose window began or
ended meanwhile, and those that such a note replaces.
"""

import threading
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row, case, func, select

from memsvc.database import in_batches
from memsvc.index.rules import INSTANTS, Shape, Which, statement
from memsvc.index.schema import entries, gone, scopes, state
from memsvc.index.sets import (
    REDIRECT,
    ROW,
    Rows,
    Snapshot,
    Visible,
    assemble,
)
from memsvc.index.sqlite_fts import scope_key
from memsvc.index.values import Filters
from memsvc.scope.proof import ReadScope

__all__ = ["Visible", "keys_of", "snapshot_of", "visible"]

REMEMBERED = 24
REMEMBERED_PASSAGES = 4_000_000
"""So many passages, in all the sets that are remembered."""
OF_A_KIND = 2
"""Sets of the same scopes and filters: a reader may be at work on the last but one."""
MOST_CHANGES = 5_000
"""After more changes a set is made anew."""
_END_OF_TIME = "~"

_Kind = tuple[int, tuple[str, ...], Filters]


@dataclass(frozen=True, slots=True)
class _State:
    """Where the index stands: the snapshot, its last change, and how far back changes are known."""

    snapshot: Snapshot
    change: int
    told_from: int


@dataclass(frozen=True, slots=True)
class _Made:
    """A set with what it takes to bring it up to date; it holds from `since` until `until`."""

    visible: Visible
    rows: Rows
    withheld: Mapping[int, str]
    """Why versions are kept back, by entry id."""
    change: int
    since: str
    until: str


def keys_of(scope: ReadScope) -> tuple[str, ...]:
    """The index keys of the scopes, in a fixed order."""
    return tuple(sorted(scope_key(one) for one in set(scope.scopes)))


def snapshot_of(scope: ReadScope, connection: Connection) -> Snapshot:
    """What the caches of this process depend on: the index and the state of each scope."""
    return _state(keys_of(scope), connection).snapshot


def _state(keys: tuple[str, ...], connection: Connection) -> _State:
    row = connection.execute(select(state.c.epoch, state.c.change, state.c.told_from)).one()
    found = connection.execute(
        select(scopes.c.scope_key, scopes.c.generation)
        .where(scopes.c.scope_key.in_(keys))
        .order_by(scopes.c.scope_key)
    )
    generations = tuple((one.scope_key, one.generation) for one in found)
    return _State((row.epoch, generations), row.change, row.told_from)


def visible(scope: ReadScope, connection: Connection, filters: Filters) -> Visible:
    """The visible set of the scopes under the filters; an empty scope sees nothing."""
    keys = keys_of(scope)
    stands = _state(keys, connection)
    kind = (stands.snapshot[0], keys, replace(filters, now="now" if filters.now else ""))
    made = _SETS.get(kind, stands, filters.now)
    if made is None:
        base = _SETS.base(kind, stands, filters.now)
        made = None if base is None else _refreshed(connection, keys, filters, stands, base)
        made = made or _build(connection, keys, filters, stands)
        if "memsvc_begin" not in connection.get_execution_options():
            _SETS.put(kind, made)  # what is not committed may never be
    return made.visible


class _Remembered:
    """The latest sets by kind, the newest of a kind last; safe to share by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sets: OrderedDict[_Kind, list[_Made]] = OrderedDict()

    def get(self, kind: _Kind, stands: _State, now: str) -> _Made | None:
        """The set that holds here and now."""
        with self._lock:
            for made in self._sets.get(kind, ()):
                if made.visible.snapshot == stands.snapshot and made.since <= now < made.until:
                    self._sets.move_to_end(kind)
                    return made
            return None

    def base(self, kind: _Kind, stands: _State, now: str) -> _Made | None:
        """The newest earlier set from which all changes are known."""
        with self._lock:
            fit = [
                made
                for made in self._sets.get(kind, ())
                if stands.told_from <= made.change <= stands.change and made.since <= now
            ]
        return max(fit, key=lambda made: made.change, default=None)

    def put(self, kind: _Kind, made: _Made) -> None:
        with self._lock:
            kept = self._sets.setdefault(kind, [])
            kept.append(made)
            del kept[:-OF_A_KIND]
            self._sets.move_to_end(kind)
            while len(self._sets) > 1 and self._too_many():
                self._sets.popitem(last=False)

    def _too_many(self) -> bool:
        held = sum(len(made.visible.chunk_ids) for kept in self._sets.values() for made in kept)
        return len(self._sets) > REMEMBERED or held > REMEMBERED_PASSAGES

    def clear(self) -> None:
        with self._lock:
            self._sets.clear()


_SETS = _Remembered()


def _build(
    connection: Connection, keys: tuple[str, ...], filters: Filters, stands: _State
) -> _Made:
    """The set from all rows of the scopes."""
    rows = _rows(connection, keys, filters, Which.ALL)
    withheld = {row[0]: row[len(ROW)] for row in rows if row[len(ROW)]}
    columns = Rows.of(_with_tags(rows, filters.tags) if filters.tags else rows)
    made = assemble(
        columns,
        keys=keys,
        snapshot=stands.snapshot,
        change=stands.change,
        withheld=Counter(withheld.values()),
    )
    until = _next_boundary(connection, keys, filters.now)
    return _Made(made, columns, withheld, stands.change, filters.now, until)


def _refreshed(
    connection: Connection,
    keys: tuple[str, ...],
    filters: Filters,
    stands: _State,
    base: _Made,
) -> _Made | None:
    """An earlier set brought up to date; None when too much changed."""
    rows = _rows(
        connection, keys, filters, Which.CHANGED, change=base.change, limit=MOST_CHANGES + 1
    )
    left = connection.execute(
        select(gone.c.entry_id, gone.c.note_id)
        .where(gone.c.change > base.change, gone.c.scope_key.in_(keys))
        .limit(MOST_CHANGES + 1)
    ).all()
    if len(rows) > MOST_CHANGES or len(left) > MOST_CHANGES:
        return None
    affected = {row.entry_id: row for row in rows}
    until = base.until
    if filters.now >= until:
        crossed = _rows(connection, keys, filters, Which.CROSSED, since=base.since)
        affected |= {row.entry_id: row for row in crossed}
        until = _next_boundary(connection, keys, filters.now)
    notes = sorted({row.note_id for row in affected.values()} | {row.note_id for row in left})
    for some in in_batches(notes):
        found = _rows(connection, keys, filters, Which.REPLACED, notes=some)
        affected |= {row.entry_id: row for row in found}
    fresh: Sequence[Row[Any]] = [affected[entry_id] for entry_id in sorted(affected)]
    ahead = (value for row in fresh for value in row[-len(INSTANTS) :] if value > filters.now)
    until = min(until, min(ahead, default=until))
    withheld = dict(base.withheld)
    for entry_id in (*affected, *(row.entry_id for row in left)):
        withheld.pop(entry_id, None)
    withheld |= {row.entry_id: row.reason for row in fresh if row.reason}
    wanted = Rows.of(_with_tags(fresh, filters.tags) if filters.tags else fresh)
    columns = base.rows.merged({*affected, *(row.entry_id for row in left)}, wanted)
    made = assemble(
        columns,
        keys=keys,
        snapshot=stands.snapshot,
        change=stands.change,
        withheld=Counter(withheld.values()),
        base=(base.rows, base.visible),
    )
    return _Made(made, columns, withheld, stands.change, filters.now, until)


def _rows(
    connection: Connection, keys: tuple[str, ...], filters: Filters, which: Which, **more: object
) -> Sequence[Row[Any]]:
    """Rows of the scopes: how they stand and why they are kept back.

    Those of `ALL` in order of entry id, the others with their instants last.
    """
    held = filters.known_at or filters.now
    given: dict[str, object] = {
        "keys": keys,
        "now": filters.now,
        "held": held,
        "moment": filters.as_of or held,
        "trust": filters.min_trust.rank,
        "kinds": [kind.value for kind in filters.kinds],
    }
    return connection.execute(statement(Shape.of(filters), which), given | more).all()


def _with_tags(rows: Sequence[Row[Any]], tags: Sequence[str]) -> list[Row[Any]]:
    """Rows whose note has every tag, or one below it (`a/b` is below `a`)."""
    import json  # a filter that few recalls use

    needed = [tag.lstrip("#").casefold() for tag in tags]

    def has(row: Row[Any]) -> bool:
        own = [str(tag).casefold() for tag in json.loads(row.tags)]
        return all(any(f"{one}/".startswith(f"{tag}/") for one in own) for tag in needed)

    return [row for row in rows if row.standing == REDIRECT or has(row)]


def _next_boundary(connection: Connection, keys: Sequence[str], now: str) -> str:
    """The first instant after `now` at which any row may count otherwise."""
    if not now:
        return _END_OF_TIME
    columns = [entries.c[name] for name in INSTANTS]
    ahead = [func.min(case((column > now, column))) for column in columns]
    row = connection.execute(select(*ahead).where(entries.c.scope_key.in_(keys))).one()
    return min((str(value) for value in row if value), default=_END_OF_TIME)
