"""What becomes of a foreign record: created, unchanged, in conflict, held back or refused."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection

from memsvc.errors import InvalidInput, Refused
from memsvc.ids import derived_ulid
from memsvc.ledger import registry
from memsvc.ledger.records import Gone, NoteRecord, VaultRecord, VersionRecord
from memsvc.model.exchange import Imported, ImportOutcome
from memsvc.model.replies import Json
from memsvc.model.vocabulary import ReviewKind, Status
from memsvc.scope.proof import WriteScope
from memsvc.scope.vault_policy import VaultPolicy
from memsvc.service.gateway import checks
from memsvc.service.gateway.exchange.arriving import Prepared
from memsvc.service.gateway.files.layout import free_beside, occupied
from memsvc.service.gateway.guard import restated
from memsvc.service.gateway.indexing import document_of, is_editable
from memsvc.service.gateway.parts import Parts
from memsvc.service.gateway.review.holding import Hold, hold_of

__all__ = ["Judge", "Verdict"]

Pair = tuple[NoteRecord, VersionRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`replaced` are active notes that this one replaces, `orphaned` superseded ones that wait for
    their successor, `revives` the note of this id whose file was deleted outside.
    """

    prepared: Prepared
    outcome: ImportOutcome
    id: str
    path: str
    reason: str = ""
    status: Status = Status.ACTIVE
    hold: Hold | None = None
    replaced: tuple[Pair, ...] = ()
    orphaned: tuple[Pair, ...] = ()
    revives: NoteRecord | None = None

    def shown(self) -> Imported:
        """The verdict as the report has it."""
        notes = (self.reason, "; ".join(self.hold.reasons) if self.hold else "")
        return Imported(
            place=self.prepared.record.place,
            outcome=self.outcome,
            id=self.id,
            path=self.path,
            code="conflict" if self.outcome is ImportOutcome.CONFLICT else "",
            reason="; ".join(one for one in notes if one),
        )


