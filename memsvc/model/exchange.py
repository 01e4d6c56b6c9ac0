"""What leaves a home and what comes into one: a note for export, a foreign record, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from memsvc.model.vocabulary import Kind, Status, Trust

__all__ = [
    "ExportRequest",
    "ExportedNote",
    "ExportedVersion",
    "ImportOutcome",
    "ImportRecord",
    "Imported",
    "Outline",
    "Planned",
    "Replaces",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """What of the caller's scope is wanted: `every` status, `history` every version; both need the
    reviewer role. Active and superseded notes always are.
    """

    every: bool = False
    history: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedVersion:
    """One version of a note as it is on record; `text` is the whole file."""

    version: int
    title: str
    mode: str
    status: str
    trust: str
    author: str
    reason: str
    valid_from: str
    valid_to: str
    recorded_from: str
    recorded_to: str
    ended_at: str
    end_mode: str
    content_hash: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedNote:
    """A note of the scope with its provenance. Times are ISO 8601, empty for open, `unknown` for an
    end that nobody knows. The file is `frontmatter` followed by `body`, both as they are written.
    `supersedes` and `superseded_by` are ids of notes of the same scope.
    """

    id: str
    path: str
    title: str
    kind: Kind
    status: Status
    trust: Trust
    author: str
    on_behalf_of: str
    session: str
    reason: str
    created: str
    updated: str
    version: int
    valid_from: str
    valid_to: str
    source: tuple[str, ...]
    tags: tuple[str, ...]
    supersedes: tuple[str, ...]
    superseded_by: str
    content_hash: str
    problem: str
    frontmatter: str
    body: str
    versions: tuple[ExportedVersion, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """What is known of a foreign record before its text is taken: enough to name it here.

    `place` is where the source has it, for people. `key` is what the source calls it: with the
    format and the destination it makes the id of a record that brings none of ours. `path` is where
    its file goes, below the project's folder, `found_at` its path in the source. `successor` names the
    record that replaced it, `supersedes` those that it replaced: keys, or links as they are written.
    """

    place: str
    key: str
    path: str
    title: str = ""
    aliases: tuple[str, ...] = ()
    id: str = ""
    status: Status = Status.ACTIVE
    successor: str = ""
    supersedes: tuple[str, ...] = ()
    found_at: str = ""
    offset: int = 0
    text_key: str = ""
    """Equal for records that say the same in the same words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """Under which id and at which path of the vault a record is, or is to be, here."""

    id: str
    path: str
    here: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Replaces:
    """A note that a record replaced where it comes from, and the text that it replaced there."""

    id: str
    path: str
    text_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRecord:
    """A foreign note as it is to be written: the whole text of a file, and where that goes.

    Instants are stamps. `origin` are frontmatter keys that keep where the note comes from: text,
    without any authority. `successor` is the name, as links have it, of the note that replaced it;
    `kind` and `source` hold where the content's frontmatter says nothing. `found_at` is the file's
    path in the source: a note without a title is called after it.
    """

    place: str
    id: str
    path: str
    found_at: str
    content: str
    status: Status = Status.ACTIVE
    valid_from: str = ""
    valid_to: str = ""
    created: str = ""
    successor: str = ""
    replaces: tuple[Replaces, ...] = ()
    kind: Kind | None = None
    source: tuple[str, ...] = ()
    origin: Mapping[str, str] = field(default_factory=dict)
    same_as: tuple[str, ...] = ()
    """Text keys that count as this text too: how it was before its links were rewritten."""


class ImportOutcome(StrEnum):
    """What became of a record."""

    CREATED = "created"
    PROPOSED = "proposed"
    UNCHANGED = "unchanged"
    CONFLICT = "conflict"
    REFUSED = "refused"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of one record; `reason` says why it is not, or not quite, what was asked for."""

    place: str
    outcome: ImportOutcome
    id: str = ""
    path: str = ""
    code: str = ""
    reason: str = ""
    facts: Mapping[str, str | int] = field(default_factory=dict)
    """What an event may hold of the reason: names of rules, ids, counts."""
