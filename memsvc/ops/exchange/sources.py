"""What a foreign store looks like to an import: outlines first, then one record at a time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from memsvc.model.exchange import Imported, ImportOutcome, Outline
from memsvc.model.vocabulary import Kind

__all__ = ["Foreign", "Source", "Unreadable", "bad", "skipped"]


class Unreadable(Exception):
    """A record that cannot be read; the text says why, without quoting it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """One record's text as a file, and what its source says about it beside that.

    Dates are as they were written; what is empty is not said.
    """

    content: str
    valid_from: str = ""
    valid_to: str = ""
    created: str = ""
    kind: Kind | None = None
    source: tuple[str, ...] = ()
    origin: Mapping[str, str] = field(default_factory=dict)


class Source(Protocol):
    """A store to import from. `outlines` may be gone through once, `record` asked in any order."""

    form: str
    roots: bool
    """Whether a link that begins with `/` is meant from the top of the source."""
    notices: list[str]
    """What a person should know of the source as a whole; complete once the outlines are."""

    def outlines(self) -> Iterator[Outline | Imported]:
        """Every record in order, and what is none, with the reason."""
        ...

    def record(self, outline: Outline) -> Foreign:
        """One record, read again. Raises Unreadable."""
        ...


def bad(place: str, reason: str) -> Imported:
    """Something that should be a record and cannot be read."""
    return Imported(
        place=place, outcome=ImportOutcome.REFUSED, code="unreadable_record", reason=reason
    )


def skipped(place: str, reason: str) -> Imported:
    """Something that is no note, by what the source says of itself."""
    return Imported(place=place, outcome=ImportOutcome.SKIPPED, code="skipped", reason=reason)
