"""The doors by which a scope leaves a home and comes into one: export reads, import writes."""

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from memsvc.clock import Clock, stamp
from memsvc.database import Database
from memsvc.embedding.loader import LazyEmbedder
from memsvc.errors import InvalidInput, StorageFailed
from memsvc.ledger import reader, registry, tombstones
from memsvc.ledger.records import NoteRecord, VersionRecord
from memsvc.model.exchange import ExportedNote, ExportedVersion, ExportRequest
from memsvc.model.identity import Caller, Scope
from memsvc.model.replies import Json
from memsvc.model.vocabulary import Role, Status
from memsvc.notes.paths import contains
from memsvc.scope.proof import ReadScope
from memsvc.service import access
from memsvc.service.gateway.drafts import shown
from memsvc.service.gateway.files.layout import folder_of
from memsvc.service.gateway.gateway import Gateway
from memsvc.service.gateway.indexing import document_of
from memsvc.service.home import Home

if TYPE_CHECKING:
    from memsvc.service.gateway.exchange.importing import ImportRun

__all__ = ["ExchangeDesk", "Export"]

_ALWAYS = (Status.ACTIVE, Status.SUPERSEDED)
_MOST_IDS = 1_000
"""Of one export, so many ids are kept in the telemetry; its hash stands for all of them."""


@dataclass(frozen=True, slots=True)
class Export:
    """One snapshot of a scope. `folder` is the project's folder in its vault."""

    scope: Scope
    folder: str
    at: str
    statuses: tuple[Status, ...]
    ids: Sequence[str]
    notes: Iterator[ExportedNote]
    """Those of `ids` whose text is on record, in order; read as they are asked for."""
    successor_paths: Mapping[str, str]
    """Where the notes are that replaced others."""


class ExchangeDesk:
    """The part of the service that exports and imports."""

    _clock: Clock
    _database: Database
    _embedder: LazyEmbedder
    _gateway: Gateway
    _home: Home

    def ensure_ready(self) -> None:
        """Make the home usable; the service says how."""
        raise NotImplementedError

    @contextmanager
    def export(self, caller: Caller, request: ExportRequest) -> Iterator[Export]:
        """The notes of the caller's own scope, `shared` not included, as they stand together.

        Files that people changed are taken in first. Raises Denied when what is asked for needs a
        reviewer, VaultOffline.
        """
        self.ensure_ready()
        begun = time.perf_counter()
        only = Scope(caller.vault, caller.project)
        with self._gateway.on_record(caller), self._database.read() as connection:
            access.reads(connection, caller)
            if request.every or request.history:
                access.writes(connection, caller, need=Role.REVIEWER)
        self._gateway.scan(caller.vault, seconds=None)
        with self._database.read() as connection:
            scope = access.reads(connection, caller)
            statuses = tuple(Status) if request.every else _ALWAYS
            ids = reader.note_ids(scope, connection, only=only, statuses=statuses)
            yield Export(
                scope=only,
                folder=folder_of(access.vault_of(connection, caller), caller.project),
                at=stamp(self._clock.now()),
                statuses=statuses,
                ids=ids,
                notes=_notes(scope, connection, only, ids, history=request.history),
                successor_paths=_paths(scope, connection, only, ids),
            )
        self._remember(caller, ids, took=time.perf_counter() - begun)

    def begin_import(
        self, caller: Caller, *, form: str, dry_run: bool = False, propose: bool = False
    ) -> "ImportRun":
        """A run that writes foreign records into the caller's scope; files that people changed are
        taken in first. Raises NotFound, Denied, VaultOffline.
        """
        self.ensure_ready()
        run = self._gateway.begin_import(
            caller, project=caller.project, form=form, dry_run=dry_run, propose=propose
        )
        self._gateway.scan(caller.vault, seconds=None)
        with self._database.read() as connection:
            guarded = tombstones.has_tombstones(connection, Scope(caller.vault, caller.project))
        if guarded:
            self._embedder.load_now()  # or likely restatements would pass this door
        return run

    def keep_apart(self, place: Path, *, argument: str) -> None:
        """Refuse a place inside the home or a vault, or around one: what lies there is memsvc's own.

        Raises InvalidInput.
        """
        self.ensure_ready()
        full = place.expanduser().resolve()
        with self._database.read() as connection:
            roots = [Path(vault.path) for vault in registry.vaults(connection)]
        for root in (self._home.root, *roots):
            own = root.resolve()
            if contains(own, full) or (full.is_dir() and contains(full, own)):
                raise InvalidInput(
                    f"{argument} lies in or around a vault or the home; name another place",
                    argument=argument,
                )

    def _remember(self, caller: Caller, ids: Sequence[str], *, took: float) -> None:
        """An export is a read: it goes where reads are told of, not into the audit."""
        digest = hashlib.sha256("\n".join(ids).encode()).hexdigest()
        row: dict[str, Json] = {
            "at": stamp(self._clock.now()),
            "vault": caller.vault,
            "project": caller.project,
            "actor": str(caller.principal),
            "session": caller.session,
            "query_hash": f"export:{digest}",
            "ids": str(list(ids[:_MOST_IDS])).replace("'", '"'),
            "took_us": int(took * 1_000_000),
        }
        self._gateway.note_recalls([row])


