"""Keeps gold and runs of each project in the home, readable by its owner alone.

Gold holds text of notes, so it stays in the home; runs hold ids and numbers.
"""

import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

from memsvc import __version__
from memsvc.errors import Misconfigured, NotFound, StorageFailed
from memsvc.model.identity import Caller
from memsvc.model.replies import as_data
from memsvc.ops.evaluation.arms import STANDARD
from memsvc.ops.evaluation.gold import Gold, Question, QuestionClass
from memsvc.ops.evaluation.measure import Measured
from memsvc.ops.evaluation.verdict import Earlier

__all__ = ["EvalStore"]

_FORMAT = 1


class EvalStore:
    """The folder `eval/<vault>/<project>` of a home. Methods raise StorageFailed when it cannot
    be written.
    """

    def __init__(self, home: Path, caller: Caller) -> None:
        """Nothing is read or made yet; `caller` is bound to a vault that exists."""
        self._home = home
        self.folder = home / "eval" / caller.vault / caller.project
        self._scope = f"{caller.vault}/{caller.project}"

    @property
    def gold(self) -> Path:
        """The questions."""
        return self.folder / "gold.json"

    @property
    def runs(self) -> Path:
        """One run a line, oldest first."""
        return self.folder / "runs.jsonl"

    def write_gold(self, gold: Gold) -> None:
        """Put the gold in place of any older one, whole or not at all."""
        data = {"format": _FORMAT, "digest": gold.digest, **_object(as_data(gold))}
        text = json.dumps(data, indent=1)

        def write() -> None:
            self._make_folder()
            fresh = self.folder / f".gold.json.{secrets.token_hex(6)}"
            try:
                _write(fresh, os.O_EXCL, text)
                fresh.replace(self.gold)
            finally:
                fresh.unlink(missing_ok=True)

        _stored(self.gold, write)

    def read_gold(self) -> Gold:
        """The gold. Raises NotFound when there is none yet, Misconfigured when it is damaged."""
        try:
            data = json.loads(self.gold.read_text("utf-8"))
            gold = _gold(data)
            sound = data["format"] == _FORMAT and gold.digest == data["digest"]
        except FileNotFoundError:
            raise NotFound(
                f"no gold for {self._scope} yet; make it with `memsvc eval build`"
            ) from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise Misconfigured(
                f"the gold of {self._scope} cannot be read; make it anew with `memsvc eval build`"
            ) from error
        if not sound or gold.scope != self._scope:
            raise Misconfigured(
                f"the gold of {self._scope} was edited or comes from elsewhere, so runs cannot be "
                "compared; make it anew with `memsvc eval build`"
            )
        return gold

    def add_run(self, measured: Measured, *, baseline: bool) -> None:
        """Keep a run. Later ones are compared with the last that is a `baseline`."""
        arms = [
            {key: value for key, value in _object(as_data(arm)).items() if key != "ndcg"}
            for arm in measured.arms
        ]
        line = {
            **_object(as_data(measured)),
            "version": __version__,
            "baseline": baseline,
            "arms": arms,
            "ndcg": dict(measured.arm(STANDARD.name).ndcg),
        }

        def write() -> None:
            self._make_folder()
            _write(self.runs, os.O_APPEND, f"{self._line_feed()}{json.dumps(line)}\n")

        _stored(self.runs, write)

    def last_run(self, digest: str) -> Earlier | None:
        """The last baseline on that gold; a line that cannot be read is passed over."""
        try:
            lines = self.runs.read_text("utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Misconfigured(f"the runs of {self._scope} cannot be read") from error
        for line in reversed(lines):
            try:
                run = json.loads(line)
                if run["gold"] == digest and run["baseline"] is True:
                    return Earlier(
                        at=str(run["at"]),
                        counts={str(key): int(value) for key, value in run["counts"].items()},
                        model_id=str(run["model_id"]),
                        ndcg={str(key): float(value) for key, value in run["ndcg"].items()},
                    )
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
        return None

    def _make_folder(self) -> None:
        for folder in (self._home / "eval", self.folder.parent, self.folder):
            folder.mkdir(mode=0o700, exist_ok=True)

    def _line_feed(self) -> str:
        """What ends a line that an interrupted run left unfinished."""
        whole = not self.runs.exists() or self.runs.read_bytes()[-1:] in (b"", b"\n")
        return "" if whole else "\n"


def _write(path: Path, how: int, text: str) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | how, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(text.encode("ascii"))
        file.flush()
        os.fsync(file.fileno())


def _stored(path: Path, write: Callable[[], None]) -> None:
    try:
        write()
    except OSError as error:
        raise StorageFailed(f"{path.name} was not written: {error.strerror}") from error


def _object(data: object) -> dict[str, Any]:
    if not isinstance(data, dict):
        raise TypeError("no object")
    return data


def _gold(data: dict[str, Any]) -> Gold:
    return Gold(
        built=str(data["built"]),
        scope=str(data["scope"]),
        scopes=tuple(str(one) for one in data["scopes"]),
        seed=int(data["seed"]),
        per_class=int(data["per_class"]),
        questions=tuple(
            Question(
                kind=QuestionClass(one["kind"]),
                query=str(one["query"]),
                source=str(one["source"]),
                version=int(one["version"]),
                gold=tuple(str(note) for note in one["gold"]),
                cut=int(one["cut"]),
            )
            for one in data["questions"]
        ),
        hashes={str(key): str(value) for key, value in data["hashes"].items()},
        available={str(key): int(value) for key, value in data["available"].items()},
        excluded={
            str(kind): {str(why): int(value) for why, value in counted.items()}
            for kind, counted in data["excluded"].items()
        },
    )
