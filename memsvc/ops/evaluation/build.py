"""Makes gold of a catalogue: from titles, first paragraphs, links and what replaced what.

A name or a text that leads to more than one note is ambiguous: no question is made of it, and none
asks for such a note by name; how many were left out, and why, is counted.
"""

import hashlib
import posixpath
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from memsvc.index.analyse import query_terms
from memsvc.model.catalogue import Catalogue, CatalogueNote
from memsvc.notes.plain import comment_spans, plain
from memsvc.ops.evaluation.gold import Gold, Question, QuestionClass, hashes_of

__all__ = ["MOST_GOLD", "PER_CLASS", "build_gold", "first_paragraph"]

PER_CLASS = 60
MOST_GOLD = 8
"""Notes that one question may ask for; the others are left out, and their number is kept."""
LEAST_TERMS = 4
"""A paragraph with fewer different words asks for nothing in particular."""
MOST_QUERY = 1_000
"""Characters of a paragraph that are asked."""

_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_SPACES = re.compile(r"\s+")

_AMBIGUOUS = "ambiguous name"
_SAME_TEXT = "same text elsewhere"
_NO_PARAGRAPH = "no paragraph of four words"
_NO_WORDS = "no words"
_REPEATED = "asked already"

_Item = TypeVar("_Item")


def build_gold(catalogue: Catalogue, *, seed: int = 0, per_class: int = PER_CLASS) -> Gold:
    """Up to `per_class` questions of each class; the same notes and seed give the same questions.

    A note more or less changes the sample by little.
    """
    workshop = _Workshop(catalogue.notes, seed)
    made: dict[QuestionClass, list[Question]] = {
        QuestionClass.TITLE: list(workshop.titles()),
        QuestionClass.BODY: list(workshop.bodies()),
        QuestionClass.BRIDGE: list(workshop.bridges()),
        QuestionClass.TEMPORAL: list(workshop.replacements()),
    }
    questions = tuple(
        question for found in made.values() for question in workshop.sample(found, per_class)
    )
    hashes = hashes_of(catalogue)
    about = {note for one in questions for note in (one.source, *one.gold)}
    return Gold(
        built=catalogue.at,
        scope=catalogue.scope,
        scopes=catalogue.scopes,
        seed=seed,
        per_class=per_class,
        questions=questions,
        hashes={note: hashes[note] for note in sorted(about)},
        available={kind.value: len(found) for kind, found in made.items()},
        excluded={kind.value: dict(workshop.excluded[kind]) for kind in made},
    )


def first_paragraph(body: str) -> str:
    """The first paragraph that says something, as plain text on one line; empty if none does.

    Headings, code, tables and comments are no paragraphs; a list or a quotation is one.
    """
    prose = body
    for start, end in reversed(comment_spans(body)):
        prose = f"{prose[:start]}{prose[end:]}"
    for paragraph in _paragraphs(prose):
        flat = _SPACES.sub(" ", plain(paragraph)).strip()
        if len(query_terms(flat)) >= LEAST_TERMS:
            return flat if len(flat) <= MOST_QUERY else flat[:MOST_QUERY].rpartition(" ")[0]
    return ""


def _paragraphs(body: str) -> Iterator[str]:
    held: list[str] = []
    fence = ""
    for line in [*body.split("\n"), ""]:
        opened = _FENCE.match(line)
        if fence:
            fence = "" if line.strip().startswith(fence) else fence
            continue
        if opened or not line.strip() or _HEADING.match(line) or line.lstrip().startswith("|"):
            if held:
                yield "\n".join(held)
            held = []
            fence = opened[1] if opened else ""
        else:
            held.append(line)


