"""Files and folders that appear whole or not at all, and never take another one's place by accident."""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from memsvc.errors import InvalidInput, StorageFailed
from memsvc.ops.whole import appearing, beside

__all__ = ["new_file", "new_folder"]


@contextmanager
def new_file(target: Path, *, replace: bool) -> Iterator[TextIO]:
    """A text file that takes its place when the block ends well; `-` is standard output.

    Raises InvalidInput when something is there and must not be replaced, StorageFailed.
    """
    if str(target) == "-":
        yield sys.stdout
        return
    target = _absolute(target)
    with appearing(target, lambda: _check_file(target, replace=replace)) as file:
        yield file


@contextmanager
def new_folder(target: Path, *, replace: bool, ours: frozenset[str] | None) -> Iterator[Path]:
    """A folder that takes its place when the block ends well; yields where to write meanwhile.

    Only an empty folder gives way, or with `replace` one that holds nothing but the files `ours`:
    those of an earlier export. Raises InvalidInput, StorageFailed.
    """
    target = _absolute(target)
    _check_folder(target, replace=replace, ours=ours)
    fresh = beside(target)
    try:
        fresh.mkdir(mode=0o700)
        yield fresh
        os.sync()  # one for all files: an export is repeated when the power fails
        _check_folder(target, replace=replace, ours=ours)
        _swap(fresh, target)
    except OSError as error:
        raise StorageFailed(f"{target.name} was not written: {error.strerror}") from error
    finally:
        if fresh.exists():
            shutil.rmtree(fresh, ignore_errors=True)


def _swap(fresh: Path, target: Path) -> None:
    if not target.exists():
        fresh.rename(target)
        return
    aside = beside(target)
    target.rename(aside)
    try:
        fresh.rename(target)
    except OSError:
        aside.rename(target)
        raise
    shutil.rmtree(aside)


def files_below(folder: Path) -> set[str]:
    """Every file and link below a folder, relative, with `/`."""
    found: set[str] = set()
    for place, folders, names in os.walk(folder):
        links = [name for name in folders if Path(place, name).is_symlink()]
        for name in (*names, *links):
            found.add(Path(place, name).relative_to(folder).as_posix())
    return found


def _absolute(target: Path) -> Path:
    try:
        return target.expanduser().absolute()
    except RuntimeError as error:
        raise InvalidInput("there is no such user's folder", argument="target") from error


def _check_parent(target: Path) -> None:
    if not target.parent.is_dir():
        raise InvalidInput(
            f"the folder that is to hold {target.name} is not there; make it first",
            argument="target",
        )


def _check_file(target: Path, *, replace: bool) -> None:
    _check_parent(target)
    if target.is_dir():
        raise InvalidInput("a JSON export is a file, and that is a folder", argument="target")
    if (target.exists() or target.is_symlink()) and not replace:
        raise InvalidInput(f"{target.name} is there already; add --replace", argument="target")


def _check_folder(target: Path, *, replace: bool, ours: frozenset[str] | None) -> None:
    _check_parent(target)
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise InvalidInput("a markdown export is a folder of its own", argument="target")
    if not target.exists() or not any(target.iterdir()):
        return
    if not replace or ours is None:
        raise InvalidInput(
            f"{target.name} is not empty; name a new folder"
            + (", or add --replace to replace the export in it" if ours is not None else ""),
            argument="target",
        )
    foreign = files_below(target) - ours
    if foreign:
        raise InvalidInput(
            f"{target.name} holds {len(foreign)} files that its export did not write; move them "
            "away, or name a new folder",
            argument="target",
        )
