"""The file changes that transactions owe: staged before, published after, finished after a crash.

A write stages its bytes beside the target and syncs them first, so that a full disk or a read-only
folder is known before anything is committed. The transaction then records the change as pending
and commits; the rename follows; a second, unsynced transaction marks it done. Whoever holds the
vault's lock next finishes what a crash left pending. A file that a person changed in between is
never overwritten: it stays, the committed text stays as a version, and a review item names both.

Kinds: `write` new bytes, `trash` and `untrash` between the vault and its trash folder, `erase` a
file for good, and last `scrub`, which is no file's: see `memsvc.service.gateway.undo.erasing`.
"""

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from memsvc.errors import StorageFailed
from memsvc.ledger import registry
from memsvc.ledger import writer as ledger
from memsvc.ledger.records import FileOperation, FileRecord, VaultRecord
from memsvc.model.events import NewEvent
from memsvc.model.identity import Caller, Principal
from memsvc.model.vocabulary import Action, NoteId, Outcome, PrincipalKind
from memsvc.notes import disk
from memsvc.notes.paths import resolve_note
from memsvc.service.gateway.drafts import sha
from memsvc.service.gateway.parts import Parts
from memsvc.service.gateway.undo.erasing import SCRUB, scrub_again

__all__ = ["KEPT", "Pending", "Staging", "file_record", "finish", "remembered", "settle"]


KEPT = "file was edited meanwhile and kept; see `memsvc review list`"
"""What a reply says, after an article, when a person's edit stood in the way of a change."""


@dataclass(slots=True)
class Pending:
    """One file change of a transaction; `staged` holds the bytes of a write."""

    kind: str
    path: str
    note_id: NoteId
    version: int
    before_hash: str
    after_hash: str
    staged: disk.Staged | None = None
    target: str = ""
    operation_id: int = 0


class Staging:
    """The file changes of one write: staged, then recorded, then published in order."""

    def __init__(self, root: Path, vault: VaultRecord) -> None:
        self.root = root
        self.vault = vault
        self.pending: list[Pending] = []
        self._before: dict[Path, int] = {}

    def write(
        self, path: str, data: bytes, *, note_id: NoteId, version: int, before_hash: str
    ) -> None:
        """Stage new bytes for a file; `before_hash` is what must be there, empty for nothing."""
        target = resolve_note(self.root, path)
        self._look_at(target.parent)
        staged = disk.stage(target, data)
        self.pending.append(
            Pending("write", path, note_id, version, before_hash, sha(data), staged)
        )

    def trash(
        self, path: str, target: str, *, note_id: NoteId, version: int, content_hash: str
    ) -> None:
        """Plan a move into the vault's trash folder; checks that both folders can be written."""
        folder = resolve_note(self.root, path).parent
        for one in (folder, self.root):  # the trash itself may have to be made
            self._look_at(one)
        disk.probe(folder)
        disk.probe(self.root / ".trash")
        self.pending.append(
            Pending("trash", path, note_id, version, content_hash, content_hash, target=target)
        )

    def untrash(
        self, path: str, source: str, *, note_id: NoteId, version: int, content_hash: str
    ) -> None:
        """Plan a move out of the trash folder; checks that both folders can be written."""
        disk.probe(resolve_note(self.root, path).parent)
        disk.probe((self.root / source).parent)
        self.pending.append(
            Pending("untrash", path, note_id, version, content_hash, content_hash, target=source)
        )

    def erase(self, path: str, *, note_id: NoteId, version: int, content_hash: str) -> None:
        """Plan to remove a file for good, wherever it is in the vault; its folder can be written."""
        disk.probe((self.root / path).parent)
        self.pending.append(Pending("erase", path, note_id, version, content_hash, ""))

    def record(self, connection: Connection, *, event_seq: int, parts: Parts) -> None:
        """Write the changes down as owed, inside the transaction that decides them."""
        for one in self.pending:
            one.operation_id = ledger.add_operation(
                connection,
                vault=self.vault.name,
                kind=one.kind,
                path=one.path,
                target=one.target,
                note_id=one.note_id,
                version=one.version,
                before_hash=one.before_hash,
                after_hash=one.after_hash,
                event_seq=event_seq,
                at=parts.clock.now(),
            )

    def discard(self) -> None:
        """Remove what was staged: the transaction did not happen."""
        for one in self.pending:
            if one.staged is not None:
                one.staged.discard()

    def publish(self, parts: Parts) -> list[str]:
        """Do the committed changes; the paths where a person's edit stood in the way."""
        conflicts: list[str] = []
        done: list[Pending] = []
        try:
            for one in self.pending:
                if not self._publish_one(one):
                    conflicts.append(one.path)
                done.append(one)
        except StorageFailed as error:
            raise StorageFailed(
                f"the change is recorded, but a file could not be written: {error.message}. Do not "
                "repeat the call: the file follows at the next access, once that is mended"
            ) from error
        finally:
            self.discard()
            self._finish(parts, done, conflicts)
        if not conflicts:
            for folder, before in self._before.items():
                parts.own_changes.add(folder, before=before)
        return conflicts

    def _look_at(self, folder: Path) -> None:
        with suppress(FileNotFoundError):  # one that is made for the note is new to everybody
            self._before.setdefault(folder, folder.stat().st_mtime_ns)

    def _publish_one(self, one: Pending) -> bool:
        """Do one committed change; False when a person's edit stood in the way."""
        try:
            if one.staged is not None:
                one.staged.publish(expect=one.before_hash or None)
            else:
                _change_place(self.root, one)
        except (FileNotFoundError, disk.FileChanged):
            # of what a person removed first the trash has nothing to take
            return one.kind == "trash" and not os.path.lexists(self.root / one.path)
        return True

    def _finish(self, parts: Parts, done: list[Pending], conflicts: list[str]) -> None:
        with parts.database.write(durable=False) as connection:
            for one in done:
                operation = _operation(one, self.vault)
                conflict = one.path in conflicts
                finish(connection, parts, self.vault, operation, conflict=conflict)


