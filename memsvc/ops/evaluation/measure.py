"""Asks the gold questions through the product's own recall, arm by arm, and scores the answers."""

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from memsvc.errors import Misconfigured, NotFound
from memsvc.model.catalogue import Catalogue
from memsvc.model.identity import Caller
from memsvc.model.progress import Progress, tell
from memsvc.model.replies import Json, RecallReply
from memsvc.model.requests import RecallRequest
from memsvc.ops.evaluation.arms import ARMS, STANDARD, Arm
from memsvc.ops.evaluation.gold import Gold, Question, QuestionClass, hashes_of
from memsvc.ops.evaluation.metrics import DEPTH, METRICS, Metrics, known_answers
from memsvc.service.api import MemoryService
from memsvc.service.recall.budget import MAX_CHARS
from memsvc.service.recall.render import render_recall

__all__ = ["ALL", "ArmScores", "Measured", "Scores", "Standing", "measure", "standing"]

ALL = "all"
LARGE = 20_000
"""Tokens: the ranking is measured, not how much of it fits into a reply."""
SESSION = "eval"
NEARLY = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Means over so many questions."""

    questions: int
    recall: float
    mrr: float
    ndcg: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmScores:
    """One arm's scores by class and over all; `skipped` says why there are none.

    `ndcg` holds every question's own; `crowded` counts replies that were full before `DEPTH` notes;
    `false_abstentions` is, by class and over all, the share of questions, every one of which has
    an answer, that recall as callers use it answers with nothing.
    """

    name: str
    settings: Mapping[str, Json]
    skipped: str = ""
    scores: Mapping[str, Scores] = field(default_factory=dict)
    p50_ms: float = 0.0
    p95_ms: float = 0.0
    crowded: int = 0
    false_abstentions: Mapping[str, float] = field(default_factory=dict)
    ndcg: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is left of gold that was built for another state: `gone` questions are not asked.

    `changed` counts those that are asked although a note of theirs has another text now.
    """

    questions: tuple[Question, ...]
    gone: int
    changed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What was asked of which state, and how each arm did."""

    at: str
    scope: str
    gold: str
    questions: int
    gone: int
    changed: int
    counts: Mapping[str, int]
    model_id: str
    arms: tuple[ArmScores, ...]

    def arm(self, name: str) -> ArmScores:
        """The arm of that name; KeyError if it did not run."""
        return {one.name: one for one in self.arms}[name]


def standing(gold: Gold, catalogue: Catalogue) -> Standing:
    """The questions whose notes are still there: what they ask for, as current notes."""
    current = {note.id for note in catalogue.notes if not note.successor}
    hashes = hashes_of(catalogue)
    left = [
        question
        for question in gold.questions
        if question.source in hashes and current.issuperset(question.gold)
    ]
    changed = [
        question
        for question in left
        if any(hashes[note] != gold.hashes.get(note) for note in (question.source, *question.gold))
    ]
    gone = len(gold.questions) - len(left)
    return Standing(questions=tuple(left), gone=gone, changed=len(changed))


def measure(
    service: MemoryService,
    caller: Caller,
    gold: Gold,
    *,
    tuned: Arm | None = None,
    metrics: Metrics = METRICS,
    progress: Progress | None = None,
) -> Measured:
    """Every question to every arm and, if given, to `tuned`.

    Raises Misconfigured when the metrics are wrong about rankings whose scores are known, before
    anything is asked, and NotFound when no question is left to ask.
    """
    wrong = known_answers(metrics)
    if wrong:
        raise Misconfigured(
            f"the measures of this installation are wrong, so nothing is reported: {wrong[0]}"
        )
    catalogue = service.catalogue(caller)
    left = standing(gold, catalogue)
    if not left.questions:
        raise NotFound(
            "no question of the gold has its notes any more; make it anew with `memsvc eval build`"
        )
    arms = [*ARMS, *([tuned] if tuned is not None else [])]
    able = [arm for arm in arms if catalogue.model_id or not arm.needs_model]
    desk = _Desk(service, replace(caller, session=SESSION), metrics, left.questions)
    desk.ask(able, callers={STANDARD.name, tuned.name if tuned else ""}, progress=progress)
    return Measured(
        at=catalogue.at,
        scope=catalogue.scope,
        gold=gold.digest,
        questions=len(left.questions),
        gone=left.gone,
        changed=left.changed,
        counts=catalogue.counts,
        model_id=catalogue.model_id,
        arms=tuple(
            desk.scores(arm)
            if arm in able
            else ArmScores(name=arm.name, settings=arm.settings, skipped="no model is loaded")
            for arm in arms
        ),
    )


@dataclass(frozen=True, slots=True)
class _Answer:
    question: Question
    ranked: tuple[str, ...]
    ms: float
    crowded: bool


class _Desk:
    """Asks, and keeps the answers of each arm."""

    def __init__(
        self,
        service: MemoryService,
        caller: Caller,
        metrics: Metrics,
        questions: Sequence[Question],
    ) -> None:
        self._service = service
        self._caller = caller
        self._metrics = metrics
        self._questions = questions
        self._answers: defaultdict[str, list[_Answer]] = defaultdict(list)
        self._silent: defaultdict[str, dict[Question, bool]] = defaultdict(dict)

    def ask(
        self, arms: Sequence[Arm], *, callers: Collection[str], progress: Progress | None
    ) -> None:
        """Question by question, each arm in turn first: a busy machine slows all of them alike."""
        total = len(self._questions)
        for number, question in enumerate(self._questions):
            tell(progress, number, total, "ask")
            turn = number % len(arms)
            for arm in (*arms[turn:], *arms[:turn]):
                self._answers[arm.name].append(self._rank(arm, question))
                if arm.name in callers:
                    self._silent[arm.name][question] = self._is_silent(arm, question)
        tell(progress, total, total, "ask")

    def _rank(self, arm: Arm, question: Question) -> _Answer:
        """The first notes of a long reply, without the note that a bridge question is made of."""
        bridge = question.kind is QuestionClass.BRIDGE
        k = DEPTH + 1 if bridge else DEPTH
        request = RecallRequest(query=question.query, k=k, budget=LARGE)
        reply = self._service.recall(self._caller, request, tuning=arm.tuning)
        ranked = [hit.id for hit in reply.hits if not (bridge and hit.id == question.source)]
        return _Answer(question, tuple(ranked[:DEPTH]), reply.took_ms, _crowded(reply, k))

    def _is_silent(self, arm: Arm, question: Question) -> bool:
        tuning = replace(arm.tuning, abstain=True)
        request = RecallRequest(query=question.query)
        return self._service.recall(self._caller, request, tuning=tuning).abstained

    def scores(self, arm: Arm) -> ArmScores:
        """How the arm did."""
        answers = self._answers[arm.name]
        times = sorted(answer.ms for answer in answers)
        silent = self._silent.get(arm.name, {})
        return ArmScores(
            name=arm.name,
            settings=arm.settings,
            scores=self._by_class(answers),
            p50_ms=_percentile(times, 0.5),
            p95_ms=_percentile(times, 0.95),
            crowded=sum(answer.crowded for answer in answers),
            false_abstentions=_means(silent),
            ndcg={
                answer.question.id: round(
                    self._metrics.ndcg(answer.ranked, answer.question.gold), 6
                )
                for answer in answers
            },
        )

    def _by_class(self, answers: Sequence[_Answer]) -> dict[str, Scores]:
        grouped: defaultdict[str, list[_Answer]] = defaultdict(list)
        for answer in answers:
            grouped[answer.question.kind.value].append(answer)
        grouped[ALL] = list(answers)
        return {name: self._mean(some) for name, some in grouped.items()}

    def _mean(self, answers: Sequence[_Answer]) -> Scores:
        def over(metric: Callable[[Sequence[str], Collection[str]], float]) -> float:
            total = math.fsum(metric(one.ranked, one.question.gold) for one in answers)
            return round(total / len(answers), 4)

        return Scores(
            questions=len(answers),
            recall=over(self._metrics.recall),
            mrr=over(self._metrics.reciprocal_rank),
            ndcg=over(self._metrics.ndcg),
        )


def _means(silent: Mapping[Question, bool]) -> dict[str, float]:
    """The share of silence in each class and in all."""
    grouped: defaultdict[str, list[bool]] = defaultdict(list)
    for question, said_nothing in silent.items():
        grouped[question.kind.value].append(said_nothing)
    if silent:
        grouped[ALL] = list(silent.values())
    return {kind: round(sum(some) / len(some), 4) for kind, some in grouped.items()}


def _crowded(reply: RecallReply, k: int) -> bool:
    """Whether the reply holds fewer notes than asked for because no more had room."""
    return reply.count < k and len(render_recall(reply)) > NEARLY * MAX_CHARS


def _percentile(ascending: Sequence[float], share: float) -> float:
    """The nearest rank; 0 of nothing."""
    if not ascending:
        return 0.0
    return round(ascending[max(0, math.ceil(share * len(ascending)) - 1)], 2)
