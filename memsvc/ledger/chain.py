"""The hash chain over audit events: how a hash is made, and how the chain is checked."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, func, select, text
from sqlalchemy.exc import OperationalError

from memsvc.ledger.tables import audit_event, note_version, review_item, tombstone

__all__ = ["GENESIS", "Verdict", "event_hash", "hash_at", "verify"]

GENESIS = "0" * 64
"""The previous hash of the first event."""

_FIELDS = tuple(column.name for column in audit_event.columns if column.name != "hash")
_GUARDS = {
    f"audit_event_no_{verb.lower()}": (
        f"CREATE TRIGGER audit_event_no_{verb.lower()} BEFORE {verb} ON audit_event "
        "BEGIN SELECT RAISE(ABORT, 'audit events are append-only'); END"
    )
    for verb in ("DELETE", "UPDATE")
}
_MOST_PROBLEMS = 20
_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Verdict:
    """`problems` is empty when the chain holds; `events` and `head` are the last event's number
    and hash, `head_at` its stamp, `identity` the first event's hash: no two databases share it.
    """

    events: int
    head: str
    problems: tuple[str, ...]
    identity: str = ""
    head_at: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.problems


def event_hash(row: Mapping[str, Any] | RowMapping) -> str:
    """sha256 over all of an event's fields but the hash itself, as JSON with sorted keys.

    Raises TypeError for a value that is neither text nor a number: memsvc writes none.
    """
    plain = {name: row[name] for name in _FIELDS}
    packed = json.dumps(plain, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(packed.encode("utf-8", "surrogatepass")).hexdigest()


def hash_at(connection: Connection, seq: int) -> str:
    """The hash that the event of that number carries; empty when there is none."""
    found = connection.execute(select(audit_event.c.hash).where(audit_event.c.seq == seq)).scalar()
    return found if isinstance(found, str) else ""


def verify(connection: Connection) -> Verdict:
    """Walk all events: numbers without gaps, links, hashes, a tail that nothing outlives, and the
    triggers that refuse changes.

    A tail cut off with all that remembers it, and an older copy, look whole: see `anchor`.
    """
    walk = _Walk()
    rows = connection.execute(
        select(audit_event).order_by(audit_event.c.seq), execution_options={"yield_per": _AT_ONCE}
    )
    try:
        walk.along(rows.mappings())
    except OperationalError as error:
        if "decode" not in str(error.orig):
            raise
        walk.problem(
            f"an event after event {walk.seq} holds bytes that are no text: it was changed"
        )
    newest = _newest_number(connection)
    if newest > walk.seq:
        walk.problem(f"{_span(walk.seq + 1, newest)} gone from the end")
    for guard in _missing_guards(connection):
        walk.problem(
            f"the database lost its guard {guard}: events could be changed without a trace"
        )
    return Verdict(walk.seq, walk.head, walk.told(), walk.identity, walk.at)


class _Walk:
    """One walk's state; at most twenty problems are told, the others counted."""

    def __init__(self) -> None:
        self.seq = 0
        self.head = GENESIS
        self.at = ""
        self.identity = ""
        self._problems: list[str] = []
        self._more = 0

    def problem(self, what: str) -> None:
        if len(self._problems) < _MOST_PROBLEMS:
            self._problems.append(what)
        else:
            self._more += 1

    def told(self) -> tuple[str, ...]:
        more = [f"and {self._more} more problems"] if self._more else []
        return (*self._problems, *more)

    def along(self, rows: Iterable[RowMapping]) -> None:
        for row in rows:
            self._step(row, int(row["seq"]))

    def _step(self, row: RowMapping, seq: int) -> None:
        if seq <= self.seq:
            self.problem(f"event {seq} is out of place")
        elif seq != self.seq + 1:
            self.problem(f"{_span(self.seq + 1, seq - 1)} missing before event {seq}")
        if row["prev_hash"] != self.head:
            self.problem(f"event {seq} does not follow event {self.seq}")
        if row["hash"] != _hash_or_nothing(row):
            self.problem(f"event {seq} was changed")
        self.seq, self.head, self.at = seq, str(row["hash"]), str(row["at"])
        if seq == 1:
            self.identity = self.head


def _span(first: int, last: int) -> str:
    return f"event {first} is" if first == last else f"events {first} to {last} are"


def _hash_or_nothing(row: RowMapping) -> str:
    try:
        return event_hash(row)
    except TypeError:
        return ""


def _newest_number(connection: Connection) -> int:
    """The highest event number that anything in the ledger remembers."""
    columns = (
        note_version.c.event_seq,
        tombstone.c.event_seq,
        tombstone.c.lifted_event,
        review_item.c.event_seq,
    )
    remembered = [connection.execute(select(func.max(column))).scalar() for column in columns]
    if connection.dialect.name == "sqlite":
        counter = text("SELECT seq FROM sqlite_sequence WHERE name = 'audit_event'")
        remembered.append(connection.execute(counter).scalar())
    return max((number for number in remembered if isinstance(number, int)), default=0)


def _missing_guards(connection: Connection) -> list[str]:
    """The append-only triggers of the events that are not there as the migrations made them."""
    if connection.dialect.name != "sqlite":
        return []
    rows = connection.execute(
        text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
    ).all()
    present = {row.name: row.sql for row in rows}
    return [name for name, sql in _GUARDS.items() if present.get(name) != sql]
