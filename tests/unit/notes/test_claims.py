import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memsvc.notes.claims import claims, counts, dropped, plain_claim, whole
from memsvc.notes.normal import normal_form

CLAIM = "The Heron release moved to 12 March"
FORM = "the heron release moved to 12 march"


def texts(body: str) -> list[str]:
    return [claim.text for claim in claims(body)]


def normals(body: str) -> set[str]:
    return {claim.normal for claim in claims(body)}


PLACES = {
    "a sentence among others": f"Some words first. {CLAIM}. And some after.",
    "lower-case neighbours": f"some words first. {CLAIM.lower()}. and some after.",
    "wrapped lines": "The Heron release\nmoved to\n12 March.",
    "wrapped with CRLF": "The Heron release\r\nmoved to\r\n12 March.",
    "wrapped in a quote": "> The Heron release\n> moved to 12 March.",
    "a bold sentence": f"First. **{CLAIM}.** Last.",
    "a quoted sentence": f'He said: no. "{CLAIM}." Then he left.',
    "after an initial": f"We chose plan A. {CLAIM}.",
    "before an initial": f"{CLAIM} B.C. was meant. {CLAIM}.",
    "a list item": f"- other\n- {CLAIM}\n- more",
    "a nested item": f"- other\n  1. deeper\n     - {CLAIM}",
    "a task": f"- [ ] {CLAIM}",
    "an ordered item": f"4. other\n5. {CLAIM}",
    "a heading": f"## {CLAIM}\n\nText.",
    "a setext heading": f"{CLAIM}\n---\n\nText.",
    "a quote": f"> > {CLAIM}!",
    "a callout": f"> [!note] {CLAIM}",
    "a callout's text": f"> [!note] Remember\n> {CLAIM}.",
    "a folded callout's text": f"> [!tip]- Some title\n> {CLAIM}",
    "a lone item that begins beyond one": f"3. {CLAIM}",
    "a row": "| what | when |\n|---|---|\n| The Heron release | moved to 12 March |",
    "a cell": f"| what | when |\n|---|---|\n| x | {CLAIM}. |",
    "a sentence in a cell": f"| what | when |\n|---|---|\n| x | So it is. {CLAIM}. |",
    "a header": f"| {CLAIM} | x |\n|---|---|\n| a | b |",
    "code": f"```\nx = 1\n{CLAIM}\n```",
    "indented code": f"text\n\n    {CLAIM}\n",
    "a fence's opening line": f"```{CLAIM}\n```",
    "a quoted fence's opening line": f"> ```{CLAIM}\n> x\n> ```",
    "a fence that never closes": f"~~~~ text\n{CLAIM}",
    "html": f"<div>\n<p>{CLAIM}</p>\n</div>",
    "html on one line": f"<p>Other words.</p><p>{CLAIM}</p>",
    "a comment": f"Text.\n\n<!-- note: \n{CLAIM} -->",
    "a comment in a line": f"Text <!-- {CLAIM} --> goes on.",
    "an Obsidian comment": f"Text %% {CLAIM} %% goes on.",
    "a hard break": f"Some words  \n{CLAIM}  \nmore words",
    "a br tag": f"Some words<br>{CLAIM}<br/>more words",
    "an image's label": f"![{CLAIM}](x.png)",
    "deep quotes": f"{'>' * 300} {CLAIM}",
    "very deep quotes": f"{'> ' * 10_000}{CLAIM}",
    "deep lists": f"{'- ' * 200}{CLAIM}",
    "after a question": f"When? {CLAIM}!",
    "after Chinese": f"发布推迟了。{CLAIM}。",
    "a definition": f"Heron\n: {CLAIM}",
    "after a mark that nobody sees": f"First.\u200f {CLAIM}.\u202c Last.",
    "linked by reference": f"[{CLAIM}][r].\n\n[r]: https://heron.example",
    "partly linked by reference": "The [Heron release][a b] moved to [12 March][x].\n\n"
    "[A  b]: https://heron.example\n[x]: <y>",
    "hard breaks inside": "The Heron release  \nmoved to\\\n12 March. And more.",
    "a br tag inside": "The Heron<br>release moved to 12 March. And more.",
    "before the name of its block": f"{CLAIM} ^block1",
    "before the name of its block, on another line": f"{CLAIM}\n^block1\n",
    "after a CR": f"One.\r\r{CLAIM}\r",
}