def finish(
    connection: Connection,
    parts: Parts,
    vault: VaultRecord,
    operation: FileOperation,
    *,
    conflict: bool,
) -> None:
    """Mark a file change as done, or as given up for a review item."""
    ledger.drop_operation(connection, operation.operation_id)
    root = Path(vault.path)
    if conflict:
        _queue_conflict(connection, parts, operation)
    elif operation.kind in ("write", "untrash"):
        record = file_record(
            root, operation.path, note_id=operation.note_id, content_hash=operation.after_hash
        )
        if record is not None:
            ledger.set_file_states(connection, vault=vault.name, records=[record])
    else:
        ledger.drop_file_states(connection, vault=vault.name, paths=[operation.path])


def settle(parts: Parts, vault: VaultRecord) -> int:
    """Finish what a crash left pending; the caller holds the vault's lock. How many there were."""
    with parts.database.read() as connection:
        owed = registry.operations(connection, vault.name)
    root = Path(vault.path)
    if owed and not root.is_dir():
        return 0  # offline: the changes stay owed until the folder is back
    scrubs = [operation for operation in owed if operation.kind == SCRUB]
    for operation in owed:
        if operation.kind == SCRUB:
            continue
        conflict = not _redo(parts, root, operation)
        with parts.database.write() as connection:
            finish(connection, parts, vault, operation, conflict=conflict)
    if scrubs:
        scrub_again(parts, scrubs)
    return len(owed)


def _redo(parts: Parts, root: Path, operation: FileOperation) -> bool:
    """Do a pending change again; False when a person changed the file meanwhile."""
    if operation.kind == "erase":
        return _erased(parts, root, operation)
    if operation.kind == "untrash":
        return _redo_untrash(root, operation)
    path = resolve_note(root, operation.path)
    present = sha(path.read_bytes()) if path.is_file() else ""
    if operation.kind == "trash":
        return _redo_trash(root, operation, path, present)
    if present == operation.after_hash:
        return True
    if present != operation.before_hash:
        return False
    with parts.database.read() as connection:
        version = registry.find_version(connection, operation.note_id, operation.version)
    if version is None:
        return False
    staged = disk.stage(path, version.content.encode("utf-8"))
    try:
        staged.publish(expect=operation.before_hash or None)
    except disk.FileChanged:
        staged.discard()
        return False
    return True


