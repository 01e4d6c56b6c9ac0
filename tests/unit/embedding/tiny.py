"""Models of a few words, built on the spot: a token's state is a row of a table, whatever is around it."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

__all__ = [
    "DIMENSION",
    "bert_tokenizer",
    "describe",
    "table",
    "unigram_tokenizer",
    "write_encoder",
    "write_ranker",
]

WORDS = ("heron", "egret", "ships", "late", "query", "passage", ":", "nest", "##ing")
DIMENSION = 8
_OPSET = [helper.make_opsetid("", 17)]


def bert_tokenizer() -> str:
    """WordPiece with `[CLS]` before a text and `[SEP]` after it."""
    vocabulary = {word: at for at, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS))}
    made = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    made.enable_padding(length=64)  # which a reader must undo
    text: str = made.to_str()
    return text


def unigram_tokenizer() -> str:
    """SentencePiece's way: a blank belongs to the word after it; `<s>` before a text, `</s>` after."""
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁heron", "▁ships", "▁", "late", "▁query", "▁passage", ":", "s"]  # fmt: skip
    made = Tokenizer(models.Unigram([(piece, -1.0) for piece in pieces], unk_id=3))
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>",
        pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", 0), ("</s>", 2)],
    )
    text: str = made.to_str()
    return text


def table(rows: int = 16, dimension: int = DIMENSION) -> NDArray[np.float32]:
    """The state of each token."""
    made = np.random.default_rng(7).standard_normal((rows, dimension))
    return np.asarray(made, dtype=np.float32)


def write_encoder(
    path: Path, *, output: str = "last_hidden_state", inputs: tuple[str, ...] = ("input_ids",)
) -> None:
    """A model whose states are the rows of `table`."""
    nodes = [helper.make_node("Gather", ["table", "input_ids"], [output])]
    _write(path, nodes, {"table": table()}, inputs, output, ["batch", "length", DIMENSION])


def write_ranker(path: Path, weights: Mapping[int, float], *, labels: int = 1) -> None:
    """A cross-encoder whose last logit is the sum of the weights of the passage's tokens."""
    values = np.zeros((16, labels), dtype=np.float32)
    for token, weight in weights.items():
        values[token, labels - 1] = weight
    nodes = [
        helper.make_node("Gather", ["weights", "input_ids"], ["each"]),
        helper.make_node("Cast", ["token_type_ids"], ["second"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["second", "last"], ["mask"]),
        helper.make_node("Mul", ["each", "mask"], ["own"]),
        helper.make_node("ReduceSum", ["own", "along"], ["logits"], keepdims=0),
    ]
    constants: dict[str, NDArray[np.generic]] = {
        "weights": values,
        "last": np.array([2], dtype=np.int64),
        "along": np.array([1], dtype=np.int64),
    }
    inputs = ("input_ids", "token_type_ids")
    _write(path, nodes, constants, inputs, "logits", ["batch", labels])


def describe(folder: Path, name: str = "memsvc-model.json", /, **told: object) -> None:
    """Write a configuration file into a model's folder."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(told))


def _write(
    path: Path,
    nodes: list[object],
    constants: Mapping[str, NDArray[np.generic]],
    inputs: tuple[str, ...],
    output: str,
    shape: list[object],
) -> None:
    graph = helper.make_graph(
        nodes,
        "tiny",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
            for name in inputs
        ],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=_OPSET)
    model.ir_version = 9
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model.SerializeToString())
