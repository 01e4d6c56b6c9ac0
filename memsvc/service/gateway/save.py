"""save: one new note, or the same one corroborated."""

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from sqlalchemy import Connection

from memsvc.clock import UNKNOWN, stamp, stamp_seconds
from memsvc.errors import InvalidInput, NotFound, Uneditable
from memsvc.ledger import registry
from memsvc.ledger import writer as ledger
from memsvc.ledger.records import NoteRecord, VaultRecord, VersionRecord
from memsvc.model.replies import SaveReply, as_data
from memsvc.model.requests import SaveRequest
from memsvc.model.vocabulary import Action, NoteId, SaveOutcome, Status
from memsvc.notes import slugs
from memsvc.notes.frontmatter import Value, edit
from memsvc.notes.paths import stem_of
from memsvc.scope.proof import WriteScope
from memsvc.service.access import NO_NOTE
from memsvc.service.gateway import checks, drafts, limits
from memsvc.service.gateway.events import note_event
from memsvc.service.gateway.files.layout import folder_of, occupied
from memsvc.service.gateway.files.scan import Scanner
from memsvc.service.gateway.guard import restated
from memsvc.service.gateway.indexing import (
    Vectors,
    document_of,
    end_text,
    index_version,
    is_editable,
    vectors_for,
)
from memsvc.service.gateway.operations import KEPT, Staging, settle
from memsvc.service.gateway.parts import Parts, root_of
from memsvc.service.gateway.review.holding import REVIEW, Hold, hold_of, queue

__all__ = ["Replaced", "commit_superseded", "create", "free_path", "save", "supersede"]


@dataclass(frozen=True, slots=True)
class Replaced:
    """A note that the new one supersedes, before and after."""

    note: NoteRecord
    old: VersionRecord
    new: VersionRecord

    def stage(self, staging: Staging) -> None:
        """Stage the file that says so. Raises StorageFailed."""
        staging.write(
            self.note.path,
            self.new.content.encode(),
            note_id=self.note.note_id,
            version=self.new.version,
            before_hash=self.old.content_hash,
        )


def save(parts: Parts, scanner: Scanner, scope: WriteScope, request: SaveRequest) -> SaveReply:
    """Create the note, or count the same text once more.

    Raises InvalidInput, the Refused family, NotFound (for `supersedes`), StorageFailed, VaultOffline.
    """
    rules = limits.rules_of(parts, scope.scope.vault)
    request, left_out = limits.save_without_private(request)
    checks.check_note_text(request.title, request.body, rules)
    checks.check_lines(rules, reason=request.reason, source=request.source, tags=request.tags)
    valid_from = drafts.instant(request.valid_from, argument="valid_from")
    valid_to = drafts.ending(request.valid_to, argument="valid_to")
    if valid_from and valid_to not in ("", UNKNOWN) and valid_to <= valid_from:
        raise InvalidInput("valid_to must be later than valid_from", argument="valid_to")
    texts = checks.statements(request.title, request.body) + checks.sourced(request.source)
    vectors, model_id = vectors_for(parts, request.title.strip(), request.body)
    again = restated.likely(parts, scope.scope, texts)
    with parts.locked(scope.scope.vault):
        with parts.database.read() as connection:
            vault, root = root_of(connection, scope.scope.vault)
        settle(parts, vault)
        scanner.require_folder(vault)
        with parts.database.read() as connection:
            met = checks.find_rejected(connection, parts.keys(), scope.scope, texts)
            checks.refuse_rejected(met)  # a repeat and a second voice for it are refused too
            known = _repeated(connection, scope, request)
            if known is not None:
                return known
            limits.check_budget(connection, parts, rules, scope.caller, scope.scope.vault)
        hold = restated.held(again, hold_of(rules, scope.caller.principal))
        same = _corroborate(parts, scope, request, held=hold is not None)
        if same is not None:
            return same
        reply = create(
            parts,
            scanner,
            scope,
            request,
            vault,
            root,
            valid=(valid_from, valid_to),
            texts=texts,
            vectors=(vectors, model_id),
            hold=hold,
        )
    return replace(reply, notice="; ".join(one for one in (reply.notice, left_out) if one))


