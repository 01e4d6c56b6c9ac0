"""Sentences and tokens of passages: packed, unpacked and compared."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsvc.index.units import pack, sentences, unpack
from tests.fakes import FakeEmbedder

EMBEDDER = FakeEmbedder()


def packed(text: str) -> bytes:
    reading = EMBEDDER.read_query(text)
    return pack(text, reading.states, reading.spans)


@given(st.text(max_size=400))
def test_sentences_together_are_the_text(text: str) -> None:
    assert "".join(text[start:end] for start, end in sentences(text)) == text


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("One two three. Four five six.", 2),
        ("- a b c\n- d e f\n", 2),
        ("截止日期。七月九日。", 2),
        ("", 0),
    ],
)
def test_sentences_and_lines_are_told_apart(text: str, count: int) -> None:
    assert len(sentences(text)) == count


def test_each_sentence_has_a_vector_close_to_its_own_words_and_the_whole_comes_last() -> None:
    details = unpack([packed("The falcon nests here. Rust and Oslo agree.")], EMBEDDER.dimension)
    assert details.sentences.shape == (3, EMBEDDER.dimension)
    falcon = EMBEDDER.embed_query("the falcon nests here")
    first, second, whole = (details.sentences @ falcon).tolist()
    assert first > 0.98
    assert abs(second) < 0.2
    assert second < whole < first


def test_a_short_piece_is_no_sentence_of_its_own() -> None:
    details = unpack([packed("Yes. The falcon nests on the tower.")], EMBEDDER.dimension)
    assert len(details.sentences) == 2


def test_a_token_is_found_again_and_another_is_not() -> None:
    details = unpack([packed("The falcon nests here."), packed("Oslo agrees.")], EMBEDDER.dimension)
    states = EMBEDDER.read_query("falcon oslo").states
    held = details.held(states)
    assert held.shape == (2, 2)
    assert held[0, 0] > 0.8 > 0.3 > abs(held[1, 0])
    assert held[1, 1] > 0.8 > 0.3 > abs(held[0, 1])


def test_a_passage_without_tokens_holds_nothing_and_harms_no_neighbour() -> None:
    details = unpack(
        [packed("The falcon nests."), packed("...!")],
        EMBEDDER.dimension,
    )
    held = details.held(EMBEDDER.read_query("falcon").states)[:, 0]
    assert held[0] > 0.8
    assert held[1] == 0.0


def test_nothing_unpacks_to_nothing() -> None:
    details = unpack([], 384)
    assert details.sentences.shape == (0, 384)
    assert details.held(np.zeros((2, 384), np.float32)).shape == (0, 2)


def test_bytes_of_another_dimension_are_refused() -> None:
    blob = packed("The falcon nests here.")
    assert len(unpack([blob], EMBEDDER.dimension).sentences) == 2
    with pytest.raises(ValueError, match="dimension"):
        unpack([blob], 128)
