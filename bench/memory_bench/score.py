"""Recomputes every number of a result from what was returned per question, and from nothing else.

`Score.metrics` is memory-bench's own definition; `Score.extras` is ours and stands apart from it.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.memory_bench.data import Question, TestSet, note_id, unfolded

__all__ = [
    "MAX_CITATIONS",
    "MIN_QUOTE",
    "Entry",
    "Numbers",
    "Score",
    "Split",
    "Verdict",
    "judge",
    "score",
]

Entry = Mapping[str, object]
"""One `per_question` entry: `id`, `retrieved`, `answer`, `citations`, and perhaps more."""

Numbers = dict[str, float | int | None]
"""Named numbers; None where nothing was asked that could count."""

MIN_QUOTE = 15
MAX_CITATIONS = 5
DEPTH = 10


@dataclass(frozen=True, slots=True)
class Split:
    """Numbers over all questions and over those of each class."""

    overall: Numbers
    by_class: dict[str, Numbers]

    def as_data(self) -> dict[str, object]:
        """As it stands in a result file."""
        return {"overall": self.overall, "by_class": self.by_class}


@dataclass(frozen=True, slots=True)
class Score:
    """`metrics` by memory-bench's names; `extras` and `temporal` by ours."""

    metrics: Split
    extras: Split
    temporal: Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What one entry is worth. Ratios are 0 to 1; those about an answer are 0 if there is none.

    `first_cited` is the note of the first citation, `first_quote` whether that quote holds a gold
    answer. `stale` are replaced notes returned as if they were current, `aged` current ones
    returned as if they were replaced.
    """

    answerable: bool
    abstained: bool
    recall_5: float
    recall_10: float
    reciprocal: float
    gain: float
    answered: bool
    quoted: bool
    quotes: int
    true_quotes: int
    first_cited: str
    first_quote: bool
    stale: int
    aged: int


def score(test: TestSet, entries: Iterable[Entry]) -> Score:
    """Every number of a result. A question without an entry counts as abstained and not found."""
    by_id = {str(entry.get("id")): entry for entry in entries}
    verdicts = [(one, judge(one, by_id.get(one.id, {}), test)) for one in test.questions]
    return Score(
        metrics=_split(verdicts, _published_metrics),
        extras=_split(verdicts, _more_metrics),
        temporal=_temporal(test, verdicts),
    )


def judge(question: Question, entry: Entry, test: TestSet) -> Verdict:
    """One entry against its question's gold. A missing `retrieved` or `answer` counts as none."""
    ranked = _ranked(entry)
    answer = entry.get("answer")
    abstained = answer is None or not str(answer).strip()
    cited = _cited(entry)
    true = [bool(quote) and quote in test.notes.get(note, "") for note, quote in cited]
    support = frozenset(question.support)
    proving = [
        holds and len(quote) >= MIN_QUOTE and note in support and _holds(quote, question.answers)
        for holds, (note, quote) in zip(true, cited, strict=True)
    ]
    old = {note_id(str(one)) for one in _list(entry, "not_current")}
    return Verdict(
        answerable=bool(question.answers),
        abstained=abstained,
        recall_5=_share(support, ranked[:5]),
        recall_10=_share(support, ranked[:DEPTH]),
        reciprocal=next((1 / rank for rank, one in enumerate(ranked, 1) if one in support), 0.0),
        gain=_gain(support, ranked[:DEPTH]),
        answered=not abstained and _holds(str(answer), question.answers),
        quoted=any(proving),
        quotes=len(cited),
        true_quotes=sum(true),
        first_cited=cited[0][0] if cited else "",
        first_quote=bool(cited) and _holds(cited[0][1], question.answers),
        stale=sum(one in test.replaced and one not in old for one in ranked),
        aged=sum(one in old and one not in test.replaced for one in ranked),
    )


