"""A reranker that loads when it is first asked for, and says why when it cannot."""

import threading
from pathlib import Path

from memsvc.embedding.opening import NONE, open_reranker
from memsvc.embedding.protocol import Reranker
from memsvc.errors import Misconfigured
from memsvc.logs import logger

__all__ = ["LazyReranker"]


class LazyReranker:
    """What the setting `reranker` names; safe to share by threads. `wanted` is false for `none`.

    After a failed load `problem` says why in words for a person, until the process starts again.
    """

    def __init__(self, setting: str, *, models: Path) -> None:
        self.wanted = setting != NONE
        self.problem = ""
        self._setting = setting
        self._models = models
        self._lock = threading.Lock()
        self._reranker: Reranker | None = None

    def get(self) -> Reranker | None:
        """The reranker, loaded in this thread if it is not yet; None if there is none."""
        if not self.wanted:
            return None
        with self._lock:
            if self._reranker is None and not self.problem:
                self._load()
            return self._reranker

    def _load(self) -> None:
        try:
            self._reranker = open_reranker(self._setting, self._models)
        except Misconfigured as error:
            self.problem = error.message
        except ImportError as error:
            self.problem = f"{error.name or 'a library'} cannot be imported; install memsvc again"
        except OSError as error:
            self.problem = f"the reranker cannot be read: {error.strerror}"
        if self.problem:
            logger(__name__).warning("reranker_missing", problem=self.problem)
