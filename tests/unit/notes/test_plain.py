"""What a reader sees of markdown, and where comments and code stand."""

import pytest

from memsvc.notes.plain import (
    code_spans,
    comment_spans,
    mask_inline,
    mask_lines,
    plain,
    without_code,
)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("`a *b* c` and `d *e* f`", "a *b* c and d *e* f"),
        ("``a ` b`` x", "a ` b x"),
        ("a `b\n\n c` d", "a `b\n\nc` d"),
        ("[[heron|the bird]] sings", "the bird sings"),
        ("[[heron\\|the bird]]", "the bird"),
        ("[[heron]]", "heron"),
        ("![[heron#^x1]] y", "heron y"),
        ("[[heron|]]", "heron"),
        ("[[heron#^]]", "heron"),
        ("\\*not bold\\* and \\[x\\]", "*not bold* and [x]"),
        ("see[^1] this[^note]: x", "see this x"),
        ("<https://a.example/x> go", "https://a.example/x go"),
        ("<mailto:a@b.c>", "mailto:a@b.c"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("x<b>y</b>z", "xyz"),
        ("10<sup>3</sup> and a<sup>b</sup>", "10^3 and ab"),
        ("a<foo>b</foo>", "a<foo>b</foo>"),
        ("Fish &amp; chips &nbsp;x &#65; &#x42; &bogus;", "Fish & chips \xa0x A B &bogus;"),
        ("&lt;b&gt;", "<b>"),
        (
            "*one* **two** ***three*** _four_ __five__ ==six== ~~seven~~",
            "one two three four five six seven",
        ),
        ("2*3*4", "2*3*4"),
        ("*2*3", "*2*3"),
        ("snake_case_name", "snake_case_name"),
        ("a == b == c", "a == b == c"),
        ("![alt](x.png) and [label](http://x.y/z_(a)) z", "alt and label z"),
        ("[a [b](c) d](e)", "a b d"),
        ("[no target] x", "[no target] x"),
        ("[x](y) (z)", "x (z)"),
        ("- item", "item"),
        ("> quote", "quote"),
        ("> > - [x] deep", "deep"),
        ("# Head #", "Head"),
        ("## Head ##", "Head"),
        ("12. March", "12. March"),
        ("1. one", "one"),
        ("0. zero", "zero"),
        ("1. one\n2. two", "one\ntwo"),
        ("3. a\n4. b", "a\nb"),
        ("---", ""),
        ("***", ""),
        ("===", ""),
        ("| a | b |", "| a | b |"),
        ("|---|---|", ""),
        ("```py", ""),
        ("~~~", ""),
        ("``` a b", ""),
        ("text ^block1", "text "),
        ("x^2 ^", "x^2 ^"),
        ("text\n^id", "text\n"),
        ("> [!note]- Title", "Title"),
        ("* * *", ""),
        ("a\n- b", "a\nb"),
        ("-no item", "-no item"),
        ("#tag", "#tag"),
        ("####### seven", "####### seven"),
        ("[ ] x", "x"),
        ("- [ ] y", "y"),
        ("- [/] z", "z"),
        ("•  dot", "dot"),
        ("> ```", ""),
        ("``` x ``` y", " x  y"),
        ("<!-- c --> d", " d"),
        ("%% c %% d", " d"),
        ("%% open", "%% open"),
        ("<!-- open", "<!-- open"),
        ("a%%b<!--c%%d-->e%%f", "ad-->e%%f"),
        ("12. March\nit rains", "12. March\nit rains"),
        ("!? §", "!? §"),
        ("use ``` here", "use ``` here"),
        ("> ```py run it", ""),
        ("not a head #", "not a head #"),
        ("a \\*b", "a *b"),
        ("[x](a\\_b) y", "x y"),
        ("[x](`a`) y", "x y"),
        ("[[heron| ]]", "heron"),
        ("see [[heron|bird]] x", "see bird x"),
        ("[[heron|see #^x]]", "see #^x"),
        ("[a [b](x[y) c](z)", "a b c"),
        ("a ] b [x](y)", "a ] b x"),
        ("[no] [x](y)", "[no] x"),
        ("[x](y) now!", "x now!"),
        ("10<SUP>3</SUP>", "10^3"),
        ("10<b>3</b>", "103"),
        ("<sup>a</sup> 10", "a 10"),
        ("**2**3", "23"),
        ("~~2~~3", "23"),
        ("*a*3", "a3"),
        ("*2* is", "2 is"),
        ("&nGt; x", "≫⃒ x"),
        ("a **b *c* d** e", "a b c d e"),
        ("_a_b", "_a_b"),
        ("a [![b](c)](d) e", "a b e"),
        ("a `b` c", "a b c"),
        ("x `a` [y](z) &amp; <b>w</b>", "x a y & w"),
    ],
)
def test_markup_goes_and_what_a_reader_sees_stays(text: str, seen: str) -> None:
    assert plain(text) == seen
    assert len(mask_inline(text)) == len(mask_lines(text)) == len(text)


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("a <!-- b --> c %% d %% e", [(2, 12), (15, 22)]),
        ("%%a%%%%b%%", [(0, 5), (5, 10)]),
        ("<!-- a %% b -->%% c %%", [(0, 15), (15, 22)]),
        ("%% a <!-- b %% c -->", [(0, 14)]),
        ("<!-- %% -->x%%y%%", [(0, 11), (12, 17)]),
    ],
)
def test_a_comment_ends_at_its_own_closer(text: str, spans: list[tuple[int, int]]) -> None:
    assert comment_spans(text) == spans


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("`a` b ``c`d``", [(0, 3, 1), (6, 13, 2)]),
        ("`a\n\nb`", []),
        ("\\`a` b`", [(3, 7, 1)]),
        ("`a", []),
        ("a\n> \n`b` `c`", [(5, 8, 1), (9, 12, 1)]),
        ("``a` b` c``", [(0, 11, 2)]),
    ],
)
def test_code_ends_with_as_many_ticks_in_its_paragraph(
    text: str, spans: list[tuple[int, int, int]]
) -> None:
    assert code_spans(text) == spans


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        ("a\n```\nb\n```\nc", "a\n   \n \n   \nc"),
        ("> ```\n> b\nc", "     \n   \nc"),
        ("a\n\n    b\n\n    c\nd", "a\n\n     \n\n     \nd"),
        ("- a\n\n    b\nc\n\n    d", "- a\n\n    b\nc\n\n     "),
        ("~~~\na\n```\nb\n~~~\nc", "   \n \n   \n \n   \nc"),
        ("```\na", "   \n "),
        ("a\n    b", "a\n    b"),
        ("\tx\ny", "  \ny"),
        ("- a\n  b\n\n  c\n\n    d", "- a\n  b\n\n  c\n\n    d"),
        ("```\na\n``` x\nb\n```\nc", "   \n \n     \n \n   \nc"),
        ("> ```\n> a\n> ```\n> b", "     \n   \n     \n> b"),
        ("````\na\n```\nb\n````\nc", "    \n \n   \n \n    \nc"),
        ("a `b` <!-- c --> d", "a                d"),
        ("1. ```\n   a\n   ```\nb", "      \n    \n      \nb"),
        ("```\n\na\n```\nb", "   \n\n \n   \nb"),
        ("```a`b\nc", "```a`b\nc"),
        ("text\n\n    code\ntext\n\n    code2", "text\n\n        \ntext\n\n         "),
    ],
)
def test_code_and_comments_are_spaces_in_the_prose(text: str, prose: str) -> None:
    assert without_code(text) == prose
