"""The closed vocabularies and the names of ids."""

from enum import StrEnum
from typing import NewType

__all__ = [
    "SHARED",
    "Action",
    "CorrectMode",
    "Detail",
    "Disposition",
    "ExternalEdits",
    "ForgetMode",
    "Kind",
    "NoteId",
    "Outcome",
    "PrincipalKind",
    "ProjectSlug",
    "ReviewKind",
    "ReviewRule",
    "Role",
    "SaveOutcome",
    "Status",
    "Trust",
    "VaultName",
]

NoteId = NewType("NoteId", str)
VaultName = NewType("VaultName", str)
ProjectSlug = NewType("ProjectSlug", str)

SHARED = ProjectSlug("shared")
"""The vault-wide project that every reader of the vault sees."""


class Kind(StrEnum):
    """What sort of thing a note says."""

    FACT = "fact"
    DECISION = "decision"
    PREFERENCE = "preference"
    PROCEDURE = "procedure"
    EPISODE = "episode"
    SUMMARY = "summary"
    NOTE = "note"


class Status(StrEnum):
    """Where a note stands; only `active` is recalled as current."""

    ACTIVE = "active"
    PROPOSED = "proposed"
    DISPUTED = "disputed"
    SUPERSEDED = "superseded"
    RETRACTED = "retracted"
    REJECTED = "rejected"


class Trust(StrEnum):
    """Who stands behind a note, weakest first."""

    AGENT = "agent"
    HUMAN = "human"
    VERIFIED = "verified"

    @property
    def rank(self) -> int:
        """0 for the weakest."""
        return list(Trust).index(self)


class PrincipalKind(StrEnum):
    """What calls."""

    HUMAN = "human"
    AGENT = "agent"
    SERVICE = "service"


class Role(StrEnum):
    """What a principal may do in a scope, least first."""

    READER = "reader"
    WRITER = "writer"
    REVIEWER = "reviewer"
    ADMIN = "admin"

    @property
    def rank(self) -> int:
        """0 for the least."""
        return list(Role).index(self)


class Action(StrEnum):
    """What an audit event records."""

    SAVE = "save"
    CORROBORATE = "corroborate"
    CORRECT = "correct"
    SUPERSEDE = "supersede"
    FORGET = "forget"
    PURGE = "purge"
    RESTORE = "restore"
    PROPOSE = "propose"
    APPROVE = "approve"
    REJECT = "reject"
    DISPUTE = "dispute"
    TOMBSTONE = "tombstone"
    LIFT = "lift"
    FILE_EDIT = "file_edit"
    FILE_MOVE = "file_move"
    FILE_DELETE = "file_delete"
    IMPORT = "import"
    REINDEX = "reindex"
    GRANT = "grant"
    REVOKE = "revoke"
    TOKEN = "token"  # noqa: S105 - an action, not a secret
    CONFIG = "config"


class Outcome(StrEnum):
    """How the recorded action ended."""

    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"


class SaveOutcome(StrEnum):
    """What a save did."""

    CREATED = "created"
    UNCHANGED = "unchanged"
    PROPOSED = "proposed"


class CorrectMode(StrEnum):
    """Why a note's text is replaced."""

    CHANGED = "changed"
    WRONG = "wrong"
    AMEND = "amend"


class ForgetMode(StrEnum):
    """How far a note is removed."""

    RETRACT = "retract"
    PURGE = "purge"


class Detail(StrEnum):
    """How much of each hit a recall shows."""

    SNIPPET = "snippet"
    FULL = "full"


class ReviewRule(StrEnum):
    """Whose writes wait for a person before they are recalled."""

    NONE = "none"
    AGENTS = "agents"
    ALL = "all"


class ExternalEdits(StrEnum):
    """What becomes of a file that was changed outside memsvc."""

    TRUST = "trust"
    PROPOSE = "propose"


class ReviewKind(StrEnum):
    """Why something waits for a person."""

    PROPOSAL = "proposal"
    CORRECTION = "correction"
    RESTATEMENT = "restatement"
    WITHHELD = "withheld"
    DISPUTE = "dispute"
    CONFLICT = "conflict"
    PURGE_REQUEST = "purge_request"


class Disposition(StrEnum):
    """What a reviewer decides about a new text and the one that stands."""

    KEEP_NEW = "keep-new"
    KEEP_OLD = "keep-old"
    KEEP_BOTH = "keep-both"
    REJECT_BOTH = "reject-both"
    REPLACE = "replace"
