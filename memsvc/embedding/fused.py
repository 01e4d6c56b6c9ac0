"""Writes the packaged model anew as a graph that a processor runs three times as fast.

The packaged file holds 8-bit weights but multiplies in 32-bit floats. The new graph has the same
weights, unchanged, in ONNX Runtime's fused operations (attention, GELU, skip and layer norm) that
quantise their input on the fly and multiply in 8 bits. It takes one text at a time, without padding,
and gives the hidden states of the last layer.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memsvc.embedding.profile import MINILM, PackagedProfile

if TYPE_CHECKING:  # numpy and onnx are needed for the one build only
    from numpy.typing import NDArray

    Array = NDArray[Any]

__all__ = ["HEADS", "LAYERS", "RECIPE", "write_fused"]

RECIPE = 1
"""Counts up with every change that changes vectors; part of the model id."""

LAYERS = 6
HEADS = 12

_OPSET = 17
_IR = 9
_EPSILON = 1e-12
_CONTRIB = "com.microsoft"
_EMBEDDINGS = "inner.embeddings."


def write_fused(source: Path, target: Path, *, profile: PackagedProfile = MINILM) -> None:
    """Read the packaged model from `source` and write the fused one to `target`.

    Raises ImportError without onnx, OSError, and ValueError if `source` is built otherwise.
    """
    writer = _Writer(_Source(source))
    states = writer.embeddings(window=profile.window)
    for layer in range(LAYERS):
        states = writer.layer(states, prefix=f"inner.encoder.layer.{layer}.", name=f"l{layer}")
    target.write_bytes(writer.serialized(states, dimension=profile.dimension))


class _Dense(NamedTuple):
    """A linear layer: int8 weights (in, out), one scale an output column, bias."""

    weight: "Array"
    scale: "Array"
    bias: "Array"


class _Source:
    """The packaged model's tensors, by the names of the layers they belong to."""

    def __init__(self, path: Path) -> None:
        import onnx  # see above
        from onnx import numpy_helper

        graph = onnx.load(str(path)).graph
        self._tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
        makers = {output: node for node in graph.node for output in node.output}
        self._weight_of_bias: dict[str, str] = {}
        for node in graph.node:
            bias = [name for name in node.input if name.endswith(".bias")]
            products = [makers[name] for name in node.input if name in makers]
            if node.op_type == "Add" and bias and products and products[0].op_type == "MatMul":
                self._weight_of_bias[bias[0]] = products[0].input[1]

    def tensor(self, name: str) -> "Array":
        """Raises ValueError if there is none of that name."""
        if name not in self._tensors:
            raise ValueError(f"the model holds no tensor {name}")
        found: Array = self._tensors[name]
        return found

    def dense(self, layer: str) -> _Dense:
        weight = self._weight_of_bias.get(f"{layer}.bias", "")
        return _Dense(
            self.tensor(f"{weight}_q"),
            self.tensor(f"{weight}_scale").reshape(-1),
            self.tensor(f"{layer}.bias"),
        )


