"""The hash chain over audit events: how a hash is made, and how the chain is checked."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, func, select, text

from memsvc.ledger.tables import audit_event, note_version, tombstone

__all__ = ["GENESIS", "Verdict", "event_hash", "verify"]

GENESIS = "0" * 64
"""The previous hash of the first event."""

_FIELDS = tuple(column.name for column in audit_event.columns if column.name != "hash")
_MOST_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class Verdict:
    """`problems` is empty when the chain holds; `head` is the last event's hash."""

    events: int
    head: str
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.problems


def event_hash(row: Mapping[str, Any] | RowMapping) -> str:
    """sha256 over all of an event's fields but the hash itself, as JSON with sorted keys."""
    plain = {name: row[name] for name in _FIELDS}
    packed = json.dumps(plain, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(packed.encode("utf-8", "surrogatepass")).hexdigest()


def verify(connection: Connection) -> Verdict:
    """Walk all events: numbers without gaps, links, hashes, and a tail that nothing outlives."""
    rows = connection.execute(select(audit_event).order_by(audit_event.c.seq))
    problems, count, head = _walk(rows.mappings())
    newest = _newest_number(connection)
    if newest > count:
        problems.append(f"events {count + 1} to {newest} are gone from the end")
    return Verdict(count, head, tuple(problems[:_MOST_PROBLEMS]))


def _walk(rows: Iterable[RowMapping]) -> tuple[list[str], int, str]:
    problems: list[str] = []
    expected, head = 1, GENESIS
    for row in rows:
        seq = int(row["seq"])
        if seq != expected:
            problems.append(f"events {expected} to {seq - 1} are missing before event {seq}")
        if row["prev_hash"] != head:
            problems.append(f"event {seq} does not follow event {seq - 1}")
        if row["hash"] != event_hash(row):
            problems.append(f"event {seq} was changed")
        expected, head = seq + 1, str(row["hash"])
    return problems, expected - 1, head


def _newest_number(connection: Connection) -> int:
    """The highest event number that anything in the ledger remembers."""
    remembered = [
        connection.execute(select(func.max(column))).scalar()
        for column in (note_version.c.event_seq, tombstone.c.event_seq, tombstone.c.lifted_event)
    ]
    if connection.dialect.name == "sqlite":
        counter = text("SELECT seq FROM sqlite_sequence WHERE name = 'audit_event'")
        remembered.append(connection.execute(counter).scalar())
    return max((int(number) for number in remembered if number is not None), default=0)