def _request_hash(request: SaveRequest) -> str:
    packed = json.dumps(asdict(replace(request, idempotency_key="")), sort_keys=True)
    return hashlib.sha256(packed.encode("utf-8", "surrogatepass")).hexdigest()


def _repeated(connection: Connection, scope: WriteScope, request: SaveRequest) -> SaveReply | None:
    """The earlier reply to a save with this idempotency key."""
    if not request.idempotency_key:
        return None
    found = registry.remembered_reply(
        connection,
        scope.scope,
        principal=str(scope.caller.principal),
        key=request.idempotency_key,
    )
    if found is None:
        return None
    if found[0] != _request_hash(request):
        raise InvalidInput(
            "that idempotency_key was used for another save; use a fresh key",
            argument="idempotency_key",
        )
    return replace(SaveReply(**json.loads(found[1])), notice="repeated: this save was done before")


def _corroborate(
    parts: Parts, scope: WriteScope, request: SaveRequest, *, held: bool
) -> SaveReply | None:
    """Count the text again if an active note of the scope already says it, or a proposal when this
    save would be one.
    """
    if request.supersedes:
        return None
    key = drafts.text_key(request.title, request.body)
    with parts.database.read() as connection:
        if _saying(connection, scope, key, held=held) is None:
            return None
    now = parts.clock.now()
    with parts.database.write() as connection:
        note = _saying(connection, scope, key, held=held)
        if note is None:
            return None
        ledger.update_note(connection, note.note_id, corroborated=note.corroborated + 1)
        seq = ledger.add_event(
            connection,
            note_event(
                Action.CORROBORATE,
                scope.caller,
                note,
                reason=request.reason,
                detail={"times": note.corroborated + 1},
            ),
            at=now,
        )
        waits = note.status is Status.PROPOSED
        outcome = SaveOutcome.PROPOSED if waits else SaveOutcome.UNCHANGED
        where = "waits for review already" if waits else "is already here"
        reply = SaveReply(
            outcome=outcome.value,
            id=note.note_id,
            path=note.path,
            version=note.version,
            scope=str(scope.scope),
            event=seq,
            notice=f"the same text {where}; corroborated {note.corroborated + 1} times",
        )
        _remember(connection, parts, scope, request, reply)
    return reply


def _saying(
    connection: Connection, scope: WriteScope, key: str, *, held: bool
) -> NoteRecord | None:
    active = registry.same_text(connection, scope.scope, key)
    if active is not None or not held:
        return active
    return registry.same_text(connection, scope.scope, key, status=Status.PROPOSED)


def free_path(
    connection: Connection, vault: VaultRecord, root: Path, folder: str, title: str
) -> str:
    """A path in the folder, made from the title, that no note and no file has."""

    def taken(name: str) -> bool:
        return occupied(connection, vault.name, root, f"{folder}/{name}")

    return f"{folder}/{slugs.free_name(title, taken)}"


