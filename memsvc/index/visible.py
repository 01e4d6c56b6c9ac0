"""The visible set: which versions a read may see. Nothing else selects notes or passages.

A set is remembered for as long as nothing in its scopes changed and no validity begins or ends;
the scopes, their state and the filters are the key.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, Row, and_, case, func, or_, select, true

from memsvc.index.schema import entries, scopes, state
from memsvc.index.sqlite_fts import scope_key
from memsvc.index.values import Filters
from memsvc.model.vocabulary import Status
from memsvc.scope.proof import ReadScope

__all__ = ["Visible", "keys_of", "snapshot_of", "visible"]

REMEMBERED = 24
_REPLACED_MODES = ("changed", "superseded", "amend", "edit")
_END_OF_TIME = "~"
_HIDDEN, _REDIRECT, _PAST, _SEEN = range(4)

Snapshot = tuple[int, tuple[tuple[str, int], ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Visible:
    """Versions in order of entry id, with their passages; every array is read only.

    `seen` are the versions that a reply may show. The others only lead on: a query that matches
    one gets `successor`, the position of the version that took its place, or nothing at -1.
    """

    keys: tuple[str, ...]
    snapshot: Snapshot
    entry_ids: NDArray[np.int64]
    note_ids: tuple[str, ...]
    versions: NDArray[np.int64]
    seen: NDArray[np.bool_]
    past: NDArray[np.bool_]
    """Replaced or run out: shown as history only, below what took its place."""
    current: NDArray[np.bool_]
    """True at this moment and as memsvc knows it now."""
    successor: NDArray[np.int64]
    trust: NDArray[np.int64]
    updated: tuple[str, ...]
    chunk_ids: NDArray[np.int64]
    starts: NDArray[np.int64]
    """Position of each version's first passage; every version has at least one."""
    owner: NDArray[np.int64]
    """Position of the version that each passage belongs to."""
    by_note: Mapping[str, int]
    """Position of the version that stands for a note, where one is seen."""
    withheld: Mapping[str, int]

    def __len__(self) -> int:
        return len(self.entry_ids)

    def span(self, position: int) -> tuple[int, int]:
        """Where a version's passages begin and end in `chunk_ids`."""
        after = self.starts[position + 1] if position + 1 < len(self) else len(self.chunk_ids)
        return int(self.starts[position]), int(after)


_COLUMNS = (
    "entry_id",
    "note_id",
    "version",
    "trust_rank",
    "updated",
    "superseded_by",
    "first_chunk",
    "chunk_count",
    "tags",
    "standing",
    "current",
)


def keys_of(scope: ReadScope) -> tuple[str, ...]:
    """The index keys of the scopes, in a fixed order."""
    return tuple(sorted(scope_key(one) for one in set(scope.scopes)))


def snapshot_of(scope: ReadScope, connection: Connection) -> Snapshot:
    """What the caches of this process depend on: the index and the state of each scope."""
    epoch = connection.execute(select(state.c.epoch)).scalar_one()
    rows = connection.execute(
        select(scopes.c.scope_key, scopes.c.generation)
        .where(scopes.c.scope_key.in_(keys_of(scope)))
        .order_by(scopes.c.scope_key)
    )
    return epoch, tuple((row.scope_key, row.generation) for row in rows)


def visible(scope: ReadScope, connection: Connection, filters: Filters) -> Visible:
    """The visible set of the scopes under the filters; an empty scope sees nothing."""
    snapshot = snapshot_of(scope, connection)
    key = (keys_of(scope), snapshot, replace(filters, now="" if not filters.now else "now"))
    found = _CACHE.get(key, filters.now)
    if found is None:
        found, until = _build(scope, connection, filters, snapshot)
        _CACHE.put(key, filters.now, until, found)
    return found


