"""Look-ups that the gateway and access need before a scope is proven, by exact key only."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Row, func, select

from memsvc.database import in_batches
from memsvc.ledger import tables
from memsvc.ledger.records import (
    GONE,
    FileOperation,
    FileRecord,
    NoteRecord,
    VaultRecord,
    VersionRecord,
)
from memsvc.model.identity import Principal, Scope
from memsvc.model.vocabulary import Action, NoteId, ProjectSlug, Status, Trust, VaultName

__all__ = [
    "at_paths",
    "count_notes",
    "ends_of",
    "file_states",
    "find_note",
    "find_version",
    "gone_of",
    "named",
    "notes_of",
    "operations",
    "path_taken",
    "reasons_of",
    "remembered_reply",
    "same_text",
    "scopes_with_events",
    "scopes_with_records",
    "sourced_by_links",
    "unresolved",
    "vault_named",
    "vaults",
    "version_numbers",
    "versions_of",
    "writes_since",
]

_GONE = tuple(status.value for status in GONE)
_WRITES = tuple(
    action.value
    for action in (
        Action.SAVE,
        Action.CORROBORATE,
        Action.CORRECT,
        Action.FORGET,
        Action.PROPOSE,
        Action.IMPORT,
    )
)


def vaults(connection: Connection) -> list[VaultRecord]:
    """All registered vaults by name."""
    rows = connection.execute(select(tables.vault).order_by(tables.vault.c.name))
    return [_vault(row) for row in rows]


def vault_named(connection: Connection, name: str) -> VaultRecord | None:
    """The vault of that exact name."""
    row = connection.execute(select(tables.vault).where(tables.vault.c.name == name)).first()
    return _vault(row) if row else None


def scopes_with_events(connection: Connection, vault: VaultName) -> list[ProjectSlug]:
    """The projects of the vault in which anything was ever recorded."""
    table = tables.audit_event
    rows = connection.execute(
        select(table.c.project).where(table.c.vault == vault).distinct().order_by(table.c.project)
    )
    return [ProjectSlug(row.project) for row in rows if row.project]


def scopes_with_records(connection: Connection) -> list[Scope]:
    """Every scope that an event names, also of vaults that are no longer registered."""
    table = tables.audit_event
    rows = connection.execute(
        select(table.c.vault, table.c.project).distinct().order_by(table.c.vault, table.c.project)
    )
    return [Scope(VaultName(row.vault), ProjectSlug(row.project)) for row in rows]


def find_note(connection: Connection, note_id: str) -> NoteRecord | None:
    """The note of that exact id, wherever it stands."""
    row = connection.execute(select(tables.note).where(tables.note.c.note_id == note_id)).first()
    return _note(row) if row else None


def at_paths(
    connection: Connection, vault: VaultName, paths: Sequence[str]
) -> tuple[dict[str, NoteRecord], dict[str, NoteRecord]]:
    """By path, the notes whose files are there, and those that were last there before their files
    were deleted outside.
    """
    table = tables.note
    living: dict[str, NoteRecord] = {}
    gone: dict[str, NoteRecord] = {}
    for some in in_batches(paths):
        rows = connection.execute(
            select(table)
            .where(table.c.vault == vault, table.c.path.in_(some))
            .order_by(table.c.updated_at)
        )
        for row in rows:
            note = _note(row)
            if not note.gone:
                living[note.path] = note
            elif note.status is Status.RETRACTED and not note.trash_path:
                gone[note.path] = note
    return living, gone


def unresolved(connection: Connection, vault: VaultName) -> list[NoteRecord]:
    """The notes of a vault that link to names which no note had so far."""
    table = tables.note
    rows = connection.execute(
        select(table).where(
            table.c.vault == vault, table.c.unresolved != "", table.c.status.not_in(_GONE)
        )
    )
    return [_note(row) for row in rows]


def path_taken(connection: Connection, vault: VaultName, path: str) -> bool:
    """Whether a note that is not gone has that path, whatever the case of its letters."""
    table = tables.note
    row = connection.execute(
        select(table.c.note_id).where(
            table.c.vault == vault,
            table.c.path_key == path.casefold(),
            table.c.status.not_in(_GONE),
        )
    ).first()
    return row is not None


def notes_of(connection: Connection, vault: VaultName) -> list[NoteRecord]:
    """All notes of a vault that are not gone, by path."""
    table = tables.note
    rows = connection.execute(
        select(table)
        .where(table.c.vault == vault, table.c.status.not_in(_GONE))
        .order_by(table.c.path)
    )
    return [_note(row) for row in rows]


def gone_of(connection: Connection, vault: VaultName) -> list[NoteRecord]:
    """All notes of a vault that are gone, by id."""
    table = tables.note
    rows = connection.execute(
        select(table)
        .where(table.c.vault == vault, table.c.status.in_(_GONE))
        .order_by(table.c.note_id)
    )
    return [_note(row) for row in rows]


def find_version(connection: Connection, note_id: str, version: int) -> VersionRecord | None:
    """One version of a note."""
    table = tables.note_version
    row = connection.execute(
        select(table).where(table.c.note_id == note_id, table.c.version == version)
    ).first()
    return _version(row) if row else None


def versions_of(connection: Connection, note_id: str) -> list[VersionRecord]:
    """All versions of a note, oldest first."""
    table = tables.note_version
    rows = connection.execute(
        select(table).where(table.c.note_id == note_id).order_by(table.c.version)
    )
    return [_version(row) for row in rows]


def ends_of(
    connection: Connection, note_ids: Iterable[str]
) -> dict[tuple[str, int], tuple[str, str, str]]:
    """Of each version of these notes: the note's status, how the version ended, and recorded until when."""
    note, version = tables.note, tables.note_version
    rows = connection.execute(
        select(version.c.note_id, version.c.version, note.c.status, version.c.end_mode,
               version.c.recorded_to)
        .join(note, note.c.note_id == version.c.note_id)
        .where(version.c.note_id.in_(list(note_ids)))
    )  # fmt: skip
    return {(row[0], row[1]): (row[2], row[3], row[4]) for row in rows}


