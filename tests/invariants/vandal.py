"""Somebody who has the database file and knows how memsvc works: changes what nobody may change."""
# ruff: noqa: S608 - column names are ours

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memsvc.ledger.chain import GENESIS, event_hash

__all__ = ["behind_the_back", "cut_tail", "move_up", "rechain"]


@contextmanager
def behind_the_back(database: Path) -> Iterator[sqlite3.Connection]:
    """A raw connection without the triggers of the ledger, which are put back as they were."""
    raw = sqlite3.connect(database)
    raw.row_factory = sqlite3.Row
    found = raw.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' "
        "AND tbl_name IN ('audit_event', 'tombstone')"
    ).fetchall()
    for row in found:
        raw.execute(f"DROP TRIGGER {row['name']}")
    yield raw
    for row in found:
        raw.execute(row["sql"])
    raw.commit()
    raw.close()


def rechain(raw: sqlite3.Connection) -> None:
    """Number all events anew in their order and make every hash again, as memsvc would have."""
    rows = [dict(row) for row in raw.execute("SELECT * FROM audit_event ORDER BY seq")]
    raw.execute("DELETE FROM audit_event")
    head = GENESIS
    for seq, row in enumerate(rows, start=1):
        row |= {"seq": seq, "prev_hash": head}
        head = row["hash"] = event_hash(row)
        names = ", ".join(row)
        marks = ", ".join(f":{name}" for name in row)
        raw.execute(f"INSERT INTO audit_event ({names}) VALUES ({marks})", row)
    raw.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'audit_event'", (len(rows),))


def move_up(raw: sqlite3.Connection, *, above: int) -> None:
    """Let everything that remembers an event above a number remember the one before it."""
    for table in ("note_version", "tombstone", "review_item"):
        raw.execute(f"UPDATE {table} SET event_seq = event_seq - 1 WHERE event_seq > ?", (above,))


def cut_tail(raw: sqlite3.Connection, *, keep: int) -> None:
    """Remove all events after number `keep`, and everything in the ledger that remembers them."""
    raw.execute("DELETE FROM audit_event WHERE seq > ?", (keep,))
    raw.execute("DELETE FROM note_version WHERE event_seq > ?", (keep,))
    raw.execute("DELETE FROM tombstone WHERE event_seq > ?", (keep,))
    raw.execute("DELETE FROM review_item WHERE event_seq > ?", (keep,))
    raw.execute(
        "UPDATE tombstone SET lifted_event = 0, lifted_at = '' WHERE lifted_event > ?", (keep,)
    )
    raw.execute("UPDATE sqlite_sequence SET seq = ? WHERE name = 'audit_event'", (keep,))
