"""The names in a question: words that call one thing, by their capitals, digits or inner marks."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memsvc.index.analyse import STOP_WORDS, query_terms

__all__ = ["Word", "is_acronym", "phrases", "words_of"]

_WORD = re.compile(r"\w[\w\-./#'’+]*")
_POSSESSIVE = re.compile(r"['’]s$", re.IGNORECASE)
_MARKED = re.compile(r"[a-z][A-Z]|\w_\w|\d")
_SENTENCE_END = ".?!:"
_ACRONYM = 5


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
    said_anyway = [text for text in flat if text.lower() in STOP_WORDS]
    titled = any(text[:1].isupper() and text != "I" for text in said_anyway[1:])
    capitals = bool(said_anyway) and not titled
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
    if is_acronym(text):
        return False
    return capitals and text[:1].isupper() and not first


def is_acronym(text: str) -> bool:
    """Whether a word is a short run of capitals: it names a kind of thing (IP, VHF) more often than
    one thing, and says as little when nobody mentions it.
    """
    return text.isupper() and text.isalpha() and len(text) <= _ACRONYM