def _split(
    verdicts: Sequence[tuple[Question, Verdict]], count: Callable[[Sequence[Verdict]], Numbers]
) -> Split:
    by_class: dict[str, list[Verdict]] = {}
    for question, verdict in verdicts:
        by_class.setdefault(question.cls, []).append(verdict)
    return Split(
        overall=count([verdict for _, verdict in verdicts]),
        by_class={name: count(by_class[name]) for name in sorted(by_class)},
    )


def _published_metrics(verdicts: Sequence[Verdict]) -> Numbers:
    known = [one for one in verdicts if one.answerable]
    unknown = [one for one in verdicts if not one.answerable]
    quotes = sum(one.quotes for one in verdicts)
    return {
        "n": len(verdicts),
        "n_answerable": len(known),
        "n_unanswerable": len(unknown),
        "recall@5": _mean(one.recall_5 for one in known),
        "recall@10": _mean(one.recall_10 for one in known),
        "answer_acc": _mean(one.answered for one in known),
        "citation_verbatim": _mean(one.quoted for one in known),
        "citation_faithful": (
            round(sum(one.true_quotes for one in verdicts) / quotes, 4) if quotes else None
        ),
        "abstain_correct": _mean(one.abstained for one in unknown),
        "false_abstain": _mean(one.abstained for one in known),
    }


def _more_metrics(verdicts: Sequence[Verdict]) -> Numbers:
    known = [one for one in verdicts if one.answerable]
    return {
        "mrr": _mean(one.reciprocal for one in known),
        "ndcg@10": _mean(one.gain for one in known),
        "first_quote_acc": _mean(one.first_quote for one in known),
        "superseded_as_current": sum(one.stale for one in verdicts),
        "current_as_superseded": sum(one.aged for one in verdicts),
    }


def _temporal(test: TestSet, verdicts: Sequence[tuple[Question, Verdict]]) -> Numbers:
    """Questions about what holds now and about what held first, by whether their gold was replaced."""
    asked = [one for one in verdicts if one[0].cls == "temporal" and one[0].support]
    first = [one for one in asked if test.replaced.issuperset(one[0].support)]
    now = [one for one in asked if not test.replaced.issuperset(one[0].support)]
    return {
        "current": len(now),
        "current_cited_first": sum(one.first_cited in asking.support for asking, one in now),
        "original": len(first),
        "original_cited_first": sum(one.first_cited in asking.support for asking, one in first),
    }


def _ranked(entry: Entry) -> list[str]:
    ids = (note_id(str(one)) for one in _list(entry, "retrieved"))
    return [one for one in dict.fromkeys(ids) if one]


def _cited(entry: Entry) -> list[tuple[str, str]]:
    """Note and comparable quote of the first five citations; one that is given twice counts once."""
    given = [one for one in _list(entry, "citations")[:MAX_CITATIONS] if isinstance(one, Mapping)]
    pairs = (
        (note_id(str(one.get("note"))), unfolded(str(one.get("quote") or ""))) for one in given
    )
    return list(dict.fromkeys(pairs))


def _list(entry: Entry, key: str) -> Sequence[object]:
    value = entry.get(key)
    return value if isinstance(value, list) else []


def _holds(text: str, answers: Iterable[str]) -> bool:
    """Whether a gold answer stands in the text, in any case, as whole words of a-z and digits."""
    lower = text.lower()
    return any(
        re.search(rf"(?<![a-z0-9]){re.escape(one.lower())}(?![a-z0-9])", lower) for one in answers
    )


def _share(support: frozenset[str], top: Sequence[str]) -> float:
    return len(support.intersection(top)) / len(support) if support else 0.0


def _gain(support: frozenset[str], top: Sequence[str]) -> float:
    """Binary nDCG: each gold note counts once, the ideal has as many as fit."""
    found = sum(1 / math.log2(rank + 1) for rank, one in enumerate(top, 1) if one in support)
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(len(support), DEPTH) + 1))
    return found / ideal if ideal else 0.0


def _mean(values: Iterable[float]) -> float | None:
    found = [float(one) for one in values]
    return round(sum(found) / len(found), 4) if found else None
