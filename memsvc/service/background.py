"""The thread of a long-running process that takes in files and gives passages their vectors."""

import threading
import time
from collections.abc import Callable

from memsvc.errors import MemsvcError
from memsvc.logs import logger

__all__ = ["Background"]

IDLE_SECONDS = 2.0
"""How long a quiet vault is left alone between looks at its folder."""
REST_AFTER_ERROR = 30.0

_log = logger("memsvc.background")


class Background:
    """Runs `work` again and again until closed; `work` says whether there is more to do at once."""

    def __init__(self, work: Callable[[], bool]) -> None:
        self._work = work
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin, in a daemon thread; a second call does nothing."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="memsvc-index", daemon=True)
            self._thread.start()

    def poke(self) -> None:
        """There is something to do now."""
        self._wake.set()

    def close(self) -> None:
        """Stop after the batch at hand."""
        self._stop.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            rest = IDLE_SECONDS
            begun = time.monotonic()
            try:
                if self._work():
                    rest = 0.0
            except MemsvcError as error:
                _log.warning("background_failed", code=error.code)
                rest = REST_AFTER_ERROR
            except Exception as error:  # noqa: BLE001 - the outermost handler of a worker, logged
                _log.error("background_crashed", kind=type(error).__name__)
                rest = REST_AFTER_ERROR
            rest = (
                max(rest, min(10 * (time.monotonic() - begun), REST_AFTER_ERROR)) if rest else 0.0
            )
            if rest:
                self._wake.wait(timeout=rest)
