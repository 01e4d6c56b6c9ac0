"""A home as its users meet it: agents over MCP, a person at a shell, and files in the vault."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, Implementation, TextContent, Tool

__all__ = ["Agent", "Done", "Forker", "Home", "everything_in"]

RESULT = "memsvc/result"
HERON = "heron"


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        return self.out + self.err


class Forker:
    """Starts commands through one process that has loaded the code; see `tests.invariants.forker`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in "012":
            (folder / name).touch()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.invariants.forker"],
            env={**_plain(), "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._read() == "ready"

    def run(
        self, arguments: list[str], *, cwd: Path, environ: dict[str, str], stdin: bytes = b""
    ) -> Done:
        streams = [self._folder / name for name in "012"]
        streams[0].write_bytes(stdin)
        for stream in streams[1:]:
            stream.write_bytes(b"")
        order = {
            "arguments": arguments,
            "cwd": str(cwd),
            "environ": environ,
            "streams": str(self._folder),
        }
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()
        code = int(self._read())
        return Done(code, streams[1].read_bytes().decode(), streams[2].read_bytes().decode())

    def _read(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the process that runs commands ended"
        return line.decode().strip()

    def close(self) -> None:
        with self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait(timeout=10)


class Agent:
    """A real MCP client of a real server process; calls block."""

    def __init__(self, client: Client, portal: BlockingPortal) -> None:
        self._client = client
        self._portal = portal

    def tools(self) -> list[Tool]:
        return self._portal.call(self._client.list_tools).tools

    def ask(self, tool: str, arguments: dict[str, Any]) -> CallToolResult:
        result = self._portal.call(self._client.call_tool, tool, arguments)
        assert isinstance(result, CallToolResult)
        return result

    def text(self, tool: str, /, **arguments: Any) -> str:
        return text_of(self.ask(tool, arguments))

    def data(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """What a call that must succeed carries as data."""
        result = self.ask(tool, arguments)
        assert not result.is_error, text_of(result)
        return data_of(result)

    def refused(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The error of a call that must not succeed: code, message, data."""
        result = self.ask(tool, arguments)
        assert result.is_error, f"{tool} was not refused: {text_of(result)}"
        error: dict[str, Any] = data_of(result)["error"]
        return error

    def ids(self, query: str, **more: Any) -> list[str]:
        return [str(hit["id"]) for hit in self.data("recall", query=query, **more)["hits"]]


def text_of(result: CallToolResult) -> str:
    assert len(result.content) == 1
    assert isinstance(result.content[0], TextContent)
    return result.content[0].text


def data_of(result: CallToolResult) -> dict[str, Any]:
    assert result.meta is not None
    data: dict[str, Any] = result.meta[RESULT]
    return data


def everything_in(result: CallToolResult) -> str:
    """All that a client could show or log of a result."""
    return text_of(result) + json.dumps(data_of(result), ensure_ascii=False)


class Home:
    """One home; `person` runs a command in it, `agent` connects one."""

    def __init__(self, root: Path, forker: Forker, **environ: str) -> None:
        self.root = root
        self.folder = root / "home"
        self.vault = self.folder / "personal"
        self._forker = forker
        self.environ = {
            **_plain(),
            "MEMSVC_HOME": str(self.folder),
            "MEMSVC_EMBEDDER": "none",
            **environ,
        }
        self.json("init")

    def run(
        self, *arguments: str, project: str = HERON, stdin: bytes = b"", **environ: str
    ) -> Done:
        return self._forker.run(
            [*(["--project", project] if project else []), *arguments],
            cwd=self.root,
            environ={**self.environ, **environ},
            stdin=stdin,
        )

    def json(self, *arguments: str, project: str = HERON) -> Any:
        """What a command that must succeed prints with `--json`."""
        done = self.run(*arguments, "--json", project=project)
        assert done.code == 0, done.said
        assert len(done.out.splitlines()) == 1
        return json.loads(done.out)

    def fails(self, *arguments: str, project: str = HERON) -> dict[str, Any]:
        """The error of a command that must not succeed: code, message, data."""
        done = self.run(*arguments, "--json", project=project)
        assert done.code == 1, done.said
        assert len(done.err.splitlines()) == 1, done.err
        error: dict[str, Any] = json.loads(done.out.splitlines()[-1])["error"]
        return error

    def write(self, path: str, text: str | bytes) -> Path:
        target = self.vault / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode() if isinstance(text, str) else text)
        return target

    def events(self, *arguments: str) -> list[dict[str, Any]]:
        """The audit's events of the whole home, newest first; all of them, unless a limit is given."""
        events: list[dict[str, Any]] = []
        older: tuple[str, ...] = ()
        while True:
            words = ("audit", "list", "--limit", "500", *arguments, *older)
            page = self.json(*words, project="")
            events += page["events"]
            if "--limit" in arguments or not page["next"]:
                return events
            older = ("--before", str(page["next"]))

    def agent(
        self, project: str = HERON, *, name: str = "tester", **environ: str
    ) -> AbstractContextManager[Agent]:
        return _connected(self, {"MEMSVC_PROJECT": project, **environ}, name)


@contextmanager
def _connected(home: Home, environ: dict[str, str], name: str) -> Iterator[Agent]:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "memsvc", "mcp"],
        env={**home.environ, **environ},
        cwd=home.root,
    )
    client = Client(server, client_info=Implementation(name=name, version="1"))
    with start_blocking_portal() as portal:
        connection = portal.wrap_async_context_manager(client)
        connected = connection.__enter__()
        try:
            yield Agent(connected, portal)
        finally:  # a test's failure is not the connection's, which would wrap it up
            connection.__exit__(None, None, None)


def _plain() -> dict[str, str]:
    drop = ("CLAUDE_PROJECT_DIR", "CLAUDE_CODE_SESSION_ID")
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("MEMSVC_") and name not in drop
    }
