"""Light English stems, so that `deploys`, `deployed` and `deploying` are one term.

The first step of Porter's algorithm (1980) and a few of its commonest later suffixes; words that
are no plain ASCII letters stay as they are. Wrong joins cost more than missed ones here, so the
deeper steps are left out.
"""

import re
from functools import lru_cache

__all__ = ["stem"]

_FIXED = frozenset({"always", "lens", "news", "series", "species"})
_PLAIN = re.compile(r"[a-z]{4,40}")
_MEASURE = re.compile(r"[aeiouy]+[^aeiouy]")
_VOWEL = re.compile(r"[aeiouy]")
_DOUBLE = re.compile(r"([^aeiouylsz])\1$")
_SHORT = re.compile(r"^[^aeiou]*[aeiouy][^aeiouwxy]$")


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The stem of a lower-case word."""
    if not _PLAIN.fullmatch(word) or word in _FIXED:
        return word
    word = _tense(_plural(word))
    for suffix in ("ly", "ment", "ness"):
        base = word.removesuffix(suffix)
        if base != word and len(_MEASURE.findall(base)) > 1:
            word = base
            break
    if word.endswith("y") and len(word) > 3 and _VOWEL.search(word[:-1]):
        return f"{word[:-1]}i"
    if word.endswith("e") and len(word) > 4:
        return word[:-1]
    return word


def _plural(word: str) -> str:
    if word.endswith("sses"):
        return word[:-2]
    if word.endswith("ies"):
        return word[:-2] if len(word) > 4 else word[:-1]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _tense(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _MEASURE.search(word[:-3]) else word
    for suffix in ("ed", "ing"):
        base = word.removesuffix(suffix)
        if base == word or len(base) < 2 or not _VOWEL.search(base):
            continue
        if base.endswith(("at", "bl", "iz")):
            return f"{base}e"
        if _DOUBLE.search(base):
            return base[:-1]
        return f"{base}e" if _SHORT.match(base) else base
    return word
