"""The `memsvc` command line: assembles the commands and runs one."""

import io
import sys
from collections.abc import Sequence

import typer

from memsvc.interfaces.cli import (
    admin,
    backup,
    evaluation,
    exchange,
    models,
    notes,
    serving,
    vaults,
)
from memsvc.interfaces.cli.options import global_options

__all__ = ["build", "run"]

_HELP = """Memory for coding agents: notes as markdown files, governed by a ledger.

`memsvc mcp` serves agents; the other commands are for people and scripts. Exit status: 0 done, 1 an
expected failure (one line on stderr), 2 wrong usage."""


def build() -> typer.Typer:
    """The command line as a Typer application."""
    app = typer.Typer(
        name="memsvc",
        help=_HELP,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    global_options(app, version=True)
    notes.register(app)
    vaults.register(app)
    admin.register(app)
    backup.register(app)
    evaluation.register(app)
    exchange.register(app)
    models.register(app)
    serving.register(app)
    return app


def run(arguments: Sequence[str]) -> None:
    """Run one command and end the process with its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    build()(args=list(arguments), prog_name="memsvc")
