"""The dresses in which a rejected statement is tried again: what a reader takes for the same.

The look-alikes are written down here by hand, from how letters look, so that the product's own
table is not measured with itself.
"""

import itertools
import random
from collections.abc import Callable, Mapping, Sequence

__all__ = ["ATTACKS", "COMBINED", "Attack", "dress", "suits"]

Attack = Callable[[str, random.Random], str]
"""A statement of one sentence and a source of chance to a body that states it."""

_CYRILLIC = str.maketrans("aeopcyxisjAEOPCTXMKHB", "аеорсухіѕјАЕОРСТХМКНВ")
_GREEK = str.maketrans("ovABEHIKMNOPTXYZ", "οvΑΒΕΗΙΚΜΝΟΡΤΧΥΖ")
_OTHERS = str.maketrans(
    {
        "a": "ɑ",
        "g": "ɡ",
        "i": "ı",
        "o": "օ",
        "h": "һ",
        "d": "ԁ",
        "q": "ԛ",
        "w": "ԝ",
        "l": "ӏ",
        "u": "ս",
    }
)
_ACCENTED = str.maketrans("aeiouncszyAEIO", "áéíöüñçšžýÄÊÎÔ")
_MARKS = "\u0301\u0300\u0308\u0332\u0336\u20dd\u0489"
_INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u180e\ufe0f\U000e0061"
_DIRECTIONS = ("\u202e{}\u202c", "\u202d{}\u202c", "\u2066{}\u2069", "\u2067{}\u2069", "{}\u200f", "\u200e{}")  # fmt: skip
_SPACES = ("  ", "\t", "\u00a0", "\u2003", "\u3000", "\u202f", " \u200a", "\n")
_ENDS = ("!", "…", "!!!", "", " .", "?!", ";", "。")
_QUOTES = (("“", "”"), ("«", "»"), ("'", "'"), ("(", ")"), ("„", "“"), ("[", "]"), ("「", "」"))
_FLAVOURS = (0x1D400, 0x1D434, 0x1D468, 0x1D5A0, 0x1D5D4, 0x1D608, 0x1D63C, 0x1D670)
_FRAMES = (
    "- {}",
    "* [ ] {}",
    "> {}",
    "> [!note]\n> {}",
    "1. {}",
    "## {}\n\nNothing more is known.",
    "```\n{}\n```",
    "    {}",
    "| who | what |\n|---|---|\n| us | {} |",
    "Something else first. {} And something behind it.",
    "<div><p>{}</p></div>",
    "Nothing here.\n\n<!-- {} -->",
    "See.[^1]\n\n[^1]: {}",
    "- one thing\n  - {}\n- another thing",
    "{}\n===",
    "Word\n: {}",
)


def _case(text: str, chance: random.Random) -> str:
    return chance.choice(
        (
            str.upper,
            str.lower,
            str.title,
            str.swapcase,
            lambda some: "".join(chance.choice((char.upper(), char.lower())) for char in some),
        )
    )(text)


def _spacing(text: str, chance: random.Random) -> str:
    return "".join(chance.choice(_SPACES) if char == " " else char for char in text)


def _line_breaks(text: str, chance: random.Random) -> str:
    """Breaks that a reader sees in the middle of the sentence."""
    sign = chance.choice(("  \n", "\\\n", "<br>", "<br/>\n"))
    words = text.split(" ")
    if len(words) == 1:
        return f"{text[:2]}{sign}{text[2:]}"
    at = chance.randrange(1, len(words))
    return f"{' '.join(words[:at])}{sign}{' '.join(words[at:])}"


def _punctuation(text: str, chance: random.Random) -> str:
    words = text.rstrip(".。").split(" ")
    for _ in range(min(3, len(words) - 1)):
        at = chance.randrange(len(words))
        words[at] = chance.choice(
            (
                f"{words[at]},",
                f"{words[at]} —",
                f"“{words[at]}”",
                f"({words[at]})",
                f"{words[at]} –",
            )
        )
    opening, closing = chance.choice(_QUOTES)
    return f"{opening}{' '.join(words)}{closing}{chance.choice(_ENDS)}"


def _full_width(text: str, chance: random.Random) -> str:
    whole = chance.random() < 0.5
    return "".join(
        chr(ord(char) + 0xFEE0) if "!" <= char <= "~" and (whole or chance.random() < 0.5) else char
        for char in text
    )


def _letters(text: str, chance: random.Random) -> str:
    """Letters and digits of a mathematical alphabet."""
    first = chance.choice(_FLAVOURS)
    return "".join(_flavoured(char, first) for char in text)


def _flavoured(char: str, first: int) -> str:
    if "A" <= char <= "Z":
        return chr(first + ord(char) - ord("A"))
    if "a" <= char <= "z" and not (first == 0x1D434 and char == "h"):
        return chr(first + 26 + ord(char) - ord("a"))
    return chr(0x1D7CE + ord(char) - ord("0")) if "0" <= char <= "9" else char


def _confusable(text: str, chance: random.Random) -> str:
    table = chance.choice((_CYRILLIC, _CYRILLIC, _GREEK, _OTHERS))
    share = chance.choice((0.3, 1.0))
    return "".join(char.translate(table) if chance.random() < share else char for char in text)


def _inserted(text: str, chance: random.Random, signs: Sequence[str], share: float) -> str:
    made = [text[0]]
    for before, char in itertools.pairwise(text):
        inside = before.isalnum() and char.isalnum()
        made.append(chance.choice(signs) if inside and chance.random() < share else "")
        made.append(char)
    return "".join(made)


