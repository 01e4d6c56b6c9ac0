"""Any local folder as a model: what is learned from its files, and what is said when they fall short."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memsvc.embedding.catalogue import HUB
from memsvc.embedding.folder import DESCRIPTION, read_folder
from memsvc.embedding.opening import identity, open_embedder, open_reranker
from memsvc.embedding.packaged import OnnxEmbedder
from memsvc.embedding.profile import packaged_model, packaged_tokenizer
from memsvc.errors import Misconfigured, ModelUnavailable
from tests.unit.embedding.tiny import (
    DIMENSION,
    bert_tokenizer,
    describe,
    table,
    unigram_tokenizer,
    write_encoder,
    write_ranker,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model that lacks nothing but a description."""
    write_encoder(tmp_path / "model.onnx")
    (tmp_path / "tokenizer.json").write_text(bert_tokenizer())
    return tmp_path


def opened(folder: Path) -> OnnxEmbedder:
    return open_embedder(f"folder:{folder}", folder / "models", workers=1)


def unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def test_a_description_says_how_the_model_is_used(folder: Path) -> None:
    states = table()
    describe(folder, dimension=DIMENSION, pooling="mean", window=6)
    mean = opened(folder)
    assert np.allclose(mean.embed_query("heron ships"), unit(states[[2, 4, 6, 3]].mean(axis=0)))
    assert (mean.dimension, mean.max_tokens) == (DIMENSION, 4)
    assert np.array_equal(
        mean.embed_query("heron ships late egret"), mean.embed_query("heron ships late egret nest")
    )
    describe(folder, dimension=DIMENSION, pooling="cls")
    assert np.allclose(opened(folder).embed_query("heron ships"), unit(states[2]))


def test_prefixes_stand_before_the_text_and_not_among_its_tokens(folder: Path) -> None:
    describe(folder, dimension=DIMENSION, window=9, query_prefix="query: ", passage_prefix="passage: ")  # fmt: skip
    model, states = opened(folder), table()
    assert np.allclose(model.embed_query("heron"), unit(states[[2, 8, 10, 4, 3]].mean(axis=0)))
    passage = unit(states[[2, 9, 10, 4, 3]].mean(axis=0))
    assert np.allclose(model.embed_passages(["heron"])[0], passage)
    assert model.max_tokens == 9 - 2 - 2
    reading = model.read_query("heron  nesting")
    assert reading.spans == ((0, 5), (7, 11), (11, 14))
    assert np.allclose(reading.states, states[[4, 11, 12]] / np.linalg.norm(states[[4, 11, 12]], axis=1, keepdims=True))  # fmt: skip
    assert np.array_equal(reading.vector, model.embed_query("heron  nesting"))
    assert model.read_passages(["", "heron"])[0].states.shape == (0, DIMENSION)


def test_a_blank_that_a_tokenizer_counts_to_a_word_is_not_in_its_span(folder: Path) -> None:
    (folder / "tokenizer.json").write_text(unigram_tokenizer())
    describe(folder, dimension=DIMENSION, query_prefix="query: ", passage_prefix="passage: ")
    model, states = opened(folder), table()
    text = "heron ships late"
    reading = model.read_query(text)
    assert [text[start:end] for start, end in reading.spans if end > start] == ["heron", "ships", "late"]  # fmt: skip
    assert len(reading.states) == len(reading.spans)
    assert np.allclose(model.embed_query("heron"), unit(states[[0, 8, 10, 4, 2]].mean(axis=0)))


