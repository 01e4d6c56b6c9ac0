"""One number for how well a version answers: closeness of meaning plus the weight of shared words.

The weights come from a prototype on memory-bench, where such a sum beat reciprocal rank fusion by
four to seven points of recall@5.
"""

import numpy as np
from numpy.typing import NDArray

from memsvc.index.vectors import NO_VECTOR

__all__ = ["WORDS", "by_owner", "closeness", "fuse", "idf"]

WORDS = 0.4
"""Weight of word coverage beside a cosine."""
STAND_IN = 0.6
"""Coverage to cosine where the model has not read the text: full coverage gives 1 in all."""
SMALL = 50
"""A scope counts as this many versions larger than it is: in a handful of notes no word is common."""


def idf(found: int, total: int) -> float:
    """The weight of a term that `found` of `total` versions hold."""
    padded = total + SMALL
    return float(np.log(1.0 + (padded - found + 0.5) / (found + 0.5)))


def fuse(
    cosine: NDArray[np.float32], coverage: NDArray[np.float64], *, words: float = WORDS
) -> NDArray[np.float64]:
    """Scores, higher is better; 1 + `words` at most, STAND_IN + `words` at most without vectors."""
    return closeness(cosine, coverage) + words * coverage


def closeness(cosine: NDArray[np.float32], coverage: NDArray[np.float64]) -> NDArray[np.float64]:
    """The cosine, or what stands in for it where there is none."""
    return np.where(cosine > NO_VECTOR, cosine, STAND_IN * coverage)


def by_owner(values: NDArray[np.float32], starts: NDArray[np.int64]) -> NDArray[np.float32]:
    """The best passage's value of each version."""
    if not len(starts):
        return np.zeros(0, dtype=np.float32)
    best: NDArray[np.float32] = np.maximum.reduceat(values, starts)
    return best
