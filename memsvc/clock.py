"""Time as a collaborator, so that tests can hold it."""

from datetime import UTC, date, datetime
from typing import Protocol

__all__ = [
    "UNKNOWN",
    "Clock",
    "SystemClock",
    "parse_end",
    "parse_instant",
    "stamp",
    "stamp_seconds",
]

UNKNOWN = "-"
"""In place of a stamp: an end that came, nobody knows when. It sorts before every stamp."""


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


def parse_end(text: str) -> str:
    """An end of validity as a stamp: ISO 8601, or the word `unknown` for one that nobody knows.

    Raises ValueError, OverflowError.
    """
    return UNKNOWN if text.strip().lower() == "unknown" else stamp(parse_instant(text))
