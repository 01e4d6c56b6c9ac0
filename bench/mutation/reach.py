"""Which tests reach which blocks of the product, and how long each takes: a run on an instrumented copy."""

import builtins
import gc
import json
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

__all__ = ["OPTIONS", "Reach", "main", "read"]

_Cache = type(cache(lambda: None))
OPTIONS = ("-q", "-s", "-p", "no:randomly", "-p", "no:xdist")


@dataclass(frozen=True, slots=True)
class Reach:
    """Seconds of each test that passes, and the tests that reach a block (`file:line`)."""

    seconds: dict[str, float] = field(default_factory=dict)
    tests: dict[str, list[str]] = field(default_factory=dict)
    imported: frozenset[str] = frozenset()
    """Blocks that run when modules are imported."""

    def of_file(self, file: str) -> list[str]:
        """The tests that reach anything in a file."""
        found = {
            one
            for block, them in self.tests.items()
            if block.startswith(f"{file}:")
            for one in them
        }
        return sorted(found)


def read(folder: Path) -> Reach:
    """What `main` left in the folder; later runs of a test replace nothing but its time."""
    seconds: dict[str, float] = {}
    for line in (folder / "tests").read_text(encoding="utf-8").splitlines():
        test, took, passed = json.loads(line)
        seconds.pop(test, None)
        if passed:
            seconds[test] = took
    tests: dict[str, set[str]] = {}
    imported: set[str] = set()
    for line in (folder / "blocks").read_text(encoding="utf-8").splitlines():
        test, _, block = line.partition("\t")
        if not test:
            imported.add(block)
        if test in seconds:
            tests.setdefault(block, set()).add(test)
    by_block = {block: sorted(them) for block, them in tests.items()}
    return Reach(seconds, by_block, frozenset(imported))


class _Noting:
    """A pytest plugin that tells the probe which test runs and keeps the outcome."""

    def __init__(self, folder: Path) -> None:
        self._file = (folder / "tests").open("a", encoding="utf-8")
        self._took = 0.0
        self._passed = True
        self._caches: list[Any] = []

    def pytest_collection_finish(self) -> None:
        self._caches = [one for one in gc.get_objects() if isinstance(one, _Cache)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        probe: Any = vars(builtins)["__reached__"]
        probe.begin(nodeid)
        for one in self._caches:  # what an earlier test left there would not be reached again
            one.cache_clear()
        self._took, self._passed = 0.0, True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._took += report.duration
        self._passed = self._passed and report.outcome == "passed"
        if report.when == "teardown":
            row = (report.nodeid, round(self._took, 3), self._passed)
            self._file.write(f"{json.dumps(row)}\n")
            self._file.flush()


def main() -> int:
    """Inside the copy: `python -m bench.mutation.reach FOLDER TEMPORARY PYTEST-ARGUMENT…`."""
    import memsvc  # noqa: F401 - sets the probe up

    folder, temporary, *arguments = sys.argv[1:]
    options = [*OPTIONS, f"--basetemp={temporary}", *arguments]
    return int(pytest.main(options, plugins=[_Noting(Path(folder))]))


if __name__ == "__main__":
    sys.exit(main())
