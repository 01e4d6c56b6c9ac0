"""Vectors from an ONNX file with ONNX Runtime, in this process and without a network."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from memsvc.embedding.profile import MINILM, ModelProfile
from memsvc.embedding.protocol import Reading
from memsvc.embedding.tokens import token_reader
from memsvc.errors import Misconfigured

if TYPE_CHECKING:  # numpy and the runtime are imported with the first model, not with the package
    import numpy as np
    from numpy.typing import NDArray
    from onnxruntime import InferenceSession

__all__ = ["OnnxEmbedder"]

_MOST_WORKERS = 4
_ERRORS_ONLY = 3
_TINY = 1e-12
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
        workers: int | None = None,
    ) -> None:
        """Load a verified file. Raises Misconfigured if it cannot be, ImportError without runtime."""
        self._profile = profile
        self._model_id = model_id
        self._workers = workers or min(_cores(), _MOST_WORKERS)
        self._reader = token_reader(profile)
        self._session = _session(path)
        self._inputs = [given.name for given in self._session.get_inputs()]

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
        return self._pooled(self._states(self._reader.ids(text)))

    def embed_passages(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        import numpy as np  # see above

        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for row, vector in enumerate(self._each(self.embed_query, texts)):
            vectors[row] = vector
        return vectors

    def read_query(self, text: str) -> Reading:
        import numpy as np  # see above

        ids, spans = self._reader.read(text)
        states = self._states(ids)
        inner = states[1:-1]
        lengths = np.maximum(np.linalg.norm(inner, axis=1, keepdims=True), _TINY)
        return Reading(self._pooled(states), inner / lengths, tuple(spans))

    def read_passages(self, texts: Sequence[str]) -> list[Reading]:
        return list(self._each(self.read_query, texts))

    def _states(self, ids: list[int]) -> "NDArray[np.float32]":
        """The last layer, one row a token, markers included."""
        import numpy as np  # see above

        row = np.array([ids], dtype=np.int64)
        whole = {
            "input_ids": row,
            "attention_mask": np.ones_like(row),  # one text, so nothing is padded
            "token_type_ids": np.zeros_like(row),
        }
        given = {name: whole[name] for name in self._inputs}
        states: NDArray[np.float32] = self._session.run(None, given)[0][0]
        return states

    def _pooled(self, states: "NDArray[np.float32]") -> "NDArray[np.float32]":
        import numpy as np  # see above

        pooled = states.mean(axis=0, dtype=np.float32)
        return np.asarray(pooled / max(float(np.linalg.norm(pooled)), _TINY), dtype=np.float32)

    def _each(self, work: Callable[[str], _Made], texts: Sequence[str]) -> Iterator[_Made]:
        """The work done on each text, in order, on as many threads as there are workers."""
        workers = min(self._workers, len(texts))
        if workers <= 1:
            yield from map(work, texts)
            return
        with ThreadPoolExecutor(workers, thread_name_prefix="memsvc-embed") as pool:
            yield from pool.map(work, texts)


def _cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _session(path: Path) -> "InferenceSession":
    import onnxruntime as ort  # thirty milliseconds and 20 MB
    from onnxruntime.capi import onnxruntime_pybind11_state as failures

    ort.set_default_logger_severity(_ERRORS_ONLY)
    ort.disable_telemetry_events()
    options = ort.SessionOptions()
    options.log_severity_level = _ERRORS_ONLY
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    try:
        return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except (
        failures.Fail,
        failures.InvalidGraph,
        failures.InvalidProtobuf,
        failures.NoSuchFile,
        failures.NotImplemented,
        failures.RuntimeException,
    ) as error:
        raise Misconfigured(
            f"the model cannot be loaded ({type(error).__name__}); the versions of onnxruntime and "
            "of the model do not fit"
        ) from error
