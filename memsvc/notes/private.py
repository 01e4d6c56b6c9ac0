"""Blocks that a person marked `<private>…</private>`: what must not be remembered."""

import re

__all__ = ["has_private", "without_private"]

_OPEN = re.compile(r"<\s*private\b[^<>]*>", re.IGNORECASE)
_CLOSE = re.compile(r"<\s*/\s*private\s*>", re.IGNORECASE)


def has_private(text: str) -> bool:
    """Whether the text opens a private block, closed or not."""
    return bool(_OPEN.search(text))


def without_private(text: str) -> tuple[str, int, bool]:
    """The text without its private blocks, how many there were, and whether every one was closed.

    Blocks nest. What follows a block that is never closed is private to the end.
    """
    kept: list[str] = []
    at = count = 0
    while found := _OPEN.search(text, at):
        kept.append(text[at : found.start()])
        count += 1
        end = _end_of(text, found.end())
        if end is None:
            return "".join(kept), count, False
        at = end
    return "".join([*kept, text[at:]]), count, True


def _end_of(text: str, at: int) -> int | None:
    """Where the block whose opening ends at `at` is over; None when it is never closed."""
    depth = 1
    while depth:
        closing = _CLOSE.search(text, at)
        if closing is None:
            return None
        depth += len(_OPEN.findall(text, at, closing.start())) - 1
        at = closing.end()
    return at
