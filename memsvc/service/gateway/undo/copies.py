"""Where in a vault's folder the text of one note is: its file, what lies in the trash, copies."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from memsvc.ledger.records import NoteRecord, VersionRecord
from memsvc.notes.disk import leftovers
from memsvc.notes.document import MAX_NOTE_BYTES, as_utf8, read_document
from memsvc.notes.paths import stem_of
from memsvc.service.gateway.drafts import sha

__all__ = ["Copies", "find_copies", "history_keeps", "telling_lines"]

_TELLING_LINE = 16
_TELLING_NAME = 8
"""What is shorter may stand in any file."""
_GIT = ".git"


@dataclass(frozen=True, slots=True)
class Copies:
    """Files to be removed, with their sha256, and those that only name or quote the note: other notes,
    and files that are no notes.
    """

    erase: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    files: tuple[str, ...]


def telling_lines(note: NoteRecord, versions: Sequence[VersionRecord]) -> frozenset[str]:
    """What tells the note from others: titles, file names and longer lines of every version."""
    paths = {note.path, *(version.path for version in versions)}
    names = {version.title for version in versions}
    names |= {stem_of(path) for path in paths}
    lines = {line.strip() for version in versions for line in version.body.splitlines()}
    found = {name for name in names if len(name) >= _TELLING_NAME and name != note.note_id}
    return frozenset(found | {line for line in lines if len(line) >= _TELLING_LINE})


def find_copies(
    root: Path,
    note: NoteRecord,
    versions: Sequence[VersionRecord],
    *,
    lines: Collection[str],
    living: Mapping[str, bool],
) -> Copies:
    """Look through every file of the vault but its git's.

    To be removed: the note's file, files that are no other note and whose bytes are a version's or
    that declare the note's id (in the trash, by a sync), and what a write that was cut off staged.
    `living` are the paths of other notes, which are left alone, and whether they may be named. Files larger than a note may be
    are not read, but the note's own.
    """
    hashes = {version.content_hash for version in versions}
    staged = {path.relative_to(root).as_posix() for path in leftovers(root)}
    told = [line.encode("utf-8", "surrogatepass") for line in lines]
    erase: dict[str, str] = {}
    notes: list[str] = []
    left: list[str] = []
    if not note.gone and (root / note.path).is_file():
        erase[note.path] = sha((root / note.path).read_bytes())
    for path, data in _files(root):
        if path in erase:
            continue
        text, digest = as_utf8(data), sha(data)
        if path in living:
            notes += [path] if living[path] and any(line in text for line in told) else []
        elif path in staged or digest in hashes or _declares(path, text, note):
            erase[path] = digest
        elif any(line in text for line in told):
            left.append(path)
    return Copies(tuple(sorted(erase.items())), tuple(sorted(notes)), tuple(sorted(left)))


def history_keeps(root: Path) -> bool:
    """Whether the folder is in a git repository."""
    return any((folder / _GIT).exists() for folder in (root, *root.resolve().parents))


def _declares(path: str, text: bytes, note: NoteRecord) -> bool:
    """Whether a file says that it is the note: a copy by a sync, or one in a trash folder."""
    if note.note_id.encode() not in text or not path.lower().endswith(".md"):
        return False
    return read_document(text, path=path).declared_id == note.note_id


def _files(root: Path) -> Iterator[tuple[str, bytes]]:
    """Every file that lies in the folder itself, with its bytes."""
    inside = root.resolve()
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name != _GIT)
        for name in sorted(names):
            path = Path(folder, name)
            with suppress(OSError):  # gone just now, or nobody may read it
                if path.stat().st_size <= MAX_NOTE_BYTES and path.resolve().is_relative_to(inside):
                    yield path.relative_to(root).as_posix(), path.read_bytes()
