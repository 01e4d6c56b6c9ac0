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

__all__ = ["Details", "pack", "sentences", "unpack"]

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
class Details:
    """What is kept of several passages. `sentences` are unit rows, those of passage i from
    `first[i]` on, its whole text as the last. `bits` are the signs of the tokens' states as 0 and
    1, those of passage i from `first_token[i]` on; `counts` says how many it has.
    """

    sentences: NDArray[np.float32]
    first: NDArray[np.int64]
    bits: NDArray[np.float32]
    first_token: NDArray[np.int64]
    counts: NDArray[np.int64]

    def held(self, states: NDArray[np.float32]) -> NDArray[np.float32]:
        """For each passage and each of these states the best cosine with a token, shape
        (passages, states); an estimate from the signs alone, 0 for a passage without tokens.
        """
        found = np.zeros((len(self.counts), len(states)), dtype=np.float32)
        some = np.flatnonzero(self.counts)
        if len(some) and len(states):
            scale = np.float32(SPREAD / np.sqrt(states.shape[1]))
            asked = np.ascontiguousarray((2.0 * scale) * states.T)  # the signs are 2 * bits - 1
            products = self.bits @ asked
            best = np.maximum.reduceat(products, self.first_token[some], axis=0)
            found[some] = best - scale * states.sum(axis=1)
        return found


def sentences(text: str) -> list[tuple[int, int]]:
    """Where the sentences and lines of a text begin and end; together they are the text."""
    cuts = [0, *(match.end() for match in _END.finditer(text)), len(text)]
    return [(start, end) for start, end in itertools.pairwise(cuts) if end > start]


def pack(text: str, states: NDArray[np.float32], spans: Sequence[tuple[int, int]]) -> bytes:
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
    kept = kept[:MAX_TOKENS]
    return b"".join(
        (
            _HEAD.pack(len(matrix), len(kept)),
            np.rint(matrix * _SCALE).astype(np.int8).tobytes(),
            np.packbits(states[kept] > 0, axis=1).tobytes(),
        )
    )


def unpack(packed: Sequence[bytes], dimension: int) -> Details:
    """The rows of what `pack` made of passages. Raises ValueError for bytes of another dimension."""
    width = (dimension + 7) // 8
    heads = [_HEAD.unpack_from(one) for one in packed]
    rows, bits = [], []
    for one, (count, tokens) in zip(packed, heads, strict=True):
        middle = _HEAD.size + count * dimension
        if len(one) != middle + tokens * width:
            raise ValueError("a stored reading does not fit the model's dimension")
        rows.append(one[_HEAD.size : middle])
        bits.append(one[middle:])
    counts = np.array([count for count, _ in heads], dtype=np.int64)
    tokens_of = np.array([tokens for _, tokens in heads], dtype=np.int64)
    matrix = np.frombuffer(b"".join(rows), np.int8).reshape(-1, dimension).astype(np.float32)
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
    signs = np.frombuffer(b"".join(bits), np.uint8).reshape(-1, width)
    return Details(
        matrix,
        np.cumsum(counts) - counts,
        np.unpackbits(signs, axis=1, count=dimension).astype(np.float32),
        np.cumsum(tokens_of) - tokens_of,
        tokens_of,
    )


def _has_letter(piece: str) -> bool:
    return any(character.isalnum() for character in piece)
