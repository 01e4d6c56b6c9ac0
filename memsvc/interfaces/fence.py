"""Stored text made safe to show: on one line, in a line, or fenced as data like a recall."""

import re
from collections.abc import Mapping

from memsvc.errors import MemsvcError, RejectedClaim

__all__ = ["error_line", "fence", "one_line", "quoted"]

_LONGEST = 200
_MESSAGE = 3_000
_SPACES = re.compile(r"\s+")
_ONE_WORD = re.compile(r"[\w./@:+~#-]*\Z", re.ASCII)


def one_line(text: str, limit: int = 300) -> str:
    """Stored text as part of a line of ours: neutralised, without line ends, cut at `limit`."""
    from memsvc.service.recall.render import neutralise  # pulls the stores in: not at start-up

    flat = _SPACES.sub(" ", neutralise(text[: 4 * limit])).strip()
    return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"


def fence(attributes: Mapping[str, str], text: str) -> str:
    """Stored text inside the fence that recall uses; nothing in it can close the fence."""
    from memsvc.service.recall.render import attribute, neutralise  # see one_line

    head = "".join(
        f' {name}="{attribute(value, _LONGEST)}"' for name, value in attributes.items() if value
    )
    return f"<recalled-notes{head}>\n{neutralise(text)}\n</recalled-notes>"


def quoted(text: str, limit: int = 300) -> str:
    """Stored text as part of a line of ours: fenced within the line, unless it is a single word or
    path, which says nothing.
    """
    line = one_line(text, limit)
    return line if _ONE_WORD.match(line) else f"<recalled-notes>{line}</recalled-notes>"


def error_line(error: MemsvcError) -> str:
    """An error's message on one line, with the reason that somebody gave for a rejection."""
    plain = " ".join(error.message.split())
    if not (plain.isascii() and plain.isprintable()) or "<" in plain or len(plain) > _MESSAGE:
        plain = one_line(plain, _MESSAGE)
    reason = error.data.get("reason")
    if isinstance(error, RejectedClaim) and isinstance(reason, str) and reason.strip():
        return f"{plain}. The reason given for the rejection: {quoted(reason, _LONGEST)}"
    return plain
