"""The packaged model for many homes and many wordings of the same question: each text is read once."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memsvc.embedding.loader import LazyEmbedder
from memsvc.embedding.protocol import Embedder, Reading

__all__ = ["Remembering", "packaged"]


class Remembering:
    """An embedder that keeps what the one inside made of every text; both answer the same."""

    def __init__(self, inside: Embedder) -> None:
        self._inside = inside
        self._queries: dict[str, Reading] = {}
        self._passages: dict[str, Reading] = {}

    @property
    def model_id(self) -> str:
        return self._inside.model_id

    @property
    def dimension(self) -> int:
        return self._inside.dimension

    @property
    def max_tokens(self) -> int:
        return self._inside.max_tokens

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self.read_query(text).vector

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not texts:
            return self._inside.embed_passages(texts)
        return np.stack([reading.vector for reading in self.read_passages(texts)])

    def read_query(self, text: str) -> Reading:
        if text not in self._queries:
            self._queries[text] = self._inside.read_query(text)
        return self._queries[text]

    def read_passages(self, texts: Sequence[str]) -> list[Reading]:
        unread = list(dict.fromkeys(text for text in texts if text not in self._passages))
        self._passages.update(zip(unread, self._inside.read_passages(unread), strict=True))
        return [self._passages[text] for text in texts]

    def count_tokens(self, text: str) -> int:
        return self._inside.count_tokens(text)


def packaged(models: Path) -> LazyEmbedder:
    """The packaged model, loaded; `models` keeps its build. Exits if there is none."""
    embedder = LazyEmbedder.from_setting("packaged", models=models)
    inside = embedder.load_now()
    if inside is None:
        raise SystemExit(f"no model: {embedder.problem}")
    return LazyEmbedder.of(Remembering(inside))
