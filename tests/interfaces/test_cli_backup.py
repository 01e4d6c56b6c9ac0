"""backup and restore on the command line: round trips, refusals, interrupted disks, living homes."""

import json
import os
import shutil
import subprocess
import sys
import time
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.test_cli import MEMSVC, Shell
from tests.invariants.home import Forker

pytestmark = pytest.mark.timeout(400)

SECRET = "a passphrase of some length"


@pytest.fixture
def shell(tmp_path: Path, forker: Forker) -> Shell:
    made = Shell(tmp_path, forker)
    (made.folder / "pass").write_text(f"{SECRET}\n")
    return made


def note(shell: Shell, title: str, body: str) -> Any:
    return shell.json("save", title, "--body", body)


def texts(shell: Shell, *query: str) -> list[str]:
    return sorted(hit["text"] for hit in shell.json("recall", *query)["hits"])


def everything(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """Bytes, time and mode of every file below a folder."""
    return {
        str(path.relative_to(folder)): (
            path.read_bytes(),
            path.stat().st_mtime_ns,
            path.stat().st_mode,
        )
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if "memsvc-tmp" in path.name or "memsvc-restore" in path.name]  # fmt: skip


def outside(shell: Shell) -> Path:
    """A vault outside the home with what such folders hold."""
    vault = shell.folder / "Notes"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / ".git").mkdir()
    (vault / ".git" / "config").write_text("[core]")
    (vault / ".obsidian" / "app.json").write_text("{}")
    (vault / "Käse (2).md").write_bytes(b"\xef\xbb\xbfThe cheese is blue.\r\n")
    (vault / "odd \\ name: 1.bin").write_bytes(bytes(range(256)) * 5000)
    (vault / "latin.md").write_bytes(b"caf\xe9 is closed on day 17")
    (vault / "empty.md").write_bytes(b"")
    (vault / "link.md").symlink_to(vault / "latin.md")
    os.utime(vault / "empty.md", ns=(10**18, 10**18))
    (vault / "empty.md").chmod(0o640)
    shell.json("vault", "add", "notes", str(vault))
    return vault


@pytest.mark.slow
@pytest.mark.guarantee("W6")
def test_a_home_and_its_vaults_come_back_byte_for_byte(shell: Shell) -> None:
    vault = outside(shell)
    kept = note(shell, "Port", "The deploy port is 6544.")
    gone = note(shell, "Tea", "The tea is at four.")
    shell.json("forget", gone["id"])
    (shell.home / "memsvc.toml").write_text('log_level = "error"\n')
    made = shell.json("backup", "b.zip", "--passphrase-file", "pass")
    assert made["notes"] == 4
    (left,) = [one["left_out"] for one in made["vaults"] if one["name"] == "notes"]
    assert [one["path"] for one in left] == [".git", "link.md"]
    assert (shell.folder / "b.zip").stat().st_mode & 0o777 == 0o600
    before = everything(vault), everything(shell.home / "personal")
    before[0].pop("link.md")
    audit = shell.json("audit", "list", "--limit", "1")["events"][0]
    assert (audit["seq"], audit["action"], audit["detail"]["backup"]) == (
        made["event"],
        "config",
        "made",
    )

    shutil.rmtree(shell.home)
    shutil.rmtree(vault)
    restored = shell.json("restore", "b.zip", "--passphrase-file", "pass", "--confirm")
    assert restored["seq"] == made["seq"]
    assert restored["withheld"] == restored["not_restored"] == []
    assert "is not known here" in restored["notices"][0]
    assert (everything(vault), everything(shell.home / "personal")) == before
    assert (shell.home / "memsvc.toml").read_text() == 'log_level = "error"\n'
    assert texts(shell, "deploy", "port", "tea") == ["The deploy port is 6544."]
    assert shell.json("read", kept["id"])["version"] == 1
    assert "was rejected here" in shell.fails("save", "Again", "--body", "The tea is at four.")
    verified = shell.json("audit", "verify", "--anchor", "b.zip")
    assert verified["ok"]
    assert verified["anchors"][-1]["seq"] == made["seq"]
    newest = shell.json("audit", "list", "--action", "restore")["events"][0]
    assert (newest["seq"], newest["detail"]["seq"]) == (restored["event"], made["seq"])
    assert leftovers(shell.folder.parent) == []
    assert not (shell.home.stat().st_mode & 0o077)


