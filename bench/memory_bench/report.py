"""Shows scores as tables: for a terminal, and an ablation as markdown."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.memory_bench.score import Numbers, Score

__all__ = ["Row", "flat", "markdown", "mean", "of_result", "show"]

Row = dict[str, float | None]
"""Column and value."""

_CLASSES = {
    "fact": "fact",
    "bridge": "bridge",
    "paraphrase": "para",
    "paraphrase_bridge": "para_br",
    "temporal": "temporal",
}
_RECALL = ("R@5", *_CLASSES.values(), "no answer", "no entity", "no attr", "false abst")
_REST = (
    "R@10", "answer", "quote", "faithful", "1st quote", "MRR", "nDCG@10",
    "now 1st", "then 1st", "stale", "p50 ms",
)  # fmt: skip
_ABLATED = (*_RECALL[:10], "nDCG@10", "quote", "now 1st", "then 1st", "stale", "p50 ms")


def flat(found: Score, milliseconds: float | None = None) -> Row:
    """A score as one row: recall@5 by class, then the rest over all questions."""
    overall, classes = found.metrics.overall, found.metrics.by_class
    more = found.extras.overall
    return {
        "R@5": overall["recall@5"],
        **{short: _of(classes, name, "recall@5") for name, short in _CLASSES.items()},
        "no answer": overall["abstain_correct"],
        "no entity": _of(classes, "absent_entity", "abstain_correct"),
        "no attr": _of(classes, "absent_attribute", "abstain_correct"),
        "false abst": overall["false_abstain"],
        "R@10": overall["recall@10"],
        "answer": overall["answer_acc"],
        "quote": overall["citation_verbatim"],
        "faithful": overall["citation_faithful"],
        "1st quote": more["first_quote_acc"],
        "MRR": more["mrr"],
        "nDCG@10": more["ndcg@10"],
        "now 1st": _ratio(found.temporal, "current"),
        "then 1st": _ratio(found.temporal, "original"),
        "stale": more["superseded_as_current"],
        "p50 ms": milliseconds,
    }


def of_result(result: Mapping[str, Any], found: Score) -> Row:
    """A published result as one row; what it does not claim itself comes from its outputs."""
    return flat(found, round(float(result["runtime"]["sec_per_question"]) * 1000, 1))


def mean(rows: Sequence[Row]) -> Row:
    """Each column's mean over the rows that have it."""
    made: Row = {}
    for name in rows[0]:
        values = [value for row in rows if (value := row.get(name)) is not None]
        made[name] = round(sum(values) / len(values), 4) if values else None
    return made


def show(title: str, rows: Mapping[str, Row], console: Console) -> None:
    """Two tables: recall@5 by class with abstention, and the other numbers."""
    for name, columns in ((f"{title}: recall@5", _RECALL), (f"{title}: all questions", _REST)):
        table = Table(title=name)
        table.add_column("")
        for column in columns:
            table.add_column(column, justify="right")
        for label, row in rows.items():
            table.add_row(label, *(_text(row.get(column)) for column in columns))
        console.print(table)


def markdown(rows: Mapping[str, Row]) -> str:
    """An ablation: the first row is what the others are compared with."""
    base = next(iter(rows.values()))
    lines = [
        f"| change | {' | '.join(('R@5 ±', *_ABLATED))} |",
        f"|---{'|---:' * (len(_ABLATED) + 1)}|",
    ]
    for label, row in rows.items():
        mine, theirs = row.get("R@5"), base.get("R@5")
        gap = "" if row is base or mine is None or theirs is None else f"{mine - theirs:+.4f}"
        cells = (gap, *(_text(row.get(column)) for column in _ABLATED))
        lines.append(f"| {label} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _of(classes: Mapping[str, Numbers], name: str, number: str) -> float | None:
    return classes.get(name, {}).get(number)


def _ratio(temporal: Numbers, kind: str) -> float | None:
    asked, right = temporal[kind], temporal[f"{kind}_cited_first"]
    return round(right / asked, 4) if asked and right is not None else None


def _text(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.4f}".rstrip("0").rstrip(".") if value < 10 else f"{value:.1f}"
