"""The same statement in other clothes: what must count as the same when it was rejected."""

from collections.abc import Callable, Mapping

__all__ = ["GUISES"]

_CYRILLIC = str.maketrans("aeopcyxi", "аеорсухі")
_WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
_GREEK = str.maketrans("ovn", "ονո")


def _bold_letters(text: str) -> str:
    """Mathematical bold in place of plain letters and digits."""
    return "".join(_bold(char) for char in text)


def _bold(char: str) -> str:
    for first, last, target in (("A", "Z", 0x1D400), ("a", "z", 0x1D41A), ("0", "9", 0x1D7CE)):
        if first <= char <= last:
            return chr(target + ord(char) - ord(first))
    return char


def _middle(text: str, inserted: str) -> str:
    half = len(text) // 2
    return f"{text[:half]}{inserted}{text[half:]}"


def _wrapped(text: str) -> str:
    """Broken over lines where its words allow it."""
    words = text.split(" ")
    return f"{' '.join(words[:3])}\n{' '.join(words[3:])}"


GUISES: Mapping[str, Callable[[str], str]] = {
    "as it was": lambda text: text,
    "among other text": lambda text: f"A remark before it.\n\n{text} A remark after it.",
    "upper case": str.upper,
    "more spaces": lambda text: text.replace(" ", "   "),
    "no-break spaces": lambda text: text.replace(" ", "\u00a0"),
    "other punctuation": lambda text: f"“{text.rstrip('.')}!”",
    "bold": lambda text: f"**{text}**",
    "list item": lambda text: f"- {text}",
    "task": lambda text: f"- [ ] {text}",
    "numbered": lambda text: f"3. {text}",
    "quotation": lambda text: f"> {text}",
    "callout": lambda text: f"> [!note]\n> {text}",
    "callout with a title": lambda text: f"> [!note] Remember\n> {text}",
    "heading": lambda text: f"## {text.rstrip('.')}\n\nNothing more is known.",
    "table": lambda text: f"| what | who |\n|---|---|\n| {text} | us |",
    "code": lambda text: f"```\n{text}\n```",
    "link text": lambda text: f"[{text.rstrip('.')}](https://example.org).",
    "footnote": lambda text: f"See below.[^1]\n\n[^1]: {text}",
    "comment": lambda text: f"Nothing to see.\n\n<!-- {text} -->",
    "html": lambda text: f"<p><b>{text}</b></p>",
    "entity": lambda text: text.replace("e", "&#101;"),
    "wrapped": _wrapped,
    "zero width": lambda text: _middle(text, "\u200b"),
    "soft hyphen": lambda text: _middle(text, "\u00ad"),
    "word joiner": lambda text: text.replace("i", "i\u2060"),
    "direction marks": lambda text: f"\u202e{text}\u202c",
    "cyrillic letters": lambda text: text.translate(_CYRILLIC),
    "greek letters": lambda text: text.translate(_GREEK),
    "wide letters": lambda text: text.translate(_WIDE),
    "bold letters": _bold_letters,
    "other dashes": lambda text: text.replace("-", "\u2011"),
}
"""By name: a statement of one sentence to a body that states it."""
