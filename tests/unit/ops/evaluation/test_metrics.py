"""The measures of a ranking, worked out by hand, and the check that refuses a wrong one."""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace

import pytest

from memsvc.ops.evaluation.metrics import (
    DEPTH,
    METRICS,
    known_answers,
    ndcg,
    recall,
    reciprocal_rank,
)


@pytest.mark.parametrize(
    ("ranked", "gold", "expected"),
    [
        ("a", "a", (1, 1, 1)),
        ("x a", "a", (1, 1 / 2, 1 / math.log2(3))),
        ("x y a", "a", (1, 1 / 3, 1 / 2)),
        ("", "a", (0, 0, 0)),
        ("x y", "a", (0, 0, 0)),
        ("a b", "a b", (1, 1, 1)),
        ("b a", "a b", (1, 1, 1)),  # gold is a set: equal notes may stand in any order
        ("a x b", "a b", (1, 1, 1.5 / (1 + 1 / math.log2(3)))),
        ("x b a", "a b", (1, 1 / 2, (1 / math.log2(3) + 1 / 2) / (1 + 1 / math.log2(3)))),
        ("a x", "a b", (1 / 2, 1, 1 / (1 + 1 / math.log2(3)))),
        ("a a a", "a b", (1 / 2, 1, 1 / (1 + 1 / math.log2(3)))),  # credited once
        ("a", "a a", (1, 1, 1)),
    ],
)
def test_a_ranking_scores_what_was_worked_out_by_hand(
    ranked: str, gold: str, expected: tuple[float, float, float]
) -> None:
    notes, wanted = ranked.split(), gold.split()
    found = (recall(notes, wanted), reciprocal_rank(notes, wanted), ndcg(notes, wanted))
    assert found == pytest.approx(expected)


def test_only_the_first_twelve_count_and_the_ideal_holds_no_more_than_fit() -> None:
    fillers = [f"x{number}" for number in range(20)]
    for metric in (recall, reciprocal_rank, ndcg):
        assert metric([*fillers[: DEPTH - 1], "a"], ["a"]) > 0
        assert metric([*fillers[:DEPTH], "a"], ["a"]) == 0
    gold = [f"g{number}" for number in range(15)]
    assert ndcg(gold, gold) == pytest.approx(1)
    assert recall(gold, gold) == pytest.approx(12 / 15)


def test_a_question_without_gold_is_an_error() -> None:
    for metric in (recall, reciprocal_rank, ndcg):
        with pytest.raises(ValueError, match="without gold"):
            metric(["a"], [])
        assert metric(["a"], ["a"]) == 1


def _flat(ranked: Sequence[str], gold: Collection[str]) -> float:
    return len(set(gold).intersection(ranked[:DEPTH])) / min(len(set(gold)), DEPTH)


def _discounted(
    ranked: Sequence[str],
    gold: Collection[str],
    *,
    shift: int = 1,
    repeats: bool = False,
    ideal: int = DEPTH,
    depth: int = DEPTH,
) -> float:
    """nDCG as it should be, but for what a test changes."""
    wanted, seen, gain = set(gold), set[str](), 0.0
    for rank, note in enumerate(ranked[:depth], start=1):
        if note in wanted and (repeats or note not in seen):
            gain += 1 / math.log2(rank + shift)
        seen.add(note)
    best = sum(1 / math.log2(rank + shift) for rank in range(1, min(len(wanted), ideal) + 1))
    return gain / best


def test_the_check_finds_every_way_to_break_ndcg_and_nothing_wrong_with_the_real_one() -> None:
    broken = {
        "no discount": _flat,
        "always right": lambda _ranked, _gold: 1.0,
        "another discount": lambda ranked, gold: _discounted(ranked, gold, shift=2),
        "repeats credited": lambda ranked, gold: _discounted(ranked, gold, repeats=True),
        "an ideal without end": lambda ranked, gold: _discounted(ranked, gold, ideal=99),
        "a deeper ranking": lambda ranked, gold: _discounted(ranked, gold, depth=99),
        "a shallower ranking": lambda ranked, gold: _discounted(ranked, gold, depth=11),
        "reciprocal rank": reciprocal_rank,
        "recall": recall,
    }
    assert known_answers(METRICS) == []
    assert known_answers(replace(METRICS, ndcg=_discounted)) == []  # the pattern itself is right
    for name, metric in broken.items():
        found = known_answers(replace(METRICS, ndcg=metric))
        assert found, name
        assert all(line.startswith("ndcg of") for line in found), name


def test_the_check_finds_a_broken_recall_and_a_broken_reciprocal_rank() -> None:
    assert known_answers(replace(METRICS, recall=ndcg))
    assert known_answers(replace(METRICS, reciprocal_rank=ndcg))
    assert known_answers(METRICS) == []
