"""File names are readable, legal everywhere, and never another note's."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsvc.notes.paths import is_note_path, resolve_note
from memsvc.notes.slugs import free_name, slug


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Heron release moved to 12 March", "heron-release-moved-to-12-march"),
        ("  Don't / do: this!  ", "dont-do-this"),
        ("Straße", "straße"),
        ("リリース日", "リリース日"),
        ("हिन्दी", "हिन्दी"),
        ("cafe\u0301", "café"),
        ("v1.2.3", "v1-2-3"),
        ("../../etc/passwd", "etc-passwd"),
        (".hidden", "hidden"),
        ("😀", "note"),
        ("❤️ heron", "heron"),
        ("", "note"),
        ("CON", "con-note"),
        ("com1", "com1-note"),
        ("console", "console"),
        ("zero\u200bwidth", "zerowidth"),
        ("a\x00b\ud800c", "a-b-c"),
    ],
)
def test_a_title_becomes_a_readable_name(title: str, name: str) -> None:
    assert slug(title) == name


def test_a_long_title_is_cut_between_letters() -> None:
    assert slug("a" * 300) == "a" * 80
    assert slug("日" * 300) == "日" * 26
    letters = slug("क्" * 60)
    assert len(letters.encode()) <= 80
    assert letters == "क्" * (len(letters) // 2)


def test_a_taken_name_gets_a_number_whatever_its_case() -> None:
    taken = {"heron.md", "heron-2.md"}
    assert free_name("Heron", taken.__contains__) == "heron-3.md"
    assert free_name("Swan", taken.__contains__) == "swan.md"
    assert free_name("Straße", {"strasse.md"}.__contains__) == "straße-2.md"
    assert free_name("Straße", {"straße.md"}.__contains__) == "straße-2.md"


def test_two_titles_without_letters_are_two_notes() -> None:
    taken: set[str] = set()
    for _ in range(2):
        taken.add(free_name("😀", taken.__contains__))
    assert taken == {"note.md", "note-2.md"}


@given(st.text())
def test_every_title_makes_a_legal_note_path(title: str) -> None:
    from pathlib import Path

    name = free_name(title, lambda _: False)
    assert is_note_path(f"heron/{name}")
    assert resolve_note(Path("/nowhere"), f"heron/{name}").name == name
    assert name == unicodedata.normalize("NFC", name)
    assert len(name.encode()) <= 90
