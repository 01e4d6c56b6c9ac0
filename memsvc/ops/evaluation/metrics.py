"""How well a ranking finds its gold: recall, reciprocal rank and nDCG, and a check of all three.

Relevance is binary. `ranked` are note ids, best first; only the first `DEPTH` count. Each gold note
is credited once, where it is met first. Every measure is between 0 and 1.
"""

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

__all__ = ["DEPTH", "METRICS", "Metrics", "known_answers", "ndcg", "recall", "reciprocal_rank"]

DEPTH = 12

Metric = Callable[[Sequence[str], Collection[str]], float]


def recall(ranked: Sequence[str], gold: Collection[str]) -> float:
    """The share of the gold that is found. Raises ValueError where there is no gold."""
    wanted = _wanted(gold)
    return len(wanted.intersection(ranked[:DEPTH])) / len(wanted)


def reciprocal_rank(ranked: Sequence[str], gold: Collection[str]) -> float:
    """One over the rank of the first gold note, 0 if none is found. Raises ValueError likewise."""
    wanted = _wanted(gold)
    found = (rank for rank, note in enumerate(ranked[:DEPTH], start=1) if note in wanted)
    return next((1 / rank for rank in found), 0.0)


def ndcg(ranked: Sequence[str], gold: Collection[str]) -> float:
    """Discounted gain over that of the ideal ranking, which begins with all the gold that fits.

    Raises ValueError likewise.
    """
    left = _wanted(gold)
    ideal = sum(_discount(rank) for rank in range(1, min(len(left), DEPTH) + 1))
    gain = 0.0
    for rank, note in enumerate(ranked[:DEPTH], start=1):
        if note in left:
            left.discard(note)
            gain += _discount(rank)
    return gain / ideal


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """The three measures that a run reports."""

    recall: Metric
    reciprocal_rank: Metric
    ndcg: Metric


METRICS = Metrics(recall=recall, reciprocal_rank=reciprocal_rank, ndcg=ndcg)


def known_answers(metrics: Metrics) -> list[str]:
    """What the measures get wrong of rankings worked out by hand; empty when all is right.

    Every run asks this first, and a run whose own measures are wrong reports nothing.
    """
    wrong: list[str] = []
    for ranked, gold, *expected in _BY_HAND:
        notes = ranked.split()
        for name, right in zip(("recall", "reciprocal_rank", "ndcg"), expected, strict=True):
            found = getattr(metrics, name)(notes, gold.split())
            if not math.isclose(found, right, abs_tol=1e-4):
                wrong.append(f"{name} of {gold} in {ranked} is {right:.4f}, not {found:.4f}")
    return wrong


_BY_HAND: tuple[tuple[str, str, float, float, float], ...] = (
    # ranked, gold, recall, reciprocal rank, nDCG; gains at ranks 1 to 4: 1, .6309, .5, .4307
    ("a b c", "a", 1, 1, 1),
    ("a b c", "b", 1, 0.5, 0.6309),
    ("a b c", "c", 1, 0.3333, 0.5),
    ("a b c d", "a c", 1, 1, 0.9197),  # 1.5 of 1.6309
    ("a b c d", "c a", 1, 1, 0.9197),
    ("a b c d", "b d", 1, 0.5, 0.6509),  # 1.0616 of 1.6309
    ("a a b", "a b", 1, 1, 0.9197),  # met twice, credited once
    ("a b", "a x", 0.5, 1, 0.6131),  # 1 of 1.6309
    ("a b c", "x", 0, 0, 0),
    ("b c d e f g h i j k l a", "a", 1, 0.0833, 0.2702),  # the last rank that counts
    ("b c d e f g h i j k l m a", "a", 0, 0, 0),  # one rank too late
    ("a b c d e f g h i j k l m", "a b c d e f g h i j k l m", 0.9231, 1, 1),  # 12 of 13 fit
)


def _wanted(gold: Collection[str]) -> set[str]:
    wanted = set(gold)
    if not wanted:
        raise ValueError("a question without gold cannot be measured")
    return wanted


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)
