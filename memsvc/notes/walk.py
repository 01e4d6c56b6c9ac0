"""Finds a vault's notes on disk, quickly and without trusting what it cannot see."""

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from memsvc.errors import UnsafePath, VaultOffline
from memsvc.notes.disk import FileSignature
from memsvc.notes.paths import is_note_path, resolve_note

__all__ = ["Walked", "walk"]


@dataclass(frozen=True, slots=True)
class Walked:
    """What a walk saw; paths are relative to the vault, with `/`, as spelled on disk."""

    files: Mapping[str, FileSignature]
    folders: Mapping[str, int]
    """Each folder's modification time in nanoseconds, from before it was listed; "" is the root."""
    unreadable: tuple[str, ...] = ()
    """Folders whose notes are unknown, which is not the same as gone."""
    skipped: tuple[str, ...] = ()
    """Linked folders, links to notes outside, and names that are not UTF-8."""


class _Walk:
    """One walk's state."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files: dict[str, FileSignature] = {}
        self.folders: dict[str, int] = {}
        self.unreadable: list[str] = []
        self.skipped: list[str] = []
        self.waiting: list[str] = []

    def folder(self, relative: str) -> None:
        """List one folder."""
        place = self.root / relative if relative else self.root
        try:
            self.folders[relative] = place.stat().st_mtime_ns
            with os.scandir(place) as entries:
                self._entries(entries, f"{relative}/" if relative else "")
        except (FileNotFoundError, NotADirectoryError):
            self.folders.pop(relative, None)  # it went while we looked
        except OSError:
            self.unreadable.append(relative)

    def _entries(self, entries: "Iterator[os.DirEntry[str]]", prefix: str) -> None:
        for entry in entries:
            name = entry.name
            if name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                self._below(prefix + name)
            elif entry.is_symlink():
                self._link(entry, prefix + name)
            elif name[-3:].lower() == ".md" and is_note_path(name):
                self._file(entry, prefix + name)

    def _below(self, path: str) -> None:
        if _is_utf8(path):
            self.waiting.append(path)
        else:
            self.skipped.append(_shown(path))

    def _file(self, entry: "os.DirEntry[str]", path: str) -> None:
        try:
            found = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            return
        if not stat.S_ISREG(found.st_mode):
            return
        if not path.isascii() and not _is_utf8(path):
            self.skipped.append(_shown(path))
            return
        self.files[path] = _signature(found)

    def _link(self, entry: "os.DirEntry[str]", path: str) -> None:
        """A link to a note inside the vault counts; a linked folder is never entered."""
        if not _is_utf8(path) or not is_note_path(path):
            if entry.is_dir():
                self.skipped.append(_shown(path))
            return
        try:
            found = resolve_note(self.root, path).stat()
        except UnsafePath:
            self.skipped.append(path)
            return
        except OSError:
            return  # it leads nowhere
        if stat.S_ISREG(found.st_mode):
            self.files[path] = _signature(found)


def walk(root: Path) -> Walked:
    """Every note below `root` with its signature.

    Skips dot-folders and what is no note by its name or its type. Raises VaultOffline when the
    root itself is missing or unreadable.
    """
    state = _Walk(root)
    state.folder("")
    if state.unreadable or "" not in state.folders:
        raise VaultOffline("the vault's folder is missing or unreadable; nothing was removed")
    while state.waiting:
        state.folder(state.waiting.pop())
    return Walked(
        state.files, state.folders, tuple(sorted(state.unreadable)), tuple(sorted(state.skipped))
    )


def _signature(found: os.stat_result) -> FileSignature:
    return FileSignature(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def _is_utf8(path: str) -> bool:
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _shown(path: str) -> str:
    return path.encode("utf-8", "backslashreplace").decode("utf-8")
