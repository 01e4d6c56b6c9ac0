"""Who may read a text that was rejected: a person who reviews, and nobody else."""

import re
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult

from memsvc.errors import StaleVersion
from memsvc.interfaces.render import render
from memsvc.model.requests import ReadRequest, RestoreRequest
from tests.interfaces.test_mcp_stdio import MCP, environment
from tests.service.world import World, agent, human

WRONG = "The heron deploy port is 6544."
RIGHT = "The heron deploy port is 5433."
TITLE = "Gull port of old"
SOURCE = "mail.md#says=6544"


def read(world: World, note_id: str, version: int = 0, *, person: bool = False) -> str:
    view = world.service.read(
        human() if person else agent(), ReadRequest(id=note_id, version=version)
    )
    assert (view.withheld == "") == (view.body != "")
    return f"{view}\n{render(view)}"


@pytest.mark.guarantee("C1")
def test_a_version_that_was_wrong_is_shown_to_a_reviewer_only(world: World) -> None:
    note = world.save(TITLE, WRONG, source=(SOURCE,), tags=("port6544",))
    world.correct(note, RIGHT, title="Heron port", source=("alice",))
    shown = read(world, note.id, 1)
    assert "6544" not in shown
    assert TITLE not in shown
    assert re.search(r"version 1 was rejected as wrong on 2\d{3}-\d\d-\d\d:", shown)
    assert RIGHT in read(world, note.id)
    told = read(world, note.id, 1, person=True)
    for one in (TITLE, WRONG, SOURCE, "port6544"):
        assert one in told


def test_a_version_that_was_true_once_is_shown_to_everybody(world: World) -> None:
    note = world.save("Heron port", WRONG)
    second = world.correct(note, RIGHT, "changed")
    world.correct(second, f"{RIGHT} As decided.", "amend")
    assert WRONG in read(world, note.id, 1)
    assert RIGHT in read(world, note.id, 2)


@pytest.mark.guarantee("C1")
def test_a_version_without_a_passage_that_was_forgotten_is_all_that_agents_see(
    world: World,
) -> None:
    note = world.save("Heron", f"{RIGHT}\n\n{WRONG}\n")
    world.forget(note.id, passage=WRONG)
    assert "6544" not in read(world, note.id, 1)
    assert RIGHT in read(world, note.id, 2)
    assert WRONG in read(world, note.id, 1, person=True)


def test_a_text_that_was_brought_back_is_withheld_no_more(world: World) -> None:
    note = world.save("Heron port", WRONG)
    world.correct(note, RIGHT)
    assert "6544" not in read(world, note.id, 1)
    world.service.restore(human(), RestoreRequest(id=note.id, version=1))
    assert WRONG in read(world, note.id, 1)
    assert WRONG in read(world, note.id)
    world.forget(note.id)
    world.service.restore(human(), RestoreRequest(id=note.id))
    assert WRONG in read(world, note.id, 3)


@pytest.mark.guarantee("C1", "W1")
def test_a_rejected_text_that_is_put_back_as_a_file_is_read_by_a_reviewer_only(
    world: World,
) -> None:
    note = world.save("Heron port", WRONG)
    before = world.file(note.path).read_bytes()
    second = world.correct(note, RIGHT)
    world.write(note.path, before)
    shown = read(world, note.id)
    assert "6544" not in shown
    assert "states what was rejected" in shown
    assert WRONG in read(world, note.id, person=True)
    with pytest.raises(StaleVersion) as caught:
        world.correct(second, f"{RIGHT} Yes.")
    assert "6544" not in f"{caught.value.message} {caught.value.data}"
    with pytest.raises(StaleVersion) as caught:
        world.correct(second, f"{RIGHT} Yes.", by=human())
    assert "6544" in str(caught.value.data)


@pytest.mark.guarantee("W2")
def test_an_agent_that_claims_a_confirmation_still_sees_nothing(world: World) -> None:
    note = world.save("Heron port", WRONG)
    world.correct(note, RIGHT)
    pretender = replace(agent(), confirmed="flag", on_behalf_of="alice")
    view = world.service.read(pretender, ReadRequest(id=note.id, version=1))
    assert (view.body, view.length) == ("", 0)
    assert "rejected as wrong" in view.withheld
    assert world.service.read(pretender, ReadRequest(id=note.id)).body.strip() == RIGHT


@pytest.mark.guarantee("C1")
def test_an_agents_client_is_told_why_a_version_is_withheld(tmp_path: Path) -> None:
    heron = tmp_path / "heron"
    heron.mkdir()
    server = StdioServerParameters(
        command=MCP[0], args=MCP[1:], env=environment(tmp_path / "home"), cwd=heron
    )

    async def act() -> list[CallToolResult]:
        async with Client(server) as client:
            saved = await client.call_tool("save", {"title": "Heron port", "body": WRONG})
            note = (saved.meta or {})["memsvc/result"]["id"]
            wrong = {"id": note, "version": 1, "mode": "wrong", "body": RIGHT}
            await client.call_tool("correct", wrong)
            return [
                await client.call_tool("read", {"id": note, "version": version})
                for version in (1, 0)
            ]

    first, now = anyio.run(act)
    assert not first.is_error
    assert "version 1 was rejected as wrong" in str(first.content)
    assert "6544" not in f"{first.content} {first.meta}"
    assert RIGHT in f"{now.content}"
    assert (now.meta or {})["memsvc/result"]["withheld"] == ""
