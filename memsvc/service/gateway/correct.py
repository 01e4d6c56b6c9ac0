"""correct, and forget of a passage: a note's text replaced, with what that means for its claims."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection

from memsvc.clock import stamp, stamp_seconds
from memsvc.errors import InvalidInput, StaleVersion, Uneditable
from memsvc.index import writer as index
from memsvc.ledger import registry
from memsvc.ledger import writer as ledger
from memsvc.ledger.records import NoteRecord, TombstoneRecord, VaultRecord, VersionRecord
from memsvc.model.events import NewEvent
from memsvc.model.identity import Caller
from memsvc.model.replies import CorrectReply
from memsvc.model.requests import CorrectRequest
from memsvc.model.vocabulary import Action, CorrectMode, Outcome, Role, Status
from memsvc.notes.frontmatter import Value, edit, replace_body
from memsvc.scope.proof import WriteScope
from memsvc.service import access
from memsvc.service.gateway import checks, drafts
from memsvc.service.gateway.indexing import (
    Vectors,
    document_of,
    index_version,
    is_editable,
    vectors_for,
)
from memsvc.service.gateway.operations import Staging, settle
from memsvc.service.gateway.parts import Parts, root_of
from memsvc.service.gateway.scan import Scanner

__all__ = [
    "Change",
    "Current",
    "correct",
    "current",
    "make_tombstones",
    "rewrite",
    "without_passage",
]


_KEPT_ENDS = ("changed", "amend", "edit")
"""How a version ends that history goes on to show."""


@dataclass(frozen=True, slots=True)
class Current:
    """A note as it stands, read under the vault's lock."""

    scope: WriteScope
    vault: VaultRecord
    root: Path
    note: NoteRecord
    version: VersionRecord


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


def current(
    parts: Parts,
    scanner: Scanner,
    caller: Caller,
    note_id: str,
    *,
    need: Role = Role.WRITER,
    gone: bool = False,
) -> Current:
    """The note as its file stands now; the caller holds no lock yet but the vault's.

    With `gone` also a note that was retracted. Raises NotFound, Denied, VaultOffline.
    """
    with parts.database.read() as connection:
        _, note = access.note_for(connection, caller, note_id, need=need, gone=gone)
        vault, root = root_of(connection, note.vault)
    settle(parts, vault)
    scanner.refresh_locked(vault, root, [note.path])
    with parts.database.read() as connection:
        scope, note = access.note_for(connection, caller, note_id, need=need, gone=gone)
        version = registry.find_version(connection, note.note_id, note.version)
    if version is None:
        raise Uneditable(f"the ledger has no text of {note.path}; run `memsvc doctor`")
    return Current(scope, vault, root, note, version)


def correct(
    parts: Parts, scanner: Scanner, caller: Caller, request: CorrectRequest
) -> CorrectReply:
    """Replace a note's text in one of three modes.

    Raises InvalidInput, NotFound, StaleVersion (with the current text), the Refused family,
    Uneditable, StorageFailed, VaultOffline.
    """
    checks.check_lines(reason=request.reason, source=request.source)
    effective = drafts.instant(request.effective, argument="effective")
    if effective and request.mode is not CorrectMode.CHANGED:
        raise InvalidInput("effective goes with mode 'changed' only", argument="effective")
    with parts.database.read() as connection:
        scope, _ = access.note_for(connection, caller, request.id)
    with parts.locked(scope.scope.vault):
        now_is = current(parts, scanner, caller, request.id)
        _check_version(now_is, request.version)
        body = _new_body(now_is.version, request)
        title = request.title.strip() or now_is.version.title
        if body == now_is.version.body and title == now_is.version.title:
            return _unchanged(now_is, request)
        now = parts.clock.now()
        change = _change_of(request, now_is, body, title, effective, now)
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
        notice="the file was edited meanwhile and kept; see `memsvc review list`"
        if conflicts
        else "",
    )


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
        raise StaleVersion(
            f"version {wanted} of this note is stale: it is at version {now_is.note.version} now; "
            "read the current text below, decide again, and name that version",
            id=now_is.note.note_id,
            version=now_is.note.version,
            title=now_is.version.title,
            body=now_is.version.body,
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


def _change_of(
    request: CorrectRequest,
    now_is: Current,
    body: str,
    title: str,
    effective: str,
    now: datetime,
) -> Change:
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
    old, note, scope = now_is.version, now_is.note, now_is.scope
    checks.check_note_text(change.title, change.body)
    document = document_of(old)
    if not is_editable(old, document):
        raise Uneditable(
            f"{note.path} cannot be rewritten: {document.problem or 'its encoding is not UTF-8'}; "
            "mend the file in an editor"
        )
    before = checks.statements(document.title, document.body)
    after = checks.statements(change.title, change.body)
    content = _content(now_is, change, document.values, now)
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
    )
    vectors, model_id = vectors_for(parts, version.title, version.body)
    staging = Staging(now_is.root, now_is.vault)
    try:
        staging.write(
            note.path,
            content.encode(),
            note_id=note.note_id,
            version=version.version,
            before_hash=old.content_hash,
        )
        with parts.database.write() as connection:
            fresh = checks.introduced([*after, *checks.sourced(change.source)], before)
            checks.refuse_rejected(
                checks.find_rejected(connection, parts.keys(), scope.scope, fresh)
            )
            dropped = [*checks.introduced(before, after), *also] if change.reject else []
            seq = ledger.add_event(
                connection,
                NewEvent(
                    action=change.action,
                    outcome=Outcome.DONE,
                    caller=scope.caller,
                    scope=note.scope,
                    note_id=note.note_id,
                    version=version.version,
                    reason=change.reason,
                    before_hash=old.content_hash,
                    after_hash=version.content_hash,
                    detail={"mode": change.mode, "dropped": len(dropped)},
                ),
                at=now,
            )
            made = make_tombstones(
                connection, parts, now_is, dropped, reason=change.reason, event_seq=seq
            )
            _withdraw(connection, note, dropped, now)
            _commit_version(
                connection, now_is, drafts.with_event(version, seq), change, vectors, model_id
            )
            staging.record(connection, event_seq=seq, parts=parts)
    except BaseException:
        staging.discard()
        raise
    return seq, version, made, staging.publish(parts)


