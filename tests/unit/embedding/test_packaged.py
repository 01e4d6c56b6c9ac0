"""Vectors: unit length, the same from every thread and in every company, near for near meanings."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from memsvc.embedding.packaged import OnnxEmbedder
from memsvc.embedding.protocol import Embedder
from memsvc.errors import Misconfigured
from tests.unit.embedding.test_tokens import ODD_TEXTS

SENTENCES = [
    "The heron project ships on 12 March.",
    "When do we release heron?",
    "Lunch is at noon on Fridays.",
    "def area(radius): return 3.14 * radius ** 2",
    "short",
    "The database listens on port 5433, and only on the loopback interface. " * 6,
]


def test_vectors_have_unit_length_and_the_stated_shape(rebuilt: OnnxEmbedder) -> None:
    embedder: Embedder = rebuilt
    vectors = embedder.embed_passages(SENTENCES)
    assert vectors.shape == (len(SENTENCES), embedder.dimension) == (6, 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(6), abs=1e-5)
    assert embedder.embed_passages([]).shape == (0, 384)


def test_a_question_is_nearest_to_the_passage_that_answers_it(rebuilt: OnnxEmbedder) -> None:
    passages = [
        "Heron will be released in spring.",
        "The canteen serves soup.",
        "Port 5433 is open.",
    ]
    similarity = rebuilt.embed_passages(passages) @ rebuilt.embed_query("when does heron ship")
    assert similarity.argmax() == 0
    assert similarity[0] > similarity[1] + 0.2


def test_a_vector_does_not_depend_on_what_is_embedded_with_it(rebuilt: OnnxEmbedder) -> None:
    together = rebuilt.embed_passages(SENTENCES)
    backwards = rebuilt.embed_passages(SENTENCES[::-1])[::-1]
    alone = np.stack([rebuilt.embed_query(text) for text in SENTENCES])
    assert np.array_equal(together, alone)
    assert np.array_equal(together, backwards)
    assert not np.array_equal(together[0], together[1])


def test_four_threads_get_the_vectors_that_one_gets(rebuilt: OnnxEmbedder) -> None:
    alone = rebuilt.embed_passages(SENTENCES)
    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(rebuilt.embed_passages, [SENTENCES] * 8):
            assert np.array_equal(vectors, alone)


@pytest.mark.parametrize("text", [*ODD_TEXTS, "heron " * 17_000])
def test_any_text_gets_a_finite_unit_vector(rebuilt: OnnxEmbedder, text: str) -> None:
    vector = rebuilt.embed_query(text)
    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_text_past_the_window_changes_nothing_and_text_within_it_does(
    rebuilt: OnnxEmbedder,
) -> None:
    full = "heron " * rebuilt.max_tokens
    assert np.array_equal(rebuilt.embed_query(full), rebuilt.embed_query(full + "lunch " * 50))
    assert not np.array_equal(rebuilt.embed_query(full), rebuilt.embed_query("lunch " + full))


def test_the_packaged_build_also_embeds(shipped: OnnxEmbedder) -> None:
    vectors = shipped.embed_passages(SENTENCES[:3])
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2] + 0.2


def test_a_file_that_is_no_model_is_refused_without_its_path(tmp_path: Path) -> None:
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"not a model")
    for path in (broken, tmp_path / "absent.onnx"):
        with pytest.raises(Misconfigured, match="cannot be loaded") as caught:
            OnnxEmbedder(path, model_id="x")
        assert str(tmp_path) not in str(caught.value)
