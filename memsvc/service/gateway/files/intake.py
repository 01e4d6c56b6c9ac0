"""One file as a person left it, taken through the policy into ledger and index."""

from dataclasses import dataclass, replace

from sqlalchemy import Connection

from memsvc.clock import stamp
from memsvc.ids import is_ulid
from memsvc.index import writer as index
from memsvc.ledger import registry, tombstones
from memsvc.ledger import writer as ledger
from memsvc.ledger.records import FileRecord, Gone, NoteRecord, VaultRecord, VersionRecord
from memsvc.model.events import NewEvent
from memsvc.model.identity import Caller, Principal, Scope
from memsvc.model.vocabulary import (
    Action,
    NoteId,
    Outcome,
    PrincipalKind,
    ProjectSlug,
    Status,
    Trust,
    VaultName,
)
from memsvc.notes.document import Document
from memsvc.service.gateway import checks, drafts
from memsvc.service.gateway.events import note_event
from memsvc.service.gateway.files.layout import project_after_move, project_of
from memsvc.service.gateway.guard import restated
from memsvc.service.gateway.indexing import (
    HIDDEN_ENDS,
    Vectors,
    document_of,
    end_text,
    index_again,
    index_earlier,
    index_version,
    resolve,
)
from memsvc.service.gateway.leaving import leave
from memsvc.service.gateway.parts import Parts
from memsvc.service.gateway.review import holding

__all__ = ["Arrival", "file_caller", "remove_note", "take"]

_WITHHELD_BY_FILE = {
    Status.PROPOSED: Status.PROPOSED,
    Status.DISPUTED: Status.DISPUTED,
    Status.RETRACTED: Status.PROPOSED,
    Status.REJECTED: Status.PROPOSED,
}


@dataclass(frozen=True, slots=True)
class Arrival:
    """A file that is new or changed: its text, and what is remembered of its path."""

    path: str
    document: Document
    signature: FileRecord
    vectors: Vectors
    model_id: str
    violation: str
    again: tuple[restated.Suspicion, ...] = ()
    """What of it was probably rejected in its scope, in other words."""


def file_caller(vault: VaultName, project: ProjectSlug) -> Caller:
    """Who a file edit is by: a person, through the file."""
    return Caller(Principal(PrincipalKind.HUMAN, "file"), vault, project, door="file")


def take(
    connection: Connection,
    parts: Parts,
    vault: VaultRecord,
    arrival: Arrival,
    *,
    missing: dict[str, FileRecord],
    known: NoteRecord | None,
    gone: NoteRecord | None,
) -> FileRecord:
    """Take one file in; what is to be remembered of it.

    `missing` are remembered files that are not on disk (a move takes one out), `known` is the note
    whose file is at the path, `gone` the one that was last there. Runs inside the caller's
    transaction, under the vault's lock.
    """
    entered = False
    if known is None:
        known = _moved(connection, vault, arrival, missing)
        if known is not None:
            before, known = known.scope, _move(connection, parts, vault, arrival, known)
            entered = known.scope != before
    if known is None:
        known = _returned(connection, vault, arrival, gone)
    if known is None:
        note_id = _adopt(connection, parts, vault, arrival)
    else:
        note_id = _edit(connection, parts, vault, arrival, known, missing=missing, entered=entered)
    return replace(arrival.signature, note_id=note_id)


def _moved(
    connection: Connection, vault: VaultRecord, arrival: Arrival, missing: dict[str, FileRecord]
) -> NoteRecord | None:
    """The note whose file went from one path to this one, if that is what happened."""
    declared = arrival.document.declared_id
    if declared:
        record = registry.find_note(connection, declared)
        if record is not None and record.vault == vault.name and record.path in missing:
            missing.pop(record.path)
            return record
    same = [
        state for state in missing.values() if state.content_hash == arrival.signature.content_hash
    ]
    if len(same) == 1:
        missing.pop(same[0].path)
        return registry.find_note(connection, same[0].note_id)
    return None


