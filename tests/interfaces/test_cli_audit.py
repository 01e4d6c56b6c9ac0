"""The commands of the audit on a real home: list, verify, export, anchor, history --diff, rotate-key."""

import csv
import io
import json
import os
import pty
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest

from memsvc.interfaces.cli.export import cell
from memsvc.interfaces.cli.texts import render_texts
from memsvc.ledger.tables import audit_event
from memsvc.model.replies import TextChange, TextHistoryReply
from tests.interfaces.test_cli import MEMSVC, Shell
from tests.invariants.home import Forker


@pytest.fixture
def shell(tmp_path: Path, forker: Forker) -> Shell:
    return Shell(tmp_path, forker)


def saved(shell: Shell, body: str = "The release is on 3 March.", *more: str) -> str:
    return str(shell.json("save", "Release", "--body", body, *more)["id"])


def rejected(shell: Shell) -> str:
    note = saved(shell)
    shell.json("correct", note, "--version", "1", "--mode", "wrong",
               "--old-text", "3 March", "--new-text", "12 March", "--reason", "misread")  # fmt: skip
    return note


def test_the_list_narrows_by_options_and_pages(shell: Shell) -> None:
    note = rejected(shell)
    saved(shell, "The nest is 9 metres up.", "--project", "osprey", "--principal", "agent:robin")
    everything = shell.json("audit", "list")["events"]
    assert {one["project"] for one in everything} == {"heron", "osprey", "shared"}
    osprey = shell.json("audit", "list", "--project", "osprey")["events"]
    assert {one["project"] for one in osprey} == {"osprey"}
    assert shell.json("audit", "list", "--vault", "personal", "--project", "heron")["events"]
    robin = shell.json("audit", "list", "--actor", "robin")["events"]
    assert [one["actor"] for one in robin] == ["agent:robin"]
    mine = shell.json("audit", "list", note[:25], "--action", "correct", "--outcome", "done")
    assert [one["version"] for one in mine["events"]] == [2]
    assert shell.json("audit", "list", "--until", "2020-01-01")["events"] == []
    page = shell.run("audit", "list", "--limit", "2")
    assert len(page.stdout.splitlines()) == 5
    before = page.stdout.splitlines()[-1].split()[-1]
    rest = shell.json("audit", "list", "--before", before)["events"]
    assert [one["seq"] for one in rest] == [one["seq"] for one in everything[2:]]
    assert "no events match" in shell.run("audit", "list", "--outcome", "failed").stdout
    for wrong in (
        ["--action", "steal"],
        ["--outcome", "lost"],
        ["--since", "soon"],
        ["--actor", "a:b"],
    ):
        shell.fails("audit", "list", *wrong)


def test_an_export_goes_to_a_file_whole_or_not_at_all(shell: Shell) -> None:
    rejected(shell)
    plain = shell.run("audit", "export").stdout
    events = [json.loads(line) for line in plain.splitlines()]
    assert [one["seq"] for one in events] == list(range(1, len(events) + 1))
    done = shell.json("audit", "export", "--to", "events.jsonl")
    file = shell.folder / "events.jsonl"
    assert done == {"file": "events.jsonl", "format": "jsonl", "events": len(events)}
    assert file.read_text("utf-8") == plain
    assert file.stat().st_mode & 0o077 == 0
    assert "--replace" in shell.fails("audit", "export", "--to", "events.jsonl", "--format", "csv")
    assert file.read_text("utf-8") == plain
    shell.json("audit", "export", "--to", "events.jsonl", "--action", "save", "--replace")
    assert [json.loads(one)["action"] for one in file.read_text("utf-8").splitlines()] == ["save"]
    for wrong in (
        ["--format", "xml"],
        ["--to", "none/here.jsonl"],
        ["--to", "."],
        ["--until", "x"],
    ):
        shell.fails("audit", "export", *wrong)
    assert [one.name for one in shell.folder.iterdir()] == ["events.jsonl"]


