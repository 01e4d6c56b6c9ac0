"""A local folder as a model: finds its files and learns from its configuration how to use them.

`memsvc-model.json` says everything and comes first; else the files that sentence-transformers and
transformers leave beside a model are read: `1_Pooling/config.json`, `sentence_bert_config.json`,
`config_sentence_transformers.json`, `config.json`.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from memsvc.embedding.catalogue import Kind
from memsvc.embedding.profile import ModelProfile, digest_of
from memsvc.errors import Misconfigured

__all__ = ["DESCRIPTION", "ModelFolder", "read_folder"]

DESCRIPTION = "memsvc-model.json"

_MODELS = ("model.onnx", "onnx/model.onnx")
_TOKENIZER = "tokenizer.json"
_LONGEST_WINDOW = 512
"""Of a folder that says more: notes are cut into shorter passages, and long texts cost the square."""
_USUAL_WINDOW = 256
_KEYS = {
    "kind": str,
    "dimension": int,
    "window": int,
    "pooling": str,
    "query_prefix": str,
    "passage_prefix": str,
}
_MARKERS_BEFORE_POSITIONS = ("roberta", "camembert", "xlm-roberta", "mpnet")
"""Families whose position table has two rows that no token uses."""


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """The files of a local model and how to use them; `model_id` covers both."""

    model: Path
    tokenizer: Path
    kind: Kind
    profile: ModelProfile

    @property
    def model_id(self) -> str:
        """Stays the same when the folder moves, and differs when anything that matters differs."""
        return f"folder@{self.profile.fingerprint[:24]}"


def read_folder(folder: Path) -> ModelFolder:
    """The model in a folder. Reads every byte of it, for its identity.

    Raises Misconfigured, saying what is missing or wrong, if it cannot be used.
    """
    if not folder.is_dir():
        raise Misconfigured("the model's folder is not there")
    model = next((folder / name for name in _MODELS if (folder / name).is_file()), None)
    if model is None:
        raise Misconfigured("the model's folder lacks model.onnx (or onnx/model.onnx)")
    tokenizer = folder / _TOKENIZER
    if not tokenizer.is_file():
        raise Misconfigured(f"the model's folder lacks {_TOKENIZER}")
    told = _described(folder) if (folder / DESCRIPTION).exists() else _learned(folder)
    if "dimension" not in told and told.get("kind") != "reranker":
        raise Misconfigured(
            f"nothing in the model's folder says how long its vectors are; add {DESCRIPTION} with "
            '{"dimension": N, "pooling": "mean"}'
        )
    pooling = told.get("pooling", "mean")
    kind = told.get("kind", "embedder")
    if pooling not in ("mean", "cls") or kind not in ("embedder", "reranker"):
        raise Misconfigured(
            f"{DESCRIPTION}: pooling is mean or cls, and kind is embedder or reranker"
        )
    window = int(cast("int", told.get("window", _USUAL_WINDOW)))
    return ModelFolder(
        model=model,
        tokenizer=tokenizer,
        kind=kind,
        profile=ModelProfile(
            name="folder",
            revision="local",
            sha256=_digest(model),
            tokenizer_sha256=digest_of(tokenizer),
            dimension=int(cast("int", told.get("dimension", 1))),
            window=max(3, min(window, _LONGEST_WINDOW)),
            pooling=pooling,
            query_prefix=str(told.get("query_prefix", "")),
            passage_prefix=str(told.get("passage_prefix", "")),
        ),
    )


def _digest(model: Path) -> str:
    """Of the model's file and of the files beside it that hold its larger weights."""
    parts = sorted(path for path in model.parent.glob(f"{model.name}*") if path.is_file())
    parts += sorted(path for path in model.parent.glob(f"{model.stem}*.data") if path not in parts)
    if parts == [model]:
        return digest_of(model)
    digests = [f"{path.name} {digest_of(path)}" for path in parts]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def _described(folder: Path) -> dict[str, object]:
    told = _json(folder, DESCRIPTION)
    for key, value in told.items():
        if key not in _KEYS:
            raise Misconfigured(f"{DESCRIPTION}: unknown key '{key}'; known: {', '.join(_KEYS)}")
        if not isinstance(value, _KEYS[key]) or isinstance(value, bool):
            raise Misconfigured(f"{DESCRIPTION}: '{key}' must be of type {_KEYS[key].__name__}")
    return told


def _learned(folder: Path) -> dict[str, object]:
    config = _json(folder, "config.json")
    pooling = _json(folder, "1_Pooling/config.json")
    told: dict[str, object] = {}
    dimension = pooling.get("word_embedding_dimension", config.get("hidden_size"))
    if isinstance(dimension, int):
        told["dimension"] = dimension
    if pooling:
        told["pooling"] = _pooling(pooling)
    if any("SequenceClassification" in str(name) for name in _list(config.get("architectures"))):
        told["kind"] = "reranker"
    window = _json(folder, "sentence_bert_config.json").get("max_seq_length")
    if not isinstance(window, int):
        window = config.get("max_position_embeddings")
        if isinstance(window, int) and config.get("model_type") in _MARKERS_BEFORE_POSITIONS:
            window -= 2
    if isinstance(window, int):
        told["window"] = window
    prompts = _json(folder, "config_sentence_transformers.json").get("prompts")
    if isinstance(prompts, Mapping):
        told["query_prefix"] = str(prompts.get("query") or "")
        told["passage_prefix"] = str(prompts.get("passage") or prompts.get("document") or "")
    return told


def _pooling(config: Mapping[str, object]) -> str:
    modes = [key for key, on in config.items() if key.startswith("pooling_mode_") and on is True]
    known = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
    if len(modes) != 1 or modes[0] not in known:
        raise Misconfigured(
            f"1_Pooling/config.json asks for {', '.join(modes) or 'no pooling'}; "
            "only the mean of all tokens or the first one (cls) can be taken"
        )
    return known[modes[0]]


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _json(folder: Path, name: str) -> dict[str, object]:
    """A configuration file as a mapping; empty if it is not there."""
    try:
        found = json.loads((folder / name).read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise Misconfigured(f"{name} of the model's folder cannot be read") from error
    if not isinstance(found, dict):
        raise Misconfigured(f"{name} of the model's folder must hold one JSON object")
    return found
