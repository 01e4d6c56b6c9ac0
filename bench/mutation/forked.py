"""Runs the tests of one mutant after another: everything is imported once, each mutant is a fork."""

import gc
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from bench.mutation.mutants import Mutant, compiled
from bench.mutation.patch import Functions
from bench.mutation.reach import OPTIONS
from bench.mutation.tree import PRODUCT, put, restore

__all__ = ["Order", "Result", "main"]

_PATIENCE = 20.0
"""Seconds for a test beyond ten times what it takes."""


@dataclass(frozen=True, slots=True)
class Order:
    """A mutant, the tests that reach it, quickest first, and how long it may be looked at.

    `fresh`: its code runs when its module is imported, so a fork comes too late.
    """

    mutant: Mutant
    fresh: bool
    tests: tuple[str, ...]
    seconds: tuple[float, ...]
    limit: float


@dataclass(frozen=True, slots=True)
class Result:
    """`killed` by a test, `timeout` in one, `survived`, `cut` at the limit, or `unreached`."""

    result: str
    by: str
    ran: int
    of: int
    took: float


class _Outcome:
    """A pytest plugin that remembers whether anything failed."""

    def __init__(self) -> None:
        self.failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed = self.failed or report.outcome == "failed"


class _Runner:
    """A pytest plugin that runs orders in place of the collected tests."""

    def __init__(self, root: Path, temporary: Path, orders: Path, results: Path) -> None:
        self._root = root
        self._temporary = temporary
        self._orders = orders
        self._results = results
        self._killers: dict[str, list[str]] = {}

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        controlled: set[str] = set()
        functions = Functions(self._root / PRODUCT)
        gc.collect()
        gc.freeze()
        with self._results.open("a", encoding="utf-8") as results:
            for line in self._orders.read_text(encoding="utf-8").splitlines():
                order = _order(json.loads(line))
                if order.tests and order.mutant.file not in controlled:
                    controlled.add(order.mutant.file)
                    self._control(order, items, functions)
                result = self._one(order, items, functions)
                if result.by:
                    self._killers.setdefault(order.mutant.function, []).insert(0, result.by)
                row = {**asdict(order.mutant), **asdict(result)}
                results.write(f"{json.dumps(row, ensure_ascii=False)}\n")
                results.flush()
                shown = f"{order.mutant.file}:{order.mutant.line} {order.mutant.operator}"
                print(f"{result.result:9} {result.took:6.1f} s  {shown}", file=sys.stderr)
        return True

    def _control(self, order: Order, items: dict[str, pytest.Item], functions: Functions) -> None:
        """The same tests on the unbroken file: they have to pass, or no result means anything."""
        chosen = [items[one] for one in self._chosen(order, items)]
        kind, by, _ = _forked(order, chosen, None, functions, self._root)
        if kind != "survived":
            raise pytest.UsageError(f"{by} fails without a mutant ({kind})")

    def _one(self, order: Order, items: dict[str, pytest.Item], functions: Functions) -> Result:
        chosen = self._chosen(order, items)
        if not order.tests:
            return Result("unreached", "", 0, 0, 0)
        put(self._root, order.mutant.file, compiled(self._root, order.mutant))
        started = time.monotonic()
        try:
            if not order.fresh:
                tests = [items[one] for one in chosen]
                kind, by, ran = _forked(order, tests, order.mutant, functions, self._root)
            else:
                kind, by, ran = _fresh(order, chosen, self._root, self._temporary)
        finally:
            restore(self._root, order.mutant.file)
            for left in self._temporary.glob("*"):
                shutil.rmtree(left, ignore_errors=True)
        if kind == "survived" and len(chosen) < len(order.tests):
            kind = "cut"
        took = round(time.monotonic() - started, 2)
        return Result(kind, by, ran, len(order.tests), took)

    def _chosen(self, order: Order, items: dict[str, pytest.Item]) -> list[str]:
        """First what killed a neighbour, then the quickest, as many as the limit lets in."""
        seconds = dict(zip(order.tests, order.seconds, strict=True))
        known = dict.fromkeys(self._killers.get(order.mutant.function, ()))
        chosen: list[str] = []
        spent = 0.0
        for test in [*(one for one in known if one in seconds), *order.tests]:
            if test in items and test not in chosen:
                spent += seconds[test]
                if chosen and spent > order.limit:
                    break
                chosen.append(test)
        return chosen


