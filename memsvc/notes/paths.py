"""Resolves paths inside a vault, the only way from a relative path to a file."""

import os
import re
from pathlib import Path

from memsvc.errors import InvalidInput, UnsafePath
from memsvc.notes.slugs import RESERVED_NAMES

__all__ = ["contains", "is_note_path", "resolve_note", "resolve_vault_path", "stem_of"]

_ENCODED = re.compile(r"%(?:2e|2f|5c|00)", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MAX_NAME_BYTES = 255

_CONFLICT_COPY = re.compile(
    r"\.sync-conflict-\d{8}-\d{6}(?:-[A-Z0-9]{7})?(?=\.|\Z)"  # Syncthing
    r"|\((?:[^()]*[\s])?conflicted copy [^()]*\d{4}[^()]*\)(?: ?\(\d+\))?\Z"  # Dropbox, Nextcloud, Obsidian
    r"|_conflict-\d{8}-\d{6}\Z"  # ownCloud
    r"|\(\d+\)\[conflict\]\Z",  # Google Drive
    re.IGNORECASE,
)


def resolve_note(root: Path, relative: str) -> Path:
    """The file of the note at `relative`, a `/`-separated path inside the vault `root`.

    The file need not exist. A symlink inside the vault is resolved, so that writing keeps it.
    Raises UnsafePath, without naming any path, for everything that is not plainly inside.
    """
    problem = _problem(relative)
    if problem:
        raise UnsafePath(f"that is no path of a note: {problem}", argument="path")
    real_root = os.path.realpath(root)
    expected = os.path.join(real_root, *relative.split("/"))  # noqa: PTH118 - Path drops parts
    real = os.path.realpath(expected)
    if real == expected:
        return root / relative
    below = real.startswith(real_root.rstrip(os.sep) + os.sep)
    inside = os.path.relpath(real, real_root).replace(os.sep, "/") if below else ""
    if _problem(inside):
        raise UnsafePath(
            "that is no path of a note: a link on the way leads out of the vault", argument="path"
        )
    return Path(real)


def _problem(relative: str) -> str:
    """What is wrong with a relative path as text, or nothing."""
    if not relative:
        return "it is empty"
    if _CONTROL.search(relative):
        return "it holds a control character"
    if "\\" in relative or ":" in relative:
        return "it holds a backslash or a colon"
    if relative.startswith(("/", "~")):
        return "it is not relative to the vault"
    if _ENCODED.search(relative):
        return "it holds an encoded dot or slash"
    if not relative.lower().endswith(".md"):
        return "it does not end in .md"
    return next((found for part in relative.split("/") if (found := _part_problem(part))), "")


def _part_problem(part: str) -> str:
    if part in ("", ".", ".."):
        return "it has an empty, . or .. part"
    if part.startswith("."):
        return "a part begins with a dot"
    if part.split(".", 1)[0].rstrip(" ").lower() in RESERVED_NAMES:
        return "Windows keeps one of its names for a device"
    if len(os.fsencode(part)) > _MAX_NAME_BYTES:
        return "a part is longer than 255 bytes"
    return ""


def stem_of(path: str) -> str:
    """The file's name without `.md`: what a link to the note says."""
    return path.rpartition("/")[2].removesuffix(".md")


def is_note_path(relative: str) -> bool:
    """Whether a file at this path is a note by its name.

    Not what lies in dot-folders, sync-conflict copies, lock and temporary files.
    """
    if relative[-3:].lower() != ".md" or relative.startswith(".") or "/." in relative:
        return False
    name = relative.rpartition("/")[2]
    return not name.startswith("~$") and not _CONFLICT_COPY.search(name[:-3])


def resolve_vault_path(path: str | Path) -> Path:
    """A folder that is to be a vault: absolute, with `~` and links resolved.

    Raises InvalidInput when it is no folder.
    """
    try:
        found = Path(path).expanduser().resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise InvalidInput(
            "the vault's folder is not there; make it first", argument="path"
        ) from error
    if not found.is_dir():
        raise InvalidInput("a vault is a folder, and that is a file", argument="path")
    return found


def contains(outer: Path, inner: Path) -> bool:
    """Whether `inner` is `outer` or lies in it, whatever the spelling; both are resolved paths."""
    if inner.is_relative_to(outer):
        return True
    try:
        return any(folder.samefile(outer) for folder in (inner, *inner.parents))
    except OSError:
        return False
