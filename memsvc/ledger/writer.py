"""Every change of the ledger; only the gateway calls it, inside its transaction."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, case, delete, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from memsvc.clock import stamp
from memsvc.ledger import tables
from memsvc.ledger.chain import GENESIS, event_hash
from memsvc.ledger.records import (
    PURGED,
    FileRecord,
    Gone,
    NoteRecord,
    TombstoneRecord,
    VaultRecord,
    VersionRecord,
)
from memsvc.model.events import NewEvent
from memsvc.model.identity import Scope
from memsvc.model.vocabulary import VaultName

__all__ = [
    "add_event",
    "add_note",
    "add_operation",
    "add_recalls",
    "add_review",
    "add_tombstones",
    "add_vault",
    "add_version",
    "close_reviews",
    "decide_review",
    "drop_file_states",
    "drop_operation",
    "end_version",
    "forget_reasons",
    "lift_tombstone",
    "purge_note",
    "remember_reply",
    "remove_vault",
    "set_file_states",
    "set_names",
    "update_note",
    "update_vault",
]

_REASON_LIMIT = 500


def add_event(connection: Connection, event: NewEvent, *, at: datetime) -> int:
    """Append one event to the chain; its sequence number."""
    table = tables.audit_event
    last = connection.execute(
        select(table.c.seq, table.c.hash).order_by(table.c.seq.desc()).limit(1)
    ).first()
    caller = event.caller
    row: dict[str, Any] = {
        "seq": (last.seq if last else 0) + 1,
        "at": stamp(at),
        "action": event.action.value,
        "outcome": event.outcome.value,
        "vault": event.scope.vault,
        "project": event.scope.project,
        "note_id": event.note_id,
        "version": event.version,
        "actor_kind": caller.principal.kind.value,
        "actor_name": caller.principal.name,
        "on_behalf_of": caller.on_behalf_of,
        "client": caller.client,
        "session": caller.session,
        "request_id": caller.request_id,
        "reason": event.reason[:_REASON_LIMIT],
        "before_hash": event.before_hash,
        "after_hash": event.after_hash,
        "detail": json.dumps(
            {"door": caller.door, **event.detail}, sort_keys=True, ensure_ascii=False
        ),
        "prev_hash": last.hash if last else GENESIS,
    }
    row["hash"] = event_hash(row)
    connection.execute(insert(table), row)
    return int(row["seq"])


def add_note(connection: Connection, record: NoteRecord) -> None:
    """Register a note; its path must be free among the notes that are not gone."""
    row = asdict(record)
    row["path_key"] = record.path.casefold()
    connection.execute(insert(tables.note), row)


def update_note(connection: Connection, note_id: str, **values: str | int) -> None:
    """Change where a note stands."""
    if "path" in values:
        values["path_key"] = str(values["path"]).casefold()
    connection.execute(update(tables.note).where(tables.note.c.note_id == note_id).values(**values))


def set_names(
    connection: Connection, note_id: str, *, vault: VaultName, names: Iterable[str]
) -> None:
    """The names by which links may call the note, folded as the caller looks them up."""
    table = tables.note_name
    connection.execute(delete(table).where(table.c.note_id == note_id))
    rows = [{"note_id": note_id, "vault": vault, "name": name} for name in sorted(set(names))]
    if rows:
        connection.execute(insert(table), rows)


def add_version(connection: Connection, record: VersionRecord) -> None:
    """Append one version."""
    row = asdict(record)
    row["source"] = json.dumps(list(record.source), ensure_ascii=False)
    connection.execute(insert(tables.note_version), row)


def end_version(connection: Connection, note_id: str, version: int, **values: str) -> None:
    """Close a version's windows: any of valid_from, valid_to, ended_at, recorded_to, end_mode."""
    table = tables.note_version
    connection.execute(
        update(table).where(table.c.note_id == note_id, table.c.version == version).values(**values)
    )


def add_tombstones(connection: Connection, records: Iterable[TombstoneRecord]) -> int:
    """Add tombstones, each digest once per scope; how many were new."""
    table = tables.tombstone
    added = 0
    for record in records:
        present = connection.execute(
            select(table.c.tombstone_id).where(
                table.c.vault == record.vault,
                table.c.project == record.project,
                table.c.digest == record.digest,
                table.c.lifted_at == "",
            )
        ).first()
        if present is None:
            connection.execute(insert(table), asdict(record))
            added += 1
    return added


