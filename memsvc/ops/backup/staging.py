"""A folder made ready beside its place and put there in one step, also after an interruption."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from memsvc.errors import InvalidInput, StorageFailed
from memsvc.notes.disk import sync_folder

__all__ = ["Stage", "is_free", "sync_all"]

_MARK = "placing"
_LOCK = "lock"
_FILES = "files"


class Stage:
    """The folder `.NAME.memsvc-restore` beside `target`, whose `files` are to become the target.

    Open it with `begin`; end with `put` and `end`, or with `give_up`.
    """

    def __init__(self, target: Path) -> None:
        self.target = target
        self.root = target.parent / f".{target.name}.memsvc-restore"
        self.files = self.root / _FILES
        self._lock = FileLock(self.root / _LOCK, timeout=0)
        self.placed = False

    def begin(self, mark: str) -> None:
        """Start with empty `files`; what an interrupted run left is taken away first.

        If that run had put the target in place for the same `mark`, it stays: `placed` says so.
        Raises StorageFailed, InvalidInput when another restore is at work there.
        """
        try:
            self.target.parent.mkdir(parents=True, exist_ok=True)
            self.root.mkdir(mode=0o700, exist_ok=True)
            self._lock.acquire()
        except Timeout as error:
            raise InvalidInput(
                f"another restore to {self.target.name} is at work; wait for its end",
                argument="into",
            ) from error
        except OSError as error:
            raise StorageFailed(
                f"nothing can be written beside {self.target.name}: {error.strerror}"
            ) from error
        self.placed = self.was_placed(mark)
        if self.placed:
            return
        shutil.rmtree(self.files, ignore_errors=True)
        (self.root / _MARK).unlink(missing_ok=True)
        self.files.mkdir()

    def was_placed(self, mark: str) -> bool:
        """Whether an earlier run for the same `mark` put the target in place and got no further."""
        if self.files.exists() or not self.target.is_dir():
            return False
        try:
            return (self.root / _MARK).read_text("utf-8") == mark
        except OSError:
            return False

    def put(self, mark: str) -> None:
        """Give the files their place, which must be free. Raises InvalidInput, StorageFailed."""
        if self.placed:
            return
        if not is_free(self.target):
            raise InvalidInput(
                f"{self.target.name} is not empty any more; nothing was put there", argument="into"
            )
        try:
            (self.root / _MARK).write_text(mark, "utf-8")
            sync_folder(self.root)
            with suppress(FileNotFoundError):
                self.target.rmdir()
            os.rename(self.files, self.target)  # noqa: PTH104 - the crash tests watch it
            sync_folder(self.target.parent)
        except OSError as error:
            raise StorageFailed(
                f"{self.target.name} was not put in place: {error.strerror}"
            ) from error
        self.placed = True

    def end(self) -> None:
        """Take the stage away: the whole restore is done, or nothing of it is wanted."""
        shutil.rmtree(self.files, ignore_errors=True)
        (self.root / _MARK).unlink(missing_ok=True)
        self._lock.release()
        (self.root / _LOCK).unlink(missing_ok=True)
        with suppress(OSError):
            self.root.rmdir()

    def give_up(self) -> None:
        """Leave no trace, unless the target is in place and a repeated run may go on from it."""
        if self.placed:
            self._lock.release()
        else:
            self.end()


def is_free(folder: Path) -> bool:
    """Whether a folder can be put there: nothing is, or an empty folder."""
    try:
        return not os.path.lexists(folder) or (folder.is_dir() and not any(folder.iterdir()))
    except OSError:
        return False


def sync_all() -> None:
    """Have everything written so far on disk."""
    if hasattr(os, "sync"):
        os.sync()