def version_numbers(connection: Connection, note_id: str) -> list[int]:
    """The numbers of a note's versions, oldest first."""
    table = tables.note_version
    rows = connection.execute(
        select(table.c.version).where(table.c.note_id == note_id).order_by(table.c.version)
    )
    return [row.version for row in rows]


def same_text(
    connection: Connection, scope: Scope, text_key: str, *, status: Status = Status.ACTIVE
) -> NoteRecord | None:
    """A note of the scope in that status, active if not said, whose current version has that text."""
    note, version = tables.note, tables.note_version
    row = connection.execute(
        select(note)
        .join(
            version, (version.c.note_id == note.c.note_id) & (version.c.version == note.c.version)
        )
        .where(
            version.c.vault == scope.vault,
            version.c.project == scope.project,
            version.c.text_key == text_key,
            note.c.vault == scope.vault,
            note.c.project == scope.project,
            note.c.status == status.value,
        )
        .order_by(note.c.note_id)
        .limit(1)
    ).first()
    return _note(row) if row else None


def writes_since(
    connection: Connection, vault: VaultName, principal: Principal, *, since: str
) -> int:
    """How many writes to the vault a principal has done since a stamp."""
    table = tables.audit_event
    newest_before = (
        select(table.c.seq).where(table.c.at < since).order_by(table.c.seq.desc()).limit(1)
    )
    last = int(connection.execute(newest_before).scalar() or 0)
    found = connection.execute(
        select(func.count()).where(
            table.c.seq > last,
            table.c.vault == vault,
            table.c.actor_kind == principal.kind.value,
            table.c.actor_name == principal.name,
            table.c.outcome == "done",
            table.c.action.in_(_WRITES),
        )
    )
    return int(found.scalar() or 0)


def sourced_by_links(
    connection: Connection, vault: VaultName
) -> list[tuple[NoteRecord, VersionRecord]]:
    """The notes of a vault that are not gone and whose current text names another as its source."""
    note, version = tables.note, tables.note_version
    rows = connection.execute(
        select(note.c.note_id)
        .join(
            version, (version.c.note_id == note.c.note_id) & (version.c.version == note.c.version)
        )
        .where(note.c.vault == vault, note.c.status.not_in(_GONE), version.c.source.contains("[["))
        .order_by(note.c.path)
    )
    found = []
    for row in rows.all():
        record = find_note(connection, row.note_id)
        text = find_version(connection, row.note_id, record.version) if record else None
        if record is not None and text is not None:
            found.append((record, text))
    return found


