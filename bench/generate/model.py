"""What a world is made of: kinds of things, what is said and asked of them, how notes look."""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Literal

__all__ = [
    "Attribute",
    "Bridge",
    "Generated",
    "Ghost",
    "Kind",
    "Layout",
    "Log",
    "Names",
    "Pool",
    "Question",
    "Series",
    "Values",
    "World",
]

Pool = Literal["tune", "held_out"]
Layout = Literal["prose", "list", "table", "page", "line"]
Values = Callable[[Random], str]
"""Draws one value, as it is written in a note and expected in an answer."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its gold; without `answers` it has none and must be declined."""

    id: str
    cls: str
    question: str
    answers: tuple[str, ...] = ()
    support: tuple[str, ...] = ()
    """Ids of the notes that are needed: file stems in lower case."""
    evidence: tuple[str, ...] = ()
    """Lines or sentences of those notes, with links turned into their labels."""


@dataclass(frozen=True, slots=True)
class Generated:
    """Files by path relative to the vault, and the questions asked of them."""

    files: dict[str, str]
    questions: list[Question]
    world: str


@dataclass(frozen=True, slots=True)
class Names:
    """Names are one word of each part, joined; `spare` ones are for what does not exist."""

    parts: tuple[tuple[str, ...], ...]
    joint: str = " "
    spare: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Attribute:
    """Something said of each thing of a kind: a drawn value, or another thing when `to` is set.

    Templates have `{name}` and `{value}`; questions have `{name}`.
    """

    key: str
    label: str
    says: tuple[str, ...]
    asks: tuple[str, ...] = ()
    values: Values | None = None
    to: str = ""
    share: float = 1.0
    """How many of the kind have it; the others make questions without an answer."""
    inverse: str = ""
    """What the other thing's note calls the list of those that point to it."""
    property: bool = False
    """Whether frontmatter carries it too."""


@dataclass(frozen=True, slots=True)
class Ghost:
    """An attribute that is never written of the kind, though `decoy` may use its word otherwise."""

    kind: str
    word: str
    asks: tuple[str, ...]
    decoy: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of thing, one note each."""

    key: str
    names: Names
    share: float
    """Of the vault's notes."""
    attributes: tuple[Attribute, ...]
    filler: tuple[str, ...]
    display: str = "{name}"
    again: str = "It"
    """What later sentences may call it; `{first}` is the first word of its name."""
    stem: str = "{slug}"
    folder: str = ""
    layouts: tuple[Layout, ...] = ("prose",)
    goals: tuple[tuple[str, str], ...] = ()
    """What a thing is for, and the same in other words."""
    goal_label: str = "Purpose"
    goal_says: tuple[str, ...] = ()
    goal_asks: tuple[str, ...] = ()
    code: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bridge:
    """A question over notes: along `steps` from a named (or described) thing, then `last`.

    A step is an attribute's key; `~kind.key` goes from a thing to the only one that points to it.
    `asks` have `{name}`, or `{other}` for what the first thing is for.
    """

    start: str
    steps: tuple[str, ...]
    last: str
    asks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Series:
    """Dated decisions about one property; later ones replace earlier ones.

    Templates have `{name}`, `{value}`, `{date}`, and `{earlier}` in `changed`, which is empty when
    there is only ever one decision.
    """

    kind: str
    topic: str
    title: str
    stem: str
    values: Values
    first: tuple[str, ...]
    asks_now: tuple[str, ...]
    share: float = 0.5
    changed: tuple[str, ...] = ()
    asks_first: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    """How a log quotes a value that no longer holds."""
    filler: tuple[str, ...] = ()
    folder: str = ""


@dataclass(frozen=True, slots=True)
class Log:
    """Dated notes that mention things and answer nothing. A placeholder is a kind's key."""

    stem: str
    title: str
    opening: tuple[str, ...]
    lines: tuple[str, ...]
    folder: str = ""


@dataclass(frozen=True, slots=True)
class World:
    """Everything that a vault is drawn from."""

    name: str
    pool: Pool
    kinds: tuple[Kind, ...]
    bridges: tuple[Bridge, ...]
    series: tuple[Series, ...]
    ghosts: tuple[Ghost, ...]
    logs: tuple[Log, ...]
    pages: tuple[tuple[str, str], ...]
    """Titles and texts of notes about ideas."""
    sizes: tuple[int, ...] = (120, 200, 320)
    links: tuple[str, ...] = ("[[{stem}|{label}]]",)
    list_links: tuple[str, ...] = ()
    """How lists of related things are linked, when otherwise than in sentences."""
    date_style: str = "long"
    front: tuple[str, ...] = ("title", "type", "date")
    heading: bool = True
    index: str = ""
    years: tuple[int, int] = (2024, 2026)
    sections: tuple[str, ...] = field(default=("Summary", "Details", "Background"))
