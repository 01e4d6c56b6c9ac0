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

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, case, func, or_, select, true

from memsvc.index.schema import entries, gone, scopes, state
from memsvc.index.sets import (
    HIDDEN,
    PAST,
    REDIRECT,
    ROW,
    SEEN,
    Rows,
    Snapshot,
    Visible,
    assemble,
)
from memsvc.index.sqlite_fts import scope_key
from memsvc.index.values import Filters
from memsvc.model.vocabulary import Status
from memsvc.scope.proof import ReadScope

__all__ = ["Visible", "keys_of", "snapshot_of", "visible"]

REMEMBERED = 24
REMEMBERED_PASSAGES = 4_000_000
"""So many passages, in all the sets that are remembered."""
OF_A_KIND = 2
"""Sets of the same scopes and filters: a reader may be at work on the last but one."""
MOST_CHANGES = 5_000
"""After more changes a set is made anew."""
_REPLACED_MODES = ("changed", "superseded", "amend", "edit")
_END_OF_TIME = "~"
_BATCH = 500

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


@dataclass(frozen=True, slots=True)
class _Rules:
    """Each a condition on one row of `index_entry`."""

    seen: ColumnElement[bool]
    past: ColumnElement[bool]
    redirect: ColumnElement[bool]
    current: ColumnElement[bool]
    begun: ColumnElement[bool]
    believed: ColumnElement[bool]
    running: ColumnElement[bool]
    replaced: ColumnElement[bool]


def _rules(filters: Filters, keys: Sequence[str]) -> _Rules:
    e = entries.c
    stands = e.status.in_((Status.ACTIVE.value, Status.SUPERSEDED.value))
    superseded = e.status == Status.SUPERSEDED.value
    now, held = filters.now, filters.known_at or filters.now
    moment = filters.as_of or held
    if filters.known_at or filters.as_of:
        # what memsvc learned after `held` had not happened yet
        recorded = e.recorded_from <= held
        believed = and_(recorded, or_(e.recorded_to == "", e.recorded_to > held))
        replaced = and_(superseded, e.ended_at <= held)
        end: ColumnElement[str] = case((e.ended_at > held, e.valid_to_original), else_=e.valid_to)
    else:
        recorded = true()
        believed = e.recorded_to == ""
        replaced = superseded
        end = e.valid_to
    after = case((superseded, _successor_begins(keys, held)), else_="")
    replaced = and_(replaced, after <= moment)  # until its successor holds, a note stands
    end = case((and_(replaced, end == ""), after), else_=end)
    begun = e.valid_from <= moment
    running = or_(end == "", end > moment)
    window = and_(stands, believed, begun, running)
    seen = and_(window, or_(~replaced, end != "")) if filters.as_of else and_(window, ~replaced)
    ended = and_(believed, or_(replaced, ~running))
    rewritten = and_(~believed, e.end_mode.in_(_REPLACED_MODES))
    current = and_(
        or_(e.status == Status.ACTIVE.value, after > now),
        e.recorded_to == "",
        e.valid_from <= now,
        or_(e.valid_to == "", e.valid_to > now),
    )
    if not now:  # the newest recorded text, whatever its validity
        seen = and_(e.status == Status.ACTIVE.value, e.recorded_to == "", e.latest == 1)
        current = seen
    return _Rules(
        seen=seen,
        past=and_(stands, recorded, begun, or_(ended, rewritten)),
        redirect=and_(
            stands,
            believed,
            begun,
            or_(
                and_(replaced, e.superseded_by != ""),
                and_(e.end_mode == "changed", ~running),
            ),
        ),
        current=current,
        begun=begun,
        believed=believed,
        running=running,
        replaced=replaced,
    )


def _successor_begins(keys: Sequence[str], held: str) -> ColumnElement[str]:
    """Since when the note holds that took a row's place, as was known then; empty if unknown."""
    other = entries.alias("successor")
    return func.coalesce(
        select(func.min(other.c.valid_from))
        .where(
            other.c.note_id == entries.c.superseded_by,
            other.c.scope_key.in_(keys),
            other.c.status.in_((Status.ACTIVE.value, Status.SUPERSEDED.value)),
            other.c.recorded_from <= held,
            or_(other.c.recorded_to == "", other.c.recorded_to > held),
        )
        .correlate(entries)
        .scalar_subquery(),
        "",
    )


