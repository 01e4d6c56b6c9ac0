"""A model in a process of its own: if it crashes or hangs, a new one is started and the server lives.

The child ends when its input does, so it never outlives its parent. A call during which it dies is
tried once more with a new child. Children that keep dying are started ever later, and at last no
more; callers then go on with words only.
"""

import json
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING

from memsvc.embedding import wire
from memsvc.embedding.protocol import Reading
from memsvc.embedding.wire import Frame, Kind
from memsvc.errors import Misconfigured, ModelUnavailable
from memsvc.logs import logger

if TYPE_CHECKING:  # numpy is imported with the first answer, not with the package
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["IsolatedEmbedder", "Limits", "worker_command"]

_SLICE = 16
"""Passages a frame: a batch is not one long stretch that nothing can come between."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How patient a parent is, in seconds: for a first start, a later one and an answer; the pause
    before each new start; and how long a death counts.
    """

    first_start: float = 330.0  # may build the packaged model, once in the life of a home
    start: float = 60.0
    answer: float = 120.0
    pauses: tuple[float, ...] = (0.0, 0.0, 5.0, 30.0, 120.0)
    memory: float = 900.0


_PATIENT = Limits()


def worker_command(setting: str, models: Path) -> list[str]:
    """What runs a model's process."""
    return [sys.executable, "-P", "-m", "memsvc.embedding.worker", setting, str(models)]


