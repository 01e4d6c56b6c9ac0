"""Plain text arguments as the closed vocabularies that requests are made of."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TypeVar

from memsvc.errors import InvalidInput
from memsvc.model.requests import HistoryRequest
from memsvc.model.vocabulary import Kind

__all__ = ["as_kinds", "as_word", "history_request"]

_Word = TypeVar("_Word", bound=StrEnum)
_DIGITS = 18


def as_word(vocabulary: type[_Word], text: str, *, argument: str) -> _Word:
    """The word of the vocabulary, or InvalidInput that lists the legal ones."""
    try:
        return vocabulary(text)
    except ValueError as error:
        legal = ", ".join(vocabulary)
        raise InvalidInput(f"'{argument}' must be one of: {legal}", argument=argument) from error


def as_kinds(texts: Sequence[str], *, argument: str = "kinds") -> tuple[Kind, ...]:
    """Kinds of notes, or InvalidInput that lists the legal ones."""
    return tuple(as_word(Kind, text, argument=argument) for text in texts)


def history_request(
    *, note: str, since: str, action: str, limit: int, before: int = 0
) -> HistoryRequest:
    """A page of history; digits as `since` are the event number that an earlier page ended with."""
    is_number = since.isascii() and since.isdigit()
    return HistoryRequest(
        id=note,
        since="" if is_number else since,
        action=action,
        limit=limit,
        before=int(since[:_DIGITS]) if is_number else before,
    )
