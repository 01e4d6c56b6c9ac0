"""Measures how well rejected claims stay out, and how little else does.

Usage: python -m bench.claims [--json FILE] [--key] [--wrong]

`--key` leaves the guard against paraphrases out, which needs the model; `--wrong` also prints what
was missed and what was hit in error.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.claims.measure import Outcome, measure_guard, measure_key
from bench.negatives.model import packaged

__all__ = ["main", "report", "table"]


def main() -> int:
    """Run, print, write; the exit code."""
    arguments = _arguments()
    with tempfile.TemporaryDirectory(prefix="memsvc-claims-") as folder:
        made = {"key": measure_key(Path(folder, "key"))}
        if not arguments.key:
            made["guard"] = measure_guard(Path(folder, "guard"), packaged(Path(folder, "models")))
    Console(stderr=True, width=100).print(table(made))
    text = json.dumps(report(made), indent=1, ensure_ascii=False)
    if arguments.json:
        Path(arguments.json).write_text(f"{text}\n", encoding="utf-8")
    if arguments.wrong:
        for arm, outcomes in made.items():
            for name, outcome in outcomes.items():
                for one in outcome.wrong:
                    print(f"{arm}, {name}, {one}")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", default="", help="also write the result to this file")
    parser.add_argument("--key", action="store_true", help="without the model")
    parser.add_argument("--wrong", action="store_true", help="also print every error")
    return parser.parse_args()


def report(made: Mapping[str, Mapping[str, Outcome]]) -> dict[str, object]:
    """The result as JSON values: no times and no ids, so that equal runs give equal files."""
    return {
        "suite": "memsvc rejected claims",
        **{
            arm: {
                name: {part: rate.data() for part, rate in outcome.rates.items()}
                for name, outcome in outcomes.items()
            }
            for arm, outcomes in made.items()
        },
    }


def table(made: Mapping[str, Mapping[str, Outcome]]) -> Table:
    """A line for each rate."""
    shown = Table(title="rejected claims, with 95 % intervals")
    for column in ("check", "of what", "rate"):
        shown.add_column(column)
    for arm, outcomes in made.items():
        for name, outcome in outcomes.items():
            for part, rate in outcome.rates.items():
                shown.add_row(f"{arm}: {name}", part, str(rate))
    return shown


if __name__ == "__main__":
    sys.exit(main())
