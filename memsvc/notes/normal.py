"""The normal form of a claim: equal for texts that say the same in other clothes.

The form drops what dresses a statement and keeps what it states:

- markdown, case, white space, format and control characters, variation selectors go;
- compatibility forms become plain ones (NFKC), digits of every script ASCII digits;
- accents on Latin, Greek and Cyrillic letters, Hebrew points and Arabic vowel signs go; marks
  that make another letter (Indic vowel signs, Japanese voicing, Thai vowels) stay;
- look-alikes become one letter (Unicode's confusables, single characters only, so that `rn` and
  `m` stay apart); `0` and `1` inside a word become `o` and `l`, `o` and a leading `l` inside a
  number `0` and `1`, which never makes two numbers equal;
- punctuation around words goes: `heron, the release` is `heron the release`. What carries meaning
  stays: signs and points of numbers (`-5`, `1.5`, `10:04`, `3-5`), `%`, currency, `C++`, `C#`,
  comparisons, arrows, `!ready`, negative marks (one sign for all crosses), dots and underscores
  inside names, and slashes. `1,000` is `1000`.

It is idempotent. Tombstones hold digests of it: a change here changes what they meet.
"""

import json
import re
import unicodedata
from functools import cache
from importlib.resources import files

from memsvc.notes.plain import BLANK, plain

__all__ = ["fold", "normal_form", "other_reading"]

_PASSES = 6
_LETTER = r"[^\W\d_]"
_CJK = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"

_NUMERALS = (
    "\u00bc-\u00be\u2080-\u2089\u2150-\u215f\u2189\u2460-\u249b\u24ea-\u24ff\u2776-\u2793"
    "\u3220-\u3229\u3248-\u324f\u3251-\u325f\u3280-\u3289\u32b1-\u32cb\u3358-\u3370\u33e0-\u33fe"
    "\U0001f100-\U0001f10c"
)
_RAISED = re.compile(r"(?<=\d)([\u2070\u00b9\u00b2\u00b3\u2074-\u2079\u207a\u207b]+)")
_BESIDE = re.compile(rf"(?<=[\d{_NUMERALS}])(?=[{_NUMERALS}])|(?<=[{_NUMERALS}])(?=\d)")
_ACCENTS = re.compile(
    "[\u0300-\u0337\u0339-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u0652\u0656-\u065f"
    "\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed]+"
    "|(?<![=<>\u2190-\u22ff])\u0338+"
)
_LONG_DASH = re.compile(r"(?<!\d)[\u2014\u2015\u2e3a\u2e3b]|[\u2014\u2015\u2e3a\u2e3b](?!\d)")
_WORD = re.compile(r"\w+")

_QUOTES = dict.fromkeys("'‘’‚‛´′ʼʹʻʽˈꞌ＇‵", "'") | dict.fromkeys("“”„‟″«»‹›「」『』〝〞", " ")
_NAMED = {
    "\u0640": "",
    "\u034f": "",
    "\u115f": "",
    "\u1160": "",
    "\u3164": "",
    "\u17b4": "",
    "\u17b5": "",
    "\u2800": " ",
    "\u2044": "/",
    "\u2215": "/",
    "\u2212": "-",
    "\u066b": ".",
    "\u066c": ",",
    "°": "°",
    "·": "",
    "‰": "‰",
    **_QUOTES,
    **dict.fromkeys("❌✗✘✖☒⛔🚫👎❎🔴🟥", " ✗ "),
    **dict.fromkeys("→⇒➜➔⟶➡", " → "),
    "\u30fb": " ",
}
_SPACES = {"\t", "\n", "\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1f", "\x85"}
_GONE = {"Cf", "Cc"}
_GAP = {"Zs", "Zl", "Zp", "Ps", "Pe", "Pi", "Pf", "Po", "So", "Sk"}
_MEANT = set("!\"#%&'*,./:;?@\\") | {"✗"}
"""Punctuation that the rules below look at; any other is a gap."""