def reasons_of(connection: Connection, note_id: str) -> list[str]:
    """The reasons that the events of a note give, each once."""
    table = tables.audit_event
    rows = connection.execute(
        select(table.c.reason).where(table.c.note_id == note_id, table.c.reason != "").distinct()
    )
    return [row.reason for row in rows]


def named(
    connection: Connection, vault: VaultName, names: Iterable[str]
) -> list[tuple[str, str, str, str]]:
    """Notes that go by any of the folded names: note id, name, path, project."""
    note, name = tables.note, tables.note_name
    wanted = sorted(set(names))
    found: list[tuple[str, str, str, str]] = []
    for some in in_batches(wanted):
        rows = connection.execute(
            select(name.c.note_id, name.c.name, note.c.path, note.c.project)
            .join(note, note.c.note_id == name.c.note_id)
            .where(
                name.c.vault == vault,
                name.c.name.in_(some),
                note.c.status.not_in(_GONE),
            )
            .order_by(name.c.note_id)
        )
        found.extend((row.note_id, row.name, row.path, row.project) for row in rows)
    return found


def operations(connection: Connection, vault: VaultName) -> list[FileOperation]:
    """The file changes that committed transactions still owe, oldest first."""
    table = tables.file_operation
    rows = connection.execute(
        select(table).where(table.c.vault == vault).order_by(table.c.operation_id)
    )
    return [
        FileOperation(
            operation_id=row.operation_id,
            vault=VaultName(row.vault),
            kind=row.kind,
            path=row.path,
            target=row.target,
            note_id=NoteId(row.note_id),
            version=row.version,
            before_hash=row.before_hash,
            after_hash=row.after_hash,
            event_seq=row.event_seq,
        )
        for row in rows
    ]


def file_states(
    connection: Connection, vault: VaultName, paths: Sequence[str] | None = None
) -> dict[str, FileRecord]:
    """What the vault's files (or those at `paths`) looked like when taken in, by path."""
    table = tables.file_state
    statement = select(table).where(table.c.vault == vault)
    if paths is not None:
        statement = statement.where(table.c.path.in_(list(paths)))
    return {
        row.path: FileRecord(
            path=row.path,
            note_id=NoteId(row.note_id),
            size=row.size,
            mtime_ns=row.mtime_ns,
            ctime_ns=row.ctime_ns,
            inode=row.inode,
            seen_ns=row.seen_ns,
            content_hash=row.content_hash,
        )
        for row in connection.execute(statement)
    }


def remembered_reply(
    connection: Connection, scope: Scope, *, principal: str, key: str
) -> tuple[str, str] | None:
    """The request hash and the reply kept under an idempotency key."""
    table = tables.idempotency
    row = connection.execute(
        select(table.c.request_hash, table.c.reply).where(
            table.c.vault == scope.vault,
            table.c.project == scope.project,
            table.c.principal == principal,
            table.c.key == key,
        )
    ).first()
    return (row.request_hash, row.reply) if row else None


def count_notes(connection: Connection, vault: VaultName) -> int:
    """How many notes of the vault are not gone."""
    table = tables.note
    found = connection.execute(
        select(func.count()).where(table.c.vault == vault, table.c.status.not_in(_GONE))
    )
    return int(found.scalar() or 0)


def _vault(row: Row[Any]) -> VaultRecord:
    return VaultRecord(
        name=VaultName(row.name),
        path=row.path,
        layout=row.layout,
        projects=json.loads(row.projects),
        policy=json.loads(row.policy),
        created_at=row.created_at,
        offline_since=row.offline_since,
        offline_reason=row.offline_reason,
    )


def _note(row: Row[Any]) -> NoteRecord:
    return NoteRecord(
        note_id=NoteId(row.note_id),
        vault=VaultName(row.vault),
        project=ProjectSlug(row.project),
        path=row.path,
        status=Status(row.status),
        version=row.version,
        superseded_by=row.superseded_by,
        withheld=row.withheld,
        trash_path=row.trash_path,
        unresolved=row.unresolved,
        corroborated=row.corroborated,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def _version(row: Row[Any]) -> VersionRecord:
    plain = dict(row._mapping)  # noqa: SLF001 - SQLAlchemy's public name
    plain["source"] = tuple(json.loads(row.source))
    plain["status"] = Status(row.status)
    plain["trust"] = Trust(row.trust)
    return VersionRecord(**plain)
