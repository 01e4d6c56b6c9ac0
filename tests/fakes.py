"""Fakes that satisfy the package's protocols: an embedder, a clock and ids that tests control."""

import hashlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from memsvc.embedding.protocol import Reading

__all__ = ["FakeEmbedder", "FixedClock", "SequentialIds"]

_WORD = re.compile(r"\w+")
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


class FakeEmbedder:
    """Embeds a text as the sum of one pseudo-random direction per distinct word.

    Texts that share words are similar (two of four shared: cosine about one half), texts that share
    none nearly orthogonal, and the order, case and number of words change nothing. Words in one of
    `synonyms`' groups share a direction, to play a model that knows paraphrases.
    """

    def __init__(
        self,
        model_id: str = "fake@1",
        *,
        dimension: int = 384,
        max_tokens: int = 254,
        synonyms: Sequence[Sequence[str]] = (),
    ) -> None:
        self.model_id = model_id
        self.dimension = dimension
        self.max_tokens = max_tokens
        self._leaders = {word.lower(): group[0].lower() for group in synonyms for word in group}
        self._directions: dict[str, NDArray[np.float32]] = {}

    def embed_query(self, text: str) -> NDArray[np.float32]:
        words = _WORD.findall(text.lower())[: self.max_tokens]
        distinct = sorted({self._leaders.get(word, word) for word in words}) or [""]
        total = np.sum([self._direction(word) for word in distinct], axis=0, dtype=np.float32)
        return np.asarray(total / np.linalg.norm(total), dtype=np.float32)

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self.embed_query(text)
        return vectors

    def read_query(self, text: str) -> Reading:
        found = list(_WORD.finditer(text.lower()))[: self.max_tokens]
        words = [self._leaders.get(match.group(), match.group()) for match in found]
        rows = [self._direction(word) for word in words]
        states = np.array(rows, dtype=np.float32).reshape(len(words), self.dimension)
        return Reading(self.embed_query(text), states, tuple(match.span() for match in found))

    def read_passages(self, texts: Sequence[str]) -> list[Reading]:
        return [self.read_query(text) for text in texts]

    def count_tokens(self, text: str) -> int:
        return len(_WORD.findall(text))

    def _direction(self, word: str) -> NDArray[np.float32]:
        if word not in self._directions:
            key = hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()
            random = np.random.default_rng(int.from_bytes(key[:8], "big"))
            raw = random.standard_normal(self.dimension)
            self._directions[word] = np.asarray(raw / np.linalg.norm(raw), dtype=np.float32)
        return self._directions[word]


class FixedClock:
    """A clock that stands still until a test moves it."""

    def __init__(self, instant: datetime | None = None) -> None:
        self._instant = instant or datetime(2026, 11, 30, 10, 4, 11, tzinfo=UTC)

    def now(self) -> datetime:
        return self._instant

    def set(self, instant: datetime) -> None:
        """Stand at `instant` (aware)."""
        self._instant = instant.astimezone(UTC)

    def advance(self, **parts: float) -> datetime:
        """Move by `timedelta(**parts)` and return the new instant."""
        self._instant += timedelta(**parts)
        return self._instant


class SequentialIds:
    """Makes valid ULIDs that count up: the time part is the instant given, the rest a counter."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, now: datetime) -> str:
        self._count += 1
        milliseconds = int(now.timestamp() * 1000)
        return _crockford(milliseconds, 10) + _crockford(self._count, 16)


def _crockford(number: int, width: int) -> str:
    digits = [_CROCKFORD[(number >> (5 * place)) & 31] for place in reversed(range(width))]
    return "".join(digits)
