"""What waits for a person: why a text is held back, and the review item that says so."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from memsvc.ledger import registry
from memsvc.ledger import writer as ledger
from memsvc.ledger.records import NoteRecord, VaultRecord, VersionRecord
from memsvc.model.identity import Principal
from memsvc.model.replies import Json
from memsvc.model.vocabulary import ExternalEdits, ReviewKind, Status
from memsvc.scope.vault_policy import VaultPolicy
from memsvc.service.gateway.parts import Parts

__all__ = [
    "EXTERNAL_EDIT",
    "NO_ITEM",
    "RESTATEMENT",
    "REVIEW",
    "Hold",
    "after_edit",
    "hold_of",
    "is_held",
    "is_new_scope",
    "is_waiting",
    "proposes_edits",
    "queue",
    "queue_arrival",
    "requeue",
]

REVIEW = "review"
"""`withheld` of a note that the vault's policy keeps back until a person approves it."""
RESTATEMENT = "likely_restatement"
"""`withheld` of a file that probably says again, in other words, what was rejected."""
EXTERNAL_EDIT = "external_edit"
"""`withheld` of a file that was changed outside, in a vault that has such changes proposed."""
NO_ITEM = (
    "no open review item by that id: it was decided, or its text was edited since and waits under "
    "another id; `memsvc review list` shows what is open"
)
_FOR_A_PERSON = frozenset({REVIEW, EXTERNAL_EDIT})


class Hold(NamedTuple):
    """Why a write is held back, as a review item says it."""

    kind: ReviewKind
    reasons: tuple[str, ...]
    detail: Mapping[str, Json]

    def superseding(self, notes: Iterable[NoteRecord]) -> "Hold":
        """The same, for a text that replaces these notes once it is approved."""
        names: list[Json] = [str(note.note_id) for note in notes]
        return self._replace(detail={**self.detail, "supersedes": names})

    def notice(self, review_id: str) -> str:
        """What the writer is told: the review item, and why."""
        return f"review item {review_id}: {'; '.join(self.reasons)}"


def hold_of(rules: VaultPolicy, principal: Principal) -> Hold | None:
    """Why the policy holds back what this principal writes; None when it does not."""
    if not rules.wants_review(principal):
        return None
    return Hold(ReviewKind.PROPOSAL, (f"the vault's policy: review={rules.review}",), {})


def is_held(note: NoteRecord) -> bool:
    """Whether only a person's decision ends the withholding: an edit does not."""
    return note.status in (Status.PROPOSED, Status.DISPUTED) and note.withheld in _FOR_A_PERSON


def is_waiting(note: NoteRecord) -> bool:
    """Whether a verb's new text for the note waits on with it: a file that calls itself proposed or
    disputed is undone by its file, or by a reviewer, not by a correction.
    """
    if note.status is Status.DISPUTED:
        return True
    return note.status is Status.PROPOSED and note.withheld in ("", *_FOR_A_PERSON)


def proposes_edits(vault: VaultRecord) -> bool:
    """Whether what people change in the vault's files waits for a reviewer."""
    return VaultPolicy.of(vault.policy).external_edits is ExternalEdits.PROPOSE


def after_edit(
    connection: Connection,
    vault: VaultRecord,
    note: NoteRecord,
    content_hash: str,
    judged: tuple[str, dict[str, str]],
) -> tuple[str, dict[str, str]]:
    """Why a known note's edited file is withheld, and what a reviewer needs to know.

    `judged` is what the policy's checks found. An edit approves nothing, and a violation does not
    take the place of a review that is due; a file that is back at its last approved text is fine.
    """
    withheld, detail = judged
    if is_held(note) and not _is_approved(connection, note, content_hash):
        return note.withheld, {**detail, "violation": withheld} if withheld else detail
    if withheld or not proposes_edits(vault):
        return judged
    if _is_approved(connection, note, content_hash):
        return "", {}
    return EXTERNAL_EDIT, detail


def _is_approved(connection: Connection, note: NoteRecord, content_hash: str) -> bool:
    standing = (Status.ACTIVE, Status.SUPERSEDED)
    versions = registry.versions_of(connection, note.note_id)
    approved = [one for one in versions if one.status in standing]
    if not approved or note.gone or approved[-1].scope != note.scope:
        return False
    return approved[-1].content_hash == content_hash


def is_new_scope(vault: VaultRecord, note: NoteRecord, previous: VersionRecord) -> bool:
    """Whether the note's file was moved to another project, in a vault where that is proposed."""
    return previous.scope != note.scope and proposes_edits(vault)


def queue_arrival(
    connection: Connection,
    parts: Parts,
    note: NoteRecord,
    detail: Mapping[str, str],
    *,
    event_seq: int,
    by: Principal,
    held: bool,
) -> None:
    """What a person has to decide about a file's new text; what was asked of its last one is closed.

    `held`: the note was already waiting for a person.
    """
    if held and note.withheld:
        why = [detail["violation"]] if "violation" in detail else []
        requeue(connection, parts, note, event_seq=event_seq, by=by, why=why)
        return
    ledger.close_reviews(connection, note.note_id, at=parts.clock.now(), state="edited")
    if note.withheld:
        again = note.withheld == RESTATEMENT
        kind = ReviewKind.RESTATEMENT if again else ReviewKind.WITHHELD
        hold = Hold(kind, (note.withheld,), {**detail})
    elif note.status is Status.DISPUTED:
        hold = Hold(ReviewKind.DISPUTE, ("the file says that it is disputed",), {})
    elif note.status is Status.PROPOSED:
        hold = Hold(ReviewKind.PROPOSAL, ("the file says that it is proposed",), {})
    else:
        return
    queue(connection, parts, note, hold, event_seq=event_seq, by=by)


def queue(
    connection: Connection,
    parts: Parts,
    note: NoteRecord,
    hold: Hold,
    *,
    event_seq: int,
    by: Principal,
) -> str:
    """A review item for a note's present version; its id. Runs in the caller's transaction."""
    now = parts.clock.now()
    review_id = parts.new_id(now)
    detail = {
        "why": "; ".join(hold.reasons),
        "path": note.path,
        "by": str(by),
        **hold.detail,
    }
    ledger.add_review(
        connection,
        review_id=review_id,
        scope=note.scope,
        kind=hold.kind.value,
        note_id=note.note_id,
        version=note.version,
        at=now,
        event_seq=event_seq,
        detail=detail,
    )
    return review_id


def requeue(
    connection: Connection,
    parts: Parts,
    note: NoteRecord,
    *,
    event_seq: int,
    by: Principal,
    why: Sequence[str] = (),
) -> None:
    """After an edit of a held note: its item is closed and another one, for the new text, opened.

    So that nobody approves a text by the id of one that they saw before.
    """
    closed = ledger.close_reviews(connection, note.note_id, at=parts.clock.now(), state="edited")
    kind, detail = ReviewKind.PROPOSAL, dict[str, Json]()
    for item in closed:
        kind, detail = ReviewKind(item["kind"]), dict(item["detail"])
    by_whom = detail.pop("edited_by", [])
    before = by_whom if isinstance(by_whom, list) else []
    detail["edited_by"] = list(dict.fromkeys([*before, str(by)]))
    reasons = tuple(dict.fromkeys([str(detail.pop("why", "")), *why]))
    first = str(detail.pop("by", "") or by)
    hold = Hold(kind, tuple(one for one in reasons if one), {**detail, "by": first})
    queue(connection, parts, note, hold, event_seq=event_seq, by=by)
