"""export and import as a person without a terminal runs them."""

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.test_cli import MEMSVC, Shell
from tests.invariants.home import Forker


@pytest.fixture
def shell(tmp_path: Path, forker: Forker) -> Shell:
    return Shell(tmp_path, forker)


def notes_in(folder: Path, count: int) -> Path:
    folder.mkdir()
    for number in range(count):
        text = f"# Heron {number}\n\nHeron {number} stands in reed bed {number * 7}.\n"
        (folder / f"heron {number}.md").write_text(text, "utf-8")
    return folder


def test_an_import_asks_for_a_persons_word_and_tells_what_it_did(
    shell: Shell, tmp_path: Path
) -> None:
    folder = notes_in(tmp_path / "notes", 2)
    (folder / "secret.md").write_text("The token is ghp_x7Kd92mQpL0sVbN4rT8uYcE1wZaH5jF3gR6o.\n")
    assert "--confirm" in shell.fails("import", str(folder))
    dry = shell.run("import", str(folder), "--dry-run")
    assert "would be: 2 created, 1 refused" in dry.stdout
    assert "bed 7" not in shell.run("recall", "Heron 1 reed").stdout
    done = shell.run("import", str(folder), "--yes")
    assert done.returncode == 1
    assert done.stderr == "memsvc: not imported: 1 record\n"
    assert "2 created, 1 refused" in done.stdout
    assert "refused   secret.md: the text holds a secret (rule: " in done.stdout
    assert "ghp_" not in done.stdout
    assert "bed 7" in shell.run("recall", "Heron 1 reed").stdout
    (folder / "secret.md").unlink()
    again = shell.json("import", str(folder), "--confirm")
    assert again["records"]["unchanged"] == 2
    assert again["told"] == []


def test_export_and_import_speak_json_and_refuse_in_one_line(shell: Shell, tmp_path: Path) -> None:
    shell.json("save", "Heron date", "--body", "The heron release is on 12 March.")
    out = str(tmp_path / "out.json")
    reply = shell.json("export", out)
    assert (reply["notes"], reply["scope"]) == (1, "personal/heron")
    assert "--replace" in shell.fails("export", out)
    assert shell.json("export", out, "--replace")["notes"] == 1
    assert "no notes" in shell.fails("export", out, "--replace", "--project", "heorn")
    assert len(Path(out).read_text("utf-8").splitlines()) == 3
    piped = shell.run("export", "-")
    assert [json.loads(line).get("title") for line in piped.stdout.splitlines()] == [
        None,
        "Heron date",
        None,
    ]


def test_a_folder_is_exported_once_and_imported_where_it_is_wanted(
    shell: Shell, tmp_path: Path
) -> None:
    shell.json("save", "Heron date", "--body", "The heron release is on 12 March.")
    folder = str(tmp_path / "out")
    assert shell.json("export", folder, "--format", "markdown")["notes"] == 1
    assert "not empty" in shell.fails("export", folder, "--format", "markdown")
    assert shell.json("export", folder, "--format", "markdown", "--replace")["notes"] == 1
    there = ("--project", "osprey")
    assert shell.json("import", folder, "--confirm", *there)["records"]["created"] == 1
    assert shell.json("import", folder, "--dry-run")["records"]["unchanged"] == 1


def test_what_cannot_be_is_refused_in_one_line(shell: Shell, tmp_path: Path) -> None:
    shell.json("save", "Heron date", "--body", "The heron release is on 12 March.")
    out = str(tmp_path / "out.json")
    shell.fails("export", out, "--format", "html")
    shell.fails("export", "-", "--format", "markdown")
    shell.fails("export", str(tmp_path / "no" / "such" / "x.json"))
    shell.fails("import", str(tmp_path / "no"), "--confirm")
    agents = ("--principal", "agent:robin")
    assert "reviewer" in shell.fails("export", out, "--all", *agents)
    assert shell.json("export", out, *agents)["notes"] == 1
    shell.fails("import", out, "--format", "obsidian", "--confirm")


