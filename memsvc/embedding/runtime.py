"""One ONNX file as a function of token ids: loads it, feeds it, and puts its failures into words."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from memsvc.errors import Misconfigured, ModelUnavailable

if TYPE_CHECKING:  # numpy and the runtime are imported with the first model, not with the package
    from typing import Any

    from numpy.typing import NDArray
    from onnxruntime import InferenceSession

__all__ = ["Graph", "cores"]

_ERRORS_ONLY = 3
_FED = ("input_ids", "attention_mask", "token_type_ids", "position_ids")


class Graph:
    """A loaded model that runs on one thread a call; safe to share by threads."""

    def __init__(self, path: Path) -> None:
        """Raises Misconfigured if the file cannot be loaded, ImportError without the runtime."""
        self._session = _session(path)
        self._inputs = [given.name for given in self._session.get_inputs()]
        unknown = sorted(set(self._inputs) - set(_FED))
        if unknown:
            raise Misconfigured(f"the model wants inputs that nothing here gives: {unknown}")

    def output(self, wanted: Sequence[str], *, rank: int) -> str:
        """The name of the first output that is wanted, else of the first of that rank.

        Raises Misconfigured if there is none.
        """
        found = {output.name: output.shape for output in self._session.get_outputs()}
        for name in wanted:
            if name in found:
                return name
        for name, shape in found.items():
            if len(shape) == rank:
                return str(name)
        raise Misconfigured(
            f"the model gives {', '.join(found)}; wanted is {' or '.join(wanted)} with {rank} axes"
        )

    def run(
        self,
        ids: Sequence[Sequence[int]],
        *,
        output: str,
        types: Sequence[Sequence[int]] | None = None,
    ) -> "NDArray[Any]":
        """One output for rows of ids of one length, none of them padding; `types` are the segments.

        Raises ModelUnavailable if the runtime fails on them.
        """
        import numpy as np  # see above

        rows = np.array(ids, dtype=np.int64)
        whole = {
            "input_ids": rows,
            "attention_mask": np.ones_like(rows),
            "token_type_ids": np.array(types, dtype=np.int64) if types else np.zeros_like(rows),
            "position_ids": np.broadcast_to(np.arange(rows.shape[1]), rows.shape),
        }
        try:
            found = self._session.run([output], {name: whole[name] for name in self._inputs})
        except _failures() as error:
            raise ModelUnavailable(
                f"the model failed on a text of {rows.shape[1]} tokens ({type(error).__name__})"
            ) from error
        result: NDArray[Any] = found[0]
        return result


def cores() -> int:
    """The cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _session(path: Path) -> "InferenceSession":
    import onnxruntime as ort  # thirty milliseconds and 20 MB

    ort.set_default_logger_severity(_ERRORS_ONLY)
    ort.disable_telemetry_events()
    options = ort.SessionOptions()
    options.log_severity_level = _ERRORS_ONLY
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # without this, 8-bit products saturate on x64 processors that lack VNNI; with it most texts get
    # the vector that others get (of 531 passages 452 to six digits, the rest within cosine .993)
    options.add_session_config_entry("session.x64quantprecision", "1")
    try:
        return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except _failures() as error:
        raise Misconfigured(
            f"the model cannot be loaded ({type(error).__name__}); the versions of onnxruntime and "
            "of the model do not fit"
        ) from error


def _failures() -> tuple[type[Exception], ...]:
    from onnxruntime.capi import onnxruntime_pybind11_state as state  # see _session

    return (
        state.EPFail,
        state.Fail,
        state.InvalidArgument,
        state.InvalidGraph,
        state.InvalidProtobuf,
        state.NoSuchFile,
        state.NotImplemented,
        state.RuntimeException,
    )