class _Writer:
    """Collects the nodes and constants of the new graph; each method returns its output's name."""

    def __init__(self, source: _Source) -> None:
        from onnx import helper, numpy_helper  # see above

        self._source = source
        self._helper = helper
        self._from_array = numpy_helper.from_array
        self._nodes: list[object] = []
        self._constants: list[object] = []

    def embeddings(self, *, window: int) -> str:
        """Word vectors kept in 8 bits, plus positions and the one segment, normed."""
        import numpy as np  # see above
        from onnx import TensorProto

        source = self._source
        positions = source.tensor(f"{_EMBEDDINGS}position_embeddings.weight_q")[:window]
        scales = source.tensor(f"{_EMBEDDINGS}position_embeddings.weight_scale")[:window]
        segment = source.tensor(f"{_EMBEDDINGS}token_type_embeddings.weight")[0]
        table = np.asarray(positions * scales + segment, dtype=np.float32)
        words = self._tensor("words", f"{_EMBEDDINGS}word_embeddings.weight_q")
        word_scales = self._tensor("word_scales", f"{_EMBEDDINGS}word_embeddings.weight_scale")
        zero = self._constant("zero", np.zeros(1, dtype=np.int64))

        self._node("Gather", [words, "input_ids"], "word_bytes")
        self._node("Cast", ["word_bytes"], "word_floats", to=TensorProto.FLOAT)
        self._node("Gather", [word_scales, "input_ids"], "word_scale")
        self._node("Mul", ["word_floats", "word_scale"], "word")
        self._node("Shape", ["input_ids"], "length", start=1, end=2)
        self._node("Slice", [self._constant("places", table), zero, "length", zero], "place")
        self._node("Add", ["word", "place"], "placed")
        norm = self._norm("embedding_norm", f"{_EMBEDDINGS}LayerNorm")
        return self._node(
            "LayerNormalization", ["placed", *norm], "embedded", axis=-1, epsilon=_EPSILON
        )

    def layer(self, states: str, *, prefix: str, name: str) -> str:
        """One transformer layer."""
        attended = self._attention(states, prefix=f"{prefix}attention.self.", name=f"{name}_att")
        output = self._source.dense(f"{prefix}attention.output.dense")
        mixed = self._skip(
            self._product(attended, output, name=f"{name}_out"),
            states,
            norm=f"{prefix}attention.output.LayerNorm",
            bias=output.bias,
            name=f"{name}_mid",
        )
        wide = self._source.dense(f"{prefix}intermediate.dense")
        raw = self._product(mixed, wide, name=f"{name}_wide")
        bias = self._constant(f"{name}_wide_bias", wide.bias)
        active = self._node("BiasGelu", [raw, bias], f"{name}_gelu", domain=_CONTRIB)
        narrow = self._source.dense(f"{prefix}output.dense")
        return self._skip(
            self._product(active, narrow, name=f"{name}_narrow"),
            mixed,
            norm=f"{prefix}output.LayerNorm",
            bias=narrow.bias,
            name=name,
        )

    def serialized(self, states: str, *, dimension: int) -> bytes:
        """The whole model as the bytes of a file."""
        from onnx import TensorProto  # see above

        helper = self._helper
        self._node("Identity", [states], "last_hidden_state")
        graph = helper.make_graph(
            self._nodes,
            "fused",
            [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "length"])],
            [
                helper.make_tensor_value_info(
                    "last_hidden_state", TensorProto.FLOAT, [1, "length", dimension]
                )
            ],
            self._constants,
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_CONTRIB, 1)]
        model = helper.make_model(graph, opset_imports=opsets, producer_name="memsvc")
        model.ir_version = _IR
        written: bytes = model.SerializeToString(deterministic=True)
        return written

    def _attention(self, states: str, *, prefix: str, name: str) -> str:
        import numpy as np  # see above

        parts = [self._source.dense(f"{prefix}{part}") for part in ("query", "key", "value")]
        weight = np.concatenate([part.weight for part in parts], axis=1)
        scale = np.concatenate([part.scale for part in parts])
        bias = np.concatenate([part.bias for part in parts])
        outputs = [f"{name}_bytes", f"{name}_input_scale", f"{name}_input_zero"]
        self._nodes.append(self._helper.make_node("DynamicQuantizeLinear", [states], outputs))
        given = [
            outputs[0],
            self._constant(f"{name}_weight", weight),
            self._constant(f"{name}_bias", bias),
            outputs[1],
            self._constant(f"{name}_scale", scale),
            "",  # no mask: nothing is padded
            outputs[2],
            self._constant(f"{name}_zero", np.zeros((), dtype=np.int8)),
        ]
        return self._node("QAttention", given, name, domain=_CONTRIB, num_heads=HEADS)

    def _product(self, states: str, dense: _Dense, *, name: str) -> str:
        weight = self._constant(f"{name}_weight", dense.weight)
        scale = self._constant(f"{name}_scale", dense.scale)
        return self._node("DynamicQuantizeMatMul", [states, weight, scale], name, domain=_CONTRIB)

    def _skip(self, states: str, skipped: str, *, norm: str, bias: "Array", name: str) -> str:
        given = [states, skipped, *self._norm(f"{name}_norm", norm)]
        given.append(self._constant(f"{name}_bias", bias))
        return self._node("SkipLayerNormalization", given, name, domain=_CONTRIB, epsilon=_EPSILON)

    def _norm(self, name: str, layer: str) -> tuple[str, str]:
        return (
            self._tensor(f"{name}_weight", f"{layer}.weight"),
            self._tensor(f"{name}_bias", f"{layer}.bias"),
        )

    def _tensor(self, name: str, of: str) -> str:
        return self._constant(name, self._source.tensor(of))

    def _constant(self, name: str, array: "Array") -> str:
        import numpy as np  # see above

        self._constants.append(self._from_array(np.ascontiguousarray(array), name))
        return name

    def _node(self, kind: str, given: list[str], output: str, **attributes: object) -> str:
        self._nodes.append(self._helper.make_node(kind, given, [output], **attributes))
        return output
