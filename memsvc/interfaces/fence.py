"""Stored text made safe to show: on one line, or fenced as data like a recall."""

import re
from collections.abc import Mapping

__all__ = ["fence", "one_line"]

_LONGEST = 200
_SPACES = re.compile(r"\s+")


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