def _zero_width(text: str, chance: random.Random) -> str:
    return _inserted(text, chance, _INVISIBLE, chance.choice((0.1, 0.6)))


def _direction(text: str, chance: random.Random) -> str:
    words = text.split(" ")
    at = chance.randrange(len(words))
    words[at] = chance.choice(_DIRECTIONS).format(words[at])
    return chance.choice(_DIRECTIONS).format(" ".join(words))


def _accents(text: str, chance: random.Random) -> str:
    if chance.random() < 0.5:
        return "".join(
            char.translate(_ACCENTED) if chance.random() < 0.6 else char for char in text
        )
    return "".join(
        char + chance.choice(_MARKS) if char.isalpha() and chance.random() < 0.5 else char
        for char in text
    )


def _emphasis(text: str, chance: random.Random) -> str:
    words = text.split(" ")
    for _ in range(2):
        at = chance.randrange(len(words))
        sign = chance.choice(("*", "**", "***", "_", "__", "~~", "==", "`"))
        if not any(one in words[at] for one in "*_~=`^+#<>!$@"):
            words[at] = f"{sign}{words[at]}{sign}"
    if chance.random() < 0.3:
        return f"**{' '.join(words)}**"
    return " ".join(words)


def _part_of_word(text: str, chance: random.Random) -> str:
    words = text.split(" ")
    long = [at for at, word in enumerate(words) if len(word) > 3 and word.isalpha()]
    for at in chance.sample(long, min(2, len(long))):
        cut = chance.randrange(1, len(words[at]) - 1)
        sign = chance.choice(("*", "**"))
        words[at] = f"{words[at][:cut]}{sign}{words[at][cut:]}{sign}"
    return " ".join(words)


def _links(text: str, chance: random.Random) -> str:
    words = text.split(" ")
    at = chance.randrange(len(words))
    dressed = chance.choice(
        ("[{}](https://x.example/a_(b))", "[[notes/x|{}]]", "![{}](pic.png)", "[{}][ref]", "[**{}**](y.md 'title')",
         "<a href='https://x.example'>{}</a>", "<span class=\"x\">{}</span>", "[{}](<a b.md>)")
    )  # fmt: skip
    words[at] = dressed.format(words[at])
    whole = dressed.format(text.rstrip(".。"))
    body = f"{whole}." if chance.random() < 0.3 else " ".join(words)
    return f"{body}\n\n[ref]: https://x.example" if "[ref]" in body else body


def _entities(text: str, chance: random.Random) -> str:
    form = chance.choice(("&#{};", "&#x{:x};"))
    return "".join(
        form.format(ord(char)) if char.isalpha() and chance.random() < 0.3 else char
        for char in text
    )


def _place(text: str, chance: random.Random) -> str:
    return chance.choice(_FRAMES).format(text)


def _decorated(text: str, chance: random.Random) -> str:
    sign = chance.choice(("✅", "🎉", "👉", "★", "•", "⚠️", "🔥"))
    words = text.split(" ")
    words.insert(chance.randrange(len(words)), sign)
    return f"{sign} {' '.join(words)} {sign}"


def _digits(text: str, chance: random.Random) -> str:
    """Digits for letters inside words, letters for digits inside numbers, and foreign digits."""
    if any(char.isdigit() for char in text) and chance.random() < 0.7:
        zero = chance.choice((0x0660, 0x06F0, 0x0966, 0xFF10))
        return "".join(chr(zero + int(char)) if char in "0123456789" else char for char in text)
    words = text.split(" ")
    for at, word in enumerate(words):
        if len(word) > 4 and word.isalpha():
            words[at] = word[0] + word[1:-1].replace("o", "0").replace("l", "1") + word[-1]
    return " ".join(words)


ATTACKS: Mapping[str, Attack] = {
    "case": _case,
    "spacing": _spacing,
    "line breaks": _line_breaks,
    "punctuation": _punctuation,
    "full width": _full_width,
    "other letters": _letters,
    "confusables": _confusable,
    "zero width": _zero_width,
    "direction marks": _direction,
    "accents": _accents,
    "emphasis": _emphasis,
    "part of a word": _part_of_word,
    "links": _links,
    "entities": _entities,
    "place": _place,
    "decoration": _decorated,
    "digits": _digits,
}
COMBINED = "combined"
_SEQUENCES = (
    ("confusables", "zero width", "emphasis"),
    ("case", "spacing", "punctuation"),
    ("accents", "direction marks", "place"),
    ("full width", "zero width", "spacing"),
    ("case", "confusables", "links"),
    ("zero width", "links", "place"),
    ("punctuation", "emphasis", "place"),
    ("digits", "confusables", "case"),
)
_ASCII_ONLY = {"full width", "other letters", "confusables", "accents", "part of a word", "digits", "entities"}  # fmt: skip
_OUTER = {"spacing", "place"}


def suits(attack: str, text: str) -> bool:
    """Whether an attack leaves a text of this script readable."""
    return text.isascii() or attack not in {*_ASCII_ONLY, COMBINED, "case"}


def dress(attack: str, text: str, chance: random.Random) -> str:
    """The statement in that dress."""
    if attack != COMBINED:
        return ATTACKS[attack](text, chance)
    for one in chance.choice(_SEQUENCES):
        text = ATTACKS[one](text, chance)
    return text
