"""The ledger's rows as values."""

from dataclasses import dataclass
from enum import StrEnum

from memsvc.model.identity import Scope
from memsvc.model.vocabulary import NoteId, ProjectSlug, Status, Trust, VaultName

__all__ = [
    "GONE",
    "PURGED",
    "FileOperation",
    "FileRecord",
    "Gone",
    "NoteRecord",
    "TombstoneRecord",
    "VaultRecord",
    "VersionRecord",
]

GONE = (Status.RETRACTED, Status.REJECTED)
"""A note that stands so is found by nobody."""
PURGED = ".purged"
"""The folder that purged notes are said to be in, where no file is ever a note."""


class Gone(StrEnum):
    """`withheld` of a note that is gone though nobody retracted or rejected what it says."""

    PURGED = "purged"
    FILE_DELETED = "file deleted"
    VAULT_REMOVED = "vault removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultRecord:
    """A registered vault. `layout` folders: the first folder is the project; mapped: `projects` says."""

    name: VaultName
    path: str
    layout: str
    projects: dict[str, str]
    policy: dict[str, str]
    created_at: str
    offline_since: str
    offline_reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteRecord:
    """Where a note stands now. `unresolved` is JSON: link texts that name no note yet."""

    note_id: NoteId
    vault: VaultName
    project: ProjectSlug
    path: str
    status: Status
    version: int
    superseded_by: str = ""
    withheld: str = ""
    trash_path: str = ""
    unresolved: str = ""
    corroborated: int = 0
    created_at: str
    updated_at: str

    @property
    def scope(self) -> Scope:
        """The scope the note belongs to."""
        return Scope(self.vault, self.project)

    @property
    def gone(self) -> bool:
        """Whether the note is out of every reader's sight and its path is free."""
        return self.status in GONE


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRecord:
    """One version: the whole file's text, its windows and who made it. Instants are stamps."""

    note_id: NoteId
    version: int
    vault: VaultName
    project: ProjectSlug
    path: str
    title: str
    mode: str
    status: Status
    trust: Trust
    author: str
    on_behalf_of: str
    session: str
    reason: str
    source: tuple[str, ...]
    content: str
    body_start: int
    content_hash: str
    text_key: str
    valid_from: str
    valid_to: str
    valid_to_original: str
    recorded_from: str
    ended_at: str = ""
    recorded_to: str = ""
    end_mode: str = ""
    problem: str = ""
    event_seq: int = 0

    @property
    def scope(self) -> Scope:
        """The scope the version was written in."""
        return Scope(self.vault, self.project)

    @property
    def body(self) -> str:
        """The text behind the frontmatter."""
        return self.content[self.body_start :]


@dataclass(frozen=True, slots=True, kw_only=True)
class TombstoneRecord:
    """A rejected claim, by digest; `lifted_at` is empty while it blocks."""

    tombstone_id: str
    vault: VaultName
    project: ProjectSlug
    key_id: str
    digest: str
    claim_kind: str
    note_id: str
    version: int
    at: str
    actor: str
    reason: str
    event_seq: int
    lifted_at: str = ""
    lifted_by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOperation:
    """A file change that a committed transaction still owes: `write`, `trash`."""

    operation_id: int
    vault: VaultName
    kind: str
    path: str
    target: str
    note_id: NoteId
    version: int
    before_hash: str
    after_hash: str
    event_seq: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRecord:
    """What a file looked like when its note was last taken in; times in nanoseconds."""

    path: str
    note_id: NoteId
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    seen_ns: int
    content_hash: str

    @property
    def look(self) -> tuple[int, int, int, int]:
        """Size, times and inode: equal for a file that nobody touched."""
        return (self.size, self.mtime_ns, self.ctime_ns, self.inode)
