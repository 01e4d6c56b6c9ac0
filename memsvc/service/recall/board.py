"""The scores of one ranking, by position in the visible set."""

from collections.abc import Iterable, Mapping
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from memsvc.index.scoring import STAND_IN, by_owner, fuse
from memsvc.index.values import Lexical
from memsvc.index.vectors import FAR, NO_VECTOR
from memsvc.index.visible import Visible

__all__ = ["Board", "Place"]

TIED = 4
"""Of candidates that are equally good, up to so many times as many as were asked for are kept."""
JUST_BELOW = 1e-4
TRUST = 0.004
"""Small: it orders what answers equally well."""


class Place(TypedDict):
    """A version with its score and its best passage."""

    position: int
    score: float
    close: float
    words: float
    chunk_id: int
    via: str


class Board:
    """Scores are higher for better; equals are ordered by note id, never by when they were indexed."""

    def __init__(
        self,
        visible: Visible,
        lexical: Lexical,
        cosines: NDArray[np.float32] | None,
        *,
        words: float,
    ) -> None:
        self._visible = visible
        self._lexical = lexical
        self._weight = words
        none = np.full(len(visible.chunk_ids), NO_VECTOR, dtype=np.float32)
        given = none if cosines is None else cosines
        self.pieces = self._first(given, lexical.by_passage)
        """The first score of every passage."""
        self._cosine = by_owner(given, visible.starts)
        self._words = lexical.by_version.copy()
        self._score = self._first(self._cosine, self._words)
        self._close: dict[int, float] = {}
        self._extra: dict[int, float] = {}
        self._chunk: dict[int, int] = {}
        self._via: dict[int, str] = {}
        self._live: set[int] = set()

    def _first(
        self, cosine: NDArray[np.float32], coverage: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        return fuse(cosine, coverage, words=self._weight)

    def best(self, count: int) -> list[int]:
        """The candidates; of too many equal ones, those with the smallest note ids."""
        compared = self._cosine != FAR  # the others were left out because there are better ones
        words = (self._words > 0) & compared
        there = np.flatnonzero(words | (self._cosine > FAR))
        if len(there) < count:
            there = np.flatnonzero((self._words > 0) | (self._cosine > NO_VECTOR))
        if len(there) > count:
            least = np.partition(self._score[there], -count)[-count]
            there = there[self._score[there] >= least]
        found: list[int] = there.tolist()
        if len(found) > TIED * count:
            found = sorted(found, key=self.order)[: TIED * count]
        self._live.update(found)
        return found

    def far(self, positions: Iterable[int]) -> list[int]:
        """Those of the versions that were not compared, in order."""
        return sorted({position for position in positions if self._cosine[position] == FAR})

    def compare(self, exact: Mapping[int, NDArray[np.float32]]) -> None:
        """Take the cosines of all passages of versions that were not compared."""
        for position, cosines in exact.items():
            start, end = self._visible.span(position)
            self.pieces[start:end] = self._first(cosines, self._lexical.by_passage[start:end])
            self._cosine[position] = cosines.max()

    def successors(self) -> list[int]:
        """What took the place of versions that count so far."""
        found = self._visible.successor[sorted(self._live)].tolist()
        return [position for position in found if position >= 0]

    def order(self, position: int) -> tuple[float, str, int]:
        """Sorts positions, best first."""
        seen = self._visible
        score = -round(float(self._score[position]), 6)
        return score, seen.note_ids[position], -int(seen.versions[position])

    def leader(self, positions: Iterable[int]) -> int:
        """The best of these; -1 if there is none."""
        return min(positions, key=self.order, default=-1)

    def own(self, position: int) -> float:
        """The score of a version."""
        return float(self._score[position])

    def passage(self, position: int) -> int:
        """The id of a version's best passage."""
        if position in self._chunk:
            return self._chunk[position]
        start, end = self._visible.span(position)
        return int(self._visible.chunk_ids[start + int(np.argmax(self.pieces[start:end]))])

    def add_words(self, position: int, coverage: float) -> None:
        """A version holds more of the question's words than was counted."""
        self._words[position] += coverage

    def add(self, position: int, more: float) -> None:
        """A version deserves more, whatever look is taken at it."""
        self._extra[position] = self._extra.get(position, 0.0) + more

    def add_trust(self, positions: Iterable[int]) -> None:
        """The more trusted of equals comes first."""
        for position in positions:
            self.add(position, TRUST * float(self._visible.trust[position]))

    def score_first(self) -> None:
        """Score by whole passages and words, and what was added."""
        self._score = self._first(self._cosine, self._words)
        for position, more in self._extra.items():
            self._score[position] += more

    def score_late(
        self, close: Mapping[int, float], chunk: Mapping[int, int], *, words: float
    ) -> None:
        """Score these versions by a closer look, which also found their best passages."""
        for position, one in close.items():
            self._close[position] = one
            self._chunk[position] = chunk[position]
            extra = self._extra.get(position, 0.0)
            known = max(one, STAND_IN * float(self._words[position]))  # words the model cannot read
            self._score[position] = known + words * float(self._words[position]) + extra

    def lift(self, position: int, score: float, *, via: str, chunk_id: int | None) -> None:
        """A version deserves this score because of another, if it has less by itself."""
        if position in self._live and self._score[position] >= score:
            return
        self._score[position] = score
        self._via[position] = via
        self._live.add(position)
        if chunk_id is not None:
            self._chunk[position] = chunk_id

    def resolve(self) -> None:
        """Versions that only lead on give their score to what took their place.

        Those that are shown as history stand for themselves, before what took their place: who asks
        what something was at first wants that, and what it is now beside it.
        """
        seen = self._visible
        for position in sorted(self._live, key=self.order):
            successor = int(seen.successor[position])
            if seen.seen[position] and not seen.past[position]:
                continue
            if successor >= 0:
                shown = bool(seen.seen[position])
                least = self._score[position] - (JUST_BELOW if shown else 0.0)
                if successor not in self._live or self._score[successor] < least:
                    self._score[successor] = least
                    self._via[successor] = f"replaces {seen.note_ids[position]}"
                self._live.add(successor)
            if not seen.seen[position]:
                self._live.discard(position)

    def listed(self) -> list[Place]:
        """What may be shown, best first; of equals, what was replaced comes last."""
        return [
            Place(
                position=position,
                score=self.own(position),
                close=self._close.get(position, max(float(self._cosine[position]), -1.0)),
                words=float(self._words[position]),
                chunk_id=self.passage(position),
                via=self._via.get(position, ""),
            )
            for position in sorted(self._live, key=self._fully)
            if self._visible.seen[position]
        ]

    def _fully(self, position: int) -> tuple[float, bool, int, int, str, int]:
        seen = self._visible
        score, note, version = self.order(position)
        newest = -int("".join(filter(str.isdigit, seen.updated[position])) or 0)
        return score, bool(seen.past[position]), -int(seen.trust[position]), newest, note, version
