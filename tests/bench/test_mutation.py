"""The mutation run: what it breaks, that it breaks only that, and that it can tell a kill from none."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.mutation.mutants import Mutant, compiled, mutants
from bench.mutation.report import judged

ROOT = Path(__file__).parents[2]
SOURCE = '''"""A module."""

LIMIT: int = 1


def guarded(value: int, names: set[str], *, strict: bool = True) -> list[str]:
    """A docstring with 1 == 1."""
    if strict and value < LIMIT:
        raise ValueError(f"{value == 1}")
    note(value)
    return [name.strip() for name in names if name not in {"a"}]


def found(table: object) -> object:
    return select(table).where(table.scope == 7, table.gone.is_(None)).order_by(table.id)
'''


def made(tmp_path: Path) -> list[Mutant]:
    (tmp_path / "module.py").write_text(SOURCE, encoding="utf-8")
    return mutants(tmp_path, "module.py")


def test_every_check_is_broken_and_nothing_cosmetic(tmp_path: Path) -> None:
    changes = {(one.line, one.operator, one.after) for one in made(tmp_path)}
    assert changes >= {
        (8, "condition is false", "False"),
        (8, "and without `strict`", "value < LIMIT"),
        (8, "comparison", "value <= LIMIT"),
        (10, "without the call", "pass"),
        (11, "without .strip()", "name"),
        (11, "condition is true", "True"),
        (15, "where without `table.scope == 7`",
         "select(table).where(table.gone.is_(None))"),
    }  # fmt: skip
    assert not {line for line, _, _ in changes} & {1, 7, 9}


def test_a_block_is_named_inside_functions_only(tmp_path: Path) -> None:
    blocks = {one.before: one.block for one in made(tmp_path)}
    assert blocks["note(value)"] == 7
    assert blocks["1"] == 0
    assert blocks["True"] == 0


def test_a_mutant_keeps_its_name_when_lines_move(tmp_path: Path) -> None:
    before = {one.id: one.line for one in made(tmp_path)}
    path = tmp_path / "module.py"
    path.write_text(SOURCE.replace("LIMIT: int = 1", "# a word\nLIMIT: int = 1"), encoding="utf-8")
    after = {one.id: one.line for one in mutants(tmp_path, "module.py")}
    assert after == {name: line + 1 for name, line in before.items()}
    path.write_text(SOURCE.replace("value < LIMIT", "value > LIMIT"), encoding="utf-8")
    assert {one.id for one in mutants(tmp_path, "module.py")} != set(before)


def test_a_mutant_breaks_its_own_check_alone(tmp_path: Path) -> None:
    def outcome(mutant: Mutant) -> str:
        space: dict[str, object] = {"note": lambda _: None}
        exec(compiled(tmp_path, mutant), space)  # noqa: S102 - the module above
        try:
            return str(space["guarded"](0, {" a ", "a"}))  # type: ignore[operator] # it is a function
        except ValueError:
            return "refused"

    by_operator = {one.operator: one for one in made(tmp_path) if one.line in {8, 11}}
    assert outcome(by_operator["condition is false"]) == "['a']"
    assert outcome(by_operator["without .strip()"]) == "refused"


def test_a_judgement_says_where_what_and_why() -> None:
    for row in judged().values():
        assert {"id", "file", "function", "operator", "before", "after", "why"} <= set(row)
        assert len(str(row["why"]).split()) > 2


@pytest.mark.slow
def test_a_run_tells_what_a_test_notices_and_what_none_does(tmp_path: Path) -> None:
    def run(*arguments: str) -> None:
        subprocess.run(
            [sys.executable, "-m", "bench.mutation", "--state", str(tmp_path), *arguments],
            cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, timeout=110,
            capture_output=True,
        )  # fmt: skip

    file = "memsvc/notes/threeway.py"
    tests = "tests/unit/notes/test_threeway.py"
    run("reach", "--", tests)
    some = ("--functions", "merged")
    run("run", *some, file)
    written = (tmp_path / "results.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in written.splitlines()]
    wanted = {one.id for one in mutants(ROOT, file) if one.function == "merged"}
    assert {row["id"] for row in rows} == wanted
    assert "killed" in {row["result"] for row in rows}
    assert all(row["by"].startswith(tests) for row in rows if row["result"] == "killed")
    run("run", *some, file)
    assert (tmp_path / "results.jsonl").read_text(encoding="utf-8") == written
