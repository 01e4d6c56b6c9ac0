"""The committed ablation comes out again, and a stage that gains nothing would be seen."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from bench.ablation import CHANGES, differences, measure
from bench.memory_bench.run import RESULTS

KEPT: dict[str, Any] = json.loads((RESULTS / "ablation.json").read_text(encoding="utf-8"))
MUST = {
    "R@5": 0.94, "fact": 1.0, "bridge": 1.0, "para": 0.85, "para_br": 0.58, "temporal": 1.0,
    "no answer": 0.75,
}  # fmt: skip


def test_recall_as_it_is_reaches_what_it_must_in_every_class() -> None:
    row = KEPT["rows"]["default"]
    assert {name: row[name] for name, least in MUST.items() if row[name] < least} == {}
    assert row["false abst"] <= 0.08


def test_no_stage_loses_when_it_is_there() -> None:
    rows = KEPT["rows"]
    assert set(rows) == {"default", *CHANGES}
    better = {name for name, row in rows.items() if row["R@5"] > rows["default"]["R@5"]}
    assert better == set()
    stages = ("vector=false", "links=false", "late=false", "tokens=0")
    assert all(rows[name]["R@5"] < rows["default"]["R@5"] for name in stages)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_ablation_comes_out_of_a_clean_index_again(tmp_path: Path) -> None:
    fresh = measure(tmp_path / "work")
    assert differences(KEPT, fresh) == []


def test_a_number_that_differs_is_found_and_other_processors_round_otherwise() -> None:
    assert differences(KEPT, KEPT) == []
    forged = copy.deepcopy(KEPT)
    forged["rows"]["default"]["R@5"] -= 0.0145
    assert len(differences(forged, KEPT)) == 1
    forged["processor"] = "another"
    assert differences(forged, KEPT) == []
    del forged["rows"]["links=false"]
    assert differences(forged, KEPT) != []