class IsolatedEmbedder:
    """An Embedder that asks a child process; safe to share by threads, and by calls of any length."""

    def __init__(
        self, command: Sequence[str], *, folder: Path | None = None, limits: Limits = _PATIENT
    ) -> None:
        """Start a child in a folder, and wait until its model is loaded.

        Raises Misconfigured if it does not load, OSError if no child can be started.
        """
        self._command = list(command)
        self._folder = folder if folder and folder.is_dir() else None
        self._limits = limits
        self._lock = threading.Lock()
        self._deaths: deque[float] = deque(maxlen=len(limits.pauses) + 1)
        self._not_before = 0.0
        self._closed = False
        self.problem = ""
        """Why no child is started any more; empty while that may happen."""
        self._child: _Child | None = None
        self._child, about = self._started(limits.first_start)
        self._model_id = str(about["model_id"])
        self._dimension = int(str(about["dimension"]))
        self._max_tokens = int(str(about["max_tokens"]))

    @property
    def model_id(self) -> str:
        return self._model_id

    @property
    def dimension(self) -> int:
        return self._dimension

    @property
    def max_tokens(self) -> int:
        return self._max_tokens

    @property
    def up(self) -> bool:
        """Whether a call has a chance now: a child is there, or may be started. Never waits."""
        child = self._child
        return (child is not None and child.alive) or self._may_start()

    @property
    def child_id(self) -> int:
        """The process id of the child at hand, or 0."""
        child = self._child
        return child.process_id if child is not None and child.alive else 0

    def close(self) -> None:
        """End the child; later calls raise ModelUnavailable."""
        self._closed = True
        with self._lock:
            if self._child is not None:
                self._child.end()

    def embed_query(self, text: str) -> "NDArray[np.float32]":
        frame = self._ask(Kind.EMBED_QUERY, [text])
        vector: NDArray[np.float32] = wire.unpack_vectors(frame.body, dimension=self._dimension)[0]
        return vector

    def embed_passages(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        import numpy as np  # see above

        vectors = np.empty((len(texts), self._dimension), dtype=np.float32)
        for start in range(0, len(texts), _SLICE):
            some = texts[start : start + _SLICE]
            frame = self._ask(Kind.EMBED_PASSAGES, some)
            found = wire.unpack_vectors(frame.body, dimension=self._dimension)
            vectors[start : start + len(some)] = found
        return vectors

    def read_query(self, text: str) -> Reading:
        return wire.unpack_readings(self._ask(Kind.READ_QUERY, [text]).body)[0]

    def read_passages(self, texts: Sequence[str]) -> list[Reading]:
        found: list[Reading] = []
        for start in range(0, len(texts), _SLICE):
            frame = self._ask(Kind.READ_PASSAGES, texts[start : start + _SLICE])
            found += wire.unpack_readings(frame.body)
        return found

    def count_tokens(self, text: str) -> int:
        return int(self._ask(Kind.COUNT, [text]).body)

    def _ask(self, kind: Kind, texts: Sequence[str]) -> Frame:
        body = wire.pack_texts(texts)
        for _ in range(2):
            child = self._living()
            try:
                frame = child.ask(kind, body).result(self._limits.answer)
            except TimeoutError:
                child.end()
                self._died(child, "hung")
            except _Ended as error:
                self._died(child, str(error))
            else:
                if frame.kind is Kind.FAILED:
                    raise ModelUnavailable(frame.body.decode())
                return frame
        raise ModelUnavailable("the model's process ended twice at the same text")

    def _living(self) -> "_Child":
        """The child, started anew if need be and allowed; callers at the same time wait for it."""
        with self._lock:
            if self._child is not None and self._child.alive:
                return self._child
            if not self._may_start():
                raise ModelUnavailable(
                    self.problem or "the model's process ended; it is started again in a moment"
                )
            try:
                self._child, about = self._started(self._limits.start)
            except (Misconfigured, OSError) as error:
                self._count_death(str(error))
                raise ModelUnavailable("the model's process could not be started again") from error
            if about["model_id"] != self._model_id:
                self._child.end()
                self.problem = "the model was changed while in use; start memsvc again"
                raise ModelUnavailable(self.problem)
            return self._child

    def _may_start(self) -> bool:
        return not self._closed and not self.problem and time.monotonic() >= self._not_before

    def _started(self, patience: float) -> "tuple[_Child, dict[str, object]]":
        child = _Child(self._command, self._folder)
        try:
            frame = child.ready.result(patience)
        except TimeoutError as error:
            child.end()
            raise Misconfigured("the model took too long to load") from error
        except _Ended as error:
            raise Misconfigured(f"the model's process ended while it loaded ({error})") from error
        if frame.kind is not Kind.READY:
            child.end()
            raise Misconfigured(frame.body.decode("utf-8", "replace"))
        about: dict[str, object] = json.loads(frame.body)
        return child, about

    def _died(self, child: "_Child", how: str) -> None:
        with self._lock:
            if self._child is child and not self._closed:
                self._child = None
                self._count_death(how)

    def _count_death(self, how: str) -> None:
        now = time.monotonic()
        self._deaths.append(now)
        recent = sum(1 for at in self._deaths if now - at <= self._limits.memory)
        logger(__name__).warning("model_process_ended", how=how, recent=recent)
        if recent > len(self._limits.pauses):
            self.problem = f"the model's process ended {recent} times; start memsvc again"
            return
        self._not_before = now + self._limits.pauses[recent - 1]


class _Ended(Exception):
    """The child is gone; says how it ended."""


class _Child:
    """One child process, its two pipes, and a thread at each: a call waits for its own answer only."""

    def __init__(self, command: Sequence[str], folder: Path | None) -> None:
        import subprocess  # a process that loads its model inside does not need it

        self._process = subprocess.Popen(  # noqa: S603 - our own module, by absolute path
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # no handle of ours may stay open in it
            start_new_session=True,  # an interrupt is for the server, which then ends the child
        )
        self.ready: Future[Frame] = Future()
        self._pending: dict[int, Future[Frame]] = {0: self.ready}
        self._asked = 0
        self._lock = threading.Lock()
        self._gone = ""
        self._questions: SimpleQueue[Frame | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=work, name=f"memsvc-model-{name}", daemon=True)
            for name, work in (("questions", self._write), ("answers", self._read))
        ]
        for thread in self._threads:
            thread.start()

    @property
    def alive(self) -> bool:
        return not self._gone

    @property
    def process_id(self) -> int:
        return self._process.pid

    def ask(self, kind: Kind, body: bytes) -> "Future[Frame]":
        """The answer, in time. Raises _Ended, here or there, when the child ends before it."""
        future: Future[Frame] = Future()
        with self._lock:
            if self._gone:
                raise _Ended(self._gone)
            self._asked += 1
            self._pending[self._asked] = future
            self._questions.put(Frame(self._asked, kind, body))
        return future

    def end(self) -> None:
        """Kill the child and wait until it is gone."""
        self._process.kill()
        for thread in self._threads:
            thread.join(timeout=10)

    def _write(self) -> None:
        pipe = self._process.stdin
        with suppress(OSError):  # then the child is gone, which the other thread sees
            while pipe is not None and (frame := self._questions.get()) is not None:
                wire.write_frame(pipe, frame)
        if pipe is not None:
            with suppress(OSError):
                pipe.close()

    def _read(self) -> None:
        pipe = self._process.stdout
        with suppress(ValueError):  # what is no frame ends the talk as a closed pipe does
            while pipe is not None and (frame := wire.read_frame(pipe)) is not None:
                with self._lock:
                    future = self._pending.pop(frame.number, None)
                if future is not None:
                    future.set_result(frame)
        self._process.kill()  # if it only closed its output
        code = self._process.wait()
        if pipe is not None:
            pipe.close()
        with self._lock:
            self._gone = f"signal {-code}" if code < 0 else f"code {code}"
            waiting, self._pending = list(self._pending.values()), {}
        self._questions.put(None)
        for future in waiting:
            future.set_exception(_Ended(self._gone))