class _Remembered:
    """The latest sets, each with the span of time it holds for; safe to share by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sets: OrderedDict[object, tuple[str, str, Visible]] = OrderedDict()

    def get(self, key: object, now: str) -> Visible | None:
        with self._lock:
            since, until, found = self._sets.get(key, ("", "", None))
            if found is None or not since <= now < until:
                return None
            self._sets.move_to_end(key)
            return found

    def put(self, key: object, now: str, until: str, found: Visible) -> None:
        with self._lock:
            self._sets[key] = (now, until, found)
            self._sets.move_to_end(key)
            while len(self._sets) > REMEMBERED:
                self._sets.popitem(last=False)


_CACHE = _Remembered()


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
    scope: ReadScope, connection: Connection, filters: Filters, snapshot: Snapshot
) -> tuple[Visible, str]:
    keys = keys_of(scope)
    rules = _rules(filters, keys)
    wanted = _wanted(filters)
    past = _PAST if filters.history else _REDIRECT
    standing = case(
        (and_(rules.seen, wanted), _SEEN),
        (and_(rules.past, wanted) if filters.history else rules.redirect, past),
        (rules.redirect, _REDIRECT),
        else_=_HIDDEN,
    )
    e = entries.c
    stored = (e[name] for name in _COLUMNS[:-2])
    columns = (*stored, standing.label("standing"), rules.current.label("current"))
    rows = connection.execute(
        select(*columns).where(e.scope_key.in_(keys), standing != _HIDDEN).order_by(e.entry_id)
    ).all()
    if filters.tags:
        rows = _with_tags(rows, filters.tags)
    withheld = _withheld(connection, keys, rules, history=filters.history)
    made = _assemble(keys, snapshot, rows, withheld)
    return made, _next_boundary(connection, keys, filters.now)


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

    return [row for row in rows if row.standing == _REDIRECT or has(row)]


def _assemble(
    keys: tuple[str, ...], snapshot: Snapshot, rows: Sequence[Row[Any]], withheld: dict[str, int]
) -> Visible:
    columns = tuple(zip(*rows, strict=True)) or ((),) * len(_COLUMNS)  # by column: rows are slow
    by_name = dict(zip(_COLUMNS, columns, strict=True))
    standing = np.array(by_name["standing"], dtype=np.int64)
    first = np.array(by_name["first_chunk"], dtype=np.int64)
    sizes = np.array(by_name["chunk_count"], dtype=np.int64)
    versions = np.array(by_name["version"], dtype=np.int64)
    note_ids = by_name["note_id"]
    starts = np.cumsum(sizes) - sizes
    owner = np.repeat(np.arange(len(rows)), sizes)
    by_note = _by_note(note_ids, standing, versions)
    made = Visible(
        keys=keys,
        snapshot=snapshot,
        entry_ids=np.array(by_name["entry_id"], dtype=np.int64),
        note_ids=note_ids,
        versions=versions,
        seen=standing >= _PAST,
        past=standing == _PAST,
        current=np.array(by_name["current"], dtype=np.bool_),
        successor=_successors(note_ids, standing, by_name["superseded_by"], by_note),
        trust=np.array(by_name["trust_rank"], dtype=np.int64),
        updated=by_name["updated"],
        chunk_ids=np.arange(int(sizes.sum())) - starts[owner] + first[owner],
        starts=starts,
        owner=owner,
        by_note=by_note,
        withheld=withheld,
    )
    for array in (made.entry_ids, versions, made.seen, made.past, made.current, made.successor):
        array.flags.writeable = False
    for array in (made.trust, made.chunk_ids, starts, owner):
        array.flags.writeable = False
    return made


def _by_note(
    note_ids: Sequence[str], standing: NDArray[np.int64], versions: NDArray[np.int64]
) -> dict[str, int]:
    """The seen version of each note; where several hold at once, the newest."""
    positions = np.flatnonzero(standing == _SEEN)
    ordered = positions[np.argsort(versions[positions], kind="stable")].tolist()
    return {note_ids[position]: position for position in ordered}


def _successors(
    note_ids: Sequence[str],
    standing: NDArray[np.int64],
    superseded_by: Sequence[str],
    by_note: Mapping[str, int],
) -> NDArray[np.int64]:
    """For each version, the seen one that took its place, along any chain of notes; else -1."""
    found = np.full(len(note_ids), -1, dtype=np.int64)
    replaced = np.flatnonzero(standing != _SEEN).tolist()
    after = {note_ids[at]: superseded_by[at] for at in replaced if superseded_by[at]}
    for position in replaced:
        note, met = note_ids[position], set[str]()
        while note and note not in by_note and note not in met:
            met.add(note)
            note = after.get(note, "")
        found[position] = by_note.get(note, -1)
    return found


def _withheld(
    connection: Connection, keys: Sequence[str], rules: _Rules, *, history: bool
) -> dict[str, int]:
    """How many notes of these scopes are kept back, by reason."""
    e = entries.c
    reason = case(
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
    rows = connection.execute(
        select(reason.label("reason"), func.count().label("notes"))
        .where(e.scope_key.in_(keys), e.latest == 1)
        .group_by(reason)
    )
    return {row.reason: row.notes for row in rows if row.reason}


def _next_boundary(connection: Connection, keys: Sequence[str], now: str) -> str:
    """The first instant after `now` at which any row may count otherwise."""
    e = entries.c
    begins = (e.valid_from, e.recorded_from)
    columns = (*begins, e.valid_to, e.valid_to_original, e.ended_at, e.recorded_to)
    ahead = [func.min(case((column > now, column))) for column in columns]
    if not now:
        return _END_OF_TIME
    row = connection.execute(select(*ahead).where(e.scope_key.in_(keys))).one()
    return min((str(value) for value in row if value), default=_END_OF_TIME)