@pytest.mark.parametrize(
    ("files", "pooling", "window", "prefix"),
    [
        ({"config.json": {"hidden_size": DIMENSION}}, "mean", 256, ""),
        (
            {
                "1_Pooling/config.json": {
                    "word_embedding_dimension": DIMENSION,
                    "pooling_mode_cls_token": True,
                    "pooling_mode_mean_tokens": False,
                },
                "sentence_bert_config.json": {"max_seq_length": 128},
                "config_sentence_transformers.json": {
                    "prompts": {"query": "query: ", "document": ""}
                },
            },
            "cls",
            128,
            "query: ",
        ),
        (
            {"config.json": {"hidden_size": DIMENSION, "max_position_embeddings": 300}},
            "mean",
            300,
            "",
        ),
        (
            {
                "config.json": {
                    "hidden_size": DIMENSION,
                    "model_type": "xlm-roberta",
                    "max_position_embeddings": 130,
                }
            },
            "mean",
            128,
            "",
        ),
        (
            {"config.json": {"hidden_size": DIMENSION, "max_position_embeddings": 8192}},
            "mean",
            512,
            "",
        ),
    ],
)
def test_the_files_beside_a_model_are_learned_from(
    folder: Path, files: dict[str, dict[str, object]], pooling: str, window: int, prefix: str
) -> None:
    for name, told in files.items():
        describe(folder, name, **told)
    found = read_folder(folder).profile
    assert (found.pooling, found.window, found.query_prefix) == (pooling, window, prefix)
    assert opened(folder).dimension == DIMENSION


def test_a_model_may_stand_in_a_folder_of_its_own_with_any_name_for_its_states(
    folder: Path,
) -> None:
    (folder / "model.onnx").unlink()
    write_encoder(
        folder / "onnx" / "model.onnx",
        output="token_embeddings",
        inputs=("input_ids", "attention_mask", "position_ids"),
    )
    describe(folder, dimension=DIMENSION)
    assert opened(folder).embed_query("heron").shape == (DIMENSION,)


@pytest.mark.parametrize(
    ("missing", "said"),
    [("model.onnx", "lacks model.onnx"), ("tokenizer.json", "lacks tokenizer.json"), (DESCRIPTION, "how long")],
)  # fmt: skip
def test_what_a_folder_lacks_is_named(folder: Path, missing: str, said: str) -> None:
    describe(folder, dimension=DIMENSION)
    assert opened(folder).dimension == DIMENSION
    (folder / missing).unlink()
    with pytest.raises(Misconfigured, match=said) as caught:
        opened(folder)
    assert str(folder) not in caught.value.message
    with pytest.raises(Misconfigured, match="not there"):
        opened(folder / "gone")


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"dimension": DIMENSION + 1}, f"vectors of {DIMENSION} numbers, not of {DIMENSION + 1}"),
        ({"dimension": "8"}, "'dimension' must be of type int"),
        ({"dimension": True}, "'dimension' must be of type int"),
        ({"dimension": DIMENSION, "poolin": "cls"}, "unknown key 'poolin'"),
        ({"dimension": DIMENSION, "pooling": "max"}, "pooling is mean or cls"),
        ({"kind": "reranker"}, "is a reranker"),
        ({"dimension": DIMENSION, "window": 5, "query_prefix": "query: late"}, "leaves no text"),
    ],
)
def test_a_wrong_description_is_refused_in_words(
    folder: Path, told: dict[str, object], said: str
) -> None:
    describe(folder, **told)
    with pytest.raises(Misconfigured, match=said):
        opened(folder)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (DESCRIPTION, b"{", "cannot be read"),
        (DESCRIPTION, b"[]", "one JSON object"),
        ("tokenizer.json", b"{}", "cannot be used"),
        ("tokenizer.json", b"\xff", "not UTF-8"),
        ("model.onnx", b"not a model", "cannot be loaded"),
    ],
)
def test_a_damaged_file_is_refused_in_words(
    folder: Path, name: str, content: bytes, said: str
) -> None:
    describe(folder, dimension=DIMENSION)
    (folder / name).write_bytes(content)
    with pytest.raises(Misconfigured, match=said):
        opened(folder)


def test_an_unknown_pooling_or_input_is_refused_rather_than_guessed(folder: Path) -> None:
    describe(folder, "1_Pooling/config.json", pooling_mode_max_tokens=True, word_embedding_dimension=DIMENSION)  # fmt: skip
    with pytest.raises(Misconfigured, match="pooling_mode_max_tokens"):
        opened(folder)
    describe(folder, dimension=DIMENSION)
    assert opened(folder).dimension == DIMENSION
    write_encoder(folder / "model.onnx", inputs=("input_ids", "pixels"))
    with pytest.raises(Misconfigured, match="pixels"):
        opened(folder)