def _returned(
    connection: Connection, vault: VaultRecord, arrival: Arrival, gone: NoteRecord | None
) -> NoteRecord | None:
    """A note that was gone and whose file is back: from the trash, a backup, a git checkout."""
    declared = arrival.document.declared_id
    if declared:
        record = registry.find_note(connection, declared)
    else:
        record = gone
        if record is not None:
            last = registry.find_version(connection, record.note_id, record.version)
            if last is None or last.content_hash != arrival.signature.content_hash:
                return None
    if record is None or record.vault != vault.name or not record.gone:
        return None
    if project_after_move(vault, record, arrival.path) != record.project:
        return None  # in another project's folder it is that project's, and a note of its own
    return record


def _move(
    connection: Connection, parts: Parts, vault: VaultRecord, arrival: Arrival, note: NoteRecord
) -> NoteRecord:
    now = parts.clock.now()
    project = project_after_move(vault, note, arrival.path)
    moved = replace(note, path=arrival.path, project=project)
    ledger.add_event(
        connection,
        note_event(
            Action.FILE_MOVE,
            file_caller(vault.name, project),
            moved,
            detail={"from_project": note.project, "to_project": project},
        ),
        at=now,
    )
    if project != note.project:  # the note leaves its old scope: say so there too
        ledger.add_event(
            connection,
            note_event(
                Action.FILE_MOVE,
                file_caller(vault.name, note.project),
                note,
                detail={"left": True},
            ),
            at=now,
        )
    ledger.drop_file_states(connection, vault=vault.name, paths=[note.path])
    ledger.update_note(connection, note.note_id, path=arrival.path, project=project)
    index.remove_note(connection, note.note_id)
    index_again(connection, moved)
    return moved


def _judge(
    connection: Connection,
    parts: Parts,
    scope: Scope,
    arrival: Arrival,
    previous: VersionRecord | None,
) -> tuple[str, dict[str, str]]:
    """Why a file's text must be withheld, and what a reviewer needs to know; empty if it is fine."""
    if arrival.violation:
        return arrival.violation, {}
    if not tombstones.has_tombstones(connection, scope):
        return "", {}
    fresh = _stated(arrival.document)
    if previous is not None:
        fresh = checks.introduced(fresh, _stated(document_of(previous)))
    met = checks.find_rejected(connection, parts.keys(), scope, fresh)
    if met:
        return "rejected_claim", {"tombstone": met[0].tombstone_id}
    said = {statement.normal for statement in fresh}
    for one in arrival.again:
        rejected = one.tombstone
        if one.statement.normal in said and scope == Scope(rejected.vault, rejected.project):
            return holding.RESTATEMENT, {**one.detail, "why": one.reason}
    return "", {}


def _stated(document: Document) -> list[checks.Statement]:
    """What a file states in its text and in its sources."""
    return checks.statements(document.title, document.body) + checks.sourced(document.source)


def _status(
    arrival: Arrival, note: NoteRecord | None, previous: VersionRecord | None, withheld: str
) -> Status:
    """Where the note stands now, from what the file declares and what the ledger knows."""
    document = arrival.document
    if withheld:
        return Status.PROPOSED
    if document.status_declared == Status.SUPERSEDED or document.superseded_by:
        return Status.SUPERSEDED
    if document.status_declared in _WITHHELD_BY_FILE:
        return _WITHHELD_BY_FILE[Status(document.status_declared)]
    if note is not None and note.status is Status.SUPERSEDED and previous is not None:
        before = document_of(previous)
        declared = before.status_declared == Status.SUPERSEDED or bool(before.superseded_by)
        if not declared:  # another note declared it; this file never did
            return Status.SUPERSEDED
    return Status.ACTIVE


