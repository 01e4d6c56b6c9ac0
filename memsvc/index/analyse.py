"""From text to terms: the one analyser, for what is indexed and for what is asked.

Text is composed (NFKC), folded to lower case and stripped of accents, vowel points and invisible signs. `ä` is both
`a` and `ae`. An identifier gives itself whole, joined and in parts: `gpt-4o` gives `gpt-4o`,
`gpt4o`, `gpt`, `4o`; `v1.2` also `1.2`. A date gives its normal form besides. English words are
stemmed, and what is written in Cyrillic letters loses its endings: the letters alone decide, so a
question is never taken for another language than the text. Runs of Chinese, Japanese, Korean and Thai have no spaces: when indexed they give every
character and every overlapping pair, when asked for only the pairs, or the one character.

A term holds no blanks and no quotes, so that a store can take it as it is.
"""

import re
import unicodedata

from memsvc.index.dates import dates
from memsvc.index.stems import stem

__all__ = ["STOP_WORDS", "document_terms", "query_terms"]

MAX_TERM = 64
"""Longer runs are cut; a longer identifier is not kept whole."""
MAX_QUERY = 4_000
"""Characters of a query that are looked at."""
MAX_QUERY_TERMS = 32

_JOINED = "-./:@'’#"
_CJK = (
    "\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0980-\u0dff\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff"
_LETTER = rf"[\w{_MARKS}]"
_RUN = re.compile(
    rf"{_LETTER}+(?:[{_JOINED}]{_LETTER}+)*(?:\+\+|\+|\#)?"
    r"|[\u2600-\u27bf\U0001f300-\U0001faff]"
)
_WORDS_ONLY = re.compile(r"[a-z]+")
_CJK_RUN = re.compile(f"[{_CJK}]+")
_HAS_CJK = re.compile(f"[{_CJK}]")
_PARTS = re.compile(rf"[{_JOINED}+_]+")
_SEGMENTS = re.compile(r"[/:@#]+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ACCENT = re.compile("[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u0652\u0670]+")
_UMLAUT = re.compile("[äöü]")
_SPELLED = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe", "ı": "i", "ي": "ی", "ك": "ک"}
)  # letters with a stroke, ligatures, and Arabic letters that Persian keyboards write otherwise
_APOSTROPHES = str.maketrans("", "", "'’")
_VERSION = re.compile(r"v(\d+(?:\.\d+)+.*)")
_ONE_NAME = re.compile(r"[^\W_]+(?:[-._][^\W_]+){1,3}")
_INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]"
)
_UNSAFE = re.compile('[\x00-\x20\x7f"\ud800-\udfff]')

_STOP = """
a about after all also am an and any are arent as at be because been before being between both
but by can cant could did didnt do does doesnt doing done dont for from get gets give given had
has have having he her here hers him his how i if im in into is isnt it its itself ive just let
lets like made make many may me might more most much must my no nor not now of off on once one
only or other our ours out over own please same shall she should show so some such tell than
that the their theirs them then there these they thing things this those to too under until up
us use used using very was we were what whats when where whether which while who whom whose why
will with would yes you your yours
"""
STOP_WORDS = frozenset(_STOP.split())


def document_terms(text: str) -> list[str]:
    """Every term of a text, in order, with repeats. Linear; any text is legal."""
    text = _seen(text)
    found: list[str] = []
    for run in _runs(text):
        found.extend(_expand(run, asked=False))
    return found + dates(text)


def query_terms(text: str) -> list[str]:
    """The distinct terms that a query asks for, at most `MAX_QUERY_TERMS`; never an error.

    English stop words are left out; a query of nothing else gives none.
    """
    text = _seen(text[:MAX_QUERY])
    found: dict[str, None] = {}
    for run in _runs(text):
        flat = run.lower().replace("'", "").replace("’", "")
        if flat in STOP_WORDS:
            continue
        found.update(dict.fromkeys(_expand(run, asked=True)))
    found.update(dict.fromkeys(dates(text)))
    terms = list(found)
    if len(terms) > MAX_QUERY_TERMS:  # what is long or holds a digit is rare wherever it stands
        weight = {term: (any(c.isdigit() for c in term), len(term)) for term in terms}
        kept = set(sorted(terms, key=lambda term: weight[term], reverse=True)[:MAX_QUERY_TERMS])
        terms = [term for term in terms if term in kept]
    return terms


def _seen(text: str) -> str:
    """Without signs that nobody sees, such as soft hyphens: they part no word."""
    return text if text.isascii() else _INVISIBLE.sub("", text)


def _runs(text: str) -> list[str]:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _UNSAFE.sub(" ", text))
    return [match.group() for match in _RUN.finditer(text)]


def _fold(text: str) -> str:
    """Lower case without accents, where an accent does not make another letter."""
    if text.isascii():
        return text.lower()
    plain = text.casefold().translate(_LETTERS)
    apart = _ACCENT.sub("", unicodedata.normalize("NFD", plain))
    return unicodedata.normalize("NFC", apart)


def _expand(run: str, *, asked: bool) -> list[str]:
    lowered = run.lower()
    if _WORDS_ONLY.fullmatch(lowered) and (run == lowered or run[1:] == lowered[1:]):
        return [stem(lowered[:MAX_TERM])]
    if _HAS_CJK.search(run):
        return _expand_cjk(run, asked=asked)
    return _identifier(run)


def _identifier(run: str) -> list[str]:
    """A run with inner marks or capitals: whole, by segments, and in parts; each once."""
    for ending in ("'s", "’s", "'S", "’S"):
        run = run.removesuffix(ending)
    found: dict[str, None] = {}
    if len(run) <= MAX_TERM:
        _add(found, run)
    for segment in _SEGMENTS.split(run):
        if len(segment) <= MAX_TERM:
            _add(found, segment)
            _add_joined(found, segment)
        for part in _PARTS.split(segment):
            cut = part[: 4 * MAX_TERM]
            _add(found, cut[:MAX_TERM])
            for word in _CAMEL.split(cut):
                _add(found, word[:MAX_TERM])
    return list(found)


def _add(found: dict[str, None], text: str) -> None:
    folded = _fold(text).translate(_APOSTROPHES)
    if folded:
        found[stem(folded)] = None
    if not text.isascii():
        lowered = unicodedata.normalize("NFC", text.lower())
        if _UMLAUT.search(lowered):
            found[stem(_fold(lowered.translate(_SPELLED)).translate(_APOSTROPHES))] = None


def _add_joined(found: dict[str, None], run: str) -> None:
    """`gpt4o` of `gpt-4o`, `1.2` of `v1.2`: other ways to write the same name."""
    version = _VERSION.fullmatch(run.lower())
    if version:
        _add(found, version[1])
        _add(found, version[1].partition(".")[0])
    elif _ONE_NAME.fullmatch(run) and not run.replace("-", "").replace(".", "").isdigit():
        _add(found, re.sub("[-._]", "", run))


def _expand_cjk(run: str, *, asked: bool) -> list[str]:
    found: list[str] = []
    position = 0
    for match in _CJK_RUN.finditer(run):
        if match.start() > position:
            found.extend(_between(run[position : match.start()]))
        found.extend(_pairs(match.group(), asked=asked))
        position = match.end()
    if position < len(run):
        found.extend(_between(run[position:]))
    return found


def _between(text: str) -> list[str]:
    stripped = text.strip(f"{_JOINED}+_")
    return _identifier(stripped) if stripped else []


def _pairs(run: str, *, asked: bool) -> list[str]:
    pairs = [run[i : i + 2] for i in range(len(run) - 1)]
    if asked:
        return pairs or [run]
    return [*run, *pairs]
