"""forget: a note, or a passage of it, leaves recall or is purged, and what it claimed is rejected."""

import secrets
from dataclasses import replace
from pathlib import Path

from memsvc.clock import stamp
from memsvc.errors import InvalidInput
from memsvc.ledger import writer as ledger
from memsvc.model.identity import Caller
from memsvc.model.replies import ForgetReply, Related
from memsvc.model.requests import CorrectRequest, ForgetRequest
from memsvc.model.vocabulary import Action, CorrectMode, ForgetMode, Role, Status
from memsvc.scope.vault_policy import VaultPolicy
from memsvc.service import access
from memsvc.service.gateway import checks, limits
from memsvc.service.gateway.correct import Change, rewrite, without_passage
from memsvc.service.gateway.events import note_event
from memsvc.service.gateway.files.scan import Scanner
from memsvc.service.gateway.leaving import leave
from memsvc.service.gateway.operations import KEPT, Staging
from memsvc.service.gateway.parts import Parts
from memsvc.service.gateway.review.proposing import propose_correction
from memsvc.service.gateway.standing import (
    Current,
    current,
    earlier_claims,
    make_tombstones,
    what_is_rejected,
)
from memsvc.service.gateway.undo.derived import derived_from
from memsvc.service.gateway.undo.purge import purge

__all__ = ["forget", "trash_name"]


def forget(
    parts: Parts, scanner: Scanner, caller: Caller, request: ForgetRequest
) -> tuple[ForgetReply, list[checks.Statement]]:
    """Retract a note or one passage, or purge it; the reply, and the claims that are now rejected.

    Only a reviewer who is a person and confirms it purges, also what is retracted already; from
    anybody else a purge is a retraction with a review item. Raises InvalidInput, NotFound, Denied,
    Uneditable, StorageFailed, VaultOffline.
    """
    checks.check_lines(reason=request.reason)
    erase = request.mode is ForgetMode.PURGE and caller.confirms
    need = Role.REVIEWER if erase else Role.WRITER
    with parts.database.read() as connection:
        scope, _ = access.note_for(connection, caller, request.id, need=need, gone=erase)
    vault = scope.scope.vault
    rules = limits.rules_of(parts, vault)
    if erase:
        scanner.scan(vault, force=True)  # a copy that is a note must be known as one
    with parts.locked(vault):
        now_is = current(parts, scanner, caller, request.id, need=need, gone=erase)
        with parts.database.read() as connection:
            limits.check_budget(connection, parts, rules, caller, vault)
        if request.passage.strip() and request.passage.strip() != now_is.version.body.strip():
            return _forget_passage(parts, scanner, now_is, request)
        scanner.require_folder(now_is.vault)
        derived = _derived(parts, scanner, caller, now_is, request)
        reply, rejected = (purge if erase else _retract)(parts, now_is, request)
        return replace(reply, derived=derived), rejected


def _derived(
    parts: Parts, scanner: Scanner, caller: Caller, now_is: Current, request: ForgetRequest
) -> list[Related]:
    """The notes whose source this one is, each retracted first if that was asked."""
    with parts.database.read() as connection:
        scope = access.reads(connection, caller)
        found = derived_from(scope, connection, now_is.note, now_is.version)
    if not request.derived:
        return found
    with parts.database.read() as connection:
        rules, vault = VaultPolicy.of(now_is.vault.policy), now_is.note.vault
        limits.check_budget(connection, parts, rules, caller, vault, writes=1 + len(found))
    also = replace(
        request, mode=ForgetMode.RETRACT, reason=request.reason or f"derived from {request.id}"
    )
    for each in [current(parts, scanner, caller, one.id) for one in found]:  # all or none is Denied
        _retract(parts, each, also)
    return [replace(one, how="derived, retracted") for one in found]


