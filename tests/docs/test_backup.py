"""docs/backup.md names every option of the two commands, and no others."""

import re
from pathlib import Path

import typer.main

from memsvc.interfaces.cli.app import build

PAGE = (Path(__file__).parents[2] / "docs" / "backup.md").read_text("utf-8")
EVERYWHERE = {"--home", "--vault", "--project", "--principal", "--json", "--help"}
OF_OTHERS = {"--anchor", "--forget", "--version"}


def test_every_option_of_backup_and_restore_is_told_and_nothing_else() -> None:
    commands = typer.main.get_command(build()).commands  # type: ignore[attr-defined] # click's group
    options = {
        name
        for command in ("backup", "restore")
        for part in commands[command].params
        for name in part.opts
        if name.startswith("--")
    }
    told = set(re.findall(r"(--[a-z][a-z-]*)", PAGE))
    assert options - EVERYWHERE - {"--confirm", "--reason"} == told - EVERYWHERE - OF_OTHERS
