"""import: foreign records written one by one, each with its own event, many in one transaction.

A record is judged under the vault's lock, staged, and committed with others; one that is refused or
is in conflict with what is here costs nothing but itself. Every record is whole or absent: a run
that was cut off is repeated, and finds what it has done already.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sqlalchemy import Connection

from memsvc.clock import stamp
from memsvc.database import in_batches
from memsvc.errors import MemsvcError, OverBudget, StorageFailed, VaultOffline
from memsvc.index import writer as index
from memsvc.ledger import registry, tombstones
from memsvc.ledger import writer as ledger
from memsvc.ledger.records import NoteRecord, VaultRecord, VersionRecord
from memsvc.model.events import NewEvent, facts_of
from memsvc.model.exchange import Imported, ImportOutcome, ImportRecord, Outline, Planned
from memsvc.model.replies import Json
from memsvc.model.vocabulary import Action, NoteId, Outcome
from memsvc.notes.paths import stem_of
from memsvc.scope.proof import WriteScope
from memsvc.service.gateway import checks, drafts, limits
from memsvc.service.gateway.exchange import arriving
from memsvc.service.gateway.exchange.arriving import Prepared
from memsvc.service.gateway.exchange.judging import Judge, Verdict
from memsvc.service.gateway.files.layout import folder_of
from memsvc.service.gateway.files.relink import resolve_waiting
from memsvc.service.gateway.files.scan import Scanner
from memsvc.service.gateway.indexing import index_version
from memsvc.service.gateway.operations import KEPT, Staging, settle
from memsvc.service.gateway.parts import Parts, root_of
from memsvc.service.gateway.review.holding import REVIEW, Hold, queue
from memsvc.service.gateway.save import Replaced, commit_superseded, supersede

__all__ = ["ImportRun"]

_FATAL = (StorageFailed, VaultOffline)
_RELINKED_AT_ONCE = 100


@dataclass(slots=True)
class _Ready:
    """A record that is staged: what its transaction writes."""

    verdict: Verdict
    note: NoteRecord
    version: VersionRecord
    changes: list[Replaced]
    staging: Staging
    notices: list[str] = field(default_factory=list)

    @property
    def place(self) -> str:
        return self.verdict.prepared.record.place


class ImportRun:
    """One import into one scope. `plan` names records, `take` writes them, `finish` closes the run.

    With `dry_run` nothing is written and no event made. With `propose` a record whose note has
    another text here waits for a reviewer as a correction; without, it is only told.
    """

    def __init__(
        self,
        parts: Parts,
        scanner: Scanner,
        scope: WriteScope,
        *,
        form: str,
        dry_run: bool,
        propose: bool,
    ) -> None:
        self._parts = parts
        self._scanner = scanner
        self._scope = scope
        self._form = form
        self._dry_run = dry_run
        self._rules = limits.rules_of(parts, scope.scope.vault)
        self._judge = Judge(parts, scope, self._rules, propose=propose)
        self.run_id = parts.new_id(parts.clock.now())

    @property
    def folder(self) -> str:
        """The folder of the vault in which the scope's notes are."""
        with self._parts.database.read() as connection:
            vault, _ = root_of(connection, self._scope.scope.vault)
        return folder_of(vault, self._scope.scope.project)

    @property
    def label(self) -> str:
        """The scope that is written to."""
        return str(self._scope.scope)

    # -- planning --------------------------------------------------------------------------

    def plan(self, outlines: Sequence[Outline]) -> list[Planned]:
        """Under which id and where each record is, or would be, here. Nothing is written."""
        with self._parts.database.read() as connection:
            vault, root = root_of(connection, self._scope.scope.vault)
            return [self._planned(connection, vault, root, one) for one in outlines]

    def _planned(
        self, connection: Connection, vault: VaultRecord, root: Path, outline: Outline
    ) -> Planned:
        note_id, note = arriving.identity(connection, self._scope.scope, self._form, outline)
        if note is not None and not note.gone:
            return Planned(id=note_id, path=note.path, here=True)
        path = arriving.legal_path(root, vault, self._scope.scope, outline.path, outline.title)
        free = self._judge.reserve(connection, vault, root, path)
        return Planned(id=note_id, path=free, here=False)

    # -- writing ---------------------------------------------------------------------------

    def take(self, records: Sequence[ImportRecord]) -> list[Imported]:
        """Write these records; what became of each, in order.

        Raises StorageFailed and VaultOffline when nothing more can be written: the records before
        are done, these are not. A budget that is used up is told of one record, the last of the
        answer.
        """
        person = self._scope.caller.principal.is_person
        if self._rules.write_budget and not person:
            return self._take_each(records)
        return [done for some in _apart(records) for done in self._take_some(some)]

    def _take_each(self, records: Sequence[ImportRecord]) -> list[Imported]:
        """One transaction each, so that every write counts before the next is weighed."""
        done: list[Imported] = []
        for one in records:
            done += self._take_some([one])
            if done[-1].code == OverBudget.code:
                break
        return done

    def _take_some(self, records: Sequence[ImportRecord]) -> list[Imported]:
        with self._parts.database.read() as connection:
            guarded = tombstones.has_tombstones(connection, self._scope.scope)
        first = [self._prepared(one, guarded=guarded) for one in records]
        with self._parts.locked(self._scope.scope.vault):
            with self._parts.database.read() as connection:
                vault, root = root_of(connection, self._scope.scope.vault)
            settle(self._parts, vault)
            self._scanner.require_folder(vault)
            self._refresh(vault, root, records)
            judged = self._judged(first)
            if self._dry_run:
                return [one.shown() if isinstance(one, Verdict) else one for one in judged]
            return self._write(vault, root, judged)

    def _prepared(self, record: ImportRecord, *, guarded: bool) -> "Prepared | Imported":
        try:
            return arriving.prepare(self._parts, self._scope, record, self._rules, guarded=guarded)
        except MemsvcError as error:
            return _failed(record, error)

    def _refresh(self, vault: VaultRecord, root: Path, records: Sequence[ImportRecord]) -> None:
        """Take in what people did meanwhile to the files that are about to be compared."""
        ids = [one for record in records for one in (record.id, *(r.id for r in record.replaces))]
        with self._parts.database.read() as connection:
            notes = [registry.find_note(connection, one) for one in dict.fromkeys(ids)]
        paths = [note.path for note in notes if note and not note.gone and note.vault == vault.name]
        if paths:
            self._scanner.refresh_locked(vault, root, paths)

    def _judged(self, first: "Sequence[Prepared | Imported]") -> "list[Verdict | Imported]":
        found: list[Verdict | Imported] = []
        with self._parts.database.read() as connection:
            for one in first:
                if isinstance(one, Imported):
                    found.append(one)
                    continue
                try:
                    if not self._dry_run:
                        limits.check_budget(
                            connection,
                            self._parts,
                            self._rules,
                            self._scope.caller,
                            self._scope.scope.vault,
                        )
                    found.append(self._judge.judge(connection, one))
                except MemsvcError as error:
                    found.append(_failed(one.record, error))
        return found

    def _write(
        self, vault: VaultRecord, root: Path, judged: "Sequence[Verdict | Imported]"
    ) -> list[Imported]:
        ready: list[_Ready | Imported] = []
        done: list[Imported] = []
        whole = Staging(root, vault)
        try:
            ready.extend(self._staged(vault, root, one) for one in judged)
            with self._parts.database.write() as connection, index.together(connection):
                done.extend(self._commit(connection, each, whole) for each in ready)
        except BaseException:
            for each in ready:
                if isinstance(each, _Ready):
                    each.staging.discard()
            raise
        conflicts = set(whole.publish(self._parts))
        return [replace(one, reason=f"a {KEPT}") if one.path in conflicts else one for one in done]

    def _staged(
        self, vault: VaultRecord, root: Path, one: "Verdict | Imported"
    ) -> "_Ready | Imported":
        """Everything ready for the transaction. A record that cannot be kept is refused; a disk
        that takes nothing more ends the run.
        """
        if isinstance(one, Imported):
            return one
        if one.outcome not in (ImportOutcome.CREATED, ImportOutcome.PROPOSED):
            return one.shown()
        staging = Staging(root, vault)
        try:
            return self._ready(one, staging)
        except _FATAL:
            staging.discard()
            raise
        except MemsvcError as error:
            staging.discard()
            return _failed(one.prepared.record, error)
        except BaseException:
            staging.discard()
            raise

    def _ready(self, verdict: Verdict, staging: Staging) -> _Ready:
        now, scope, ready = self._parts.clock.now(), self._scope, verdict.prepared
        record = ready.record
        number = verdict.revives.version + 1 if verdict.revives else 1
        holds = [*verdict.replaced, *verdict.orphaned]
        names = [f"[[{stem_of(note.path)}]]" for note, _ in holds]
        content, kept = arriving.content_for(
            ready,
            scope,
            path=verdict.path,
            status=verdict.status,
            supersedes=[] if verdict.hold else names,
            version=number,
            now=now,
        )
        valid_from = record.valid_from or ready.document.valid_from
        version = drafts.version_of(
            content,
            caller=scope.caller,
            scope=scope.scope,
            note_id=verdict.id,
            version=number,
            path=verdict.path,
            mode="import",
            now=now,
            valid_from=valid_from,
            valid_to=record.valid_to or ready.document.valid_to,
            reason=_text(ready.document.values.get("reason")),
            source=ready.document.source or record.source,
            status=verdict.status,
        )
        end = valid_from or drafts.whole_second(now)
        changes = (
            []
            if verdict.hold
            else [
                supersede(self._parts, scope, note, old, path=verdict.path, end=end)
                for note, old in verdict.replaced
            ]
        )
        staging.write(
            verdict.path,
            content.encode(),
            note_id=NoteId(verdict.id),
            version=number,
            before_hash="",
        )
        for change in changes:
            change.stage(staging)
        notices = [one for one in (verdict.reason, ready.left_out, kept) if one]
        note = NoteRecord(
            note_id=NoteId(verdict.id),
            vault=scope.scope.vault,
            project=scope.scope.project,
            path=verdict.path,
            status=verdict.status,
            version=number,
            withheld=REVIEW if verdict.hold else "",
            created_at=arriving.born(record, now),
            updated_at=stamp(now),
        )
        return _Ready(verdict, note, version, changes, staging, notices)

    def _commit(
        self, connection: Connection, each: "_Ready | Imported", whole: Staging
    ) -> Imported:
        """One record in the transaction. Refusals come before the first write of theirs."""
        if isinstance(each, Imported):
            self._tell(connection, each)
            return each
        ready = each.verdict.prepared
        if ready.texts is None and tombstones.has_tombstones(connection, self._scope.scope):
            ready = replace(ready, texts=arriving.stated_by(ready.document, each.version.source))
        try:
            if ready.texts:
                met = checks.find_rejected(
                    connection, self._parts.keys(), self._scope.scope, ready.texts
                )
                checks.refuse_rejected(met)
        except MemsvcError as error:
            refused = _failed(ready.record, error)
            self._tell(connection, refused)
            each.staging.discard()
            return refused
        done = self._commit_note(connection, each)
        whole.pending += each.staging.pending
        return done

    def _commit_note(self, connection: Connection, each: _Ready) -> Imported:
        note, verdict = each.note, each.verdict
        seq = self._event(
            connection,
            Outcome.DONE,
            note_id=note.note_id,
            version=note.version,
            after_hash=each.version.content_hash,
            detail={
                "became": verdict.outcome.value,
                "supersedes": [c.note.note_id for c in each.changes],
            },
        )
        if verdict.revives is None:
            ledger.add_note(connection, note)
        else:
            ledger.update_note(
                connection,
                note.note_id,
                path=note.path,
                status=note.status.value,
                version=note.version,
                withheld=note.withheld,
                superseded_by="",
                updated_at=note.updated_at,
            )
        ledger.add_version(connection, drafts.with_event(each.version, seq))
        index_version(
            connection,
            each.version,
            note,
            vectors=verdict.prepared.vectors,
            model_id=verdict.prepared.model_id,
        )
        for change in each.changes:
            commit_superseded(connection, self._parts, self._scope, change, successor=note.note_id)
        for old, _ in [] if verdict.hold else verdict.orphaned:
            ledger.update_note(connection, old.note_id, superseded_by=note.note_id)
            index.update_state(connection, old.note_id, old.version, superseded_by=note.note_id)
        waits = self._queue(connection, verdict.hold, note, seq) if verdict.hold else ""
        each.staging.record(connection, event_seq=seq, parts=self._parts)
        reasons = [*each.notices, waits] if waits else each.notices
        return Imported(
            place=each.place,
            outcome=verdict.outcome,
            id=note.note_id,
            path=note.path,
            reason="; ".join(reasons),
        )

    def _queue(self, connection: Connection, hold: Hold, note: NoteRecord, seq: int) -> str:
        by = self._scope.caller.principal
        item = queue(connection, self._parts, note, hold, event_seq=seq, by=by)
        return hold.notice(item)

    def _tell(self, connection: Connection, one: Imported) -> None:
        """The event of a record that was not written; what is here unchanged needs none."""
        if one.outcome in (ImportOutcome.UNCHANGED, ImportOutcome.SKIPPED):
            return
        failed = one.outcome is ImportOutcome.FAILED
        known = registry.find_note(connection, one.id) if one.id else None
        own = known is not None and known.scope == self._scope.scope
        self._event(
            connection,
            Outcome.FAILED if failed else Outcome.REFUSED,
            note_id=one.id if own else "",
            reason=one.code,
            detail={"became": one.outcome.value, **one.facts},
        )

    def _event(
        self,
        connection: Connection,
        outcome: Outcome,
        *,
        note_id: str = "",
        version: int = 0,
        after_hash: str = "",
        reason: str = "",
        detail: Mapping[str, Json],
    ) -> int:
        return ledger.add_event(
            connection,
            NewEvent(
                action=Action.IMPORT,
                outcome=outcome,
                caller=self._scope.caller,
                scope=self._scope.scope,
                note_id=note_id,
                version=version,
                reason=reason,
                after_hash=after_hash,
                detail={"run": self.run_id, "format": self._form, **detail},
            ),
            at=self._parts.clock.now(),
        )

    # -- the end ---------------------------------------------------------------------------

    def turn_away(self, bad: Sequence[Imported]) -> None:
        """Put on record what could not even be read as a record."""
        if bad and not self._dry_run:
            with self._parts.database.write() as connection:
                for one in bad:
                    self._tell(connection, one)

    def finish(self, counts: Mapping[str, int]) -> int:
        """Give links their targets that came later, and put the run on record; its event's number."""
        if self._dry_run:
            return 0
        vault, project = self._scope.scope.vault, self._scope.scope.project
        with self._parts.locked(vault):
            with self._parts.database.read() as connection:
                waiting = registry.unresolved(connection, vault)
            # a project's notes link into their project and `shared`
            near = [one for one in waiting if project in ("shared", one.project)]
            for some in in_batches(near, _RELINKED_AT_ONCE):
                with self._parts.database.write() as connection:
                    resolve_waiting(connection, some)
        with self._parts.database.write() as connection:
            return self._event(
                connection, Outcome.DONE, detail={"ended": True, "records": dict(counts)}
            )


def _apart(records: Sequence[ImportRecord]) -> list[list[ImportRecord]]:
    """The records in stretches, none of which replaces another one of its own."""
    stretches: list[list[ImportRecord]] = [[]]
    for record in records:
        ids = {one.id for one in stretches[-1]}
        if any(one.id in ids for one in record.replaces):
            stretches.append([])
        stretches[-1].append(record)
    return [one for one in stretches if one]


def _failed(record: ImportRecord, error: MemsvcError) -> Imported:
    if isinstance(error, _FATAL):
        raise error
    return Imported(
        place=record.place,
        outcome=ImportOutcome.REFUSED,
        id=record.id,
        code=error.code,
        reason=error.message,
        facts=facts_of(error),
    )


def _text(value: object) -> str:
    return value[: checks.MAX_LINE] if isinstance(value, str) else ""
