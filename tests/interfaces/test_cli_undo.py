"""`memsvc restore-note` and `memsvc forget --mode purge` on a real home."""

from pathlib import Path

import pytest

from tests.interfaces.test_cli import Shell
from tests.invariants.home import Forker
from tests.invariants.traces import holding

MALLORY = ("--principal", "agent:mallory")
PORT = "The zorblatt port is 6544."


@pytest.fixture
def shell(tmp_path: Path, forker: Forker) -> Shell:
    return Shell(tmp_path, forker)


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


def asked(shell: Shell) -> tuple[str, str]:
    """A note that an agent asks to purge, and the item that says so."""
    saved = shell.json("save", "Port", "--body", PORT)
    shell.json("forget", saved["id"], "--mode", "purge", "--confirm", *MALLORY)
    (item,) = shell.json("review", "list")
    assert item["kind"] == "purge_request"
    return str(saved["id"]), str(item["review_id"])


@pytest.mark.guarantee("C5")
def test_a_request_to_purge_is_approved_by_a_person_who_confirms(shell: Shell) -> None:
    note, item = asked(shell)
    assert "mallory" in shell.run("review", "show", item).stdout
    assert "--confirm" in shell.fails("review", "approve", item)
    assert "person" in shell.fails("review", "approve", item, "--confirm", *MALLORY)
    assert holding(shell.home, b"rblatt")
    done = shell.run("review", "approve", item, "--confirm")
    assert (done.returncode, done.stderr) == (0, "")
    for line in (f"purged: note {note}", "out of reach", "backups"):
        assert line in done.stdout
    assert holding(shell.home, b"rblatt") == []
    assert shell.json("review", "list") == []
    assert "rejected" in shell.fails("save", "Again", "--body", PORT)


@pytest.mark.guarantee("C6")
def test_a_request_to_purge_is_rejected_and_the_note_comes_back_or_not(shell: Shell) -> None:
    note, item = asked(shell)
    assert "--confirm" in shell.fails("review", "reject", item)
    assert shell.json("recall", "zorblatt port")["count"] == 0
    reply = shell.json("review", "reject", item, "--confirm", "--reason", "still needed")
    assert (reply["outcome"], reply["restored"]["id"]) == ("rejected", note)
    assert shell.json("recall", "zorblatt port")["hits"][0]["text"] == PORT
    shell.json("forget", note, "--mode", "purge", "--confirm", *MALLORY)
    (again,) = shell.json("review", "list")
    told = shell.run("review", "reject", again["review_id"], "--disposition", "reject-both")
    assert (told.returncode, told.stderr) == (0, "")
    assert shell.json("recall", "zorblatt port")["count"] == 0
    assert shell.json("review", "list") == []
