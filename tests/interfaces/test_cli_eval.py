"""`memsvc eval` on a real home: what it prints, keeps and compares, and how it ends."""

import json
import stat
from pathlib import Path

import pytest

from tests.interfaces.test_cli import Shell, commands
from tests.invariants.home import Forker

OTHER = "The lighthouse of osprey blinks twice every minute."


@pytest.fixture
def shell(tmp_path: Path, forker: Forker) -> Shell:
    made = Shell(tmp_path, forker)
    made.json("vault", "list")
    notes = made.home / "personal" / "heron"
    notes.mkdir(parents=True)
    (notes.parent / "osprey").mkdir()
    texts = {
        "heron/crane.md": "# Crane\n\nA crane unloads containers of the northern ferry.\n",
        "heron/timetable.md": "# Timetable\n\nThe ferry leaves the northern pier. [[crane]]\n",
        "heron/buoy.md": "# Buoy\n\nA buoy marks the channel of the outer sector.\n",
        "heron/x/plan.md": "# Plan\n\nThe plan of spring is to dredge the basin.\n",
        "heron/y/plan.md": "# Plan\n\nThe plan of autumn is to paint the cranes.\n",
        "osprey/light.md": f"# Lighthouse\n\n{OTHER}\n",
    }
    for path, text in texts.items():
        target = notes.parent / path
        target.parent.mkdir(exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return made


def test_eval_commands_are_there_and_say_where_the_text_lies(shell: Shell) -> None:
    found = dict(commands())
    assert {"eval build", "eval run"} <= set(found)
    assert "gold.json" in found["eval build"].help
    assert "text of your notes" in found["eval build"].help
    assert "--allow-loss" in shell.run("eval", "run", "--help").stdout


@pytest.mark.slow
def test_gold_is_built_of_the_own_project_and_kept_in_the_home(shell: Shell) -> None:
    assert "`memsvc eval build`" in shell.fails("eval", "run")
    built = shell.json("eval", "build", "--limit", "40")
    assert built["questions"] == {"title": 3, "body": 5, "bridge": 1, "temporal": 0}
    assert built["excluded"]["title"] == {"ambiguous name": 2}
    gold = shell.home / built["path"]
    assert gold == shell.home / "eval" / "personal" / "heron" / "gold.json"
    assert stat.S_IMODE(gold.stat().st_mode) == 0o600
    text = gold.read_text("utf-8")
    assert "northern ferry" in text
    assert "lighthouse" not in text.lower()
    there = shell.json("eval", "build", "--project", "osprey")
    assert OTHER in (shell.home / there["path"]).read_text("utf-8")
    assert shell.json("eval", "build", "--limit", "1")["questions"]["body"] == 1
    again = shell.json("eval", "build", "--limit", "40")
    assert again["gold"] == built["gold"]
    assert shell.json("eval", "build", "--limit", "2", "--seed", "7")["gold"] != built["gold"]


@pytest.mark.slow
def test_a_run_shows_arms_by_class_and_a_worse_one_ends_with_1(shell: Shell) -> None:
    shell.json("eval", "build")
    first = shell.run("eval", "run")
    assert first.returncode == 0, first.stderr
    for word in ("words only", "no links", "default", "bridge", "nDCG@12", "p95", "no earlier run"):
        assert word in first.stdout
    assert "northern" not in first.stdout
    same = shell.json("eval", "run")
    assert same["compared"]["with"].startswith("the run of ")
    assert {one["after"] - one["before"] for one in same["compared"]["differences"]} == {0}
    worse = ("eval", "run", "--set", "lexical=false")
    said = shell.fails(*worse)
    assert "a class lost more than 0.01 nDCG" in said
    assert "title 1.0000 to 0.0000 (default with lexical=false)" in said
    assert "--allow-loss" in said
    allowed = shell.json(*worse, "--allow-loss")
    lost = {one["class"] for one in allowed["compared"]["differences"] if one["lost"]}
    assert lost == {"title", "body", "bridge"}
    assert shell.run("eval", "run").returncode == 0
    kept = (shell.home / "eval" / "personal" / "heron" / "runs.jsonl").read_text("utf-8")
    assert len(kept.splitlines()) == 5
    assert "northern" not in kept


@pytest.mark.slow
def test_a_vault_that_got_worse_ends_with_1_until_the_loss_is_accepted(shell: Shell) -> None:
    shell.json("eval", "build")
    assert shell.run("eval", "run").returncode == 0
    notes = shell.home / "personal" / "heron"
    for number in range(14):  # more notes of the same words than a reply holds
        path = notes / f"twin{number}.md"
        path.write_text("# Crane Crane\n\nCrane crane crane.\n", encoding="utf-8")
    (notes / "buoy.md").write_text("# Float\n\nNothing of that is said here now.\n", "utf-8")
    shell.fails("eval", "run")
    assert "lost more than 0.01" in shell.fails("eval", "run")  # a bad run is no new baseline
    accepted = shell.run("eval", "run", "--allow-loss")
    assert accepted.returncode == 0
    assert "LOST" in accepted.stdout
    assert "notes 5 then, 19 now" in accepted.stdout
    assert "about notes that changed since" in accepted.stdout
    assert shell.run("eval", "run").returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["eval", "run", "--set", "nonsense=1"],
        ["eval", "run", "--set", "links"],
        ["eval", "build", "--project", "../heron"],
        ["eval", "build", "--project", "empty"],
    ],
)
def test_what_cannot_be_measured_says_why_in_one_line(shell: Shell, arguments: list[str]) -> None:
    shell.fails(*arguments)
    assert not (shell.home / "eval").exists()
    assert json.loads(shell.run("eval", "build", "--json").stdout)["questions"]["body"] == 5
