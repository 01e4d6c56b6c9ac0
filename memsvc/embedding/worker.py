"""The process that a model runs in: `python -m memsvc.embedding.worker SETTING MODELS`.

Answers frames from standard input on standard output until its input ends, which is also how it
notices that its parent is gone: then it ends at once, whatever it is doing.
"""

import json
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import IO

from memsvc.embedding import wire
from memsvc.embedding.opening import open_embedder
from memsvc.embedding.protocol import Embedder
from memsvc.embedding.wire import Frame, Kind
from memsvc.errors import Misconfigured, ModelUnavailable

__all__ = ["answer", "serve"]

_AT_ONCE = 4
"""Questions that are worked on side by side, so that a query need not wait for a batch."""
_BROKEN = 70


def serve(load: Callable[[], Embedder]) -> None:
    """Load a model, then answer until the input ends, which ends the process.

    `load` may raise Misconfigured, ImportError or OSError; the reason is told, and that is all.
    """
    desk = _Desk(os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)  # what native code prints must not come between the frames
    reading = threading.Thread(target=desk.read, name="memsvc-questions", daemon=True)
    reading.start()
    problem = ""
    try:
        desk.embedder = load()
    except Misconfigured as error:
        problem = error.message
    except ImportError as error:
        problem = f"{error.name or 'a library'} cannot be imported; install memsvc again"
    except OSError as error:
        problem = f"the model cannot be read: {error.strerror}"
    if desk.embedder is None:
        desk.say(Frame(0, Kind.MISSING, problem.encode()))
        return
    about = {
        "model_id": desk.embedder.model_id,
        "dimension": desk.embedder.dimension,
        "max_tokens": desk.embedder.max_tokens,
    }
    desk.say(Frame(0, Kind.READY, json.dumps(about).encode()))
    reading.join()


def answer(embedder: Embedder, frame: Frame) -> Frame:
    """The answer to one question."""
    texts = wire.unpack_texts(frame.body)
    try:
        match frame.kind:
            case Kind.EMBED_QUERY:
                kind, body = Kind.VECTORS, embedder.embed_query(texts[0]).tobytes()
            case Kind.EMBED_PASSAGES:
                kind, body = Kind.VECTORS, embedder.embed_passages(texts).tobytes()
            case Kind.READ_QUERY:
                kind, body = Kind.READINGS, wire.pack_readings([embedder.read_query(texts[0])])
            case Kind.READ_PASSAGES:
                kind, body = Kind.READINGS, wire.pack_readings(embedder.read_passages(texts))
            case _:
                kind, body = Kind.NUMBER, str(embedder.count_tokens(texts[0])).encode()
    except ModelUnavailable as error:
        kind, body = Kind.FAILED, error.message.encode()
    return Frame(frame.number, kind, body)


class _Desk:
    """The two pipes, and the threads between them."""

    def __init__(self, questions: IO[bytes], answers: IO[bytes]) -> None:
        self.embedder: Embedder | None = None
        self._questions = questions
        self._answers = answers
        self._writing = threading.Lock()
        self._pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="memsvc-answer")

    def read(self) -> None:
        """Take questions, which come only once the model is there, until there are no more."""
        while (frame := wire.read_frame(self._questions)) is not None:
            self._pool.submit(self._answer, frame).add_done_callback(_die_of_a_fault)
        os._exit(0)  # nothing may keep a process alive that nobody listens to

    def say(self, frame: Frame) -> None:
        """Send one frame; a parent that is gone ends the process."""
        with self._writing:
            try:
                wire.write_frame(self._answers, frame)
            except OSError:
                os._exit(0)

    def _answer(self, frame: Frame) -> None:
        if self.embedder is not None:
            self.say(answer(self.embedder, frame))


def _die_of_a_fault(done: "Future[None]") -> None:
    """An error that nobody foresaw leaves its question without an answer: end, and be seen to."""
    if done.exception() is not None:
        os._exit(_BROKEN)


def _main(setting: str, models: str) -> None:
    serve(lambda: open_embedder(setting, Path(models)))


if __name__ == "__main__":
    _main(*sys.argv[1:])
