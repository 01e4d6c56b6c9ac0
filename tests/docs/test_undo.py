"""docs/undo.md names the commands and options that there are."""

from pathlib import Path

import typer.main

from memsvc.interfaces.cli.app import build

PAGE = (Path(__file__).parents[2] / "docs" / "undo.md").read_text("utf-8")
EVERYWHERE = {"--home", "--vault", "--project", "--principal", "--json", "--help"}


def test_every_option_of_undo_and_purge_is_on_the_page() -> None:
    commands = typer.main.get_command(build()).commands  # type: ignore[attr-defined] # a group
    for name, other in (("restore-note", set()), ("forget", {"--passage"})):
        assert f"memsvc {name} ID" in PAGE
        options = {option for part in commands[name].params for option in part.opts}
        named = {option for option in options if option.startswith("--")} - EVERYWHERE - other
        assert named >= {"--reason", "--confirm"}
        assert sorted(option for option in named if option not in PAGE) == []
