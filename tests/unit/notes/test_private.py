"""Private blocks are found and left out, whole."""

import pytest

from memsvc.notes.private import has_private, without_private


@pytest.mark.parametrize(("text", "kept", "count"), [
    ("a <private>b</private> c", "a  c", 1),
    ("a <PRIVATE class='x'>b\n\nc</ private > d", "a  d", 1),
    ("<private>a<private>b</private>c</private>d", "d", 1),
    ("<private>a</private>b<private>c</private>", "b", 2),
    ("nothing private here, not even <privately>", "nothing private here, not even <privately>", 0),
    ("a </private> b", "a </private> b", 0),
])  # fmt: skip
def test_closed_blocks_go(text: str, kept: str, count: int) -> None:
    assert without_private(text) == (kept, count, True)
    assert has_private(text) is (count > 0)


def test_what_follows_an_unclosed_block_is_private() -> None:
    assert without_private("a <private>b\nc") == ("a ", 1, False)
    assert without_private("<private>a<private>b</private>c") == ("", 1, False)
    assert has_private("a <private>b")
