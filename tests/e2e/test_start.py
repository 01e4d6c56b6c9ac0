"""The stdio server answers before anything slow, also with twenty thousand un-indexed notes."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import StdioServerParameters
from mcp.client import Client

from tests.service.world import World

NOTES = 20_000


def data(reply: Any) -> dict[str, Any]:
    return dict((reply.meta or {})["memsvc/result"])


async def session(
    home: Path, mode: str
) -> tuple[list[str], dict[str, Any], dict[str, Any], dict[str, Any]]:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "memsvc", "mcp"],
        env={
            **os.environ,
            "MEMSVC_HOME": str(home),
            "MEMSVC_PROJECT": "heron",
            "MEMSVC_EMBEDDER": "none",
        },
    )
    client = Client(server, mode="legacy") if mode == "legacy" else Client(server)
    async with client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        body = {"title": f"Merlin {mode}", "body": f"The merlin of {mode} hunts larks."}
        saved = data(await client.call_tool("save", body))
        found = data(await client.call_tool("recall", {"query": f"merlin {mode} larks"}))
        outside = data(await client.call_tool("recall", {"query": "zanzibar"}))
        return tools, saved, found, outside


@pytest.mark.slow
@pytest.mark.timeout(200)
@pytest.mark.guarantee("W4", "R3")
def test_a_server_with_twenty_thousand_unread_notes_starts_saves_and_recalls(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    folder = world.vault / "heron"
    folder.mkdir()
    for number in range(NOTES):
        (folder / f"n{number}.md").write_text(f"The falcon {number} nests.\n", "utf-8")
    (world.vault / "osprey").mkdir()
    (world.vault / "osprey" / "secret.md").write_text("The zanzibar falcon nests.\n", "utf-8")
    world.service.close()
    for mode in ("auto", "legacy"):
        tools, saved, found, outside = asyncio.run(session(tmp_path / "home", mode))
        assert {"save", "recall", "correct", "forget", "read", "history", "scopes"} == set(tools)
        assert saved["outcome"] == "created"
        assert found["hits"][0]["id"] == saved["id"]
        assert any("not indexed yet" in one for one in found["coverage"]["notices"])
        assert all("zanzibar" not in hit["text"] for hit in outside["hits"])