def test_an_archive_holds_no_key_and_no_index_and_opens_as_a_plain_zip(shell: Shell) -> None:
    saved = note(shell, "Port", "The deploy port is 6544.")
    shell.json("forget", note(shell, "Tea", "The tea is at four.")["id"])
    keys = [one["key"] for one in json.loads((shell.home / "tombstone.keys").read_text())["keys"]]
    shell.json("backup", "b.zip", "--passphrase-file", "pass")
    shell.json("backup", "c.zip", "--keys", "c.keys")
    assert (shell.folder / "c.keys").stat().st_mode & 0o777 == 0o600
    assert keys[0] in (shell.folder / "c.keys").read_text()
    for name in ("b.zip", "c.zip"):
        with zipfile.ZipFile(shell.folder / name) as archive:
            assert archive.testzip() is None
            unpacked = b"".join(archive.read(one) for one in archive.namelist())
            text = archive.read(f"vaults/personal/{saved['path']}")
            ledger = archive.read("ledger.db")
        assert b"The deploy port is 6544." in text
        assert b"audit_event" in ledger
        assert b"index_chunk" not in ledger
        assert keys[0].encode() not in unpacked
        assert bytes.fromhex(keys[0]) not in unpacked


@pytest.mark.slow
def test_a_restored_home_takes_the_rejections_of_its_keys_and_refuses_others(shell: Shell) -> None:
    shell.json("forget", note(shell, "Tea", "The tea is at four.")["id"])
    shell.json("backup", "b.zip", "--keys", "b.keys")
    shell.json("backup", "c.zip", "--keys", "c.keys")
    other = ["--into", "new", "--confirm"]
    assert "another backup" in shell.fails("restore", "b.zip", "--keys", "c.keys", *other)
    assert "give that file with --keys" in shell.fails("restore", "b.zip", *other)
    assert "cannot be read" in shell.fails("restore", "b.zip", "--keys", "no.keys", *other)
    data = json.loads((shell.folder / "b.keys").read_text())
    data["files"].pop("tombstone.keys")
    (shell.folder / "less.keys").write_text(json.dumps(data))
    assert "no usable tombstone keys" in shell.fails(
        "restore", "b.zip", "--keys", "less.keys", *other
    )
    assert not (shell.folder / "new").exists()
    assert leftovers(shell.folder) == []
    shell.json("restore", "b.zip", "--keys", "b.keys", *other)
    assert (shell.folder / "new" / "memsvc.db").exists()


@pytest.mark.slow
def test_what_is_there_is_never_overwritten_or_moved_aside(shell: Shell) -> None:
    vault = outside(shell)
    note(shell, "Port", "The deploy port is 6544.")
    shell.json("backup", "b.zip", "--keys", "b.keys")
    restore = ("restore", "b.zip", "--keys", "b.keys", "--confirm")
    home, files = everything(shell.home), everything(vault)
    assert "not empty; nothing was touched" in shell.fails(*restore)
    assert "--keep notes" in shell.fails(*restore, "--into", "new")
    assert "takes VAULT=FOLDER" in shell.fails(*restore, "--into", "new", "--folder", "notes")
    inside = (*restore, "--into", "new", "--folder", f"notes={shell.folder}/new/personal/sub")
    assert "inside one another" in shell.fails(*inside)
    busy = shell.folder / "busy"
    busy.mkdir()
    (busy / "file").write_text("mine")
    assert "not empty" in shell.fails(*restore, "--into", "busy")
    assert "not empty" in shell.fails(*restore, "--into", "new", "--folder", f"notes={busy}")
    assert (everything(vault), everything(busy)) == (files, everything(busy))
    assert {k: v for k, v in everything(shell.home).items() if "memsvc.db" not in k} == {
        k: v for k, v in home.items() if "memsvc.db" not in k
    }
    assert not (shell.folder / "new").exists()
    assert leftovers(shell.folder) == []
    assert (busy / "file").read_text() == "mine"

    beside = shell.json(*restore, "--into", "new", "--beside")
    assert {one["name"]: one["folder"] for one in beside["vaults"]} == {
        "notes": str(shell.folder / "new/vaults/notes"),
        "personal": str(shell.folder / "new/personal"),
    }
    found = shell.json("recall", "deploy", "port", "--home", str(shell.folder / "new"))
    assert [hit["text"] for hit in found["hits"]] == ["The deploy port is 6544."]
    assert everything(vault) == files