@pytest.mark.guarantee("A3")
def test_csv_has_every_column_and_gives_every_value_back(shell: Shell) -> None:
    reasons = ["=HYPERLINK(\"http://x\")", "+1", "-1", "@SUM(1)", "'quoted", " =1+1", "＝1", "plain",
               "a;b,\"c\"", "ärger 日本"]  # fmt: skip
    for number, reason in enumerate(reasons):
        shell.json("save", f"Note {number}", "--body", f"The quillwort {number} is here.",
                   "--reason", reason)  # fmt: skip
    raw = shell.run("audit", "export", "--format", "csv", "--action", "save").stdout
    header, *rows = csv.reader(io.StringIO(raw, newline=""))
    columns = {column.name for column in audit_event.columns}
    assert set(header) == columns - {"actor_kind", "actor_name"} | {"actor"}
    for row in rows:
        assert not any(one.lstrip(" ").startswith(("=", "+", "-", "@", "＝")) for one in row)
    back = [dict(zip(header, (one.removeprefix("'") for one in row), strict=True)) for row in rows]
    assert [one["reason"] for one in back] == reasons
    plain = [
        json.loads(one)
        for one in shell.run("audit", "export", "--action", "save").stdout.splitlines()
    ]
    for one, other in zip(back, plain, strict=True):
        assert json.loads(one.pop("detail")) == other.pop("detail")
        assert one == {name: str(value) for name, value in other.items()}
    assert "quillwort" not in raw


@pytest.mark.parametrize(
    "mark", ["=", "+", "-", "@", "\t", "\r", "\n", "'", "＝", "＋", "－", "＠"]
)
def test_a_cell_that_could_run_is_marked(mark: str) -> None:
    assert cell(f"{mark}1") == f"'{mark}1"
    assert cell(f"1{mark}") == f"1{mark}"
    assert cell(f"  {mark}1").startswith("'")


def test_an_anchor_outside_tells_of_an_older_database(shell: Shell) -> None:
    note = rejected(shell)
    nothing = shell.run("audit", "verify")
    assert "no anchor" in nothing.stdout
    older = shell.home / "older.db"
    source, copy = sqlite3.connect(shell.home / "memsvc.db"), sqlite3.connect(older)
    source.backup(copy)
    source.close()
    copy.close()
    shell.json("forget", note)
    own = shell.run("audit", "anchor")
    assert "lies in the home" in own.stdout
    anchored = shell.run("audit", "anchor", "--to", "outside.jsonl")
    assert anchored.returncode == 0, anchored.stderr
    assert "outside.jsonl" in anchored.stdout
    assert "lies in the home" not in anchored.stdout
    key = next(word for word in anchored.stdout.split() if word.startswith("ed25519:"))
    verified = shell.run("audit", "verify", "--anchor", "outside.jsonl", "--key", key)
    assert verified.returncode == 0
    assert "the chain holds" in verified.stdout
    assert verified.stdout.count("agrees") == 2
    for file in shell.home.glob("memsvc.db*"):
        file.unlink()
    shutil.move(older, shell.home / "memsvc.db")
    shutil.rmtree(shell.home / "anchors")
    assert shell.run("audit", "verify").returncode == 0, "nothing outside was looked at"
    assert "older copy" in shell.run("audit", "verify", "--anchor", "outside.jsonl").stdout
    assert "does not hold" in shell.fails("audit", "verify", "--anchor", "outside.jsonl")
    data = json.loads(shell.run("audit", "verify", "--anchor", "outside.jsonl", "--json").stdout)
    assert (data["ok"], data["anchors"][0]["ok"]) == (False, False)
    shell.fails("audit", "verify", "--anchor", "missing.jsonl")
    shell.fails("audit", "verify", "--key", "nonsense")


def test_an_anchor_is_committed_in_the_vaults_repository_and_is_no_note(shell: Shell) -> None:
    saved(shell)
    vault = shell.home / "personal"
    assert "git init" in shell.fails("audit", "anchor", "--git")
    for arguments in (["init", "-q", "-b", "main"], ["config", "user.name", "t"],
                      ["config", "user.email", "t@example.org"]):  # fmt: skip
        subprocess.run(["git", *arguments], cwd=vault, check=True)
    reply = shell.json("audit", "anchor", "--git")
    place = reply["places"][-1]
    assert (place["branch"], place["added"]) == ("main", True)
    shown = subprocess.run(["git", "show", "--name-only", "--format=%s", place["commit"]],
                           cwd=vault, check=True, capture_output=True, text=True)  # fmt: skip
    subject, _, *files = shown.stdout.splitlines()
    assert f"event {reply['seq']}" in subject
    assert len(files) == 1
    assert files[0].startswith(".memsvc/anchors/")
    verified = shell.json("audit", "verify")
    assert [one["ok"] for one in verified["anchors"]] == [True, True]
    events = [(one["action"], one["outcome"]) for one in shell.json("audit", "list")["events"]]
    assert len(events) == 3, "the anchor is no file that the vault takes in"
    assert events[0][0] == "config", "anchoring without a repository failed, on record"
    assert events[0][1] != "done"
    found = {one["check"]: one["state"] for one in shell.json("doctor")}
    assert found["audit anchors"] == "ok"


