"""Writes values as YAML that every reader, 1.1 or 1.2, takes for the same value."""

import re
from datetime import date, datetime

__all__ = ["flow_list", "quoted", "scalar"]

_DATES = frozenset({"created", "updated", "valid_from", "valid_to"})
"""Keys whose dates stand unquoted, so that editors show them as dates."""

_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})
_PLAIN_START = re.compile(r"[^\W_]")
_NUMBERLIKE = re.compile(r"[-+.]?[0-9][0-9_.,:eE+\-xobXOBTtZz \t]*\Z|0[xX][0-9a-fA-F_]+\Z")
_UNSAFE = re.compile(
    r":(?:\s|\Z)|\s#|[\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]|[\ud800-\udfff]"
)
_UNSAFE_IN_LIST = re.compile(r"[\[\]{},:#\"'&*!|>%@`?]")
_ESCAPED = re.compile(r"[\"\\\x00-\x1f\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")
_NAMED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def quoted(text: str) -> str:
    """The text in double quotes, on one line."""
    return f'"{_ESCAPED.sub(_escape, text)}"'


def scalar(value: str | int, *, key: str = "") -> str:
    """A value for the right side of `key:`; the empty text is nothing."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) or not value:
        return str(value)
    if key in _DATES and _is_date(value):
        return value
    return value if _is_plain(value) else quoted(value)


def flow_list(items: list[str]) -> str:
    """A list on one line: `[a, b]`."""
    return f"[{', '.join(_item(item) for item in items)}]"


def _item(text: str) -> str:
    plain = _is_plain(text) and not _UNSAFE_IN_LIST.search(text)
    return text if plain else quoted(text)


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    return _NAMED.get(character) or f"\\u{ord(character):04x}"


def _is_plain(text: str) -> bool:
    return (
        _PLAIN_START.match(text) is not None
        and text == text.strip()
        and text.casefold() not in _WORDS
        and not _NUMBERLIKE.match(text)
        and not _UNSAFE.search(text)
    )


def _is_date(text: str) -> bool:
    """A date or a date-time as YAML and editors write them."""
    try:
        if len(text) == len("2026-11-30"):
            return date.fromisoformat(text).isoformat() == text
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return re.fullmatch(r"\d{4}-\d\d-\d\d[Tt ][0-9:.]+(?:Z|[+-]\d\d:\d\d)?", text) is not None