def _adopt(connection: Connection, parts: Parts, vault: VaultRecord, arrival: Arrival) -> NoteId:
    """A file that no note is known for: it becomes one, and stays as it is."""
    now = parts.clock.now()
    document = arrival.document
    declared = document.declared_id
    free = declared and is_ulid(declared) and registry.find_note(connection, declared) is None
    note_id = NoteId(declared if free else parts.new_id(now))
    scope = Scope(vault.name, project_of(vault, arrival.path))
    withheld, detail = _judge(connection, parts, scope, arrival, None)
    if not withheld and holding.proposes_edits(vault):
        withheld = holding.EXTERNAL_EDIT
    note = NoteRecord(
        note_id=note_id,
        vault=vault.name,
        project=scope.project,
        path=arrival.path,
        status=_status(arrival, None, None, withheld),
        version=1,
        withheld=withheld,
        created_at=stamp(now),
        updated_at=stamp(now),
    )
    ledger.add_note(connection, note)
    _record(connection, parts, arrival, note, previous=None, detail=detail)
    return note_id


def _still_replaced(
    connection: Connection, arrival: Arrival, note: NoteRecord, missing: dict[str, FileRecord]
) -> bool:
    """Whether the file is an earlier state of the note, from a backup or a checkout, while the note
    that took its place stands; a person who brings it back edits it.
    """
    successor = registry.find_note(connection, note.superseded_by) if note.superseded_by else None
    if successor is None or successor.gone or successor.path in missing:
        return False
    earlier = registry.versions_of(connection, note.note_id)
    return any(one.content_hash == arrival.signature.content_hash for one in earlier)


def _edit(
    connection: Connection,
    parts: Parts,
    vault: VaultRecord,
    arrival: Arrival,
    note: NoteRecord,
    *,
    missing: dict[str, FileRecord],
    entered: bool,
) -> NoteId:
    """The file of a known note has another text, is back, or `entered` the note's scope just now:
    then all that it states is new there.
    """
    previous = registry.find_version(connection, note.note_id, note.version)
    barred = entered and bool(_judge(connection, parts, note.scope, arrival, None)[0])
    text = arrival.signature.content_hash
    same = previous is not None and previous.content_hash == text and not note.gone and not barred
    if previous is not None and same and not holding.is_new_scope(vault, note, previous):
        index_version(connection, previous, note, document=arrival.document)
        return note.note_id
    compared = None if note.withheld or entered else previous  # what is gone is withheld
    judged = _judge(connection, parts, note.scope, arrival, compared)
    withheld, detail = holding.after_edit(connection, vault, note, text, judged)
    status = _status(arrival, note, previous, withheld)
    if status is Status.ACTIVE and _still_replaced(connection, arrival, note, missing):
        status = Status.SUPERSEDED
    now = stamp(parts.clock.now())
    changed = replace(
        note,
        path=arrival.path,
        version=note.version + 1,
        status=status,
        withheld=withheld,
        updated_at=now,
    )
    if previous is not None and not previous.recorded_to:
        ended = _end_of(previous, arrival.document, note, changed, now)
        end_text(connection, previous, **ended)
    if barred:
        _leave_behind(connection, note)
    if changed.status is not Status.SUPERSEDED:
        changed = replace(changed, superseded_by="")
    ledger.update_note(
        connection,
        note.note_id,
        path=changed.path,
        version=changed.version,
        status=changed.status.value,
        withheld=changed.withheld,
        superseded_by=changed.superseded_by,
        trash_path="",
        updated_at=changed.updated_at,
    )
    index_earlier(connection, note, changed)
    _record(
        connection,
        parts,
        arrival,
        changed,
        previous=previous,
        detail=detail,
        held=holding.is_held(note),
    )
    return note.note_id


def _leave_behind(connection: Connection, note: NoteRecord) -> None:
    """Keep the texts that a note had in another scope out of the history of the one that bars it."""
    index.remove_note(connection, note.note_id)
    for version in registry.versions_of(connection, note.note_id):
        if version.end_mode not in HIDDEN_ENDS:
            ledger.end_version(connection, note.note_id, version.version, end_mode="withheld")


def _end_of(
    previous: VersionRecord, document: Document, before: NoteRecord, after: NoteRecord, now: str
) -> dict[str, str]:
    """How an edit ends the text before it: what is true since a later day does not deny it."""
    both = before.status is after.status is Status.ACTIVE
    start, end = document.valid_from, previous.valid_to
    other = drafts.text_key(document.title, document.body) != previous.text_key
    if both and other and previous.valid_from < start and (not end or start < end):
        return {"valid_to": start, "ended_at": now, "end_mode": "changed"}
    return {"recorded_to": now, "end_mode": "edit"}


