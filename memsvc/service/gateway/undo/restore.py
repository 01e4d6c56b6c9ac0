"""restore-note: a person brings back a retracted or corrected note, with what that says of its claims."""

from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from memsvc.clock import stamp, stamp_seconds
from memsvc.errors import InvalidInput, Uneditable
from memsvc.ledger import registry, review_items, tombstones
from memsvc.ledger import writer as ledger
from memsvc.ledger.records import NoteRecord, TombstoneRecord, VersionRecord
from memsvc.model.events import NewEvent
from memsvc.model.identity import Caller, Principal
from memsvc.model.replies import Json, RestoreReply
from memsvc.model.requests import RestoreRequest
from memsvc.model.vocabulary import Action, ReviewKind, Role, Status
from memsvc.notes.document import Document
from memsvc.notes.frontmatter import Value, edit
from memsvc.scope.vault_policy import VaultPolicy
from memsvc.service import access
from memsvc.service.gateway import checks
from memsvc.service.gateway.drafts import sha
from memsvc.service.gateway.events import note_event
from memsvc.service.gateway.files.layout import free_beside, occupied
from memsvc.service.gateway.files.relink import relink
from memsvc.service.gateway.files.scan import Scanner
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
from memsvc.service.gateway.parts import First, Parts
from memsvc.service.gateway.review.holding import REVIEW, Hold, queue
from memsvc.service.gateway.standing import Current, current

__all__ = ["bring_back", "restore"]

_WAITS = "it waits for a review, as it did before; see `memsvc review list`"
_WAITING = (Status.PROPOSED, Status.DISPUTED)


@dataclass(frozen=True, slots=True)
class _Return:
    """What comes back: the version, the text it gets, where, and how the file gets there."""

    wanted: VersionRecord
    version: VersionRecord
    note: NoteRecord
    lifted: list[TombstoneRecord]
    statements: list[checks.Statement]
    vectors: tuple[Vectors, str]


def restore(
    parts: Parts, scanner: Scanner, caller: Caller, request: RestoreRequest, *, lift: bool = True
) -> RestoreReply:
    """Make a version of a note its current text again, as a new version, and its file with it.

    Lifts the rejections that retracting the note made, and those of its own that the text states;
    without `lift` what any of these blocks is refused. A note that stands so already is left alone.
    Raises Denied (not a person who confirms), NotFound, InvalidInput (no such text, purged, replaced by a note that stands), the Refused family (also for
    what other notes' rejections block), Uneditable, StorageFailed, VaultOffline.
    """
    checks.check_lines(reason=request.reason)
    access.require_confirmed(caller, "bringing a note back")
    with parts.database.read() as connection:
        scope, _ = access.note_for(connection, caller, request.id, need=Role.REVIEWER, gone=True)
    with parts.locked(scope.scope.vault):
        now_is = current(parts, scanner, caller, request.id, need=Role.REVIEWER, gone=True)
        scanner.require_folder(now_is.vault)
        return bring_back(parts, now_is, request, lift=lift)


def bring_back(
    parts: Parts,
    now_is: Current,
    request: RestoreRequest,
    *,
    first: First | None = None,
    lift: bool = True,
) -> RestoreReply:
    """`restore` for who holds the vault's lock and has proven that a reviewer confirms it.

    The transaction begins with `first`, also when the note stands so already.
    """
    wanted, status = _wanted(parts, now_is, request.version)
    if _stands(now_is, wanted):
        if first is not None:
            with parts.database.write() as connection:
                first(connection)
        return _reply(now_is, wanted, outcome="unchanged", notice="the note stands so already")
    staging = Staging(now_is.root, now_is.vault)
    try:
        back = _returning(parts, now_is, wanted, status, staging, request, lift=lift)
        with parts.database.write() as connection:
            if first is not None:
                first(connection)
            seq = _commit(connection, parts, now_is, back, request)
            staging.record(connection, event_seq=seq, parts=parts)
    except BaseException:
        staging.discard()
        raise
    conflicts = staging.publish(parts)
    after = replace(now_is, note=back.note, version=replace(back.version, event_seq=seq))
    moved = f"its old place is taken: it is at {back.note.path} now"
    told = [f"the {KEPT}"] if conflicts else [moved] if back.note.path != now_is.note.path else []
    told += [_WAITS] if status in _WAITING else []
    notice = "; ".join(told)
    return _reply(after, wanted, outcome="restored", notice=notice, lifted=len(back.lifted))