@pytest.mark.parametrize("body", PLACES.values(), ids=PLACES.keys())
def test_a_claim_is_found_wherever_it_stands(body: str) -> None:
    assert FORM in normals(body)
    other = body.replace("12 March", "13 March").replace("12 march", "13 march")
    assert FORM not in normals(other)


def test_sentences_end_at_ends_of_sentences_only() -> None:
    body = (
        "Dr. Who, e.g. a vendor vs. a friend, runs v1.2 of main.py at 3.5 GHz, see Fig. 3 and No. 5. "
        "It moved! Did it? Yes… See https://a.example/x.y?z=1. A; B stay one. The answer is no. Fine."
    )
    assert texts(body) == [
        "Dr. Who, e.g. a vendor vs. a friend, runs v1.2 of main.py at 3.5 GHz, see Fig. 3 and No. 5.",
        "It moved!",
        "Did it?",
        "Yes…",
        "See https://a.example/x.y?z=1.",
        "A; B stay one.",
        "The answer is no.",
        "Fine.",
    ]


def test_a_reference_without_a_definition_is_no_link() -> None:
    assert texts("Take matrix[1][2] now") != texts("Take matrix[1][3] now")
    assert texts("Take [it][2] now\n\n[2]: u")[0] == "Take it now"
    both = "Take [it][2], matrix[1][{}] too\n\n[2]: u"
    assert texts(both.format(3))[0] != texts(both.format(4))[0]
    for name in ("a)b", "(a", "()"):
        assert FORM in normals(f"[{CLAIM}][{name}].\n\n[{name}]: https://heron.example"), name


def test_what_stands_outside_every_block_is_said_too() -> None:
    body = "One bird.\n\nTwo birds.\n\n```{}\nx = 1\n```\n"
    assert FORM in normals(body.format(CLAIM))
    assert FORM not in normals(body.format("Three birds"))


def test_what_a_hard_break_joins_is_never_rejected_itself() -> None:
    found = claims("The Heron release  \nmoved to 12 March")
    assert [(claim.normal, claim.aside) for claim in found] == [
        (FORM, True),
        ("the heron release", False),
        ("moved to 12 march", False),
    ]


def test_initials_are_read_both_ways() -> None:
    found = texts("Heron was built in the U.S. by J. Smith and two others.")
    assert found[0] == "Heron was built in the U.S. by J. Smith and two others."
    assert "Heron was built in the U.S." in found
    assert "Smith and two others." in found
    assert texts("It is J. Smith.") == ["It is J. Smith."]


def test_chinese_and_japanese_sentences_end_at_their_own_signs() -> None:
    assert texts("发布推迟到三月。不是二月！真的吗？「はい。」ポートは5432です。") == [
        "发布推迟到三月。",
        "不是二月！",
        "真的吗？",
        "「はい。」",
        "ポートは5432です。",
    ]


def test_kinds_and_places_name_the_source() -> None:
    body = (
        "# Plan 9\r\n\r\n> Quoted **bold\r\n> words** here.\r\n\r\n- item one\r\n\r\n"
        "| a | b |\r\n|---|---|\r\n| c | d |\r\n\r\n```py\r\nx = 5\r\n```\r\n"
    )
    found = claims(body)
    assert [claim.kind for claim in found] == ["heading", "sentence", "item", "row", "row", "code"]
    assert [body[claim.start : claim.end].strip() for claim in found] == [
        "Plan 9",
        "Quoted **bold\r\n> words** here.",
        "item one",
        "| a | b |",
        "| c | d |",
        "x = 5",
    ]
    assert found[1].text == "Quoted bold words here."


def places(body: str, *, aside: bool = False) -> list[str]:
    return [body[claim.start : claim.end] for claim in claims(body) if claim.aside is aside]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("One bird sings. Two birds sing.", ["One bird sings.", "Two birds sing."]),
        ("One bird sings  \nTwo birds sing", ["One bird sings", "Two birds sing"]),
        ("- One bird sings.\n\tTwo birds sing.", ["One bird sings.", "Two birds sing."]),
        ("```\nx = 5\n  y = 6\n```", ["x = 5", "y = 6"]),
        ("Text <!-- One bird.\n Two birds. --> here.", ["One bird.", "Two birds."]),
        ("a | b\n-|-\nOne bird sings here. | x", ["a | b", "One bird sings here. | x",
         "One bird sings here."]),
    ],
)  # fmt: skip
def test_a_claim_begins_and_ends_where_it_stands(body: str, found: list[str]) -> None:
    assert [one for one in places(body) if "Text" not in one] == found


