"""What counts as a loss, and what is kept of runs and gold."""

import json
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from memsvc.errors import Misconfigured, NotFound, StorageFailed
from memsvc.ops.evaluation.gold import Gold, Question, QuestionClass
from memsvc.ops.evaluation.measure import ArmScores, Measured
from memsvc.ops.evaluation.store import EvalStore
from memsvc.ops.evaluation.verdict import Earlier, judge
from tests.service.world import agent

QUESTION = Question(
    kind=QuestionClass.TITLE, query="Crane \u2028 \ud800", source="a", version=1, gold=("a",)
)
GOLD = Gold(
    built="2026-11-30T10:04:11.000000Z",
    scope="personal/heron",
    scopes=("personal/heron", "personal/shared"),
    seed=3,
    per_class=60,
    questions=(QUESTION,),
    hashes={"a": "hash"},
    available={"title": 1},
    excluded={"title": {"ambiguous name": 2}},
)


def measured(tuned: dict[str, float] | None = None, **ndcg: float) -> Measured:
    """A run in which `default` had these values, by class and number: `title1=0.5`."""

    def arm(name: str, values: dict[str, float]) -> ArmScores:
        by_question = {f"{key[:-1]}:n{key[-1]}@1": value for key, value in values.items()}
        return ArmScores(name=name, settings={}, ndcg=by_question)

    arms = [arm("default", ndcg), *([arm("tuned", tuned)] if tuned else [])]
    return Measured(
        at="2026-12-01T00:00:00.000000Z",
        scope="personal/heron",
        gold=GOLD.digest,
        questions=len(ndcg),
        gone=0,
        changed=0,
        counts={"notes": 3},
        model_id="m@1",
        arms=tuple(arms),
    )


def before(**ndcg: float) -> Earlier:
    kept = {f"{key[:-1]}:n{key[-1]}@1": value for key, value in ndcg.items()}
    return Earlier(at="2026-11-30", counts={"notes": 3}, model_id="m@1", ndcg=kept)


def test_a_class_that_loses_more_than_a_hundredth_is_a_loss_and_one_that_loses_less_is_not() -> (
    None
):
    then = before(title1=0.9, title2=0.9, body1=0.8, bridge1=0.5)
    now = measured(title1=0.9, title2=0.878, body1=0.79, bridge1=0.9)
    verdict = judge(now, then)
    assert [(one.kind, one.arm) for one in verdict.losses] == [("title", "default")]
    assert {one.kind for one in verdict.differences} == {"title", "body", "bridge", "all"}
    assert not verdict.holds("default")
    assert judge(measured(title1=0.9, title2=0.882, body1=0.79, bridge1=0.5), then).losses == ()


def test_what_only_one_run_asked_is_not_compared() -> None:
    verdict = judge(measured(title1=0.9, title3=0.0), before(title1=0.9, title2=1.0))
    assert [(one.kind, one.questions) for one in verdict.differences] == [("title", 1), ("all", 1)]
    assert verdict.losses == ()
    assert judge(measured(title1=0.5, title3=1.0), before(title1=0.9, title2=1.0)).losses != ()


def test_a_tuned_arm_is_compared_with_the_last_run_and_else_with_this_runs_default() -> None:
    run = measured({"title1": 0.5}, title1=0.9)
    alone = judge(run, None, tuned="tuned")
    assert [one.arm for one in alone.losses] == ["tuned"]
    assert "default" in alone.since
    both = judge(run, before(title1=0.95), tuned="tuned")
    assert [one.arm for one in both.losses] == ["default", "tuned"]
    good = judge(run, before(title1=0.9), tuned="tuned")
    assert (good.holds("default"), good.holds("tuned")) == (True, False)
    assert judge(measured(title1=0.1), None).since == ""


def test_a_run_in_another_state_says_what_else_changed() -> None:
    then = replace(before(title1=0.9), counts={"notes": 2}, model_id="")
    assert judge(measured(title1=0.9), then).notes == (
        "notes 2 then, 3 now",
        "model none then, m@1 now",
    )
    assert judge(measured(title1=0.9), before(title1=0.9)).notes == ()


def test_gold_comes_back_as_it_was_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    store = EvalStore(tmp_path, agent())
    with pytest.raises(NotFound, match="memsvc eval build"):
        store.read_gold()
    store.write_gold(GOLD)
    store.write_gold(GOLD)
    assert store.read_gold() == GOLD
    assert store.gold == tmp_path / "eval" / "personal" / "heron" / "gold.json"
    assert stat.S_IMODE(store.gold.stat().st_mode) == 0o600
    assert [path.name for path in store.folder.iterdir()] == ["gold.json"]
    for folder in (store.folder, store.folder.parent, tmp_path / "eval"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.parametrize("how", ["cut", "edited", "other", "list", "format"])
def test_damaged_gold_is_refused_and_whole_gold_is_read(tmp_path: Path, how: str) -> None:
    store = EvalStore(tmp_path, agent())
    store.write_gold(GOLD)
    text = store.gold.read_text("utf-8")
    assert store.read_gold() == GOLD
    store.gold.write_text(
        {
            "cut": text[: len(text) // 2],
            "edited": text.replace("Crane", "Krane"),
            "other": text.replace("personal/heron", "personal/osprey"),
            "list": "[]",
            "format": text.replace('"format": 1', '"format": 2'),
        }[how],
        encoding="utf-8",
    )
    with pytest.raises(Misconfigured, match="memsvc eval build"):
        store.read_gold()


def test_the_last_baseline_on_the_same_gold_is_what_later_runs_are_compared_with(
    tmp_path: Path,
) -> None:
    store = EvalStore(tmp_path, agent())
    assert store.last_run(GOLD.digest) is None
    store.write_gold(GOLD)
    store.add_run(measured(title1=0.9), baseline=True)
    store.add_run(measured(title1=0.1), baseline=False)
    store.add_run(replace(measured(title1=0.2), gold="another"), baseline=True)
    with store.runs.open("a", encoding="utf-8") as file:
        file.write('{"gold": "cut off')
    found = store.last_run(GOLD.digest)
    assert found is not None
    assert (found.ndcg, found.model_id, found.counts) == (
        {"title:n1@1": 0.9},
        "m@1",
        {"notes": 3},
    )
    store.add_run(measured(title1=0.7), baseline=True)
    again = store.last_run(GOLD.digest)
    assert again is not None
    assert again.ndcg == {"title:n1@1": 0.7}
    assert stat.S_IMODE(store.runs.stat().st_mode) == 0o600
    last = json.loads(store.runs.read_text("utf-8").splitlines()[-1])
    assert {"at", "version", "gold", "counts", "model_id", "arms", "ndcg"} <= set(last)


def test_a_home_that_cannot_be_written_is_said_in_one_line(tmp_path: Path) -> None:
    store = EvalStore(tmp_path, agent())
    (tmp_path / "eval").write_text("in the way", encoding="utf-8")
    with pytest.raises(StorageFailed, match=r"gold\.json was not written"):
        store.write_gold(GOLD)
    (tmp_path / "eval").unlink()
    store.write_gold(GOLD)
    assert store.read_gold() == GOLD
