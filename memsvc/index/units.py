"""The sentences of a passage as vectors of their own, and its tokens, from one reading of the passage.

A sentence's vector is the mean of its tokens' states as the model saw them inside the whole passage
(late chunking), so it costs no further run of the model. Kept per passage as one blob of
little-endian numbers: the count of sentences and of tokens (two of 16 bits), a byte a dimension
for each sentence, a bit a dimension for each token.
"""

import itertools
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Detail", "pack", "sentences", "unpack"]

MAX_SENTENCES = 24
MAX_TOKENS = 256
FEWEST_TOKENS = 3
"""A shorter piece, such as a list marker or a name with a full stop, is no sentence of its own."""
SPREAD = 1.25
"""Lifts cosines with sign vectors to about those with the vectors they stand for."""
_HEAD = struct.Struct("<HH")
_SCALE = 127.0
_END = re.compile(r"[.!?][\"')\]]*\s+|[。！？]|\n+")


@dataclass(frozen=True, slots=True)
class Detail:
    """Unit rows: `sentences`, shape (n, dimension), the whole passage last; `tokens`, shape
    (m, dimension), whose cosines are estimates from the signs alone.
    """

    sentences: NDArray[np.float32]
    tokens: NDArray[np.float32]


def sentences(text: str) -> list[tuple[int, int]]:
    """Where the sentences and lines of a text begin and end; together they are the text."""
    cuts = [0, *(match.end() for match in _END.finditer(text)), len(text)]
    return [(start, end) for start, end in itertools.pairwise(cuts) if end > start]


def pack(
    text: str, states: NDArray[np.float32], spans: Sequence[tuple[int, int]], *, tokens: bool = True
) -> bytes:
    """What is kept of a passage: `states` are its tokens' unit vectors, `spans` where they stand."""
    begins = np.array([span[0] for span in spans], dtype=np.int64)
    rows: list[NDArray[np.float32]] = []
    for start, end in sentences(text):
        first, last = np.searchsorted(begins, (start, end))
        if last - first >= FEWEST_TOKENS and len(rows) < MAX_SENTENCES - 1:
            rows.append(states[first:last].mean(axis=0))
    rows.append(states.mean(axis=0) if len(states) else np.zeros(states.shape[1], np.float32))
    matrix = np.array(rows, dtype=np.float32)
    matrix /= np.maximum(np.abs(matrix).max(axis=1, keepdims=True), 1e-9)
    kept = [at for at, (start, end) in enumerate(spans) if _has_letter(text[start:end])]
    kept = kept[:MAX_TOKENS] if tokens else []
    return b"".join(
        (
            _HEAD.pack(len(matrix), len(kept)),
            np.rint(matrix * _SCALE).astype(np.int8).tobytes(),
            np.packbits(states[kept] > 0, axis=1).tobytes(),
        )
    )


def unpack(packed: bytes, dimension: int) -> Detail:
    """The rows of `pack`. Raises ValueError for bytes that are not of this dimension."""
    count, tokens = _HEAD.unpack_from(packed)
    middle = _HEAD.size + count * dimension
    width = (dimension + 7) // 8
    if len(packed) != middle + tokens * width:
        raise ValueError("a stored reading does not fit the model's dimension")
    rows = np.frombuffer(packed, np.int8, count * dimension, _HEAD.size)
    matrix = rows.reshape(count, dimension).astype(np.float32)
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
    bits = np.frombuffer(packed, np.uint8, tokens * width, middle).reshape(tokens, width)
    signs = np.unpackbits(bits, axis=1, count=dimension).astype(np.float32) * 2.0 - 1.0
    return Detail(matrix, signs * np.float32(SPREAD / np.sqrt(dimension)))


def _has_letter(piece: str) -> bool:
    return any(character.isalnum() for character in piece)