def test_what_a_hard_break_joins_stands_where_both_parts_do() -> None:
    body = "The release moved  \nto 12 March. Tea is hot."
    assert places(body, aside=True) == ["The release moved  \nto 12 March."]


def test_a_body_that_is_split_by_lines_has_places_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memsvc.notes.claims.MAX_PARSED", 10)
    assert places("One bird sings.\n\n> Two birds sing.\n") == [
        "One bird sings.",
        "Two birds sing.",
    ]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("Who is Dr? Ask Ana Bo.", ["Who is Dr?", "Ask Ana Bo."]),
        ("It is ca... Then we go.", ["It is ca...", "Then we go."]),
        ("One bird . Two birds sing.", ["One bird .", "Two birds sing."]),
        ("It was moved. 12 birds sing.", ["It was moved.", "12 birds sing."]),
        ("So it was I. Tea is hot and green.", ["So it was I.", "Tea is hot and green."]),
        ("The release moved\na week later", ["The release moved a week later"]),
        ("The bird sings\n:) and flies", ["The bird sings :) and flies"]),
        ("They told the whole\nteam: we go home", ["They told the whole team: we go home"]),
        ("```\nrun __init__ in 3 steps\n```", ["run __init__ in 3 steps"]),
        ("| a | b | c |\n|---|---|---|\n| One | | bird |", ["a b c", "One bird"]),
        ("| a | b |\n|---|---|\n| … | – |", ["a b"]),
        ("| a | b |\n|---|---|\n| | |", ["a b"]),
        ("| a | b |\n|---|---|\n| x | One bird sings here |",
         ["a b", "x One bird sings here", "One bird sings here"]),
        ("Acme Inc. is here with us. Tea is hot and green now.",
         ["Acme Inc. is here with us.", "is here with us.", "Tea is hot and green now."]),
        ("One bird sings\\\nTwo birds sing", ["One bird sings\\", "Two birds sing"]),
    ],
)  # fmt: skip
def test_a_text_says_exactly_this(body: str, found: list[str]) -> None:
    assert [claim.text for claim in claims(body) if not claim.aside] == found


def test_html_is_prose_and_code_is_code() -> None:
    body = "<div>\nOne bird sings.\n</div>\n\n```\nx = 5\n```\n"
    assert [claim.kind for claim in claims(body)] == ["sentence", "code"]


def test_pairs_on_lines_of_their_own_are_claims_of_their_own() -> None:
    assert texts("Port: 5432\nHost: db1\n**Zone:** eu") == ["Port: 5432", "Host: db1", "Zone: eu"]
    assert texts("Note: the release is late\nand moves to May") == [
        "Note: the release is late and moves to May"
    ]


def test_a_lone_number_before_a_line_stays_part_of_it() -> None:
    found = [claim for claim in claims("12. März ist der Termin") if not claim.aside]
    assert [claim.normal for claim in found] == [normal_form("12. März ist der Termin")]
    assert normals("12. März ist der Termin") != normals("13. März ist der Termin")
    assert normals("1. März ist der Termin") == {"marz ist der termin"}
    assert normals("7. one thing\n8. other thing") == {"one thing", "other thing"}


@pytest.mark.parametrize("body", ["12. March is the day of it", ">  12.\tMarch is the day of it"])
def test_a_lone_number_belongs_to_the_place_of_its_line(body: str) -> None:
    (found,) = [claim for claim in claims(body) if not claim.aside]
    assert body[found.start : found.end] == body[body.index("12.") :]


def test_the_second_reading_of_a_lone_number_is_never_rejected_itself() -> None:
    aside = [claim.text for claim in claims("12. March is the day of it") if claim.aside]
    assert aside == ["March is the day of it"]
    gone = [claim.normal for claim in dropped("12. March is the day of it", "Nothing.")]
    assert gone == ["12 march is the day of it"]