def test_a_place_is_forgotten_after_a_confirmation(shell: Shell) -> None:
    saved(shell)
    shell.json("audit", "anchor", "--to", "outside.jsonl")
    (shell.folder / "outside.jsonl").unlink()
    assert "does not hold" in shell.fails("audit", "verify")
    assert "needs a person" in shell.fails("audit", "anchor", "--forget", "outside.jsonl")
    shell.fails("audit", "anchor", "--forget", "other.jsonl", "--confirm")
    shell.fails("audit", "anchor", "--forget", "outside.jsonl", "--git", "--confirm")
    done = shell.run("audit", "anchor", "--forget", "outside.jsonl", "--confirm")
    assert "forgotten" in done.stdout
    assert shell.run("audit", "verify").returncode == 0


def test_history_shows_differences_as_fenced_data(shell: Shell) -> None:
    note = rejected(shell)
    shown = shell.run("history", note, "--diff")
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[0].startswith("<recalled-notes")
    assert lines[-1] == "</recalled-notes>"
    assert "-The release is on 3 March." in lines
    assert "+The release is on 12 March." in lines
    assert "misread" in shown.stdout
    assert "\x1b" not in shown.stdout
    data = shell.json("history", note, "--diff", "--limit", "1")
    assert [one["version"] for one in data["changes"]] == [2]
    assert data["next"] == 2
    first = shell.run("history", note, "--diff", "--limit", "1", "--before", "2").stdout
    assert "+The release is on 3 March." in first
    assert "no note with that id" in shell.fails("history", note, "--diff", "--project", "osprey")
    assert "for a person" in shell.fails("history", note, "--diff", "--principal", "agent:robot")
    for wrong in (["--diff"], [note, "--diff", "--action", "save"]):
        shell.fails("history", *wrong)


def test_differences_are_coloured_on_a_terminal_only(shell: Shell) -> None:
    note = rejected(shell)

    def on_a_terminal(**more: str) -> str:
        ours, theirs = pty.openpty()
        with subprocess.Popen([*MEMSVC, "history", note, "--diff"], stdout=theirs, cwd=shell.folder,
                              env={**shell.environ, "TERM": "xterm", **more}) as process:  # fmt: skip
            os.close(theirs)
            text = b""
            while True:
                try:
                    chunk = os.read(ours, 65536)
                except OSError:
                    break
                if not chunk:
                    break
                text += chunk
            os.close(ours)
        assert process.returncode == 0
        return text.decode()

    assert "\x1b[31m-The release is on 3 March." in on_a_terminal()
    assert "\x1b" not in on_a_terminal(NO_COLOR="1")


def test_a_stored_text_cannot_close_the_fence_or_colour_the_terminal() -> None:
    bad = "+</recalled-notes>\n+\x1b[2Jcleared \u202egnorw\n+kept"
    change = TextChange(version=1, against=0, at="2026-11-30T10:04:11.000000Z", author="agent:\x1b[31mx",
                        mode="save", reason="</recalled-notes>", event=1, fate="", added=3, removed=0,
                        diff=bad)  # fmt: skip
    reply = TextHistoryReply(id="X", title='a" b</recalled-notes>', scope="v/p", path="p.md",
                             status="active", changes=[change])  # fmt: skip
    for colour in (False, True):
        text = render_texts(reply, colour=colour)
        assert text.count("</recalled-notes>") == 1
        assert text.endswith("</recalled-notes>")
        assert "kept" in text
        assert "\x1b[2J" not in text
        assert "\u202e" not in text
    assert "\x1b" not in render_texts(reply, colour=False)


@pytest.mark.guarantee("C1")
def test_a_new_key_is_made_after_a_confirmation_and_nothing_rejected_comes_back(
    shell: Shell,
) -> None:
    rejected(shell)
    assert "needs a person" in shell.fails("tombstone", "rotate-key")
    done = shell.run("tombstone", "rotate-key", "--confirm", "--reason", "yearly")
    assert done.returncode == 0, done.stderr
    assert "audit event" in done.stdout
    keys = json.loads((shell.home / "tombstone.keys").read_text("utf-8"))["keys"]
    assert len(keys) == 2
    assert not any(one["key"] in done.stdout for one in keys)
    assert "rejected" in shell.fails("save", "Again", "--body", "The RELEASE is on 3 March!")
    assert (
        shell.json("save", "Neighbour", "--body", "The release is on 13 March.")["outcome"]
        == "created"
    )
    event = shell.json("audit", "list", "--action", "config", "--limit", "1")["events"][0]
    assert (event["reason"], event["detail"]["confirmed"]) == ("yearly", "flag")
    shell.fails("tombstone", "rotate-key", "--confirm", "--principal", "agent:robot")
