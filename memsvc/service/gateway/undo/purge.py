"""purge: every trace of a note that memsvc can reach is destroyed; ids, hashes and the audit stay."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from memsvc.index import rejections
from memsvc.index import writer as index
from memsvc.ledger import registry, review_items
from memsvc.ledger import writer as ledger
from memsvc.ledger.records import VersionRecord
from memsvc.model.replies import ForgetReply, Json
from memsvc.model.requests import ForgetRequest
from memsvc.model.vocabulary import Action, Status
from memsvc.service import access
from memsvc.service.gateway import checks
from memsvc.service.gateway.events import note_event
from memsvc.service.gateway.operations import KEPT, Staging
from memsvc.service.gateway.parts import First, Parts
from memsvc.service.gateway.standing import Current, make_tombstones, what_is_rejected
from memsvc.service.gateway.undo.copies import Copies, find_copies, history_keeps, telling_lines
from memsvc.service.gateway.undo.erasing import SCRUB, scrub

__all__ = ["purge"]

_MOST_NAMED = 20
_ALWAYS = (
    "backups, exports and copies made before, also those of a sync or of another machine",
    "what the file system keeps of blocks that are free now, and its snapshots",
)
_WAITING = (
    "the files are gone and nothing shows the text, but another process still uses old pages of the "
    "database, or the disk refused: the next access finishes this"
)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What of one note is destroyed: all versions, what they claim, and the files that hold them.

    `quoting` are the reasons on record that quote it, `again` the notes that wait for a review as they
    probably say the same.
    """

    now_is: Current
    versions: list[VersionRecord]
    claims: list[checks.Statement]
    copies: Copies
    quoting: list[str]
    again: list[str]


def purge(
    parts: Parts, now_is: Current, request: ForgetRequest, *, first: First | None = None
) -> tuple[ForgetReply, list[checks.Statement]]:
    """Destroy a note, living or retracted; the reply, and the claims that stay rejected.

    What was proposed as its new text and does not stand by itself goes with it. The caller holds the
    vault's lock and has proven the reviewer role. One transaction, begun with `first`, empties the
    rows and owes the rest; files follow, then what deleted rows left in pages, journal and
    vectors. A purge that is cut off is finished at the next access. Raises StorageFailed.
    """
    note = now_is.note
    doomed = [now_is, *_proposed(parts, now_is)]
    plans = [_plan(parts, one, doomed) for one in doomed]
    now = parts.clock.now()
    staging = Staging(now_is.root, now_is.vault)
    erased: dict[str, str] = {}
    for plan in plans:
        owner = plan.now_is.note
        for path, digest in plan.copies.erase:
            if erased.setdefault(path, owner.note_id) == owner.note_id:
                staging.erase(
                    path, note_id=owner.note_id, version=owner.version, content_hash=digest
                )
    with parts.database.write() as connection:
        if first is not None:
            first(connection)
        done = [_commit(connection, parts, plan, request, now) for plan in plans]
        staging.record(connection, event_seq=done[0][0], parts=parts)
        for plan, (seq, _) in zip(plans, done, strict=True):
            _owe_scrub(connection, plan.now_is, event_seq=seq, now=now)
    conflicts = staging.publish(parts)
    with parts.database.read() as connection:
        owed = registry.operations(connection, note.vault)
    clean = scrub(parts, [one for one in owed if one.kind == SCRUB])
    notices = [f"a {KEPT}"] if conflicts else []
    notices += [] if clean else [_WAITING]
    reply = ForgetReply(
        outcome="purged",
        id=note.note_id,
        version=note.version,
        scope=str(note.scope),
        event=done[0][0],
        tombstones=sum(made for _, made in done),
        erased=len(erased) - len(conflicts),
        also_purged=[str(one.note.note_id) for one in doomed[1:]],
        out_of_reach=_beyond(now_is, plans),
        notice="; ".join(notices),
    )
    return reply, [claim for plan in plans for claim in plan.claims]


