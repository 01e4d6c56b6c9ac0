"""Brings the files of an older backup to where a newer ledger of the same home stands."""

import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from memsvc.errors import InvalidInput, MemsvcError, StorageFailed, UnsafePath
from memsvc.ledger import chain, registry, tombstones
from memsvc.ledger.chain import Verdict
from memsvc.ledger.records import Gone, NoteRecord, VersionRecord
from memsvc.model.progress import Progress, tell
from memsvc.model.vocabulary import Status, VaultName
from memsvc.notes.paths import resolve_note
from memsvc.service.gateway.backup.backing import reading
from memsvc.service.gateway.backup.ledger_copy import slim
from memsvc.service.gateway.drafts import sha
from memsvc.service.home import Home

__all__ = ["NotRestored", "catch_up", "later_ledger", "told", "why_gone"]

_AT_ONCE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class NotRestored:
    """A note of the backup that does not come back as it was, and why: `retracted`, `purged`,
    `rejected`, `deleted`, `superseded`, `corrected`, `changed` …; the path of a purged one is not told.
    """

    id: str
    vault: str
    project: str
    path: str
    why: str
    at: str


def later_ledger(path: Path, home: Home, *, identity: str, seq: int, head: str) -> Verdict:
    """Put a newer ledger into the staged home, with the keys that lie beside it; what its chain shows.

    `identity`, `seq` and `head` are the backup's: its first event's hash, its last one's number and
    hash. Raises InvalidInput unless it is whole, of the same home, and knows all that the backup knows.
    """
    target = home.database
    try:
        for end in ("", "-wal"):
            source = path.with_name(path.name + end)
            if source.exists() or not end:
                shutil.copyfile(source, target.with_name(target.name + end))
        for own in (home.keys, home.signing_key):
            if (path.parent / own.name).is_file():
                shutil.copyfile(path.parent / own.name, own)
                own.chmod(0o600)
    except OSError as error:
        raise InvalidInput(
            f"the ledger {path.name} cannot be read: {error.strerror}", argument="ledger"
        ) from error
    try:
        verdict = slim(target)
    except StorageFailed:
        raise
    except MemsvcError as error:
        raise InvalidInput(
            f"that newer ledger cannot be used: {error.message}", argument="ledger"
        ) from error
    with reading(target) as connection:
        same = chain.hash_at(connection, seq) == head
    if verdict.identity != identity or not same:
        raise InvalidInput(
            "that ledger is of another home, or older than the backup; nothing was restored",
            argument="ledger",
        )
    return verdict


def catch_up(
    old: Path | None, new: Path, roots: Mapping[str, Path], progress: Progress | None
) -> tuple[tuple[NotRestored, ...], tuple[str, ...]]:
    """Make the staged files of each vault what the ledger `new` says; `old` is the backup's own.

    What the newer ledger took back is not left in place. Returns what is not as the backup had it,
    and notices. Texts come from the ledger's versions. Raises StorageFailed.
    """
    lost: list[NotRestored] = []
    notices: list[str] = []
    with reading(new) as now_is:
        for vault, root in roots.items():
            name = VaultName(vault)
            if old is not None:
                with reading(old) as was:
                    lost += _withdraw(was, now_is, name, root)
            notices += _write_all(now_is, name, root, progress)
    return tuple(lost), tuple(notices)


def _withdraw(
    was: Connection, now_is: Connection, vault: VaultName, root: Path
) -> Iterator[NotRestored]:
    """Take out of a staged vault what no longer stands as the backup had it."""
    for old in (*registry.notes_of(was, vault), *registry.gone_of(was, vault)):
        new = registry.find_note(now_is, old.note_id)
        why = why_gone(new)
        if old.gone:
            if why == "purged" and old.trash_path:
                (root / old.trash_path).unlink(missing_ok=True)
                yield told(old, new, why)
            continue
        if why or (new is not None and new.path != old.path):
            _take_out(now_is, root, old, new, why)
        why = why or _why_changed(was, now_is, old, new)
        if why:
            yield told(old, new, why)


def told(old: NoteRecord, new: NoteRecord | None, why: str) -> NotRestored:
    """What is said of a note that was `old` in the backup and is `new` by now."""
    return NotRestored(
        id=old.note_id,
        vault=old.vault,
        project=old.project,
        path="" if why == "purged" else old.path,
        why=why,
        at=new.updated_at if new else "",
    )


def why_gone(note: NoteRecord | None) -> str:
    """Why a note is out of every reader's sight; empty when it is not."""
    if note is None:
        return "unknown"
    if not note.gone:
        return ""
    if note.withheld == Gone.PURGED:
        return "purged"
    if note.withheld == Gone.FILE_DELETED:
        return "deleted"
    return "rejected" if note.status is Status.REJECTED else "retracted"


def _why_changed(
    was: Connection, now_is: Connection, old: NoteRecord, new: NoteRecord | None
) -> str:
    if new is None or new.version == old.version:
        return ""
    if new.status is Status.SUPERSEDED and old.status is not Status.SUPERSEDED:
        return "superseded"
    before = {one.tombstone_id for one in tombstones.tombstones_of(was, old.note_id)}
    since = {one.tombstone_id for one in tombstones.tombstones_of(now_is, old.note_id)} - before
    return "corrected" if since else ""


def _take_out(
    now_is: Connection, root: Path, old: NoteRecord, new: NoteRecord | None, why: str
) -> None:
    """Remove a staged file, into the vault's trash if it is the very text that was retracted."""
    path = _place(root, old.path)
    if path is None or not path.is_file():
        return
    if new is not None and why in ("retracted", "rejected") and new.trash_path:
        last = registry.find_version(now_is, new.note_id, new.version)
        target = root / new.trash_path
        if last is not None and sha(path.read_bytes()) == last.content_hash and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)
            return
    path.unlink()


def _write_all(
    now_is: Connection, vault: VaultName, root: Path, progress: Progress | None
) -> list[str]:
    """Write every standing note of the vault whose staged file is not the ledger's text."""
    notes = registry.notes_of(now_is, vault)
    written, inexact = 0, 0
    for done, note in enumerate(notes, start=1):
        version = registry.find_version(now_is, note.note_id, note.version)
        path = _place(root, note.path)
        if version is not None and path is not None:
            result = _write(path, version)
            written += result == "written"
            inexact += result == "inexact"
        tell(progress, done, len(notes), "writing newer texts", every=_AT_ONCE)
    notices = [f"vault {vault}: {written} notes written from the ledger"] if written else []
    if inexact:
        notices.append(
            f"vault {vault}: {inexact} notes are not in the ledger byte for byte: they are as the "
            "backup has them, or as they were read"
        )
    return notices


def _write(path: Path, version: VersionRecord) -> str:
    present = sha(path.read_bytes()) if path.is_file() else ""
    if present == version.content_hash:
        return "same"
    data = version.content.encode("utf-8", "surrogatepass")
    exact = sha(data) == version.content_hash
    if not exact and (present or not data):
        return "inexact"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise StorageFailed(f"{path.name} was not written: {error.strerror}") from error
    return "written" if exact else "inexact"


def _place(root: Path, path: str) -> Path | None:
    try:
        return resolve_note(root, path)
    except UnsafePath:
        return None