class _Workshop:
    """The notes of a catalogue, by what they are called and by what they say."""

    def __init__(self, notes: Sequence[CatalogueNote], seed: int) -> None:
        self._seed = seed
        self.excluded: defaultdict[QuestionClass, Counter[str]] = defaultdict(Counter)
        ordered = sorted(notes, key=lambda note: (note.id, note.version))
        self._current = {note.id: note for note in ordered if not note.successor}
        self._replaced = [note for note in ordered if note.successor]
        self._paths = {note.id: note.path for note in ordered}
        self._paragraphs: dict[tuple[str, int], str] = {}
        self._named: defaultdict[str, set[str]] = defaultdict(set)
        self._saying: defaultdict[str, set[str]] = defaultdict(set)
        for note in (*self._current.values(), *self._replaced):
            paragraph = first_paragraph(note.opening)
            self._paragraphs[note.id, note.version] = paragraph
            leads_to = note.successor or note.id
            for name in (note.title, _stem(note), *note.aliases):
                self._named[_fold(name)].add(leads_to)
            self._saying[_fold(paragraph)].add(leads_to)

    def sample(self, questions: Sequence[Question], most: int) -> list[Question]:
        """At most so many: the same ones wherever the notes have the same paths."""
        return self._mixed(
            questions, lambda one: f"{one.kind}:{self._paths[one.source]}@{one.version}"
        )[:most]

    def _mixed(self, items: Sequence[_Item], key: Callable[[_Item], str]) -> list[_Item]:
        """The items in an order that depends on their keys and the seed alone."""
        return sorted(items, key=lambda item: _digest(f"{self._seed}:{key(item)}"))

    def titles(self) -> Iterator[Question]:
        """A note's title asks for the note."""
        for note in self._current.values():
            if not query_terms(note.title):
                self.excluded[QuestionClass.TITLE][_NO_WORDS] += 1
            elif self._ambiguous(note):
                self.excluded[QuestionClass.TITLE][_AMBIGUOUS] += 1
            else:
                yield _question(QuestionClass.TITLE, note, note.title, (note.id,))

    def bodies(self) -> Iterator[Question]:
        """A note's first paragraph asks for the note."""
        for note in self._current.values():
            paragraph = self._said_by(note, QuestionClass.BODY)
            if paragraph:
                yield _question(QuestionClass.BODY, note, paragraph, (note.id,))

    def bridges(self) -> Iterator[Question]:
        """A note's first paragraph asks for the notes it links to."""
        for note in self._current.values():
            linked = [
                self._current[key] for key in note.links if key in self._current and key != note.id
            ]
            targets = [one.id for one in linked if not self._ambiguous(one)]
            if len(targets) < len(linked):
                blurred = len(linked) - len(targets)
                self.excluded[QuestionClass.BRIDGE][f"{_AMBIGUOUS} of a linked note"] += blurred
            if not targets:
                continue
            paragraph = self._said_by(note, QuestionClass.BRIDGE)
            if paragraph:
                kept = self._mixed(targets, lambda key: self._paths[key])[:MOST_GOLD]
                more = len(targets) - len(kept)
                yield _question(QuestionClass.BRIDGE, note, paragraph, tuple(kept), cut=more)

    def replacements(self) -> Iterator[Question]:
        """What was replaced asks for what took its place, by its title or else by its text."""
        asked: set[tuple[str, str]] = set()
        for note in self._replaced:
            reason, query = self._replaced_query(note)
            if not reason and (_fold(query), note.successor) in asked:
                reason = _REPEATED
            if reason:
                self.excluded[QuestionClass.TEMPORAL][reason] += 1
                continue
            asked.add((_fold(query), note.successor))
            yield _question(QuestionClass.TEMPORAL, note, query, (note.successor,))

    def _replaced_query(self, note: CatalogueNote) -> tuple[str, str]:
        """Why there is no question, or the question."""
        after = self._current.get(note.successor)
        if after is None:
            return "its successor is not current", ""
        if note.id != after.id or _fold(note.title) != _fold(after.title):
            if not query_terms(note.title):
                return _NO_WORDS, ""
            alone = self._named[_fold(note.title)] == {after.id}
            return "" if alone else _AMBIGUOUS, note.title
        paragraph = self._paragraphs[note.id, note.version]
        if not paragraph:
            return _NO_PARAGRAPH, ""
        if _fold(paragraph) == _fold(self._paragraphs[after.id, after.version]):
            return "its first paragraph stayed", ""
        alone = self._saying[_fold(paragraph)] == {after.id}
        return "" if alone else _SAME_TEXT, paragraph

    def _ambiguous(self, note: CatalogueNote) -> bool:
        """Whether its title or its file's name may mean another note too."""
        return any(self._named[_fold(name)] != {note.id} for name in (note.title, _stem(note)))

    def _said_by(self, note: CatalogueNote, kind: QuestionClass) -> str:
        """Its first paragraph; empty, and counted, where that does not lead to it alone."""
        paragraph = self._paragraphs[note.id, note.version]
        if not paragraph:
            self.excluded[kind][_NO_PARAGRAPH] += 1
        elif self._saying[_fold(paragraph)] != {note.id}:
            self.excluded[kind][_SAME_TEXT] += 1
        else:
            return paragraph
        return ""


def _question(
    kind: QuestionClass, note: CatalogueNote, query: str, gold: tuple[str, ...], *, cut: int = 0
) -> Question:
    return Question(
        kind=kind, query=query, source=note.id, version=note.version, gold=gold, cut=cut
    )


def _stem(note: CatalogueNote) -> str:
    name = posixpath.basename(note.path)
    return name[:-3] if name.lower().endswith(".md") else name


def _fold(text: str) -> str:
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", text)).strip().casefold()


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
