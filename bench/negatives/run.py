"""Builds every case in a home and probes it: as made, after a restart, after a rebuild of the index."""

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.negatives.asking import (
    BRIEFLY,
    LASTING,
    RANKED,
    WAYS,
    Way,
    found,
    problems_of,
    verb_problems,
)
from bench.negatives.cases import Case
from bench.negatives.facts import Facts
from bench.negatives.files import build_deleted, build_restored
from bench.negatives.house import House
from bench.negatives.rejections import (
    build_near_duplicates,
    build_purged,
    build_rejected,
    build_retracted,
)
from bench.negatives.scopes import build_linked_scope, build_other_scope
from bench.negatives.standing import (
    build_expired,
    build_not_yet_valid,
    build_proposed,
    build_superseded,
)
from bench.negatives.tally import Tally
from memsvc.embedding.loader import LazyEmbedder
from memsvc.service.recall.tuning import DEFAULT, Tuning

__all__ = ["BUILDERS", "MODEL_PHASES", "PHASES", "SEED", "Builder", "Phase", "run_arm"]

SEED = 20_261_130

Builder = Callable[[House, Tally, Facts], list[Case]]

BUILDERS: Sequence[Builder] = (
    build_other_scope,
    build_linked_scope,
    build_superseded,
    build_expired,
    build_not_yet_valid,
    build_proposed,
    build_rejected,
    build_retracted,
    build_purged,
    build_near_duplicates,
    build_restored,
    build_deleted,
)


@dataclass(frozen=True, slots=True)
class Phase:
    """What happens to a home before its cases are probed (again), and in which ways."""

    name: str
    enter: Callable[[House], None]
    ways: Sequence[Way]
    controls: bool = True


PHASES = (
    Phase("as made", House.settle, WAYS),
    Phase("restarted", House.restart, BRIEFLY, controls=False),
    Phase("reindexed", House.reindex, LASTING),
)
MODEL_PHASES = (
    Phase("as made", House.settle, RANKED),
    Phase("restarted", House.restart, BRIEFLY, controls=False),
    Phase("reindexed", House.reindex, BRIEFLY),
)
"""For a home with a model, whose every question costs several times as much."""


def run_arm(
    embedder: LazyEmbedder,
    *,
    seed: int = SEED,
    tuning: Tuning = DEFAULT,
    house_type: type[House] = House,
    builders: Sequence[Builder] = BUILDERS,
) -> Tally:
    """All classes in one throw-away home with this model or none; equal seeds give equal counts."""
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="memsvc-negatives-") as folder:
        house = house_type(Path(folder), embedder=embedder, tuning=tuning)
        try:
            facts = Facts(seed)
            cases = [case for build in builders for case in build(house, tally, facts)]
            for phase in PHASES if embedder.ready() is None else MODEL_PHASES:
                phase.enter(house)
                for case in cases:
                    _probe(house, tally, case, phase)
            for case in cases:
                if case.later is not None:
                    back = case.later(house)
                    tally.control(case.negative, case.name, "once allowed", found=back)
        finally:
            house.close()
    return tally


def _probe(house: House, tally: Tally, case: Case, phase: Phase) -> None:
    for how, problem in (*problems_of(house, case, phase.ways), *verb_problems(house, case)):
        tally.probe(case.negative, case.name, f"{phase.name}, {how}", problem)
    for number, control in enumerate(case.controls if phase.controls else ()):
        how = f"{phase.name}, number {number}"
        tally.control(case.negative, case.name, how, found=found(house, control))