def _order(row: dict[str, Any]) -> Order:
    tests, seconds = tuple(row["tests"]), tuple(row["seconds"])
    return Order(Mutant(**row["mutant"]), row["fresh"], tests, seconds, row["limit"])


def _forked(
    order: Order,
    chosen: Sequence[pytest.Item],
    mutant: Mutant | None,
    functions: Functions,
    root: Path,
) -> tuple[str, str, int]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            _child(writing, chosen, mutant, functions, root)
        finally:
            os._exit(1)
    os.close(writing)
    seconds = dict(zip(order.tests, order.seconds, strict=True))
    try:
        return _watched(reading, [item.nodeid for item in chosen], seconds)
    finally:
        os.close(reading)
        _end(child)


def _child(
    pipe: int,
    chosen: Sequence[pytest.Item],
    mutant: Mutant | None,
    functions: Functions,
    root: Path,
) -> None:
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    if mutant is not None:
        functions.patch(compiled(root, mutant))
    outcome = _Outcome()
    chosen[0].config.pluginmanager.register(outcome)
    for item, after in zip(chosen, [*chosen[1:], None], strict=True):
        os.write(pipe, b"+")
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        if outcome.failed:
            os.write(pipe, b"x")
            os._exit(0)
    os.write(pipe, b".")
    os._exit(0)


def _watched(pipe: int, chosen: Sequence[str], seconds: dict[str, float]) -> tuple[str, str, int]:
    """Follow a child: `+` begins a test, `x` is a failure, `.` the end; its death is a failure."""
    ran = 0
    while True:
        test = chosen[ran - 1] if ran else chosen[0]
        ready, _, _ = select.select([pipe], [], [], _PATIENCE + 10 * seconds[test])
        if not ready:
            return "timeout", test, ran
        sign = os.read(pipe, 1)
        if sign == b"+":
            ran += 1
        elif sign == b".":
            return "survived", "", ran
        else:
            return "killed", test, ran


def _end(child: int) -> None:
    """End the child and whatever it started; it leads a session of its own."""
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _fresh(
    order: Order, chosen: Sequence[str], root: Path, temporary: Path
) -> tuple[str, str, int]:
    """The same in a new process, for what runs when a module is imported."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        *OPTIONS,
        "-x",
        "-rf",
        "--tb=no",
        f"--basetemp={temporary}/fresh",
        *chosen,
    ]
    wait = 60 + 3 * sum(order.seconds)
    try:
        done = subprocess.run(
            command, cwd=root, capture_output=True, text=True, check=False, timeout=wait,
            start_new_session=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "timeout", "", len(chosen)
    if done.returncode == 0:
        return "survived", "", len(chosen)
    named = [
        line.split()[1]
        for line in done.stdout.splitlines()
        if line.startswith(("FAILED ", "ERROR "))
    ]
    return "killed", named[0] if named else "import", len(chosen)


def main() -> int:
    """Inside the copy: `python -m bench.mutation.forked TEMPORARY ORDERS RESULTS TEST…`."""
    temporary, orders, results, *tests = sys.argv[1:]
    Path(temporary).mkdir(exist_ok=True)
    runner = _Runner(Path.cwd(), Path(temporary), Path(orders), Path(results))
    options = [*OPTIONS, f"--basetemp={temporary}/run", *tests]
    return int(pytest.main(options, plugins=[runner]))


if __name__ == "__main__":
    sys.exit(main())