class Judge:
    """Judges the records of one run, and remembers what it let in."""

    def __init__(
        self, parts: Parts, scope: WriteScope, rules: VaultPolicy, *, propose: bool
    ) -> None:
        self._parts = parts
        self._scope = scope
        self._rules = rules
        self._propose = propose
        self._reserved: set[str] = set()
        self._let_in: dict[str, str] = {}
        """Texts of active records that this run let in, and their ids."""
        self._taken: dict[str, str] = {}
        """Ids that this run let in, and their texts."""

    def reserve(self, connection: Connection, vault: VaultRecord, root: Path, wanted: str) -> str:
        """The wanted path or the next free one like it, kept for one record of this run."""
        path = free_beside(
            wanted,
            lambda one: (
                one.casefold() in self._reserved or occupied(connection, vault.name, root, one)
            ),
        )
        self._reserved.add(path.casefold())
        return path

    def _reserve(self, connection: Connection, wanted: str) -> str:
        """The same in the vault of the run."""
        vault = registry.vault_named(connection, self._scope.scope.vault)
        if vault is None:
            raise InvalidInput("the vault was removed meanwhile", argument="vault")
        return self.reserve(connection, vault, Path(vault.path), wanted)

    def judge(self, connection: Connection, one: Prepared) -> Verdict:
        """What becomes of the record. Raises the Refused family, InvalidInput."""
        record = one.record
        note = registry.find_note(connection, record.id)
        if note is not None and note.scope != self._scope.scope:
            raise InvalidInput(
                "the id was taken by another note meanwhile; repeat the import", argument="id"
            )
        if one.texts:
            met = checks.find_rejected(connection, self._parts.keys(), self._scope.scope, one.texts)
            checks.refuse_rejected(met)
        if record.id in self._taken:
            return self._again(one)
        if note is not None and not note.gone:
            return self._compare(connection, one, note)
        if note is not None and note.withheld != Gone.FILE_DELETED:
            raise Refused(
                f"note {note.note_id} was {note.status} here and does not come back by an import; "
                "a reviewer can restore it",
                argument="id",
            )
        same = self._same_text(connection, one)
        return same or self._new(connection, one, note)

    def _again(self, one: Prepared) -> Verdict:
        """A second record of the same id within the run."""
        same = self._taken[one.record.id] == one.text_key
        return Verdict(
            prepared=one,
            outcome=ImportOutcome.UNCHANGED if same else ImportOutcome.CONFLICT,
            id=one.record.id,
            path=one.record.path,
            reason="" if same else "an earlier record of this import has the same id, another text",
        )

    def _compare(self, connection: Connection, one: Prepared, note: NoteRecord) -> Verdict:
        versions = registry.versions_of(connection, note.note_id)
        current = versions[-1]
        same = {one.text_key, *one.record.same_as}
        if current.text_key in same:
            waits = note.status in (Status.PROPOSED, Status.DISPUTED)
            return Verdict(
                prepared=one,
                outcome=ImportOutcome.UNCHANGED,
                id=note.note_id,
                path=note.path,
                reason="it waits for review here" if waits else "",
            )
        older = [v.version for v in versions if v.text_key in same]
        if older:
            reason = f"the note here went on from this text: it has version {current.version}"
        elif self._propose and note.status is Status.ACTIVE:
            return self._correction(connection, one, note, current)
        else:
            reason = "the note here has another text, which stays"
        return Verdict(
            prepared=one,
            outcome=ImportOutcome.CONFLICT,
            id=note.note_id,
            path=note.path,
            reason=reason,
        )

    def _correction(
        self, connection: Connection, one: Prepared, note: NoteRecord, current: VersionRecord
    ) -> Verdict:
        """The record's text as a proposal to correct the note here; once per text."""
        seed = "\x00".join((str(self._scope.scope), "conflict", note.note_id, one.text_key))
        proposal_id = derived_ulid(seed)
        before = registry.find_note(connection, proposal_id)
        if before is not None:
            waits = before.status is Status.PROPOSED
            return Verdict(
                prepared=one,
                outcome=ImportOutcome.CONFLICT,
                id=note.note_id,
                path=note.path,
                reason=f"this text {'waits for review' if waits else 'was decided'} already, as "
                f"note {proposal_id}",
            )
        detail: dict[str, Json] = {
            "corrects": str(note.note_id),
            "corrects_version": current.version,
            "mode": "changed",
            "effective": "",
            "source": list[Json](one.document.source or one.record.source),
            "can_apply": is_editable(current, document_of(current)),
        }
        why = ("an import has another text for this note",)
        return self._let(
            one,
            Verdict(
                prepared=_under(one, proposal_id),
                outcome=ImportOutcome.PROPOSED,
                id=proposal_id,
                path=self._reserve(connection, note.path),
                status=Status.PROPOSED,
                hold=restated.held(one.again, Hold(ReviewKind.CORRECTION, why, detail)),
                reason=f"note {note.note_id} has another text here",
            ),
        )

    def _same_text(self, connection: Connection, one: Prepared) -> Verdict | None:
        """Whether another note says this already: then there is no second one."""
        if one.record.status is Status.SUPERSEDED:
            return None
        known = self._let_in.get(one.text_key, "")
        path = one.record.path
        if not known:
            note = registry.same_text(connection, self._scope.scope, one.text_key)
            if note is None:
                return None
            known, path = note.note_id, note.path
        return Verdict(
            prepared=one,
            outcome=ImportOutcome.UNCHANGED,
            id=known,
            path=path,
            reason=f"note {known} says the same in the same words",
        )

    def _new(self, connection: Connection, one: Prepared, gone: NoteRecord | None) -> Verdict:
        record = one.record
        hold = restated.held(one.again, hold_of(self._rules, self._scope.caller.principal))
        if record.status in (Status.PROPOSED, Status.DISPUTED) and hold is None:
            why = (f"it was {record.status} where it comes from",)
            hold = Hold(ReviewKind.PROPOSAL, why, {})
        if hold is not None and record.status is Status.SUPERSEDED:
            raise InvalidInput(
                "a replaced note cannot wait for review, as it never becomes current; a person "
                "whose writes need no review may import it",
                argument="status",
            )
        replaced, orphaned, reasons = self._replaced(connection, one)
        if hold is not None and replaced:
            hold = hold.superseding(note for note, _ in replaced)
        return self._let(
            one,
            Verdict(
                prepared=one,
                outcome=ImportOutcome.PROPOSED if hold else ImportOutcome.CREATED,
                id=record.id,
                path=self._free(connection, record.path),
                status=Status.PROPOSED if hold else record.status,
                hold=hold,
                replaced=replaced,
                orphaned=orphaned,
                revives=gone,
                reason="; ".join(reasons),
            ),
        )

    def _free(self, connection: Connection, path: str) -> str:
        """The planned path, or another one if it was taken since it was planned."""
        self._reserved.discard(path.casefold())
        return self._reserve(connection, path)

    def _let(self, one: Prepared, verdict: Verdict) -> Verdict:
        self._taken[one.record.id] = one.text_key
        if verdict.status is Status.ACTIVE:
            self._let_in[one.text_key] = verdict.id
        return verdict

    def _replaced(
        self, connection: Connection, one: Prepared
    ) -> tuple[tuple[Pair, ...], tuple[Pair, ...], Sequence[str]]:
        """Which notes here this one replaces, as it does where it comes from."""
        replaced: list[Pair] = []
        orphaned: list[Pair] = []
        reasons: list[str] = []
        for wanted in one.record.replaces:
            note = registry.find_note(connection, wanted.id)
            if note is None or note.scope != self._scope.scope or note.gone:
                continue
            version = registry.find_version(connection, note.note_id, note.version)
            if version is None:
                continue
            if note.status is Status.SUPERSEDED and not note.superseded_by:
                orphaned.append((note, version))
            elif note.status is Status.ACTIVE and version.text_key == wanted.text_key:
                replaced.append((note, version))
            elif note.status is Status.ACTIVE:
                reasons.append(f"note {note.note_id} has another text here and was not replaced")
        return tuple(replaced), tuple(orphaned), reasons


def _under(one: Prepared, note_id: str) -> Prepared:
    """The same text as a note of another id."""
    return replace(one, record=replace(one.record, id=note_id))
