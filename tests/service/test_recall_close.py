"""The closer look: what is compared, and which passage of several is the closest."""

import numpy as np
import pytest
from numpy.typing import NDArray

from memsvc.embedding.protocol import Reading
from memsvc.index.units import pack
from memsvc.index.values import Lexical
from memsvc.service.recall.late import Close, Question, closest, weigh

WIDTH = 64
EYE = np.random.default_rng(3).choice([-1.0, 1.0], (6, WIDTH)).astype(np.float32) / 8.0
"""Unit vectors, each far from the others and equal to its own signs."""


def packed(*rows: int) -> bytes:
    """A passage with one token for each row."""
    text = " ".join("ab" for _ in rows)
    return pack(text, EYE[list(rows)], tuple((3 * at, 3 * at + 2) for at in range(len(rows))))


def question(*rows: int, weights: list[float] | None = None) -> Question:
    given = np.array(weights or [1 / len(rows)] * len(rows))
    return Question(EYE[list(rows)], given)


def words(**weights: float) -> Lexical:
    none: NDArray[np.float64] = np.zeros(0)
    return Lexical(weights=weights, common=frozenset(), by_version=none, by_passage=none)


def test_each_token_is_held_by_the_best_of_a_version_s_passages() -> None:
    close = Close(question(0, 1, 2), {4: {10: packed(0), 11: packed(1)}, 5: {12: packed(2)}})
    held = close.held()
    assert sorted(held) == [4, 5]
    assert (held[4] > 1.0).tolist() == [True, True, False]
    assert (held[5] > 1.0).tolist() == [False, False, True]


def test_the_closest_passage_is_named_and_of_equals_the_first() -> None:
    asked = question(0, 1)
    close = Close(
        asked, {4: {10: packed(2), 11: packed(0, 1), 12: packed(1, 0)}, 7: {13: packed(3)}}
    )
    look = close.look(asked.weights, late=0.7)
    assert look.chunk == {4: 11, 7: 13}
    assert look.meaning[4] == pytest.approx(1.0, abs=0.02)
    assert look.meaning[4] > look.meaning[7]
    assert look.tokens[4] == pytest.approx(1.25, abs=0.01)
    assert look.tokens[4] > look.tokens[7]
    backwards = Close(asked, {4: {11: packed(0, 1), 10: packed(2)}}).look(asked.weights, late=0.7)
    assert backwards.chunk == {4: 11}
    assert backwards.meaning[4] == pytest.approx(look.meaning[4])
    assert backwards.tokens[4] == pytest.approx(look.tokens[4])


def test_tokens_and_meaning_are_of_the_best_passage_each_and_the_weight_of_tokens_decides() -> None:
    asked = question(0, 1, weights=[0.5, 0.5])
    vague, exact = packed(0, 1), packed(0, 2, 3, 4, 1, 5)
    one = Close(asked, {1: {10: vague, 11: exact}}).look(asked.weights, late=0.0)
    assert one.chunk == {1: 10}
    only = Close(asked, {1: {11: exact}}).look(asked.weights, late=0.0)
    assert one.meaning[1] > only.meaning[1]
    assert one.tokens[1] >= only.tokens[1]


def test_a_look_at_nothing_finds_nothing() -> None:
    asked = question(0)
    look = Close(asked, {}).look(asked.weights, late=0.7)
    assert (look.meaning, look.tokens, look.chunk) == ({}, {}, {})
    assert Close(asked, {3: {10: packed(0)}}).look(asked.weights, late=0.7).chunk == {3: 10}


def reading(*spans: tuple[int, int]) -> Reading:
    return Reading(EYE[0], EYE[: len(spans)], spans)


def test_pieces_of_one_word_share_its_weight_and_words_beside_it_have_their_own() -> None:
    text = "kestrelbird led, x-ray"
    spans = ((0, 7), (7, 11), (12, 15), (15, 16), (17, 18), (18, 19), (19, 22))
    found = weigh(reading(*spans[:6]), text, words(kestrelbird=0.6, led=0.2))
    assert found is not None
    assert [word[:2] for word in found.words] == [(0, 2), (2, 3), (3, 4), (4, 5), (5, 6)]
    assert found.weights.tolist() == pytest.approx([0.375, 0.375, 0.25, 0.0, 0.0, 0.0])
    without = found.without(frozenset({"kestrelbird"}))
    assert without.tolist() == pytest.approx([0.0, 0.0, 0.25, 0.0, 0.0, 0.0])
    assert found.without(frozenset({"other"})).tolist() == found.weights.tolist()


def test_tokens_with_an_unread_letter_between_are_two_words() -> None:
    found = weigh(reading((0, 3), (4, 7)), "kestrel", words())
    assert found is not None
    assert [word[:2] for word in found.words] == [(0, 1), (1, 2)]


def test_a_question_of_words_that_say_nothing_weighs_them_alike_and_one_without_any_is_none() -> (
    None
):
    found = weigh(reading((0, 3), (4, 7)), "why not", words())
    assert found is not None
    assert found.weights.tolist() == [0.5, 0.5]
    assert weigh(reading(), "", words(why=1.0)) is None


def test_a_pooled_question_is_a_unit_vector_of_what_counts() -> None:
    asked = question(0, 1)
    assert asked.pooled(np.array([1.0, 0.0])).tolist() == pytest.approx(EYE[0].tolist(), abs=1e-6)
    assert np.linalg.norm(asked.pooled(np.array([0.2, 0.1]))) == pytest.approx(1.0, abs=1e-6)
    assert not asked.pooled(np.zeros(2)).any()


def test_the_best_passages_are_looked_at_in_their_order() -> None:
    pieces = np.array([0.1, 0.9, 0.3, 0.9, 0.2])
    assert closest(pieces, most=3) == [1, 2, 3]
    assert closest(pieces, most=1) == [1]
    assert closest(pieces, most=5) == [0, 1, 2, 3, 4]
    assert closest(pieces, most=9) == [0, 1, 2, 3, 4]
