"""The score of a mutation run, and what survived it."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

__all__ = ["JUDGED", "judge", "judged", "latest", "table", "unjudged"]

JUDGED = Path(__file__).with_name("judged.jsonl")
"""Mutants that no test can or should tell from the product: `id`, where, what, and why."""

Row = dict[str, Any]
_DEAD = {"killed", "timeout"}


def latest(path: Path) -> dict[str, Row]:
    """The last result of each mutant, by its id; nothing for a missing file."""
    if not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {row["id"]: row for row in rows}


def judged() -> dict[str, Row]:
    """The mutants that were judged equivalent, by their id."""
    return latest(JUDGED)


def judge(row: Row, why: str) -> None:
    """Add a mutant to the committed list of those that no test can tell from the product."""
    kept = {key: row[key] for key in ("id", "file", "function", "operator", "before", "after")}
    rows = {**judged(), str(row["id"]): {**kept, "why": why}}
    ordered = sorted(rows.values(), key=lambda one: (one["file"], one["function"], one["id"]))
    lines = [json.dumps(one, ensure_ascii=False) for one in ordered]
    JUDGED.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def table(results: Mapping[str, Row]) -> None:
    """Print killed, equivalent and surviving mutants for each folder."""
    known = judged()
    counted: dict[str, Counter[str]] = {}
    for name, row in results.items():
        dead = row["result"] in _DEAD
        kind = "killed" if dead else "judged" if name in known else row["result"]
        counted.setdefault(str(Path(row["file"]).parent), Counter())[kind] += 1
    shown = Table(title="broken checks")
    columns = ("killed", "judged", "survived", "cut", "unreached")
    for column in ("folder", "mutants", *columns, "score"):
        shown.add_column(column)
    for folder, counts in [*sorted(counted.items()), ("all", sum(counted.values(), Counter()))]:
        real = counts.total() - counts["judged"]
        score = f"{counts['killed'] / real:.1%}" if real else ""
        numbers = (counts.total(), *(counts[column] for column in columns))
        shown.add_row(folder, *map(str, numbers), score)
    Console(width=110).print(shown)


def unjudged(results: Mapping[str, Row], *, everything: bool = False) -> Iterator[str]:
    """A line for each mutant that no test noticed and nobody judged."""
    known = {} if everything else judged()
    for name, row in sorted(results.items(), key=lambda one: (one[1]["file"], one[1]["line"])):
        if row["result"] not in _DEAD and name not in known:
            texts = (" ".join(str(row[side]).split())[:90] for side in ("before", "after"))
            where = f"{row['file']}:{row['line']} {row['function']}"
            yield f"{name} {row['result']} {where}: {row['operator'][:70]}: {' => '.join(texts)}"
