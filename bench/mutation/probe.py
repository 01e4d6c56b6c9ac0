"""Notes which blocks of the product a test reaches, in this process and in those it starts."""

import os
from pathlib import Path

__all__ = ["Reached"]


class Reached:
    """Called by each block of an instrumented package with the block's name.

    The test that runs is named in `folder/test`, for processes that it starts; a block is noted
    once for each process and test, at once, so that a killed process loses nothing.
    """

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._seen: set[str] = set()
        self._file = os.open(
            self._folder / "blocks", os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        named = self._folder / "test"
        self._test = named.read_text(encoding="utf-8") if named.exists() else ""

    def __call__(self, block: str) -> None:
        if block not in self._seen:
            self._seen.add(block)
            os.write(self._file, f"{self._test}\t{block}\n".encode())

    def begin(self, test: str) -> None:
        """From here on another test runs."""
        (self._folder / "test").write_text(test, encoding="utf-8")
        self._test = test
        self._seen.clear()