def _build(
    connection: Connection, keys: tuple[str, ...], filters: Filters, stands: _State
) -> _Made:
    """The set from all rows of the scopes."""
    found = _query(keys, filters, every=False)
    rows = connection.execute(found).all()
    reasons = (row[len(ROW)] for row in rows)
    withheld = {row[0]: reason for row, reason in zip(rows, reasons, strict=True) if reason}
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
    e = entries.c
    changed = _query(keys, filters, every=True).where(e.change > base.change)
    rows = connection.execute(changed.limit(MOST_CHANGES + 1)).all()
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
        crossed = _query(keys, filters, every=True).where(_crosses(base.since, filters.now))
        affected |= {row.entry_id: row for row in connection.execute(crossed)}
        until = _next_boundary(connection, keys, filters.now)
    notes = sorted({row.note_id for row in affected.values()} | {row.note_id for row in left})
    for start in range(0, len(notes), _BATCH):
        replaced = e.superseded_by.in_(notes[start : start + _BATCH])
        found = connection.execute(_query(keys, filters, every=True).where(replaced))
        affected |= {row.entry_id: row for row in found}
    fresh: Sequence[Row[Any]] = [affected[entry_id] for entry_id in sorted(affected)]
    if filters.now:
        ahead = (value for row in fresh for value in row[-len(_INSTANTS) :] if value > filters.now)
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


def _query(keys: tuple[str, ...], filters: Filters, *, every: bool) -> Select[Any]:
    """Rows of the scopes: how they stand and why they are kept back.

    All of them, with their instants last, or those that are not hidden or that count as kept back.
    """
    e = entries.c
    rules = _rules(filters, keys)
    wanted = _wanted(filters)
    past = PAST if filters.history else REDIRECT
    standing = case(
        (and_(rules.seen, wanted), SEEN),
        (and_(rules.past, wanted) if filters.history else rules.redirect, past),
        (rules.redirect, REDIRECT),
        else_=HIDDEN,
    )
    reason = case((e.latest == 1, _reason(rules, history=filters.history)), else_="")
    stored = [e[name] for name in ROW[:-2]]
    query = select(
        *stored,
        standing.label("standing"),
        rules.current.label("current"),
        reason.label("reason"),
        *((e.tags,) if filters.tags else ()),
        *(_INSTANTS if every else ()),
    ).where(e.scope_key.in_(keys))
    if not every:
        query = query.where(or_(standing != HIDDEN, reason != ""))
    return query.order_by(e.entry_id)


def _wanted(filters: Filters) -> ColumnElement[bool]:
    e = entries.c
    wanted: list[ColumnElement[bool]] = [e.trust_rank >= filters.min_trust.rank]
    if filters.kinds:
        wanted.append(e.kind.in_([kind.value for kind in filters.kinds]))
    return and_(*wanted)


def _with_tags(rows: Sequence[Row[Any]], tags: Sequence[str]) -> list[Row[Any]]:
    """Rows whose note has every tag, or one below it (`a/b` is below `a`)."""
    import json  # a filter that few recalls use

    needed = [tag.strip().lstrip("#").casefold() for tag in tags]

    def has(row: Row[Any]) -> bool:
        own = [str(tag).casefold() for tag in json.loads(row.tags)]
        return all(any(f"{one}/".startswith(f"{tag}/") for one in own) for tag in needed)

    return [row for row in rows if row.standing == REDIRECT or has(row)]


def _reason(rules: _Rules, *, history: bool) -> ColumnElement[str]:
    """Why a row is kept back; empty if it is not."""
    e = entries.c
    return case(
        (rules.seen, ""),
        (e.status == Status.PROPOSED.value, "proposed"),
        (e.status == Status.DISPUTED.value, "disputed"),
        (~rules.believed, ""),
        (rules.replaced, "" if history else "superseded"),
        (e.status != Status.ACTIVE.value, ""),
        (~rules.begun, "not_yet_valid"),
        (~rules.running, "" if history else "expired"),
        else_="",
    )


_INSTANTS = (
    entries.c.valid_from,
    entries.c.recorded_from,
    entries.c.valid_to,
    entries.c.valid_to_original,
    entries.c.ended_at,
    entries.c.recorded_to,
)


def _crosses(since: str, now: str) -> ColumnElement[bool]:
    """Whether any instant of a row is after `since` and not after `now`."""
    return or_(*(and_(column > since, column <= now) for column in _INSTANTS))


def _next_boundary(connection: Connection, keys: Sequence[str], now: str) -> str:
    """The first instant after `now` at which any row may count otherwise."""
    if not now:
        return _END_OF_TIME
    ahead = [func.min(case((column > now, column))) for column in _INSTANTS]
    row = connection.execute(select(*ahead).where(entries.c.scope_key.in_(keys))).one()
    return min((str(value) for value in row if value), default=_END_OF_TIME)
