"""purge: every trace of a note that memsvc can reach is destroyed; ids, hashes and the audit stay."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from memsvc.index import writer as index
from memsvc.ledger import registry
from memsvc.ledger import writer as ledger
from memsvc.ledger.records import VersionRecord
from memsvc.model.events import NewEvent
from memsvc.model.identity import Caller
from memsvc.model.replies import ForgetReply
from memsvc.model.requests import ForgetRequest
from memsvc.model.vocabulary import Action, Outcome, PrincipalKind
from memsvc.service import access
from memsvc.service.gateway import checks
from memsvc.service.gateway.copies import Copies, find_copies, history_keeps, telling_lines
from memsvc.service.gateway.correct import Current, make_tombstones
from memsvc.service.gateway.erasing import SCRUB, scrub
from memsvc.service.gateway.indexing import document_of
from memsvc.service.gateway.operations import Staging
from memsvc.service.gateway.parts import Parts

__all__ = ["may_purge", "purge"]

_MOST_NAMED = 20
_ALWAYS = (
    "backups, exports and copies made before, also those of a sync or of another machine",
    "what the file system keeps of blocks that are free now, and its snapshots",
)
_WAITING = (
    "the files are gone and nothing shows the text, but another process still uses old pages of the "
    "database, or the disk refused: the next access finishes this"
)
_EDITED = "a file was edited meanwhile and kept; see `memsvc review list`"


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a purge destroys: all versions, what they claim, and the files that hold them."""

    versions: list[VersionRecord]
    claims: list[checks.Statement]
    copies: Copies
    beyond: list[str]


def may_purge(caller: Caller) -> bool:
    """Whether the caller's purge is one, and not a retraction with a request for a person."""
    return caller.principal.kind is PrincipalKind.HUMAN and bool(caller.confirmed)


def purge(
    parts: Parts, now_is: Current, request: ForgetRequest
) -> tuple[ForgetReply, list[checks.Statement]]:
    """Destroy a note, living or retracted; the reply, and the claims that stay rejected.

    The caller holds the vault's lock and has proven the reviewer role. One transaction empties the
    rows and owes the rest; files follow, then what deleted rows left in pages, journal and
    vectors. A purge that is cut off is finished at the next access. Raises StorageFailed.
    """
    note = now_is.note
    plan = _plan(parts, now_is)
    now = parts.clock.now()
    staging = Staging(now_is.root, now_is.vault)
    for path, content_hash in plan.copies.erase:
        staging.erase(path, note_id=note.note_id, version=note.version, content_hash=content_hash)
    with parts.database.write() as connection:
        seq, made = _commit(connection, parts, now_is, plan, request, now)
        staging.record(connection, event_seq=seq, parts=parts)
        _owe_scrub(connection, now_is, event_seq=seq, now=now)
    conflicts = staging.publish(parts)
    with parts.database.read() as connection:
        owed = registry.operations(connection, note.vault)
    done = scrub(parts, [one for one in owed if one.kind == SCRUB])
    notices = [_EDITED] if conflicts else []
    notices += [] if done else [_WAITING]
    reply = ForgetReply(
        outcome="purged",
        id=note.note_id,
        version=note.version,
        scope=str(note.scope),
        event=seq,
        tombstones=made,
        erased=len(plan.copies.erase) - len(conflicts),
        out_of_reach=plan.beyond,
        notice="; ".join(notices),
    )
    return reply, plan.claims


def _plan(parts: Parts, now_is: Current) -> _Plan:
    note = now_is.note
    with parts.database.read() as connection:
        versions = registry.versions_of(connection, note.note_id)
        scope = access.reads(connection, now_is.scope.caller)
        living = {
            one.path: one.scope in scope
            for one in registry.notes_of(connection, note.vault)
            if one.note_id != note.note_id
        }
        reasons = registry.reasons_of(connection, note.note_id)
    lines = telling_lines(note, versions)
    copies = find_copies(now_is.root, note, versions, lines=lines, living=living)
    claims: dict[str, checks.Statement] = {}
    for version in reversed(versions):
        if version.content:
            document = document_of(version)
            for one in checks.statements(document.title, document.body):
                if one.kind != "title" or any(char.isdigit() for char in one.normal):
                    claims.setdefault(one.normal, one)
    beyond = list(_ALWAYS)
    if history_keeps(now_is.root):
        beyond.insert(0, "the history of the git repository that the vault is in")
    beyond += _named("another note that names or quotes it", copies.notes)
    beyond += _named("a file of the vault, no note, that names or quotes it", copies.files)
    quoting = [reason for reason in reasons if any(line in reason for line in lines)]
    if quoting:
        beyond.append(f"reasons in the audit that quote it: {len(quoting)}; events never change")
    return _Plan(versions, list(claims.values()), copies, beyond)


def _named(what: str, paths: Sequence[str]) -> list[str]:
    more = len(paths) - _MOST_NAMED
    named = [f"{what}: {path}" for path in paths[:_MOST_NAMED]]
    return [*named, f"{more} more of these"] if more > 0 else named


def _commit(
    connection: Connection,
    parts: Parts,
    now_is: Current,
    plan: _Plan,
    request: ForgetRequest,
    now: datetime,
) -> tuple[int, int]:
    """Everything that the database does, in its one transaction: the event and the new tombstones."""
    note, caller = now_is.note, now_is.scope.caller
    seq = ledger.add_event(
        connection,
        NewEvent(
            action=Action.PURGE,
            outcome=Outcome.DONE,
            caller=caller,
            scope=note.scope,
            note_id=note.note_id,
            version=note.version,
            reason=request.reason,
            before_hash=now_is.version.content_hash,
            detail={
                "versions": len(plan.versions),
                "claims": len(plan.claims),
                "files": len(plan.copies.erase),
                "confirmed": caller.confirmed,
            },
        ),
        at=now,
    )
    made = make_tombstones(
        connection, parts, now_is, plan.claims, reason=request.reason, event_seq=seq
    )
    ledger.purge_note(connection, note.note_id, at=now)
    index.remove_note(connection, note.note_id)
    return seq, made


def _owe_scrub(connection: Connection, now_is: Current, *, event_seq: int, now: datetime) -> None:
    """Write down that pages, journal and vectors are still to be cleaned."""
    ledger.add_operation(
        connection,
        vault=now_is.note.vault,
        kind=SCRUB,
        path="",
        note_id=now_is.note.note_id,
        version=now_is.note.version,
        before_hash="",
        after_hash="",
        event_seq=event_seq,
        at=now,
    )
