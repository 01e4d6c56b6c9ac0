"""correct, and forget of a passage: a note's text replaced, with what that means for its claims."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from sqlalchemy import Connection

from memsvc.clock import stamp, stamp_seconds
from memsvc.errors import InvalidInput, StaleVersion, Uneditable
from memsvc.ledger import tombstones
from memsvc.ledger import writer as ledger
from memsvc.ledger.records import NoteRecord, VersionRecord
from memsvc.model.identity import Caller
from memsvc.model.replies import CorrectReply
from memsvc.model.requests import CorrectRequest
from memsvc.model.vocabulary import Action, CorrectMode, Status, Trust
from memsvc.notes.frontmatter import Value, edit, replace_body
from memsvc.scope.vault_policy import VaultPolicy
from memsvc.service import access
from memsvc.service.gateway import checks, drafts, limits
from memsvc.service.gateway.events import note_event
from memsvc.service.gateway.files.scan import Scanner
from memsvc.service.gateway.guard import restated
from memsvc.service.gateway.indexing import (
    Vectors,
    document_of,
    end_text,
    index_earlier,
    index_version,
    is_editable,
    vectors_for,
)
from memsvc.service.gateway.operations import KEPT, Staging
from memsvc.service.gateway.parts import Parts, root_of
from memsvc.service.gateway.review.holding import REVIEW, is_waiting, requeue
from memsvc.service.gateway.standing import (
    Current,
    current,
    make_tombstones,
    withdraw,
    wordings_of,
)

__all__ = [
    "Change",
    "Rewrite",
    "change_of",
    "commit_rewrite",
    "correct",
    "prepare_rewrite",
    "rewrite",
    "without_passage",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A new text for a note and what becomes of the old one."""

    action: Action
    mode: str
    body: str
    title: str
    reason: str
    source: tuple[str, ...]
    valid_from: str
    end: dict[str, str]
    reject: bool
    valid_to: str | None = None
    """Until when the new text holds; None as the old one did."""
    content: str = ""
    """The whole file's new text, frontmatter and all; empty for the present one with `body`."""
    keys: Mapping[str, Value | None] = field(default_factory=dict)
    """More governed keys to set."""
    author: str = ""
    """Who wrote the text; empty for the caller."""
    trust: Trust | None = None
    approved: bool = False
    """A reviewer's word stands behind it: it is active, whatever held it back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """A change ready to be committed: its file is staged."""

    now_is: Current
    change: Change
    version: VersionRecord
    before: Sequence[checks.Statement]
    after: Sequence[checks.Statement]
    vectors: Vectors
    model_id: str


def correct(
    parts: Parts, scanner: Scanner, caller: Caller, request: CorrectRequest
) -> CorrectReply:
    """Replace a note's text in one of three modes.

    Raises InvalidInput, NotFound, StaleVersion (with the current text), the Refused family,
    Uneditable, StorageFailed, VaultOffline.
    """
    request, left_out = limits.correct_without_private(request)
    effective = drafts.instant(request.effective, argument="effective")
    if effective and request.mode is not CorrectMode.CHANGED:
        raise InvalidInput("effective goes with mode 'changed' only", argument="effective")
    with parts.database.read() as connection:
        scope, note = access.note_for(connection, caller, request.id)
        vault, root = root_of(connection, note.vault)
    if not (root / note.path).exists():  # deleted or moved: what is true of it now is not known yet
        scanner.scan(vault.name)
    rules = limits.rules_of(parts, scope.scope.vault)
    checks.check_lines(rules, reason=request.reason, source=request.source)
    with parts.locked(scope.scope.vault):
        now_is = current(parts, scanner, caller, request.id)
        with parts.database.read() as connection:
            limits.check_budget(connection, parts, rules, caller, scope.scope.vault)
        _check_version(now_is, request.version)
        body = _new_body(now_is.version, request)
        title = request.title.strip() or now_is.version.title
        if body == now_is.version.body and title == now_is.version.title:
            return _unchanged(now_is, request)
        now = parts.clock.now()
        change = change_of(request, now_is, body, title, effective, now)
        again = _restates(parts, now_is, change)
        held = again or rules.wants_review(caller.principal)
        if held and now_is.note.status is Status.ACTIVE:
            from memsvc.service.gateway.review.proposing import (
                propose_correction,  # it imports this one
            )

            return propose_correction(parts, scanner, now_is, request, change, rules, again)
        seq, version, tombstones, conflicts = rewrite(parts, now_is, change, now)
    return CorrectReply(
        outcome="corrected",
        mode=request.mode.value,
        id=version.note_id,
        path=version.path,
        version=version.version,
        scope=str(now_is.note.scope),
        event=seq,
        tombstones=tombstones,
        valid_from=drafts.shown(version.valid_from),
        notice="; ".join(
            one
            for one in (
                f"the {KEPT}" if conflicts else "",
                "the note still waits for review" if version.status is not Status.ACTIVE else "",
                left_out,
            )
            if one
        ),
    )


def _restates(parts: Parts, now_is: Current, change: Change) -> list[restated.Suspicion]:
    """What the new text introduces that was probably rejected before, in other words."""
    scope = now_is.scope.scope
    with parts.database.read() as connection:
        if not tombstones.has_tombstones(connection, scope):
            return []
    before = checks.statements(now_is.version.title, now_is.version.body)
    after = checks.statements(change.title, change.body)
    return restated.likely(parts, scope, checks.introduced(after, before))


def _unchanged(now_is: Current, request: CorrectRequest) -> CorrectReply:
    return CorrectReply(
        outcome="unchanged",
        mode=request.mode.value,
        id=now_is.note.note_id,
        path=now_is.note.path,
        version=now_is.note.version,
        scope=str(now_is.note.scope),
        event=now_is.version.event_seq,
        notice="the note already says exactly this; nothing was changed",
    )


def _check_version(now_is: Current, wanted: int) -> None:
    if wanted != now_is.note.version:
        hidden = now_is.note.withheld == "rejected_claim" and not now_is.scope.reviews
        raise StaleVersion(
            f"version {wanted} of this note is stale: it is at version {now_is.note.version} now; "
            "read the current text below, decide again, and name that version",
            id=now_is.note.note_id,
            version=now_is.note.version,
            title="" if hidden else now_is.version.title,
            body="" if hidden else now_is.version.body,
        )
    if now_is.note.status is Status.SUPERSEDED:
        raise InvalidInput(
            "this note is superseded; correct its successor instead: "
            f"{now_is.note.superseded_by or 'see its file'}",
            argument="id",
        )


def _new_body(old: VersionRecord, request: CorrectRequest) -> str:
    """The body after the correction, in the line ends that the request uses."""
    if request.body and (request.old_text or request.new_text):
        raise InvalidInput("give either body, or old_text and new_text, not both", argument="body")
    if request.body:
        return request.body if request.body.endswith("\n") else f"{request.body}\n"
    if not request.old_text:
        if request.title.strip():
            return old.body
        raise InvalidInput(
            "give body (the whole new text), or old_text and new_text (one passage)",
            argument="body",
        )
    return _replace_once(old.body, request.old_text, request.new_text, argument="old_text")


def _replace_once(body: str, old_text: str, new_text: str, *, argument: str) -> str:
    if "\r\n" in body:
        old_text, new_text = (
            text.replace("\r\n", "\n").replace("\n", "\r\n") for text in (old_text, new_text)
        )
    found = body.count(old_text)
    if found != 1:
        raise InvalidInput(
            f"{argument} occurs {found} times in the note and must occur exactly once; "
            "copy it exactly, with more of the text around it",
            argument=argument,
            found=found,
        )
    return body.replace(old_text, new_text, 1)


def without_passage(body: str, passage: str) -> str:
    """The body without a passage that occurs exactly once. Raises InvalidInput."""
    return _replace_once(body, passage.strip(), "", argument="passage")


def change_of(
    request: CorrectRequest,
    now_is: Current,
    body: str,
    title: str,
    effective: str,
    now: datetime,
) -> Change:
    """What a correction of these new texts means for both versions. Raises InvalidInput."""
    old, at = now_is.version, stamp(now)
    change = Change(
        action=Action.CORRECT,
        mode=request.mode.value,
        body=body,
        title=title,
        reason=request.reason,
        source=request.source,
        valid_from=old.valid_from,
        end={"recorded_to": at, "end_mode": request.mode.value},
        reject=request.mode is CorrectMode.WRONG,
    )
    if request.mode is not CorrectMode.CHANGED:
        return change
    valid_from = effective or drafts.whole_second(now)
    start = drafts.start_before(old.valid_from, valid_from, created=now_is.note.created_at)
    if start and valid_from <= start:
        if effective:
            raise InvalidInput(
                f"effective must be later than {drafts.shown(start)}, from when on the "
                "old text was true; if it was never true, use mode 'wrong'",
                argument="effective",
            )
        valid_from = at
    over = bool(old.valid_to) and old.valid_to <= valid_from
    end = {"valid_to": old.valid_to if over else valid_from, "ended_at": at, "end_mode": "changed"}
    if start != old.valid_from:
        end["valid_from"] = start
    return replace(change, valid_from=valid_from, valid_to="" if over else old.valid_to, end=end)


def rewrite(
    parts: Parts,
    now_is: Current,
    change: Change,
    now: datetime,
    *,
    also: Sequence[checks.Statement] = (),
) -> tuple[int, VersionRecord, int, list[str]]:
    """Write a new version of a note: event number, version, new tombstones, conflicting paths.

    `also` are claims rejected with those that the new text drops, when the change rejects at all.
    """
    staging = Staging(now_is.root, now_is.vault)
    try:
        ready = prepare_rewrite(parts, now_is, change, now, staging)
        with parts.database.write() as connection:
            seq, made = commit_rewrite(connection, parts, ready, also=also)
            staging.record(connection, event_seq=seq, parts=parts)
    except BaseException:
        staging.discard()
        raise
    return seq, ready.version, made, staging.publish(parts)


def prepare_rewrite(
    parts: Parts, now_is: Current, change: Change, now: datetime, staging: Staging
) -> Rewrite:
    """Check the new text and stage its file. Raises the Refused family, Uneditable, StorageFailed."""
    old, note, scope = now_is.version, now_is.note, now_is.scope
    rules = VaultPolicy.of(now_is.vault.policy)
    checks.check_note_text(change.title, change.body, rules)
    document = document_of(old)
    if not change.content and not is_editable(old, document):
        raise Uneditable(
            f"{note.path} cannot be rewritten: {document.problem or 'its encoding is not UTF-8'}; "
            "mend the file in an editor"
        )
    content = change.content or _content(now_is, change, document.values, now)
    withheld = note.status in (Status.PROPOSED, Status.DISPUTED)
    waits = withheld and (is_waiting(note) or rules.wants_review(scope.caller.principal))
    version = drafts.version_of(
        content,
        caller=scope.caller,
        scope=note.scope,
        note_id=note.note_id,
        version=old.version + 1,
        path=note.path,
        mode=change.mode,
        now=now,
        valid_from=change.valid_from,
        valid_to=old.valid_to if change.valid_to is None else change.valid_to,
        reason=change.reason,
        source=change.source or old.source,
        status=note.status if waits and not change.approved else Status.ACTIVE,
        trust=change.trust,
    )
    vectors, model_id = vectors_for(parts, version.title, version.body)
    staging.write(
        note.path,
        content.encode(),
        note_id=note.note_id,
        version=version.version,
        before_hash=old.content_hash,
    )
    return Rewrite(
        now_is=now_is,
        change=change,
        version=replace(version, author=change.author or version.author),
        before=checks.statements(document.title, document.body),
        after=checks.statements(change.title, change.body),
        vectors=vectors,
        model_id=model_id,
    )


def commit_rewrite(
    connection: Connection,
    parts: Parts,
    ready: Rewrite,
    *,
    also: Sequence[checks.Statement] = (),
    event_seq: int = 0,
) -> tuple[int, int]:
    """Everything that the database holds of a rewrite: its event's number, and new tombstones.

    Without `event_seq` it gets an event of its own. Raises RejectedClaim.
    """
    now_is, change, version = ready.now_is, ready.change, ready.version
    old, note, scope = now_is.version, now_is.note, now_is.scope
    now = parts.clock.now()
    fresh = checks.introduced([*ready.after, *checks.sourced(change.source)], ready.before)
    checks.refuse_rejected(checks.find_rejected(connection, parts.keys(), note.scope, fresh))
    dropped = [*checks.introduced(ready.before, ready.after), *also] if change.reject else []
    seq = event_seq or ledger.add_event(
        connection,
        note_event(
            change.action,
            scope.caller,
            note,
            before=old,
            after=version,
            reason=change.reason,
            detail={"mode": change.mode, "dropped": len(dropped)},
        ),
        at=now,
    )
    earlier = wordings_of(connection, now_is, dropped, spared=ready.after)
    made = make_tombstones(
        connection, parts, now_is, dropped, earlier=earlier, reason=change.reason, event_seq=seq
    )
    withdraw(connection, note, [*dropped, *(one.statement for one in earlier)], now)
    _commit_version(connection, ready, drafts.with_event(version, seq))
    if version.status is not Status.ACTIVE:
        edited = replace(note, version=version.version)
        requeue(connection, parts, edited, event_seq=seq, by=scope.caller.principal)
    elif note.status is not Status.ACTIVE:
        ledger.close_reviews(connection, note.note_id, at=now, state="edited")
    return seq, made


def _content(now_is: Current, change: Change, values: object, now: datetime) -> str:
    """The file's next text: the governed keys that change, the new body, all else as it was."""
    old, note, scope = now_is.version, now_is.note, now_is.scope
    caller = scope.caller
    present = values if isinstance(values, Mapping) else {}
    keys: dict[str, Value | None] = {}
    if "id" not in present:  # a hand-written file gets its identity when a verb first writes it
        keys |= {"id": note.note_id, "kind": document_of(old).kind.value}
        keys |= {"status": Status.ACTIVE.value, "project": note.project}
        keys |= {"created": f"{note.created_at[:19]}Z"}
    if change.title != old.title or "title" not in present:
        keys["title"] = change.title
    keys |= {
        "trust": (change.trust or drafts.trust_of(caller)).value,
        "updated": stamp_seconds(now),
        "version": old.version + 1,
        "author": change.author or str(caller.principal),
    }
    if change.approved and "status" in present:
        keys["status"] = Status.ACTIVE.value
    if change.valid_from != old.valid_from:
        keys["valid_from"] = drafts.shown(change.valid_from)
    if change.valid_to is not None and change.valid_to != old.valid_to:
        keys["valid_to"] = drafts.shown(change.valid_to)
    for name, value in (
        ("on_behalf_of", caller.on_behalf_of),
        ("session", caller.session),
        ("reason", change.reason),
    ):
        if value or name in present:
            keys[name] = value
    if change.source:
        keys["source"] = list(change.source)
    return edit(replace_body(old.content, change.body), {**keys, **change.keys})


def _withheld(before: NoteRecord, version: VersionRecord) -> str:
    if version.status is Status.ACTIVE:
        return ""
    return before.withheld if is_waiting(before) else REVIEW


def _commit_version(connection: Connection, ready: Rewrite, version: VersionRecord) -> None:
    before, end = ready.now_is.note, ready.change.end
    note_id, old = before.note_id, ready.now_is.version
    end_text(connection, old, **end)
    note = replace(
        before,
        version=version.version,
        status=version.status,
        withheld=_withheld(before, version),
        updated_at=version.recorded_from,
    )
    ledger.update_note(
        connection,
        note_id,
        version=note.version,
        status=note.status.value,
        withheld=note.withheld,
        updated_at=note.updated_at,
    )
    index_earlier(connection, before, note)
    ledger.add_version(connection, version)
    index_version(connection, version, note, vectors=ready.vectors, model_id=ready.model_id)
