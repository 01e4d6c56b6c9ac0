"""Tokens: neither padded nor cut by surprise, and any text is legal."""

from dataclasses import replace

import pytest

from memsvc.embedding.profile import MINILM
from memsvc.embedding.tokens import TokenCounter, estimate_tokens, token_reader

ODD_TEXTS = ["", "\0", "a\0b", "\ud800", "x\udfff y", "\u200b", "漢字かな", "🦩" * 50, "%'\"; --"]


def test_a_short_text_is_not_padded() -> None:
    assert token_reader().ids("the heron") == token_reader().ids("the heron ")
    assert len(token_reader().ids("the heron")) == 4
    assert token_reader().count("the heron") == 2


def test_a_long_text_is_cut_to_the_window_and_keeps_its_beginning() -> None:
    words = "alpha beta gamma delta " * 300
    ids = token_reader().ids(words)
    assert len(ids) == MINILM.window == 256
    assert ids == token_reader().ids(words[:6000])
    assert ids[:-1] == token_reader().ids(words)[:255]
    assert token_reader().count(words) == 1200
    assert token_reader().max_tokens == 254


def test_a_cut_before_the_tokenizer_changes_nothing_that_is_read() -> None:
    reader = token_reader()
    blank_first = " \n" * 5000 + "the heron nests late"
    assert reader.ids(blank_first) == reader.ids("the heron nests late")
    one_long_word = "x" * 10_000 + " the heron"
    assert reader.ids(one_long_word) == reader.ids("y" * 101 + " the heron")


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_any_text_has_tokens_within_the_window(text: str) -> None:
    ids = token_reader().ids(text)
    assert 2 <= len(ids) <= 256
    assert len(ids) - 2 == token_reader().count(text)


def test_markers_in_a_text_are_plain_text() -> None:
    marker = token_reader().ids("")[-1]
    assert token_reader().ids("")[-1:] == [marker]
    assert token_reader().ids("a [SEP] b").count(marker) == 1


def test_counts_of_very_long_texts_are_in_proportion() -> None:
    words = "the heron deadline moved again. "
    exact = token_reader().count(words) * 10_000
    assert token_reader().count(words * 10_000) == pytest.approx(exact, rel=0.01)


def test_a_counter_counts_and_one_without_tokenizer_estimates_and_says_so() -> None:
    counter = TokenCounter()
    assert counter("the heron deadline") == 3
    assert counter.problem == ""
    lost = TokenCounter(replace(MINILM, tokenizer_file="absent.json"))
    assert lost("the heron deadline") == estimate_tokens("the heron deadline") == 6
    assert "tokenizer is missing" in lost.problem


@pytest.mark.parametrize(
    "text",
    ["The release moved to 12 March.", "漢字かな交じり文", "a_b(c, d)=e", "x = [1, 2]; y |= z", ""],
)
def test_the_estimate_is_not_below_the_count_and_at_most_twice_it(text: str) -> None:
    counted = token_reader().count(text)
    assert counted <= estimate_tokens(text) <= 2 * counted
