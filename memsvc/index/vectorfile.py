"""One file of vectors that every process maps: float32 rows and their sign bits, append only.

The file is a row of segments. Each holds the signs of 1,024 vectors, 64 dimensions a word, word by
word, and then the vectors themselves. It is only ever extended by whole segments, never cut short:
a mapping of it stays good. A vector that was never written, or was erased, is all zeros.
"""

import mmap
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from memsvc.errors import StorageFailed

__all__ = ["SEGMENT", "Mapped", "VectorFile", "signs"]

SEGMENT = 1_024
_WORD = 64
_BLOCK = 16
"""Segments whose signs are compared at once: what that takes fits into a processor's cache."""
_DENSE = 3
"""A segment is multiplied whole when more than one in so many of its rows is wanted."""
_SPARSE = 32
"""Rows are fetched across segments when fewer than one in so many is wanted."""


def signs(matrix: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Which numbers of each row are above zero, one bit each, shape (rows, words)."""
    packed = np.packbits(matrix > 0, axis=1)
    words = _words(matrix.shape[1])
    padded = np.zeros((len(matrix), words * 8), dtype=np.uint8)
    padded[:, : packed.shape[1]] = packed
    return padded.view(np.uint64)


@dataclass(frozen=True, slots=True)
class VectorFile:
    """The file at `path` with vectors of `dimension` numbers; it need not exist yet."""

    path: Path
    dimension: int

    @property
    def signs_bytes(self) -> int:
        """Bytes of a segment before its vectors."""
        return SEGMENT * _words(self.dimension) * 8

    @property
    def segment_bytes(self) -> int:
        """Bytes of a segment."""
        return self.signs_bytes + SEGMENT * self.dimension * 4

    def holds(self, rows: int) -> bool:
        """Whether the file is there and long enough for so many vectors."""
        try:
            return self.path.stat().st_size >= self._size(rows)
        except OSError:
            return False

    def write(self, first: int, matrix: NDArray[np.float32]) -> None:
        """Put vectors at the positions from `first` on; they are on disk when this returns.

        Raises StorageFailed.
        """
        bits = np.ascontiguousarray(signs(matrix).T)
        rows = np.ascontiguousarray(matrix, dtype="<f4")
        with self._open(first + len(rows)) as file:
            for start, segment, place in _parts(first, len(rows)):
                end = start + min(SEGMENT - place, len(rows) - start)
                begin = segment * self.segment_bytes
                for word, column in enumerate(bits):
                    file.seek(begin + (word * SEGMENT + place) * 8)
                    file.write(column[start:end].tobytes())
                file.seek(begin + self.signs_bytes + place * self.dimension * 4)
                file.write(rows[start:end].tobytes())

    def erase(self, positions: Iterable[int]) -> None:
        """Overwrite vectors with zeros, on disk when this returns. Raises StorageFailed."""
        wanted = sorted(positions)
        if not wanted or not self.path.exists():
            return
        nothing, no_sign = bytes(self.dimension * 4), bytes(8)
        with self._open(0) as file:
            for position in wanted:
                segment, place = divmod(position, SEGMENT)
                begin = segment * self.segment_bytes
                for word in range(_words(self.dimension)):
                    file.seek(begin + (word * SEGMENT + place) * 8)
                    file.write(no_sign)
                file.seek(begin + self.signs_bytes + place * self.dimension * 4)
                file.write(nothing)

    def erase_from(self, first: int) -> None:
        """The same for every position from `first` on: what failed transactions left there."""
        try:
            size = self.path.stat().st_size
        except OSError:
            return
        self.erase(range(first, size // self.segment_bytes * SEGMENT))

    def map(self) -> "Mapped | None":
        """The file as it is now, shared with every process; None when there is nothing to map."""
        try:
            with self.path.open("rb") as file:
                if os.fstat(file.fileno()).st_size < self.segment_bytes:
                    return None
                return Mapped(self, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        except OSError:
            return None

    def _size(self, rows: int) -> int:
        return -(-rows // SEGMENT) * self.segment_bytes

    @contextmanager
    def _open(self, rows: int) -> Iterator[BinaryIO]:
        """The file for writing, with room for so many vectors; synced at the end."""
        try:
            fresh = not self.path.exists()
            if fresh:
                self.path.parent.mkdir(exist_ok=True, mode=0o700)
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
            with os.fdopen(os.open(self.path, flags, 0o600), "r+b", buffering=0) as file:
                if os.fstat(file.fileno()).st_size < self._size(rows):
                    os.ftruncate(file.fileno(), self._size(rows))
                yield file
                os.fsync(file.fileno())
            if fresh and os.name == "posix":
                folder = os.open(self.path.parent, os.O_RDONLY)
                try:
                    os.fsync(folder)
                finally:
                    os.close(folder)
        except OSError as error:
            raise StorageFailed(
                f"the vectors of notes cannot be stored ({error.strerror}); nothing was written; "
                "make room in the home, or make it writable, and repeat"
            ) from error


class Mapped:
    """A file's vectors as memory: `count` of them, read only. Positions ascend in every call."""

    def __init__(self, file: VectorFile, memory: mmap.mmap) -> None:
        words, size = _words(file.dimension), file.segment_bytes
        segments = len(memory) // size
        raw = np.frombuffer(memory, np.uint8, segments * size).reshape(segments, size)
        self.count = segments * SEGMENT
        self.dimension = file.dimension
        self._signs = raw[:, : file.signs_bytes].view(np.uint64).reshape(segments, words, SEGMENT)
        rows = raw[:, file.signs_bytes :].view("<f4")
        self._rows = rows.reshape(segments, SEGMENT, file.dimension)

    def products(
        self, positions: NDArray[np.int64], query: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """The product of each vector with `query`: of unit vectors, their cosine."""
        found = np.empty(len(positions), dtype=np.float32)
        if len(positions) * _SPARSE < self.count:
            for start in range(0, len(positions), SEGMENT):
                some = positions[start : start + SEGMENT]
                found[start : start + SEGMENT] = self.copy(some) @ query
            return found
        segments = positions // SEGMENT
        ends = np.flatnonzero(np.diff(segments, append=-1)) + 1
        start = 0
        for end in ends.tolist():
            block = self._rows[int(segments[start])]
            places = positions[start:end] % SEGMENT
            if (end - start) * _DENSE > SEGMENT:
                found[start:end] = (block[: int(places[-1]) + 1] @ query)[places]
            else:
                found[start:end] = block[places] @ query
            start = end
        return found

    def distances(
        self, positions: NDArray[np.int64], query: NDArray[np.float32]
    ) -> NDArray[np.uint16]:
        """In how many signs each vector differs from `query`."""
        words = signs(query[None, :])[0]
        if len(positions) * _DENSE < self.count:
            own = self._signs[positions // SEGMENT, :, positions % SEGMENT]
            found: NDArray[np.uint16] = np.bitwise_count(own ^ words).sum(axis=1, dtype=np.uint16)
            return found
        every = np.empty((len(self._signs), SEGMENT), dtype=np.uint16)
        for at in range(0, len(self._signs), _BLOCK):
            counts = np.bitwise_count(self._signs[at : at + _BLOCK] ^ words[:, None])
            np.add.reduce(counts, axis=1, dtype=np.uint16, out=every[at : at + _BLOCK])
        return every.reshape(-1)[positions]

    def copy(self, positions: NDArray[np.int64]) -> NDArray[np.float32]:
        """The vectors themselves, shape (positions, dimension)."""
        return np.ascontiguousarray(self._rows[positions // SEGMENT, positions % SEGMENT])


def _words(dimension: int) -> int:
    return -(-dimension // _WORD)


def _parts(first: int, count: int) -> Iterator[tuple[int, int, int]]:
    """For each segment that a run of positions touches: the row it starts with, segment, place."""
    row = 0
    while row < count:
        segment, place = divmod(first + row, SEGMENT)
        yield row, segment, place
        row += SEGMENT - place
