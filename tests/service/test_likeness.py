"""Which texts belong together because they say much the same."""

import pytest

from memsvc.service.likeness import group_token, likeness_groups


def test_texts_that_share_half_their_words_are_one_group() -> None:
    texts = {
        "a": "The release moves to 12 March.",
        "b": "the RELEASE moves to 30 march",
        "c": "Bob likes tea.",
        "d": "",
        "e": "Bob likes tea a lot.",
    }
    assert likeness_groups(texts) == [["a", "b"], ["c", "e"], ["d"]]


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("a b", "a b c d", True),
        ("a b", "a b c d e", False),
        ("a b c", "a b d", True),
        ("a b c d e", "a b c x y", False),
        ("a b c", "x y z", False),
        ("", "", False),
    ],
)
def test_half_of_all_words_is_enough(one: str, other: str, *, alike: bool) -> None:
    assert (len(likeness_groups({"1": one, "2": other})) == 1) is alike


def test_a_text_joins_the_first_group_that_it_is_like() -> None:
    texts = {"1": "a b c d", "2": "c d e f", "3": "b c d e"}
    assert likeness_groups(texts) == [["1", "3"], ["2"]]


def test_a_group_has_another_name_when_it_gains_a_member() -> None:
    assert group_token(["a", "b"]) == group_token(["b", "a"])
    assert group_token(["a", "b"]) != group_token(["a", "b", "c"])