def test_a_text_that_the_runtime_fails_at_is_an_error_in_words(folder: Path) -> None:
    (folder / "tokenizer.json").write_text(bert_tokenizer().replace('"nest":11', '"nest":99'))
    describe(folder, dimension=DIMENSION)
    model = opened(folder)
    assert model.embed_query("heron").shape == (DIMENSION,)
    with pytest.raises(ModelUnavailable, match="failed on a text of 3 tokens"):
        model.embed_query("nest")


def test_a_folder_keeps_its_identity_when_it_moves_and_loses_it_when_anything_differs(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    describe(folder, dimension=DIMENSION)
    models = folder / "models"
    first = identity(f"folder:{folder}", models)
    assert first == opened(folder).model_id
    moved = tmp_path_factory.mktemp("moved") / "model"
    folder.rename(moved)
    seen = {first, identity(f"folder:{moved}", models)}
    assert seen == {first}
    changes: list[dict[str, object]] = [{"pooling": "cls"}, {"query_prefix": "a: "}, {"window": 99}]
    for told in changes:
        describe(moved, "memsvc-model.json", dimension=DIMENSION, **told)
        seen.add(opened(moved).model_id)
    (moved / "model.onnx_data").write_bytes(b"weights kept beside")
    seen.add(opened(moved).model_id)
    assert len(seen) == 5
    assert identity(f"folder:{moved / 'gone'}", models) == ""


def test_the_packaged_files_as_a_folder_give_the_packaged_vectors(
    tmp_path: Path, shipped: OnnxEmbedder
) -> None:
    (tmp_path / "model.onnx").write_bytes(packaged_model().read_bytes())
    (tmp_path / "tokenizer.json").write_text(packaged_tokenizer())
    describe(tmp_path, "config.json", hidden_size=384, max_position_embeddings=512)
    describe(tmp_path, "sentence_bert_config.json", max_seq_length=256)
    model = opened(tmp_path)
    assert np.array_equal(model.embed_query("the heron"), shipped.embed_query("the heron"))
    assert model.max_tokens == shipped.max_tokens
    assert model.model_id != shipped.model_id


def test_a_fetched_model_must_be_there_with_the_files_that_are_pinned(tmp_path: Path) -> None:
    name = HUB[1].name
    with pytest.raises(Misconfigured, match=f"run `memsvc model fetch {name}`"):
        open_embedder(name, tmp_path)
    (tmp_path / name).mkdir()
    for file in HUB[1].files:
        (tmp_path / name / file.name).write_bytes(b"something else")
    with pytest.raises(Misconfigured, match="not the one expected"):
        open_embedder(name, tmp_path)
    assert identity(name, tmp_path) == HUB[1].model_id


def test_a_reranker_judges_the_passage_and_each_on_its_own(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(bert_tokenizer())
    describe(tmp_path, kind="reranker", window=12)
    for labels in (1, 2):
        write_ranker(tmp_path / "model.onnx", {4: 3.0, 5: -2.0}, labels=labels)
        model = open_reranker(f"folder:{tmp_path}", tmp_path)
        texts = ["heron", "egret", "late", "", "heron egret", "\ud800\0"]
        scores = model.score("heron heron", texts)
        expected = 1 / (1 + np.exp(-np.array([3.0, -2.0, 0, 0, 1.0, 0])))
        assert scores.dtype == np.float32
        assert np.allclose(scores, expected)
        assert np.array_equal(scores, [model.score("heron heron", [text])[0] for text in texts])
        assert model.score("heron", []).shape == (0,)
        long = model.score("late " * 5_000, ["heron " * 5_000])
        assert np.allclose(long, 1 / (1 + np.exp(-3.0 * (12 - 6 - 3))))
    assert model.model_id.startswith("folder@")
    with pytest.raises(Misconfigured, match="is a reranker"):
        open_embedder(f"folder:{tmp_path}", tmp_path)
