"""The model as something that may still be loading: asked for at once, there when it is ready."""

import threading
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Literal

from memsvc.embedding.choice import choose_model
from memsvc.embedding.packaged import OnnxEmbedder
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


class LazyEmbedder:
    """An embedder that loads once, in the background or on demand; safe to share by threads.

    `state` is `idle`, `loading`, `ready` or `missing`; when missing, `problem` says why in words
    for a person. A missing model stays missing until the process starts again.
    """

    def __init__(self, load: Callable[[], Embedder]) -> None:
        """`load` may raise Misconfigured, ImportError or OSError; it is called at most once."""
        self.count_tokens = TokenCounter()
        self._load = load
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
    def from_setting(
        cls, setting: Literal["packaged", "none"], *, models: Path, workers: int | None = None
    ) -> "LazyEmbedder":
        """What the setting asks for: the packaged model, in the build that the folder `models` of
        the home has decided for, or nothing. Nothing is loaded, imported or written yet.
        """
        if setting == "none":
            return cls.off()

        def load() -> Embedder:
            chosen = choose_model(models)
            return OnnxEmbedder(chosen.path, model_id=chosen.model_id, workers=workers)

        return cls(load)

    @property
    def state(self) -> LoadState:
        return self._state

    @property
    def problem(self) -> str:
        return self._problem

    def start(self) -> None:
        """Begin loading in a daemon thread, unless that has begun; returns at once."""
        if self._begin():
            threading.Thread(target=self._run, name="memsvc-model", daemon=True).start()

    def ready(self) -> Embedder | None:
        """The embedder if it is loaded; never waits."""
        return self._embedder

    def wait(self, timeout: float) -> Embedder | None:
        """The embedder as soon as it is loaded; None when it is missing or the seconds are over.

        Does not begin to load.
        """
        self._done.wait(timeout)
        return self._embedder

    def load_now(self) -> Embedder | None:
        """Load in this thread, or wait for the one that does; None when the model is missing."""
        if self._begin():
            self._run()
        self._done.wait()
        return self._embedder

    def _begin(self) -> bool:
        with self._lock:
            if self._state is not LoadState.IDLE:
                return False
            self._state = LoadState.LOADING
            return True

    def _run(self) -> None:
        problem = "the model did not load; see the log"  # holds if `load` raises what it may not
        embedder: Embedder | None = None
        try:
            embedder = self._load()
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