_RULES = tuple(
    (signs, re.compile(pattern), by)
    for signs, pattern, by in (
        ("`", r"[`]+", ""),
        (">", r"-+>|=>", " → "),
        ("=≠", r"!=|=\u0338|≠", " ≠ "),
        ("=≤", r"<=|≤", " ≤ "),
        ("=≥", r">=|≥", " ≥ "),
        ("=", r"=+", " = "),
        ("<", r"<", " ≺ "),
        (">", r">", " ≻ "),
        ('[](){}|\\~";', r"[\[\](){}|\\~\";]", " "),
        ("'", rf"(?<={_LETTER})'(?={_LETTER})", ""),
        ("'", r"'", " "),
        ("*/×÷+^-", r"(?<=\d)\s+([*/×÷+^-])\s+(?=\d)", r"\1"),
        ("*", r"(?<![\d*])\*++|\*++(?!\d)", ""),
        (",", r"(?<![\d,.])\d{1,3}(?:,\d{3})+(?![\d,])", None),
        (",:", r"(?<!\d)[,:]|[,:](?!\d)", " "),
        ("?", r"\?", " "),
        ("!", rf"(?<!\s)!|!(?!{_LETTER})|^\s*!", " "),
        ("#", r"(?<![\w])([cfj])#(?![\w#])", "\\1\x01"),
        ("#", r"#", " "),
        ("\x01", "\x01", "#"),
        ("&", r"&", " & "),
        ("%", r"(?<=\d)\s+%", "%"),
        ("%", r"(?<!\d)%", " "),
        ("_", r"(?<![^\W_])(?<!_)_++|_++(?![^\W_])", ""),
        ("^", r"(?<!\w)\^|\^(?![\w-])", " "),
        ("-", r"-+", "-"),
        ("-", rf"(?<={_LETTER})-|-(?!\.?\d)", " "),
        (".", r"(?<![\d.])\.{2,}+|\.{2,}+(?!\d)", " "),
        (".", r"(?<![\w.])\.(?!\d)|(?<!\.)\.(?![\w.])", " "),
        ("@", r"(?<!\w)@|@(?!\w)", " "),
        ("/", r"/++(?!\w)", " "),
        ("", r"\s+", " "),
        ("", rf"(?<=[{_CJK}]) | (?=[{_CJK}])", ""),
    )
)
"""Signs one of which a text must hold for the rule to apply (none: always), what, and by what."""

_OUTER = {"=", "→", "&", "+", "/"}
_NUMBER_LIKE = re.compile(r"(?<!\w)(?=[ol]*\d)[ol\d]+(?!\w)")
_WORD_LIKE = re.compile(r"(?<!\w)[a-z]+(?:[01]+[a-z]+)+(?!\w)")
_ENOUGH_LETTERS = 3


def normal_form(text: str) -> str:
    """The normal form of any text, one line or a whole note. Never raises."""
    form = text
    for _ in range(_PASSES):
        fresh = fold(plain(form))
        if fresh == form:
            break
        form = fresh
    if form:
        return form
    signs = _signs_only(text)
    return fold(plain(signs)) or signs


def fold(text: str) -> str:
    """The normal form of a text that holds no markdown; empty if it has neither letter nor digit."""
    for _ in range(_PASSES):
        fresh = _fold_once(text)
        if fresh == text:
            break
        text = fresh
    return text if any(char.isalnum() for char in text) else ""


def other_reading(text: str) -> str:
    """What else a reader may take the text for, letter for letter; empty if nothing else.

    A palochka, `i` in the normal form, looks as much like an `l`; a word of Greek or Cyrillic capitals
    alone, which is its own word there, may look like a Latin one.
    """
    if text.isascii():
        return ""
    seen = text.translate(_by_look())
    return seen if seen != text and any("a" <= char.lower() <= "z" for char in text) else ""


@cache
def _by_look() -> dict[int, str]:
    capitals = {ord(char): shape.upper() for char, shape in _look_alikes()["capitals"].items()}
    return capitals | {0x4C0: "l", 0x4CF: "l"}


def _signs_only(text: str) -> str:
    """What stands for a text of signs alone, so that two emoji are two values."""
    signs = "".join(
        char
        for char in unicodedata.normalize("NFKC", text).casefold()
        if not char.isspace() and unicodedata.category(char) not in {"Cf", "Cc", "Mn"}
    )
    return "".join(char for char in signs if not char.isascii()) or signs


def _fold_once(text: str) -> str:
    text = text.replace(BLANK, "")
    text = text.lower() if text.isascii() else _fold_unicode(text)
    text = _translate(text)
    for signs, pattern, by in _RULES:
        if signs and not any(sign in text for sign in signs):
            continue
        text = pattern.sub(_without_commas if by is None else by, text)
    text = _without_outer_signs(text)
    text = _NUMBER_LIKE.sub(_as_number, text)
    return _WORD_LIKE.sub(_as_word, text)


