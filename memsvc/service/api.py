"""The Python API: every verb as one call, for a caller that is bound to its scope.

`memsvc.bootstrap.open_service` makes a `MemoryService`; interfaces hold one and a `Caller`.
"""

import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from memsvc.clock import Clock, stamp
from memsvc.database import Database
from memsvc.embedding.loader import LazyEmbedder
from memsvc.errors import InvalidInput, MemsvcError, ModelUnavailable, NotFound, VaultOffline
from memsvc.index import reader as index
from memsvc.index import schema
from memsvc.ledger import migrate, registry
from memsvc.ledger.records import FileRecord
from memsvc.model.identity import Caller
from memsvc.model.progress import Progress
from memsvc.model.replies import (
    CorrectReply,
    ForgetReply,
    HistoryReply,
    Json,
    NoteView,
    RecallReply,
    SaveReply,
    ScopesReply,
)
from memsvc.model.requests import (
    CorrectRequest,
    ForgetRequest,
    HistoryRequest,
    ReadRequest,
    RecallRequest,
    SaveRequest,
)
from memsvc.model.vocabulary import SaveOutcome, VaultName
from memsvc.notes import disk
from memsvc.scope.proof import ReadScope
from memsvc.service import access
from memsvc.service.audit import events_of
from memsvc.service.background import Background
from memsvc.service.exchange_desk import ExchangeDesk
from memsvc.service.gateway.gateway import Gateway
from memsvc.service.gateway.mending import Answer, not_borne_out
from memsvc.service.home import Home
from memsvc.service.keeping_desk import KeepingDesk
from memsvc.service.model_desk import ModelDesk
from memsvc.service.recall import Recall
from memsvc.service.recall.tuning import DEFAULT, Tuning
from memsvc.service.stewardship import Stewardship
from memsvc.service.views import note_view

__all__ = ["MemoryService"]

SCAN_SECONDS = 0.25
"""How long a read looks for changed files before it answers with what it has."""
FIRST_SCAN_SECONDS = 5.0
EMBED_BATCH = 64
TRIES = 3
FLUSH_AT = 50


