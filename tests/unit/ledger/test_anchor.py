"""Anchors as values and lines, and the files that hold them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsvc.errors import InvalidInput, Misconfigured
from memsvc.ledger.anchor import Anchor, SigningKey, parse, same_key
from memsvc.ledger.anchor_places import Place, append, listed, read, remember, split
from memsvc.ledger.chain import Verdict

AT = "2026-11-30T10:04:11.000000Z"
KEY = SigningKey(b"k" * 32)


def made(seq: int = 4, at: str = AT) -> Anchor:
    return KEY.anchor(Verdict(seq, f"{seq:064x}", (), identity="a" * 64), at=at)


def test_a_line_gives_the_anchor_back_and_its_signature_holds() -> None:
    anchor = made()
    assert parse(anchor.line()) == anchor
    assert anchor.is_signed()
    assert "\n" not in anchor.line()
    assert same_key(f"ed25519:{anchor.key.upper()}") == anchor.key


@pytest.mark.parametrize("name", ["database", "seq", "hash", "at", "key"])
def test_a_change_of_any_field_breaks_the_signature(name: str) -> None:
    anchor = made()
    other = replace(made(7, "2026-12-01T10:04:11.000000Z"), database="b" * 64, key="c" * 64)
    changed = replace(anchor, **{name: getattr(other, name)})
    assert changed != anchor
    assert not changed.is_signed()


@given(st.text(max_size=200) | st.recursive(st.none() | st.integers() | st.text(max_size=5), st.lists, max_leaves=5).map(json.dumps))  # fmt: skip
def test_what_is_no_anchor_is_said_to_be_none(line: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the type is the contract
        parse(line)


@pytest.mark.parametrize("name", ["database", "seq", "hash", "at", "key", "signature", "format"])
@pytest.mark.parametrize("value", [None, "", 0, -1, True, [], "x" * 64, "\x1b[31m", "A" * 64])
def test_a_field_of_the_wrong_kind_is_no_anchor(name: str, value: object) -> None:
    data = json.loads(made().line())
    assert parse(json.dumps(data)) == made()
    with pytest.raises(ValueError):  # noqa: PT011 - the type is the contract
        parse(json.dumps({**data, name: value}))
    with pytest.raises(ValueError):  # noqa: PT011 - the type is the contract
        parse("[" * 1900)


def test_a_file_is_only_added_to_and_a_torn_end_is_told(tmp_path: Path) -> None:
    file = tmp_path / "anchors.jsonl"
    assert append(file, made(1))
    assert not append(file, made(1, "2026-12-01T10:04:11.000000Z"))
    with file.open("a") as stream:
        stream.write(made(2).line()[:40])
    before = file.read_bytes()
    assert append(file, made(3))
    assert file.read_bytes().startswith(before)
    found = read(file)
    assert [one.seq for one in found.anchors] == [1, 3]
    assert found.problems == ("line 2 is no anchor: it was changed or cut off",)


def test_windows_line_ends_and_repeated_lines_are_taken() -> None:
    found = split((made(1).line() + "\r\n" + made(1).line() + "\r\n\r\n").splitlines())
    assert (found.anchors, found.problems) == ((made(1),), ())


def test_what_is_no_file_of_anchors_is_not_added_to(tmp_path: Path) -> None:
    file = tmp_path / "todo.txt"
    file.write_bytes(b"\xff\xfe\x00 milk\n")
    with pytest.raises(InvalidInput):
        append(file, made())
    assert file.read_bytes() == b"\xff\xfe\x00 milk\n"


def test_the_list_of_places_is_kept_once_each_and_a_spoilt_one_is_told(tmp_path: Path) -> None:
    folder = tmp_path / "anchors"
    assert listed(folder) == ()
    remember(folder, [Place("git", "/v"), Place("file", "/a"), Place("git", "/v")])
    assert listed(folder) == (Place("file", "/a"), Place("git", "/v"))
    (folder / "places.json").write_text("{", "utf-8")
    with pytest.raises(Misconfigured, match="list of anchors"):
        listed(folder)


def test_the_signing_key_is_kept_and_a_spoilt_one_is_told(tmp_path: Path) -> None:
    file = tmp_path / "anchor.key"
    assert SigningKey.open(file) is None
    key = SigningKey.make(file)
    again = SigningKey.open(file)
    assert again is not None
    assert (again.public, again.name) == (key.public, key.name)
    assert file.stat().st_mode & 0o077 == 0
    assert key.public != SigningKey.make(tmp_path / "other.key").public
    file.write_text('{"ed25519": "00"}', "utf-8")
    with pytest.raises(Misconfigured, match=r"anchor\.key"):
        SigningKey.open(file)
