"""What a caller may read of the ledger; every function takes the proof of its scope first."""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, func, or_, select, tuple_

from memsvc.ledger import tables
from memsvc.model.identity import Scope
from memsvc.model.replies import EventView, Json
from memsvc.model.vocabulary import Status
from memsvc.scope.proof import ReadScope

__all__ = [
    "ALL_EVENTS",
    "EventFilter",
    "count_events",
    "events",
    "note_ids",
    "reviews",
    "successors",
    "tombstones",
]

_MOST_TERMS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class EventFilter:
    """Which events are wanted; the empty text and 0 do not narrow.

    `since` and `until` are stamps of a half-open span; `before` and `after` sequence numbers,
    neither included; `note_id` is a whole id, `note_prefix` the beginning of one.
    """

    vault: str = ""
    project: str = ""
    note_id: str = ""
    note_prefix: str = ""
    action: str = ""
    outcome: str = ""
    actor_kind: str = ""
    actor_name: str = ""
    since: str = ""
    until: str = ""
    before: int = 0
    after: int = 0


ALL_EVENTS = EventFilter()
"""Narrows nothing."""


def events(
    scope: ReadScope,
    connection: Connection,
    wanted: EventFilter = ALL_EVENTS,
    *,
    limit: int,
    oldest_first: bool = False,
) -> list[EventView]:
    """At most `limit` events of the scope, newest first unless told otherwise."""
    table = tables.audit_event
    order = table.c.seq.asc() if oldest_first else table.c.seq.desc()
    statement = select(table).where(_within(scope, table.c.vault, table.c.project))
    for condition in _conditions(wanted):
        statement = statement.where(condition)
    return [_event(row) for row in connection.execute(statement.order_by(order).limit(limit))]


def _conditions(wanted: EventFilter) -> Iterator[ColumnElement[bool]]:
    columns = tables.audit_event.c
    for name in ("vault", "project", "note_id", "action", "outcome", "actor_kind", "actor_name"):
        value = getattr(wanted, name)
        if value:
            yield columns[name] == value
    if wanted.note_prefix:
        yield columns.note_id.between(wanted.note_prefix, f"{wanted.note_prefix}\uffff")
    if wanted.since:
        yield columns["at"] >= wanted.since
    if wanted.until:
        yield columns["at"] < wanted.until
    if wanted.before:
        yield columns.seq < wanted.before
    if wanted.after:
        yield columns.seq > wanted.after


def count_events(scope: ReadScope, connection: Connection) -> int:
    """How many events the scope has."""
    table = tables.audit_event
    where = _within(scope, table.c.vault, table.c.project)
    return int(connection.execute(select(func.count()).where(where)).scalar() or 0)


def tombstones(scope: ReadScope, connection: Connection) -> list[dict[str, Any]]:
    """Tombstones of the scope, newest first, without digests."""
    table = tables.tombstone
    rows = connection.execute(
        select(table)
        .where(_within(scope, table.c.vault, table.c.project))
        .order_by(table.c.at.desc(), table.c.tombstone_id)
    )
    shown = ("tombstone_id", "vault", "project", "claim_kind", "note_id", "version", "at", "actor")
    more = ("reason", "event_seq", "lifted_at", "lifted_by")
    return [{name: getattr(row, name) for name in (*shown, *more)} for row in rows]


def reviews(
    scope: ReadScope, connection: Connection, *, review_id: str = ""
) -> list[dict[str, Any]]:
    """Open review items of the scope, oldest first; or the one of that id, open or closed."""
    table = tables.review_item
    one = table.c.review_id == review_id if review_id else table.c.state == "open"
    rows = connection.execute(
        select(table)
        .where(_within(scope, table.c.vault, table.c.project), one)
        .order_by(table.c.at, table.c.review_id)
    )
    shown = ["review_id", "vault", "project", "kind", "note_id", "version", "at", "event_seq"]
    shown += ["state", "closed_at"] if review_id else []
    return [
        {**{name: getattr(row, name) for name in shown}, "detail": json.loads(row.detail)}
        for row in rows
    ]


def note_ids(
    scope: ReadScope, connection: Connection, *, only: Scope, statuses: Collection[Status]
) -> list[str]:
    """The ids of the notes of one scope among those that may be read, which stand so, in order."""
    table = tables.note
    rows = connection.execute(
        select(table.c.note_id)
        .where(
            _within(scope, table.c.vault, table.c.project),
            _is(table.c.vault, table.c.project, only),
            table.c.status.in_([status.value for status in statuses]),
        )
        .order_by(table.c.note_id)
    )
    return [row.note_id for row in rows]


def successors(scope: ReadScope, connection: Connection, *, only: Scope) -> dict[str, str]:
    """By id of a replaced note of one scope, the id of the note that replaced it there."""
    table = tables.note
    rows = connection.execute(
        select(table.c.note_id, table.c.superseded_by).where(
            _within(scope, table.c.vault, table.c.project),
            _is(table.c.vault, table.c.project, only),
            table.c.status == Status.SUPERSEDED.value,
            table.c.superseded_by != "",
        )
    )
    return {row.note_id: row.superseded_by for row in rows}


def _within(
    scope: ReadScope, vault: ColumnElement[str], project: ColumnElement[str]
) -> ColumnElement[bool]:
    """The scope as a condition; an empty scope matches nothing."""
    if len(scope.scopes) > _MOST_TERMS:  # SQLite takes no deeper expression than a thousand terms
        return tuple_(vault, project).in_([(one.vault, one.project) for one in scope.scopes])
    pairs = [_is(vault, project, one) for one in scope.scopes]
    return or_(*pairs) if pairs else and_(vault == "", vault != "")


def _is(vault: ColumnElement[str], project: ColumnElement[str], one: Scope) -> ColumnElement[bool]:
    return and_(vault == one.vault, project == one.project)


def _event(row: Row[Any]) -> EventView:
    return EventView(
        seq=row.seq,
        at=row.at,
        action=row.action,
        outcome=row.outcome,
        vault=row.vault,
        project=row.project,
        note_id=row.note_id,
        version=row.version,
        actor=f"{row.actor_kind}:{row.actor_name}",
        on_behalf_of=row.on_behalf_of,
        client=row.client,
        session=row.session,
        request_id=row.request_id,
        reason=row.reason,
        before_hash=row.before_hash,
        after_hash=row.after_hash,
        detail=_detail(row.detail),
        prev_hash=row.prev_hash,
        hash=row.hash,
    )


def _detail(text: str) -> dict[str, Json]:
    """An event's detail; one that somebody spoilt must not keep the others from being listed."""
    try:
        found = json.loads(text)
    except ValueError:
        return {"unreadable": text}
    return found if isinstance(found, dict) else {"unreadable": text}
