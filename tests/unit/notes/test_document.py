"""Any file is read for what it says, and no file breaks the reader."""

import hashlib
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsvc.model.vocabulary import Kind, Status
from memsvc.notes.document import (
    MAX_NOTE_BYTES,
    Document,
    read_document,
    too_large_document,
)


def read(content: str, path: str = "heron/release-plan.md") -> Document:
    return read_document(content.encode(), path=path)


def test_a_governed_note_is_read_whole() -> None:
    content = (
        "---\nid: 01KBA7ZD5QX4T9W2M3N8R6C0VE\ntitle: Heron release\nkind: Decision\n"
        "status: superseded\nvalid_from: 2026-11-30\nvalid_to: 2026-12-01T10:00:00+02:00\n"
        'source:\n  - "transcript:5f3c1a#turn=12"\n  - "[[note]]"\nsupersedes:\n  - "[[old/plan|Plan]]"\n'
        'superseded_by: "[[new#h]]"\ntags: [deadline, "#heron/x"]\naliases: [Plan B]\nmine: {a: 1}\n---\nThe body.\n'
    )
    found = read(content)
    assert found.title == "Heron release"
    assert found.declared_id == "01KBA7ZD5QX4T9W2M3N8R6C0VE"
    assert found.kind is Kind.DECISION
    assert found.status_declared == Status.SUPERSEDED
    assert found.valid_from == "2026-11-30T00:00:00.000000Z"
    assert found.valid_to == "2026-12-01T08:00:00.000000Z"
    assert found.source == ("transcript:5f3c1a#turn=12", "[[note]]")
    assert found.supersedes == ("old/plan",)
    assert found.superseded_by == "new"
    assert found.tags == ("deadline", "heron/x")
    assert found.aliases == ("Plan B",)
    assert found.values["mine"] == {"a": 1}
    assert found.body == "The body.\n"
    assert found.content == content
    assert found.content_hash == hashlib.sha256(content.encode()).hexdigest()
    assert (found.problem, found.lossy, found.editable) == ("", False, True)


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("---\ntitle: 1.10\n---\n# Heading", "1.10"),
        ("---\ntitle: 5\n---\n", "5"),
        ("---\ntitle: 2026-11-30\n---\n", "2026-11-30"),
        ("---\ntitle: [[Note]]\n---\n", "[[Note]]"),
        ("---\ntitle: [one, two]\n---\n", "one"),
        ("---\ntitle:\n---\n# Heading", "Heading"),
        ("---\ntitle: {a: b}\n---\n# Heading", "Heading"),
        ("---\ntitle: \"a\\nb\\0\"\n---\n", "a b\ufffd"),
        ("text\n\n# Heading ##\n# Second", "Heading"),
        ("Heading\n===\n", "Heading"),
        ("## Two\n# One", "One"),
        ("```\n# code\n```\n# Heading", "Heading"),
        ("~~~sh\n# code\n```\n# code\n~~~~\n# Heading\r\n", "Heading"),
        ("    # indented code\n# Heading", "Heading"),
        ("<!--\n# hidden\n-->\n# Heading", "Heading"),
        ("<!-- one line -->\n# Heading", "Heading"),
        ("``` `inline`\n# Heading", "Heading"),
        ("#tag\n#\n# #\n", "release-plan"),
        ("```\n# code, never closed", "release-plan"),
        ("- item\n===\n", "release-plan"),
        ("", "release-plan"),
    ],
)  # fmt: skip
def test_the_title_is_the_frontmatters_then_the_headings_then_the_files(
    content: str, title: str
) -> None:
    assert read(content).title == title


@pytest.mark.parametrize(
    ("head", "tags"),
    [
        ("tags: [a, b, a]", ("a", "b")),
        ("tags: a, b c", ("a", "b", "c")),
        ('tags: "#a #b"', ("a", "b")),
        ("tags:\n  - a\n  - 2026\n  - 1.10", ("a", "2026", "1.10")),
        ("tag: a", ("a",)),
        ("tags: {a: b}", ()),
        ("tags:", ()),
        ("tags: [[x]]", ("[[x]]",)),
        ("tags: [null, {a: b}, [c], d]", ("d",)),
    ],
)
def test_tags_are_read_from_every_way_of_writing_them(head: str, tags: tuple[str, ...]) -> None:
    assert read(f"---\n{head}\n---\n").tags == tags


@pytest.mark.parametrize(
    ("value", "target"),
    [
        ("[[a]]", "a"),
        ('"[[a/b|c]]"', "a/b"),
        ('"[[a#h]]"', "a"),
        ('["[[a]]", "[[b]]"]', "a"),
        ('"[text](x/a%20b.md#h)"', "x/a b.md"),
        ("a", "a"),
        ('"[[#h]]"', ""),
        ("{a: b}", ""),
        ("", ""),
    ],
)
def test_a_successor_is_named_by_any_kind_of_link(value: str, target: str) -> None:
    assert read(f"---\nsuperseded_by: {value}\n---\n").superseded_by == target


