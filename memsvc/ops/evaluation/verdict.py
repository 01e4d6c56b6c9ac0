"""Compares a run with the last one on the same gold, class by class, and says what was lost."""

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from memsvc.ops.evaluation.arms import STANDARD
from memsvc.ops.evaluation.measure import ALL, Measured

__all__ = ["LOSS", "Difference", "Earlier", "Verdict", "judge"]

LOSS = 0.01
"""A class may lose so much nDCG; more is a change for the worse."""
_NOISE = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """What is kept of an earlier run: how `default` did at each question, and in which state."""

    at: str
    counts: Mapping[str, int]
    model_id: str
    ndcg: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The mean nDCG of an arm in a class before and now, over the questions that both asked."""

    arm: str
    kind: str
    questions: int
    before: float
    after: float

    @property
    def lost(self) -> bool:
        """Whether the class lost more than `LOSS`; the mean over all is no class."""
        return self.kind != ALL and self.before - self.after > LOSS + _NOISE


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`since` says what was compared with, empty when there was nothing; `notes` what else differs."""

    since: str = ""
    notes: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()

    @property
    def losses(self) -> tuple[Difference, ...]:
        """The classes that lost too much."""
        return tuple(one for one in self.differences if one.lost)

    def holds(self, arm: str) -> bool:
        """Whether the arm lost nothing."""
        return all(one.arm != arm for one in self.losses)


def judge(measured: Measured, earlier: Earlier | None, *, tuned: str = "") -> Verdict:
    """`default`, and the tuned arm if there is one, against the earlier run's `default`.

    Without an earlier run the tuned arm is compared with this run's `default`.
    """
    standard = measured.arm(STANDARD.name).ndcg
    judged = [STANDARD.name, *([tuned] if tuned else [])]
    since, before = "", standard
    notes: tuple[str, ...] = ()
    if earlier is not None:
        since, notes, before = f"the run of {earlier.at}", _notes(measured, earlier), earlier.ndcg
    elif tuned:
        since, judged = "this run's default", [tuned]
    else:
        return Verdict()
    return Verdict(
        since=since,
        notes=notes,
        differences=tuple(
            difference
            for arm in judged
            for difference in _differences(arm, before, measured.arm(arm).ndcg)
        ),
    )


def _differences(
    arm: str, before: Mapping[str, float], after: Mapping[str, float]
) -> list[Difference]:
    grouped: defaultdict[str, list[str]] = defaultdict(list)
    for question in after:
        if question in before:
            grouped[question.partition(":")[0]].append(question)
            grouped[ALL].append(question)
    all_of_them = grouped.pop(ALL, [])
    return [
        Difference(
            arm=arm,
            kind=kind,
            questions=len(asked),
            before=_mean(before, asked),
            after=_mean(after, asked),
        )
        for kind, asked in (*grouped.items(), (ALL, all_of_them))
        if asked
    ]


def _mean(values: Mapping[str, float], asked: list[str]) -> float:
    return round(math.fsum(values[question] for question in asked) / len(asked), 6)


def _notes(measured: Measured, earlier: Earlier) -> tuple[str, ...]:
    """What may have changed the scores besides the ranking."""
    notes = [
        f"{name} {earlier.counts.get(name, 0)} then, {measured.counts.get(name, 0)} now"
        for name in sorted({*earlier.counts, *measured.counts})
        if earlier.counts.get(name, 0) != measured.counts.get(name, 0)
    ]
    if earlier.model_id != measured.model_id:
        then, now = earlier.model_id or "none", measured.model_id or "none"
        notes.append(f"model {then} then, {now} now")
    return tuple(notes)
