"""Asks what a vault does not say: of things that are not there, and what is not said of those that are."""

from collections.abc import Iterator
from itertools import zip_longest
from random import Random

from bench.generate.cast import Cast, Thing, unused_names
from bench.generate.model import Attribute, Kind, Question

__all__ = ["ask_absent"]

ENTITIES = 10
ATTRIBUTES = 12


def ask_absent(cast: Cast, files: dict[str, str], *, chance: Random) -> list[Question]:
    """Questions without an answer, of both classes, without ids."""
    everything = "\n".join([*files, *files.values()]).lower()
    return [
        *_entities(cast, everything, chance=chance),
        *_attributes(cast, files, everything, chance=chance),
    ]


def _entities(cast: Cast, everything: str, *, chance: Random) -> Iterator[Question]:
    groups = []
    for kind in cast.world.kinds:
        things = cast.things[kind.key]
        asks = [text for a in kind.attributes if a.share == 1.0 for text in a.asks]
        if not asks:
            continue
        spare = list(kind.names.spare)
        chance.shuffle(spare)
        apart = unused_names(kind.names, [thing.name for thing in things], chance=chance)
        groups.append(_strangers(kind, apart, everything, asks, chance=chance))
        groups.append(_strangers(kind, iter(spare), everything, asks, chance=chance))
    yield from _in_turn(groups, ENTITIES, chance=chance)


def _strangers(
    kind: Kind, names: Iterator[str], everything: str, asks: list[str], *, chance: Random
) -> Iterator[Question]:
    for name in names:
        if name.lower() not in everything:
            text = chance.choice(asks).format(name=kind.display.format(name=name))
            yield Question("", "absent_entity", text)


def _attributes(
    cast: Cast, files: dict[str, str], everything: str, *, chance: Random
) -> Iterator[Question]:
    never: list[Iterator[Question]] = []
    elsewhere: list[Iterator[Question]] = []
    lacking: list[Iterator[Question]] = []
    for ghost in cast.world.ghosts:
        things = cast.things[ghost.kind]
        if ghost.decoy:
            elsewhere.append(_unsaid(things, ghost.word, ghost.asks, files, chance=chance))
        elif ghost.word.lower() not in everything:
            never.append(_unsaid(things, ghost.word, ghost.asks, files, chance=chance))
    for kind in cast.world.kinds:
        lacking.extend(
            _lacking(cast, attribute, kind, files, chance=chance)
            for attribute in kind.attributes
            if attribute.share < 1.0 and attribute.asks
        )
    for series in cast.world.series:
        decided = {id(d.thing) for d in cast.decisions if d.series is series}
        things = [t for t in cast.things[series.kind] if id(t) not in decided]
        lacking.append(_unsaid(things, series.topic, series.asks_now, files, chance=chance))
    third = ATTRIBUTES // 3
    found = [
        *_in_turn(elsewhere, third, chance=chance),
        *_in_turn(lacking, third, chance=chance),
    ]
    yield from _in_turn(never, ATTRIBUTES - len(found), chance=chance)
    yield from found


def _lacking(
    cast: Cast, attribute: Attribute, kind: Kind, files: dict[str, str], *, chance: Random
) -> Iterator[Question]:
    things = [thing for thing in cast.things[kind.key] if attribute.key not in thing.values]
    return _unsaid(things, attribute.label, attribute.asks, files, chance=chance)


def _unsaid(
    things: list[Thing],
    word: str,
    asks: tuple[str, ...],
    files: dict[str, str],
    *,
    chance: Random,
) -> Iterator[Question]:
    for thing in chance.sample(things, len(things)):
        if not _says(files, thing, word):
            yield Question("", "absent_attribute", chance.choice(asks).format(name=thing.display))


def _says(files: dict[str, str], thing: Thing, word: str) -> bool:
    """Whether the thing's own note, or any line that names the thing, has the word."""
    name = thing.display.lower()
    for path, text in files.items():
        own = path.rsplit("/", 1)[-1] == f"{thing.stem}.md"
        lines = text.lower().split("\n")
        if any(word.lower() in line and (own or name in line) for line in lines):
            return True
    return False


def _in_turn(groups: list[Iterator[Question]], count: int, *, chance: Random) -> Iterator[Question]:
    chance.shuffle(groups)
    seen: set[str] = set()
    for row in zip_longest(*groups):
        for question in row:
            if len(seen) == count:
                return
            if question is not None and question.question not in seen:
                seen.add(question.question)
                yield question
