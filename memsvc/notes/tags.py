"""Finds the tags in a note's text, by Obsidian's rules."""

import re

from memsvc.notes.plain import without_code

__all__ = ["body_tags"]

_SOURCES = re.compile(
    r"!?\[\[[^\[\]\n]{0,1000}\]\]|\]\([^()\n]*\)|<[A-Za-z][^<>\n]*>|[A-Za-z][A-Za-z0-9+.-]{1,20}://\S+"
)
_TAG = re.compile(
    r"(?:^|(?<=[\s(\[{,;:\"'*_~=|>，。、；：（「『]))"
    r"#([^\s\0-,.:-@\[-^`{-\u00bf\u2010-\u2027\u2030-\u205e\u3000-\u3004\u3008-\u3020\u3030"
    r"\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]+)",
    re.MULTILINE,
)


def body_tags(body: str) -> tuple[str, ...]:
    """The tags of a body without `#`, in order, each once whatever its case.

    A tag holds letters, digits, `_`, `-`, `/` and emoji, and at least one that is no digit; it
    stands after white space or an opening sign, outside code, comments, links and URLs.
    """
    if "#" not in body:
        return ()
    prose = _SOURCES.sub(lambda match: " " * len(match[0]), without_code(body))
    found: dict[str, str] = {}
    for match in _TAG.finditer(prose):
        tag = match[1].strip("/")
        if tag and not tag.isdecimal():
            found.setdefault(tag.casefold(), tag)
    return tuple(found.values())
