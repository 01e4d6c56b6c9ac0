"""Finds what people changed in a vault's folder, cheaply, and takes it in.

A scan walks the folder and compares size, times and inode with what is remembered; only files that
differ are read. It is bounded by a deadline: what is not taken in by then is counted as waiting.
Deletions are believed only after every new file was read (a move is not a deletion) and only while
most of the vault is still there.
"""

import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Connection

from memsvc.clock import stamp
from memsvc.database import in_batches
from memsvc.errors import StorageFailed, VaultOffline
from memsvc.index import writer as index
from memsvc.ledger import registry, tombstones
from memsvc.ledger import writer as ledger
from memsvc.ledger.records import FileRecord, VaultRecord
from memsvc.model.events import NewEvent
from memsvc.model.identity import Caller, Principal, Scope
from memsvc.model.progress import Progress, tell
from memsvc.model.vocabulary import SHARED, Action, NoteId, Outcome, PrincipalKind, VaultName
from memsvc.notes import disk
from memsvc.notes.document import MAX_NOTE_BYTES, Document, read_document, too_large_document
from memsvc.notes.walk import Walked, walk
from memsvc.scope.vault_policy import VaultPolicy
from memsvc.service.gateway import checks
from memsvc.service.gateway.drafts import sha
from memsvc.service.gateway.files.intake import Arrival, remove_note, take
from memsvc.service.gateway.files.layout import project_after_move, project_of
from memsvc.service.gateway.files.relink import relink
from memsvc.service.gateway.guard import restated
from memsvc.service.gateway.indexing import vectors_for
from memsvc.service.gateway.operations import remembered, settle
from memsvc.service.gateway.parts import Parts, vault_of

__all__ = ["Progress", "ScanReport", "Scanner"]


BATCH = 100
FEW = 8
"""So many changed files get their vectors at once; more wait for the background. Where the model has to
compare them with what was rejected no more are taken in between two looks at the clock.
"""
RACY_NS = 50_000_000
"""A file whose time is this close to when it was read may change again without a trace."""
CHEAP_SECONDS = 0.005
"""A walk that takes less of the processor is done before every read."""
_STARVED = 20
"""Unless it took so many times that by the clock: a slow disk, or many who want the processor."""
DUTY = 10
"""A dearer walk is repeated after this many times its cost."""
LOST_AT_LEAST = 5
"""So many missing notes are an outage if they are more than those that are there."""


