"""The stdio server as clients start it: a process, its two pipes, both eras, and its end."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.types import TextContent

from memsvc.interfaces.mcp.start import plain_options

MCP = [sys.executable, "-m", "memsvc", "mcp"]
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "raw-client", "version": "1"},
}


def environment(home: Path, **more: str) -> dict[str, str]:
    plain = {name: value for name, value in os.environ.items() if not name.startswith("MEMSVC_")}
    plain.pop("CLAUDE_PROJECT_DIR", None)
    plain.pop("CLAUDE_CODE_SESSION_ID", None)
    return {**plain, "MEMSVC_HOME": str(home), "MEMSVC_EMBEDDER": "none", **more}


class Raw:
    """A client that writes and reads lines of JSON and nothing else."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._number = 0

    def send(self, method: str, params: dict[str, Any] | None = None, **extra: Any) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}, **extra}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        self._number += 1
        self.send(method, params, id=self._number)
        assert self.process.stdout is not None
        while True:
            line = self.process.stdout.readline()
            assert line, "the server ended"
            reply: dict[str, Any] = json.loads(line)
            if reply.get("id") == self._number:
                return reply

    def call(self, tool: str, arguments: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = self.ask(
            "tools/call", {"name": tool, "arguments": arguments or {}}
        )["result"]
        return result

    def begin(self) -> None:
        assert self.ask("initialize", INITIALIZE)["result"]["serverInfo"]["name"] == "memsvc"
        self.send("notifications/initialized")


@contextmanager
def started(environ: dict[str, str], folder: Path, *arguments: str) -> Iterator[Raw]:
    process = subprocess.Popen(
        [*MCP, *arguments],
        env=environ,
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        try:
            yield Raw(process)
        finally:
            if process.poll() is None:
                process.kill()


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_a_client_of_each_era_saves_and_recalls_in_its_project(tmp_path: Path, era: str) -> None:
    heron = tmp_path / "heron"
    heron.mkdir()
    server = StdioServerParameters(
        command=MCP[0], args=MCP[1:], env=environment(tmp_path / "home"), cwd=heron
    )

    async def act() -> tuple[str, str]:
        async with Client(server, mode=era) as client:
            saved = await client.call_tool(
                "save", {"title": "Heron release", "body": "The release is on 12 March."}
            )
            found = await client.call_tool("recall", {"query": "heron release"})
        texts = [result.content[0] for result in (saved, found)]
        assert not saved.is_error
        assert all(isinstance(text, TextContent) for text in texts)
        return str(texts[0]), str(texts[1])

    saved, found = anyio.run(act)
    assert "personal/heron" in saved
    assert "12 March" in found
    assert "recalled-notes" in found


@pytest.mark.parametrize("damage", ["database", "settings", "home"])
def test_a_broken_home_still_lists_tools_and_each_call_says_what_is_wrong(
    tmp_path: Path, damage: str
) -> None:
    home = tmp_path / "home"
    if damage == "home":
        home.write_text("a file, not a folder", encoding="utf-8")
    else:
        home.mkdir()
        broken = {"database": "memsvc.db", "settings": "memsvc.toml"}[damage]
        (home / broken).write_bytes(b"this is neither a database nor TOML" * 500)
    with started(environment(home), tmp_path) as raw:
        raw.begin()
        tools = raw.ask("tools/list")["result"]["tools"]
        assert [tool["name"] for tool in tools][:2] == ["recall", "save"]
        for _ in range(2):
            result = raw.call("scopes")
            assert result["isError"] is True
            error = result["_meta"]["memsvc/result"]["error"]
            assert error["code"] in ("misconfigured", "storage_failed"), error
            assert "\n" not in error["message"]


def test_standard_output_holds_protocol_lines_and_nothing_else(tmp_path: Path) -> None:
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": INITIALIZE},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
        {"id": 3, "method": "tools/call", "params": {"name": "scopes", "arguments": {}}},
        {"id": 4, "method": "tools/call", "params": {"name": "nothing", "arguments": {}}},
    ]
    lines = [json.dumps({"jsonrpc": "2.0", **message}) for message in messages]
    done = subprocess.run(
        MCP,
        input="\n".join([*lines, "this is no JSON", ""]).encode(),
        env=environment(tmp_path / "home", MEMSVC_LOG_LEVEL="debug"),
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=True,
    )
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    assert {reply.get("id") for reply in replies} >= {1, 2, 3, 4}
    assert all(reply["jsonrpc"] == "2.0" for reply in replies)


def test_the_tools_are_listed_before_the_stores_are_loaded(tmp_path: Path) -> None:
    script = (
        "import sys, memsvc.interfaces.mcp.stdio, memsvc.interfaces.mcp.server as s;"
        "from memsvc.interfaces.mcp.desk import Desk;"
        "s.MemoryServer(Desk(lambda: None));"
        "print(sorted({m.split('.')[0] for m in sys.modules}))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True, cwd=tmp_path
    ).stdout
    assert "'mcp'" in loaded
    for heavy in ("sqlalchemy", "alembic", "onnxruntime", "tokenizers", "ruamel", "typer"):
        assert f"'{heavy}'" not in loaded


@pytest.mark.parametrize("ending", ["end of input", "SIGTERM", "SIGINT"])
def test_it_ends_clean_and_quick(tmp_path: Path, ending: str) -> None:
    with started(environment(tmp_path / "home"), tmp_path) as raw:
        raw.begin()
        assert not raw.call("scopes").get("isError")
        begun = time.monotonic()
        if ending == "end of input":
            assert raw.process.stdin is not None
            raw.process.stdin.close()
        else:
            raw.process.send_signal(getattr(signal, ending))
        assert raw.process.wait(timeout=10) == 0
        assert time.monotonic() - begun < 5
        assert raw.process.stderr is not None
        assert raw.process.stderr.read() == b""


def test_what_the_environment_says_binds_the_process(tmp_path: Path) -> None:
    environ = environment(
        tmp_path / "home",
        MEMSVC_PROJECT="osprey",
        MEMSVC_PRINCIPAL="agent:nightly",
        CLAUDE_CODE_SESSION_ID="5f3c1a",
    )
    with started(environ, tmp_path) as raw:
        raw.begin()
        raw.call("save", {"title": "T", "body": "The osprey nests in April."})
        scopes = raw.call("scopes")["_meta"]["memsvc/result"]
        (event, *_) = raw.call("history", {"action": "save"})["_meta"]["memsvc/result"]["events"]
    assert (scopes["project"], scopes["principal"]) == ("osprey", "agent:nightly")
    assert (event["actor"], event["session"]) == ("agent:nightly", "5f3c1a")
    assert event["client"] == "raw-client 1"


def test_the_clients_project_folder_is_where_the_project_is_looked_for(tmp_path: Path) -> None:
    (tmp_path / "heron" / ".git").mkdir(parents=True)
    (tmp_path / "heron" / ".git" / "HEAD").write_text("ref: refs/heads/main", encoding="utf-8")
    environ = environment(tmp_path / "home", CLAUDE_PROJECT_DIR=str(tmp_path / "heron"))
    with started(environ, tmp_path) as raw:
        raw.begin()
        assert raw.call("scopes")["_meta"]["memsvc/result"]["project"] == "heron"
    with started(environ, tmp_path, "--project", "osprey") as raw:
        raw.begin()
        assert raw.call("scopes")["_meta"]["memsvc/result"]["project"] == "osprey"


def test_plain_options_start_the_server_and_others_go_to_the_command_line() -> None:
    assert plain_options([]) == {}
    assert plain_options(["--project", "a", "--home=/h"]) == {"project": "a", "home": "/h"}
    for other in (["--help"], ["--project"], ["extra"], ["--projct", "a"], ["--json"]):
        assert plain_options(other) is None


def test_a_wrong_option_is_a_usage_error(tmp_path: Path) -> None:
    done = subprocess.run(
        [*MCP, "--projct", "a"],
        env=environment(tmp_path / "home"),
        capture_output=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 2
    assert done.stdout == b""
    assert b"--projct" in done.stderr