def _without_outer_signs(text: str) -> str:
    words = text.split()
    first, last = 0, len(words)
    while first < last and words[first] in _OUTER:
        first += 1
    while last > first and words[last - 1] in _OUTER:
        last -= 1
    return " ".join(words[first:last])


def _without_commas(match: "re.Match[str]") -> str:
    return match[0].replace(",", "")


def _as_number(match: "re.Match[str]") -> str:
    """`1O` and `l0` are 10; `2l` stays two litres."""
    number = match[0].replace("o", "0")
    body = number.rstrip("l")
    return body.replace("l", "1") + number[len(body) :]


def _as_word(match: "re.Match[str]") -> str:
    word = match[0]
    if sum(char.isalpha() for char in word) < _ENOUGH_LETTERS:
        return word
    return word.replace("0", "o").replace("1", "l")


def _fold_unicode(text: str) -> str:
    tables = _look_alikes()
    text = _RAISED.sub(r"^\1", text)
    text = _BESIDE.sub(" ", text)
    text = unicodedata.normalize("NFKC", text)
    text = _LONG_DASH.sub(" ", text)
    text = _translate(text)
    if not tables["capitals"].keys().isdisjoint(text):
        text = _WORD.sub(_capitals, text)
    text = unicodedata.normalize("NFKD", text.casefold())
    text = _without_accents(text)
    if not tables["digits"].keys().isdisjoint(text):
        text = _WORD.sub(_digits, text)
    text = text.translate(_letters())
    return unicodedata.normalize("NFC", text)


def _without_accents(text: str) -> str:
    text = _ACCENTS.sub("", text)
    if not any(unicodedata.category(char) == "Mn" for char in set(text)):
        return text
    kept = []
    base = ""
    for char in text:
        if unicodedata.category(char) != "Mn":
            base = char
        elif char != "\u0338" and base < "\u0530":
            continue
        kept.append(char)
    return "".join(kept)


def _capitals(match: "re.Match[str]") -> str:
    """Among ASCII letters a capital is read by its own look: Greek `Ν` is an N there."""
    word = match[0]
    if not any("a" <= char.lower() <= "z" for char in word):
        return word
    table = _look_alikes()["capitals"]
    return "".join(table.get(char, char) for char in word)


def _digits(match: "re.Match[str]") -> str:
    """Among digits, or alone, a letter that looks like a digit is one."""
    word = match[0]
    table = _look_alikes()["digits"]
    if len(word) > 1 and not any(char.isdigit() for char in word):
        return word
    if not all(char.isdigit() or char in table or char in "ol" for char in word):
        return word
    return "".join(table.get(char, char) for char in word)


def _translate(text: str) -> str:
    changes = {}
    for char in set(text):
        seen = _seen(char)
        if seen != char:
            changes[ord(char)] = seen
    return text.translate(changes) if changes else text


@cache
def _seen(char: str) -> str:
    """What remains of a character before the rules: itself, a plainer one, a gap, or nothing."""
    if char in _NAMED:
        return _NAMED[char]
    if char in _SPACES:
        return " "
    if "\U0001f1e6" <= char <= "\U0001f1ff":
        return chr(ord(char) - 0x1F1E6 + ord("a"))  # flags are names
    kind = unicodedata.category(char)
    if kind == "Nd":
        return str(unicodedata.digit(char))
    if kind == "Pd":
        return char if char in "\u2014\u2015\u2e3a\u2e3b" else "-"
    if kind in _GONE or _ignorable(char):
        return ""
    if kind in _GAP and char not in _MEANT:
        return " " if not char.isascii() or kind == "Zs" else char
    return char


def _ignorable(char: str) -> bool:
    """Default-ignorable characters that are no format characters: selectors, tags, reserved."""
    point = ord(char)
    return (
        0xFE00 <= point <= 0xFE0F
        or 0x180B <= point <= 0x180F
        or 0xFFF0 <= point <= 0xFFFB
        or 0xE0000 <= point <= 0xE0FFF
        or point == 0x2065
    )


@cache
def _look_alikes() -> dict[str, dict[str, str]]:
    """The maps `letters`, `capitals` and `digits` of the data file."""
    data = files("memsvc.notes").joinpath("data/confusables.json").read_text(encoding="ascii")
    loaded: dict[str, dict[str, str]] = json.loads(data)
    return loaded


@cache
def _letters() -> dict[int, str]:
    return str.maketrans(_look_alikes()["letters"])
