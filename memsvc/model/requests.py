"""What the verbs are asked, one frozen value each; the names are the contract's."""

from dataclasses import dataclass

from memsvc.model.vocabulary import CorrectMode, Detail, Disposition, ForgetMode, Kind

__all__ = [
    "AuditRequest",
    "CorrectRequest",
    "DecisionRequest",
    "ForgetRequest",
    "HistoryRequest",
    "ReadRequest",
    "RecallRequest",
    "RestoreRequest",
    "ReviewFilter",
    "SaveRequest",
    "TextHistoryRequest",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveRequest:
    """A new note. Dates are ISO 8601 text, empty for not given; `supersedes` holds note ids."""

    title: str
    body: str
    kind: Kind = Kind.NOTE
    tags: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    reason: str = ""
    valid_from: str = ""
    valid_to: str = ""
    supersedes: tuple[str, ...] = ()
    project: str = ""
    vault: str = ""
    idempotency_key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectRequest:
    """A note's text replaced: whole (`body`) or one passage (`old_text` by `new_text`)."""

    id: str
    version: int
    mode: CorrectMode
    body: str = ""
    old_text: str = ""
    new_text: str = ""
    title: str = ""
    effective: str = ""
    reason: str = ""
    source: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetRequest:
    """A note, or one passage of it, taken out of recall; with `derived` the notes whose source it is
    are retracted too.
    """

    id: str
    passage: str = ""
    mode: ForgetMode = ForgetMode.RETRACT
    reason: str = ""
    derived: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreRequest:
    """A retracted or corrected note brought back; `version` 0 is the last one it had."""

    id: str
    version: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest:
    """A question. `k` notes at most, `budget` tokens at most, envelope included."""

    query: str
    k: int = 8
    budget: int = 2000
    kinds: tuple[Kind, ...] = ()
    tags: tuple[str, ...] = ()
    project: str = ""
    vault: str = ""
    min_trust: str = ""
    as_of: str = ""
    known_at: str = ""
    history: bool = False
    detail: Detail = Detail.SNIPPET
    explain: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """One note, whole; `version` 0 is the current one. `offset` leaves so many characters out."""

    id: str
    version: int = 0
    offset: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryRequest:
    """Audit events, newest first. `since` is an ISO 8601 date or a sequence number to page from.

    `before` pages: only events with a smaller sequence number; 0 for the newest.
    """

    id: str = ""
    since: str = ""
    action: str = ""
    limit: int = 20
    before: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRequest:
    """Audit events for the person who looks after a home; what is empty does not narrow.

    `id` is a note's id or its beginning, `actor` a kind, a name or `kind:name`; `since` and `until`
    are ISO 8601, the second not included; `before` pages as in `HistoryRequest`.
    """

    id: str = ""
    vault: str = ""
    project: str = ""
    actor: str = ""
    action: str = ""
    outcome: str = ""
    since: str = ""
    until: str = ""
    limit: int = 50
    before: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TextHistoryRequest:
    """How a note's text changed, newest first; `before` is the version that an earlier page ended with."""

    id: str
    limit: int = 20
    before: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRequest:
    """A reviewer's decision about one item.

    `old` names the active note that the new text is weighed against, where the item names none;
    `title` and `body` are the reviewer's own text for `replace`; `lift` allows again what the text
    states and was rejected before.
    """

    id: str
    disposition: Disposition
    reason: str = ""
    old: str = ""
    title: str = ""
    body: str = ""
    lift: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewFilter:
    """Which open review items are wanted; the empty text does not narrow. `likeness` names a group
    as the list does: the group as it is now, or nothing.
    """

    kind: str = ""
    source: str = ""
    likeness: str = ""
    vault: str = ""
    project: str = ""
