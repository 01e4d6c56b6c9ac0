"""Files that appear whole or not at all."""

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from memsvc.errors import StorageFailed

__all__ = ["appearing", "beside"]


def beside(target: Path) -> Path:
    """A fresh name in the same folder, which nothing takes for a note or a finished file."""
    return target.with_name(f".{target.name[:100]}.{secrets.token_hex(4)}.memsvc-tmp")


@contextmanager
def appearing(
    target: Path, check: Callable[[], None], *, errors: str = "strict"
) -> Iterator[TextIO]:
    """A text file for its owner alone, UTF-8, that takes its place when the block ends well.

    `check` refuses what is at the place; it is asked before, and again at the end. Raises what it
    raises, and StorageFailed.
    """
    check()
    fresh = beside(target)
    try:
        handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", errors=errors, newline="") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        check()  # something may have come meanwhile
        fresh.replace(target)
    except OSError as error:
        raise StorageFailed(f"{target.name} was not written: {error.strerror}") from error
    finally:
        fresh.unlink(missing_ok=True)
