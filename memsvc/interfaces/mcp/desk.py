"""Opens the service behind a server that already answers, and hands it to the calls that need it."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memsvc.errors import StorageFailed
from memsvc.model.identity import Caller

if TYPE_CHECKING:
    from memsvc.service.api import MemoryService

__all__ = ["Desk", "Opened"]


@dataclass(frozen=True, slots=True)
class Opened:
    """A service that is ready, and the caller that the process is bound to."""

    service: "MemoryService"
    caller: Caller
    anonymous: bool = False
    """Whether the connected program names the principal, since the settings do not."""


class Desk:
    """One service per process, opened once, in a thread of its own.

    `opener` makes the service ready or raises; after a failure the next call tries again, so a
    mended home needs no restart.
    """

    def __init__(self, opener: Callable[[], Opened], *, patience: float = 30.0) -> None:
        self._opener = opener
        self._patience = patience
        self._lock = threading.Lock()
        self._attempt: Future[Opened] | None = None

    def start(self) -> "Future[Opened]":
        """Begin to open, unless that was begun; returns at once."""
        with self._lock:
            attempt = self._attempt
            if attempt is None or (attempt.done() and attempt.exception() is not None):
                attempt = self._attempt = Future()
                threading.Thread(
                    target=self._open, args=(attempt,), name="memsvc-open", daemon=True
                ).start()
            return attempt

    def opened(self) -> Opened:
        """The ready service; waits for it as long as the patience lasts.

        Raises what the opener raised, or StorageFailed when it takes too long.
        """
        try:
            return self.start().result(timeout=self._patience)
        except TimeoutError as error:
            raise StorageFailed(
                f"memsvc is still opening its home after {self._patience:.0f} s; "
                "try again, and run `memsvc doctor` if it stays so"
            ) from error

    def close(self) -> None:
        """Close the service if it is open."""
        with self._lock:
            attempt = self._attempt
        if attempt is not None and attempt.done() and attempt.exception() is None:
            attempt.result().service.close()

    def _open(self, attempt: "Future[Opened]") -> None:
        try:
            attempt.set_result(self._opener())
        except BaseException as error:  # noqa: BLE001 - handed to the waiting call, which reports it
            attempt.set_exception(error)
