"""Two changes of one text beside each other: what both kept, what one changed, where they clash."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

__all__ = ["Region", "merged", "three_way"]

_MOST_LINES = 4_000
"""Longer texts are compared as wholes: matching lines costs their product at worst."""


@dataclass(frozen=True, slots=True)
class Region:
    """Some lines of each text. `kind`: same, ours, theirs, both (the same change), conflict."""

    kind: str
    base: tuple[str, ...]
    ours: tuple[str, ...]
    theirs: tuple[str, ...]


def three_way(base: str, ours: str, theirs: str) -> list[Region]:
    """The regions of two changes of a text, in order; joined, they are each of the three texts."""
    texts = [text.splitlines() for text in (base, ours, theirs)]
    found = []
    for lines in _pieces(*texts):
        kind = _kind(*lines)
        if any(lines):
            found.append(Region(kind, *lines))
    return found


def merged(regions: Sequence[Region]) -> tuple[str, int]:
    """One text with both changes, clashes marked as git does, and how many clashes there are."""
    lines: list[str] = []
    clashes = 0
    for region in regions:
        if region.kind == "conflict":
            clashes += 1
            lines += ["<<<<<<< committed", *region.ours, "||||||| before", *region.base]
            lines += ["=======", *region.theirs, ">>>>>>> file"]
        else:
            lines += region.theirs if region.kind == "theirs" else region.ours
    return "\n".join(lines), clashes


_Lines = tuple[str, ...]


def _kind(base: _Lines, ours: _Lines, theirs: _Lines) -> str:
    if ours == theirs:
        return "same" if base == ours else "both"
    if base == ours:
        return "theirs"
    return "ours" if base == theirs else "conflict"


def _pieces(
    base: list[str], ours: list[str], theirs: list[str]
) -> Iterator[tuple[_Lines, _Lines, _Lines]]:
    """Runs of lines that all three share, and what lies between them."""
    at = (0, 0, 0)
    for start, mine, other, size in _shared(base, ours, theirs):
        yield (
            tuple(base[at[0] : start]),
            tuple(ours[at[1] : mine]),
            tuple(theirs[at[2] : other]),
        )
        at = (start + size, mine + size, other + size)
        run = tuple(base[start : at[0]])
        yield run, run, run


def _shared(
    base: list[str], ours: list[str], theirs: list[str]
) -> Iterator[tuple[int, int, int, int]]:
    """Where all three agree: the starts in each and the length, then the ends with length 0."""
    end = (len(base), len(ours), len(theirs), 0)
    if max(end) > _MOST_LINES:
        yield end
        return
    left = SequenceMatcher(None, base, ours, autojunk=False).get_matching_blocks()
    right = SequenceMatcher(None, base, theirs, autojunk=False).get_matching_blocks()
    i = j = 0
    while i < len(left) and j < len(right):
        start = max(left[i].a, right[j].a)
        stop = min(left[i].a + left[i].size, right[j].a + right[j].size)
        if start < stop:
            mine = left[i].b + start - left[i].a
            other = right[j].b + start - right[j].a
            yield start, mine, other, stop - start
        if left[i].a + left[i].size < right[j].a + right[j].size:
            i += 1
        else:
            j += 1
    yield end
