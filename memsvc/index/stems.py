"""Light stems, English and Cyrillic, so that `deploys`, `deployed` and `deploying` are one term.

The first step of Porter's algorithm (1980) and a few of its commonest later suffixes; of Cyrillic
words the endings of nouns and adjectives. Other words stay as they are. Wrong joins cost more than
missed ones here, so the deeper steps are left out.
"""

import re
from functools import lru_cache

__all__ = ["stem"]

_FIXED = frozenset({"always", "lens", "news", "series", "species"})
_PLAIN = re.compile(r"[a-z]{4,40}")
_CYRILLIC = re.compile("[а-яёіїєґ]{4,40}")
_ENDED = """
ами ями ого его ому ему ыми ими иях иеи ов ев еи ои ии ыи ая яя ое ее ые ие ую юю ых их ым им ом ем
ам ям ах ях ью а я о е и ы у ю ь
"""
_ENDINGS = frozenset(_ENDED.split())
"""Of Russian nouns and adjectives, `й` folded to `и`; verbs keep theirs."""
_MEASURE = re.compile(r"[aeiouy]+[^aeiouy]")
_VOWEL = re.compile(r"[aeiouy]")
_DOUBLE = re.compile(r"([^aeiouylsz])\1$")
_SHORT = re.compile(r"^[^aeiou]*[aeiouy][^aeiouwxy]$")


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The stem of a lower-case word."""
    if not _PLAIN.fullmatch(word) or word in _FIXED:
        return _cyrillic(word) if _CYRILLIC.fullmatch(word) else word
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


def _cyrillic(word: str) -> str:
    """Without its longest common ending of case, number or gender; three letters at least stay."""
    for size in (3, 2, 1):
        if word[-size:] in _ENDINGS and len(word) - size >= 3:
            return word[:-size]
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
