"""Every way into memsvc, named once: what each tool, command and method may do.

`tests.invariants.test_gateway` compares these tables with what the server lists, what the command
line takes and what the Python API offers. A new one fails there until it has its line here, and one
that is named a door also until a policy-breaking write has been sent through it.
"""

import inspect
from collections.abc import Iterator
from enum import StrEnum
from typing import Any

import typer.main

from memsvc.interfaces.cli.app import build
from memsvc.service.api import MemoryService

__all__ = ["COMMANDS", "METHODS", "TOOLS", "Does", "commands", "methods", "named", "parameters"]


class Does(StrEnum):
    """What a way into memsvc does to what is remembered."""

    READS = "reads"
    WRITES = "writes"
    """Takes a text into notes: a door of the gateway."""
    JUDGES = "judges"
    """Changes what may be remembered or recalled, by a person's word."""
    TAKES_IN = "takes in"
    """Brings texts in from files: a door of the gateway."""
    KEEPS = "keeps"
    """Looks after home, index and models; no note changes."""


TOOLS = {
    "recall": Does.READS,
    "save": Does.WRITES,
    "correct": Does.WRITES,
    "forget": Does.WRITES,
    "read": Does.READS,
    "history": Does.READS,
    "scopes": Does.READS,
}
COMMANDS = {
    "save": Does.WRITES,
    "recall": Does.READS,
    "correct": Does.WRITES,
    "forget": Does.WRITES,
    "read": Does.READS,
    "history": Does.READS,
    "scopes": Does.READS,
    "audit list": Does.READS,
    "audit verify": Does.READS,
    "audit export": Does.READS,
    "audit anchor": Does.KEEPS,
    "tombstone list": Does.READS,
    "tombstone lift": Does.JUDGES,
    "tombstone rotate-key": Does.JUDGES,
    "review list": Does.READS,
    "review show": Does.READS,
    "review approve": Does.WRITES,
    "review reject": Does.JUDGES,
    "restore-note": Does.WRITES,
    "import": Does.WRITES,
    "restore": Does.WRITES,
    "backup": Does.TAKES_IN,
    "export": Does.TAKES_IN,
    "vault add": Does.TAKES_IN,
    "vault list": Does.READS,
    "vault remove": Does.JUDGES,
    "vault accept": Does.JUDGES,
    "vault policy": Does.JUDGES,
    "reindex": Does.TAKES_IN,
    "eval build": Does.TAKES_IN,
    "eval run": Does.TAKES_IN,
    "doctor": Does.TAKES_IN,
    "stats": Does.READS,
    "init": Does.KEEPS,
    "demo": Does.KEEPS,
    "mcp": Does.KEEPS,
    "db upgrade": Does.KEEPS,
    "db check": Does.KEEPS,
    "model list": Does.KEEPS,
    "model fetch": Does.KEEPS,
    "model use": Does.KEEPS,
    "model embed": Does.KEEPS,
    "model prune": Does.KEEPS,
}
METHODS = {
    "save": Does.WRITES,
    "correct": Does.WRITES,
    "forget": Does.WRITES,
    "decide": Does.WRITES,
    "decide_all": Does.WRITES,
    "recall": Does.READS,
    "read": Does.READS,
    "history": Does.READS,
    "scopes": Does.READS,
    "text_history": Does.READS,
    "audit_list": Does.READS,
    "audit_export": Does.READS,
    "audit_verify": Does.READS,
    "tombstones": Does.READS,
    "reviews": Does.READS,
    "review_show": Does.READS,
    "kinds": Does.READS,
    "selected": Does.READS,
    "catalogue": Does.READS,
    "stats": Does.READS,
    "vault_list": Does.READS,
    "model_state": Does.READS,
    "restore": Does.WRITES,
    "begin_import": Does.WRITES,
    "merging": Does.WRITES,
    "may_restore": Does.KEEPS,
    "settle_in": Does.JUDGES,
    "events_since": Does.READS,
    "backing_up": Does.TAKES_IN,
    "export": Does.TAKES_IN,
    "keep_apart": Does.KEEPS,
    "lift": Does.JUDGES,
    "rotate_key": Does.JUDGES,
    "vault_policy": Does.JUDGES,
    "vault_remove": Does.JUDGES,
    "vault_accept": Does.JUDGES,
    "vault_add": Does.TAKES_IN,
    "scan_all": Does.TAKES_IN,
    "reindex": Does.TAKES_IN,
    "doctor": Does.TAKES_IN,
    "start_background": Does.TAKES_IN,
    "audit_anchor": Does.KEEPS,
    "audit_forget_anchor": Does.KEEPS,
    "forget_other_models": Does.KEEPS,
    "embed_all": Does.KEEPS,
    "ensure_ready": Does.KEEPS,
    "close": Does.KEEPS,
}


def commands() -> dict[str, Any]:
    """The commands that the command line takes, by their names."""

    def walk(prefix: str, group: Any) -> Iterator[tuple[str, Any]]:
        for name, found in group.commands.items():
            if hasattr(found, "commands"):
                yield from walk(f"{prefix}{name} ", found)
            else:
                yield f"{prefix}{name}", found

    return dict(walk("", typer.main.get_command(build())))


def parameters(command: Any) -> list[Any]:
    """A command's own parameters, without the options of every command."""
    every = ("home", "vault", "project", "principal", "as_json")
    return [one for one in command.params if one.name not in every]


def methods() -> list[str]:
    """The public methods of the Python API."""
    found = inspect.getmembers(MemoryService, inspect.isfunction)
    return [name for name, _ in found if not name.startswith("_")]


def named(table: dict[str, Does], *what: Does) -> set[str]:
    return {name for name, does in table.items() if does in what}