@pytest.mark.parametrize("body", [CLAIM, f"- {CLAIM}", f"**{CLAIM}.**", f"> {CLAIM}", f"# {CLAIM}",
                                  f"1. {CLAIM}", f"| {CLAIM} |\n|---|", f"```\n{CLAIM}\n```\n"])  # fmt: skip
def test_a_body_of_one_claim_is_that_claim(body: str) -> None:
    assert whole(body) == FORM
    title = plain_claim(CLAIM)
    assert (title.normal, title.start, title.end) == (FORM, 0, len(CLAIM))
    assert whole(f"{body}\n\nAnd more.") != FORM


def test_a_cell_is_a_claim_only_if_it_says_something() -> None:
    found = normals(
        "| env | port |\n|---|---|\n| prod | 5432 |\n| stage | The stage port is 6543 |"
    )
    assert "prod 5432" in found
    assert "5432" not in found
    assert "the stage port is 6543" in found


@pytest.mark.parametrize(
    "text",
    ["one two three four", "port 5432", "use snake_case", "callMe", "main.py", "memsvc.api", "src/api",
     "std::move", "v2", "me@home", "发布推迟到三", "リリースは延期"],
)  # fmt: skip
def test_four_words_a_number_or_a_name_count(text: str) -> None:
    assert counts(text)
    assert not counts("three short words")


@pytest.mark.parametrize(
    "text", ["yes", "it is final", "e.g. this", "発売延期", "发布 one two", "", "🎉 🎉 🎉 🎉 🎉"]
)
def test_less_does_not_count(text: str) -> None:
    assert not counts(text)
    assert counts(f"{text} 7")


def test_dropped_are_the_claims_that_a_new_text_does_not_make() -> None:
    old = "The port is 5432. The host is db1. The zone is eu.\n\n- The zone is eu"
    new = "- the **host** is DB1\n- The port is 5433"
    assert [claim.text for claim in dropped(old, new)] == ["The port is 5432.", "The zone is eu."]
    assert dropped(old, f"# {old}") == []
    assert [claim.text for claim in dropped("The port is 5432", "")] == ["The port is 5432"]


def test_a_claim_kept_as_the_whole_new_text_is_not_dropped() -> None:
    assert (
        dropped("The Heron release\nmoved to 12 March", "The Heron release\n\nmoved to 12 March")
        == []
    )
    assert dropped(CLAIM, "The Heron release\n\nmoved to 13 March") != []


@example("5. \n|U.S. 5. ")
@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            ["\n", "\n\n", "    ", "- ", "> ", "# ", "|", "---", "```", "1. ", "word ", "5. ", "x",
             "**", "`", "[[", "]]", "<!--", "-->", "<p>", "%%", "é", "。", "U.S. ", ": ", "\r\n", "\t", "\x00", "&amp;"]
        ),
        max_size=30,
    ).map("".join)
)  # fmt: skip
def test_claims_of_any_markdown_have_places_and_say_something(body: str) -> None:
    for claim in claims(body):
        assert 0 <= claim.start < claim.end <= len(body)
        assert claim.normal
        assert claim.text
    assert FORM in normals(f"{CLAIM}.\n\n{body}")


@pytest.mark.parametrize(
    "unit",
    [">", "> ", "- ", "|a", "a\n", "[x]: y\n", "```\n", "    c 1\n", "<div>\n", "1. a\n", "#", "K: v\n",
     "\n", "`", "U.S. ", "e.g. ", "<!-- a -->\n", "> a\n\n", "x.\n", "[a](", "|a|b|\n|-|-|\n"],
)  # fmt: skip
def test_hostile_bodies_are_split_in_linear_time(unit: str) -> None:
    body = unit * (60_000 // len(unit))
    assert FORM in normals(f"{CLAIM}.\n\n{body}")


def test_a_body_beyond_the_limit_is_split_by_lines() -> None:
    body = f"- {CLAIM}\n" + "- filler words stand here\n" * 40_000
    assert len(body) > 1_000_000
    first = claims(body)[0]
    assert (first.normal, body[first.start : first.end]) == (FORM, CLAIM)
    assert normal_form("The Heron release moved to 13 March") not in normals(body)
