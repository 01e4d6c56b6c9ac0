"""A model's process that does what its questions say: `die`, `fail`, `sleep`, or embed as the fake does.

`python -m tests.unit.embedding.fragile [BEFORE]`, where BEFORE is what happens while it loads.
"""

import os
import signal
import sys
import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memsvc.embedding.protocol import Embedder
from memsvc.embedding.worker import serve
from memsvc.errors import Misconfigured, ModelUnavailable
from tests.fakes import FakeEmbedder


class Fragile(FakeEmbedder):
    def embed_query(self, text: str) -> NDArray[np.float32]:
        match text.split():
            case ["die"]:
                die()
            case ["die", "once", path] if not os.path.exists(path):  # noqa: PTH110 - text
                open(path, "w").close()  # noqa: PTH123 - as above
                die()
            case ["fail"]:
                raise ModelUnavailable("the model failed on a text")
            case ["fault"]:
                raise ZeroDivisionError
            case ["sleep"]:
                threading.Event().wait()
            case ["print"]:
                os.write(1, b"native code says something\n")
        return super().embed_query(text)

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if texts and texts[0] == "slow":
            threading.Event().wait()
        return super().embed_passages(texts)


def die() -> None:
    os.kill(os.getpid(), signal.SIGSEGV)
    threading.Event().wait()  # the signal may reach another thread first: no answer meanwhile


def load() -> Embedder:
    match sys.argv[1:]:
        case ["die"]:
            die()
        case ["missing"]:
            raise Misconfigured("the model is not there")
        case ["sleep"]:
            threading.Event().wait()
        case [path] if os.path.exists(path):  # noqa: PTH110 - text
            return Fragile("fake@2")
    return Fragile()


if __name__ == "__main__":
    serve(load)
