"""Vectors from an ONNX file with ONNX Runtime, in this process and without a network."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from memsvc.embedding.profile import MINILM, ModelProfile
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
        import numpy as np  # see above

        ids = np.array([self._reader.ids(text)], dtype=np.int64)
        whole = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),  # one text, so nothing is padded
            "token_type_ids": np.zeros_like(ids),
        }
        given = {name: whole[name] for name in self._inputs}
        states: NDArray[np.float32] = self._session.run(None, given)[0][0]
        pooled = states.mean(axis=0, dtype=np.float32)
        return np.asarray(pooled / max(float(np.linalg.norm(pooled)), _TINY), dtype=np.float32)

    def embed_passages(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        import numpy as np  # see above

        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        workers = min(self._workers, len(texts))
        if workers <= 1:
            for row, text in enumerate(texts):
                vectors[row] = self.embed_query(text)
            return vectors
        with ThreadPoolExecutor(workers, thread_name_prefix="memsvc-embed") as pool:
            for row, vector in enumerate(pool.map(self.embed_query, texts)):
                vectors[row] = vector
        return vectors


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