def test_an_okf_bundle_has_its_links_from_the_top_made_to_work(
    shell: Shell, tmp_path: Path
) -> None:
    folder = tmp_path / "bundle"
    (folder / "a").mkdir(parents=True)
    (folder / "b").mkdir()
    (folder / "a" / "one.md").write_text(
        "---\ntype: Metric\n---\nSee the [orders](/b/two.md#rows) of the heron shop.\n"
    )
    (folder / "b" / "two.md").write_text("---\ntype: Table\ntitle: Orders\n---\nRows of orders.\n")
    (folder / "b" / "bare.md").write_text("No front matter at all, only words.\n")
    done = shell.run("import", str(folder), "--format", "memex", "--confirm", "--json")
    reply = json.loads(done.stdout)
    assert (reply["records"]["created"], reply["records"]["refused"]) == (2, 1)
    text = (shell.home / "personal" / "heron" / "a" / "one.md").read_text()
    assert "[orders](../b/two.md#rows)" in text
    assert "type: Metric\n" in text
    assert "kind: fact\n" in text
    (hit,) = shell.json("recall", "orders of the heron shop")["hits"][:1]
    seen = shell.json("read", hit["id"])
    assert [one["title"] for one in seen["links_out"]] == ["Orders"]


def test_a_memory_file_becomes_linked_notes(shell: Shell, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {
            "type": "entity",
            "name": "Heron",
            "entityType": "project",
            "observations": ["Ships on 12 March", "Written in Rust"],
        },
        {"type": "entity", "name": "Ann", "entityType": "person", "observations": ["Leads Heron"]},
        {"type": "relation", "from": "Ann", "to": "Heron", "relationType": "leads"},
    ]
    path = tmp_path / "memory.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + "{cut", "utf-8")
    done = shell.run("import", str(path), "--confirm")
    assert done.returncode == 1
    assert "line 4" in done.stdout
    (hit,) = [
        one for one in shell.json("recall", "who leads Heron")["hits"] if one["title"] == "Ann"
    ]
    seen = shell.json("read", hit["id"])
    assert [one["title"] for one in seen["links_out"]] == ["Heron"]
    assert "entity_type: person" in (shell.home / "personal" / hit["path"]).read_text()
    again = json.loads(shell.run("import", str(path), "--confirm", "--json").stdout)
    assert again["records"]["unchanged"] == 2


@pytest.mark.slow
@pytest.mark.guarantee("W4")
@pytest.mark.parametrize(("after", "done"), [(5, 0), (60, 25)])
def test_a_killed_import_leaves_no_half_note_and_is_repeated_to_the_same_end(
    shell: Shell, tmp_path: Path, after: int, done: int
) -> None:
    folder = notes_in(tmp_path / "notes", 120)
    shell.json("init")
    place = shell.home / "personal" / "heron"
    running = subprocess.Popen(
        [*MEMSVC, "import", str(folder), "--confirm"],
        env=shell.environ,
        cwd=shell.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    limit = time.monotonic() + 60
    while running.poll() is None and time.monotonic() < limit:
        if place.is_dir() and len(list(place.iterdir())) >= after:
            running.send_signal(signal.SIGKILL)
            break
    assert running.wait(60) == -signal.SIGKILL
    reply = shell.json("import", str(folder), "--confirm")
    records = reply["records"]
    assert records["created"] + records["unchanged"] == 120
    assert records["created"] > 0
    assert records["unchanged"] >= done
    files = sorted(place.rglob("*"))
    assert len(files) == 120
    assert not [path for path in files if path.name.startswith(".")]
    out = tmp_path / "out.json"
    assert shell.json("export", str(out))["notes"] == 120
    titles = {json.loads(line)["title"] for line in out.read_text().splitlines()[1:-1]}
    assert titles == {f"Heron {number}" for number in range(120)}
    assert shell.run("audit", "verify").returncode == 0