def lift_tombstone(
    connection: Connection, tombstone_id: str, *, at: datetime, by: str, event_seq: int
) -> None:
    """Mark a tombstone as lifted; it stays on record."""
    table = tables.tombstone
    connection.execute(
        update(table)
        .where(table.c.tombstone_id == tombstone_id)
        .values(lifted_at=stamp(at), lifted_by=by, lifted_event=event_seq)
    )


def add_review(  # noqa: PLR0913 - a review item is this wide
    connection: Connection,
    *,
    review_id: str,
    scope: Scope,
    kind: str,
    note_id: str,
    version: int,
    at: datetime,
    event_seq: int,
    detail: dict[str, Any],
) -> None:
    """Queue something for a person to decide; `detail` holds no note text."""
    row = {
        "review_id": review_id,
        "vault": scope.vault,
        "project": scope.project,
        "kind": kind,
        "note_id": note_id,
        "version": version,
        "at": stamp(at),
        "state": "open",
        "detail": json.dumps(detail, ensure_ascii=False),
        "event_seq": event_seq,
    }
    connection.execute(insert(tables.review_item), row)


def close_reviews(
    connection: Connection, note_id: str, *, at: datetime, state: str
) -> list[dict[str, Any]]:
    """Close the open items about one note's text; `kind` and `detail` of each, oldest first.

    An edit settles no conflict and no request to purge: those stay open, unless the note is gone.
    """
    table = tables.review_item
    kept = ("conflict", "purge_request") if state == "edited" else ()
    rows = connection.execute(
        update(table)
        .where(table.c.note_id == note_id, table.c.state == "open", table.c.kind.not_in(kept))
        .values(state=state, closed_at=stamp(at))
        .returning(table.c.review_id, table.c.kind, table.c.detail)
    )
    found = sorted(rows, key=lambda row: str(row.review_id))
    return [{"kind": row.kind, "detail": json.loads(row.detail)} for row in found]


def decide_review(
    connection: Connection, review_id: str, *, at: datetime, state: str, decision: dict[str, Any]
) -> bool:
    """Close one open item with what was decided about it; False when it is not open any more.

    `decision` holds no note text.
    """
    table = tables.review_item
    open_one = (table.c.review_id == review_id) & (table.c.state == "open")
    present = connection.execute(select(table.c.detail).where(open_one)).scalar()
    if present is None:
        return False
    detail = {**json.loads(present), "decision": decision}
    connection.execute(
        update(table)
        .where(table.c.review_id == review_id)
        .values(state=state, closed_at=stamp(at), detail=json.dumps(detail, ensure_ascii=False))
    )
    return True


def purge_note(connection: Connection, note_id: str, *, at: datetime) -> None:
    """Take every text of a note out of the tables: versions, names, paths, what waits, kept replies.

    Ids, hashes, windows, who did what and what was decided stay.
    """
    now = stamp(at)
    version, review = tables.note_version, tables.review_item
    nothing = {"content": "", "title": "", "path": "", "reason": "", "problem": "", "source": "[]"}
    connection.execute(
        update(version)
        .where(version.c.note_id == note_id)
        .values(
            **nothing,
            body_start=0,
            end_mode="purged",
            recorded_to=case((version.c.recorded_to == "", now), else_=version.c.recorded_to),
        )
    )
    nowhere = f"{PURGED}/{note_id}"
    update_note(
        connection,
        note_id,
        status="retracted",
        withheld=Gone.PURGED.value,
        path=nowhere,
        trash_path="",
        unresolved="",
        updated_at=now,
    )
    for table in (tables.note_name, tables.file_state):
        connection.execute(delete(table).where(table.c.note_id == note_id))
    close_reviews(connection, note_id, at=at, state="purged")
    items = connection.execute(
        select(review.c.review_id, review.c.detail).where(review.c.note_id == note_id)
    )
    for item in items.all():
        kept = {key: value for key, value in json.loads(item.detail).items() if key == "decision"}
        connection.execute(
            update(review)
            .where(review.c.review_id == item.review_id)
            .values(detail=json.dumps(kept, ensure_ascii=False))
        )
    _forget_replies(connection, note_id)


def forget_reasons(connection: Connection, note_id: str, reasons: Iterable[str]) -> None:
    """Take these reasons out of the tombstones of a note's claims."""
    table = tables.tombstone
    connection.execute(
        update(table)
        .where(table.c.note_id == note_id, table.c.reason.in_(list(reasons)))
        .values(reason="")
    )


