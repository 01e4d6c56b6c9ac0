"""Gold: questions with the notes that a recall must find for them."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from memsvc.model.catalogue import Catalogue
from memsvc.model.replies import as_data

__all__ = ["Gold", "Question", "QuestionClass", "hashes_of"]


class QuestionClass(StrEnum):
    """What a question is made of, and what it must find."""

    TITLE = "title"
    """A note's title; the note."""
    BODY = "body"
    """A note's first paragraph; the note."""
    BRIDGE = "bridge"
    """A note's first paragraph; the notes that it links to."""
    TEMPORAL = "temporal"
    """The title of something replaced, or its text where the title stayed; what took its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`gold` are the ids of the notes to find, made of the text of `source`, at `version`.

    `cut` notes more would be gold if a question might have so many.
    """

    kind: QuestionClass
    query: str
    source: str
    version: int
    gold: tuple[str, ...]
    cut: int = 0

    @property
    def id(self) -> str:
        """Names the question as long as it is made of the same version of the same note."""
        return f"{self.kind}:{self.source}@{self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """The questions of one scope, with the content hash of each note that they are about.

    `available` counts the questions of each class before the sample; `excluded` what could not be
    asked, by class and reason.
    """

    built: str
    scope: str
    scopes: tuple[str, ...]
    seed: int
    per_class: int
    questions: tuple[Question, ...]
    hashes: Mapping[str, str]
    available: Mapping[str, int] = field(default_factory=dict)
    excluded: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Tells whether two runs asked the same."""
        asked = json.dumps(as_data(self.questions), sort_keys=True)
        return hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()


def hashes_of(catalogue: Catalogue) -> dict[str, str]:
    """The content hash of every note, by id: of its current version, else of its newest one."""
    ordered = sorted(catalogue.notes, key=lambda note: (not note.successor, note.version))
    return {note.id: note.content_hash for note in ordered}
