"""Time as a collaborator, so that tests can hold it."""

from datetime import UTC, date, datetime
from typing import Protocol

__all__ = ["Clock", "SystemClock", "parse_instant", "stamp", "stamp_seconds"]


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """The present instant, aware, in UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)


def stamp(instant: datetime) -> str:
    """An instant as sortable text of fixed width: `2026-11-30T10:04:11.000123Z`."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def stamp_seconds(instant: datetime) -> str:
    """An instant as people read it in frontmatter: `2026-11-30T10:04:11Z`."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ").rjust(20, "0")


def parse_instant(text: str) -> datetime:
    """An ISO 8601 date or date-time as an aware UTC instant; a date is its first moment.

    A time without an offset is UTC. Raises ValueError on anything else.
    """
    text = text.strip()
    if len(text) == len("2026-11-30"):
        day = date.fromisoformat(text)
        return datetime(day.year, day.month, day.day, tzinfo=UTC)
    found = datetime.fromisoformat(text)
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