def _reply(
    now_is: Current, wanted: VersionRecord, *, outcome: str, notice: str, lifted: int = 0
) -> RestoreReply:
    return RestoreReply(
        outcome=outcome,
        id=now_is.note.note_id,
        version=now_is.version.version,
        restored=wanted.version,
        scope=str(now_is.note.scope),
        event=now_is.version.event_seq,
        path=now_is.note.path,
        lifted=lifted,
        notice=notice,
    )


# -- which version -------------------------------------------------------------------------


def _wanted(parts: Parts, now_is: Current, number: int) -> tuple[VersionRecord, Status]:
    """The version to bring back, and how the note will stand. Raises InvalidInput."""
    note = now_is.note
    with parts.database.read() as connection:
        versions = registry.versions_of(connection, note.note_id)
        successor = (
            registry.find_note(connection, note.superseded_by) if note.superseded_by else None
        )
    replaced = successor is not None and not successor.gone
    if not number:
        number = now_is.note.version if replaced else _last(now_is, versions)
    found = next((one for one in versions if one.version == number), None)
    if found is None:
        known = ", ".join(str(one.version) for one in versions)
        raise InvalidInput(f"this note has no version {number}; it has {known}", argument="version")
    if found.end_mode == "purged":
        raise InvalidInput("the text of that version was purged; nothing is left", argument="id")
    if found.scope != note.scope:
        raise InvalidInput("that version was written in another scope", argument="version")
    if replaced and not (note.gone and found.status is Status.SUPERSEDED):
        raise InvalidInput(
            f"the note is replaced by {note.superseded_by}, which stands; forget or correct that "
            "one first",
            argument="id",
        )
    waits = note.status in _WAITING and note.withheld != "rejected_claim"
    if waits and found.version == note.version:
        raise InvalidInput(
            "that text waits for a review and was never taken back; see `memsvc review list`",
            argument="version",
        )
    if note.status is Status.RETRACTED and found.status in _WAITING:
        return found, found.status  # nobody has approved it
    return found, Status.SUPERSEDED if replaced else Status.ACTIVE


def _last(now_is: Current, versions: list[VersionRecord]) -> int:
    """The last version, or the last that was active of a note whose successor is gone."""
    active = [one.version for one in versions if one.status is Status.ACTIVE]
    if now_is.version.status is Status.SUPERSEDED and active:
        return max(active)
    return now_is.note.version


def _stands(now_is: Current, wanted: VersionRecord) -> bool:
    """Whether the note already says, as its current text, what the version says."""
    held, text = now_is.version, document_of(wanted)
    if now_is.note.status is not Status.ACTIVE:
        return False
    if wanted.version == held.version:
        return True
    there = document_of(held)
    return (held.text_key, there.tags, there.aliases, held.source, there.kind) == (
        wanted.text_key,
        text.tags,
        text.aliases,
        wanted.source,
        text.kind,
    )


# -- what comes back -----------------------------------------------------------------------


