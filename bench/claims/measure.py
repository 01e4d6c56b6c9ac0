"""Counts what is blocked, what is flagged, and what should have been neither."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from bench.claims.data import HELD_OUT, TUNE, restated, rows
from bench.claims.house import House
from bench.claims.rates import Rate
from memsvc.embedding.loader import LazyEmbedder

__all__ = ["Outcome", "measure_guard", "measure_key"]


@dataclass
class Outcome:
    """Hits and trials by name, in the order in which the names came up, and what went wrong."""

    hits: Counter[str] = field(default_factory=Counter)
    trials: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def count(self, name: str, *, hit: bool) -> None:
        """One trial."""
        self.trials[name] += 1
        self.hits[name] += hit

    @property
    def rates(self) -> dict[str, Rate]:
        """By name."""
        return {name: Rate(self.hits[name], of) for name, of in self.trials.items()}


def measure_key(root: Path) -> dict[str, Outcome]:
    """The key of a tombstone against every dressed claim (`blocked`) and neighbour (`over-blocked`)."""
    data = rows()
    house = House(root, LazyEmbedder.off(), [row.claim for row in data])
    blocked, over = Outcome(), Outcome()
    for one in restated():
        hit = house.blocks(one.body)
        blocked.count("all", hit=hit)
        blocked.count(one.attack, hit=hit)
        if not hit:
            blocked.wrong.append(f"{one.attack}: {one.body!r}")
    for row in data:
        hit = house.blocks(row.neighbour)
        over.count("all", hit=hit)
        over.count(row.kind, hit=hit)
        if hit:
            over.wrong.append(f"{row.kind}: {row.neighbour!r}")
    house.close()
    return {"blocked": blocked, "over-blocked": over}


def measure_guard(root: Path, embedder: LazyEmbedder) -> dict[str, Outcome]:
    """The guard against paraphrases (`caught`, and `named` the right tombstone) and near neighbours
    (`over-flagged`), each for the half it was tuned on and for the other.
    """
    data = [row for row in rows() if row.paraphrase]
    house = House(root, embedder, [row.claim for row in data])
    made = {name: Outcome() for name in ("caught", "named", "over-flagged")}
    for part in (TUNE, HELD_OUT):
        for row in data:
            if row.part != part:
                continue
            found = house.suspects(row.paraphrase)
            made["caught"].count(part, hit=bool(found))
            if found:
                made["named"].count(part, hit=house.stands_for(found[0], row.claim))
            else:
                made["caught"].wrong.append(f"{part}: {row.claim!r} / {row.paraphrase!r}")
            flagged = bool(house.suspects(row.neighbour))
            made["over-flagged"].count(part, hit=flagged)
            made["over-flagged"].count(f"{part}, {row.kind}", hit=flagged)
            if flagged:
                made["over-flagged"].wrong.append(f"{part}: {row.claim!r} / {row.neighbour!r}")
    house.close()
    return made
