"""`memsvc restore-note` and `memsvc forget --mode purge` on a real home."""

from pathlib import Path

import pytest

from tests.interfaces.test_cli import Shell
from tests.invariants.traces import holding

PORT = "The zorblatt port is 6544."


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


@pytest.mark.guarantee("C6", "W1")
def test_a_note_is_forgotten_and_restored_by_a_person_who_confirms(shell: Shell) -> None:
    saved = shell.json("save", "Port", "--body", PORT)
    shell.json("forget", saved["id"])
    assert "--confirm" in shell.fails("restore-note", saved["id"])
    assert "person" in shell.fails(
        "restore-note", saved["id"], "--confirm", "--principal", "agent:mallory"
    )
    assert shell.json("recall", "zorblatt port")["count"] == 0
    reply = shell.json("restore-note", saved["id"], "--confirm", "--reason", "it was right")
    assert (reply["outcome"], reply["restored"], reply["lifted"]) == ("restored", 1, 1)
    assert shell.json("recall", "zorblatt port")["hits"][0]["text"] == PORT
    said = shell.run("restore-note", saved["id"].lower(), "--confirm").stdout
    assert said.startswith("Nothing to restore.")
    events = shell.json("audit", "list", "--action", "restore")
    assert sorted(event["outcome"] for event in events["events"]) == ["done", "refused"]


@pytest.mark.guarantee("C5")
def test_a_purge_by_an_agent_waits_and_one_by_a_person_is_done(shell: Shell) -> None:
    saved = shell.json("save", "Port", "--body", PORT, "--source", "minutes")
    shell.json("save", "Digest", "--body", "It is an even number.", "--source", "[[port]]")
    asked = shell.json(
        "forget", saved["id"], "--mode", "purge", "--confirm", "--principal", "agent:mallory"
    )
    assert asked["outcome"] == "retracted"
    assert holding(shell.home, b"rblatt")
    assert [one["kind"] for one in shell.json("review", "list")] == ["purge_request"]
    assert "--confirm" in shell.fails("forget", saved["id"], "--mode", "purge")
    done = shell.run("forget", saved["id"], "--mode", "purge", "--derived", "--confirm")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Purged: ")
    for line in ("removed for good: 1 file", "retracted too", "Digest", "out of reach", "backups"):
        assert line in done.stdout
    assert holding(shell.home, b"rblatt") == []
    assert shell.json("recall", "an even number")["count"] == 0
    assert shell.json("review", "list") == []
    assert "rejected" in shell.fails("save", "Again", "--body", PORT)
    assert holding(shell.home, b"rblatt") == []
