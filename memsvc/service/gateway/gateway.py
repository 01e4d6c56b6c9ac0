"""The gateway itself: each verb, and the record of whatever it refuses or fails to do."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memsvc.errors import (
    Denied,
    InvalidInput,
    MemsvcError,
    NotFound,
    Refused,
    StaleVersion,
    StorageFailed,
)
from memsvc.ledger import registry
from memsvc.ledger import writer as ledger
from memsvc.ledger.records import VaultRecord
from memsvc.logs import logger
from memsvc.model.events import NewEvent, facts_of
from memsvc.model.identity import Caller, Scope
from memsvc.model.progress import Progress
from memsvc.model.replies import CorrectReply, ForgetReply, Json, RestoreReply, SaveReply
from memsvc.model.requests import (
    CorrectRequest,
    DecisionRequest,
    ForgetRequest,
    RestoreRequest,
    SaveRequest,
)
from memsvc.model.vocabulary import Action, Outcome, VaultName
from memsvc.service import access
from memsvc.service.gateway import checks, rebuild, vaults
from memsvc.service.gateway.correct import correct
from memsvc.service.gateway.files.scan import Scanner, ScanReport
from memsvc.service.gateway.forget import forget
from memsvc.service.gateway.guard import restated
from memsvc.service.gateway.parts import Parts
from memsvc.service.gateway.save import save
from memsvc.service.gateway.undo import lifting
from memsvc.service.gateway.undo.restore import restore

if TYPE_CHECKING:
    from memsvc.service.gateway.backup.backing import Backing
    from memsvc.service.gateway.backup.merging import Merging
    from memsvc.service.gateway.exchange.importing import ImportRun

__all__ = ["Gateway"]

_REFUSALS = (Refused, InvalidInput, Denied, NotFound, StaleVersion)
_UNEXPECTED = "internal"

_log = logger("memsvc.gateway")


class Gateway:
    """The one writer of ledger and index; every door ends here."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self.scanner = Scanner(parts)

    def save(self, caller: Caller, request: SaveRequest) -> SaveReply:
        """A new note; see `memsvc.service.gateway.save`."""
        with self.on_record(caller, Action.SAVE):
            with self._parts.database.read() as connection:
                scope = access.writes(
                    connection, caller, vault=request.vault, project=request.project
                )
            return save(self._parts, self.scanner, scope, request)

    def correct(self, caller: Caller, request: CorrectRequest) -> CorrectReply:
        """A note's text replaced; see `memsvc.service.gateway.correct`."""
        with self.on_record(caller, Action.CORRECT, note_id=request.id):
            return correct(self._parts, self.scanner, caller, request)

    def forget(
        self, caller: Caller, request: ForgetRequest
    ) -> tuple[ForgetReply, list[checks.Statement]]:
        """A note or passage retracted or purged, with the claims it made; see `memsvc.service.gateway.forget`."""
        with self.on_record(caller, Action.FORGET, note_id=request.id):
            return forget(self._parts, self.scanner, caller, request)

    def restore(self, caller: Caller, request: RestoreRequest) -> RestoreReply:
        """A retracted or corrected note brought back; see `memsvc.service.gateway.undo.restore`."""
        with self.on_record(caller, Action.RESTORE, note_id=request.id):
            return restore(self._parts, self.scanner, caller, request)

    @contextmanager
    def backing_up(self, caller: Caller) -> "Iterator[Backing]":
        """A backup in the making, its failure on record; see `memsvc.service.gateway.backup.backing`."""
        from memsvc.service.gateway.backup.backing import Backing  # rare, and pulls the anchors in

        with self.on_record(caller):
            yield Backing(self._parts, self.scanner, caller)

    @contextmanager
    def merging(self, caller: Caller) -> "Iterator[Merging]":
        """A backup merged into its living home, its failure on record; see `merging`."""
        from memsvc.service.gateway.backup.merging import Merging  # see backing_up

        with self.on_record(caller, Action.RESTORE):
            yield Merging(self._parts, self.scanner, caller, self.bring_back)

    def bring_back(self, caller: Caller, request: RestoreRequest) -> RestoreReply:
        """A note whose file was deleted, brought back without lifting any rejection."""
        with self.on_record(caller, Action.RESTORE, note_id=request.id):
            return restore(self._parts, self.scanner, caller, request, lift=False)

    def settle_in(
        self,
        caller: Caller,
        *,
        folders: Mapping[str, str],
        detail: Mapping[str, Json],
        reason: str,
    ) -> int:
        """A home that was put back from a backup, begun anew; see `settling`."""
        from memsvc.service.gateway.backup.settling import settle_in  # see backing_up

        return settle_in(self._parts, caller, folders=folders, detail=detail, reason=reason)

    def lift(self, caller: Caller, *, tombstone_id: str, reason: str) -> dict[str, str]:
        """A rejected claim allowed again, by a reviewer."""
        with self.on_record(caller, Action.LIFT):
            return lifting.lift(self._parts, caller, tombstone_id=tombstone_id, reason=reason)

    def decide(
        self, caller: Caller, request: DecisionRequest
    ) -> tuple[dict[str, Json], Sequence[checks.Statement]]:
        """A reviewer's decision carried out, with the claims of what it purged; see
        `memsvc.service.gateway.review.deciding`.
        """
        from memsvc.service.gateway.review.deciding import (  # a person's work: rare
            APPROVING,
            decide,
        )

        action = Action.APPROVE if request.disposition in APPROVING else Action.REJECT
        with self.on_record(caller, action):
            return decide(self._parts, self.scanner, caller, request)

    def rotate_key(self, caller: Caller, *, reason: str) -> dict[str, Json]:
        """A new key for tombstones to come; see `memsvc.service.gateway.keeping`."""
        from memsvc.service.gateway.keeping import rotate_key  # rare, and pulls the anchors in

        with self.on_record(caller):
            checks.check_lines(reason=reason)
            return rotate_key(self._parts, caller, reason=reason)

    def forget_anchor(self, caller: Caller, *, place: str) -> dict[str, Json]:
        """A place no longer looked at for anchors; see `memsvc.service.gateway.keeping`."""
        from memsvc.service.gateway.keeping import forget_anchor  # see rotate_key

        with self.on_record(caller):
            return forget_anchor(self._parts, caller, place=place)

    def begin_import(
        self, caller: Caller, *, project: str, form: str, dry_run: bool, propose: bool
    ) -> "ImportRun":
        """A run that writes foreign records; see `memsvc.service.gateway.exchange.importing`."""
        from memsvc.service.gateway.exchange.importing import ImportRun  # rare

        with self.on_record(caller, Action.IMPORT):
            with self._parts.database.read() as connection:
                scope = access.writes(connection, caller, project=project)
            return ImportRun(
                self._parts, self.scanner, scope, form=form, dry_run=dry_run, propose=propose
            )

    def scan(
        self,
        vault: VaultName,
        *,
        seconds: float | None,
        force: bool = False,
        progress: Progress | None = None,
    ) -> ScanReport:
        """What people changed in the folder, taken in."""
        return self.scanner.scan(vault, seconds=seconds, force=force, progress=progress)

    def get_model(self) -> None:
        """Where anything was rejected the model that compares new texts, loaded or waited for."""
        restated.compares(self._parts)

    def reconsider(self, vault: VaultName) -> None:
        """A vault that went offline is online again if its notes are there."""
        self.scanner.reconsider(vault)

    def refresh(self, vault: VaultName, paths: list[str]) -> int:
        """These files, taken in if they changed."""
        return self.scanner.refresh(vault, paths)

    def reindex(self, caller: Caller, *, progress: Progress | None) -> int:
        """The whole index made anew; how many notes."""
        return rebuild.rebuild(self._parts, caller, progress=progress)

    def mend_index(self, vault: VaultName, note_ids: Sequence[str]) -> None:
        """Notes of which the index says what the ledger does not, indexed anew."""
        from memsvc.service.gateway.mending import mend  # hardly ever

        mend(self._parts, vault, note_ids)

    def fill_index(self, *, progress: Progress | None = None) -> int:
        """Index every vault's notes after the index was found outdated or not whole; how many."""
        return rebuild.fill(self._parts, progress=progress)

    def embed_missing(self, *, limit: int | None, progress: Progress | None = None) -> int:
        """Vectors for chunks that have none; how many. Rejected claims get theirs too."""
        done = rebuild.embed_missing(self._parts, limit=limit, progress=progress)
        restated.remember_all(self._parts, limit=limit)
        return done

    def forget_other_models(self, model_id: str) -> None:
        """Vectors of other models dropped."""
        rebuild.forget_other_models(self._parts, model_id)

    def add_vault(
        self, caller: Caller, *, name: str, path: str, projects: Mapping[str, str], layout: str
    ) -> VaultRecord:
        """A folder registered as a vault, by the person who owns the home."""
        with self.on_record(caller):
            access.require_owner(caller)
            return vaults.add_vault(
                self._parts, caller, name=name, path=path, projects=projects, layout=layout
            )

    def make_first_vault(self, caller: Caller, *, name: str, path: str) -> VaultRecord:
        """A new home's own vault. That another process was first is no refusal to keep on record."""
        return vaults.add_vault(
            self._parts, caller, name=name, path=path, projects={}, layout="folders"
        )

    def remove_vault(self, caller: Caller, *, name: str) -> None:
        """A vault taken out of the register, by the person who owns the home; its files stay."""
        with self.on_record(caller):
            access.require_owner(caller)
            vaults.remove_vault(self._parts, caller, name=name)

    def set_policy(self, caller: Caller, *, name: str, pairs: Sequence[str]) -> dict[str, str]:
        """A vault's policy changed, on record."""
        with self.on_record(caller):
            return vaults.set_policy(self._parts, caller, name=name, pairs=pairs)

    def accept_loss(self, caller: Caller, *, name: str) -> ScanReport:
        """A vault that lost most of its notes, believed by the person who owns the home: the missing
        ones are removed.
        """
        with self.on_record(caller):
            access.require_owner(caller)
            record = vaults.accept_loss(self._parts, caller, name=name, accept=True)
        try:
            return self.scan(record.name, seconds=None, force=True)
        finally:
            vaults.accept_loss(self._parts, caller, name=name, accept=False)

    def note_recalls(self, rows: list[dict[str, Json]]) -> None:
        """Telemetry of reads, written in bulk and unsynced."""
        with self._parts.database.write(durable=False) as connection:
            ledger.add_recalls(connection, rows)

    @contextmanager
    def on_record(
        self, caller: Caller, action: Action = Action.CONFIG, *, note_id: str = ""
    ) -> Iterator[None]:
        """Record a refusal or a failure as an event of its own, then let it through; work that
        changes no note and is not everybody's is `config`.
        """
        try:
            yield
        except MemsvcError as error:
            refused = isinstance(error, _REFUSALS)
            outcome = Outcome.REFUSED if refused else Outcome.FAILED
            self._record(caller, action, outcome, note_id, error.code, {**facts_of(error)})
            raise
        except Exception as error:
            failure: dict[str, Json] = {"error": type(error).__name__}
            self._record(caller, action, Outcome.FAILED, note_id, _UNEXPECTED, failure)
            raise

    def _record(
        self,
        caller: Caller,
        action: Action,
        outcome: Outcome,
        note_id: str,
        code: str,
        detail: dict[str, Json],
    ) -> None:
        """The event is in the caller's own scope: it must not tell what lies outside."""
        try:
            with self._parts.database.write() as connection:
                known = registry.find_note(connection, note_id.strip().upper())
                own = known is not None and known.scope == Scope(caller.vault, caller.project)
                ledger.add_event(
                    connection,
                    NewEvent(
                        action=action,
                        outcome=outcome,
                        caller=caller,
                        scope=Scope(caller.vault, caller.project),
                        note_id=known.note_id if known is not None and own else "",
                        reason=code,
                        detail=detail,
                    ),
                    at=self._parts.clock.now(),
                )
        except StorageFailed:
            _log.error("refusal_not_recorded", action=action.value, code=code)
