"""Makes file names from titles: readable in any script, legal on any file system."""

import unicodedata
from collections.abc import Callable
from itertools import count

__all__ = ["RESERVED_NAMES", "free_name", "slug"]

MAX_BYTES = 80
"""Of the slug, so that the name stays legal with number, suffix and staging decoration."""

RESERVED_NAMES = frozenset(
    {"con", "prn", "aux", "nul", "conin$", "conout$"}
    | {f"{port}{number}" for port in ("com", "lpt") for number in "0123456789¹²³"}
)
"""Names that Windows keeps for devices, with any suffix and in any case."""

_DROPPED = frozenset("'’ʼ")
_EMPTY = "note"


def slug(title: str) -> str:
    """The title as a file name without suffix: letters, digits and their marks, `-` between.

    Lower case, NFC, at most 80 bytes, cut between characters; `note` if nothing is left.
    """
    kept: list[str] = []
    for character in unicodedata.normalize("NFC", unicodedata.normalize("NFC", title).lower()):
        category = unicodedata.category(character)
        if category[0] in "LN" or (category in ("Mn", "Mc") and kept and kept[-1] != "-"):
            if not _is_selector(character):
                kept.append(character)
        elif category != "Cf" and character not in _DROPPED and kept and kept[-1] != "-":
            kept.append("-")
    name = _cut("".join(kept)).strip("-")
    if name in RESERVED_NAMES:
        return f"{name}-note"
    return name or _EMPTY


def _is_selector(character: str) -> bool:
    """A variation selector: it chooses a picture and is no part of a word."""
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


def _cut(name: str) -> str:
    data = name.encode("utf-8", "replace")
    if len(data) <= MAX_BYTES:
        return data.decode("utf-8")
    short = data[:MAX_BYTES].decode("utf-8", "ignore")
    end = len(short)
    while end and unicodedata.category(name[end])[0] == "M":  # never part a letter from its marks
        end -= 1
    return name[:end]


def free_name(title: str, taken: Callable[[str], bool]) -> str:
    """A file name for the title that `taken` does not know: `slug.md`, `slug-2.md`, ….

    `taken` is asked for the name as it is and case-folded, both NFC, so that names which differ
    by case alone count as one if it compares case-folded names.
    """
    stem = slug(title)
    for number in count(1):
        name = f"{stem}.md" if number == 1 else f"{stem}-{number}.md"
        folded = unicodedata.normalize("NFC", name.casefold())
        if not taken(name) and (folded == name or not taken(folded)):
            return name
    raise AssertionError("counting never ends")
