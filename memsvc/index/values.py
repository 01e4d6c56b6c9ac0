"""What goes into the index and what comes out of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memsvc.model.identity import Scope
from memsvc.model.vocabulary import Kind, NoteId, Status, Trust

__all__ = [
    "ChunkText",
    "Filters",
    "Held",
    "IndexEntry",
    "Lexical",
    "Part",
    "Passage",
    "PassageVector",
    "QueryModel",
    "Shown",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexEntry:
    """One version of a note. Instants are `memsvc.clock.stamp` texts, empty for open or unknown."""

    note_id: NoteId
    version: int
    scope: Scope
    path: str
    title: str
    aliases: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    kind: Kind = Kind.NOTE
    status: Status = Status.ACTIVE
    trust: Trust = Trust.AGENT
    valid_from: str = ""
    valid_to: str = ""
    valid_to_original: str = ""
    """The end of validity as it was before the version was replaced."""
    ended_at: str = ""
    """When memsvc learned that the version was replaced."""
    recorded_from: str = ""
    recorded_to: str = ""
    end_mode: str = ""
    """Why it ended: changed, superseded, amend, wrong, edit; empty while it has not."""
    latest: bool = True
    superseded_by: str = ""
    created: str = ""
    updated: str = ""
    author: str = ""
    source: tuple[str, ...] = ()
    reason: str = ""
    content_hash: str = ""
    body: str = ""
    links: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ChunkText:
    """A passage as the model reads it."""

    chunk_id: int
    ordinal: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which versions of a scope's notes a read wants.

    `now` is the present instant; empty means the newest recorded text, whatever its validity.
    `as_of` asks for what was true then, `known_at` for what was recorded then; with only `known_at`
    both are that instant. `history` adds what was replaced or ran out, never what was wrong.
    """

    now: str
    as_of: str = ""
    known_at: str = ""
    history: bool = False
    kinds: tuple[Kind, ...] = ()
    tags: tuple[str, ...] = ()
    min_trust: Trust = Trust.AGENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a reply says of one version, without its text."""

    entry_id: int
    note_id: str
    version: int
    scope: Scope
    path: str
    title: str
    kind: str
    status: str
    trust: str
    author: str
    valid_from: str
    valid_to: str
    updated: str
    source: tuple[str, ...]
    tags: tuple[str, ...]
    superseded_by: str
    replaces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk's text under its heading path, and what stands above it that it needs to be read."""

    chunk_id: int
    heading: str
    text: str
    lead: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """`text` begins at character `start` of a version's text of `length`; `best` is a passage's place."""

    text: str
    start: int
    length: int
    best: int


@dataclass(frozen=True, slots=True)
class PassageVector:
    """What a model made of a passage: its unit vector and its `memsvc.index.units` detail."""

    vector: NDArray[np.float32]
    detail: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lexical:
    """How much of a query's words each version and each passage of a visible set holds, 0 to 1.

    `weights` sum to 1. Terms in `common` are so frequent in a large scope that nobody looked who
    holds them: `held` tells for single passages.
    """

    weights: Mapping[str, float]
    common: frozenset[str]
    by_version: NDArray[np.float64]
    by_passage: NDArray[np.float64]
    holders: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    """Positions of the versions that hold a term which is not common, ascending."""


Held = tuple[frozenset[str], Mapping[str, int]]
"""The terms of a passage: those above it (title, aliases, tags), and how often each is in its text."""


class QueryModel(Protocol):
    """What the index needs of an embedder."""

    @property
    def model_id(self) -> str:
        """Names the vectors that may be compared."""
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The unit vector of a text."""
        ...
