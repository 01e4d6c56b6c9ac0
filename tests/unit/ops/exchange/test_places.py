"""Exports appear whole, and take nobody's place by accident."""

from pathlib import Path

import pytest

from memsvc.errors import InvalidInput
from memsvc.ops.exchange.places import new_file, new_folder


def tree(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def make(target: Path, *, replace: bool = False, ours: frozenset[str] | None = None) -> None:
    with new_folder(target, replace=replace, ours=ours) as folder:
        (folder / "new.md").write_text("new")


def half_a_file(target: Path) -> None:
    with new_file(target, replace=False) as file:
        file.write("half")
        raise ZeroDivisionError


def half_a_folder(target: Path) -> None:
    with new_folder(target, replace=False, ours=None) as folder:
        (folder / "half.md").write_text("half")
        raise ZeroDivisionError


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "out.json"
    with pytest.raises(ZeroDivisionError):
        half_a_file(target)
    assert tree(tmp_path) == {}
    with new_file(target, replace=False) as file:
        file.write("whole")
        assert not target.exists()
    assert tree(tmp_path) == {"out.json": "whole"}
    with pytest.raises(InvalidInput, match="--replace"), new_file(target, replace=False):
        pass
    with new_file(target, replace=True) as file:
        file.write("again")
    assert tree(tmp_path) == {"out.json": "again"}


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "out"
    with pytest.raises(ZeroDivisionError):
        half_a_folder(target)
    assert list(tmp_path.iterdir()) == []
    target.mkdir()
    make(target)
    assert tree(tmp_path) == {"out/new.md": "new"}


def test_a_folder_with_other_files_is_never_replaced(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.mkdir()
    (target / "old.md").write_text("old")
    ours = frozenset({"old.md"})
    for replace, known in ((False, ours), (True, None), (False, None)):
        with pytest.raises(InvalidInput):
            make(target, replace=replace, ours=known)
    (target / ".git").mkdir()
    (target / ".git" / "HEAD").write_text("ref")
    with pytest.raises(InvalidInput, match="1 files that its export did not write"):
        make(target, replace=True, ours=ours)
    assert tree(tmp_path) == {"out/.git/HEAD": "ref", "out/old.md": "old"}
    (target / ".git" / "HEAD").unlink()
    make(target, replace=True, ours=ours)
    assert tree(tmp_path) == {"out/new.md": "new"}
