"""The notes of a scope as a ruler of recall needs them: names, beginnings, links, successors."""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["Catalogue", "CatalogueNote"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogueNote:
    """A version that recall shows as current or, with a `successor`, one that leads on to it.

    `successor` is the id of the current note that took its place, the same id where an older
    version of the note is meant. `opening` is the beginning of the body; `links` are ids of current
    notes, in order of id.
    """

    id: str
    version: int
    title: str
    path: str
    aliases: tuple[str, ...]
    content_hash: str
    opening: str
    links: tuple[str, ...]
    successor: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """Everything of `scopes` at the instant `at`; `scope` is the one that the caller is bound to.

    `counts` says how much is indexed; `model_id` is empty while no model is loaded.
    """

    at: str
    scope: str
    scopes: tuple[str, ...]
    notes: tuple[CatalogueNote, ...]
    counts: Mapping[str, int]
    model_id: str = ""
