"""Groups of texts that say much the same, found by their words: the same for the same texts."""

import hashlib
import re
from collections.abc import Mapping, Sequence

__all__ = ["group_token", "likeness_groups"]

_WORD = re.compile(r"\w+")
_ALIKE = 0.5
"""Shared words over all words, from which on two texts belong together."""


def likeness_groups(texts: Mapping[str, str]) -> list[list[str]]:
    """The keys of the texts, grouped: each text joins the first group whose first text is like it."""
    leaders: list[tuple[frozenset[str], list[str]]] = []
    for key, text in texts.items():
        words = frozenset(_WORD.findall(text.casefold()))
        for first, group in leaders:
            if _alike(first, words):
                group.append(key)
                break
        else:
            leaders.append((words, [key]))
    return [group for _, group in leaders]


def group_token(keys: Sequence[str]) -> str:
    """A name for exactly these keys: another one when the group gains or loses a member."""
    return hashlib.sha256("\n".join(sorted(keys)).encode()).hexdigest()[:10]


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    if min(len(one), len(other)) < _ALIKE * max(len(one), len(other)):
        return False
    shared = len(one & other)
    return shared > 0 and shared >= _ALIKE * (len(one) + len(other) - shared)
