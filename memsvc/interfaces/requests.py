"""Plain text arguments as the closed vocabularies that requests are made of."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TypeVar

from memsvc.errors import InvalidInput
from memsvc.model.vocabulary import Kind

__all__ = ["as_kinds", "as_word"]

_Word = TypeVar("_Word", bound=StrEnum)


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
