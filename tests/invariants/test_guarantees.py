"""Every guarantee has a test, and every mark names a guarantee."""

import ast
from collections import defaultdict
from pathlib import Path

from tests.guarantees import GUARANTEES, LATER

TESTS = Path(__file__).parents[1]


def marks() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef):
                for decorator in node.decorator_list:
                    if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith(
                        "mark.guarantee"
                    ):
                        for argument in decorator.args:
                            found[ast.literal_eval(argument)].append(f"{path.name}::{node.name}")
    return found


def test_every_guarantee_has_a_test() -> None:
    without = sorted(set(GUARANTEES) - set(marks()))
    assert without == []


def test_every_mark_names_a_guarantee() -> None:
    assert sorted(set(marks()) - set(GUARANTEES)) == []
    assert not set(LATER) & set(GUARANTEES)
