"""Looks for bytes of a text in every file of a folder, as somebody with a hex editor would."""

import re
from collections.abc import Iterable
from pathlib import Path

__all__ = ["holding", "where"]


def where(root: Path, needles: Iterable[bytes]) -> dict[str, set[bytes]]:
    """By file, below `root`, which of the needles it holds in any case of letters, or in its name."""
    wanted = [(one, re.compile(re.escape(one), re.IGNORECASE)) for one in needles]
    found: dict[str, set[bytes]] = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        data = name.encode() + b"\n" + (path.read_bytes() if path.is_file() else b"")
        met = {one for one, pattern in wanted if pattern.search(data)}
        if met:
            found[name] = met
    return found


def holding(root: Path, needle: bytes) -> list[str]:
    """The files below `root` that hold the bytes."""
    return list(where(root, [needle]))
