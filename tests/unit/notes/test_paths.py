"""No path leads out of the vault, and real notes are not mistaken for debris."""

from pathlib import Path

import pytest

from memsvc.errors import InvalidInput, UnsafePath
from memsvc.notes.paths import (
    contains,
    is_note_path,
    resolve_note,
    resolve_vault_path,
)


@pytest.mark.parametrize(
    "relative",
    [
        "", ".", "..", "../x.md", "a/../x.md", "a/../../x.md", "/etc/x.md", "~/x.md", "~root/x.md", "C:/x.md", "c:x.md",
        "//host/share/x.md", "\\\\host\\x.md", "a\\x.md", "..\\x.md", "%2e%2e/x.md", "a%2Fx.md", "a%5cx.md", "x%00.md",
        "a\x00.md", "a\n.md", ".obsidian/x.md", "a/.git/x.md", ".x.md", "a//x.md", "a/./x.md", "a/", "x.md/", "x.md:s.md",
        "con.md", "a/NUL.md", "aux/x.md", "com1.tar.md", "nul .md", "x.txt", "x", "a" * 300 + ".md",
    ],
)  # fmt: skip
def test_a_path_that_is_not_plainly_inside_is_refused(tmp_path: Path, relative: str) -> None:
    with pytest.raises(UnsafePath) as caught:
        resolve_note(tmp_path, relative)
    assert str(tmp_path) not in caught.value.message
    assert "/" not in caught.value.message
    assert resolve_note(tmp_path, "heron/Release plan 100% (v1.2).md").parent == tmp_path / "heron"


def test_ordinary_names_of_any_script_resolve(tmp_path: Path) -> None:
    for relative in (
        "x.md",
        "X.MD",
        "a b/ü é/日本.md",
        "a..b.md",
        "100%25.md",
        "a/b/c/d.md",
        "a~b.md",
    ):
        assert resolve_note(tmp_path, relative) == tmp_path / relative


def test_links_that_lead_out_are_refused_and_links_inside_are_followed(tmp_path: Path) -> None:
    vault, outside = tmp_path / "vault", tmp_path / "outside"
    (vault / "real").mkdir(parents=True)
    (vault / ".trash").mkdir()
    outside.mkdir()
    (outside / "secret.md").write_text("x")
    (vault / "real" / "note.md").write_text("x")
    (vault / "out").symlink_to(outside)
    (vault / "deep").symlink_to(vault / "real")
    (vault / "leak.md").symlink_to(outside / "secret.md")
    (vault / "sibling.md").symlink_to("../vault-2/x.md")
    (vault / "hidden").symlink_to(vault / ".trash")
    (vault / "alias.md").symlink_to("real/note.md")
    (vault / "loop.md").symlink_to("loop.md")
    for relative in ("out/secret.md", "out/new.md", "leak.md", "sibling.md", "hidden/x.md"):
        with pytest.raises(UnsafePath):
            resolve_note(vault, relative)
    assert resolve_note(vault, "alias.md") == vault / "real" / "note.md"
    assert resolve_note(vault, "deep/note.md") == vault / "real" / "note.md"
    assert resolve_note(vault, "deep/new.md") == vault / "real" / "new.md"
    assert not resolve_note(vault, "loop.md").exists()


def test_a_vault_reached_through_a_link_is_still_inside_itself(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert resolve_note(tmp_path / "link", "x.md") == tmp_path / "link" / "x.md"


@pytest.mark.parametrize(
    "relative",
    [
        "x.md", "X.MD", "a/b.md", "Conflict.md", "My conflicted copy.md", "Merge (conflicted copy handling).md",
        "sync-conflict.md", "notes on .sync-conflict.md", "Release (2).md", "[Conflict] of interest.md", "a~b.md",
        "tmp.md", "2026-11-30 conflict resolution.md", "memsvc-tmp.md", "a_conflict.md",
    ],
)  # fmt: skip
def test_notes_are_notes_whatever_they_are_about(relative: str) -> None:
    assert is_note_path(relative)


@pytest.mark.parametrize(
    "relative",
    [
        "x.sync-conflict-20261130-101112-ABCDEFG.md", "a/x.sync-conflict-20261130-101112.md",
        "x (Alice's conflicted copy 2026-11-30).md", "x (conflicted copy 2026-11-30 101112).md",
        "x (Alice's conflicted copy 2026-11-30) (1).md", "x (Conflicted copy laptop 202611301011).md",
        "x_conflict-20261130-101112.md", "x(1)[Conflict].md", "~$x.md", ".#x.md", "x.md~", "x.md.tmp", "x.txt", "md", ".md",
        ".x.md.0123456789ab.memsvc-tmp", ".obsidian/x.md", "a/.git/x.md", ".trash/x.md", "x.md.swp",
    ],
)  # fmt: skip
def test_copies_of_a_sync_and_temporary_files_are_no_notes(relative: str) -> None:
    assert not is_note_path(relative)


def test_a_vault_is_an_existing_folder_with_its_links_resolved(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("real")
    assert resolve_vault_path(tmp_path / "link" / ".." / "link") == (tmp_path / "real").resolve()
    for wrong in (tmp_path / "missing", tmp_path / "file", "a\x00b"):
        with pytest.raises(InvalidInput) as caught:
            resolve_vault_path(wrong)
        assert str(tmp_path) not in caught.value.message


def test_a_vault_inside_another_is_seen(tmp_path: Path) -> None:
    inner, sibling = tmp_path / "vault" / "a" / "b", tmp_path / "vault-2"
    inner.mkdir(parents=True)
    sibling.mkdir()
    assert contains(tmp_path / "vault", inner)
    assert contains(tmp_path / "vault", tmp_path / "vault")
    assert not contains(tmp_path / "vault", sibling)
    assert not contains(inner, tmp_path / "vault")
    (tmp_path / "spelled").symlink_to("vault")
    assert contains(tmp_path / "spelled", inner)
