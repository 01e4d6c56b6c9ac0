"""What a process and its model's process say to each other: frames of bytes over two pipes.

A frame is a number, a kind and a body. The answer to a question bears the question's number, so a
short question need not wait for a long one before it. Vectors cross as they are, 32-bit floats.
"""

import json
import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import IO, TYPE_CHECKING, NamedTuple

from memsvc.embedding.protocol import Reading

if TYPE_CHECKING:  # numpy is imported with the first answer, not with the package
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Frame",
    "Kind",
    "pack_readings",
    "pack_texts",
    "read_frame",
    "unpack_readings",
    "unpack_texts",
    "unpack_vectors",
    "write_frame",
]

_HEAD = struct.Struct("<QBQ")
_TWO = struct.Struct("<II")


class Kind(IntEnum):
    """What a frame holds: first the questions, then the answers."""

    EMBED_QUERY = 1
    EMBED_PASSAGES = 2
    READ_QUERY = 3
    READ_PASSAGES = 4
    COUNT = 5
    READY = 10
    """The model is loaded: its id, dimension and window, as JSON."""
    MISSING = 11
    """The model cannot be loaded: why, for a person."""
    VECTORS = 12
    READINGS = 13
    NUMBER = 15
    FAILED = 14
    """The model failed at the question: why, for a person."""


class Frame(NamedTuple):
    """One message."""

    number: int
    kind: Kind
    body: bytes


def write_frame(pipe: IO[bytes], frame: Frame) -> None:
    """Raises OSError or ValueError if the other end or this one is closed."""
    pipe.write(_HEAD.pack(frame.number, frame.kind, len(frame.body)))
    pipe.write(frame.body)
    pipe.flush()


def read_frame(pipe: IO[bytes]) -> Frame | None:
    """The next frame; None when the other end is closed, even in the middle of one."""
    head = pipe.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    number, kind, length = _HEAD.unpack(head)
    body = pipe.read(length)
    return Frame(number, Kind(kind), body) if len(body) == length else None


def pack_texts(texts: Sequence[str]) -> bytes:
    """Any texts, lone surrogates included."""
    return json.dumps(list(texts)).encode("ascii")


def unpack_texts(body: bytes) -> list[str]:
    """What `pack_texts` packed."""
    found: list[str] = json.loads(body)
    return found


def unpack_vectors(body: bytes, *, dimension: int) -> "NDArray[np.float32]":
    """Vectors sent as their bytes, shape (count, dimension)."""
    import numpy as np  # see above

    return np.frombuffer(body, dtype=np.float32).reshape(-1, dimension).copy()


def pack_readings(readings: Sequence[Reading]) -> bytes:
    """Each reading as its two lengths, its vector, its states and its spans."""
    import numpy as np  # see above

    parts: list[bytes] = []
    for one in readings:
        spans = np.array(one.spans, dtype=np.int64)
        states = np.ascontiguousarray(one.states, dtype=np.float32)
        parts += [
            _TWO.pack(len(one.spans), len(one.vector)),
            one.vector.tobytes(),
            states.tobytes(),
            spans.tobytes(),
        ]
    return b"".join(parts)


def unpack_readings(body: bytes) -> list[Reading]:
    """What `pack_readings` packed."""
    import numpy as np  # see above

    found: list[Reading] = []
    at = 0
    while at < len(body):
        tokens, dimension = _TWO.unpack_from(body, at)
        at += _TWO.size
        floats = np.frombuffer(body, np.float32, (tokens + 1) * dimension, at).copy()
        at += floats.nbytes
        numbers = np.frombuffer(body, np.int64, 2 * tokens, at)
        at += numbers.nbytes
        states = floats[dimension:].reshape(tokens, dimension)
        spans = tuple(zip(numbers[0::2].tolist(), numbers[1::2].tolist(), strict=True))
        found.append(Reading(floats[:dimension], states, spans))
    return found