def _content(now_is: Current, change: Change, values: object, now: datetime) -> str:
    """The file's next text: the governed keys that change, the new body, all else as it was."""
    old, note, scope = now_is.version, now_is.note, now_is.scope
    caller = scope.caller
    present = values if isinstance(values, dict) else {}
    keys: dict[str, Value | None] = {}
    if "id" not in present:  # a hand-written file gets its identity when a verb first writes it
        keys |= {"id": note.note_id, "kind": document_of(old).kind.value}
        keys |= {"status": Status.ACTIVE.value, "project": note.project}
        keys |= {"created": f"{note.created_at[:19]}Z"}
    if change.title != old.title or "title" not in present:
        keys["title"] = change.title
    keys |= {
        "trust": drafts.trust_of(caller).value,
        "updated": stamp_seconds(now),
        "version": old.version + 1,
        "author": str(caller.principal),
    }
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
    return edit(replace_body(old.content, change.body), keys)


def make_tombstones(
    connection: Connection,
    parts: Parts,
    now_is: Current,
    dropped: list[checks.Statement],
    *,
    reason: str,
    event_seq: int,
) -> int:
    """Reject the claims that count, in the note's scope, with one event; how many were new."""
    rejected = [statement for statement in dropped if statement.counts]
    if not rejected:
        return 0
    now = parts.clock.now()
    keys, scope = parts.keys(), now_is.note.scope
    records = []
    for statement in rejected:
        key_id, digest = keys.digest(scope, statement.normal)
        records.append(
            TombstoneRecord(
                tombstone_id=parts.new_id(now),
                vault=scope.vault,
                project=scope.project,
                key_id=key_id,
                digest=digest,
                claim_kind=statement.kind,
                note_id=now_is.note.note_id,
                version=now_is.version.version,
                at=stamp(now),
                actor=str(now_is.scope.caller.principal),
                reason=reason[:500],
                event_seq=event_seq,
            )
        )
    made = ledger.add_tombstones(connection, records)
    if made:
        ledger.add_event(
            connection,
            NewEvent(
                action=Action.TOMBSTONE,
                outcome=Outcome.DONE,
                caller=now_is.scope.caller,
                scope=scope,
                note_id=now_is.note.note_id,
                version=now_is.version.version,
                reason=reason,
                detail={"claims": made},
            ),
            at=now,
        )
    return made


def _withdraw(
    connection: Connection, note: NoteRecord, dropped: Sequence[checks.Statement], now: datetime
) -> None:
    """Take earlier versions that state a rejected claim out of history: they were wrong in it too."""
    rejected = {statement.normal for statement in dropped if statement.counts}
    if not rejected:
        return
    for version in registry.versions_of(connection, note.note_id):
        if version.version >= note.version or version.end_mode not in _KEPT_ENDS:
            continue
        document = document_of(version)
        made = checks.statements(document.title, document.body)
        if rejected.isdisjoint(statement.normal for statement in made):
            continue
        ended = {"recorded_to": version.recorded_to or stamp(now), "end_mode": "wrong"}
        ledger.end_version(connection, note.note_id, version.version, **ended)
        index.update_state(connection, note.note_id, version.version, **ended)


def _commit_version(
    connection: Connection,
    now_is: Current,
    version: VersionRecord,
    change: Change,
    vectors: Vectors,
    model_id: str,
) -> None:
    note_id, old = now_is.note.note_id, now_is.version
    ledger.end_version(connection, note_id, old.version, **change.end)
    index.update_state(connection, note_id, old.version, latest=False, **change.end)
    note = replace(
        now_is.note,
        version=version.version,
        status=Status.ACTIVE,
        withheld="",
        updated_at=version.recorded_from,
    )
    ledger.update_note(
        connection,
        note_id,
        version=note.version,
        status=note.status.value,
        withheld="",
        updated_at=note.updated_at,
    )
    ledger.add_version(connection, version)
    index_version(
        connection,
        version,
        note,
        vectors=vectors,
        model_id=model_id,
    )
