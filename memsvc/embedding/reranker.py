"""A cross-encoder: reads a question and a passage together and says how well the one answers the other."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from memsvc.embedding.profile import ModelProfile
from memsvc.embedding.runtime import Graph, cores
from memsvc.embedding.tokens import TokenReader

if TYPE_CHECKING:  # numpy is imported with the first model, not with the package
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["OnnxReranker"]

_MOST_WORKERS = 4
_SCORES = ("logits",)


class OnnxReranker:
    """A Reranker over one model file. Each pair runs alone, so its score depends on no other."""

    def __init__(self, path: Path, *, model_id: str, profile: ModelProfile, source: str) -> None:
        """Load a verified file; `source` is the tokenizer's JSON.

        Raises Misconfigured if they cannot be used, ImportError without the runtime.
        """
        self.model_id = model_id
        self._reader = TokenReader(source, profile)
        self._graph = Graph(path)
        self._output = self._graph.output(_SCORES, rank=2)
        self._workers = min(cores(), _MOST_WORKERS)
        self.score("a", ["a"])

    def score(self, query: str, texts: Sequence[str]) -> "NDArray[np.float32]":
        import numpy as np  # see above

        work = partial(self._logit, query)
        with ThreadPoolExecutor(self._workers, thread_name_prefix="memsvc-rerank") as pool:
            logits = np.fromiter(pool.map(work, texts), dtype=np.float64, count=len(texts))
        return np.asarray(1 / (1 + np.exp(-np.clip(logits, -60, 60))), dtype=np.float32)

    def _logit(self, query: str, text: str) -> float:
        """Of one label its value; of two, how far the second is above the first."""
        pair = self._reader.pair(query, text)
        found = self._graph.run([pair.ids], types=[pair.types], output=self._output)[0]
        return float(found[-1] - (found[0] if len(found) > 1 else 0))
