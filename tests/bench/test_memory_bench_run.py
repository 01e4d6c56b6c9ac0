"""memory-bench run through the product: the committed row again, and small vaults end to end."""

import json
from pathlib import Path

import pytest

from bench.memory_bench import result
from bench.memory_bench.adapter import Bench, NotWhole
from bench.memory_bench.data import TestSet, load
from bench.memory_bench.run import RESULTS, check, main
from memsvc.service.recall.tuning import Tuning

pytestmark = pytest.mark.slow

NOTES = {
    "port-old": 'status: superseded\nsuperseded_by: "[[port-new]]"\n---\n'
    "# Port of the gateway\n\nThe mail gateway listens on port 6544.",
    "port-new": "status: current\n---\n# Port of the gateway, moved\n\n"
    "The mail gateway listens on port 7120, replacing [[port-old|the earlier port]].",
    "rota": "title: Rota\n---\nThe on-call rota is kept by [[marit|Marit Quintanar]].",
    "marit": "title: Marit Quintanar\n---\nMarit Quintanar grew up by the sea in Port Varen.",
}
QUESTIONS = (
    ("now", "temporal", "On which port does the mail gateway listen?", ["7120"], ["port-new"]),
    ("then", "temporal", "On which port did the mail gateway listen originally?", ["6544"], ["port-old"]),
    ("who", "fact", "Who keeps the on-call rota?", ["Marit Quintanar"], ["rota"]),
)  # fmt: skip


@pytest.fixture
def small(tmp_path: Path) -> TestSet:
    vault = tmp_path / "small" / "vault"
    vault.mkdir(parents=True)
    for name, text in NOTES.items():
        (vault / f"{name}.md").write_text(f"---\n{text}\n", encoding="utf-8")
    lines = [
        json.dumps({"id": name, "cls": cls, "question": text, "answers": gold, "support": support})
        for name, cls, text, gold, support in QUESTIONS
    ]
    questions = vault.parent / "questions.jsonl"
    questions.write_text("\n".join(lines), encoding="utf-8")
    return load(vault, questions)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", ["memsvc", "memsvc-shipped"])
def test_a_committed_row_comes_out_of_a_clean_index_again(name: str, tmp_path: Path) -> None:
    path = RESULTS / f"{name}.json"
    made_on = result.read(path)["runtime"]["processor"]
    if name == "memsvc" and made_on != result.processor():
        pytest.skip(f"made on {made_on}; the other row is the one that every processor repeats")
    assert check(path, tmp_path) == []


def test_the_row_of_a_build_that_rounds_otherwise_here_is_not_judged(tmp_path: Path) -> None:
    made = result.read(RESULTS / "memsvc.json")
    made["runtime"]["processor"] = "another"
    result.write(made, tmp_path / "memsvc.json")
    found = check(tmp_path / "memsvc.json", tmp_path / "work")
    assert len(found) == 1
    assert "check the row of the shipped build" in found[0]


def test_a_recall_becomes_an_entry_with_true_quotes_and_marked_old_values(
    small: TestSet, tmp_path: Path
) -> None:
    bench = Bench.open(small, tmp_path / "work")
    now, then, who = (bench.ask(one.text) for one in small.questions)
    bench.close()
    assert bench.passages >= len(NOTES)
    retrieved = now["retrieved"]
    assert isinstance(retrieved, list)
    assert "port-new" in retrieved
    assert "port-old" not in retrieved
    assert (now["history"], now["not_current"]) == (False, [])
    assert (then["history"], then["not_current"]) == (True, ["port-old"])
    assert "7120" in str(now["answer"])
    assert "Marit Quintanar" in str(who["answer"])
    assert "[[" not in str(who["answer"])
    entries = [
        {"id": one.id} | made for one, made in zip(small.questions, (now, then, who), strict=True)
    ]
    made = result.make(small, bench, entries, Tuning())
    assert result.faults(made, small) == []
    assert made["metrics"]["overall"]["citation_faithful"] == 1.0
    assert made["extras"]["overall"]["superseded_as_current"] == 0


def test_a_kept_home_is_used_again_only_for_the_same_vault(small: TestSet, tmp_path: Path) -> None:
    work = tmp_path / "work"
    first = Bench.open(small, work)
    first.close()
    again = Bench.open(small, work, reuse=True)
    answer = again.ask(QUESTIONS[2][2])["answer"]
    again.close()
    assert (first.passages > 0, again.passages) == (True, 0)
    assert "Marit" in str(answer)
    note = small.vault / "rota.md"
    note.write_text(note.read_text("utf-8").replace("Marit Quintanar", "Bo Lind"), "utf-8")
    changed = load(small.vault, small.vault.parent / "questions.jsonl")
    other = Bench.open(changed, work, models=again.home / "models", reuse=True)
    answer = other.ask(QUESTIONS[2][2])["answer"]
    other.close()
    assert other.passages > 0
    assert "Bo Lind" in str(answer)


def test_an_index_that_is_not_whole_is_not_measured(small: TestSet, tmp_path: Path) -> None:
    bench = Bench.open(small, tmp_path / "work")
    assert bench.ask(QUESTIONS[2][2])["retrieved"]
    for number in range(400):
        (tmp_path / "work" / "vault" / f"late-{number}.md").write_text(f"Late note {number}.")
    with pytest.raises(NotWhole):
        bench.ask(QUESTIONS[2][2])
    bench.close()


def test_another_vault_is_run_and_ablated_from_the_shell(
    small: TestSet, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--vault", str(small.vault), "--work", str(tmp_path / "work"), "--keep"]
    out, table = tmp_path / "out.json", tmp_path / "ablation.md"
    assert main([*where, "--out", str(out)]) == 0
    assert "recall@5" in capsys.readouterr().out
    summary = json.loads(out.read_text("utf-8"))
    assert summary["vaults"]["vault"]["vault_sha256"] == small.vault_sha256
    assert summary["mean"]["fact"] == 1.0
    assert main([*where, "--ablation", str(table), "--change", "links=false,late=false"]) == 0
    lines = table.read_text("utf-8").splitlines()
    assert any(line.startswith("| default |") for line in lines)
    assert any(line.startswith("| links=false,late=false |") for line in lines)
