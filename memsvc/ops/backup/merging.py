"""Brings back into a living home what it lost since a backup of it, and nothing that it took back."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from memsvc.database import in_batches
from memsvc.errors import (
    InvalidInput,
    NotFound,
    Refused,
    RejectedClaim,
    StaleVersion,
    StorageFailed,
    Uneditable,
)
from memsvc.model.identity import Caller
from memsvc.model.progress import Progress, tell
from memsvc.notes.document import MAX_NOTE_BYTES
from memsvc.notes.paths import is_note_path
from memsvc.ops.backup.archive import Archive, open_archive
from memsvc.ops.backup.manifest import Member
from memsvc.service.gateway.backup.catching_up import NotRestored, told
from memsvc.service.gateway.backup.merging import Lost, Merging, inside

__all__ = ["MergeReport", "MergeRequest", "Service", "merge"]

_NOTES_AT_ONCE = 100
_FILES_AT_ONCE = 50
_MOST_BYTES = 64 << 20
"""Attachments written with one event, together."""
_REFUSED = (Refused, InvalidInput, NotFound, StaleVersion)


class Service(Protocol):
    """What a merge needs of `MemoryService`."""

    def merging(self, caller: Caller) -> AbstractContextManager[Merging]:
        """A backup being merged into its home."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeRequest:
    """Which backup; `only` narrows to notes by id and to files by path or folder."""

    archive: Path
    only: tuple[str, ...] = ()
    reason: str = ""
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeReport:
    """What came back, what did not and why; `unknown` are files that no note ever was."""

    vault: str
    made: str
    seq: int
    files: int
    notes: int
    attachments: int
    unchanged: int
    not_restored: tuple[NotRestored, ...]
    changed_attachments: tuple[str, ...]
    unknown: tuple[str, ...]
    dry_run: bool = False
    notices: tuple[str, ...] = ()


def merge(
    service: Service, caller: Caller, request: MergeRequest, *, progress: Progress | None = None
) -> MergeReport:
    """Bring back the caller's vault's notes and attachments that are missing, each past the gateway.

    Nothing present is overwritten. A run that was cut off can be repeated. Raises Denied,
    InvalidInput for a backup that is not of this home, VaultOffline, StorageFailed.
    """
    with service.merging(caller) as merging, open_archive(request.archive) as archive:
        known = archive.manifest
        wet = not request.dry_run
        merging.check(identity=known.database, seq=known.seq, head=known.hash, wet=wet)
        archive.verify(progress)
        merging.take_in(progress)
        members = known.of_vault(merging.vault.name)
        if not members:
            raise InvalidInput(
                f"the backup has no files of vault {merging.vault.name}", argument="vault"
            )
        notes = {path: one.sha256 for path, one in members.items() if is_note_path(path)}
        lost, kept, same, unknown = merging.judge(notes)
        lost = [one for one in lost if _wanted(request.only, one.note.path, one.note.note_id)]
        kept = [one for one in kept if _wanted(request.only, one.path, one.id)]
        loose, changed = _attachments(archive, merging, members, request.only)
        done = _Done(merging, archive, request, progress)
        if wet:
            kept += done.notes_back(lost)
            attached = done.files_back(loose)
            merging.take_in(progress)
    files = sum(one.how == "file" for one in lost)
    return MergeReport(
        vault=merging.vault.name,
        made=known.made,
        seq=known.seq,
        files=done.files if wet else files,
        notes=done.notes if wet else len(lost) - files,
        attachments=attached if wet else len(loose),
        unchanged=same,
        not_restored=tuple(kept),
        changed_attachments=tuple(changed),
        unknown=tuple(path for path in unknown if _wanted(request.only, path, "")),
        dry_run=request.dry_run,
    )


