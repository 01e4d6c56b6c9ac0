"""Writes and moves files so that they are whole or absent, also after power loss."""

import errno
import hashlib
import os
import re
import secrets
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from memsvc.errors import StorageFailed

__all__ = [
    "FileChanged",
    "FileSignature",
    "Staged",
    "leftovers",
    "move",
    "probe",
    "remove",
    "signature",
    "stage",
    "sync_folder",
]

_STAGED = re.compile(r"\..*\.[0-9a-f]{12}\.memsvc-tmp\Z", re.DOTALL)
_NAME_BYTES = 150
_NO_HARD_LINKS = frozenset(
    {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV}
)
_ADVICE = {
    errno.ENOSPC: "the disk is full; free some space and try again",
    errno.EDQUOT: "the disk quota is used up; free some space and try again",
    errno.EROFS: "the file system is read-only; make it writable and try again",
    errno.EACCES: "permission is missing; make the file and its folder writable",
    errno.EPERM: "permission is missing; make the file and its folder writable",
    errno.ENAMETOOLONG: "the name is too long for this file system; use a shorter one",
    errno.ENOTDIR: "a file stands where a folder is needed; rename it",
    errno.EISDIR: "a folder stands where the file would go; rename it",
}


class FileSignature(NamedTuple):
    """What tells a changed file from an unchanged one without reading it."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class FileChanged(Exception):
    """The file is not what the caller expects; nothing was written."""


class Staged:
    """Bytes that are safely on disk beside their target, ready to take its place.

    Ends with `publish` or `discard`; both may be called again without effect.
    """

    __slots__ = ("_created", "_temporary", "target")

    def __init__(self, target: Path, temporary: Path, created: list[Path]) -> None:
        self.target = target
        self._temporary: Path | None = temporary
        self._created = created

    def publish(self, *, expect: str | None) -> None:
        """Put the bytes in place and sync the folder.

        `expect` is the sha256 of the bytes that must be there now, None for no file at all. Raises
        FileChanged otherwise, and keeps what is staged; StorageFailed when the disk refuses.
        """
        temporary = self._temporary
        if temporary is None:
            return
        try:
            with _failing(self.target.name):
                if expect is None:
                    _link_new(temporary, self.target)
                else:
                    _check(self.target, expect)
                    temporary.replace(self.target)
                sync_folder(self.target.parent)
        except StorageFailed:
            self.discard()
            raise
        self._temporary = None

    def discard(self) -> None:
        """Remove the staged bytes, and the folders made for them if they are empty."""
        if self._temporary is None:
            return
        with suppress(OSError):
            self._temporary.unlink(missing_ok=True)
        self._temporary = None
        _remove_folders(self._created)


def stage(target: Path, data: bytes) -> Staged:
    """Write and sync bytes beside `target`, in a file that no one takes for a note.

    Missing folders are made. An existing target's mode, and its owner if possible, are kept.
    Raises StorageFailed, with nothing left behind, when the disk refuses.
    """
    created: list[Path] = []
    temporary = target.parent / _staging_name(target.name)
    try:
        with _failing(target.name):
            _make_folders(target.parent, created)
            _write(temporary, data, like=_stat(target))
    except StorageFailed:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        _remove_folders(created)
        raise
    return Staged(target, temporary, created)


def move(source: Path, target: Path, *, expect: str) -> None:
    """Move a file durably, never over another one; missing folders are made.

    `expect` is the sha256 of the source. Raises FileChanged when the source is something else or
    gone, or the target is taken; a move that was cut off half way is finished instead.
    """
    data = _check(source, expect)
    created: list[Path] = []
    try:
        with _failing(target.name):
            _make_folders(target.parent, created)
            _link_or_copy(source, target, data)
            sync_folder(target.parent)
            source.unlink()
            sync_folder(source.parent)
    except (StorageFailed, FileChanged):
        _remove_folders(created)
        raise


def remove(path: Path, *, expect: Collection[str]) -> None:
    """Remove a file durably, and the file that it stands for when it is a link; none is no error.

    `expect` are the sha256 that it may have: FileChanged is raised for any other, and the file
    stays. Raises StorageFailed when the disk refuses.
    """
    if not path.exists():
        return
    with _failing(path.name):
        real = path.resolve()
        if hashlib.sha256(real.read_bytes()).hexdigest() not in expect:
            raise FileChanged(f"{path.name} is not what it was")
        for one in dict.fromkeys((real, path)):
            one.unlink(missing_ok=True)
            sync_folder(one.parent)


def _link_or_copy(source: Path, target: Path, data: bytes) -> None:
    """Let the target be the source, or a copy of its `data` where a link cannot be."""
    try:
        os.link(source, target, follow_symlinks=False)
    except FileExistsError:
        if not source.samefile(target):
            raise FileChanged(f"{target.name} is already there") from None
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        stage(target, data).publish(expect=None)


def probe(folder: Path) -> None:
    """Check that files can be made in a folder, which is made if missing; else StorageFailed."""
    name = folder / _staging_name("probe")
    created: list[Path] = []
    try:
        with _failing(folder.name):
            _make_folders(folder, created)
            os.close(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            name.unlink()
    except StorageFailed:
        _remove_folders(created)
        raise


def leftovers(root: Path) -> list[Path]:
    """Staged files that were never published, anywhere below `root`.

    A live writer has some too: leave those that are younger than a write takes.
    """
    found: list[Path] = []
    for folder, folders, names in os.walk(root):
        if ".git" in folders:
            folders.remove(".git")
        found.extend(Path(folder, name) for name in names if _STAGED.match(name))
    return sorted(found)


def signature(path: Path) -> FileSignature:
    """The file's signature; raises OSError as `stat` does."""
    found = path.stat()
    return FileSignature(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


@contextmanager
def _failing(name: str) -> Iterator[None]:
    """Turn what the system says into what a person can do. Names the file, never its place."""
    try:
        yield
    except OSError as error:
        advice = _ADVICE.get(error.errno or 0, f"the system says: {error.strerror}")
        raise StorageFailed(f"{name} was not written: {advice}", file=name) from error


def _staging_name(name: str) -> str:
    short = os.fsencode(name)[:_NAME_BYTES].decode("utf-8", "ignore")
    return f".{short}.{secrets.token_hex(6)}.memsvc-tmp"


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.lstat()
    except FileNotFoundError:
        return None


def _write(path: Path, data: bytes, *, like: os.stat_result | None) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        if like is not None and os.name == "posix":
            os.fchmod(handle, like.st_mode & 0o7777)
            if (like.st_uid, like.st_gid) != (os.geteuid(), os.getegid()):
                with suppress(PermissionError):
                    os.fchown(handle, like.st_uid, like.st_gid)
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        os.fsync(handle)
    finally:
        os.close(handle)


def _check(path: Path, expect: str) -> bytes:
    """The file's bytes, if they are the expected ones and did not change while being read."""
    try:
        before = signature(path)
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() == expect and signature(path) == before:
            return data
    except FileNotFoundError:
        pass
    raise FileChanged(f"{path.name} is not what it was")


def _link_new(temporary: Path, target: Path) -> None:
    """Give the staged file its name unless something has it."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        raise FileChanged(f"{target.name} is already there") from None
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        _claim(target)
        temporary.replace(target)
    else:
        temporary.unlink()


def _claim(target: Path) -> None:
    """Take a name with an empty file, where the file system has no hard links."""
    try:
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    except FileExistsError:
        raise FileChanged(f"{target.name} is already there") from None


def _make_folders(folder: Path, created: list[Path]) -> None:
    """Make a folder and its parents durably; those that were missing are added to `created`."""
    missing = []
    while not folder.is_dir():
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        try:
            one.mkdir()
        except FileExistsError:
            if not one.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from None
            continue
        created.append(one)
        sync_folder(one.parent)


def _remove_folders(created: list[Path]) -> None:
    for folder in reversed(created):
        with suppress(OSError):  # not empty: someone else uses it
            folder.rmdir()
    created.clear()


def sync_folder(folder: Path) -> None:
    """Have a folder's names on disk, where the system can. Raises OSError."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems cannot
            raise
    finally:
        os.close(handle)
