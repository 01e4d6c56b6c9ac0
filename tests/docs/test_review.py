"""docs/review.md names every setting, kind, disposition and option, and no others."""

import re
from pathlib import Path

import typer.main

from memsvc.interfaces.cli.app import build
from memsvc.model.vocabulary import Disposition, ReviewKind
from memsvc.scope.vault_policy import VaultPolicy

PAGE = (Path(__file__).parents[2] / "docs" / "review.md").read_text("utf-8")
FIRST = re.findall(r"^\| `([\w-]+)` \|", PAGE, re.MULTILINE)
EVERYWHERE = {"--home", "--vault", "--project", "--principal", "--json", "--help"}


def test_every_setting_has_a_row_with_its_default() -> None:
    for key, value in VaultPolicy().shown().items():
        (row,) = re.findall(rf"^\| `{key}` \|(.*)\|", PAGE, re.MULTILINE)
        assert re.search(rf"`?{value}`? \(default\)", row), key


def test_every_kind_and_disposition_is_told_and_nothing_else() -> None:
    told = set(FIRST) - set(VaultPolicy().shown()) - {"approve", "reject"}
    assert told == set(ReviewKind)
    rows = re.findall(r"^\| `(?:approve|reject)` \| `([\w-]+)`", PAGE, re.MULTILINE)
    assert sorted(rows) == sorted(Disposition)


def test_every_option_of_the_commands_is_told() -> None:
    group = typer.main.get_command(build()).commands["review"].commands  # type: ignore[attr-defined] # click's group
    assert set(group) == {"list", "show", "approve", "reject"}
    options = {name for one in group.values() for part in one.params for name in part.opts}
    told = set(re.findall(r"`(?:[^`]* )?(--[a-z-]+)", PAGE))
    assert {one for one in options if one.startswith("--")} - EVERYWHERE == told
