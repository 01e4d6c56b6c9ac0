"""What writes of this process did to folders, so that no walk of a vault is spent on them."""

import threading
from contextlib import suppress
from pathlib import Path

__all__ = ["OwnChanges"]

_MOST = 1_000
"""Of a folder that nobody looks at, so many changes are remembered."""


class OwnChanges:
    """Modification times of folders before and after our writes; safe to share by threads.

    What somebody else adds to a folder in the moment of a write goes unnoticed like an edit of a
    file that was there: until the next walk.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._after: dict[Path, dict[int, int]] = {}

    def add(self, folder: Path, *, before: int) -> None:
        """A write into a folder is over, whose time was `before` when it began, in nanoseconds."""
        with suppress(OSError), self._lock:
            changes = self._after.setdefault(folder, {})
            if len(changes) >= _MOST:
                changes.clear()
            changes[before] = folder.stat().st_mtime_ns

    def explain(self, folder: Path, *, since: int, now: int) -> bool:
        """Whether our writes alone took the folder from the one time to the other; asked once."""
        with self._lock:
            changes = self._after.get(folder, {})
            at = since
            while at != now and at in changes:
                at = changes.pop(at)
            return at == now
