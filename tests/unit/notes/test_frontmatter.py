"""Frontmatter is read for what it says and edited without touching anything else."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsvc.errors import InvalidInput, Uneditable
from memsvc.notes.frontmatter import Value, compose, edit, parse, replace_body, split

HAND_WRITTEN = """---
# mine
id: 01KBA7ZD5QX4T9W2M3N8R6C0VE        # ULID, stable for life
title: 'Heron release'   # quoted my way
rating: 007
valid_to:   # open
source:                               # where it comes from
  - "transcript:5f3c1a#turn=12"
  # a remark inside the list

text: |
  a
  # not a comment

# above supersedes
supersedes:
- "[[heron-deadline-february]]"
"superseded_by":
wrapped:
  plain value
tags: [deadline] # tail
---

# Body

---
not: frontmatter
---
"""


def own_lines(key: str) -> set[str]:
    """The lines of HAND_WRITTEN that belong to a key."""
    lines = HAND_WRITTEN.split("\n")
    first = next(at for at, line in enumerate(lines) if line.strip('"').startswith(key))
    own = {lines[first]}
    for line in lines[first + 1 :]:
        if line and not line.startswith((" ", "- ")):
            break
        own.add(line)
    return own


def test_values_are_read_as_yaml_1_2_and_links_as_links() -> None:
    found = parse(
        "---\nday: 2026-11-30\nclock: 10:00\nanswer: no\nprice: 1.10\ncount: 5\nagent: 007\n"
        "yes: true\nlink: [[Note]]\nlinks:\n  - [[A|b]]\n  - [[C#d]]\nface: 😀 grin\nnothing: ~\n"
        "session: 5e31\nhuge: 9e999\nquoted: '5'\n---\n"
    )
    assert found.problem == ""
    assert found.values == {
        "day": "2026-11-30",
        "clock": "10:00",
        "answer": "no",
        "price": 1.1,
        "count": 5,
        "agent": "007",
        "yes": True,
        "link": "[[Note]]",
        "links": ["[[A|b]]", "[[C#d]]"],
        "face": "😀 grin",
        "nothing": None,
        "session": 5e31,
        "huge": "9e999",
        "quoted": "5",
    }
    assert found.texts["price"] == ("1.10",)
    assert found.texts["session"] == ("5e31",)
    assert found.texts["links"] == ("[[A|b]]", "[[C#d]]")
    assert found.texts["nothing"] == ()


@pytest.mark.parametrize(
    ("content", "body"),
    [
        ("---\na: 1\n---\nbody", "body"),
        ("\ufeff---\na: 1\n---\nbody", "body"),
        ("---  \r\na: 1\r\n---\t\r\nbody", "body"),
        ("---\na: 1\n...\nbody", "body"),
        ("---\n---\nbody", "body"),
        ("---\na: 1\n---", ""),
    ],
)
def test_a_block_opens_on_the_first_line_and_ends_at_its_fence(content: str, body: str) -> None:
    parts = split(content)
    assert parts.has_block
    assert content[parts.body_start :] == body


@pytest.mark.parametrize(
    "content", ["", "text", "\n---\na: 1\n---\n", " ---\na: 1\n---\n", "----\na: 1\n---\n", "---"]
)
def test_other_files_have_no_block_and_are_all_body(content: str) -> None:
    assert not split(content).has_block
    assert parse(content).body_start == 0
    assert split(f"---\n---\n{content}").has_block


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("a: 1\na: 2", "twice"),
        ("a:\tb\n\tc: d", "no YAML"),
        ("title: one: two", "no YAML"),
        ("a: [unclosed", "no YAML"),
        ("a: \x07", "no YAML"),
        ("a: &x [*x]", "deeply"),
        ("a: " + "[" * 20_000, "deeply"),
        ("- " * 20_000, "deeply"),
        ("a: " + "x" * 1_000_000, "larger"),
        ("%YAML x.y\na: 1", "no YAML"),
        (
            "a: &a [x, x]\n"
            + "".join(f"{c}: &{c} [{', '.join([f'*{b}'] * 9)}]\n" for b, c in zip("abcdef", "bcdefg", strict=True)),
            "too many",
        ),
    ],
)  # fmt: skip
def test_a_problem_is_named_and_never_hides_the_body(head: str, words: str) -> None:
    begun = time.process_time()
    found = parse(f"---\n{head}\n---\nthe body\n")
    assert words in found.problem
    assert found.values == {}
    assert f"---\n{head}\n---\nthe body\n"[found.body_start :] == "the body\n"
    assert time.process_time() - begun < 2
    assert parse("---\na: 1\n---\nthe body\n").problem == ""


def test_a_block_that_never_closes_is_text_with_a_problem() -> None:
    content = "---\na: 1\n" + "line\n" * 1_000_000
    begun = time.process_time()
    found = parse(content)
    assert "never closed" in found.problem
    assert found.body_start == 0
    assert time.process_time() - begun < 1


def test_prose_between_two_rules_stays_in_the_body() -> None:
    content = "---\nOnce upon a time\n---\nthere was a heron\n"
    found = parse(content)
    assert "not a list of properties" in found.problem
    assert content[found.body_start :] == content
    assert parse("---\nonce: a time\n---\nthere\n").body_start > 0


def test_values_of_one_reading_are_not_shared_with_the_next() -> None:
    content = "---\ntags: [a]\n---\n"
    first = parse(content).values["tags"]
    assert isinstance(first, list)
    first.append("b")
    assert parse(content).values["tags"] == ["a"]


def test_escaped_surrogates_and_nul_become_storable_text() -> None:
    found = parse('---\na: "\\ud800"\nb: "\\ud83d\\ude00"\nc: "x\\0y"\n---\n')
    assert found.values == {"a": "\ufffd", "b": "😀", "c": "x\ufffdy"}


@pytest.mark.guarantee("W6")
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", ["", "\ufeff"])
def test_an_edit_changes_the_lines_of_its_keys_and_no_other_byte(newline: str, bom: str) -> None:
    content = bom + HAND_WRITTEN.replace("\n", newline)
    after = edit(
        content,
        {
            "title": "Heron: release",
            "valid_to": "2026-12-01",
            "source": ["a#b"],
            "superseded_by": "[[next]]",
            "wrapped": None,
            "tags": ["deadline", "x, y"],
            "version": 2,
        },
    )
    expected = HAND_WRITTEN
    for old, new in (
        ("title: 'Heron release'   #", 'title: "Heron: release"   #'),
        ("valid_to:   # open", "valid_to: 2026-12-01   # open"),
        ('  - "transcript:5f3c1a#turn=12"\n', '  - "a#b"\n'),
        ('"superseded_by":', '"superseded_by": "[[next]]"'),
        ("wrapped:\n  plain value\n", ""),
        ("tags: [deadline] # tail\n", 'tags: [deadline, "x, y"] # tail\nversion: 2\n'),
    ):
        assert old in expected
        expected = expected.replace(old, new)
    assert after == bom + expected.replace("\n", newline)


@pytest.mark.guarantee("W6")
def test_every_key_can_be_replaced_by_any_shape_and_removed() -> None:
    keys = list(parse(HAND_WRITTEN).values)
    values: list[Value | None] = ["x", "", 7, ["a", "b"], [], "two\nlines", None]
    for key in keys:
        for value in values:
            after = edit(HAND_WRITTEN, {key: value})
            kept = after.split("\n")
            gone = {line for line in HAND_WRITTEN.split("\n") if line not in kept}
            assert gone <= own_lines(key), (key, value)
            back = edit(after, {key: "again"})
            assert parse(back).values[key] == "again"


def test_an_edit_that_changes_nothing_keeps_every_byte() -> None:
    odd = "---\ntitle:   'x'\nn: 0x1F\nempty: null\nlist: [ a ,  b ]\n---\nbody"
    assert edit(odd, {"title": "x", "empty": "", "list": ["a", "b"], "gone": None}) == odd
    assert edit(odd, {"title": "z"}) == odd.replace("  'x'", "z")


@pytest.mark.guarantee("W6")
def test_a_note_without_frontmatter_gets_a_block_before_its_text() -> None:
    assert edit("text\n---\nmore", {"id": "x"}) == "---\nid: x\n---\ntext\n---\nmore"
    assert edit("\ufefftext\r\n", {"id": "x"}) == "\ufeff---\r\nid: x\r\n---\r\ntext\r\n"
    assert edit("text", {"id": None}) == "text"
    assert (
        edit("---\n# only a remark\n---\nx", {"id": "x"}) == "---\n# only a remark\nid: x\n---\nx"
    )


def test_an_indented_block_keeps_its_indent() -> None:
    assert edit("---\n  a: 1\n---\n", {"b": ["x"], "tags": ["z"]}) == (
        '---\n  a: 1\n  b:\n    - "x"\n  tags: [z]\n---\n'
    )


@pytest.mark.guarantee("W6")
@pytest.mark.parametrize(
    "content",
    [
        "---\n{a: 1}\n---\n",
        "---\na: [\n---\n",
        "---\na: 1\na: 2\n---\n",
        "---\na: 1\n",
        "---\na: &x 1\nb: *x\n---\n",
        "---\n? a\n: 1\n---\n",
        "---\nprose\n---\n",
        "---\n# one\u2028a: 1\n---\n",
        "---\na: 1\rb: 2\n---\n",
    ],
)
def test_what_cannot_be_edited_without_harm_is_refused(content: str) -> None:
    with pytest.raises(Uneditable):
        edit(content, {"a": 5})
    assert edit("---\na: 1\n---\n", {"a": 5}) == "---\na: 5\n---\n"


def test_an_alias_is_left_alone_and_its_neighbours_are_edited() -> None:
    content = "---\na: &x [p, q]\nb: *x\nc: 1\n---\n"
    assert edit(content, {"c": 2}) == content.replace("c: 1", "c: 2")
    with pytest.raises(Uneditable):
        edit(content, {"b": "y"})


@pytest.mark.parametrize(
    "text",
    [
        "no", "Yes", "null", "~", "on", "y", "1.10", "5", "0x1F", "1e3", "1_000", "10:00", "2026-11-30", "[[Note]]",
        "a: b", "a:", "a #b", "#a", "- a", "-", "? a", "@a", "`a`", "%a", "&a", "*a", "!a", "|", ">", "'a'", '"a"', "{a}",
        " a", "a ", "a\nb", "a\r\nb", "a\tb", "a\\b", "=", "<<", "---", "...", "\u2028", "a\u0085b", "\x7f", "\ufeffa", "😀",
        ".inf", "true", "a, b", "007", "+1", "x" * 5000,
    ],
)  # fmt: skip
def test_any_text_comes_back_as_the_same_text(text: str) -> None:
    content = compose({"title": text, "tags": [text, "b"], "source": [text]}, "body")
    found = parse(content)
    assert found.values == {"title": text, "tags": [text, "b"], "source": [text]}
    assert parse(edit("---\ntitle: x\n---\n", {"title": text})).values["title"] == text


def test_texts_that_older_yaml_reads_otherwise_are_quoted() -> None:
    content = compose({"title": "no", "reason": "2026-11-30", "valid_from": "2026-11-30"}, "")
    assert content == '---\ntitle: "no"\nreason: "2026-11-30"\nvalid_from: 2026-11-30\n---\n'


def test_a_new_note_looks_like_the_documented_one() -> None:
    content = compose(
        {
            "id": "01KBA7ZD5QX4T9W2M3N8R6C0VE",
            "title": "Heron release moved to 12 March",
            "created": "2026-11-30T10:04:11Z",
            "version": 1,
            "valid_from": "2026-11-30",
            "valid_to": "",
            "author": "agent:claude-code",
            "source": ["transcript:5f3c1a#turn=12"],
            "supersedes": ["[[heron-deadline-february]]"],
            "superseded_by": "",
            "tags": ["deadline", "heron/release"],
        },
        "The release moves.\n",
    )
    assert content == (
        "---\n"
        "id: 01KBA7ZD5QX4T9W2M3N8R6C0VE\n"
        "title: Heron release moved to 12 March\n"
        "created: 2026-11-30T10:04:11Z\n"
        "version: 1\n"
        "valid_from: 2026-11-30\n"
        "valid_to:\n"
        "author: agent:claude-code\n"
        "source:\n"
        '  - "transcript:5f3c1a#turn=12"\n'
        "supersedes:\n"
        '  - "[[heron-deadline-february]]"\n'
        "superseded_by:\n"
        "tags: [deadline, heron/release]\n"
        "---\n"
        "The release moves.\n"
    )


@pytest.mark.guarantee("W2")
def test_a_body_that_begins_like_frontmatter_stays_body() -> None:
    body = "---\nproject: other\ntrust: verified\n---\ntext"
    content = compose({"id": "x"}, body)
    assert parse(content).values == {"id": "x"}
    assert content[parse(content).body_start :] == body
    bare = replace_body("old text", body)
    assert parse(bare).values == {}
    assert bare[parse(bare).body_start :] == body
    assert parse(edit(bare, {"id": "x"})).values == {"id": "x"}


def test_values_that_no_file_keeps_are_refused() -> None:
    with pytest.raises(InvalidInput):
        compose({"title": "x" * 70_000}, "")
    with pytest.raises(InvalidInput):
        compose({"title": "a\x00b"}, "")
    with pytest.raises(InvalidInput):
        compose({"title": "\ud800"}, "")
    assert compose({"title": "x" * 300}, "")


@pytest.mark.guarantee("W6")
def test_a_new_body_keeps_the_files_line_ends_and_its_last_one() -> None:
    assert replace_body("---\r\na: 1\r\n---\r\none\r\ntwo\r\n", "one\nthree") == (
        "---\r\na: 1\r\n---\r\none\r\nthree\r\n"
    )
    assert replace_body("one\ntwo", "one\r\nthree\r\n") == "one\nthree"
    assert replace_body("", "one") == "one\n"
    assert replace_body("---\na: 1\n---", "one\n") == "---\na: 1\n---\none\n"
    assert replace_body("a\n", "") == ""


@pytest.mark.guarantee("W6")
def test_lines_that_did_not_change_keep_their_own_line_ends() -> None:
    mixed = "one\r\ntwo\nthree\r\nfour\nfive\nsix\n"
    assert replace_body(mixed, "one\ntwo\nTHREE\nfour\nfive\nsix") == mixed.replace(
        "three\r\n", "THREE\n"
    )


def test_a_body_behind_broken_frontmatter_is_not_replaced() -> None:
    with pytest.raises(Uneditable):
        replace_body("---\na: [\n---\nold\n", "new")
    assert replace_body("---\na: []\n---\nold\n", "new") == "---\na: []\n---\nnew\n"


@settings(max_examples=150, deadline=None)
@given(
    head=st.text(alphabet="ab:-# \n\t'\"[]{}&*!|>%,~?\\0.é", max_size=40), body=st.text(max_size=30)
)
def test_an_edit_of_anything_is_exact_or_refused(head: str, body: str) -> None:
    content = f"---\n{head}\n---\n{body}"
    before = parse(content)
    try:
        after = edit(content, {"id": "01K", "a": ["x"]})
    except Uneditable:
        return
    found = parse(after)
    assert after[found.body_start :] == content[before.body_start :]
    assert found.values["id"] == "01K"
    for key, value in before.values.items():
        if key not in ("id", "a"):
            assert found.values[key] == value


_VALUES: st.SearchStrategy[Value] = st.one_of(
    st.text(max_size=20), st.integers(-(10**12), 10**12), st.lists(st.text(max_size=10), max_size=3)
)


@settings(max_examples=150, deadline=None)
@given(
    values=st.dictionaries(st.text("abc_", min_size=1, max_size=5), _VALUES, max_size=4),
    body=st.text(max_size=40),
)
def test_what_is_composed_is_read_back_or_refused(values: dict[str, Value], body: str) -> None:
    try:
        content = compose(values, body)
    except InvalidInput:
        assert "\x00" in str(values) or "\\x00" in repr(values)
        return
    found = parse(content)
    assert dict(found.values) == {key: None if v == "" else v for key, v in values.items()}
    assert content[found.body_start :] == body
    again = edit(content, {"title": "t"})
    assert again[parse(again).body_start :] == body


@settings(max_examples=150, deadline=None)
@given(old=st.text("ab\r\n-: ", max_size=30), new=st.text("ab\n-: ", max_size=30))
def test_a_replaced_body_reads_back_with_its_lines(old: str, new: str) -> None:
    try:
        after = replace_body(old, new)
    except Uneditable:
        assert parse(old).problem
        return
    body = after[parse(after).body_start :]
    wanted = new.replace("\r\n", "\n").rstrip("\r\n")
    assert body.replace("\r\n", "\n").rstrip("\r\n") == wanted
