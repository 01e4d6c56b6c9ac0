"""What a living home lost, brought back from a backup of it: files put back, deleted notes returned.

The living ledger decides: nothing that it took back comes back, and nothing newer is overwritten.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection

from memsvc.errors import InvalidInput, VaultOffline
from memsvc.ledger import chain, registry, tombstones
from memsvc.ledger import writer as ledger
from memsvc.ledger.contents import versions_by_content
from memsvc.ledger.records import Gone, NoteRecord, VaultRecord, VersionRecord
from memsvc.model.events import NewEvent
from memsvc.model.identity import Caller, Scope
from memsvc.model.progress import Progress
from memsvc.model.replies import Json, RestoreReply
from memsvc.model.requests import RestoreRequest
from memsvc.model.vocabulary import SHARED, Action, NoteId, Outcome, Status
from memsvc.notes import disk
from memsvc.service import access
from memsvc.service.gateway.backup.catching_up import NotRestored, told, why_gone
from memsvc.service.gateway.drafts import sha
from memsvc.service.gateway.files.scan import Scanner
from memsvc.service.gateway.operations import Staging, settle
from memsvc.service.gateway.parts import Parts, vault_of

__all__ = ["Lost", "Merging", "inside"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    """A note that can come back: its file is missing (`file`), or was deleted with it (`note`).

    `member` is the path of the backup's file, whose sha256 is `content_hash`.
    """

    note: NoteRecord
    version: VersionRecord
    member: str
    content_hash: str
    how: str


class Merging:
    """One merge into the caller's vault."""

    def __init__(
        self,
        parts: Parts,
        scanner: Scanner,
        caller: Caller,
        bring_back: Callable[[Caller, RestoreRequest], RestoreReply],
    ) -> None:
        self._parts = parts
        self._scanner = scanner
        self._caller = caller
        self._bring_back = bring_back
        with parts.database.read() as connection:
            self.vault: VaultRecord = vault_of(connection, caller.vault)
        self.root = Path(self.vault.path)
        self._since = 0

    def check(self, *, identity: str, seq: int, head: str, wet: bool) -> None:
        """That the backup is an earlier state of this very home, and that a person wants it.

        Raises Denied, InvalidInput.
        """
        access.require_confirmed(self._caller, "restoring a backup", dry=not wet)
        self._since = seq
        with self._parts.database.read() as connection:
            first, then = chain.hash_at(connection, 1), chain.hash_at(connection, seq)
        if first != identity:
            raise InvalidInput(
                "that backup is of another home, whose rejections are not known here; restore it "
                "beside this one with --beside --into FOLDER",
                argument="archive",
            )
        if then != head:
            raise InvalidInput(
                "that backup knows events that this home does not: this home was itself put back from "
                "an older one; restore the backup beside it with --beside --into FOLDER",
                argument="archive",
            )
        if not self.root.is_dir():
            raise VaultOffline(
                f"the folder of vault {self.vault.name} is not there; mount it, or make it, and "
                "repeat",
                vault=self.vault.name,
            )

    def take_in(self, progress: Progress | None) -> None:
        """What people changed, taken in; a vault that lost most of its notes stays as it is."""
        with suppress(VaultOffline):
            self._scanner.scan(self.vault.name, seconds=None, progress=progress)

    def judge(
        self, files: Mapping[str, str]
    ) -> tuple[list[Lost], list[NotRestored], int, list[str]]:
        """Of the backup's notes, by path and sha256: what can come back, what may not and why, how
        many are as they were, and which no version of a note ever was.
        """
        lost: dict[NoteId, Lost] = {}
        kept: dict[NoteId, NotRestored] = {}
        same, unknown = 0, []
        with self._parts.database.read() as connection:
            versions = versions_by_content(connection, self.vault.name)
            for path, content_hash in files.items():
                note = self._owner_of(connection, versions.get(content_hash, []), path)
                if note is None:
                    unknown.append(path)
                    continue
                if note.note_id in lost or note.note_id in kept:
                    continue
                version = registry.find_version(connection, note.note_id, note.version)
                found = self._judge_one(connection, note, version, path, content_hash)
                if isinstance(found, Lost):
                    lost[note.note_id] = found
                elif found is not None:
                    kept[note.note_id] = found
                else:
                    same += 1
        return list(lost.values()), list(kept.values()), same, unknown

    def _owner_of(
        self,
        connection: Connection,
        versions: Sequence[tuple[NoteId, int]],
        path: str,
    ) -> NoteRecord | None:
        """The note that a file of the backup was; of several, the one at that path."""
        notes = [registry.find_note(connection, note_id) for note_id, _ in versions]
        found = [note for note in notes if note is not None]
        return next((one for one in found if one.path == path), found[-1] if found else None)

    def _judge_one(
        self,
        connection: Connection,
        note: NoteRecord,
        version: VersionRecord | None,
        path: str,
        content_hash: str,
    ) -> Lost | NotRestored | None:
        why = why_gone(note)
        if note.withheld == Gone.VAULT_REMOVED:
            why = "deleted"
        if note.vault != self.vault.name:
            why = "moved to another vault"
        if why == "deleted" and version is not None:
            return Lost(
                note=note, version=version, member=path, content_hash=content_hash, how="note"
            )
        if why:
            return told(note, note, why)
        present = inside(self.root, note.path)
        if version is not None and present is not None and not os.path.lexists(present):
            return Lost(
                note=note, version=version, member=path, content_hash=content_hash, how="file"
            )
        if version is None or version.content_hash == content_hash:
            return None
        if note.status is Status.SUPERSEDED:
            return told(note, note, "superseded")
        claims = tombstones.tombstones_of(connection, note.note_id)
        rejected = any(one.event_seq > self._since for one in claims)
        return told(note, note, "corrected" if rejected else "newer text")

    def put_back(
        self, lost: Sequence[Lost], read: Callable[[str], bytes], *, backup: str, reason: str
    ) -> list[NoteId]:
        """Write the missing files of notes that stand, as the ledger has them, in one transaction
        with one event; the notes whose files are back.

        `read` gives a file of the backup, for texts that the ledger has not byte for byte. A file
        that came meanwhile is left alone.
        """
        back: list[NoteId] = []
        with self._parts.locked(self.vault.name):
            settle(self._parts, self.vault)
            staging = Staging(self.root, self.vault)
            exact: list[tuple[Lost, bytes]] = []
            for one in lost:
                data = self._still_lost(one, read)
                if data is not None:
                    exact.append((one, data))
            try:
                for one, data in exact:
                    staging.write(
                        one.note.path,
                        data,
                        note_id=one.note.note_id,
                        version=one.note.version,
                        before_hash="",
                    )
                if exact:
                    detail: dict[str, Json] = {
                        "files": [str(one.note.note_id) for one, _ in exact],
                        "backup": backup,
                    }
                    with self._parts.database.write() as connection:
                        seq = self._event(connection, detail, reason)
                        staging.record(connection, event_seq=seq, parts=self._parts)
            except BaseException:
                staging.discard()
                raise
            conflicts = staging.publish(self._parts)
            back += [one.note.note_id for one, _ in exact if one.note.path not in conflicts]
        return back

    def _still_lost(self, one: Lost, read: Callable[[str], bytes]) -> bytes | None:
        """The bytes of a note whose file is missing still; None when it is not, or they are lost."""
        with self._parts.database.read() as connection:
            note = registry.find_note(connection, one.note.note_id)
        path = inside(self.root, one.note.path)
        if note != one.note or path is None or os.path.lexists(path):
            return None
        data = one.version.content.encode("utf-8", "surrogatepass")
        if sha(data) == one.version.content_hash:
            return data
        return read(one.member) if one.content_hash == one.version.content_hash else None

    def bring_back(self, one: Lost, *, reason: str) -> RestoreReply:
        """A note whose file was deleted, with the newest text that the ledger has, past every check.

        Raises the Refused family and what else `restore-note` raises; nothing is lifted.
        """
        scope = one.note.scope
        caller = replace(self._caller, vault=scope.vault, project=scope.project)
        return self._bring_back(caller, RestoreRequest(id=one.note.note_id, reason=reason))

    def put_files(
        self, files: Mapping[str, bytes], *, backup: str, reason: str
    ) -> tuple[list[str], list[str]]:
        """Write files that are no notes where none is, on record: those that are back, and those
        that are not because something is there by now.
        """
        back, left = [], []
        with self._parts.database.write() as connection:
            detail: dict[str, Json] = {"attachments": len(files), "backup": backup}
            self._event(connection, detail, reason)
        for path, data in files.items():
            target = inside(self.root, path)
            if target is None or os.path.lexists(target):
                left.append(path)
                continue
            staged = disk.stage(target, data)
            try:
                staged.publish(expect=None)
                back.append(path)
            except disk.FileChanged:
                staged.discard()
                left.append(path)
        return back, left

    def _event(self, connection: Connection, detail: dict[str, Json], reason: str) -> int:
        return ledger.add_event(
            connection,
            NewEvent(
                action=Action.RESTORE,
                outcome=Outcome.DONE,
                caller=self._caller,
                scope=Scope(self.vault.name, SHARED),
                reason=reason,
                detail={**detail, "confirmed": self._caller.confirmed},
            ),
            at=self._parts.clock.now(),
        )


def inside(root: Path, path: str) -> Path | None:
    """The file at a relative path of a vault, links resolved; None when that is not inside it."""
    real_root = os.path.realpath(root)
    target = os.path.join(real_root, *path.split("/"))  # noqa: PTH118 - Path drops parts
    folder = os.path.realpath(os.path.dirname(target))  # noqa: PTH120 - see above
    if folder != real_root and not folder.startswith(real_root.rstrip(os.sep) + os.sep):
        return None
    return Path(folder, os.path.basename(target))  # noqa: PTH119 - see above