@dataclass(slots=True)
class ScanReport:
    """What a scan found; `waiting` files are known but not yet taken in."""

    files: int = 0
    taken: int = 0
    removed: int = 0
    waiting: int = 0
    skipped: bool = False
    unreadable: tuple[str, ...] = ()
    notices: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Seen:
    """What this process saw last in one vault.

    Threads scan the same vault at once. What a walk saw is remembered only when it was taken in, and
    never over what a walk that began later saw: else a change in between would be nobody's.
    """

    begun: float = 0.0
    walked: Mapping[str, disk.FileSignature] = field(default_factory=dict)
    recheck: set[str] = field(default_factory=set)
    waiting: set[str] = field(default_factory=set)
    settled: bool = False
    cheap: bool = True
    cost: float = 0.0
    at: float = 0.0
    folders: Mapping[str, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def remember(
        self, walked: Walked, left: list[str], *, begun: float, at: float, used: float
    ) -> None:
        """A walk from `begun` to `at` that used so much of the processor; `left` still waits."""
        with self.lock:
            if begun < self.begun:
                return
            self.begun, self.at, self.cost = begun, at, at - begun
            self.cheap = used < CHEAP_SECONDS and self.cost < _STARVED * CHEAP_SECONDS
            self.walked, self.folders = walked.files, walked.folders
            self.settled, self.waiting = not left, set(left)

    def doubt(self, paths: Iterable[str]) -> None:
        """Files that are gone, also those that only another process ever saw."""
        with self.lock:
            self.recheck.update(paths)
            self.settled = False

    def to_recheck(self) -> set[str]:
        """The files to look at whatever the walk says of them; asked once."""
        with self.lock:
            paths, self.recheck = self.recheck, set()
            return paths


class Scanner:
    """Scans vaults, remembering per process what it saw so that an unchanged vault costs a walk."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._seen: dict[VaultName, _Seen] = {}

    def waiting(self, vault: VaultName) -> int:
        """How many files of the vault are known but not taken in."""
        seen = self._seen.get(vault)
        return len(seen.waiting) if seen else 0

    def scan(
        self,
        name: VaultName,
        *,
        seconds: float | None = None,
        force: bool = False,
        progress: Progress | None = None,
    ) -> ScanReport:
        """Take in what changed, for at most about `seconds`; None for however long it takes.

        Raises VaultOffline when the folder is unreadable or lost its notes; NotFound when the
        vault is not registered.
        """
        vault = self._vault(name)
        root = Path(vault.path)
        self._settle(vault)
        seen = self._seen[name]
        if not force and self._fresh(seen, root):
            taken = self._look_again(vault, root, seen)
            if self._fresh(seen, root):
                files, waiting = len(seen.walked), len(seen.waiting)
                return ScanReport(files=files, taken=taken, waiting=waiting, skipped=True)
        begun, used = time.monotonic(), time.thread_time()
        walked = self._walk(vault, root)
        at, used = time.monotonic(), time.thread_time() - used
        changed, missing = self._compare(vault, seen, walked, force=force)
        self._guard(vault, walked, missing)
        report = ScanReport(files=len(walked.files), unreadable=walked.unreadable)
        deadline = None if seconds is None else begun + seconds
        left = self._take_all(vault, root, changed, missing, report, deadline, progress)
        seen.remember(walked, left, begun=begun, at=at, used=used)
        report.waiting = len(left)
        if not left and missing:
            self._remove(vault, missing, report)
        return report

    def reconsider(self, name: VaultName) -> None:
        """Put a vault that went offline online again if its notes are there; else it stays so."""
        with suppress(VaultOffline):
            self._vault(name)

    def refresh(self, name: VaultName, paths: list[str]) -> int:
        """Take in these files if they changed, and believe their deletion; the caller holds no lock."""
        vault = self._vault(name)
        root = self.require_folder(vault)
        with self._parts.locked(name):
            settle(self._parts, vault)
            return self.refresh_locked(vault, root, paths)

    def require_folder(self, vault: VaultRecord) -> Path:
        """The vault's folder; takes the vault offline and raises VaultOffline when it is not there."""
        root = Path(vault.path)
        if not root.is_dir():
            raise self._offline(vault, "its folder cannot be read")
        return root

    def refresh_locked(self, vault: VaultRecord, root: Path, paths: list[str]) -> int:
        """The same under a lock that the caller holds."""
        with self._parts.database.read() as connection:
            states = registry.file_states(connection, vault.name, paths)
        changed = [
            path
            for path in paths
            if (root / path).is_file() and not _unchanged(states.get(path), _sign(root, path))
        ]
        missing = {
            path: states[path] for path in paths if path in states and not (root / path).exists()
        }
        if missing:  # they may have moved: the next scan looks at the whole vault, and at these
            self._seen.setdefault(vault.name, _Seen()).doubt(missing)
        taken = self._take_batch(vault, root, changed, {}) if changed else 0
        return taken + len(missing)

    def _vault(self, name: VaultName) -> VaultRecord:
        with self._parts.database.read() as connection:
            record = vault_of(connection, name)
        if record.offline_since:
            self._come_back(record)
        return record

    def _settle(self, vault: VaultRecord) -> None:
        first = vault.name not in self._seen
        self._seen.setdefault(vault.name, _Seen())
        with self._parts.database.read() as connection:
            owed = bool(registry.operations(connection, vault.name))
        if not owed and not first:
            return
        # A live writer holds the lock and finishes its own changes; a dead one does not.
        with self._parts.try_locked(vault.name) as held:
            if held:
                settle(self._parts, vault)
                for orphan in disk.leftovers(Path(vault.path)):
                    orphan.unlink(missing_ok=True)

    def _fresh(self, seen: _Seen, root: Path) -> bool:
        """Whether the last walk is recent enough, and only we added to a folder or took from it."""
        if not seen.settled or seen.cheap:
            return False
        if time.monotonic() - seen.at > seen.cost * DUTY:
            return False
        own = self._parts.own_changes
        folders = {}
        try:
            for folder, mtime in seen.folders.items():
                place = root / folder
                folders[folder] = now = place.stat().st_mtime_ns
                if now != mtime and not own.explain(place, since=mtime, now=now):
                    return False
        except OSError:
            return False
        seen.folders = folders
        return True

    def _look_again(self, vault: VaultRecord, root: Path, seen: _Seen) -> int:
        """Read the few files that could have changed without a trace; how many had."""
        paths = sorted(seen.to_recheck())
        if not paths:
            return 0
        with self._parts.locked(vault.name):
            settle(self._parts, vault)
            return self.refresh_locked(vault, root, paths)

    def _walk(self, vault: VaultRecord, root: Path) -> Walked:
        try:
            return walk(root)
        except VaultOffline as error:
            raise self._offline(vault, "its folder cannot be read") from error

    def _compare(
        self, vault: VaultRecord, seen: _Seen, walked: Walked, *, force: bool
    ) -> tuple[list[str], dict[str, FileRecord]]:
        """Paths to read, and remembered files that are not there."""
        again = seen.to_recheck()
        if seen.settled and not force:
            differing = {
                path for path, found in walked.files.items() if seen.walked.get(path) != found
            } | again
            gone = [path for path in seen.walked if path not in walked.files]
            if not differing and not gone:
                return [], {}
            with self._parts.database.read() as connection:
                states = {
                    path: state
                    for batch in in_batches([*differing, *gone])
                    for path, state in registry.file_states(connection, vault.name, batch).items()
                }
        else:
            with self._parts.database.read() as connection:
                states = registry.file_states(connection, vault.name)
            differing = set(walked.files)
        changed = [
            path
            for path in sorted(differing & walked.files.keys())
            if not _unchanged(states.get(path), walked.files[path])
        ]
        missing = {
            path: state
            for path, state in states.items()
            if path not in walked.files and not path.startswith(_prefixes(walked.unreadable))
        }
        return changed, missing

    def _guard(self, vault: VaultRecord, walked: Walked, missing: dict[str, FileRecord]) -> None:
        """Stop before a mass deletion is believed."""
        if not missing or vault.policy.get("accept_missing"):
            return
        remembered = len(walked.files.keys() | missing.keys())
        emptied = not walked.files and len(missing) > 1
        if emptied or (len(missing) >= LOST_AT_LEAST and len(missing) > len(walked.files)):
            raise self._offline(vault, f"{len(missing)} of {remembered} notes vanished at once")

    def _offline(self, vault: VaultRecord, why: str) -> VaultOffline:
        """Take the vault offline, with one event, and make the error that says so."""
        now = self._parts.clock.now()
        if not vault.offline_since:
            with self._parts.database.write() as connection:
                ledger.update_vault(
                    connection, vault.name, offline_since=stamp(now), offline_reason=why
                )
                self._event(connection, vault, Outcome.FAILED, f"vault offline: {why}")
        return VaultOffline(
            f"vault {vault.name} is offline: {why}; nothing was removed. Make its folder readable "
            f"again, or accept the loss with `memsvc vault accept {vault.name}`",
            vault=vault.name,
        )

    def _come_back(self, vault: VaultRecord) -> None:
        """Put an offline vault online again if its notes are there."""
        root = Path(vault.path)
        walked = self._walk(vault, root)
        with self._parts.database.read() as connection:
            states = registry.file_states(connection, vault.name)
        missing = {path: state for path, state in states.items() if path not in walked.files}
        self._guard(vault, walked, missing)
        with self._parts.database.write() as connection:
            ledger.update_vault(connection, vault.name, offline_since="", offline_reason="")
            self._event(connection, vault, Outcome.DONE, "vault online again")

    def _event(
        self, connection: Connection, vault: VaultRecord, outcome: Outcome, reason: str
    ) -> None:
        caller = Caller(Principal(PrincipalKind.SERVICE, "memsvc"), vault.name, SHARED, door="scan")
        ledger.add_event(
            connection,
            NewEvent(
                action=Action.CONFIG,
                outcome=outcome,
                caller=caller,
                scope=Scope(vault.name, SHARED),
                reason=reason,
            ),
            at=self._parts.clock.now(),
        )

    def _take_all(
        self,
        vault: VaultRecord,
        root: Path,
        changed: list[str],
        missing: dict[str, FileRecord],
        report: ScanReport,
        deadline: float | None,
        progress: Progress | None,
    ) -> list[str]:
        """Take in changed files in batches until the deadline; the paths left over."""
        size = FEW if changed and restated.compares(self._parts) else BATCH
        for start in range(0, len(changed), size):
            if deadline is not None and start and time.monotonic() > deadline:
                return changed[start:]
            batch = changed[start : start + size]
            with self._parts.locked(vault.name):
                settle(self._parts, vault)
                report.taken += self._take_batch(vault, root, batch, missing)
            tell(progress, min(start + size, len(changed)), len(changed), "reading notes")
        return []

    def _take_batch(
        self, vault: VaultRecord, root: Path, paths: list[str], missing: dict[str, FileRecord]
    ) -> int:
        """Read, check and take in some files; the caller holds the lock. How many were new texts."""
        with self._parts.database.read() as connection:
            states = registry.file_states(connection, vault.name, paths)
        arrivals, touched = self._read(vault, root, paths, states)
        if touched:
            with self._parts.database.write(durable=False) as connection:
                ledger.set_file_states(connection, vault=vault.name, records=touched)
        if arrivals:
            with self._parts.database.write() as connection, index.together(connection):
                at = [arrival.path for arrival in arrivals]
                living, gone = registry.at_paths(connection, vault.name, at)
                taken = [
                    take(
                        connection,
                        self._parts,
                        vault,
                        arrival,
                        missing=missing,
                        known=living.get(arrival.path),
                        gone=gone.get(arrival.path),
                    )
                    for arrival in arrivals
                ]
                ledger.set_file_states(connection, vault=vault.name, records=taken)
                relink(connection, vault, [record.note_id for record in taken])
        return len(arrivals)

    def _read(
        self, vault: VaultRecord, root: Path, paths: list[str], states: dict[str, FileRecord]
    ) -> tuple[list[Arrival], list[FileRecord]]:
        """Changed texts, and files that only look changed."""
        arrivals: list[Arrival] = []
        touched: list[FileRecord] = []
        seen = self._seen.setdefault(vault.name, _Seen())
        rules, compared = VaultPolicy.of(vault.policy), restated.compares(self._parts)
        for path in paths:
            state = states.get(path)
            try:
                signature = _sign(root, path)
                if signature is None or _unchanged(state, signature):
                    continue
                raw = b"" if signature.size > MAX_NOTE_BYTES else (root / path).read_bytes()
            except OSError:
                continue  # it went or became unreadable just now: the next scan sees it
            large = signature.size > MAX_NOTE_BYTES
            digest = f"size:{signature.size}" if large else sha(raw)
            note_id = state.note_id if state else NoteId("")
            record = remembered(path, signature, note_id=note_id, content_hash=digest)
            if record.seen_ns - record.mtime_ns < RACY_NS:
                with seen.lock:
                    seen.recheck.add(path)
            if state is not None and state.content_hash == digest:
                touched.append(record)
                continue
            document = (
                too_large_document(path, signature.size) if large else read_document(raw, path=path)
            )
            few = len(paths) <= FEW
            vectors, model = (
                vectors_for(self._parts, document.title, document.body) if few else ({}, "")
            )
            violation = checks.find_violation(
                document.title, document.content, rules, size=len(document.body)
            )
            again = self._restates(vault, path, document, note_id) if compared else []
            arrivals.append(
                Arrival(path, document, record, vectors, model, violation, tuple(again))
            )
        return arrivals, touched

    def _restates(
        self, vault: VaultRecord, path: str, document: Document, note_id: NoteId
    ) -> list[restated.Suspicion]:
        """What of a file was probably rejected before, in other words, where its note is: that may be
        a project that no folder has. `note_id` is the note that was at the path, if any was.
        """
        known = note_id or document.declared_id
        with self._parts.database.read() as connection:
            note = registry.find_note(connection, known) if known else None
            project = project_of(vault, path)
            if note is not None and note.vault == vault.name:
                project = project_after_move(vault, note, path)
            scope = Scope(vault.name, project)
            if not tombstones.has_tombstones(connection, scope):
                return []
        statements = checks.statements(document.title, document.body)
        return restated.likely(self._parts, scope, statements)

    def _remove(
        self, vault: VaultRecord, missing: dict[str, FileRecord], report: ScanReport
    ) -> None:
        root = Path(vault.path)
        with self._parts.locked(vault.name):
            with self._parts.database.read() as connection:
                current = registry.file_states(connection, vault.name, list(missing)[:20_000])
            gone = [state for path, state in current.items() if not (root / path).exists()]
            self.require_folder(vault)
            with self._parts.database.write() as connection:
                for state in gone:
                    remove_note(connection, self._parts, vault, state)
            report.removed = len(gone)


def _sign(root: Path, path: str) -> disk.FileSignature | None:
    try:
        return disk.signature(root / path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageFailed(f"{path} cannot be read ({error.strerror})") from error


def _unchanged(state: FileRecord | None, found: disk.FileSignature | None) -> bool:
    """Whether a file looks as it did when taken in, and could not have changed without a trace."""
    if state is None or found is None:
        return False
    same = state.look == tuple(found)
    return same and state.seen_ns - state.mtime_ns >= RACY_NS


def _prefixes(folders: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{folder}/" for folder in folders)
