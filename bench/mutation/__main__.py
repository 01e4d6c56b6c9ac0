"""Breaks one check of the product at a time and tells which test notices.

Usage: python -m bench.mutation reach [-- PYTEST…]  which tests reach what (again for some tests)
       python -m bench.mutation run PATH…           break each check of these files or folders
       python -m bench.mutation report [--all]      the score, and what survived unjudged
       python -m bench.mutation judge ID WHY        no test can tell this mutant from the product, for this reason

Everything happens in a copy of the working tree in the state folder; a run goes on where it stopped. A mutant that
survives is either a missing test or listed in `judged.jsonl` with the reason why no test can tell.
"""

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path

from bench.mutation import reach
from bench.mutation.forked import Order
from bench.mutation.mutants import Mutant, mutants
from bench.mutation.report import judge, judged, latest, table, unjudged
from bench.mutation.tree import instrument, take_copy

__all__ = ["main"]

_ROOT = Path(__file__).parents[2]
_QUICK = 0.05
"""Seconds."""


def main() -> int:
    """Run; the exit code."""
    arguments = _arguments()
    state = Path(arguments.state)
    (state / "reach").mkdir(parents=True, exist_ok=True)
    if arguments.verb == "reach":
        return _reach(state, arguments.tests)
    if arguments.verb == "run":
        return _run(state, arguments)
    results = latest(state / "results.jsonl")
    if arguments.verb == "judge":
        judge(results[arguments.id], arguments.why)
        return 0
    there = {one.id for file in _files(["memsvc"]) for one in mutants(_ROOT, file)}
    results = {name: row for name, row in results.items() if name in there}
    table(results)
    for line in unjudged(results, everything=arguments.all):
        print(line)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    usual = Path(tempfile.gettempdir(), "memsvc-mutation")
    parser.add_argument("--state", default=str(usual), help=f"folder to work in ({usual})")
    verbs = parser.add_subparsers(dest="verb", required=True)
    reaching = verbs.add_parser("reach")
    reaching.add_argument("tests", nargs="*", help="pytest's arguments, after `--`; none: all")
    running = verbs.add_parser("run")
    running.add_argument("paths", nargs="+")
    running.add_argument("--limit", type=float, default=30, help="seconds of tests for a mutant")
    running.add_argument("--sample", type=int, default=100, help="per cent of the mutants")
    running.add_argument("--beyond", type=int, default=0, help="without the first so many of them")
    running.add_argument("--again", default="", help="only repeat these results, e.g. survived,cut")
    running.add_argument(
        "--only", default="", help="ids, or how they begin, with commas between them"
    )
    running.add_argument("--first", nargs="*", default=[], help="test files to ask first")
    running.add_argument("--functions", default="", help="names, with commas between them")
    judging = verbs.add_parser("judge")
    judging.add_argument("id")
    judging.add_argument("why")
    reporting = verbs.add_parser("report")
    reporting.add_argument("--all", action="store_true", help="also print what was judged")
    return parser.parse_args()


def _reach(state: Path, tests: list[str]) -> int:
    tree = state / "instrumented"
    take_copy(_ROOT, tree)
    instrument(tree, state / "reach")
    (state / "reach" / "test").unlink(missing_ok=True)
    command = ["bench.mutation.reach", str(state / "reach"), str(state / "unbroken"), *tests]
    return _inside(tree, command)


def _run(state: Path, arguments: argparse.Namespace) -> int:
    tree = state / "tree"
    take_copy(_ROOT, tree)
    known = reach.read(state / "reach")
    done = latest(state / "results.jsonl")
    decided = judged() if not arguments.only else {}
    again = set(arguments.again.split(","))  # none: what was never run
    functions = set(arguments.functions.split(",")) if arguments.functions else set()
    orders = [
        _order(mutant, known, arguments.limit, first=arguments.first)
        for file in _files(arguments.paths)
        for mutant in mutants(_ROOT, file)
        if arguments.beyond <= int(mutant.id[:6], 16) % 100 < arguments.sample
        and mutant.id.startswith(tuple(arguments.only.split(",")))
        and mutant.id not in decided
        and (not functions or mutant.function in functions)
        and (done[mutant.id]["result"] if mutant.id in done else "") in again
    ]
    (state / "orders.jsonl").write_text(
        "".join(f"{json.dumps(asdict(order))}\n" for order in orders), encoding="utf-8"
    )
    print(f"{len(orders)} mutants", file=sys.stderr)
    files = sorted({test.partition("::")[0] for order in orders for test in order.tests})
    given = [state / "temporary", state / "orders.jsonl", state / "results.jsonl"]
    return _inside(tree, ["bench.mutation.forked", *map(str, given), *files])


def _order(mutant: Mutant, known: reach.Reach, limit: float, *, first: Sequence[str]) -> Order:
    block = f"{mutant.file}:{mutant.block}"
    fresh = not mutant.block or block in known.imported
    module = mutant.file.removesuffix(".py").replace("/", ".")
    tests = _of_file(known, mutant.file, module) if fresh else known.tests.get(block, ())
    ranked = _ranked(tests, known.seconds, module)
    ranked.sort(key=lambda test: test.partition("::")[0] not in first)
    return Order(mutant, fresh, tuple(ranked), tuple(known.seconds[one] for one in ranked), limit)


def _of_file(known: reach.Reach, file: str, module: str) -> Collection[str]:
    """The tests that reach a file; of one that holds nothing but values, those of who imports it."""
    using = (one for one in _files(["memsvc"]) if module in _imported(one))
    return known.of_file(file) or {test for one in using for test in known.of_file(one)}


def _ranked(tests: Iterable[str], seconds: Mapping[str, float], module: str) -> list[str]:
    """First the tests of files that import the module, then the quickest; of slow ones each before
    another set of parameters of any.
    """
    turns: Counter[str] = Counter()
    ranked: list[tuple[bool, int, float, str]] = []
    for test in sorted(tests, key=lambda one: (seconds[one], one)):
        name = test.partition("[")[0]
        turn = turns[name] if seconds[test] > _QUICK else 0
        own = module in _imported(test.partition("::")[0])
        ranked.append((not own, turn, seconds[test], test))
        turns[name] += 1
    return [test for *_, test in sorted(ranked)]


@cache
def _imported(file: str) -> frozenset[str]:
    """The modules that a file imports, names of packages' parts included."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((_ROOT / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
    return frozenset(found)


def _files(paths: Iterable[str]) -> list[str]:
    found: dict[str, None] = {}
    for path in paths:
        whole = _ROOT / path
        for file in sorted(whole.rglob("*.py")) if whole.is_dir() else [whole]:
            found[str(file.relative_to(_ROOT))] = None
    return list(found)


def _inside(tree: Path, command: list[str]) -> int:
    environment = {**os.environ, "PYTHONPATH": str(tree), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=tree, env=environment, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
