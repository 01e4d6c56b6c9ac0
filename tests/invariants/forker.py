"""Runs memsvc commands, each in a process of its own, forked from one that has loaded the code.

A command line that starts from nothing loads its code for a second; the suite runs hundreds. Every
command still has its own process, arguments, environment, standard streams and exit status.
"""

import importlib
import json
import os
import pkgutil
import sys
import traceback
from pathlib import Path
from typing import Any

__all__ = ["serve"]

_HEAVY = ("alembic", "detect_secrets", "sqlalchemy.dialects.sqlite", "markdown_it", "rich.table")
_LEFT_OUT = ("memsvc.embedding.", "memsvc.interfaces.mcp", "memsvc._migrations", "memsvc.__main__")


def _load() -> None:
    import memsvc
    from memsvc.notes.secrets import find_secret

    for name in _HEAVY:
        importlib.import_module(name)
    for info in pkgutil.walk_packages(memsvc.__path__, prefix="memsvc."):
        if not info.name.startswith(_LEFT_OUT):
            importlib.import_module(info.name)
    find_secret("")  # loads its rules


def serve() -> None:
    """Answer each line of JSON on standard input with the exit status of the command it describes."""
    _load()
    orders, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    answers.write(b"ready\n")
    answers.flush()
    for line in orders:
        child = os.fork()
        if child == 0:
            _become(json.loads(line))
        _, status = os.waitpid(child, 0)
        answers.write(f"{os.waitstatus_to_exitcode(status)}\n".encode())
        answers.flush()


def _become(order: dict[str, Any]) -> None:
    """Turn this process into the command, and end it."""
    code = 70
    try:
        os.chdir(order["cwd"])
        os.environ.clear()
        os.environ.update(order["environ"])
        folder = Path(order["streams"])
        for number, flags in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
            opened = os.open(folder / str(number), flags)
            os.dup2(opened, number)
            os.close(opened)
        sys.stdin = os.fdopen(0, "r", encoding="utf-8", closefd=False)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
        sys.argv = ["memsvc", *order["arguments"]]
        code = _run()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _run() -> int:
    from memsvc.__main__ import main

    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:  # noqa: BLE001 - as the interpreter would
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    serve()
