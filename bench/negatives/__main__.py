"""Runs the negative classes by words alone and with the packaged model, and reports the rates.

Usage: python -m bench.negatives [--json FILE] [--seed N] [--arm words] [--arm packaged]

Exit 1 when anything forbidden came back, or when a class finds too few of its controls.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.negatives.model import packaged
from bench.negatives.run import SEED, run_arm
from bench.negatives.tally import FLOOR, Tally
from memsvc.embedding.loader import LazyEmbedder
from memsvc.model.replies import Json

__all__ = ["ARMS", "main", "report", "table"]

ARMS = ("words", "packaged")


def main() -> int:
    """Run, print, write; the exit code."""
    arguments = _arguments()
    tallies: dict[str, Tally] = {}
    with tempfile.TemporaryDirectory(prefix="memsvc-models-") as models:
        for arm in arguments.arm or ARMS:
            words = arm == "words"
            embedder = LazyEmbedder.off() if words else packaged(Path(models))
            tallies[arm] = run_arm(embedder, seed=arguments.seed)
    Console(stderr=True).print(table(tallies))
    text = json.dumps(report(tallies, seed=arguments.seed), indent=1, ensure_ascii=False)
    if arguments.json:
        Path(arguments.json).write_text(f"{text}\n", encoding="utf-8")
    problems = [f"{arm}: {one}" for arm, tally in tallies.items() for one in tally.failures()]
    for arm, tally in tallies.items():
        for example in tally.examples:
            print(f"{arm}: {example}")
    print("\n".join(problems) or f"nothing forbidden in {_total(tallies):,} probes")
    return 1 if problems else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", default="", help="also write the result to this file")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--arm", action="append", choices=ARMS, help="all of them by default")
    return parser.parse_args()


def report(tallies: Mapping[str, Tally], *, seed: int) -> dict[str, Json]:
    """The result as JSON values: no times and no ids, so that equal runs give equal files."""
    return {
        "suite": "memsvc negative classes",
        "seed": seed,
        "control_floor": FLOOR,
        "probes": _total(tallies),
        "violations": sum(tally.violations for tally in tallies.values()),
        "arms": {arm: tally.data() for arm, tally in tallies.items()},
    }


def _total(tallies: Mapping[str, Tally]) -> int:
    return sum(tally.probes for tally in tallies.values())


def table(tallies: Mapping[str, Tally]) -> Table:
    """One line a class, all arms together."""
    made = Table(title="what recall must not show")
    for column in ("class", "counted as"):
        made.add_column(column)
    for column in ("cases", "probes", "violations", "controls", "found", "recall@8"):
        made.add_column(column, justify="right")
    for negative in next(iter(tallies.values())).rows:
        rows = [tally.rows[negative] for tally in tallies.values()]
        controls, hits = sum(row.controls for row in rows), sum(row.found for row in rows)
        made.add_row(
            negative,
            negative.rate,
            str(len(rows[0].cases)),
            str(sum(row.probes for row in rows)),
            str(sum(row.violations for row in rows)),
            str(controls),
            str(hits),
            f"{hits / controls:.3f}" if controls else "-",
        )
    return made


if __name__ == "__main__":
    sys.exit(main())
