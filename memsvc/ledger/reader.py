"""What a caller may read of the ledger; every function takes the proof of its scope first."""

import json
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, func, or_, select

from memsvc.ledger import tables
from memsvc.model.identity import Scope
from memsvc.model.replies import EventView
from memsvc.scope.proof import ReadScope

__all__ = ["count_events", "events", "reviews", "tombstones"]


def events(
    scope: ReadScope,
    connection: Connection,
    *,
    note_id: str = "",
    since: str = "",
    action: str = "",
    actor: str = "",
    before: int = 0,
    limit: int = 20,
) -> list[EventView]:
    """Events of the scope, newest first. `since` is a stamp; `before` a sequence number, 0 for none."""
    table = tables.audit_event
    statement = select(table).where(_within(scope, table.c.vault, table.c.project))
    if note_id:
        statement = statement.where(table.c.note_id == note_id)
    if since:
        statement = statement.where(table.c.at >= since)
    if action:
        statement = statement.where(table.c.action == action)
    if actor:
        kind, _, name = actor.partition(":")
        statement = statement.where(table.c.actor_kind == kind)
        if name:
            statement = statement.where(table.c.actor_name == name)
    if before:
        statement = statement.where(table.c.seq < before)
    rows = connection.execute(statement.order_by(table.c.seq.desc()).limit(limit))
    return [_event(row) for row in rows]


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


def reviews(scope: ReadScope, connection: Connection) -> list[dict[str, Any]]:
    """Open review items of the scope, oldest first."""
    table = tables.review_item
    rows = connection.execute(
        select(table)
        .where(_within(scope, table.c.vault, table.c.project), table.c.state == "open")
        .order_by(table.c.at, table.c.review_id)
    )
    shown = ("review_id", "vault", "project", "kind", "note_id", "version", "at", "event_seq")
    return [
        {**{name: getattr(row, name) for name in shown}, "detail": json.loads(row.detail)}
        for row in rows
    ]


def _within(
    scope: ReadScope, vault: ColumnElement[str], project: ColumnElement[str]
) -> ColumnElement[bool]:
    """The scope as a condition; an empty scope matches nothing."""
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
        detail=json.loads(row.detail),
        prev_hash=row.prev_hash,
        hash=row.hash,
    )
