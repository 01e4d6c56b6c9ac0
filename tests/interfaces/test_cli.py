"""The command line on a real home: what it prints, where, and how it ends."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

import memsvc
from memsvc import __version__
from memsvc.interfaces.cli.app import build
from tests.invariants.home import Forker

MEMSVC = [sys.executable, "-m", "memsvc"]


class Shell:
    """Runs memsvc in a folder, on a home of its own; see `tests.invariants.forker` for how."""

    def __init__(self, folder: Path, forker: Forker) -> None:
        self._forker = forker
        self.folder = folder / "heron"
        self.folder.mkdir()
        self.home = folder / "home"
        plain = {name: text for name, text in os.environ.items() if "MEMSVC" not in name}
        self.environ = {**plain, "MEMSVC_HOME": str(self.home), "MEMSVC_EMBEDDER": "none"}

    def run(self, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
        done = self._forker.run(list(arguments), cwd=self.folder, environ=self.environ, stdin=stdin)
        return subprocess.CompletedProcess(arguments, done.code, done.out, done.err)

    def json(self, *arguments: str, stdin: bytes = b"") -> Any:
        done = self.run(*arguments, "--json", stdin=stdin)
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.splitlines()) == 1
        return json.loads(done.stdout)

    def fails(self, *arguments: str, stdin: bytes = b"") -> str:
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == 1, (done.stdout, done.stderr)
        assert len(done.stderr.splitlines()) == 1
        assert done.stderr.startswith("memsvc: ")
        assert "Traceback" not in done.stderr
        return done.stderr


@pytest.fixture
def shell(tmp_path: Path, forker: Forker) -> Shell:
    return Shell(tmp_path, forker)


def commands() -> Iterator[tuple[str, Any]]:
    def walk(prefix: str, group: Any) -> Iterator[tuple[str, Any]]:
        for name, found in group.commands.items():
            yield f"{prefix}{name}", found
            if hasattr(found, "commands"):
                yield from walk(f"{prefix}{name} ", found)

    yield from walk("", typer.main.get_command(build()))


def test_every_command_and_every_option_has_a_help_text() -> None:
    found = dict(commands())
    wanted = (
        "init", "vault add", "vault list", "vault remove", "vault accept", "save", "recall", "correct", "forget",
        "read", "history", "scopes", "audit list", "audit verify", "audit export",
        "tombstone list", "tombstone lift", "review list", "reindex", "doctor", "stats", "mcp",
        "db upgrade", "db check", "demo",
    )  # fmt: skip
    assert set(wanted) <= set(found)
    for name, command in found.items():
        assert command.help, name
        for parameter in command.params:
            assert getattr(parameter, "help", ""), f"{name} {parameter.name}"
        if not hasattr(command, "commands"):
            options = {option for parameter in command.params for option in parameter.opts}
            assert {"--home", "--vault", "--project", "--principal", "--json"} <= options, name


def test_every_command_that_a_message_names_exists() -> None:
    known = dict(commands())
    named = {
        match.group(1)
        for path in Path(memsvc.__file__).parent.rglob("*.py")
        for match in re.finditer(r"memsvc ((?:[a-z]+ )?[a-z-]+)[ `{]", path.read_text("utf-8"))
        if match.group(1).split()[0] in known
    }
    assert "tombstone lift" in named
    groups = {name for name, command in known.items() if hasattr(command, "commands")}
    assert {name for name in named if name.split()[0] in groups} <= set(known)


def test_the_version_is_shown_and_usage_errors_end_with_2(shell: Shell) -> None:
    assert shell.run("--version").stdout == f"memsvc {__version__}\n"
    assert shell.run("recall", "--help").returncode == 0
    for wrong in (("recal", "x"), ("recall",), ("recall", "x", "--nope"), ("read",)):
        done = shell.run(*wrong)
        assert done.returncode == 2, wrong
        assert done.stdout == ""
        assert done.stderr


def test_a_note_goes_round_save_recall_read_correct_forget(shell: Shell) -> None:
    saved = shell.json("save", "Release", "--body", "The release is on 3 March.", "--tag", "plan",
                       "--tag", "date", "--source", "meeting")  # fmt: skip
    assert (saved["outcome"], saved["scope"]) == ("created", "personal/heron")
    found = shell.run("recall", "when", "is", "the", "release")
    assert found.returncode == 0
    assert found.stdout.startswith("<recalled-notes")
    assert "3 March" in found.stdout
    read = shell.json("read", saved["id"])
    assert (read["tags"], read["source"]) == (["plan", "date"], ["meeting"])
    corrected = shell.json("correct", saved["id"], "--version", "1", "--mode", "wrong",
                           "--old-text", "3 March", "--new-text", "12 March")  # fmt: skip
    assert corrected["version"] == 2
    assert shell.json("recall", "release")["hits"][0]["text"].count("12 March") == 1
    assert "rejected" in shell.fails("save", "Again", "--body", "The release is on 3 March.")
    forgotten = shell.json("forget", saved["id"], "--reason", "cancelled")
    assert forgotten["outcome"] == "retracted"
    assert shell.json("recall", "release")["count"] == 0
    actions = [event["action"] for event in shell.json("history")["events"]]
    assert {"save", "correct", "forget"} <= set(actions)


@pytest.mark.parametrize(
    ("arguments", "stdin"),
    [
        (["--body", "from the option"], b"ignored"),
        (["--body-file", "body.md"], b"ignored"),
        (["--body-file", "-"], b"from stdin"),
        (["--body", "-"], b"from stdin"),
        (["-"], b"from stdin"),
        ([], b"from stdin"),
        (["from the argument"], b"ignored"),
    ],
)
def test_the_text_comes_from_where_the_options_say(
    shell: Shell, arguments: list[str], stdin: bytes
) -> None:
    (shell.folder / "body.md").write_text("from the file", encoding="utf-8")
    saved = shell.json("save", "Where", *arguments, stdin=stdin)
    body = shell.json("read", saved["id"])["body"].strip()
    assert body.startswith("from ")
    assert (body == "from stdin") == (stdin == b"from stdin")


def test_global_options_are_taken_before_and_after_the_command(shell: Shell) -> None:
    before = shell.run("--json", "--project", "osprey", "scopes")
    after = shell.run("scopes", "--json", "--project=osprey")
    assert json.loads(before.stdout)["project"] == json.loads(after.stdout)["project"] == "osprey"
    assert shell.json("--project", "osprey", "scopes", "--project", "kite")["project"] == "kite"
    assert shell.json("scopes")["project"] == "heron"
    assert shell.json("scopes", "--principal", "agent:robot")["principal"] == "agent:robot"


def test_another_project_sees_nothing_and_its_own_note_is_there(shell: Shell) -> None:
    saved = shell.json("save", "Release", "--body", "The release is on 12 March.")
    assert shell.json("recall", "release", "--project", "osprey")["count"] == 0
    assert "no note with that id" in shell.fails("read", saved["id"], "--project", "osprey")
    assert shell.json("recall", "release")["count"] == 1


def test_an_expected_failure_is_one_line_and_with_json_the_error_object_too(shell: Shell) -> None:
    shell.fails("read", "nothing")
    done = shell.run("read", "nothing", "--json")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    error = json.loads(done.stdout)["error"]
    assert set(error) == {"code", "message", "data"}
    assert error["code"] == "not_found"


@pytest.mark.parametrize(
    "arguments",
    [
        ["save", "T", "--body", "x", "--kind", "essay"],
        ["save", "T", "--body-file", "missing.md"],
        ["save", "T", "--body", "x", "--body-file", "y"],
        ["scopes", "--project", "*"],
        ["scopes", "--vault", "nowhere"],
        ["recall", "x", "--k", "0"],
        ["recall", "x", "--detail", "all"],
        ["vault", "add", "team", "/nonexistent/folder"],
        ["vault", "add", "team", ".", "--map", "nonsense"],
        ["tombstone", "lift", "nothing"],
        ["forget", "x", "--mode", "purge"],
    ],
)
def test_what_cannot_be_done_says_why_in_one_line(shell: Shell, arguments: list[str]) -> None:
    shell.fails(*arguments)


def test_a_stale_correction_shows_the_current_text(shell: Shell) -> None:
    saved = shell.json("save", "Release", "--body", "The release is on 12 March.")
    shell.json("correct", saved["id"], "--version", "1", "--mode", "changed", "--body", "It moved.")
    done = shell.run("correct", saved["id"], "--version", "1", "--mode", "amend", "--body", "No.")
    assert done.returncode == 1
    assert "It moved." in done.stdout
    assert done.stdout.startswith("<recalled-notes")


def test_a_person_lists_and_lifts_what_was_rejected(shell: Shell) -> None:
    saved = shell.json("save", "Release", "--body", "The release is on 12 March.")
    shell.json("forget", saved["id"])
    standing = shell.json("tombstone", "list")
    assert standing
    assert "12 March" not in str(standing)
    for one in standing:
        identity = one["tombstone_id"]
        assert "needs a person" in shell.fails("tombstone", "lift", identity)
        shell.json("tombstone", "lift", identity, "--reason", "it was right", "--confirm")
    assert all(one["lifted_by"] for one in shell.json("tombstone", "list"))
    again = shell.json("save", "Release", "--body", "The release is on 12 March.")
    assert again["outcome"] == "created"


def test_the_audit_is_listed_verified_and_exported(shell: Shell) -> None:
    shell.json("save", "Release", "--body", "The release is on 12 March.")
    listed = shell.json("audit", "list")["events"]
    exported = [json.loads(line) for line in shell.run("audit", "export").stdout.splitlines()]
    assert exported
    assert {event["hash"] for event in listed} <= {event["hash"] for event in exported}
    assert "12 March" not in str(exported)
    verified = shell.run("audit", "verify")
    assert verified.returncode == 0
    assert "the chain holds" in verified.stdout
    newest, *older = listed
    page = shell.json("audit", "list", "--since", str(newest["seq"]))["events"]
    assert [event["seq"] for event in page] == [event["seq"] for event in older]


def test_a_vault_is_added_listed_and_removed_and_its_files_stay(shell: Shell) -> None:
    team = shell.folder.parent / "team"
    (team / "Plans").mkdir(parents=True)
    note = team / "Plans" / "Heron.md"
    note.write_text("# Heron\n\nThe heron plan is to ship in March.\n", encoding="utf-8")
    before = note.read_bytes()
    added = shell.json("vault", "add", "team", str(team), "--map", "Plans=heron")
    assert added["name"] == "team"
    assert {"team", "personal"} <= {vault["name"] for vault in shell.json("vault", "list")}
    assert shell.json("recall", "heron", "plan", "--vault", "team")["count"] == 1
    shell.json("vault", "remove", "team")
    assert "team" not in {vault["name"] for vault in shell.json("vault", "list")}
    assert note.read_bytes() == before


def test_the_keepers_commands_answer_on_a_new_home(shell: Shell) -> None:
    assert shell.run("db", "check").returncode == 1
    assert shell.run("init").returncode == 0
    assert shell.run("db", "check").returncode == 0
    for command in ("db upgrade", "reindex", "stats", "doctor", "review list", "vault list"):
        done = shell.run(*command.split())
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        assert done.stdout.strip(), command
        shell.json(*command.split())


def test_the_doctor_finds_a_database_that_is_none(shell: Shell) -> None:
    shell.home.mkdir()
    (shell.home / "memsvc.db").write_bytes(b"no database" * 500)
    done = shell.run("doctor")
    assert done.returncode == 1
    assert "fail" in done.stdout
    assert "Traceback" not in done.stderr


def test_the_demo_keeps_every_promise(shell: Shell) -> None:
    done = shell.run("demo")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FAIL" not in done.stdout
    assert "refused" in done.stdout
    assert not shell.home.exists()


def test_a_reader_that_leaves_ends_the_output_quietly(shell: Shell) -> None:
    shell.json("save", "Release", "--body", "The release is on 12 March.")
    with subprocess.Popen(
        [*MEMSVC, "audit", "export"],
        env=shell.environ,
        cwd=shell.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
