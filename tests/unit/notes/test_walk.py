"""A walk finds every note, nothing else, and says what it could not see."""

import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memsvc.errors import VaultOffline
from memsvc.notes.disk import signature
from memsvc.notes.walk import walk

NOBODY = 65534


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without root's right to read everything; nothing to do for other users."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users reach."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def make(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")


def test_a_walk_finds_notes_and_only_notes(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "B.MD", "x/y/日本.md", "x/.hidden/n.md", ".obsidian/n.md", "x/.n.md")
    make(tmp_path, "a.txt", "x/a.sync-conflict-20261130-101112-ABCDEFG.md", "x/~$a.md")
    (tmp_path / "folder.md").mkdir()
    os.mkfifo(tmp_path / "pipe.md")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket.md"))
        found = walk(tmp_path)
    assert set(found.files) == {"a.md", "B.MD", "x/y/日本.md"}
    assert found.files["a.md"] == signature(tmp_path / "a.md")
    assert found.unreadable == ()
    assert found.skipped == ()


def test_folders_have_the_time_that_adding_a_note_changes(tmp_path: Path) -> None:
    make(tmp_path, "a.md", "x/y/b.md")
    before = walk(tmp_path).folders
    assert set(before) == {"", "x", "x/y"}
    os.utime(tmp_path / "x" / "y", ns=(1, 1))
    make(tmp_path, "x/y/c.md")
    after = walk(tmp_path).folders
    assert after["x/y"] == (tmp_path / "x" / "y").stat().st_mtime_ns != 1
    assert after["x"] == before["x"]


@pytest.mark.guarantee("S1")
def test_links_out_of_the_vault_are_not_followed(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    make(tmp_path, "outside/secret.md", "vault/in/note.md", "vault/.trash/old.md")
    (vault / "out").symlink_to(tmp_path / "outside")
    (vault / "again").symlink_to("in")
    (vault / "leak.md").symlink_to(tmp_path / "outside" / "secret.md")
    (vault / "old.md").symlink_to(".trash/old.md")
    (vault / "alias.md").symlink_to("in/note.md")
    (vault / "dead.md").symlink_to("nowhere.md")
    (vault / "loop").symlink_to(".")
    found = walk(vault)
    assert set(found.files) == {"in/note.md", "alias.md"}
    assert found.skipped == ("again", "leak.md", "loop", "old.md", "out")


def test_names_that_are_no_text_are_skipped_and_named(tmp_path: Path) -> None:
    try:
        (tmp_path / os.fsdecode(b"bad\xff.md")).write_text("x")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    make(tmp_path, "good.md")
    found = walk(tmp_path)
    assert set(found.files) == {"good.md"}
    assert found.skipped == ("bad\\udcff.md",)


def test_an_unreadable_folder_is_unknown_not_empty(open_folder: Path) -> None:
    make(open_folder, "a.md", "locked/b.md", "blind/c.md", "open/d.md")
    (open_folder / "locked").chmod(0o000)
    (open_folder / "blind").chmod(0o444)
    with as_nobody():
        found = walk(open_folder)
    for name in ("locked", "blind"):
        (open_folder / name).chmod(0o755)
    assert set(found.files) == {"a.md", "open/d.md"}
    assert found.unreadable == ("blind", "locked")
    assert walk(open_folder).unreadable == ()


def test_a_missing_or_unreadable_vault_is_offline(open_folder: Path) -> None:
    make(open_folder, "vault/a.md")
    for missing in (open_folder / "nowhere", open_folder / "vault" / "a.md"):
        with pytest.raises(VaultOffline):
            walk(missing)
    (open_folder / "vault").chmod(0o000)
    with as_nobody(), pytest.raises(VaultOffline) as caught:
        walk(open_folder / "vault")
    assert str(open_folder) not in caught.value.message
    (open_folder / "vault").chmod(0o755)
    assert set(walk(open_folder / "vault").files) == {"a.md"}


def test_a_walk_of_many_notes_is_fast(tmp_path: Path) -> None:
    for folder in range(20):
        (tmp_path / str(folder)).mkdir()
        for name in range(100):
            (tmp_path / str(folder) / f"a-note-about-something-{name}.md").touch()
    begun = time.process_time()
    assert len(walk(tmp_path).files) == 2000
    assert time.process_time() - begun < 0.2