def _proposed(parts: Parts, now_is: Current) -> list[Current]:
    """The notes that were to be the note's new text, waiting, applied or rejected: they quote it.

    One that was approved as a note of its own stays.
    """
    found = []
    with parts.database.read() as connection:
        for note_id in review_items.corrections_of(connection, now_is.note.note_id):
            note = registry.find_note(connection, note_id)
            version = registry.find_version(connection, note_id, note.version) if note else None
            if (
                note is not None
                and version is not None
                and note.scope == now_is.note.scope
                and note.status not in (Status.ACTIVE, Status.SUPERSEDED)
            ):
                found.append(replace(now_is, note=note, version=version))
    return found


def _plan(parts: Parts, now_is: Current, doomed: Sequence[Current]) -> _Plan:
    note = now_is.note
    gone = {one.note.note_id for one in doomed}
    with parts.database.read() as connection:
        versions = registry.versions_of(connection, note.note_id)
        scope = access.around(connection, now_is.scope.caller, note.scope)
        living = {
            one.path: one.scope in scope
            for one in registry.notes_of(connection, note.vault)
            if one.note_id not in gone
        }
        reasons = registry.reasons_of(connection, note.note_id)
        again = review_items.restatements_of(connection, note.note_id)
    lines = telling_lines(note, versions)
    copies = find_copies(now_is.root, note, versions, lines=lines, living=living)
    claims: dict[str, checks.Statement] = {}
    for version in reversed(versions):
        if version.content:
            for one in what_is_rejected(version):
                claims.setdefault(one.normal, one)
    quoting = [reason for reason in reasons if any(line in reason for line in lines)]
    return _Plan(now_is, versions, list(claims.values()), copies, quoting, again)


def _beyond(now_is: Current, plans: Sequence[_Plan]) -> list[str]:
    """Where the texts may still be, in words for the person who asked."""
    beyond = list(_ALWAYS)
    if history_keeps(now_is.root):
        beyond.insert(0, "the history of the git repository that the vault is in")
    erased = {path for plan in plans for path, _ in plan.copies.erase}
    notes = {path for plan in plans for path in plan.copies.notes}
    files = {path for plan in plans for path in plan.copies.files}
    beyond += _named("another note that names or quotes it", sorted(notes))
    beyond += _named(
        "a file of the vault, no note, that names or quotes it", sorted(files - erased)
    )
    again = {one for plan in plans for one in plan.again}
    again -= {str(plan.now_is.note.note_id) for plan in plans}
    beyond += _named("a note that waits for a review, as it seems to say the same", sorted(again))
    quoting = {reason for plan in plans for reason in plan.quoting}
    if quoting:
        beyond.append(f"reasons in the audit that quote it: {len(quoting)}; events never change")
    return beyond


def _named(what: str, paths: Sequence[str]) -> list[str]:
    more = len(paths) - _MOST_NAMED
    named = [f"{what}: {path}" for path in paths[:_MOST_NAMED]]
    return [*named, f"{more} more of these"] if more > 0 else named


def _commit(
    connection: Connection, parts: Parts, plan: _Plan, request: ForgetRequest, now: datetime
) -> tuple[int, int]:
    """Everything that the database does about one note: the event and the new tombstones."""
    now_is = plan.now_is
    note, caller = now_is.note, now_is.scope.caller
    detail: dict[str, Json] = {
        "versions": len(plan.versions),
        "claims": len(plan.claims),
        "files": len(plan.copies.erase),
        "confirmed": caller.confirmed,
    }
    if note.note_id != request.id.strip().upper():
        detail["with"] = request.id.strip().upper()
    seq = ledger.add_event(
        connection,
        note_event(
            Action.PURGE, caller, note, before=now_is.version, reason=request.reason, detail=detail
        ),
        at=now,
    )
    made = make_tombstones(
        connection, parts, now_is, plan.claims, reason=request.reason, event_seq=seq
    )
    ledger.forget_reasons(connection, note.note_id, plan.quoting)
    ledger.purge_note(connection, note.note_id, at=now)
    index.remove_note(connection, note.note_id)
    rejections.forget(connection, [note.note_id])
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
