"""What is left of a purged note outside its rows and files, erased: vectors, words, pages, journal.

The transaction that purges owes a `scrub`; it is done right after, and by whoever comes next if it
was cut off. Every step may be done again.
"""

import time
from collections.abc import Sequence
from pathlib import Path

from memsvc.errors import StorageFailed
from memsvc.index import writer as index
from memsvc.ledger import writer as ledger
from memsvc.ledger.records import FileOperation
from memsvc.logs import logger
from memsvc.model.vocabulary import NoteId
from memsvc.service.gateway.parts import Parts

__all__ = ["SCRUB", "scrub", "scrub_again"]

SCRUB = "scrub"
"""The kind of a pending operation that no file belongs to."""
_ROUNDS = 3
_CHEAP_SECONDS = 2.0
"""An attempt that takes less is made at every access until it succeeds."""
_DUTY = 10
"""A dearer one is made again after so many times its cost."""
_NOT_BEFORE: dict[Path, float] = {}
"""By home, when this process tries again; seconds of the monotonic clock."""

_log = logger("memsvc.gateway")


def scrub(parts: Parts, owed: Sequence[FileOperation]) -> bool:
    """Erase what deleted rows left behind, in the whole home; whether it is all gone.

    It stays owed when another process holds on to old pages, or the disk refuses.
    """
    try:
        for note_id in dict.fromkeys(operation.note_id for operation in owed):
            _forget_rulers(parts.home.rulers, note_id)
        with parts.database.write() as connection:
            index.forget_deleted(connection)
        done = _scrub_vectors(parts) and parts.database.rewrite()
    except StorageFailed as error:
        _log.error("purge_not_finished", code=error.code)
        return False
    if done:
        with parts.database.write() as connection:
            for operation in owed:
                ledger.drop_operation(connection, operation.operation_id)
    return done


def scrub_again(parts: Parts, owed: Sequence[FileOperation]) -> None:
    """`scrub` for what an earlier attempt left; not at every access when attempts are dear and fail."""
    root = parts.home.root
    begun = time.monotonic()
    if begun < _NOT_BEFORE.get(root, 0.0):
        return
    done = scrub(parts, owed)
    cost = time.monotonic() - begun
    _NOT_BEFORE[root] = 0.0 if done or cost < _CHEAP_SECONDS else begun + _DUTY * cost


def _scrub_vectors(parts: Parts) -> bool:
    """Erase vectors that no passage has; a file that was copied to win room goes a round later."""
    for _ in range(_ROUNDS):
        with parts.database.write() as connection:
            index.scrub(connection)
        with parts.database.read() as connection:
            if not index.untidy(connection):
                return True
    return False


def _forget_rulers(folder: Path, note_id: NoteId) -> None:
    """Remove questions that were made of the note, with the others of their set: they are made anew."""
    wanted = note_id.encode()
    for path in sorted(folder.glob("*/*/*gold.json*")):
        try:
            if wanted in path.read_bytes():
                path.unlink()
        except FileNotFoundError:
            pass  # somebody removed it first
        except OSError as error:
            raise StorageFailed(f"{path.name} cannot be removed: {error.strerror}") from error