def _redo_trash(root: Path, operation: FileOperation, path: Path, present: str) -> bool:
    if not present:
        return True
    if present != operation.before_hash:
        return False
    try:
        disk.move(path, root / operation.target, expect=operation.before_hash)
    except disk.FileChanged:
        return False
    return True


def _redo_untrash(root: Path, operation: FileOperation) -> bool:
    path, source = resolve_note(root, operation.path), root / operation.target
    if not source.exists():
        return path.is_file() and sha(path.read_bytes()) == operation.after_hash
    try:
        disk.move(source, path, expect=operation.before_hash)
    except disk.FileChanged:
        return False
    return True


def _erased(parts: Parts, root: Path, operation: FileOperation) -> bool:
    """Remove a file that holds what was purged, any version of it; False when it holds another text."""
    with parts.database.read() as connection:
        versions = registry.versions_of(connection, operation.note_id)
    known = {operation.before_hash, *(version.content_hash for version in versions)}
    try:
        disk.remove(root / operation.path, expect=known)
    except disk.FileChanged:
        return False
    return True


def _change_place(root: Path, one: Pending) -> None:
    """Move a file between the vault and its trash, or out of the world. Raises FileChanged."""
    if one.kind == "erase":
        disk.remove(root / one.path, expect={one.before_hash})
    elif one.kind == "untrash":
        disk.move(root / one.target, resolve_note(root, one.path), expect=one.before_hash)
    else:
        disk.move(resolve_note(root, one.path), root / one.target, expect=one.before_hash)


def file_record(root: Path, path: str, *, note_id: NoteId, content_hash: str) -> FileRecord | None:
    """What a file looks like now, tied to its note; None when it is gone."""
    try:
        found = disk.signature(root / path)
    except FileNotFoundError:
        return None
    return remembered(path, found, note_id=note_id, content_hash=content_hash)


def remembered(
    path: str, found: disk.FileSignature, *, note_id: NoteId, content_hash: str
) -> FileRecord:
    """What is kept of a file that was read just now."""
    return FileRecord(
        path=path,
        note_id=note_id,
        size=found.size,
        mtime_ns=found.mtime_ns,
        ctime_ns=found.ctime_ns,
        inode=found.inode,
        seen_ns=time.time_ns(),
        content_hash=content_hash,
    )


def _queue_conflict(connection: Connection, parts: Parts, operation: FileOperation) -> None:
    note = registry.find_note(connection, operation.note_id)
    if note is None:
        return
    now = parts.clock.now()
    caller = Caller(
        Principal(PrincipalKind.SERVICE, "memsvc"), note.vault, note.project, door="recovery"
    )
    seq = ledger.add_event(
        connection,
        NewEvent(
            action=Action.DISPUTE,
            outcome=Outcome.DONE,
            caller=caller,
            scope=note.scope,
            note_id=note.note_id,
            version=operation.version,
            reason="the file was edited while a change was on its way; both texts are kept",
            before_hash=operation.before_hash,
            after_hash=operation.after_hash,
        ),
        at=now,
    )
    ledger.add_review(
        connection,
        review_id=parts.new_id(now),
        scope=note.scope,
        kind="conflict",
        note_id=note.note_id,
        version=operation.version,
        at=now,
        event_seq=seq,
        detail={
            "path": operation.path,
            "change": operation.kind,
            "base_hash": operation.before_hash,
            "ours_version": operation.version,
            "theirs": "file",
        },
    )


def _operation(one: Pending, vault: VaultRecord) -> FileOperation:
    return FileOperation(
        operation_id=one.operation_id,
        vault=vault.name,
        kind=one.kind,
        path=one.path,
        target=one.target,
        note_id=one.note_id,
        version=one.version,
        before_hash=one.before_hash,
        after_hash=one.after_hash,
        event_seq=0,
    )
