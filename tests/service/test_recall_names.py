"""Which words of a question are names, and which of them are one name."""

import pytest

from memsvc.service.recall.names import phrases, words_of


def names(question: str) -> list[str]:
    return [word.text for word in words_of(question) if word.name]


def runs(question: str) -> list[str]:
    found = phrases(words_of(question), question)
    return [" ".join(word.text for word in one) for one in found]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("who came after Greta", ["Greta"]),
        ("Who came? Greta is who knows Hollis.", ["Hollis"]),
        ("Who came:  Greta or Hollis", ["Hollis"]),
        ("Greta is who came", []),
        ("What am I told of Greta", ["Greta"]),
        ("What Is Told Of Greta", []),
        ("Kestrel Greta flies", []),
        ("is the VHF antenna of Greta there", ["Greta"]),
        ("is VHFXYZ there", ["VHFXYZ"]),
        ("is the TCPIP of A.B there", ["A.B"]),
        ("did it end in 2026 or in v2", ["v2"]),
    ],
)
def test_a_capital_tells_a_name_except_where_any_word_has_one(
    question: str, found: list[str]
) -> None:
    assert names(question) == found


def test_a_name_is_read_without_the_marks_and_the_possessive_behind_it() -> None:
    question = "is Greta's desk behind Hollis’s, or by Marit-."
    assert names(question) == ["Greta", "Hollis", "Marit"]
    for word in words_of(question):
        assert question[word.start : word.end] == word.text
    assert "is" not in [word.text for word in words_of(question)]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("is Ada Marit Quintanar there", ["Ada Marit Quintanar"]),
        ("is Marit, Quintanar there", []),
        ("is Marit  Quintanar there", []),
        ("is the host Marit there", []),
        ("is Marit Quintanar or Hollis Carrow", ["Marit Quintanar", "Hollis Carrow"]),
        ("is Marit Quintanar lost in Hollis", ["Marit Quintanar"]),
    ],
)
def test_names_with_one_blank_between_are_one_name(question: str, found: list[str]) -> None:
    assert runs(question) == found