def _forget_passage(
    parts: Parts, scanner: Scanner, now_is: Current, request: ForgetRequest
) -> tuple[ForgetReply, list[checks.Statement]]:
    if request.mode is ForgetMode.PURGE:
        raise InvalidInput("purge takes a whole note; retract the passage instead", argument="mode")
    now = parts.clock.now()
    old = now_is.version
    body = without_passage(old.body, request.passage)
    if not body.strip():
        return _retract(parts, now_is, request)
    change = Change(
        action=Action.FORGET,
        mode="forget_passage",
        body=body,
        title=old.title,
        reason=request.reason,
        source=(),
        valid_from=old.valid_from,
        end={"recorded_to": stamp(now), "end_mode": "wrong"},
        reject=True,
    )
    rules = VaultPolicy.of(now_is.vault.policy)
    if rules.wants_review(now_is.scope.caller.principal) and now_is.note.status is Status.ACTIVE:
        return _propose(parts, scanner, now_is, change, rules), []  # a text without a "not"
    before = checks.statements(old.title, old.body)
    gone = checks.introduced(before, checks.statements(old.title, body))
    passage = checks.statements("", request.passage)
    seq, version, made, conflicts = rewrite(parts, now_is, change, now, also=passage)
    reply = ForgetReply(
        outcome="passage_removed",
        id=version.note_id,
        version=version.version,
        scope=str(now_is.note.scope),
        event=seq,
        tombstones=made,
        path=version.path,
        notice=f"the {KEPT}" if conflicts else "",
    )
    return reply, [*gone, *passage]


def _propose(
    parts: Parts, scanner: Scanner, now_is: Current, change: Change, rules: VaultPolicy
) -> ForgetReply:
    """A note without a passage is another text: it waits where corrections do."""
    note, wrong = now_is.note, CorrectMode.WRONG
    request = CorrectRequest(
        id=note.note_id, version=note.version, mode=wrong, reason=change.reason
    )
    change = replace(change, action=Action.CORRECT, mode=wrong.value)
    reply = propose_correction(parts, scanner, now_is, request, change, rules)
    return ForgetReply(
        outcome=reply.outcome,
        id=reply.id,
        version=reply.version,
        scope=reply.scope,
        event=reply.event,
        tombstones=0,
        path=reply.path,
        notice=reply.notice,
    )


def _retract(
    parts: Parts, now_is: Current, request: ForgetRequest
) -> tuple[ForgetReply, list[checks.Statement]]:
    note, old, scope = now_is.note, now_is.version, now_is.scope
    now = parts.clock.now()
    rejected = what_is_rejected(old)
    target = trash_name(now_is.root, note.path)
    staging = Staging(now_is.root, now_is.vault)
    staging.trash(
        note.path, target, note_id=note.note_id, version=old.version, content_hash=old.content_hash
    )
    with parts.database.write() as connection:
        seq = ledger.add_event(
            connection,
            note_event(
                Action.FORGET,
                scope.caller,
                note,
                before=old,
                reason=request.reason,
                detail={"mode": request.mode.value, "claims": len(rejected)},
            ),
            at=now,
        )
        made = make_tombstones(
            connection,
            parts,
            now_is,
            rejected,
            earlier=earlier_claims(connection, now_is, rejected),
            reason=request.reason,
            event_seq=seq,
        )
        leave(
            connection,
            note,
            now=now,
            status=Status.RETRACTED,
            end_mode="retracted",
            withheld="forgotten",
            state="retracted",
            trash_path=target,
        )
        if request.mode is ForgetMode.PURGE:
            ledger.add_review(
                connection,
                review_id=parts.new_id(now),
                scope=note.scope,
                kind="purge_request",
                note_id=note.note_id,
                version=old.version,
                at=now,
                event_seq=seq,
                detail={
                    "why": f"{scope.caller.principal} asks to erase it; it is retracted meanwhile",
                    "by": str(scope.caller.principal),
                },
            )
        staging.record(connection, event_seq=seq, parts=parts)
    conflicts = staging.publish(parts)
    reply = ForgetReply(
        outcome="retracted",
        id=note.note_id,
        version=old.version,
        scope=str(note.scope),
        event=seq,
        tombstones=made,
        path=note.path,
        trash=target,
        notice=_notice(request, conflicts=bool(conflicts)),
    )
    return reply, rejected


def _notice(request: ForgetRequest, *, conflicts: bool) -> str:
    if conflicts:
        return f"the {KEPT}"
    if request.mode is ForgetMode.PURGE:
        return "retracted; erasing it for good is queued for a person who reviews this vault"
    return ""


def trash_name(root: Path, path: str) -> str:
    """A free name in the vault's trash, keeping the folder so that it can be put back by hand."""
    wanted = f".trash/{path}"
    while (root / wanted).exists():
        stem = path.removesuffix(".md")
        wanted = f".trash/{stem}.{secrets.token_hex(3)}.md"
    return wanted