def _forget_replies(connection: Connection, note_id: str) -> None:
    """Kept replies of saves name the note's path, which is made of its title."""
    table = tables.idempotency
    keys = [column for column in table.columns if column.primary_key]
    rows = connection.execute(
        select(*keys, table.c.reply).where(table.c.reply.contains(note_id))
    ).all()
    for row in rows:
        reply = json.loads(row.reply)
        if reply.get("id") == note_id:
            same = [column == row._mapping[column.name] for column in keys]  # noqa: SLF001 - SQLAlchemy's public name
            changed = json.dumps(reply | {"path": ""})
            connection.execute(update(table).where(*same).values(reply=changed))


def add_operation(  # noqa: PLR0913 - a file operation is this wide
    connection: Connection,
    *,
    vault: VaultName,
    kind: str,
    path: str,
    target: str = "",
    note_id: str,
    version: int,
    before_hash: str,
    after_hash: str,
    event_seq: int,
    at: datetime,
) -> int:
    """Record the file change that this transaction owes; its id."""
    row = {
        "vault": vault,
        "kind": kind,
        "path": path,
        "target": target,
        "note_id": note_id,
        "version": version,
        "before_hash": before_hash,
        "after_hash": after_hash,
        "event_seq": event_seq,
        "at": stamp(at),
    }
    table = tables.file_operation
    done = connection.execute(insert(table).values(row).returning(table.c.operation_id))
    return int(done.scalar_one())


def drop_operation(connection: Connection, operation_id: int) -> None:
    """The file change is done, or was given up for a review item."""
    table = tables.file_operation
    connection.execute(delete(table).where(table.c.operation_id == operation_id))


def set_file_states(
    connection: Connection, *, vault: VaultName, records: Iterable[FileRecord]
) -> None:
    """Remember what files looked like when they were taken in."""
    rows = [{"vault": vault, **asdict(record)} for record in records]
    if not rows:
        return
    statement = upsert(tables.file_state)
    changed = {
        column.name: statement.excluded[column.name]
        for column in tables.file_state.columns
        if not column.primary_key
    }
    connection.execute(
        statement.on_conflict_do_update(index_elements=["vault", "path"], set_=changed), rows
    )


def drop_file_states(connection: Connection, *, vault: VaultName, paths: Iterable[str]) -> None:
    """Forget what files looked like: they are gone or will be taken in anew."""
    table = tables.file_state
    for path in paths:
        connection.execute(delete(table).where(table.c.vault == vault, table.c.path == path))


def remember_reply(
    connection: Connection,
    *,
    scope: Scope,
    principal: str,
    key: str,
    request_hash: str,
    reply: str,
    at: datetime,
) -> None:
    """Keep the reply of a save that carried an idempotency key."""
    row = {
        "vault": scope.vault,
        "project": scope.project,
        "principal": principal,
        "key": key,
        "request_hash": request_hash,
        "reply": reply,
        "at": stamp(at),
    }
    connection.execute(insert(tables.idempotency), row)


def add_vault(connection: Connection, record: VaultRecord) -> None:
    """Register a vault."""
    connection.execute(insert(tables.vault), _vault_row(record))


def update_vault(connection: Connection, name: VaultName, **values: str) -> None:
    """Change a vault's settings or state; JSON columns arrive as JSON text."""
    connection.execute(update(tables.vault).where(tables.vault.c.name == name).values(**values))


def remove_vault(connection: Connection, name: VaultName) -> None:
    """Take a vault out of the register with its working tables; versions and events stay."""
    for table in (tables.file_state, tables.file_operation, tables.note_name):
        connection.execute(delete(table).where(table.c.vault == name))
    connection.execute(
        update(tables.note)
        .where(tables.note.c.vault == name, tables.note.c.status != "retracted")
        .values(status="retracted", withheld=Gone.VAULT_REMOVED.value)
    )
    connection.execute(delete(tables.vault).where(tables.vault.c.name == name))


def add_recalls(connection: Connection, rows: list[dict[str, Any]]) -> None:
    """Telemetry of reads; prunable, never truth."""
    if rows:
        connection.execute(insert(tables.recall_event), rows)


def _vault_row(record: VaultRecord) -> dict[str, Any]:
    row = asdict(record)
    row["projects"] = json.dumps(record.projects, ensure_ascii=False)
    row["policy"] = json.dumps(record.policy, ensure_ascii=False)
    return row
