"""No file changes unless a verb asked for it, and a write happens whole or not at all."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.invariants.doors import COMMANDS, TOOLS, Does, named
from tests.invariants.home import Agent, Forker, Home

ODD = {
    "heron/crlf.md": b"---\r\n# mine\r\ntitle: 'Crlf'\r\nrating:   5\r\n---\r\nThe siskin eats seeds.\r\n",
    "heron/bom.md": b"\xef\xbb\xbf---\ntags: [bird , 'b b']\nUnknown: {a: 1}\n---\nThe dunlin has a mark.",
    "heron/plain.md": b"# Plain\n\nThe merlin hunts larks.   \n\n\n",
    "heron/latin.md": "Zugspitze caf\xe9 kestrel".encode("latin-1"),
    "heron/bad.md": b"---\ntitle: [unclosed\n---\nThe curlew calls here.\n",
    "heron/binary.md": b"\x00\x01\x02" * 50,
    "heron/picture.png": b"\x89PNG",
    ".obsidian/app.json": b"{}",
}


GOVERNED = {
    b"id", b"title", b"kind", b"status", b"trust", b"project", b"created", b"updated", b"version",
    b"author", b"reason", b"valid_from",
}  # fmt: skip
"""What memsvc writes above the text of a note that it changes."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, forker: Forker) -> Home:
    made = Home(tmp_path_factory.mktemp("bytes"), forker)
    for path, data in ODD.items():
        made.write(path, data)
    return made


@pytest.fixture(scope="module")
def agent(home: Home) -> Iterator[Agent]:
    with home.agent() as made:
        yield made


def files(home: Home) -> dict[str, tuple[bytes, int]]:
    """Every file of the vault: its bytes, and when it was written."""
    return {
        str(path.relative_to(home.vault)): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in home.vault.rglob("*")
        if path.is_file()
    }


def changed(before: dict[str, tuple[bytes, int]], after: dict[str, tuple[bytes, int]]) -> set[str]:
    return {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


@pytest.mark.slow
@pytest.mark.guarantee("W6")
def test_no_reading_and_no_keeping_touches_a_file_and_a_verb_touches_its_own(
    home: Home, agent: Agent, tmp_path: Path
) -> None:
    note = agent.data("save", title="Tern", body="The tern number 1 dives.")
    agent.data("forget", id=agent.data("save", title="Gone", body="The auk number 2 is.")["id"])
    home.json("vault", "policy", "personal", "review=agents")
    agent.data("save", title="Waits", body="The dunlin number 3 feeds.")
    home.json("vault", "policy", "personal", "review=none")
    (item,) = home.json("review", "list")
    before = files(home)
    tools = {
        "recall": {"query": "tern siskin kestrel", "detail": "full", "history": True},
        "read": {"id": note["id"]},
        "history": {},
        "scopes": {},
    }
    assert set(tools) == named(TOOLS, Does.READS)
    for name, arguments in tools.items():
        assert agent.text(name, **arguments)
    words = {"recall": ["tern"], "read": [note["id"]], "history": [note["id"], "--diff"]}
    words |= {"review show": [item["review_id"]], "audit anchor": ["--to", str(tmp_path / "a")]}
    words |= {
        "audit export": ["--to", str(tmp_path / "events.jsonl")],
        "model use": ["none", "--as", "embedder"],
        "backup": [str(tmp_path / "b.zip"), "--keys", str(tmp_path / "b.keys")],
        "export": [str(tmp_path / "out.json")],
    }
    skipped = {
        "mcp",
        "demo",
        "model fetch",
        "vault add",
    }  # serve, make their own home, download, need a folder
    for name in named(COMMANDS, Does.READS, Does.KEEPS, Does.TAKES_IN) - skipped:
        done = home.run(*name.split(), *words.get(name, []))
        assert done.code in (0, 1), (name, done.said)
        assert "Traceback" not in done.err
        assert done.code == 0 or name not in words, (name, done.said)
        assert changed(before, files(home)) == set(), name
    assert agent.ids("siskin seeds") != []
    again = agent.data(
        "correct", id=note["id"], version=1, mode="amend", body="The tern 1 dives in."
    )
    assert changed(before, files(home)) == {again["path"]}
    gone = agent.data("forget", id=note["id"])
    assert changed(before, files(home)) == {again["path"], gone["trash"]}


@pytest.mark.guarantee("W6")
@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("heron/crlf.md", b"The siskin eats seeds.", b"The siskin eats buds."),
        ("heron/bom.md", b"The dunlin has a mark.", b"The dunlin has a belly."),
    ],
)
def test_a_correction_leaves_what_it_does_not_change_as_it_was(
    home: Home, agent: Agent, path: str, old: bytes, new: bytes
) -> None:
    (hit,) = (
        one for one in agent.data("recall", query=old.decode(), k=50)["hits"] if one["path"] == path
    )
    reply = agent.data(
        "correct",
        id=hit["id"],
        version=hit["version"],
        mode="amend",
        old_text=old.decode(),
        new_text=new.decode(),
    )
    lines = (home.vault / path).read_bytes().split(b"\n")
    kept = ODD[path].replace(old, new).split(b"\n")
    assert reply["version"] == hit["version"] + 1
    assert [line for line in lines if line in kept] == kept
    added = {line.strip().partition(b":")[0] for line in lines if line not in kept}
    assert added <= GOVERNED
    others = {
        one: data for one, data in ODD.items() if one not in ("heron/crlf.md", "heron/bom.md")
    }
    assert {one: (home.vault / one).read_bytes() for one in others} == others


@pytest.mark.guarantee("W3")
def test_a_write_that_fails_is_told_and_recorded_and_leaves_nothing_of_itself(
    home: Home, agent: Agent
) -> None:
    home.write("kite", "a file where the project's folder would be")
    with home.agent("kite") as other:
        error = other.refused("save", title="Kite", body="The kite number 4 circles.")
        assert error["code"] in ("storage_failed", "unsafe_path")
        (event,) = home.events("--limit", "1")
        assert (event["action"], event["project"]) == ("save", "kite")
        assert (event["outcome"], event["reason"]) in (
            ("failed", "storage_failed"),
            ("refused", "unsafe_path"),
        )
        assert other.ids("kite circles", history=True) == []
        assert home.json("audit", "verify")["ok"]
        (home.vault / "kite").unlink()
        saved = other.data("save", title="Kite", body="The kite number 4 circles.")
        assert other.ids("kite circles") == [saved["id"]]
        versions = other.data("read", id=saved["id"])["versions"]
        assert [one["version"] for one in versions] == [1]
