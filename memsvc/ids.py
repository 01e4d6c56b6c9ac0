"""Identifiers: ULIDs, made here and nowhere else."""

import hashlib
import re
from collections.abc import Callable
from datetime import datetime

from ulid import ULID

__all__ = ["NewId", "derived_ulid", "is_ulid", "new_ulid"]

NewId = Callable[[datetime], str]
"""Makes a fresh id for something that begins at the given instant."""

_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}\Z")


def new_ulid(now: datetime) -> str:
    """A fresh ULID whose time part is `now` (26 characters, upper case)."""
    return str(ULID.from_datetime(now))


def derived_ulid(seed: str) -> str:
    """The ULID that stands for a foreign name: always the same for the same text; its time part
    means nothing.
    """
    digest = hashlib.sha256(seed.encode("utf-8", "surrogatepass")).digest()
    return str(ULID.from_bytes(digest[:16]))


def is_ulid(text: str) -> bool:
    """Whether the text is a ULID in its canonical upper-case form."""
    return _ULID.match(text) is not None
