"""One reviewer's decision as one transaction: texts that stand, notes that go, claims rejected."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection

from memsvc.clock import stamp
from memsvc.index import writer as index
from memsvc.ledger import writer as ledger
from memsvc.ledger.records import NoteRecord, VaultRecord, VersionRecord
from memsvc.model.events import NewEvent
from memsvc.model.vocabulary import Action, Status, Trust
from memsvc.scope.proof import WriteScope
from memsvc.scope.vault_policy import VaultPolicy
from memsvc.service.gateway import checks, drafts
from memsvc.service.gateway.correct import Change, commit_rewrite, prepare_rewrite
from memsvc.service.gateway.files.relink import relink
from memsvc.service.gateway.forget import trash_name
from memsvc.service.gateway.indexing import document_of, index_earlier, index_version
from memsvc.service.gateway.leaving import leave
from memsvc.service.gateway.operations import Staging
from memsvc.service.gateway.parts import Parts
from memsvc.service.gateway.review.decision import Decision
from memsvc.service.gateway.save import commit_superseded, supersede
from memsvc.service.gateway.standing import Current, make_tombstones
from memsvc.service.gateway.undo.lifting import lift_one

__all__ = ["Turn"]

Step = Callable[[Connection, int], None]
"""A part of the decision's transaction; it is told the number of the decision's event."""


@dataclass(slots=True)
class Turn:
    """Collects what a decision does; `commit` does all of it, with one event, or nothing."""

    parts: Parts
    vault: VaultRecord
    root: Path
    scope: WriteScope
    now: datetime
    reason: str
    staging: Staging = field(init=False)
    steps: list[Step] = field(default_factory=list)
    stated: list[checks.Statement] = field(default_factory=list)
    superseded: list[str] = field(default_factory=list)
    rejected: int = 0

    def __post_init__(self) -> None:
        self.staging = Staging(self.root, self.vault)

    def at(self, note: NoteRecord, version: VersionRecord) -> Current:
        """A note as the rewriting functions want it."""
        return Current(self.scope, self.vault, self.root, note, version)

    def check(self, title: str, body: str) -> None:
        """Hold a text that is to stand against the vault's policy. Raises the Refused family."""
        checks.check_note_text(title, body, VaultPolicy.of(self.vault.policy))
        self.stated += checks.statements(title, body)

    def accept(self, note: NoteRecord, version: VersionRecord) -> None:
        """A text stands as it is, its file untouched."""
        self.check(version.title, version.body)

        def step(connection: Connection, _: int) -> None:
            values = {"status": Status.ACTIVE.value, "trust": Trust.VERIFIED.value}
            ledger.end_version(connection, note.note_id, version.version, **values)
            at = stamp(self.now)
            ledger.update_note(
                connection, note.note_id, status=Status.ACTIVE.value, withheld="", updated_at=at
            )
            index_earlier(connection, note, replace(note, status=Status.ACTIVE, withheld=""))
            index.update_state(
                connection,
                note.note_id,
                version.version,
                status=Status.ACTIVE,
                trust=Trust.VERIFIED,
            )
            ledger.close_reviews(connection, note.note_id, at=self.now, state="edited")
            relink(connection, self.vault, [note.note_id])

        self.steps.append(step)

    def stand(self, note: NoteRecord, version: VersionRecord, change: Change) -> None:
        """A note gets a new text, or new frontmatter, as `change` says."""
        self.check(change.title, change.body)
        ready = prepare_rewrite(self.parts, self.at(note, version), change, self.now, self.staging)

        def step(connection: Connection, seq: int) -> None:
            own = change.action in (Action.APPROVE, Action.REJECT)
            _, made = commit_rewrite(connection, self.parts, ready, event_seq=seq if own else 0)
            self.rejected += made
            ledger.close_reviews(connection, note.note_id, at=self.now, state="edited")
            relink(connection, self.vault, [note.note_id])

        self.steps.append(step)

    def retire(
        self,
        note: NoteRecord,
        version: VersionRecord,
        rejected: Sequence[checks.Statement],
        *,
        status: Status,
        why: str,
    ) -> None:
        """A note leaves recall, its file goes to the trash, and some claims are rejected."""
        target = ""
        if (self.root / note.path).exists():
            target = trash_name(self.root, note.path)
            self.staging.trash(
                note.path,
                target,
                note_id=note.note_id,
                version=version.version,
                content_hash=version.content_hash,
            )

        def step(connection: Connection, _: int) -> None:
            leave(
                connection,
                note,
                now=self.now,
                status=status,
                end_mode=why,
                withheld=why,
                state=why,
                trash_path=target,
            )

        self.reject(note, version, rejected)
        self.steps.append(step)

    def reject(
        self, note: NoteRecord, version: VersionRecord, rejected: Sequence[checks.Statement]
    ) -> None:
        """Claims of a note are rejected."""

        def step(connection: Connection, seq: int) -> None:
            self.rejected += make_tombstones(
                connection,
                self.parts,
                self.at(note, version),
                list(rejected),
                reason=self.reason,
                event_seq=seq,
            )

        self.steps.append(step)

    def replace_by(
        self, old: NoteRecord, version: VersionRecord, *, successor: NoteRecord, end: str
    ) -> None:
        """An active note is superseded by the one that now stands."""
        change = supersede(self.parts, self.scope, old, version, path=successor.path, end=end)
        change.stage(self.staging)
        self.superseded.append(str(old.note_id))

        def step(connection: Connection, _: int) -> None:
            commit_superseded(
                connection, self.parts, self.scope, change, successor=successor.note_id
            )

        self.steps.append(step)

    def found(self, note: NoteRecord, version: VersionRecord) -> None:
        """A text that would be lost becomes a note of its own."""
        self.check(version.title, version.body)
        self.staging.write(
            note.path,
            version.content.encode(),
            note_id=note.note_id,
            version=version.version,
            before_hash="",
        )

        def step(connection: Connection, seq: int) -> None:
            ledger.add_note(connection, note)
            ledger.add_version(connection, drafts.with_event(version, seq))
            index_version(connection, version, note, document=document_of(version))

        self.steps.append(step)

    def commit(self, decision: Decision, event: NewEvent, *, lift: bool) -> tuple[int, list[str]]:
        """Do it all: the event's number, and paths where a person's edit stood in the way.

        Raises RejectedClaim when a text that is to stand was rejected before and `lift` is not set;
        InvalidInput when somebody else decided meanwhile.
        """
        try:
            with self.parts.database.write() as connection, index.together(connection):
                seq = ledger.add_event(connection, event, at=self.now)
                decision.close(connection, event_seq=seq, at=self.now)
                self._clear(connection, event, lift=lift)
                for step in self.steps:
                    step(connection, seq)
                self.staging.record(connection, event_seq=seq, parts=self.parts)
        except BaseException:
            self.staging.discard()
            raise
        return seq, self.staging.publish(self.parts)

    def _clear(self, connection: Connection, event: NewEvent, *, lift: bool) -> None:
        """Look for rejected claims among what is to stand; lift those that the reviewer allows."""
        met = checks.find_rejected(connection, self.parts.keys(), event.scope, self.stated)
        if not lift:
            checks.refuse_rejected(met)
        for one in {record.tombstone_id: record for record in met}.values():
            lift_one(
                connection,
                event.caller,
                tombstone_id=one.tombstone_id,
                scope=event.scope,
                note_id=one.note_id,
                version=one.version,
                reason=self.reason,
                at=self.now,
            )
