"""Links that named nothing so far, resolved when the note they name arrives; declared supersession."""

import json
import posixpath
from collections.abc import Iterable
from dataclasses import replace

from sqlalchemy import Connection

from memsvc.index import writer as index
from memsvc.ledger import registry
from memsvc.ledger import writer as ledger
from memsvc.ledger.records import NoteRecord, VaultRecord, VersionRecord
from memsvc.model.vocabulary import NoteId, Status
from memsvc.service.gateway.drafts import without_fraction
from memsvc.service.gateway.indexing import (
    document_of,
    fold,
    index_version,
    link_texts,
    names_of,
    resolve,
)

__all__ = ["relink", "resolve_waiting"]


def relink(connection: Connection, vault: VaultRecord, arrived: list[NoteId]) -> None:
    """After notes arrived: give waiting links their targets, and apply what the notes declare."""
    names: set[str] = set()
    for note_id in dict.fromkeys(arrived):
        note = registry.find_note(connection, note_id)
        version = registry.find_version(connection, note_id, note.version) if note else None
        if note is None or version is None:
            continue
        document = document_of(version)
        names |= names_of(note.path, document)
        if document.supersedes and note.status is Status.ACTIVE:
            _apply_supersedes(connection, note, version, list(document.supersedes))
    if not names:
        return
    for waiting in registry.unresolved(connection, vault.name):
        texts = json.loads(waiting.unresolved)
        if any(_could_name(text, names) for text in texts):
            _resolve_again(connection, waiting)


def resolve_waiting(connection: Connection, waiting: Iterable[NoteRecord]) -> int:
    """Look once more for what these notes link to; how many of them found something. Nothing that
    a note declares about others is applied.
    """
    found_some = 0
    for note in waiting:
        missed = json.loads(note.unresolved)
        if not resolve(connection, note.scope, missed, from_path=note.path)[0]:
            continue
        version = registry.find_version(connection, note.note_id, note.version)
        if version is None:
            continue
        texts = link_texts(document_of(version))
        found, missing = resolve(connection, note.scope, texts, from_path=note.path)
        packed = json.dumps(missing, ensure_ascii=False) if missing else ""
        targets = dict.fromkeys(key for key in found.values() if key != note.note_id)
        index.set_links(connection, note.note_id, targets)
        ledger.update_note(connection, note.note_id, unresolved=packed)
        found_some += 1
    return found_some


def _could_name(text: str, names: set[str]) -> bool:
    bare = text[:-3] if text.lower().endswith(".md") else text
    return fold(bare) in names or fold(posixpath.basename(bare)) in names


def _resolve_again(connection: Connection, note: NoteRecord) -> None:
    version = registry.find_version(connection, note.note_id, note.version)
    if version is None:
        return
    document = document_of(version)
    if document.superseded_by and not note.superseded_by and note.status is Status.SUPERSEDED:
        found, _ = resolve(connection, note.scope, [document.superseded_by], from_path=note.path)
        successor = found.get(document.superseded_by, "")
        if successor and successor != note.note_id:
            ledger.update_note(connection, note.note_id, superseded_by=successor)
            note = replace(note, superseded_by=successor)
    index_version(connection, version, note, document=document)
    if document.supersedes and note.status is Status.ACTIVE:
        _apply_supersedes(connection, note, version, list(document.supersedes))


def _apply_supersedes(
    connection: Connection, note: NoteRecord, version: VersionRecord, texts: list[str]
) -> None:
    """A note that says it replaces others of its project: they are superseded, their files stay."""
    now = version.recorded_from
    found, _ = resolve(connection, note.scope, texts, from_path=note.path)
    for target in dict.fromkeys(found.values()):
        old = registry.find_note(connection, target)
        if (
            old is None
            or old.note_id == note.note_id
            or old.scope != note.scope
            or old.status is not Status.ACTIVE
        ):
            continue
        before = registry.find_version(connection, old.note_id, old.version)
        end = version.valid_from or without_fraction(now)
        if before is not None and before.valid_to and before.valid_to < end:
            end = before.valid_to
        ended = {"valid_to": end, "ended_at": now, "end_mode": "superseded"}
        ledger.end_version(connection, old.note_id, old.version, **ended)
        ledger.update_note(
            connection,
            old.note_id,
            status=Status.SUPERSEDED.value,
            superseded_by=note.note_id,
            updated_at=now,
        )
        index.update_state(
            connection,
            old.note_id,
            old.version,
            status=Status.SUPERSEDED,
            superseded_by=note.note_id,
            **ended,
        )