def _notes(
    scope: ReadScope, connection: Connection, only: Scope, ids: Sequence[str], *, history: bool
) -> Iterator[ExportedNote]:
    after = reader.successors(scope, connection, only=only)
    known = set(ids)
    before: dict[str, list[str]] = {}
    for old, new in after.items():
        if new in known:
            before.setdefault(new, []).append(old)
    for note_id in ids:
        note = registry.find_note(connection, note_id)
        version = registry.find_version(connection, note_id, note.version) if note else None
        if note is None or version is None or not version.content:
            continue  # nothing of it is on record any more
        if note.scope != only or only not in scope:
            raise StorageFailed("a note of another scope was about to be exported; nothing was")
        versions = registry.versions_of(connection, note_id) if history else []
        own = [  # what a moved note said elsewhere stays there; its present text came along
            one
            for one in versions
            if one.content and (one.scope == only or one.version == version.version)
        ]
        successor = after.get(note_id, "")
        yield _exported(
            note,
            version,
            supersedes=sorted(before.get(note_id, ())),
            successor=successor if successor in known else "",
            versions=own,
        )


def _paths(
    scope: ReadScope, connection: Connection, only: Scope, ids: Sequence[str]
) -> dict[str, str]:
    known = set(ids)
    wanted = {
        one for one in reader.successors(scope, connection, only=only).values() if one in known
    }
    notes = (registry.find_note(connection, one) for one in sorted(wanted))
    return {note.note_id: note.path for note in notes if note is not None and note.scope == only}


def _exported(
    note: NoteRecord,
    version: VersionRecord,
    *,
    supersedes: Sequence[str],
    successor: str,
    versions: Sequence[VersionRecord],
) -> ExportedNote:
    document = document_of(version)
    return ExportedNote(
        id=note.note_id,
        path=note.path,
        title=version.title,
        kind=document.kind,
        status=note.status,
        trust=version.trust,
        author=version.author,
        on_behalf_of=version.on_behalf_of,
        session=version.session,
        reason=version.reason,
        created=f"{note.created_at[:19]}Z",
        updated=f"{version.recorded_from[:19]}Z",
        version=version.version,
        valid_from=shown(version.valid_from),
        valid_to=shown(version.valid_to),
        source=version.source,
        tags=document.tags,
        supersedes=tuple(supersedes),
        superseded_by=successor,
        content_hash=version.content_hash,
        problem=version.problem,
        frontmatter=version.content[: version.body_start],
        body=version.body,
        versions=tuple(_past(one) for one in versions),
    )


def _past(one: VersionRecord) -> ExportedVersion:
    return ExportedVersion(
        version=one.version,
        title=one.title,
        mode=one.mode,
        status=one.status.value,
        trust=one.trust.value,
        author=one.author,
        reason=one.reason,
        valid_from=shown(one.valid_from),
        valid_to=shown(one.valid_to),
        recorded_from=one.recorded_from,
        recorded_to=one.recorded_to,
        ended_at=one.ended_at,
        end_mode=one.end_mode,
        content_hash=one.content_hash,
        text=one.content,
    )