def _returning(
    parts: Parts,
    now_is: Current,
    wanted: VersionRecord,
    status: Status,
    staging: Staging,
    request: RestoreRequest,
    *,
    lift: bool,
) -> _Return:
    """Plan the return, with its file change staged. Raises the Refused family, Uneditable."""
    note, now = now_is.note, parts.clock.now()
    document = document_of(wanted)
    rules = VaultPolicy.of(now_is.vault.policy)
    whole, size = document.content, len(document.body)
    checks.refuse_violation(checks.find_violation(document.title, whole, rules, size=size))
    statements = checks.statements(document.title, document.body)
    statements += checks.sourced(document.source)
    with parts.database.read() as connection:
        path = _free_path(connection, now_is) if note.gone else note.path
        lifted = _own_rejections(connection, parts, now_is, statements) if lift else []
    number = note.version + 1
    content, content_hash = _file(now_is, wanted, document, staging, path, status, now)
    read = document_of(replace(wanted, content=content))
    version = replace(
        wanted,
        version=number,
        path=path,
        mode="restore",
        status=status,
        content=content,
        body_start=read.body_start,
        content_hash=content_hash,
        reason=request.reason or wanted.reason,
        valid_to=wanted.valid_to if status is Status.SUPERSEDED else wanted.valid_to_original,
        recorded_from=stamp(now),
        ended_at="",
        recorded_to="",
        end_mode="",
    )
    after = replace(
        note,
        path=path,
        version=number,
        status=status,
        withheld=REVIEW if status is Status.PROPOSED else "",
        trash_path="",
        superseded_by=note.superseded_by if status is Status.SUPERSEDED else "",
        updated_at=stamp(now),
    )
    vectors = vectors_for(parts, version.title, version.body)
    return _Return(wanted, version, after, lifted, statements, vectors)


def _own_rejections(
    connection: Connection, parts: Parts, now_is: Current, statements: list[checks.Statement]
) -> list[TombstoneRecord]:
    """What the retraction of the note rejected, and what else of its own the text states."""
    note = now_is.note
    own = [
        one
        for one in tombstones.tombstones_of(connection, note.note_id)
        if (one.vault, one.project) == (note.vault, note.project)
    ]
    met = checks.find_rejected(connection, parts.keys(), note.scope, statements)
    stated = {one.tombstone_id for one in met}
    lifted: list[TombstoneRecord] = []
    for some in _by_event(own):
        newest = max(one.version for one in some)
        first = [one for one in some if one.version == newest]
        whole = note.gone and newest == note.version
        if whole or all(one.tombstone_id in stated for one in first):
            lifted += some  # with what it was called before it was amended
        else:
            lifted += [one for one in some if one.tombstone_id in stated]
    return lifted


def _by_event(tombstones: list[TombstoneRecord]) -> list[list[TombstoneRecord]]:
    """Grouped by the event that rejected them."""
    events: dict[int, list[TombstoneRecord]] = {}
    for one in tombstones:
        events.setdefault(one.event_seq, []).append(one)
    return list(events.values())


def _free_path(connection: Connection, now_is: Current) -> str:
    """Where the note was, or beside it when something else is there now."""
    note, root = now_is.note, now_is.root
    return free_beside(note.path, lambda path: occupied(connection, note.vault, root, path))


def _file(
    now_is: Current,
    wanted: VersionRecord,
    document: Document,
    staging: Staging,
    path: str,
    status: Status,
    now: datetime,
) -> tuple[str, str]:
    """Stage the file change: none, out of the trash byte for byte, or written anew from the ledger.

    The text that the file then has, and its sha256.
    """
    note, root = now_is.note, now_is.root
    keys: dict[str, Value | None] = {}
    if status is Status.ACTIVE:
        if document.status_declared not in ("", Status.ACTIVE.value):
            keys["status"] = Status.ACTIVE.value
        if document.superseded_by:
            keys["superseded_by"] = ""
    number = note.version + 1
    if not keys and not note.gone and wanted.content_hash == now_is.version.content_hash:
        return wanted.content, wanted.content_hash
    if note.gone and not keys and _in_trash(now_is, wanted):
        staging.untrash(
            path,
            note.trash_path,
            note_id=note.note_id,
            version=number,
            content_hash=wanted.content_hash,
        )
        return wanted.content, wanted.content_hash
    editable = is_editable(wanted, document)
    exact = sha(wanted.content.encode("utf-8", "surrogatepass")) == wanted.content_hash
    if not exact or (keys and not editable):
        raise Uneditable(
            f"version {wanted.version} cannot be written again: "
            f"{document.problem or 'its encoding is not UTF-8'}; put its file back from the trash"
        )
    if editable and "version" in document.values:
        keys |= {"version": number, "updated": stamp_seconds(now)}
    content = edit(wanted.content, keys) if keys else wanted.content
    there = not note.gone and (root / path).exists()
    staging.write(
        path,
        content.encode(),
        note_id=note.note_id,
        version=number,
        before_hash=now_is.version.content_hash if there else "",
    )
    return content, sha(content.encode())


