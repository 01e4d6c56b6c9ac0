"""Copies the files of a folder that is in use: each as it was at one moment, or not at all."""

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from memsvc.errors import StorageFailed
from memsvc.ops.backup.manifest import LeftOut

__all__ = ["Found", "Taken", "copy_steadily", "look_around", "pour"]

CHUNK = 1 << 20
_TRIES = 6
_PAUSE = 0.05
_RACY_NS = 2_000_000_000
"""A file whose time is this close to now may change again without a trace: it is hashed again."""
_IN_GIT = "the git repository: clone or push it"
_IS_LINK = "a link: what it leads to is kept where it is"
_NO_TEXT = "its name is not UTF-8"
_SPECIAL = "no file and no folder"


@dataclass(slots=True)
class Found:
    """The files below a folder by relative path, and what is left out."""

    files: list[str] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Taken:
    """A copied file: its bytes begin at `start` of where they were copied to."""

    start: int
    size: int
    sha256: str
    mtime_ns: int
    mode: int


def look_around(root: Path) -> Found:
    """Every regular file below `root`; links, `.git` and what has no plain name are left out.

    Raises StorageFailed for a folder that cannot be read: a backup without it would not be one.
    """
    found = Found()
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        try:
            with os.scandir(root / prefix) as entries:
                for entry in entries:
                    _sort(entry, f"{prefix}{entry.name}", found, waiting)
        except FileNotFoundError:
            if not prefix:
                raise StorageFailed(f"the folder {root.name} is not there") from None
        except OSError as error:
            raise StorageFailed(
                f"the folder {prefix or root.name} cannot be read ({error.strerror}); make it "
                "readable and repeat"
            ) from error
    found.files.sort()
    found.left_out.sort(key=lambda one: one.path)
    return found


def _sort(entry: "os.DirEntry[str]", path: str, found: Found, waiting: list[str]) -> None:
    shown = path.encode("utf-8", "backslashreplace").decode("utf-8")
    if shown != path:
        found.left_out.append(LeftOut(path=shown, why=_NO_TEXT))
    elif entry.is_symlink():
        found.left_out.append(LeftOut(path=path, why=_IS_LINK))
    elif entry.name == ".git":
        found.left_out.append(LeftOut(path=path, why=_IN_GIT))
    elif entry.is_dir(follow_symlinks=False):
        waiting.append(f"{path}/")
    elif not entry.is_file(follow_symlinks=False):
        found.left_out.append(LeftOut(path=path, why=_SPECIAL))
    elif not entry.name.endswith(".memsvc-tmp"):
        found.files.append(path)


def copy_steadily(path: Path, out: BinaryIO) -> Taken | None:
    """Append the file to `out` as it was at one moment; None if it went away.

    A file that changes meanwhile is copied again. Raises StorageFailed if it never holds still.
    """
    start = out.tell()
    for attempt in range(_TRIES):
        if attempt:
            time.sleep(_PAUSE * attempt)
        try:
            taken = _copy_once(path, out, start)
        except FileNotFoundError:
            taken = None
            if not os.path.lexists(path):
                out.seek(start)
                out.truncate()
                return None
        if taken is not None:
            return taken
        out.seek(start)
        out.truncate()
    raise StorageFailed(
        f"{path.name} kept changing while it was copied; let what writes it come to rest and repeat"
    )


def _copy_once(path: Path, out: BinaryIO, start: int) -> Taken | None:
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        before = os.fstat(file.fileno())
        digest, size = _digest(pour(file, out))
        if size != before.st_size:
            return None
        if time.time_ns() - before.st_mtime_ns < _RACY_NS:
            file.seek(0)
            if _digest(_chunks(file)) != (digest, size):
                return None
    if _look(path.lstat()) != _look(before):
        return None
    return Taken(
        start, size, digest, max(0, before.st_mtime_ns), stat.S_IMODE(before.st_mode) & 0o777
    )


def pour(source: BinaryIO, out: BinaryIO) -> Iterator[bytes]:
    """Copy all of `source` to `out`, giving each piece that was written."""
    for piece in _chunks(source):
        out.write(piece)
        yield piece


def _chunks(source: BinaryIO) -> Iterator[bytes]:
    while piece := source.read(CHUNK):
        yield piece


def _digest(pieces: Iterator[bytes]) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    for piece in pieces:
        digest.update(piece)
        size += len(piece)
    return digest.hexdigest(), size


def _look(found: os.stat_result) -> tuple[int, ...]:
    return (found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
