"""Orders what a read may see by how well it answers, and puts successors where replaced notes match."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from memsvc.index import reader
from memsvc.index.scoring import WORDS, by_owner, closeness, fuse
from memsvc.index.values import Held, Lexical
from memsvc.index.vectors import FAR, NO_VECTOR
from memsvc.index.visible import Visible
from memsvc.scope.proof import ReadScope
from memsvc.service.recall.tuning import DEFAULT, Tuning

__all__ = ["Ranked", "Ranking", "rank"]

CANDIDATES = 60
TIED_CANDIDATES = 240
HOP_FROM = 10
PAIR = 0.95
"""A linked pair scores this share of its mean cosine plus its larger coverage (memory-bench)."""
OWN_PART = 0.15
"""What a version must score by itself before a link may lift it."""
TITLE = 0.05
FREQUENCY = 0.03
TRUST = 0.004
"""Small: they order what answers equally well."""
TYPICAL_LENGTH = 60.0

Closer = Callable[[Sequence[int]], Mapping[int, NDArray[np.float32]]]
"""The exact cosines of the passages of versions, by position."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A version that answers, at `position` of the visible set, with its best passage."""

    position: int
    score: float
    cosine: float
    words: float
    chunk_id: int
    via: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Best first. `hopped` tells whether links were followed."""

    hits: list[Ranked] = field(default_factory=list)
    hopped: bool = False


def rank(
    scope: ReadScope,
    connection: Connection,
    visible: Visible,
    *,
    lexical: Lexical,
    cosines: NDArray[np.float32] | None,
    closer: Closer | None = None,
    tuning: Tuning = DEFAULT,
) -> Ranking:
    """Everything seen that shares a word or has a vector, with replaced versions resolved.

    `closer` gives the cosines of versions that `cosines` holds FAR for.
    """
    if not len(visible):
        return Ranking()
    board = _Board(visible, lexical, cosines)
    top = board.best()
    exact = board.refine(reader.held(scope, connection, board.passages_of(top)), top)
    hopped = False
    if tuning.links and not (exact and tuning.exact_names):
        leaders = sorted(top, key=board.order)[:HOP_FROM]
        leaders = [position for position in leaders if visible.seen[position]]
        pairs = reader.neighbours(scope, connection, visible, leaders)
        board.look(closer, [other for _, other in pairs])
        hopped = board.hop(pairs)
    board.look(closer, board.successors())
    board.resolve()
    return Ranking(hits=board.listed(), hopped=hopped)


class _Board:
    """Scores of one ranking, by position in the visible set."""

    def __init__(
        self, visible: Visible, lexical: Lexical, cosines: NDArray[np.float32] | None
    ) -> None:
        self._visible = visible
        self._lexical = lexical
        none = np.full(len(visible.chunk_ids), NO_VECTOR, dtype=np.float32)
        self._pieces = fuse(none if cosines is None else cosines, lexical.by_passage)
        self._close = by_owner(none if cosines is None else cosines, visible.starts)
        self._words = lexical.by_version.copy()
        self._score = fuse(self._close, self._words)
        self._via: dict[int, str] = {}
        self._live: set[int] = set()

    def best(self) -> list[int]:
        """The candidates; of too many equal ones, those with the smallest note ids."""
        score = self._score
        there = np.flatnonzero((self._words > 0) | (self._close > NO_VECTOR))
        if len(there) > CANDIDATES:
            least = np.partition(score[there], -CANDIDATES)[-CANDIDATES]
            there = there[score[there] >= least]
        found: list[int] = there.tolist()
        if len(found) > TIED_CANDIDATES:
            found = sorted(found, key=self.order)[:TIED_CANDIDATES]
        self._live.update(found)
        return found

    def order(self, position: int) -> tuple[float, str, int]:
        """Sorts positions, best first; the order of indexing plays no part."""
        seen = self._visible
        score = -round(float(self._score[position]), 6)
        return score, seen.note_ids[position], -int(seen.versions[position])

    def passages_of(self, positions: Iterable[int]) -> list[int]:
        return [self._passage(position) for position in positions]

    def _passage(self, position: int) -> int:
        start, end = self._visible.span(position)
        return int(self._visible.chunk_ids[start + int(np.argmax(self._pieces[start:end]))])

    def refine(self, held: Mapping[int, Held], positions: Sequence[int]) -> bool:
        """Look into the best passages; True when the best answer's title is all that was asked."""
        weights, common = self._lexical.weights, self._lexical.common
        titles: dict[int, float] = {}
        extra: dict[int, float] = {}
        for position in positions:
            above, text = held.get(self._passage(position), (frozenset[str](), {}))
            self._words[position] += sum(
                weights[term] for term in common if term in above or term in text
            )
            titles[position] = sum(weight for term, weight in weights.items() if term in above)
            length = 0.25 + 0.75 * sum(text.values()) / TYPICAL_LENGTH
            frequency = sum(
                weight * text[term] / (text[term] + 1.2 * length)
                for term, weight in weights.items()
                if term in text
            )
            trust = float(self._visible.trust[position])
            extra[position] = TITLE * titles[position] + FREQUENCY * frequency + TRUST * trust
        self._score = fuse(self._close, self._words)
        for position, more in extra.items():
            self._score[position] += more
        leader = min(positions, key=self.order, default=-1)
        return titles.get(leader, 0.0) > 0.999

    def look(self, closer: Closer | None, positions: Iterable[int]) -> None:
        """Compare the versions that were not compared because they seemed far."""
        far = sorted({position for position in positions if self._close[position] == FAR})
        if closer is None or not far:
            return
        for position, exact in closer(far).items():
            start, end = self._visible.span(position)
            self._pieces[start:end] = fuse(exact, self._lexical.by_passage[start:end])
            self._close[position] = exact.max()
        self._score[far] = fuse(self._close[far], self._words[far])

    def successors(self) -> list[int]:
        """What took the place of the candidates."""
        found = self._visible.successor[sorted(self._live)]
        return [position for position in found.tolist() if position >= 0]

    def hop(self, pairs: Sequence[tuple[int, int]]) -> bool:
        """Let linked versions answer together: the pair's score counts for both where it is more."""
        close = closeness(self._close, self._words)
        for first, second in pairs:
            mean = max(float(close[first] + close[second]) / 2, 0.0)
            words = max(float(self._words[first]), float(self._words[second]))
            together = PAIR * (mean + WORDS * words)
            for one, other in ((first, second), (second, first)):
                if together > self._score[one] >= OWN_PART:
                    self._score[one] = together
                    self._via[one] = f"linked with {self._visible.note_ids[other]}"
                    self._live.add(one)
        return bool(pairs)

    def resolve(self) -> None:
        """Versions that only lead on give their score to what took their place."""
        seen = self._visible
        for position in sorted(self._live, key=self.order):
            successor = int(seen.successor[position])
            if seen.seen[position] and not seen.past[position]:
                continue
            if successor >= 0 and self._score[successor] < self._score[position]:
                self._score[successor] = self._score[position]
                self._via[successor] = f"replaces {seen.note_ids[position]}"
            if successor >= 0:
                self._live.add(successor)
            if not seen.seen[position]:
                self._live.discard(position)

    def listed(self) -> list[Ranked]:
        """What may be shown, best first; of equals, what was replaced comes last."""
        seen = self._visible
        placed = sorted(self._live, key=self._fully)
        return [
            Ranked(
                position=position,
                score=float(self._score[position]),
                cosine=max(float(self._close[position]), -1.0),
                words=float(self._words[position]),
                chunk_id=self._passage(position),
                via=self._via.get(position, ""),
            )
            for position in placed
            if seen.seen[position]
        ]

    def _fully(self, position: int) -> tuple[float, bool, int, int, str, int]:
        seen = self._visible
        score, note, version = self.order(position)
        newest = -int("".join(filter(str.isdigit, seen.updated[position])) or 0)
        return score, bool(seen.past[position]), -int(seen.trust[position]), newest, note, version
