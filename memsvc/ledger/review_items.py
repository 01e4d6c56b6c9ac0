"""What waited for a person about a note, whatever became of it."""

import json
from typing import Any

from sqlalchemy import Connection, select

from memsvc.ledger import tables

__all__ = ["corrections_of", "last_hold", "restatements_of"]

_ABOUT_TEXT = ("proposal", "correction", "restatement", "withheld", "dispute")


def corrections_of(connection: Connection, note_id: str) -> list[str]:
    """The notes that were proposed as a new text of a note; their ids, oldest first."""
    table = tables.review_item
    rows = connection.execute(
        select(table.c.note_id, table.c.detail)
        .where(table.c.detail.contains(note_id))
        .order_by(table.c.review_id)
    )
    found = [row.note_id for row in rows if json.loads(row.detail).get("corrects") == note_id]
    return list(dict.fromkeys(found))


def restatements_of(connection: Connection, note_id: str) -> list[str]:
    """The notes that wait as they probably say again what was rejected of a note; their ids."""
    table = tables.review_item
    rows = connection.execute(
        select(table.c.note_id, table.c.detail)
        .where(table.c.state == "open", table.c.detail.contains(note_id))
        .order_by(table.c.review_id)
    )
    return [row.note_id for row in rows if json.loads(row.detail).get("rejected_note") == note_id]


def last_hold(connection: Connection, note_id: str) -> tuple[str, dict[str, Any]] | None:
    """The kind and the detail of the last item that a note's text waited under, if it ever did."""
    table = tables.review_item
    row = connection.execute(
        select(table.c.kind, table.c.detail)
        .where(table.c.note_id == note_id, table.c.kind.in_(_ABOUT_TEXT))
        .order_by(table.c.review_id.desc())
        .limit(1)
    ).first()
    return (row.kind, json.loads(row.detail)) if row else None