def test_unknown_words_and_wrong_dates_are_not_taken_over() -> None:
    found = read("---\nkind: poem\nstatus: done\nvalid_from: soon\nvalid_to: [1]\n---\nx\n")
    assert (found.kind, found.status_declared) == (Kind.NOTE, "")
    assert (found.valid_from, found.valid_to) == ("", "")
    assert found.problem == "valid_from is no date; valid_to is no date"
    assert found.editable
    assert read("---\nvalid_from: 0001-01-01T00:00+09:00\n---\n").problem
    assert (
        read("---\nvalid_from: 2026-11-30 10:00\n---\n").valid_from == "2026-11-30T10:00:00.000000Z"
    )


def test_a_file_with_broken_frontmatter_keeps_its_text_and_is_not_editable() -> None:
    found = read("---\ntitle: a: b\n---\n# Heading\ntext\n")
    assert found.problem
    assert not found.editable
    assert (found.title, found.body) == ("Heading", "# Heading\ntext\n")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-16-le", "utf-32"])
def test_other_encodings_are_read_and_not_edited(encoding: str) -> None:
    mark = "" if encoding in ("utf-16", "utf-32") else "\ufeff"
    found = read_document(f"{mark}# Häron\n".encode(encoding), path="x.md")
    assert (found.title, found.lossy, found.editable) == ("Häron", False, False)
    assert "UTF-8" in found.problem


def test_a_byte_order_mark_is_kept_and_does_not_hide_the_frontmatter() -> None:
    found = read("\ufeff---\ntitle: A\n---\nbody")
    assert (found.content[0], found.title, found.body, found.editable) == (
        "\ufeff",
        "A",
        "body",
        True,
    )
    assert read("\ufeff# A").title == "A"


def test_bytes_that_are_no_text_are_replaced_and_never_written_back() -> None:
    found = read_document("# Häron\n".encode("latin-1"), path="x.md")
    assert (found.title, found.lossy, found.editable) == ("H\ufffdron", True, False)
    assert read("# H\ufffdron\n").editable


def test_a_binary_file_has_no_text() -> None:
    found = read_document(b"# Title\x00\x01", path="pic.md")
    assert (found.content, found.title, found.editable) == ("", "pic", False)
    assert found.problem.startswith("binary")


def test_an_empty_file_is_an_empty_note() -> None:
    found = read_document(b"", path="heron/Empty.MD")
    assert (found.body, found.title, found.problem, found.editable) == ("", "Empty", "", True)


def test_a_file_that_is_too_large_is_listed_and_not_read() -> None:
    found = too_large_document("big.md", MAX_NOTE_BYTES + 1)
    assert (found.content, found.title, found.editable, found.content_hash) == (
        "",
        "big",
        False,
        "",
    )
    assert "5 MiB" in found.problem


@pytest.mark.parametrize(
    "unit", ["prose and words\n", "# ", "#\t", "-->", "---\n", "<!--", "```\n", " ", "[[", "a: "]
)
def test_the_largest_file_is_read_in_a_moment(unit: str) -> None:
    raw = (unit * (MAX_NOTE_BYTES // len(unit))).encode()
    for prefix in (b"", b"# ", b"---\n"):
        begun = time.process_time()
        assert read_document(prefix + raw, path="x.md").body is not None
        assert time.process_time() - begun < 3


@settings(max_examples=200, deadline=None)
@given(
    raw=st.binary(max_size=200),
    prefix=st.sampled_from([b"", b"---\n", b"\xff\xfe", b"\xef\xbb\xbf---\n"]),
)
def test_no_bytes_break_the_reader(raw: bytes, prefix: bytes) -> None:
    found = read_document(prefix + raw, path="x.md")
    found.content.encode()
    found.title.encode()
    assert found.title
    assert len(found.title) <= 300


_YAML = st.text(alphabet="ab:-# \n\t'\"[]{}&*!|>%,~?\\0.é=<TZ2", max_size=60)


@settings(max_examples=300, deadline=None)
@given(
    head=_YAML,
    key=st.sampled_from(["title", "tags", "aliases", "source", "superseded_by", "valid_to", "id"]),
)
def test_no_frontmatter_breaks_the_reader(head: str, key: str) -> None:
    content = f"---\n{key}: {head}\n---\nthe body"
    found = read(content)
    assert found.body.endswith("the body") or "\n---" in head or "\n..." in head
    repr(found.values).encode()
