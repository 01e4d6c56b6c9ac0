"""The places that hold anchors: files that are only ever appended to, and the list of them."""

import json
import os
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from memsvc.errors import InvalidInput, Misconfigured, StorageFailed
from memsvc.ledger.anchor import Anchor, parse

__all__ = ["IN_BACKUP", "Contents", "Place", "append", "listed", "read", "remember", "split"]

IN_BACKUP = "anchor.jsonl"
"""The anchor that travels in a backup."""
_LIST = "places.json"
_MOST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A `file` of anchors, or a folder in a `git` repository that has them; an absolute path."""

    kind: str
    path: str

    def __str__(self) -> str:
        return f"git repository of {self.path}" if self.kind == "git" else self.path


@dataclass(frozen=True, slots=True)
class Contents:
    """The anchors of a place in order, and what is wrong with its other lines."""

    anchors: tuple[Anchor, ...]
    problems: tuple[str, ...]


def split(lines: Iterable[str]) -> Contents:
    """Lines as anchors; empty ones are skipped, repeated ones are one."""
    anchors: dict[Anchor, None] = {}
    problems = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            anchors[parse(line)] = None
        except ValueError:
            problems.append(f"line {number} is no anchor: it was changed or cut off")
    return Contents(tuple(anchors), tuple(problems))


def read(path: Path) -> Contents:
    """What a file of anchors holds, or a backup, which has one of its own.

    Raises FileNotFoundError, or Misconfigured when it is unreadable.
    """
    try:
        if path.suffix.lower() == ".zip":
            return split(_in_backup(path).decode("utf-8", "replace").splitlines())
        if path.stat().st_size > _MOST_BYTES:
            raise Misconfigured(f"{path.name} is too large to be a file of anchors")
        text = path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Misconfigured(f"{path.name} cannot be read: {error.strerror}") from error
    return split(text.splitlines())


def _in_backup(path: Path) -> bytes:
    import zipfile  # only for this

    try:
        with zipfile.ZipFile(path) as archive:
            info = archive.getinfo(IN_BACKUP)
            if info.file_size > _MOST_BYTES:
                raise Misconfigured(f"{path.name} holds too much for an anchor")
            return archive.read(info)
    except (zipfile.BadZipFile, KeyError, NotImplementedError, RuntimeError, zlib.error) as error:
        raise Misconfigured(f"{path.name} is no whole backup with an anchor") from error


def append(path: Path, anchor: Anchor) -> bool:
    """Add an anchor at the end of a file, durably; False when the newest one there says the same.

    Raises InvalidInput for a file that holds something else, StorageFailed.
    """
    try:
        present = read(path)
    except FileNotFoundError:
        present = Contents((), ())
    if present.problems and not present.anchors:
        raise InvalidInput(
            f"{path.name} is no file of anchors; name a new file or one that `memsvc audit anchor` "
            "made",
            argument="to",
        )
    if present.anchors and _same(present.anchors[-1], anchor):
        return False
    try:
        _append(path, anchor.line())
    except OSError as error:
        raise StorageFailed(
            f"{path.name} was not written: {error.strerror}; the anchor is not there"
        ) from error
    return True


def _same(one: Anchor, other: Anchor) -> bool:
    """Whether both tell the same of the same chain, at whatever time."""
    facts = ((a.database, a.seq, a.hash, a.key) for a in (one, other))
    return next(facts) == next(facts)


def _append(path: Path, line: str) -> None:
    """Only ever adds, so that the file may be one that the system lets nobody shorten."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        size = os.fstat(handle).st_size
        torn = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
        data = ("\n" if torn else "").encode() + line.encode() + b"\n"
        if os.write(handle, data) != len(data):
            os.ftruncate(handle, size)
            raise OSError(0, "the disk took only a part of it")
        os.fsync(handle)
    finally:
        os.close(handle)


def listed(folder: Path) -> tuple[Place, ...]:
    """The places that this home wrote anchors to. Raises Misconfigured when the list is spoilt."""
    try:
        found = json.loads((folder / _LIST).read_text("utf-8"))
        return tuple(Place(str(one["kind"]), str(one["path"])) for one in found["places"])
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Misconfigured(
            f"the list of anchors {folder.name}/{_LIST} cannot be read; put it back from a backup, "
            "or remove it and anchor anew"
        ) from error


def remember(folder: Path, places: Iterable[Place]) -> None:
    """Make these the places of the list; whole or not at all. Raises StorageFailed."""
    data = {"places": [asdict(one) for one in sorted(set(places))]}
    fresh = folder / f".{_LIST}.new"
    try:
        folder.mkdir(exist_ok=True, mode=0o700)
        with fresh.open("w", encoding="utf-8") as file:
            json.dump(data, file, ensure_ascii=False, indent=1)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(folder / _LIST)
    except OSError as error:
        raise StorageFailed(f"{_LIST} was not written: {error.strerror}") from error