def _in_trash(now_is: Current, wanted: VersionRecord) -> bool:
    """Whether the file that the retraction moved away is there still, as it was."""
    place = now_is.note.trash_path
    trashed = now_is.root / place
    return bool(place) and trashed.is_file() and sha(trashed.read_bytes()) == wanted.content_hash


# -- the transaction -----------------------------------------------------------------------


def _commit(
    connection: Connection,
    parts: Parts,
    now_is: Current,
    back: _Return,
    request: RestoreRequest,
) -> int:
    """Everything that the database does, in its one transaction; the event's number."""
    caller, note, old = now_is.scope.caller, now_is.note, now_is.version
    now = parts.clock.now()
    event = note_event(
        Action.RESTORE,
        caller,
        note,
        before=old,
        after=back.version,
        reason=request.reason,
        detail={
            "restored": back.wanted.version,
            "was": note.status.value,
            "lifted": len(back.lifted),
            "confirmed": caller.confirmed,
        },
    )
    seq = ledger.add_event(connection, event, at=now)
    _lift(connection, back.lifted, event, seq=seq, now=now)
    checks.refuse_rejected(
        checks.find_rejected(connection, parts.keys(), note.scope, back.statements)
    )
    if not old.recorded_to:
        end_text(connection, old, recorded_to=stamp(now), end_mode="edit")
    after = back.note
    ledger.update_note(
        connection,
        note.note_id,
        path=after.path,
        version=after.version,
        status=after.status.value,
        withheld=after.withheld,
        trash_path="",
        superseded_by=after.superseded_by,
        updated_at=after.updated_at,
    )
    index_earlier(connection, note, after)
    version = replace(back.version, event_seq=seq)
    ledger.add_version(connection, version)
    index_version(connection, version, after, vectors=back.vectors[0], model_id=back.vectors[1])
    ledger.close_reviews(connection, note.note_id, at=now, state="restored")
    if after.status in _WAITING:
        _queue_again(connection, parts, after, event_seq=seq, by=caller.principal)
    relink(connection, now_is.vault, [note.note_id])
    return seq


def _queue_again(
    connection: Connection, parts: Parts, note: NoteRecord, *, event_seq: int, by: Principal
) -> None:
    """A text that waited when it was taken back waits again, for what it waited for."""
    before = review_items.last_hold(connection, note.note_id)
    dispute = note.status is Status.DISPUTED
    kind = ReviewKind.DISPUTE if dispute else ReviewKind.PROPOSAL
    hold = Hold(kind, ("it was brought back and waited before",), {})
    if before is not None:
        hold = Hold(ReviewKind(before[0]), hold.reasons, before[1])
    queue(connection, parts, note, hold, event_seq=event_seq, by=by)


def _lift(
    connection: Connection,
    lifted: list[TombstoneRecord],
    event: NewEvent,
    *,
    seq: int,
    now: datetime,
) -> None:
    """Lift tombstones, with one event that names them."""
    if not lifted:
        return
    ids = [one.tombstone_id for one in lifted]
    detail: dict[str, Json] = {
        "tombstones": list[Json](ids),
        "restore": seq,
        "confirmed": event.caller.confirmed,
    }
    lifting = replace(event, action=Action.LIFT, before_hash="", after_hash="", detail=detail)
    lift_seq = ledger.add_event(connection, lifting, at=now)
    by = str(event.caller.principal)
    for one in ids:
        ledger.lift_tombstone(connection, one, at=now, by=by, event_seq=lift_seq)
