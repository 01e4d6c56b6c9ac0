"""The rates of the rejected claims hold, and the bench that says so can tell when they do not."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.claims.__main__ import report
from bench.claims.attacks import ATTACKS, COMBINED
from bench.claims.build import made
from bench.claims.data import HELD_OUT, TUNE, restated, rows
from bench.claims.house import House
from bench.claims.measure import measure_guard, measure_key
from bench.claims.rates import Rate
from bench.negatives.model import packaged
from memsvc.embedding.loader import LazyEmbedder
from memsvc.errors import RejectedClaim
from memsvc.notes import normal
from tests.service.world import World

COMMITTED = Path(__file__).parents[2] / "bench" / "results" / "claims.json"


def test_the_set_is_large_of_all_attacks_and_no_neighbour_is_a_claim() -> None:
    data, dressed = rows(), restated()
    assert len(data) >= 300
    assert len({row.claim for row in data} | {row.neighbour for row in data}) == 2 * len(data)
    assert {one.claim for one in dressed} == {row.claim for row in data}
    assert {one.attack for one in dressed} == {*ATTACKS, COMBINED}
    assert dressed == made()
    assert [one for one in dressed if one.body == one.claim] == []
    for part in (TUNE, HELD_OUT):
        assert sum(row.part == part for row in data if row.paraphrase) >= 100


@pytest.mark.guarantee("C1", "C2")
def test_the_key_blocks_dressed_claims_and_no_neighbour(tmp_path: Path) -> None:
    outcomes = measure_key(tmp_path)
    committed = json.loads(COMMITTED.read_text("utf-8"))
    assert report({"key": outcomes})["key"] == committed["key"]
    assert outcomes["over-blocked"].wrong == []
    assert outcomes["blocked"].rates["all"].interval[0] > 0.99
    assert all(rate.share > 0.97 for rate in outcomes["blocked"].rates.values())


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_guard_catches_three_paraphrases_of_five_and_two_neighbours_of_a_hundred(
    tmp_path: Path,
) -> None:
    outcomes = measure_guard(tmp_path / "home", packaged(tmp_path / "models"))
    caught, over = outcomes["caught"].rates, outcomes["over-flagged"].rates
    for part in (TUNE, HELD_OUT):
        assert caught[part].share >= 0.6
        assert over[part].share <= 0.02
    committed = json.loads(COMMITTED.read_text("utf-8"))
    ours = json.loads(json.dumps(report({"guard": outcomes})["guard"]))
    for name in ("caught", "over-flagged"):
        for part in (TUNE, HELD_OUT):
            assert abs(ours[name][part]["hits"] - committed["guard"][name][part]["hits"]) <= 2


def test_what_the_bench_asks_is_what_a_save_is_asked(tmp_path: Path) -> None:
    data, dressed = rows()[::25], {one.claim: one.body for one in restated()}
    house = House(tmp_path / "house", LazyEmbedder.off(), [row.claim for row in data])
    world = World(tmp_path / "world")
    for number, row in enumerate(data):
        note = world.save(f"Claim {number}", f"- {row.claim}\n- And one more line of {number}.")
        world.forget(note.id)
    for row in data:
        assert house.blocks(dressed[row.claim])
        with pytest.raises(RejectedClaim):
            world.save("Another note", dressed[row.claim])
        assert not house.blocks(row.neighbour)
        assert world.save("Another note", row.neighbour).outcome == "created"
    house.close()
    world.service.close()


@pytest.mark.parametrize(
    ("broken", "name"),
    [
        (lambda text: text, "blocked"),
        (lambda text: re.sub(r"\d", "0", normal.fold(text)), "over-blocked"),
    ],
)
def test_a_broken_normal_form_is_seen(
    broken: Callable[[str], str], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memsvc.notes.claims.fold", broken)
    monkeypatch.setattr("memsvc.notes.claims.normal_form", broken)
    assert len(measure_key(tmp_path)[name].wrong) > 20


def test_the_interval_is_wilsons() -> None:
    assert Rate(10, 20).interval == pytest.approx((0.2993, 0.7007), abs=1e-4)
    assert Rate(0, 100).interval == pytest.approx((0.0, 0.0370), abs=1e-4)
    assert Rate(0, 0).interval == (0.0, 1.0)
    assert str(Rate(1, 2)) == "1/2 = 50.0% (9.5% to 90.5%)"