class MemoryService(Stewardship, ModelDesk, ExchangeDesk, KeepingDesk):
    """All verbs. Every method takes the caller first; errors are `memsvc.errors`."""

    def __init__(
        self,
        *,
        home: Home,
        database: Database,
        clock: Clock,
        gateway: Gateway,
        recall: Recall,
        embedder: LazyEmbedder,
        default_vault: str,
    ) -> None:
        self._home = home
        self._database = database
        self._clock = clock
        self._gateway = gateway
        self._recall = recall
        self._embedder = embedder
        self._default_vault = default_vault
        self._ready = False
        self._background: Background | None = None
        self._vaults: set[VaultName] = set()
        self._recalls: list[dict[str, Json]] = []

    # -- life ------------------------------------------------------------------------------

    def ensure_ready(self, progress: Progress | None = None) -> None:
        """Make the home, bring its database to this version, and make the first vault; a vault that
        went offline is looked at again.

        `progress` is told of an index that has to be made first. Raises Misconfigured, StorageFailed.
        """
        if self._ready:
            return
        self._home.make()
        migrate.upgrade(self._database)
        with self._database.read() as connection:
            outdated, whole = not schema.current(connection), schema.whole(connection)
        if outdated:
            with self._database.write() as connection:
                schema.ensure(connection)
        with self._database.read() as connection:
            vaults = registry.vaults(connection)
        if self._default_vault and all(one.name != self._default_vault for one in vaults):
            self._make_default()
        if not whole:
            self._gateway.fill_index(progress=progress)
        for vault in vaults:
            if vault.offline_since:
                self._gateway.reconsider(vault.name)
        self._ready = True

    def _make_default(self) -> None:
        """The vault `personal`, inside the home, when nothing else is configured."""
        from memsvc.service.defaults import owner_caller  # only at the very first start

        self._home.personal.mkdir(exist_ok=True, mode=0o700)
        try:
            self._gateway.make_first_vault(
                owner_caller(), name=self._default_vault, path=str(self._home.personal)
            )
        except InvalidInput:
            with self._database.read() as connection:
                if registry.vault_named(connection, self._default_vault) is None:
                    raise  # else another process was first

    def start_background(self) -> None:
        """Load the model and index what waits, while calls are answered."""
        self._embedder.start()
        self._background = Background(self._work)
        self._background.start()

    def _work(self) -> bool:
        for vault in list(self._vaults):
            try:
                self._gateway.scan(vault, seconds=1.0)
            except (VaultOffline, NotFound):
                continue
        self._flush_recalls()
        waiting = any(self._gateway.scanner.waiting(vault) for vault in self._vaults)
        done = self._gateway.embed_missing(limit=EMBED_BATCH)
        return waiting or done >= EMBED_BATCH

    def close(self) -> None:
        """Stop the background and give back every handle."""
        if self._background is not None:
            self._background.close()
        self._embedder.close()
        if self._ready:
            try:
                self._flush_recalls()
            except MemsvcError:
                self._recalls = []  # telemetry is never worth an error
        self._database.close()

    def scan_all(self, caller: Caller, progress: Progress | None = None) -> int:
        """Take in every changed file of the caller's vault, however long it takes; how many files."""
        self.ensure_ready()
        self._vaults.add(caller.vault)
        return self._gateway.scan(caller.vault, seconds=None, progress=progress).files

    def embed_all(self, progress: Progress | None = None) -> int:
        """Give every passage its vector, loading the model if need be; how many were given."""
        self.ensure_ready()
        self._embedder.load_now()
        return self._gateway.embed_missing(limit=None, progress=progress)

    # -- writes ----------------------------------------------------------------------------

    def save(self, caller: Caller, request: SaveRequest) -> SaveReply:
        """A new note, durable and recallable when this returns."""
        self.ensure_ready()
        self._let_the_model_read()
        reply = self._gateway.save(caller, request)
        self._vaults.add(caller.vault)
        if reply.outcome == SaveOutcome.UNCHANGED.value:
            return reply
        with self._database.read() as connection:
            scope = access.reads(connection, caller)
            close = index.similar(
                scope,
                connection,
                title=request.title,
                body=request.body,
                embedder=self._embedder.ready(),
                note_id=reply.id,
            )
            answers = [Answer(one.id, one.version) for one in close]
            out = {reply.id, *reply.superseded, *not_borne_out(connection, answers)}
            root = Path(access.vault_of(connection, caller).path)
        others = [one for one in close if one.id not in out and (root / one.path).exists()]
        return replace(reply, similar=others[:3])

    def correct(self, caller: Caller, request: CorrectRequest) -> CorrectReply:
        """A note's text replaced: changed, wrong or amend."""
        self.ensure_ready()
        self._let_the_model_read()
        return self._gateway.correct(caller, request)

    def forget(self, caller: Caller, request: ForgetRequest) -> ForgetReply:
        """A note or passage retracted; the reply lists other notes that state the same."""
        self.ensure_ready()
        reply, rejected = self._gateway.forget(caller, request)
        from memsvc.service.echoes import stating  # reads candidates: only after a forget

        with self._database.read() as connection:
            scope = access.reads(connection, caller)
        also = stating(scope, self._database, rejected, without=reply.id)
        return replace(reply, also_stated_in=also)

    # -- reads -----------------------------------------------------------------------------

    def recall(
        self, caller: Caller, request: RecallRequest, *, tuning: Tuning = DEFAULT
    ) -> RecallReply:
        """Notes that answer a query, from the caller's scope only. `tuning` is for measuring."""
        self.ensure_ready()
        begun = time.perf_counter()
        with self._database.read() as connection:
            scope = access.reads(connection, caller, vault=request.vault, project=request.project)
        vault = scope.scopes[0].vault  # the picked one, which need not be the caller's own
        notices = self._look(vault)

        def ask() -> RecallReply:
            waiting = self._gateway.scanner.waiting(vault)
            return self._recall.recall(
                scope, request, notices=notices, waiting=waiting, tuning=tuning
            )

        reply = ask()
        behind: list[str] = []
        for left in reversed(range(TRIES + 1)):
            stale, again = self._stale(scope, _paths(reply)), self._behind(reply)
            if not stale and not again:
                break
            if not left:
                reply = _without(reply, stale, again)
                break
            self._gateway.refresh(vault, stale)
            if again and again == behind:  # not a write that came in between
                self._gateway.mend_index(vault, again)
            behind = again
            self._look(vault)
            reply = ask()
        took = (time.perf_counter() - begun) * 1000
        self._note(caller, reply, took)
        return replace(reply, took_ms=round(took, 2))

    def read(self, caller: Caller, request: ReadRequest) -> NoteView:
        """One whole note with provenance, links and versions."""
        self.ensure_ready()
        self._look(caller.vault)
        with self._database.read() as connection:
            scope = access.reads(connection, caller)
            note = access.readable_note(scope, connection, request.id)
        if self._gateway.refresh(caller.vault, [note.path]):
            self._look(caller.vault)  # it may have gone, or moved
        with self._database.read() as connection:
            now = stamp(self._clock.now())
            return note_view(access.reads(connection, caller), connection, request, now=now)

    def history(self, caller: Caller, request: HistoryRequest) -> HistoryReply:
        """Audit events of the caller's scope, newest first."""
        self.ensure_ready()
        with self._database.read() as connection:
            return events_of(access.reads(connection, caller), connection, request)

    def scopes(self, caller: Caller) -> ScopesReply:
        """Who the caller is, what it may see and write, and how the index stands."""
        self.ensure_ready()
        from memsvc.service.status import scopes_reply  # counts things: only when asked

        notices = self._look(caller.vault, quiet=True)
        return scopes_reply(
            self._database,
            self._home,
            self._embedder,
            caller,
            waiting=self._gateway.scanner.waiting(caller.vault),
            notices=notices,
        )

    # -- inner -----------------------------------------------------------------------------

    def _look(self, vault: VaultName, *, quiet: bool = False) -> list[str]:
        """Take in what people changed, for a short while; notices for the reply."""
        first = vault not in self._vaults
        self._vaults.add(vault)
        seconds = SCAN_SECONDS
        if first and self._background is None:
            seconds = FIRST_SCAN_SECONDS
        try:
            report = self._gateway.scan(vault, seconds=seconds)
        except VaultOffline as error:
            if quiet:
                return [error.message]
            raise
        notices = list(report.notices)
        if report.waiting:
            notices.append(
                f"{report.waiting} of {report.files} files are not indexed yet; they are being read"
                if self._background
                else f"{report.waiting} of {report.files} files are not indexed yet; "
                "run `memsvc reindex`"
            )
            if self._background is not None:
                self._background.poke()
        notices += [f"folder {name} cannot be read" for name in report.unreadable[:3]]
        if self._background is None and (first or report.taken):
            self._embed_now()
        return notices

    def _let_the_model_read(self) -> None:
        """Where something is rejected the model reads what comes in, for a paraphrase waits for a person;
        it is loaded here, before anybody holds the vault.
        """
        if self._embedder.ready() is None:
            self._gateway.get_model()

    def _embed_now(self) -> None:
        """A process that answers once and ends gives vectors to what it just took in, if it is little."""
        self._embedder.load_now()
        with suppress(ModelUnavailable):  # found by words until the next try
            self._gateway.embed_missing(limit=EMBED_BATCH)

    def _stale(self, scope: ReadScope, paths: Sequence[str]) -> list[str]:
        """Those of the paths whose file is not what was indexed."""
        if not paths:
            return []
        vault = scope.scopes[0].vault
        with self._database.read() as connection:
            record = access.vault_in(connection, vault)
            states = registry.file_states(connection, vault, paths)
            owed = {operation.path for operation in registry.operations(connection, vault)}
        root = Path(record.path)
        return [
            path
            for path in dict.fromkeys(paths)
            if path not in owed and not _as_remembered(root / path, states.get(path))
        ]

    def _behind(self, reply: RecallReply) -> list[str]:
        """The notes of a reply that the ledger does not bear out."""
        answers = [Answer(hit.id, hit.version, hit.current) for hit in reply.hits]
        answers += [Answer(one.id, one.version) for one in reply.nearest]
        if not answers:
            return []
        with self._database.read() as connection:
            return not_borne_out(connection, answers)

    def _note(self, caller: Caller, reply: RecallReply, took_ms: float) -> None:
        """Keep who asked and what was returned, by hash and id, for the telemetry table."""
        self._recalls.append(
            {
                "at": stamp(self._clock.now()),
                "vault": caller.vault,
                "project": caller.project,
                "actor": str(caller.principal),
                "session": caller.session,
                "query_hash": reply.query_hash,
                "ids": str([hit.id for hit in reply.hits]).replace("'", '"'),
                "took_us": int(took_ms * 1000),
            }
        )
        if self._background is None and len(self._recalls) >= FLUSH_AT:
            self._flush_recalls()

    def _flush_recalls(self) -> None:
        rows, self._recalls = self._recalls, []
        if rows:
            self._gateway.note_recalls(rows)


def _paths(reply: RecallReply) -> list[str]:
    return [hit.path for hit in reply.hits] + [one.path for one in reply.nearest]


def _without(reply: RecallReply, stale: Collection[str], behind: Collection[str]) -> RecallReply:
    """The reply without the notes that never stood still while they were looked at."""
    hits = [hit for hit in reply.hits if hit.path not in stale and hit.id not in behind]
    nearest = [one for one in reply.nearest if one.path not in stale and one.id not in behind]
    gone = len(reply.hits) + len(reply.nearest) - len(hits) - len(nearest)
    what = f"{gone} {'notes are' if gone > 1 else 'note is'} changing just now"
    notices = [*reply.coverage.notices, f"{what} and left out; ask again"]
    return replace(
        reply,
        count=len(hits),
        hits=hits,
        nearest=nearest,
        coverage=replace(reply.coverage, notices=notices),
        abstained=not hits,
        reason=reply.reason or ("" if hits else what),
    )


def _as_remembered(path: Path, state: FileRecord | None) -> bool:
    try:
        return state is not None and state.look == tuple(disk.signature(path))
    except OSError:
        return False
