"""Stored text made harmless to show: it cannot close or fake the fence, nor steer a terminal."""

import re
import unicodedata

__all__ = ["neutralise"]

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
_ANSI = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]{0,2000}(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[PX^_][^\x1b]{0,2000}\x1b\\|\x1b[ -/]*[0-~]"
)
_OPENERS = re.compile("[<\u2039\u2329\u276c\u276e\u3008\ufe64\uff1c\u02c2\u27e8\u2770\u1438\u16b2]")
_LOOKALIKES = str.maketrans(
    {
        "\u0430": "a", "\u03b1": "a", "\u0251": "a",
        "\u0435": "e", "\u03b5": "e", "\u0454": "e", "\u212e": "e", "\u0451": "e",
        "\u043e": "o", "\u03bf": "o", "\u0585": "o", "0": "o",
        "\u0441": "c", "\u03f2": "c", "\u1d04": "c",
        "\u0280": "r", "\u0433": "r", "\u1d26": "r",
        "\u0501": "d", "\u0257": "d",
        "\u04cf": "l", "\u0456": "l", "\u0131": "l", "\u029f": "l", "i": "l", "1": "l", "|": "l",
        "\u0578": "n", "\u043f": "n", "\u03b7": "n", "\u0274": "n",
        "\u0442": "t", "\u03c4": "t", "\u1d1b": "t",
        "\u0455": "s", "\ua731": "s",
        "\\": "/", "\u2044": "/", "\u2215": "/", "\u29f8": "/",
    }
)  # fmt: skip
_WORDS = ("recallednotes", "/recallednotes")


def neutralise(text: str) -> str:
    """The text without control, terminal and direction characters, and with no recall fence in it.

    What looks like the fence's tag, in any case, spacing, width or alphabet, keeps its words but
    gets `&lt;` for its bracket. Line ends become plain newlines. Linear in the text.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.isascii() or not text.isprintable():
        text = _ANSI.sub("", text)
        text = _CONTROL.sub("", text)
    return _without_fence(text)


def _without_fence(text: str) -> str:
    parts: list[str] = []
    done = 0
    for match in _OPENERS.finditer(text):
        if _is_fence(text, match.end()):
            parts += [text[done : match.start()], "&lt;"]
            done = match.end()
    return "".join([*parts, text[done:]]) if done else text


def _is_fence(text: str, start: int) -> bool:
    """Whether the letters after a bracket spell the fence's tag; another bracket ends the look."""
    spelled = ""
    longest = max(len(word) for word in _WORDS)
    for position in range(start, len(text)):
        character = text[position]
        if _OPENERS.match(character):
            break
        spelled += _letters(character)
        if spelled and not any(word.startswith(spelled[:longest]) for word in _WORDS):
            return spelled.startswith(_WORDS)
        if len(spelled) >= longest:
            break
    return spelled.startswith(_WORDS)


def _letters(character: str) -> str:
    """A character as it looks: plain small letters and the slash; nothing for all that joins."""
    folded = unicodedata.normalize("NFKD", character).casefold().translate(_LOOKALIKES)
    return "".join(one for one in folded if one.isalnum() or one == "/")
