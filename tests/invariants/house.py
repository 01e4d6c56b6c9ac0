"""A home, and everybody who comes to it through a real door: agents over MCP, a shell, an editor."""

import itertools
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.interfaces.test_mcp_stdio import MCP, Raw

__all__ = ["Agent", "Done", "House", "lose_index", "opened", "prune", "with_model"]

ROOT = Path(__file__).parents[2]
PERSON = "human:alice"


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


class Agent:
    """An MCP client of a server process of its own."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.raw = Raw(process)
        self.raw.begin()

    def result(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result as it stands in the protocol."""
        return self.raw.call(tool, arguments)

    def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The data of a call that is answered."""
        result = self.result(tool, **arguments)
        assert not result.get("isError"), result["content"][0]["text"]
        data: dict[str, Any] = result["_meta"]["memsvc/result"]
        return data

    def refused(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The error of a call that is not: code, message, data."""
        result = self.result(tool, **arguments)
        assert result.get("isError"), result["content"][0]["text"]
        error: dict[str, Any] = result["_meta"]["memsvc/result"]["error"]
        return error

    def code(self, tool: str, **arguments: Any) -> str:
        """How a call went: its outcome, or the code of its error."""
        data = self.result(tool, **arguments)["_meta"]["memsvc/result"]
        return str(data["error"]["code"] if "error" in data else data["outcome"])

    def save(self, title: str, body: str, **more: Any) -> dict[str, Any]:
        """A note that must be created."""
        saved = self.ask("save", title=title, body=body, **more)
        assert saved["outcome"] == "created", saved
        return saved

    def hits(self, query: str, **more: Any) -> list[dict[str, Any]]:
        """What a recall finds, with room for everything."""
        more = {"k": 50, "budget": 20_000, **more}
        found: list[dict[str, Any]] = self.ask("recall", query=query, **more)["hits"]
        return found

    def texts(self, query: str, **more: Any) -> str:
        """The texts of what a recall finds, one after the other."""
        return "\n".join(hit["text"] for hit in self.hits(query, **more))


class House:
    """A home below a folder. Every process logs at debug level into `logs`."""

    def __init__(self, root: Path, **environ: str) -> None:
        self.root = root
        self.home = root / "home"
        self.vault = self.home / "personal"
        self.logs = root / "logs"
        self.folder = root / "heron"
        for folder in (self.logs, self.folder):
            folder.mkdir()
        plain = {name: text for name, text in os.environ.items() if not name.startswith("MEMSVC_")}
        plain.pop("CLAUDE_PROJECT_DIR", None)
        plain.pop("CLAUDE_CODE_SESSION_ID", None)
        self.environ = {
            **plain,
            "PYTHONPATH": os.pathsep.join([str(ROOT), plain.get("PYTHONPATH", "")]),
            "MEMSVC_HOME": str(self.home),
            "MEMSVC_EMBEDDER": "none",
            "MEMSVC_LOG_LEVEL": "debug",
            "MEMSVC_LOG_FORMAT": "json",
            **environ,
        }
        self._numbers = itertools.count(1)
        self._agents: dict[str, Agent] = {}
        self._shell: subprocess.Popen[bytes] | None = None
        self._processes: list[subprocess.Popen[bytes]] = []

    def start(self, command: list[str], **environ: str) -> "subprocess.Popen[bytes]":
        """A process at this home with pipes for input and output."""
        log = self.logs / f"{next(self._numbers)}.err"
        with log.open("wb") as errors:
            process = subprocess.Popen(
                command,
                env={**self.environ, **environ},
                cwd=self.folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        self._processes.append(process)
        return process

    def agent(self, name: str = "claude", *, project: str = "heron") -> Agent:
        """The agent of that name, whose server is started when it is first asked for."""
        key = f"{project}/{name}"
        if key not in self._agents:
            principal = {"MEMSVC_PRINCIPAL": f"agent:{name}", "MEMSVC_PROJECT": project}
            self._agents[key] = Agent(self.start(MCP, **principal))
        return self._agents[key]

    def run(self, *arguments: str) -> Done:
        """A command of alice's, who owns the home, ended."""
        if self._shell is None:
            command = [sys.executable, "-m", "tests.invariants.commands"]
            plain = {"MEMSVC_PRINCIPAL": PERSON, "MEMSVC_EMBEDDER": "none"}  # no model to load
            self._shell = self.start(command, **plain)
        assert self._shell.stdin is not None
        assert self._shell.stdout is not None
        self._shell.stdin.write(json.dumps(arguments).encode() + b"\n")
        self._shell.stdin.flush()
        return Done(*json.loads(self._shell.stdout.readline()))

    def json(self, *arguments: str) -> Any:
        """What a command that succeeds answers as JSON."""
        done = self.run(*arguments, "--json")
        assert done.code == 0, done.err
        return json.loads(done.out)

    def fails(self, *arguments: str) -> str:
        """The one line that an expected failure writes."""
        done = self.run(*arguments)
        assert done.code == 1, done
        said = [line for line in done.err.splitlines() if not line.startswith("{")]
        assert len(said) == 1, done.err
        assert said[0].startswith("memsvc: ")
        return said[0]

    def code(self, *arguments: str) -> str:
        """How a command went: its outcome, or the code of its error."""
        data = json.loads(self.run(*arguments, "--json").out)
        return str(data["error"]["code"] if "error" in data else data["outcome"])

    def write(self, path: str, text: str | bytes) -> Path:
        """A file as an editor writes it."""
        target = self.vault / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode() if isinstance(text, str) else text)
        return target

    def restart(self) -> None:
        """End every process; the next call starts a new one."""
        for process in self._processes:
            assert process.stdin is not None
            process.stdin.close()
        for process in self._processes:
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                raise
            finally:
                assert process.stdout is not None
                process.stdout.close()
        self._agents, self._shell, self._processes = {}, None, []


@contextmanager
def opened(root: Path, **environ: str) -> Iterator[House]:
    """A new house in a folder; everybody has left it afterwards."""
    house = House(root, **environ)
    try:
        yield house
    finally:
        house.restart()


def lose_index(house: House) -> None:
    """The index is lost while nobody is there, vectors too: it is made anew from files and ledger."""
    house.restart()
    raw = sqlite3.connect(house.home / "memsvc.db")
    raw.execute("DROP TABLE index_state")
    raw.commit()
    raw.close()
    shutil.rmtree(house.home / "vectors", ignore_errors=True)


def prune(house: House) -> None:
    """Everything that may be thrown away is: telemetry, remembered looks of files, trash, free pages."""
    house.restart()
    raw = sqlite3.connect(house.home / "memsvc.db")
    for table in ("recall_event", "file_state"):
        raw.execute(f"DELETE FROM {table}")  # noqa: S608 - names from above
    raw.commit()
    raw.execute("VACUUM")
    raw.close()
    shutil.rmtree(house.vault / ".trash", ignore_errors=True)


def with_model(agent: Agent) -> None:
    """Wait until the agent's server has the model loaded and has read everything."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        index = agent.ask("scopes")["index"]
        if index["model"] == "ready" and not index["without_vector"]:
            return
        time.sleep(0.1)
    raise AssertionError(index)
