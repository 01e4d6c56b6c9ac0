"""What each stage of recall gains on memory-bench: the row without it, written down or compared.

Usage: python -m bench.ablation [--json FILE | --check FILE]

`--check` runs all rows again and lets none differ; on another kind of processor, where the 8-bit
model rounds otherwise, it compares the rows within two questions.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.memory_bench import report, result
from bench.memory_bench.data import official
from bench.memory_bench.run import run_set
from bench.memory_bench.tunings import changed
from memsvc.service.recall.tuning import DEFAULT

__all__ = ["CHANGES", "differences", "main", "measure"]

CHANGES = (
    "lexical=false", "vector=false", "links=false", "late=false", "tokens=0", "words_late=0.4",
    "mention=0,title=0", "leaders=1", "candidates=20", "passages=1", "abstain=false",
)  # fmt: skip
KEPT = (
    "R@5",
    "fact",
    "bridge",
    "para",
    "para_br",
    "temporal",
    "no answer",
    "false abst",
    "nDCG@10",
)
APART = 0.03
"""Two of 69 questions."""

Ablation = dict[str, Any]


def measure(work: Path) -> Ablation:
    """The rows by change; `default` is recall as it is. `work` is an empty folder."""
    tunings = {"default": DEFAULT} | {change: changed(change) for change in CHANGES}
    trials = run_set(official(), tunings, work)
    rows = {name: {key: trial.row()[key] for key in KEPT} for name, trial in trials.items()}
    return {"schema": "memsvc/ablation@1", "processor": result.processor(), "rows": rows}


def differences(kept: Ablation, fresh: Ablation) -> list[str]:
    """What is not as it was written down."""
    if kept["rows"].keys() != fresh["rows"].keys():
        return ["the rows are of other changes; write the file anew"]
    apart = 0.0 if kept["processor"] == fresh["processor"] else APART
    return [
        f"{name}: {key} is {fresh['rows'][name].get(key)}, was {value}"
        for name, row in kept["rows"].items()
        for key, value in row.items()
        if (value is None) != (fresh["rows"][name].get(key) is None)
        or (value is not None and abs(value - fresh["rows"][name][key]) > apart + 1e-9)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", default="", help="also write the rows to this file")
    parser.add_argument("--check", default="", help="compare with this file; 1 if they differ")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        fresh = measure(Path(folder) / "work")
    print(report.markdown(fresh["rows"]))
    if asked.json:
        text = json.dumps(fresh, indent=1, sort_keys=True)
        Path(asked.json).write_text(text + "\n", encoding="utf-8")
    if asked.check:
        wrong = differences(json.loads(Path(asked.check).read_text(encoding="utf-8")), fresh)
        print("\n".join(wrong), file=sys.stderr)
        return 1 if wrong else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
