"""Peoples a vault: draws the things of each kind, what is true of them, and the decisions."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import islice, product
from random import Random

from bench.generate.model import Attribute, Kind, Names, Series, World

__all__ = ["Cast", "Decision", "Thing", "draw_cast", "slug", "unused_names"]

_FEWEST = 6
_MOST_DRAWN = 0.6
_THREE_LINKS = 0.2


@dataclass(slots=True, eq=False)
class Thing:
    """One thing of a kind, with what is true of it by attribute key."""

    kind: Kind
    name: str
    stem: str
    display: str
    values: dict[str, str] = field(default_factory=dict)
    """Plain texts; for links, the display of the other thing."""
    targets: dict[str, "Thing"] = field(default_factory=dict)
    goal: tuple[str, str] | None = None
    sources: dict[str, list["Thing"]] = field(default_factory=lambda: defaultdict(list))
    """Things that point here, by `kind.key`."""

    @property
    def answers(self) -> tuple[str, ...]:
        return (self.display,) if self.display == self.name else (self.display, self.name)


@dataclass(slots=True, eq=False)
class Decision:
    """One note of a series; `after` replaced it, `before` is what it replaced."""

    series: Series
    thing: Thing
    when: date
    value: str
    before: "Decision | None" = None
    after: "Decision | None" = None
    stem: str = ""


@dataclass(frozen=True, slots=True)
class Cast:
    """All things and decisions of a vault."""

    world: World
    things: dict[str, list[Thing]]
    decisions: list[Decision]

    def everything(self) -> Iterator[Thing]:
        for things in self.things.values():
            yield from things


def slug(text: str) -> str:
    """Lower case without accents, words joined by hyphens; underscores stay."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return re.sub(r"[^a-z0-9_.]+", "-", plain.lower()).strip("-.")


def draw_cast(world: World, size: int, *, chance: Random) -> Cast:
    """Draw the things and decisions of a vault of about `size` notes."""
    changing = {series.kind for series in world.series if series.changed}
    things = {
        kind.key: _draw_kind(
            kind, size, fewest=_FEWEST * (2 if kind.key in changing else 1), chance=chance
        )
        for kind in world.kinds
    }
    for kind in world.kinds:
        for attribute in kind.attributes:
            _say(attribute, things[kind.key], things, chance=chance)
    decisions = [
        decision
        for series in world.series
        for decision in _decide(series, things[series.kind], world, chance=chance)
    ]
    return Cast(world, things, decisions)


def unused_names(names: Names, used: list[str], *, chance: Random) -> Iterator[str]:
    """Names that nothing has, though each of their parts is in use: `Asha Lund`, `api-gate-4`."""
    if len(names.parts) == 1:
        return
    seen = [
        tuple(part for part in parts if any(_has_part(name, names.joint, part) for name in used))
        for parts in names.parts
    ]
    free = [name for name in map(names.joint.join, product(*seen)) if name not in used]
    chance.shuffle(free)
    yield from free


def _has_part(name: str, joint: str, part: str) -> bool:
    return part in name.split(joint) if joint else part in name


def _draw_kind(kind: Kind, size: int, *, fewest: int, chance: Random) -> list[Thing]:
    every = list(map(kind.names.joint.join, product(*kind.names.parts)))
    chance.shuffle(every)
    most = len(every) if len(kind.names.parts) == 1 else int(len(every) * _MOST_DRAWN)
    if kind.goals:
        most = min(most, len(kind.goals))
    count = min(most, max(fewest, round(size * kind.share)))
    if kind.goals:
        count = most
    goals = chance.sample(kind.goals, count) if kind.goals else []
    things = []
    for at, name in enumerate(islice(every, count)):
        display = kind.display.format(name=name)
        stem = kind.stem.format(slug=slug(name), name=display)
        thing = Thing(kind, name, stem, display)
        thing.goal = goals[at] if goals else None
        things.append(thing)
    return things


def _say(
    attribute: Attribute, things: list[Thing], every: dict[str, list[Thing]], *, chance: Random
) -> None:
    for thing in things:
        if chance.random() >= attribute.share:
            continue
        if attribute.values is not None:
            thing.values[attribute.key] = attribute.values(chance)
            continue
        other = chance.choice([other for other in every[attribute.to] if other is not thing])
        thing.values[attribute.key] = other.display
        thing.targets[attribute.key] = other
        other.sources[f"{thing.kind.key}.{attribute.key}"].append(thing)


def _decide(
    series: Series, things: list[Thing], world: World, *, chance: Random
) -> Iterator[Decision]:
    count = max(_FEWEST + 4 * bool(series.changed), round(len(things) * series.share))
    for thing in sorted(chance.sample(things, min(count, len(things) - 2)), key=lambda t: t.stem):
        first = date(world.years[0], 1, 1)
        length = (2 + (chance.random() < _THREE_LINKS)) if series.changed else 1
        when = first + timedelta(days=chance.randint(0, 240))
        before: Decision | None = None
        said: set[str] = set()
        for _ in range(length):
            value = next(v for v in iter(lambda: series.values(chance), None) if v not in said)
            said.add(value)
            decision = Decision(series, thing, when, value, before)
            decision.stem = series.stem.format(slug=slug(thing.name), date=when.isoformat())
            if before is not None:
                before.after = decision
            before = decision
            when += timedelta(days=chance.randint(20, 200))
            yield decision
