"""A run over a real home: what it asks, how it scores, what it refuses, and where it stays."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memsvc.errors import InvalidInput, Misconfigured, NotFound
from memsvc.model.replies import SaveReply
from memsvc.ops.evaluation.arms import ARMS, STANDARD, tuned_arm
from memsvc.ops.evaluation.build import build_gold
from memsvc.ops.evaluation.gold import Gold
from memsvc.ops.evaluation.measure import ALL, measure, standing
from memsvc.ops.evaluation.metrics import METRICS
from tests.service.world import World, agent, human

BOATS = "The ferry leaves the northern pier every morning."
CRANES = "A crane unloads containers of the northern ferry."


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.service.close()


def filled(world: World) -> dict[str, SaveReply]:
    """A note that links to one it shares words with, one that was replaced, and fillers."""
    crane = world.save("Unloading", CRANES)
    ferry = world.save("Timetable", f"{BOATS}\n\nSee [[unloading]].")
    old = world.save("Harbour fee of spring", "The harbour fee was forty crowns in spring.")
    new = world.save("Mooring price", "Mooring costs fifty crowns now.", supersedes=(old.id,))
    for number in range(3):
        world.save(f"Buoy {number}", f"Buoy number {number} marks the channel of sector {number}.")
    return {"crane": crane, "ferry": ferry, "old": old, "new": new}


def built(world: World) -> Gold:
    return build_gold(world.service.catalogue(agent()))


@pytest.mark.guarantee("S3")
def test_gold_asks_for_no_note_of_another_project_and_for_those_of_its_own(world: World) -> None:
    notes = filled(world)
    far = world.save("Far lighthouse", "The far lighthouse blinks at night.", by=agent("osprey"))
    common = world.save("Common tide", "The common tide table of all.", project="shared")
    for caller, mine, others in (
        (agent(), {notes["crane"].id, common.id}, {far.id}),
        (human(), {notes["crane"].id, common.id}, {far.id}),
        (agent("osprey"), {far.id, common.id}, {notes["crane"].id, notes["new"].id}),
    ):
        gold = build_gold(world.service.catalogue(caller))
        asked = {note for question in gold.questions for note in (*question.gold, question.source)}
        assert mine <= asked
        assert not others & (asked | set(gold.hashes))
        said = " ".join(question.query for question in gold.questions)
        assert ("lighthouse" in said) == (caller.project == "osprey")


def test_a_run_scores_each_arm_by_class(world: World) -> None:
    filled(world)
    measured = measure(world.service, agent(), built(world))
    default = measured.arm("default")
    assert set(default.scores) == {"title", "body", "bridge", "temporal", ALL}
    for kind in ("title", "body", "temporal"):
        assert default.scores[kind].recall == 1
    # the note that the question is made of comes first, and does not count
    assert (default.scores["bridge"].ndcg, default.scores["bridge"].mrr) == (1, 1)
    assert default.scores[ALL].questions == measured.questions
    assert (measured.gone, measured.changed) == (0, 0)
    assert 0 < default.p50_ms <= default.p95_ms
    assert measured.counts["notes"] == 7


def test_an_arm_that_needs_a_model_is_not_scored_without_one(world: World) -> None:
    filled(world)
    measured = measure(world.service, agent(), built(world))
    skipped = {arm.name for arm in measured.arms if arm.skipped}
    assert skipped == {"vectors only", "no late interaction"}
    assert all(bool(arm.scores) != bool(arm.skipped) for arm in measured.arms)
    assert [arm.name for arm in measured.arms] == [arm.name for arm in ARMS]


def test_ranking_is_measured_without_abstention_and_abstention_by_itself(world: World) -> None:
    world.save("Salt", "Salt trucks wait outside.")
    world.save("Fog", "Fog hides the pilot boat.")
    gold = built(world)
    (salt,) = [one for one in gold.questions if one.query == "Salt"]
    odd = replace(salt, query="salt " + " ".join(f"unknown{number}" for number in range(20)))
    asked = (odd, *(one for one in gold.questions if one.id != odd.id))
    default = measure(world.service, agent(), replace(gold, questions=asked)).arm("default")
    assert default.ndcg[odd.id] == 1
    assert default.false_abstentions == {"title": 0.5, "body": 0, ALL: 0.25}
    assert measure(world.service, agent(), gold).arm("default").false_abstentions[ALL] == 0


@pytest.mark.parametrize("name", ["recall", "reciprocal_rank", "ndcg"])
def test_a_run_with_a_broken_measure_reports_nothing(world: World, name: str) -> None:
    filled(world)
    gold = built(world)
    with pytest.raises(Misconfigured, match=f"nothing is reported: {name} of"):
        measure(
            world.service,
            agent(),
            gold,
            metrics=replace(METRICS, **{name: lambda _ranked, _gold: 0.5}),
        )
    assert measure(world.service, agent(), gold).arm("default").scores[ALL].ndcg > 0.9


def test_questions_whose_note_is_gone_are_dropped_and_changed_ones_counted(world: World) -> None:
    notes = filled(world)
    gold = built(world)
    world.forget(notes["crane"].id)
    world.correct(notes["new"], "Mooring costs sixty crowns from now on.", "changed")
    left = standing(gold, world.service.catalogue(agent()))
    dropped = {one.id for one in gold.questions} - {one.id for one in left.questions}
    crane, ferry = notes["crane"].id, notes["ferry"].id
    assert dropped == {f"title:{crane}@1", f"body:{crane}@1", f"bridge:{ferry}@1"}
    assert left.gone == 3
    assert left.changed == 3  # title, body and temporal questions about the price
    measured = measure(world.service, agent(), gold)
    assert (measured.questions, measured.gone, measured.changed) == (
        len(gold.questions) - 3,
        3,
        3,
    )


def test_gold_of_which_nothing_is_left_says_so(world: World) -> None:
    only = world.save("Crane", CRANES)
    gold = built(world)
    assert measure(world.service, agent(), gold).questions == 2
    world.forget(only.id)
    with pytest.raises(NotFound, match="memsvc eval build"):
        measure(world.service, agent(), gold)


def test_a_tuned_arm_runs_beside_the_others(world: World) -> None:
    filled(world)
    worse = tuned_arm(["lexical=false", "links=no"])
    assert dict(worse.settings) == {"lexical": False, "links": False}
    measured = measure(world.service, agent(), built(world), tuned=worse)
    assert measured.arm(worse.name).scores[ALL].ndcg == 0
    assert measured.arm(worse.name).false_abstentions[ALL] == 1
    assert measured.arm(STANDARD.name).scores[ALL].ndcg > 0.9
    assert STANDARD.tuning.lexical
    assert not STANDARD.tuning.abstain


@pytest.mark.parametrize(
    "assignment", ["nonsense", "nonsense=1", "links", "links=perhaps", "=true", "links="]
)
def test_a_setting_that_does_not_exist_or_has_no_such_value_is_refused(assignment: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        tuned_arm([assignment])
    assert caught.value.data["argument"] == "set"
    assert tuned_arm(["links=off"]).settings == {"links": False}


def test_runs_are_marked_in_the_telemetry(world: World) -> None:
    import sqlite3

    filled(world)
    world.ask("ferry")
    measure(world.service, agent(), built(world))
    world.service.close()
    raw = sqlite3.connect(world.root / "home" / "memsvc.db")
    found = dict(raw.execute("SELECT session, count(*) FROM recall_event GROUP BY session"))
    raw.close()
    assert found[""] == 1
    assert found["eval"] > 10
    world.service = world.open()
