"""The model as something that may still be loading: asked for at once, there when it is ready."""

import threading
from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path

from memsvc.embedding.isolated import IsolatedEmbedder, worker_command
from memsvc.embedding.opening import FOLDER, NONE, identity, open_embedder
from memsvc.embedding.protocol import Embedder
from memsvc.embedding.tokens import TokenCounter
from memsvc.errors import Misconfigured
from memsvc.logs import logger

__all__ = ["LazyEmbedder", "LoadState"]

_OFF = "off by setting (embedder = 'none')"


class LoadState(StrEnum):
    """Where a lazy embedder stands."""

    IDLE = "idle"
    LOADING = "loading"
    READY = "ready"
    MISSING = "missing"


SOON = 5.0
"""Seconds that a write, or the look at files that changed, waits for a model on its way."""


class LazyEmbedder:
    """An embedder that loads once, in the background or on demand; safe to share by threads.

    `state` is `idle`, `loading`, `ready` or `missing`; when missing, `problem` says why in words
    for a person. A missing model stays missing until the process starts again. A process that serves
    keeps its model in a child process, where a crash costs a moment of words only; one that answers
    once loads it inside, which is sooner done.
    """

    def __init__(
        self,
        load: Callable[[], Embedder],
        *,
        serve: Callable[[], Embedder] | None = None,
        name: Callable[[], str] = str,
    ) -> None:
        """`load` and `serve` may raise Misconfigured, ImportError or OSError; one of them is called,
        at most once: `serve` by `start`, `load` by `load_now`. `name` tells the id of the vectors
        without loading anything.
        """
        self.count_tokens = TokenCounter()
        self._load = load
        self._serve = serve or load
        self._name = name
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._state = LoadState.IDLE
        self._problem = ""
        self._embedder: Embedder | None = None

    @classmethod
    def of(cls, embedder: Embedder) -> "LazyEmbedder":
        """One that is ready from the start."""
        lazy = cls(lambda: embedder)
        lazy.load_now()
        return lazy

    @classmethod
    def off(cls, problem: str = _OFF) -> "LazyEmbedder":
        """One that is missing from the start."""
        lazy = cls(_never)
        lazy._settle(LoadState.MISSING, problem=problem)
        return lazy

    @classmethod
    def from_setting(cls, setting: str, *, models: Path) -> "LazyEmbedder":
        """What the setting asks for (see `memsvc.embedding.opening`); `models` is the home's folder
        of models. Nothing is loaded, imported or written yet.
        """
        if setting == NONE:
            return cls.off()
        if setting.startswith(FOLDER):
            place = Path(setting.removeprefix(FOLDER)).expanduser().absolute()
            setting = f"{FOLDER}{place}"

        def load() -> Embedder:
            return open_embedder(setting, models)

        def serve() -> Embedder:
            try:
                return IsolatedEmbedder(worker_command(setting, models), folder=models.parent)
            except OSError as error:
                logger(__name__).warning("no_process_for_the_model", problem=error.strerror)
                return load()

        return cls(load, serve=serve, name=lambda: identity(setting, models))

    @property
    def state(self) -> LoadState:
        if isinstance(self._embedder, IsolatedEmbedder) and not self._embedder.up:
            return LoadState.MISSING if self._embedder.problem else LoadState.LOADING
        return self._state

    @property
    def problem(self) -> str:
        if isinstance(self._embedder, IsolatedEmbedder):
            return self._embedder.problem
        return self._problem

    @property
    def model_id(self) -> str:
        """The id of the vectors that this embedder makes; "" if that cannot be told yet."""
        return self._embedder.model_id if self._embedder is not None else self._name()

    def start(self) -> None:
        """Begin loading in a daemon thread, unless that has begun; returns at once."""
        if self._begin():
            run = partial(self._run, self._serve)
            threading.Thread(target=run, name="memsvc-model", daemon=True).start()

    def close(self) -> None:
        """End the model's process, if it has one; then there is no model any more."""
        if isinstance(self._embedder, IsolatedEmbedder):
            self._embedder.close()

    def ready(self) -> Embedder | None:
        """The embedder if it is loaded and works; never waits."""
        return self._embedder if self.state is LoadState.READY else None

    def wait(self, timeout: float) -> Embedder | None:
        """The embedder as soon as it is loaded; None when it is missing or the seconds are over.

        Does not begin to load.
        """
        self._done.wait(timeout)
        return self._embedder

    def load_now(self) -> Embedder | None:
        """Load in this thread, or wait for the one that does; None when the model is missing."""
        if self._begin():
            self._run(self._load)
        self._done.wait()
        return self._embedder

    def soon(self) -> Embedder | None:
        """The embedder for who needs it now: a process that answers once loads it, and one that serves,
        where it is on its way, waits for `SOON` seconds. None when it is missing or late.
        """
        if self.state is LoadState.IDLE:
            self.load_now()
        else:
            self.wait(SOON)
        return self.ready()

    def _begin(self) -> bool:
        with self._lock:
            if self._state is not LoadState.IDLE:
                return False
            self._state = LoadState.LOADING
            return True

    def _run(self, load: Callable[[], Embedder]) -> None:
        problem = "the model did not load; see the log"  # holds if `load` raises what it may not
        embedder: Embedder | None = None
        try:
            embedder = load()
        except Misconfigured as error:
            problem = error.message
        except ImportError as error:
            problem = f"{error.name or 'a library'} cannot be imported; install memsvc again"
        except OSError as error:
            problem = f"the model cannot be read: {error.strerror}"
        finally:
            if embedder is not None:
                self._settle(LoadState.READY, embedder=embedder)
            else:
                self._settle(LoadState.MISSING, problem=problem)
        if embedder is None:
            logger(__name__).warning("model_missing", problem=problem)

    def _settle(
        self, state: LoadState, *, embedder: Embedder | None = None, problem: str = ""
    ) -> None:
        with self._lock:
            self._embedder, self._problem, self._state = embedder, problem, state
        self._done.set()


def _never() -> Embedder:
    raise Misconfigured(_OFF)