class _Done:
    """The writing part of a merge, with its counts."""

    def __init__(
        self, merging: Merging, archive: Archive, request: MergeRequest, progress: Progress | None
    ) -> None:
        self._merging = merging
        self._archive = archive
        self._progress = progress
        self._members = archive.manifest.of_vault(merging.vault.name)
        self._reason = request.reason or f"from the backup of {archive.manifest.made[:19]}Z"
        self.files = 0
        self.notes = 0

    def notes_back(self, lost: Sequence[Lost]) -> list[NotRestored]:
        """Put back files, then return deleted notes; what could not come back."""
        missing = [one for one in lost if one.how == "file"]
        left: list[NotRestored] = []
        for batch in in_batches(missing, _NOTES_AT_ONCE):
            back = self._merging.put_back(
                batch, self._read, backup=self._archive.manifest_hash, reason=self._reason
            )
            self.files += len(back)
            left += [
                told(one.note, one.note, "not possible")
                for one in batch
                if one.note.note_id not in back
            ]
            self._tell(self.files, len(lost))
        self._merging.take_in(None)  # a vault that went offline for its missing notes is back
        deleted = [one for one in lost if one.how == "note"]
        for one in deleted:
            try:
                self._merging.bring_back(one, reason=self._reason)
                self.notes += 1
            except RejectedClaim:
                left.append(told(one.note, one.note, "rejected claim"))
            except Uneditable as error:
                if self._back_as_file(one):
                    self.notes += 1
                else:
                    left.append(told(one.note, one.note, error.code))
            except _REFUSED as error:
                left.append(told(one.note, one.note, error.code))
            self._tell(self.files + self.notes, len(lost))
        return left

    def _back_as_file(self, one: Lost) -> bool:
        """Put back the last bytes of a note that no verb can write; the scan that ends the merge
        takes them in as it takes any file.
        """
        if one.content_hash != one.version.content_hash:
            return False
        return self._put_files({one.note.path: self._read(one.member)}) == 1

    def files_back(self, members: Sequence[tuple[str, Member]]) -> int:
        """Write attachments that are missing; how many."""
        count = 0
        for batch in _portions(members):
            data = {path: self._archive.content(member, most=member.size) for path, member in batch}
            count += self._put_files(data)
            self._tell(count, len(members))
        return count

    def _put_files(self, data: Mapping[str, bytes]) -> int:
        """Write files where none is; how many."""
        back, _ = self._merging.put_files(
            data, backup=self._archive.manifest_hash, reason=self._reason
        )
        return len(back)

    def _read(self, path: str) -> bytes:
        return self._archive.content(self._members[path], most=MAX_NOTE_BYTES)

    def _tell(self, done: int, total: int) -> None:
        tell(self._progress, done, total, "bringing back")


def _attachments(
    archive: Archive, merging: Merging, members: dict[str, Member], only: tuple[str, ...]
) -> tuple[list[tuple[str, Member]], list[str]]:
    """Files of the backup that are no notes and not hidden: those missing, those that differ."""
    missing, changed = [], []
    for path, member in members.items():
        hidden = path.startswith(".") or "/." in path
        if hidden or path[-3:].lower() == ".md" or not _wanted(only, path, ""):
            continue
        present = inside(merging.root, path)
        if present is not None and not os.path.lexists(present):
            missing.append((path, member))
        elif present is None or not _same(archive, present, member):
            changed.append(path)
    return missing, changed


def _same(archive: Archive, present: Path, member: Member) -> bool:
    try:
        return present.is_file() and archive.is_same(member, present)
    except OSError as error:
        raise StorageFailed(f"{present.name} cannot be read: {error.strerror}") from error


def _wanted(only: tuple[str, ...], path: str, note_id: str) -> bool:
    if not only:
        return True
    return any(
        one.upper() == note_id or path == one.strip("/") or path.startswith(f"{one.strip('/')}/")
        for one in only
    )


def _portions(members: Iterable[tuple[str, Member]]) -> Iterator[list[tuple[str, Member]]]:
    """Batches that fit in memory, as far as single files allow it."""
    batch: list[tuple[str, Member]] = []
    size = 0
    for path, member in members:
        if batch and (len(batch) >= _FILES_AT_ONCE or size + member.size > _MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append((path, member))
        size += member.size
    if batch:
        yield batch
