"""A closer look at the best notes: sentence by sentence and token by token (late interaction)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memsvc.embedding.protocol import Reading
from memsvc.index.analyse import document_terms, query_terms
from memsvc.index.units import unpack
from memsvc.index.values import Lexical

__all__ = ["Close", "Look", "Question", "closest", "weigh"]

_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class Question:
    """A question as the model read it: a unit state for each token, shape (n, dimension), and how
    much each counts, shape (n,), summing to 1.
    """

    states: NDArray[np.float32]
    weights: NDArray[np.float64]
    words: tuple[tuple[int, int, frozenset[str]], ...] = ()
    """Of each word: its first token, the one after its last, and its terms."""

    def without(self, terms: frozenset[str]) -> NDArray[np.float64]:
        """The weights, with nothing for the words that have one of these terms."""
        weights = self.weights.copy()
        for first, last, own in self.words:
            if own & terms:
                weights[first:last] = 0.0
        return weights

    def pooled(self, weights: NDArray[np.float64]) -> NDArray[np.float32]:
        """One unit vector for the question, its tokens weighted."""
        total = weights.astype(np.float32) @ self.states
        return np.asarray(total / max(float(np.linalg.norm(total)), _TINY), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Look:
    """How close each version is: `meaning`, the best cosine of a sentence with the weighted
    question, and `tokens`, the weighted mean of each token's best cosine, of its best passages.
    `chunk` is the passage that is closest.
    """

    meaning: Mapping[int, float]
    tokens: Mapping[int, float]
    chunk: Mapping[int, int]


def weigh(reading: Reading, text: str, lexical: Lexical) -> Question | None:
    """The question with each token weighted by how rare its word is among what may be seen.

    Words that say nothing (stop words, marks) count nothing, unless there are no others. None for a
    question without tokens.
    """
    count = len(reading.spans)
    if not count:
        return None
    words = _words(reading.spans, text)
    weights = np.zeros(count)
    known = []
    for first, last, start, end in words:
        terms = query_terms(text[start:end])
        weight = max((lexical.weights.get(term, 0.0) for term in terms), default=0.0)
        weights[first:last] = weight / (last - first)
        known.append((first, last, frozenset((*terms, *document_terms(text[start:end])))))
    total = float(weights.sum())
    weights = weights / total if total > 0 else np.full(count, 1.0 / count)
    return Question(reading.states, weights, tuple(known))


def _words(spans: Sequence[tuple[int, int]], text: str) -> list[tuple[int, int, int, int]]:
    """Tokens that follow each other without a blank or a mark between are one word."""
    found: list[tuple[int, int, int, int]] = []
    for at, (start, end) in enumerate(spans):
        if found and found[-1][3] == start and text[start - 1 : start + 1].isalnum():
            first, _, begin, _ = found[-1]
            found[-1] = (first, at + 1, begin, end)
        else:
            found.append((at, at + 1, start, end))
    return found


class Close:
    """Passages of versions, unpacked, to be compared with a question and with parts of it."""

    def __init__(self, question: Question, packed: Mapping[int, Mapping[int, bytes]]) -> None:
        """`packed` holds details by position of the version and id of the passage."""
        self._question = question
        self._owner: list[int] = []
        self._chunk: list[int] = []
        blobs: list[bytes] = []
        for position, passages in packed.items():
            for chunk_id, blob in passages.items():
                self._owner.append(position)
                self._chunk.append(chunk_id)
                blobs.append(blob)
        self._details = unpack(blobs, question.states.shape[1])
        self._held = self._details.held(question.states)

    def held(self) -> dict[int, NDArray[np.float32]]:
        """For each version, each token's best cosine with its passages."""
        best: dict[int, NDArray[np.float32]] = {}
        for at, owner in enumerate(self._owner):
            known = best.get(owner)
            best[owner] = self._held[at] if known is None else np.maximum(known, self._held[at])
        return best

    def look(self, weights: NDArray[np.float64], *, late: float) -> Look:
        """How close the versions are to the question with these token weights.

        `late` weighs the tokens beside the meaning when the closest passage is chosen.
        """
        products = self._details.sentences @ self._question.pooled(weights)
        meaning = np.maximum.reduceat(products, self._details.first)
        tokens = self._held @ weights
        both = meaning + late * tokens
        meanings: dict[int, float] = {}
        shared: dict[int, float] = {}
        best: dict[int, int] = {}
        for at, owner in enumerate(self._owner):
            meanings[owner] = max(meanings.get(owner, -1.0), float(meaning[at]))
            shared[owner] = max(shared.get(owner, -1.0), float(tokens[at]))
            if owner not in best or both[at] > both[best[owner]]:
                best[owner] = at
        chunk = {owner: self._chunk[at] for owner, at in best.items()}
        return Look(meanings, shared, chunk)


def closest(pieces: NDArray[np.float64], *, most: int) -> list[int]:
    """Which of a version's passages are looked at: the best `most` by a first score, in order."""
    best = np.argsort(-pieces, kind="stable")[:most]
    return sorted(best.tolist())