@pytest.mark.slow
def test_a_kept_folder_stays_and_what_differs_passes_the_gateway(shell: Shell) -> None:
    vault = outside(shell)
    there = ("--vault", "notes", "--project", "shared")
    saved = shell.json("save", "Gate", "--body", "The gate code is 5512.", *there)
    other = shell.json("save", "Lamp", "--body", "The lamp is red at 7.", *there)
    shell.json("forget", saved["id"], *there)
    shell.json("backup", "b.zip", "--keys", "b.keys")
    shutil.rmtree(shell.home)
    (vault / "new.md").write_text("The gate code is 5512.")
    (vault / other["path"]).write_text("The lamp is green at 8.")
    before = everything(vault)
    done = shell.json("restore", "b.zip", "--keys", "b.keys", "--keep", "notes", "--confirm")
    assert everything(vault) == before
    assert [one["why"] for one in done["withheld"]] == ["withheld: rejected_claim"]
    found = shell.json("recall", "gate", "code", "lamp", *there)["hits"]
    assert "The lamp is green at 8." in [hit["text"] for hit in found]
    assert not [hit for hit in found if "5512" in hit["text"]]


@pytest.mark.slow
def test_requests_that_make_no_sense_are_refused_in_one_line(shell: Shell) -> None:
    note(shell, "Port", "The deploy port is 6544.")
    assert "say where the secret keys go" in shell.fails("backup", "b.zip")
    both = ("--keys", "k", "--passphrase-file", "pass")
    assert "not both" in shell.fails("backup", "b.zip", *both)
    assert "is empty" in shell.fails("backup", "b.zip", "--passphrase-file", "-", stdin=b"\n")
    assert "for the person" in shell.fails(
        "backup", "b.zip", "--keys", "k", "--principal", "agent:x"
    )
    assert not (shell.folder / "b.zip").exists()
    assert not (shell.folder / "k").exists()
    shell.json("backup", "b.zip", "--keys", "k")
    restore = ("restore", "b.zip", "--keys", "k", "--into", "new")
    assert "--confirm" in shell.fails(*restore)
    assert "person" in shell.fails(*restore, "--confirm", "--principal", "agent:x")
    assert "--into" in shell.fails("restore", "b.zip", "--keys", "k", "--beside", "--confirm")
    assert "goes with" in shell.fails(*restore, "--merge", "--confirm")
    assert not (shell.folder / "new").exists()


def test_a_dry_run_reads_everything_and_writes_nothing(shell: Shell) -> None:
    note(shell, "Port", "The deploy port is 6544.")
    shell.json("backup", "b.zip", "--keys", "k")
    run = ("restore", "b.zip", "--keys", "k", "--into", "new", "--dry-run")
    told = shell.json(*run)
    assert (told["dry_run"], told["files"]) == (True, 1)
    assert not (shell.folder / "new").exists()
    data = bytearray((shell.folder / "b.zip").read_bytes())
    data[60] ^= 0xFF
    (shell.folder / "b.zip").write_bytes(data)
    assert "no whole memsvc backup" in shell.fails(*run)


