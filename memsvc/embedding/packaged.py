"""Vectors from an ONNX file with ONNX Runtime, in this process and without a network."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from memsvc.embedding.profile import MINILM, ModelProfile
from memsvc.embedding.protocol import Reading
from memsvc.embedding.runtime import Graph, cores
from memsvc.embedding.tokens import TokenReader, Tokens, token_reader
from memsvc.errors import Misconfigured

if TYPE_CHECKING:  # numpy is imported with the first model, not with the package
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["OnnxEmbedder"]

_MOST_WORKERS = 4
_TINY = 1e-12
_STATES = ("last_hidden_state", "token_embeddings")
_Made = TypeVar("_Made")


class OnnxEmbedder:
    """An Embedder over one model file.

    Each text runs alone, on one thread: 8-bit activations are scaled over everything that runs
    together, so in a batch a text's vector would depend on its neighbours; and on a processor
    batches are not faster. Several passages run side by side, one on each of `workers` threads
    (default: the cores at hand, four at most). A process that forks must load again in the child.
    """

    def __init__(
        self,
        path: Path,
        *,
        model_id: str,
        profile: ModelProfile = MINILM,
        reader: TokenReader | None = None,
        workers: int | None = None,
    ) -> None:
        """Load a verified file; without a `reader`, the packaged tokenizer reads for it.

        Raises Misconfigured if it cannot be used, ImportError without the runtime.
        """
        self._profile = profile
        self._model_id = model_id
        self._workers = workers or min(cores(), _MOST_WORKERS)
        self._reader = reader or token_reader()
        self._graph = Graph(path)
        self._output = self._graph.output(_STATES, rank=3)
        found = self._states(self._reader.read("a")).shape[-1]
        if found != profile.dimension:
            raise Misconfigured(
                f"the model gives vectors of {found} numbers, not of {profile.dimension} as its "
                "configuration says"
            )

    @property
    def model_id(self) -> str:
        return self._model_id

    @property
    def dimension(self) -> int:
        return self._profile.dimension

    @property
    def max_tokens(self) -> int:
        return self._reader.max_tokens

    def count_tokens(self, text: str) -> int:
        return self._reader.count(text)

    def embed_query(self, text: str) -> "NDArray[np.float32]":
        return self._vector(text, prefix=self._profile.query_prefix)

    def embed_passages(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        import numpy as np  # see above

        work = partial(self._vector, prefix=self._profile.passage_prefix)
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for row, vector in enumerate(self._each(work, texts)):
            vectors[row] = vector
        return vectors

    def read_query(self, text: str) -> Reading:
        return self._reading(text, prefix=self._profile.query_prefix)

    def read_passages(self, texts: Sequence[str]) -> list[Reading]:
        work = partial(self._reading, prefix=self._profile.passage_prefix)
        return list(self._each(work, texts))

    def _vector(self, text: str, *, prefix: str) -> "NDArray[np.float32]":
        return self._pooled(self._states(self._reader.read(text, prefix=prefix)))

    def _reading(self, text: str, *, prefix: str) -> Reading:
        import numpy as np  # see above

        tokens = self._reader.read(text, prefix=prefix)
        states = self._states(tokens)
        own = states[tokens.first : -1]
        lengths = np.maximum(np.linalg.norm(own, axis=1, keepdims=True), _TINY)
        return Reading(self._pooled(states), own / lengths, tokens.spans)

    def _states(self, tokens: Tokens) -> "NDArray[np.float32]":
        """The last layer, one row a token, markers and prefix included."""
        states: NDArray[np.float32] = self._graph.run([tokens.ids], output=self._output)[0]
        return states

    def _pooled(self, states: "NDArray[np.float32]") -> "NDArray[np.float32]":
        import numpy as np  # see above

        first = self._profile.pooling == "cls"
        pooled = states[0] if first else states.mean(axis=0, dtype=np.float32)
        return np.asarray(pooled / max(float(np.linalg.norm(pooled)), _TINY), dtype=np.float32)

    def _each(self, work: Callable[[str], _Made], texts: Sequence[str]) -> Iterator[_Made]:
        """The work done on each text, in order, on as many threads as there are workers."""
        workers = min(self._workers, len(texts))
        if workers <= 1:
            yield from map(work, texts)
            return
        with ThreadPoolExecutor(workers, thread_name_prefix="memsvc-embed") as pool:
            yield from pool.map(work, texts)
