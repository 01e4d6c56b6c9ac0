"""Whether two statements that are close in meaning state the same facts: numbers, names, polarity.

Vectors cannot tell `due 3 March` from `due 12 March`, nor `may` from `may not`; words can. The word
lists are English with the commonest negations of a few other languages: what they miss is for the
caller to weigh, because nothing here refuses anything.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from memsvc.index.analyse import STOP_WORDS
from memsvc.index.stems import stem

__all__ = ["Saying", "differing", "replaced", "saying"]

_TOKEN = re.compile(
    r"[$€£¥]?[+\-−]?\d+(?:[.,:/^\-]\d+)*(?:st|nd|rd|th)?(?![^\W\d_])[%°‰]?"
    r"|[^\W_]+(?:['’._\-/@+#:][^\W_]+)*(?:\+\+|#)?"
    r"|[❌✗✘✖☒⛔🚫👎❎]|(?<!\S)!(?=\w)|!=|≠|[<>]=?|≤|≥"
)
_NUMBER = re.compile(r"[$€£¥]?[+\-−]?\d.*")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_SPLIT = re.compile(r"[\-/]")
_SPELLED: Mapping[str, str] = {
    word: str(number)
    for number, words in {
        2: "two twice", 3: "three third thirds", 4: "four fourth", 5: "five fifth", 6: "six sixth",
        7: "seven seventh", 8: "eight eighth", 9: "nine ninth", 10: "ten tenth", 11: "eleven eleventh",
        12: "twelve twelfth dozen", 13: "thirteen", 14: "fourteen", 15: "fifteen", 16: "sixteen",
        17: "seventeen", 18: "eighteen", 19: "nineteen", 20: "twenty twentieth", 30: "thirty thirtieth",
        40: "forty", 50: "fifty", 60: "sixty", 70: "seventy", 80: "eighty", 90: "ninety",
        100: "hundred", 1000: "thousand", 1_000_000: "million", 1_000_000_000: "billion",
    }.items()
    for word in words.split()
}  # fmt: skip
"""`one`, `first` and `second` mean too many other things."""

_NO = """
not no never none nobody nothing neither nor cannot cant without hardly rarely seldom barely isnt
arent wasnt werent dont doesnt didnt wont wouldnt shouldnt mustnt hasnt havent hadnt couldnt neednt
mightnt aint ❌ ✗ ✘ ✖ ☒ ⛔ 🚫 👎 ❎ ! != ≠
nicht kein keine keinen keiner nie niemals ohne pas jamais aucun aucune sans nunca ningun non mai
senza nao não не нет никогда без niet geen nooit inte ingen aldrig ikke
"""
_NEGATIONS = frozenset(_NO.split())
_PAIRS = """
enabled/disabled enable/disable on/off open/closed opens/closes open/shut before/after above/below
over/under up/down in/out left/right top/bottom front/back start/stop starts/ends begin/end
first/last more/less most/least many/few more/fewer larger/smaller bigger/smaller longer/shorter
long/short higher/lower high/low raised/lowered raise/lower rises/falls increase/decrease
increased/decreased increases/decreases grows/shrinks grew/shrank faster/slower fast/slow quick/slow
louder/quieter loud/quiet early/late earlier/later old/new older/newer hot/cold warm/cold warmer/colder
wet/dry hard/soft hard/easy difficult/easy heavy/light dark/light dark/bright full/empty wide/narrow
deep/shallow thick/thin strong/weak good/bad better/worse best/worst cheap/expensive cheaper/dearer
free/paid public/private allow/forbid allows/forbids allowed/forbidden allow/deny allowed/denied
permit/prohibit permits/prohibits permitted/prohibited allow/block allows/blocks allowed/blocked
accept/reject accepts/rejects accepted/rejected accept/refuse accepts/refuses accepted/refused
approved/rejected pass/fail passes/fails succeed/fail succeeds/fails success/failure win/lose won/lost
include/exclude includes/excludes included/excluded add/remove adds/removes added/removed keep/delete
keeps/deletes kept/deleted keeps/removes join/leave joins/leaves joined/left arrive/depart
arrives/departs arrived/departed arrives/leaves buy/sell buys/sells bought/sold lend/borrow lends/borrows
push/pull send/receive sends/receives sent/received import/export upload/download read/write
love/hate loves/hates like/dislike likes/dislikes agree/disagree agrees/disagrees agreed/disagreed
always/never all/none all/some everyone/nobody everybody/nobody somebody/nobody everything/nothing both/neither
both/either with/without present/absent true/false yes/no right/wrong correct/wrong safe/dangerous
safe/unsafe required/optional mandatory/optional mandatory/voluntary manual/automatic
manually/automatically internal/external inside/outside indoors/outdoors online/offline local/remote
synchronous/asynchronous ascending/descending encrypted/plaintext alive/dead sick/healthy rich/poor
male/female minimum/maximum min/max at-least/at-most least/most north/south east/west northern/southern
eastern/western morning/evening day/night daytime/night today/yesterday today/tomorrow summer/winter
single/married parallel/serial parallel/sequential cold/heated breaks/fixes broke/fixed clean/dirty
ignores/checks shared/separate shared/isolated
"""


def _opposites() -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for pair in _PAIRS.split():
        one, other = pair.split("/")
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return {word: frozenset(others) for word, others in found.items()}


_OPPOSITES = _opposites()
_NONE: frozenset[str] = frozenset()
_DENYING = frozenset({"un", "in", "im", "il", "ir", "dis", "non", "non-", "mis"})
_LEAST_DENIED = 4
"""`in` + `to` is no denial of `to`."""

_CLOSED = """
january february march april june july august september october november december
monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays
saturdays sundays spring summer autumn fall winter
minute minutes minutely hour hours hourly day days daily night nights nightly week weeks weekly month
months monthly quarter quarters quarterly year years yearly annually
red orange yellow green blue purple pink brown black white grey gray north south east west
english french german spanish italian portuguese dutch japanese chinese russian
"""
_VALUES = frozenset(_CLOSED.split())
"""Words one of which never stands for another: months, weekdays, spans, colours, ways, languages."""
_SAME_VALUE = {
    "mondays": "monday", "tuesdays": "tuesday", "wednesdays": "wednesday", "thursdays": "thursday",
    "fridays": "friday", "saturdays": "saturday", "sundays": "sunday", "minutes": "minute",
    "minutely": "minute", "hours": "hour", "hourly": "hour", "days": "day", "daily": "day",
    "nights": "night", "nightly": "night", "weeks": "week", "weekly": "week", "months": "month",
    "monthly": "month", "quarters": "quarter", "quarterly": "quarter", "years": "year",
    "yearly": "year", "annually": "year", "fall": "autumn", "gray": "grey",
}  # fmt: skip
_FILLING = """
also already always currently each every exactly generally gets must need needs new now per really
still takes usually way within
"""
_QUIET = STOP_WORDS | frozenset(_FILLING.split())
_MOST_CAPITALS = 0.6
"""Where more of the words are capitals it is a headline, whose capitals name nothing."""


@dataclass(frozen=True, slots=True)
class Saying:
    """What of a statement is compared: its words in lower case and in order, and what they carry.

    `names` are words that are surely names or identifiers, in order; `values` members of closed
    kinds such as months, weekdays and colours; `negations` how often it says no.
    """

    words: tuple[str, ...]
    numbers: frozenset[str]
    names: tuple[str, ...]
    values: frozenset[str]
    negations: int

    @property
    def content(self) -> dict[str, str]:
        """The words that carry meaning, by stem, numbers and negations left out."""
        return {
            stem(word): word
            for word in self.words
            if word not in _QUIET and word not in _NEGATIONS and word not in _SPELLED
        }  # fmt: skip


def saying(text: str) -> Saying:
    """What a statement, as plain text, carries."""
    tokens = _tokens(text)
    capitals = [token for token, _ in tokens if token[0].isupper()]
    letters = [token for token, _ in tokens if token[0].isalpha()]
    headline = len(letters) > 1 and len(capitals) > _MOST_CAPITALS * len(letters)
    words: list[str] = []
    numbers: set[str] = set()
    names: list[str] = []
    for token, first in tokens:
        word = _plain(token)
        if _NUMBER.fullmatch(token):
            numbers.add(_number(token))
            continue
        words.append(word)
        if word in _SPELLED:
            numbers.add(_SPELLED[word])
        elif _is_name(token, first=first, headline=headline):
            names.append(word)
    kinds = [_SAME_VALUE.get(word, word) for word in words if word in _VALUES]
    negations = sum(word in _NEGATIONS for word in words)
    return Saying(tuple(words), frozenset(numbers), tuple(names), frozenset(kinds), negations)


def differing(one: Saying, other: Saying) -> str:
    """What keeps two statements apart: number, name, value, polarity or order; empty if nothing."""
    if one.numbers != other.numbers:
        return "number"
    if not (_named_in(one.names, other.words) and _named_in(other.names, one.words)):
        return "name"
    if one.values != other.values:
        return "value"
    if (one.negations + _opposed(one, other) + other.negations) % 2:
        return "polarity"
    return "order" if _turned(one, other) else ""


def replaced(one: Saying, other: Saying) -> tuple[str, str] | None:
    """The words that stand for each other if the statements differ in one word of meaning only."""
    mine, its = one.content, other.content
    left = [mine[key] for key in mine.keys() - its.keys()]
    right = [its[key] for key in its.keys() - mine.keys()]
    return (left[0], right[0]) if len(left) == len(right) == 1 else None


def _tokens(text: str) -> list[tuple[str, bool]]:
    """Words, numbers and signs, and whether each is the first of its sentence."""
    text = _THOUSANDS.sub("", text)
    found = []
    first = True
    for match in _TOKEN.finditer(text):
        found.append((match[0], first))
        after = text[match.end() : match.end() + 2].lstrip("\"'”’)*_")
        first = after[:1] in {".", "!", "?", ":"}
    return found


def _plain(token: str) -> str:
    word = token.lower().replace("’", "'")
    if word.endswith("'s"):
        return word[:-2]
    return word.replace("'", "")


def _number(token: str) -> str:
    number = token.lower().replace("−", "-").lstrip("+")
    return re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "", number)


def _is_name(token: str, *, first: bool, headline: bool) -> bool:
    body = token.removesuffix("'s").removesuffix("’s")
    inside = any(char.isupper() for char in body[1:]) and not body.isupper()
    if inside or any(char.isdigit() or char in "_@.#+" for char in body):
        return True
    if headline or body == "I":
        return False
    return (body[0].isupper() and not first) or (len(body) > 1 and body.isupper())


def _named_in(names: tuple[str, ...], words: tuple[str, ...]) -> bool:
    return set(names) <= {*words, *(part for word in words for part in _SPLIT.split(word))}


def _opposed(one: Saying, other: Saying) -> int:
    """How many words of the one have their opposite in the other in their place."""
    mine, its = set(one.words) - set(other.words), set(other.words) - set(one.words)
    return sum(
        bool(_OPPOSITES.get(word, _NONE) & its) or any(_denies(word, against) for against in its)
        for word in mine
    )


def _denies(one: str, other: str) -> bool:
    """Whether the one word is the other with `un-` or the like before it, or the other way round."""
    longer, shorter = (one, other) if len(one) > len(other) else (other, one)
    return len(shorter) >= _LEAST_DENIED and longer.removesuffix(shorter) in _DENYING


def _turned(one: Saying, other: Saying) -> bool:
    """Whether the names changed places and nothing else did: who sold to whom."""
    named = {*one.names, *other.names}
    return one.words != other.words and [word in named or word for word in one.words] == [
        word in named or word for word in other.words
    ]