@pytest.mark.slow
def test_a_full_disk_leaves_no_half_archive_and_the_old_one(shell: Shell) -> None:
    note(shell, "Port", "The deploy port is 6544.")
    shell.json("backup", "b.zip", "--keys", "k")
    before = (shell.folder / "b.zip").read_bytes(), (shell.folder / "k").read_bytes()
    note(shell, "Noise", " ".join(f"word{number * 7919}" for number in range(8000)))
    (shell.home / "personal" / "noise.bin").write_bytes(os.urandom(3_000_000))
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (2_500_000, 2_500_000));"
        "from memsvc.interfaces.cli.app import run; run(sys.argv[1:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "backup", "b.zip", "--keys", "k", "--replace"],
        env=shell.environ, cwd=shell.folder, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith("memsvc: ")
    assert len(done.stderr.splitlines()) == 1
    assert ((shell.folder / "b.zip").read_bytes(), (shell.folder / "k").read_bytes()) == before
    assert leftovers(shell.folder) == []
    shell.json("backup", "b.zip", "--keys", "k", "--replace")
    assert len((shell.folder / "b.zip").read_bytes()) > 3_000_000


@pytest.mark.slow
def test_a_vault_that_cannot_be_read_is_named_and_may_be_left_out(shell: Shell) -> None:
    vault = outside(shell)
    saved = shell.json("save", "Lamp", "--body", "The lamp is red at 7.", "--vault", "notes")
    shell.json("recall", "lamp", "--vault", "notes")
    away = vault.rename(shell.folder / "Away")
    assert "--without notes" in shell.fails("backup", "b.zip", "--keys", "k")
    made = shell.json("backup", "b.zip", "--keys", "k", "--without", "notes")
    assert [one["copied"] for one in made["vaults"]] == [False, True]
    shutil.rmtree(shell.home)
    shutil.rmtree(away)
    done = shell.json("restore", "b.zip", "--keys", "k", "--confirm")
    assert "vault notes: 3 notes written from the ledger" in done["notices"]
    assert "2 notes are not in the ledger byte for byte" in " ".join(done["notices"])
    assert "is closed on day 17" in (vault / "latin.md").read_text("utf-8")
    assert (vault / saved["path"]).exists()
    found = shell.json("recall", "lamp", "--vault", "notes")["hits"]
    assert [hit["text"] for hit in found] == ["The lamp is red at 7."]


@pytest.mark.slow
@pytest.mark.guarantee("W4")
def test_a_backup_of_a_home_in_use_is_one_moment_of_it(shell: Shell) -> None:
    note(shell, "Seed", "The seed number is 1.")
    environ = {**shell.environ, "PYTHONPATH": os.environ.get("PYTHONPATH", str(Path.cwd()))}
    writers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.e2e.writer", str(shell.home), f"w{number}", "40"],
            env=environ, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True,
        )
        for number in range(2)
    ]  # fmt: skip
    made: list[Any] = []
    while any(one.poll() is None for one in writers) and len(made) < 4:
        made.append(shell.json("backup", f"b{len(made)}.zip", "--keys", f"k{len(made)}"))
        time.sleep(0.2)
    for one in writers:
        one.communicate(timeout=100)
        assert one.returncode == 0
    assert len({one["seq"] for one in made}) > 1
    for number, one in enumerate(made):
        done = shell.json("restore", f"b{number}.zip", "--keys", f"k{number}", "--into",
                          f"new{number}", "--beside", "--confirm")  # fmt: skip
        assert (done["seq"], done["withheld"]) == (one["seq"], [])
        home = ("--home", str(shell.folder / f"new{number}"))
        events = shell.json("audit", "list", "--limit", "200", *home)["events"]
        assert [event for event in events if event["action"].startswith("file_")] == []
        assert shell.json("audit", "verify", *home)["ok"]


def test_progress_is_drawn_on_a_terminal_only(shell: Shell) -> None:
    import pty

    note(shell, "Port", "The deploy port is 6544.")
    assert shell.run("backup", "a.zip", "--keys", "ka").stderr == ""
    mine, theirs = pty.openpty()
    done = subprocess.run(
        [*MEMSVC, "backup", "b.zip", "--keys", "kb", "--json"],
        env={**shell.environ, "TERM": "xterm"}, cwd=shell.folder, stdout=subprocess.PIPE, stderr=theirs,
        timeout=60, check=True,
    )  # fmt: skip
    os.close(theirs)
    drawn = b""
    with suppress(OSError):  # the end of a terminal
        while piece := os.read(mine, 65536):
            drawn += piece
    os.close(mine)
    assert json.loads(done.stdout)["notes"] == 1
    assert b"verifying" in drawn or b"notes" in drawn