def create(  # noqa: PLR0913 - one write's state
    parts: Parts,
    scanner: Scanner,
    scope: WriteScope,
    request: SaveRequest,
    vault: VaultRecord,
    root: Path,
    *,
    valid: tuple[str, str],
    texts: list[checks.Statement],
    vectors: tuple[Vectors, str],
    hold: Hold | None = None,
) -> SaveReply:
    """The new note with its file, or the proposal of one that `hold` keeps back.

    The caller holds the vault's lock and has checked the text; rejected claims are looked for here.
    A proposal supersedes nothing until it is approved.
    """
    now = parts.clock.now()
    since = drafts.whole_second(now) if request.supersedes else drafts.day_of(stamp(now))
    valid_from, valid_to = valid[0] or since, valid[1]  # what it replaces holds until then
    note_id = NoteId(parts.new_id(now))
    replaced = _find_replaced(parts, scanner, scope, request, vault, root)
    with parts.database.read() as connection:
        path = free_path(
            connection, vault, root, folder_of(vault, scope.scope.project), request.title
        )
    content = drafts.content_of_save(
        request,
        caller=scope.caller,
        scope=scope.scope,
        note_id=note_id,
        now=now,
        valid_from=valid_from,
        valid_to=valid_to,
        supersedes=[f"[[{stem_of(note.path)}]]" for note, _ in replaced],
        status=Status.PROPOSED if hold else Status.ACTIVE,
    )
    version = drafts.version_of(
        content,
        caller=scope.caller,
        scope=scope.scope,
        note_id=note_id,
        version=1,
        path=path,
        mode="save",
        now=now,
        valid_from=valid_from,
        valid_to=valid_to,
        reason=request.reason,
        source=request.source,
        status=Status.PROPOSED if hold else Status.ACTIVE,
    )
    if hold:
        hold = hold.superseding(note for note, _ in replaced)
        replaced = []
    changes = [
        supersede(parts, scope, note, old, path=path, end=valid_from) for note, old in replaced
    ]
    staging = Staging(root, vault)
    try:
        staging.write(path, content.encode(), note_id=note_id, version=1, before_hash="")
        for change in changes:
            change.stage(staging)
        with parts.database.write() as connection:
            met = checks.find_rejected(connection, parts.keys(), scope.scope, texts)
            checks.refuse_rejected(met)
            reply = _commit(
                connection, parts, scope, request, version, changes, vectors, staging, hold=hold
            )
    except BaseException:
        staging.discard()
        raise
    conflicts = staging.publish(parts)
    if conflicts:
        reply = replace(reply, notice=f"a {KEPT}")
    return reply


def _commit(  # noqa: PLR0913 - one write's state
    connection: Connection,
    parts: Parts,
    scope: WriteScope,
    request: SaveRequest,
    version: VersionRecord,
    changes: list[Replaced],
    vectors: tuple[Vectors, str],
    staging: Staging,
    *,
    hold: Hold | None,
) -> SaveReply:
    """Everything that the database holds of the save, in its one transaction."""
    now = parts.clock.now()
    note = NoteRecord(
        note_id=version.note_id,
        vault=scope.scope.vault,
        project=scope.scope.project,
        path=version.path,
        status=version.status,
        version=1,
        withheld=REVIEW if hold else "",
        created_at=version.recorded_from,
        updated_at=version.recorded_from,
    )
    seq = ledger.add_event(
        connection,
        note_event(
            Action.PROPOSE if hold else Action.SAVE,
            scope.caller,
            note,
            after=version,
            reason=request.reason,
            detail={"kind": request.kind.value, "supersedes": [c.note.note_id for c in changes]},
        ),
        at=now,
    )
    ledger.add_note(connection, note)
    ledger.add_version(connection, drafts.with_event(version, seq))
    index_version(
        connection,
        version,
        note,
        vectors=vectors[0],
        model_id=vectors[1],
    )
    for change in changes:
        commit_superseded(connection, parts, scope, change, successor=version.note_id)
    item = ""
    if hold:
        item = queue(connection, parts, note, hold, event_seq=seq, by=scope.caller.principal)
    staging.record(connection, event_seq=seq, parts=parts)
    reply = SaveReply(
        outcome=(SaveOutcome.PROPOSED if hold else SaveOutcome.CREATED).value,
        id=version.note_id,
        path=version.path,
        version=1,
        scope=str(scope.scope),
        event=seq,
        superseded=[str(change.note.note_id) for change in changes],
        notice=hold.notice(item) if hold else "",
    )
    _remember(connection, parts, scope, request, reply)
    return reply


