"""The negative classes hold, and the bench that says so can tell when they do not."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bench.negatives.__main__ import ARMS, report
from bench.negatives.asking import seen_in
from bench.negatives.cases import Case, Negative, Rate
from bench.negatives.facts import Facts
from bench.negatives.house import HERE, THERE, House, agent, person
from bench.negatives.model import Remembering, packaged
from bench.negatives.rejections import build_retracted
from bench.negatives.run import BUILDERS, SEED, run_arm
from bench.negatives.scopes import build_other_scope
from bench.negatives.standing import build_expired, build_superseded
from bench.negatives.tally import Tally
from memsvc.embedding.loader import LazyEmbedder
from memsvc.model.identity import Caller
from memsvc.model.replies import ForgetReply, RecallReply
from memsvc.model.requests import RecallRequest
from memsvc.model.vocabulary import ForgetMode
from memsvc.service.recall.tuning import Tuning
from tests.fakes import FakeEmbedder

COMMITTED = Path(__file__).parents[2] / "bench" / "results" / "negatives.json"


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    made = House(tmp_path, embedder=LazyEmbedder.off())
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.guarantee("S1", "C1", "C2", "C3", "C4", "R5")
@pytest.mark.parametrize("arm", ARMS)
def test_nothing_forbidden_comes_back_and_the_result_is_the_committed_one(
    arm: str, tmp_path: Path
) -> None:
    embedder = LazyEmbedder.off() if arm == "words" else packaged(tmp_path)
    tally = run_arm(embedder)
    assert tally.failures() == []
    assert tally.examples == []
    committed = json.loads(COMMITTED.read_text("utf-8"))
    assert committed["seed"] == SEED
    assert committed["arms"][arm] == json.loads(json.dumps(tally.data()))


def test_the_committed_result_has_a_thousand_probes_of_all_classes_and_no_violation() -> None:
    committed = json.loads(COMMITTED.read_text("utf-8"))
    assert set(committed["arms"]) == set(ARMS)
    assert committed["violations"] == 0
    for arm in committed["arms"].values():
        assert arm["probes"] >= 1_000
        assert set(arm["classes"]) == set(Negative)
        assert set(arm["rates"]) == set(Rate)
        for row in arm["classes"].values():
            assert row["probes"] > 0
            assert row["controls"] > 0
            assert row["recall_at_8"] >= committed["control_floor"]


@pytest.mark.slow
def test_a_recall_that_returns_nothing_fails_by_its_controls() -> None:
    nothing = Tuning(lexical=False, vector=False, links=False)
    tally = run_arm(LazyEmbedder.off(), tuning=nothing, builders=(build_superseded, build_expired))
    row = tally.rows[Negative.SUPERSEDED]
    assert (row.violations, row.found) == (0, 0)
    assert f"superseded: 0 of {row.controls} controls found" in tally.failures()
    sound = run_arm(LazyEmbedder.off(), builders=(build_superseded, build_expired))
    assert sound.rows[Negative.SUPERSEDED].found == row.controls
    assert [one for one in sound.failures() if one.startswith(("superseded", "expired"))] == []


class _Open(House):
    """Answers a caller of this project with what the other project's caller may see."""

    def ask(
        self, caller: Caller, request: RecallRequest, *, tuning: Tuning | None = None
    ) -> RecallReply:
        asked = agent(THERE) if caller.project == HERE else caller
        return super().ask(asked, request, tuning=tuning)


class _Past(House):
    """Shows what was replaced as if it still held."""

    def ask(
        self, caller: Caller, request: RecallRequest, *, tuning: Tuning | None = None
    ) -> RecallReply:
        reply = super().ask(caller, replace(request, history=True), tuning=tuning)
        return replace(reply, hits=[replace(hit, current=True) for hit in reply.hits])


class _Lifting(House):
    """Lifts every rejection as soon as it is made."""

    def forget(
        self,
        note_id: str,
        *,
        by: Caller | None = None,
        passage: str = "",
        mode: ForgetMode = ForgetMode.RETRACT,
    ) -> ForgetReply:
        reply = super().forget(note_id, by=by, passage=passage, mode=mode)
        for row in self.service.tombstones(person()):
            if not row["lifted_at"]:
                self.service.lift(person(), str(row["tombstone_id"]), "never mind")
        return reply


@pytest.mark.slow
@pytest.mark.parametrize(
    ("house_type", "builder", "negative"),
    [
        (_Open, build_other_scope, Negative.OTHER_SCOPE),
        (_Past, build_superseded, Negative.SUPERSEDED),
        (_Lifting, build_retracted, Negative.RETRACTED),
    ],
)
def test_a_broken_home_is_found_out(
    house_type: type[House],
    builder: Callable[[House, Tally, Facts], list[Case]],
    negative: Negative,
) -> None:
    broken = run_arm(LazyEmbedder.off(), house_type=house_type, builders=(builder,))
    row = broken.rows[negative]
    assert row.violations > row.probes / 10
    assert any(one.startswith(f"{negative}: ") for one in broken.failures())
    assert broken.examples
    told = report({"words": broken}, seed=SEED)
    assert told["violations"] == row.violations


def test_every_class_without_probes_is_a_failure() -> None:
    failures = Tally().failures()
    for negative in Negative:
        assert f"{negative}: no probe was made" in failures
    assert len(BUILDERS) == len(Negative)


def test_a_mark_is_seen_in_a_hit_and_not_in_the_echo_of_the_query(house: House) -> None:
    note = house.save("Deploy", "The deploy port is 6544.")
    case = Case(negative=Negative.REJECTED, name="x", caller=agent(), queries=(), marks=("6544",))
    query = "deploy port 6544"
    reply = house.ask(agent(), RecallRequest(query=query, explain=True))

    def seen(told: RecallReply, *, back: bool = False) -> str:
        return seen_in(told, case, query=query, may_look_back=back)

    assert note.id in seen(reply)
    assert note.id in seen(reply, back=True), "it is marked as current"
    past = replace(reply, hits=[replace(hit, current=False) for hit in reply.hits])
    assert seen(past)
    assert seen(past, back=True) == ""
    bare = replace(reply, hits=[], reason="no note has '6544'")
    assert seen(bare) == ""
    assert seen_in(bare, case, query="deploy port", may_look_back=False) == "'6544'"
    told = replace(bare, coverage=replace(reply.coverage, notices=["port 6544"]))
    assert seen(told, back=True) == "'6544'"


def test_an_embedder_that_remembers_answers_as_the_one_inside() -> None:
    inside = FakeEmbedder()
    remembering = Remembering(inside)
    texts = ["The lamp hangs low.", "The oven is cold.", "The lamp hangs low."]
    for _ in range(2):
        assert np.array_equal(remembering.embed_passages(texts), inside.embed_passages(texts))
        assert np.array_equal(remembering.embed_query(texts[0]), inside.embed_query(texts[0]))
        assert np.array_equal(
            remembering.read_query(texts[1]).states, inside.read_query(texts[1]).states
        )
    assert remembering.embed_passages([]).shape == inside.embed_passages([]).shape


def test_facts_are_the_same_for_a_seed_and_share_nothing_among_themselves() -> None:
    first, again = Facts(7), Facts(7)
    made = [first.fact() for _ in range(200)]
    assert made == [again.fact() for _ in range(200)]
    assert made != [Facts(8).fact() for _ in range(200)]
    values = [value for fact in made for value in (fact.old, fact.new, fact.other)]
    assert len({*values}) == len(values)
    assert len({fact.subject for fact in made}) == len(made)