def _record(
    connection: Connection,
    parts: Parts,
    arrival: Arrival,
    note: NoteRecord,
    *,
    previous: VersionRecord | None,
    detail: dict[str, str],
    held: bool = False,
) -> None:
    """Event, version, review item and index rows of a text that arrived by file."""
    now = parts.clock.now()
    caller = file_caller(note.vault, note.project)
    document = arrival.document
    seq = ledger.add_event(
        connection,
        NewEvent(
            action=Action.FILE_EDIT,
            outcome=Outcome.REFUSED if note.withheld else Outcome.DONE,
            caller=caller,
            scope=note.scope,
            note_id=note.note_id,
            version=note.version,
            reason=f"withheld: {note.withheld}" if note.withheld else "",
            before_hash=previous.content_hash if previous else "",
            after_hash=arrival.signature.content_hash,
            detail=dict(detail),
        ),
        at=now,
    )
    version = drafts.version_of(
        document.content,
        document=document,
        caller=caller,
        scope=note.scope,
        note_id=note.note_id,
        version=note.version,
        path=note.path,
        mode="file_edit",
        now=now,
        valid_from=document.valid_from or (previous.valid_from if previous else ""),
        valid_to=_valid_to(document, note, previous, drafts.whole_second(now)),
        status=note.status,
        trust=_trust(document, previous),
        event_seq=seq,
    )
    ledger.add_version(connection, version)
    holding.queue_arrival(
        connection, parts, note, detail, event_seq=seq, by=caller.principal, held=held
    )
    note = _link_successor(connection, note, document)
    index_version(
        connection,
        version,
        note,
        vectors=arrival.vectors,
        model_id=arrival.model_id,
        document=document,
    )


def _valid_to(
    document: Document, note: NoteRecord, previous: VersionRecord | None, now: str
) -> str:
    """What the file says; a text is replaced when that is first said of it, or nobody knows when."""
    if document.valid_to or note.status is not Status.SUPERSEDED or previous is None:
        return document.valid_to
    if previous.status is Status.SUPERSEDED or previous.valid_to:
        return min(previous.valid_to, now)
    return now


def _trust(document: Document, previous: VersionRecord | None) -> Trust:
    """A person's edit is a person's word; a file adopted as it is may only claim less."""
    declared = document.values.get("trust")
    return Trust.AGENT if previous is None and declared == Trust.AGENT.value else Trust.HUMAN


def _link_successor(connection: Connection, note: NoteRecord, document: Document) -> NoteRecord:
    if not document.superseded_by or note.status is not Status.SUPERSEDED:
        return note
    found, _ = resolve(connection, note.scope, [document.superseded_by], from_path=note.path)
    successor = found.get(document.superseded_by, "")
    if successor and successor != note.superseded_by and successor != note.note_id:
        ledger.update_note(connection, note.note_id, superseded_by=successor)
        return replace(note, superseded_by=successor)
    return note


def remove_note(
    connection: Connection, parts: Parts, vault: VaultRecord, state: FileRecord
) -> None:
    """A file was deleted outside: its note leaves recall; nothing counts as rejected."""
    ledger.drop_file_states(connection, vault=vault.name, paths=[state.path])
    note = registry.find_note(connection, state.note_id)
    if note is None or note.path != state.path or note.status is Status.RETRACTED:
        return
    now = parts.clock.now()
    ledger.add_event(
        connection,
        NewEvent(
            action=Action.FILE_DELETE,
            outcome=Outcome.DONE,
            caller=file_caller(note.vault, note.project),
            scope=note.scope,
            note_id=note.note_id,
            version=note.version,
            before_hash=state.content_hash,
        ),
        at=now,
    )
    leave(
        connection,
        note,
        now=now,
        status=Status.RETRACTED,
        end_mode="deleted",
        withheld=Gone.FILE_DELETED,
        state=Gone.FILE_DELETED,
    )
