"""The names in a question: words that call one thing, by their capitals, digits or inner marks."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memsvc.index.analyse import STOP_WORDS, query_terms

__all__ = ["Word", "phrases", "words_of"]

_WORD = re.compile(r"\w[\w\-./#'’+]*")
_POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)
_MARKED = re.compile(r"[a-z][A-Z]|\w_\w|\d")
_SENTENCE_END = ".?!:"
_ACRONYM = 5
"""A short word in capitals names a kind of thing (IP, VHF) more often than one thing."""
_MOSTLY = 0.6
"""Where more words than this begin with a capital, capitals tell nothing."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a question that is no stop word: `term` is what the index knows of it whole."""

    text: str
    term: str
    name: bool
    start: int
    end: int


def words_of(question: str) -> list[Word]:
    """The words that say something, in order, without repeats of position; any text is legal.

    A capital says little at the beginning of a sentence, nothing in a title or in a language that
    capitalises nouns: only questions with an English stop word are read by it.
    """
    matches = list(_WORD.finditer(question))
    flat = [_bare(match.group()) for match in matches]
    english = any(text.lower() in STOP_WORDS for text in flat)
    telling = [text for text in flat if text.lower() not in STOP_WORDS]
    capital = sum(text[:1].isupper() for text in telling)
    capitals = english and capital <= max(_MOSTLY * len(telling), 2)
    found = []
    for match, text in zip(matches, flat, strict=True):
        terms = query_terms(text)
        if not terms:
            continue
        before = question[: match.start()].rstrip()
        first = not before or before[-1] in _SENTENCE_END
        name = _is_name(text, first=first, capitals=capitals)
        end = match.start() + len(text)
        found.append(Word(text, terms[0], name, match.start(), end))
    return found


def phrases(words: Sequence[Word], question: str) -> list[list[Word]]:
    """Names of several words that follow each other, such as a first name and a surname."""
    found: list[list[Word]] = []
    run: list[Word] = []
    for word in words:
        joined = bool(run) and question[run[-1].end : word.start] == " "
        if word.name and joined:
            run.append(word)
            continue
        found.append(run)
        run = [word] if word.name else []
    return [one for one in (*found, run) if len(one) > 1]


def _bare(word: str) -> str:
    return _POSSESSIVE.sub("", word.rstrip(".'’-/"))


def _is_name(text: str, *, first: bool, capitals: bool) -> bool:
    if _MARKED.search(text):
        return not text.isdigit()
    if text.isupper() and text.isalpha() and len(text) <= _ACRONYM:
        return False
    return capitals and text[:1].isupper() and not first