def _remember(
    connection: Connection, parts: Parts, scope: WriteScope, request: SaveRequest, reply: SaveReply
) -> None:
    if request.idempotency_key:
        ledger.remember_reply(
            connection,
            scope=scope.scope,
            principal=str(scope.caller.principal),
            key=request.idempotency_key,
            request_hash=_request_hash(request),
            reply=json.dumps(as_data(reply)),
            at=parts.clock.now(),
        )


def _find_replaced(
    parts: Parts,
    scanner: Scanner,
    scope: WriteScope,
    request: SaveRequest,
    vault: VaultRecord,
    root: Path,
) -> list[tuple[NoteRecord, VersionRecord]]:
    """The active notes that `supersedes` names, as their files stand now."""
    found = []
    for wanted in dict.fromkeys(item.strip().upper() for item in request.supersedes):
        with parts.database.read() as connection:
            note = registry.find_note(connection, wanted)
        if note is None or note.scope != scope.scope or note.status is not Status.ACTIVE:
            raise NotFound(f"supersedes: {NO_NOTE}", argument="supersedes")
        scanner.refresh_locked(vault, root, [note.path])
        with parts.database.read() as connection:
            note = registry.find_note(connection, wanted)
            old = registry.find_version(connection, wanted, note.version if note else 0)
        if note is None or old is None or note.status is not Status.ACTIVE:
            raise NotFound(f"supersedes: {NO_NOTE}", argument="supersedes")
        found.append((note, old))
    return found


def supersede(
    parts: Parts,
    scope: WriteScope,
    note: NoteRecord,
    old: VersionRecord,
    *,
    path: str,
    end: str,
) -> Replaced:
    """The superseded note's next version: the same text, with its successor in the frontmatter."""
    document = document_of(old)
    if not is_editable(old, document):
        raise Uneditable(
            f"{note.path} cannot be marked as superseded: {document.problem or 'its encoding'}; "
            "mend the file, or save without supersedes"
        )
    now = parts.clock.now()
    if old.valid_to and old.valid_to < end:
        end = old.valid_to
    start = drafts.start_before(old.valid_from, end, created=note.created_at)
    keys: dict[str, Value | None] = {
        "status": Status.SUPERSEDED.value,
        "superseded_by": f"[[{stem_of(path)}]]",
        "valid_to": drafts.shown(end),
        "updated": stamp_seconds(now),
        "version": old.version + 1,
    }
    if start != old.valid_from:
        keys["valid_from"] = drafts.shown(start)
    content = edit(old.content, keys)
    new = drafts.version_of(
        content,
        caller=scope.caller,
        scope=note.scope,
        note_id=note.note_id,
        version=old.version + 1,
        path=note.path,
        mode="supersede",
        now=now,
        valid_from=start,
        valid_to=end,
        reason=old.reason,
        source=old.source,
        status=Status.SUPERSEDED,
        trust=old.trust,
    )
    return Replaced(note, old, replace(new, author=old.author))


def commit_superseded(
    connection: Connection,
    parts: Parts,
    scope: WriteScope,
    change: Replaced,
    *,
    successor: NoteId,
) -> None:
    """Everything that the database holds of one supersession, in the caller's transaction."""
    now = parts.clock.now()
    seq = ledger.add_event(
        connection,
        note_event(
            Action.SUPERSEDE,
            scope.caller,
            change.note,
            before=change.old,
            after=change.new,
            detail={"successor": successor},
        ),
        at=now,
    )
    note = replace(
        change.note,
        status=Status.SUPERSEDED,
        superseded_by=successor,
        version=change.new.version,
        updated_at=stamp(now),
    )
    recorded_to = change.new.recorded_from
    end_text(connection, change.old, recorded_to=recorded_to, end_mode="superseded")
    ledger.update_note(
        connection,
        note.note_id,
        status=note.status.value,
        superseded_by=successor,
        version=note.version,
        updated_at=note.updated_at,
    )
    ledger.add_version(connection, drafts.with_event(change.new, seq))
    index_version(connection, change.new, note)
