"""docs/exchange.md names every option, format, outcome and field, and no others."""

import re
from dataclasses import fields
from pathlib import Path

import typer.main

from memsvc.interfaces.cli.app import build
from memsvc.model.exchange import ExportedNote, ImportOutcome
from memsvc.ops.exchange import publish, schema, take_in

PAGE = (Path(__file__).parents[2] / "docs" / "exchange.md").read_text("utf-8")
EXPORT, IMPORT = PAGE.split("\n## Import\n")
EVERYWHERE = {"--home", "--vault", "--project", "--principal", "--json", "--help"}


def first_cells(text: str) -> set[str]:
    rows = re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def options(name: str) -> set[str]:
    command = typer.main.get_command(build()).commands[name]  # type: ignore[attr-defined] # a group
    return {option for part in command.params for option in part.opts if option[:2] == "--"}


def test_every_option_is_told_and_nothing_else() -> None:
    for name, text in (("export", EXPORT), ("import", IMPORT)):
        told = set(re.findall(r"`(?:[^`]* )?(--[a-z-]+)", text))
        assert options(name) - EVERYWHERE == told - EVERYWHERE


def test_every_format_and_outcome_is_told() -> None:
    told = first_cells(IMPORT)
    assert told == {*take_in.FORMS, *(one.value for one in ImportOutcome), "--format"}
    assert {f"--format {form}" for form in publish.FORMS} <= first_cells(EXPORT)


def test_every_field_of_the_json_export_is_told() -> None:
    schema_part = EXPORT.split("### The JSON export")[1]
    assert first_cells(schema_part) == {one.name for one in fields(ExportedNote)}
    assert f"schema version {schema.VERSION}" in EXPORT
    assert f"`{schema.FORMAT}`" in schema_part
