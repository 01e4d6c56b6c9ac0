"""Asks questions that a vault answers, each with its gold."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from random import Random

from bench.generate.cast import Cast, Decision, Thing
from bench.generate.model import Bridge, Question
from bench.generate.notes import Note

__all__ = ["Written", "ask"]

FACTS = 28
BRIDGES = 15
TEMPORAL_NOW = 6
TEMPORAL_FIRST = 4


@dataclass(frozen=True, slots=True)
class Written:
    """A cast with its notes, by what they are about."""

    cast: Cast
    things: dict[int, Note]
    """By `id` of the thing."""
    decisions: dict[int, Note]
    """By `id` of the decision."""

    def evidence(self, thing: Thing, key: str) -> str:
        return self.things[id(thing)].evidence[key]


def ask(written: Written, *, chance: Random) -> list[Question]:
    """The answerable questions of every class, without ids."""
    described = chance.randint(10, 14)
    return [
        *_take(_in_turn(_facts(written, chance=chance), chance=chance), FACTS),
        *_take(_in_turn(_bridges(written, described=False, chance=chance), chance=chance), BRIDGES),
        *_take(iter(_paraphrases(written, chance=chance)), described),
        *_take(
            _in_turn(_bridges(written, described=True, chance=chance), chance=chance),
            chance.randint(6, 8),
        ),
        *_temporal(written, chance=chance),
    ]


def _facts(written: Written, *, chance: Random) -> dict[str, list[Question]]:
    groups: dict[str, list[Question]] = {}
    for thing in written.cast.everything():
        for attribute in thing.kind.attributes:
            if attribute.key not in thing.values or not attribute.asks:
                continue
            target = thing.targets.get(attribute.key)
            question = Question(
                "",
                "fact",
                chance.choice(attribute.asks).format(name=thing.display),
                target.answers if target else (thing.values[attribute.key],),
                (thing.stem.lower(),),
                (written.evidence(thing, attribute.key),),
            )
            groups.setdefault(f"{thing.kind.key}.{attribute.key}", []).append(question)
    for decision in written.cast.decisions:
        if not decision.series.changed:
            question = _decided(written, decision, "fact", decision.series.asks_now, chance=chance)
            groups.setdefault(f"decision.{decision.series.topic}", []).append(question)
    return groups


def _bridges(written: Written, *, described: bool, chance: Random) -> dict[str, list[Question]]:
    groups: dict[str, list[Question]] = {}
    for at, bridge in enumerate(written.cast.world.bridges):
        if ("{other}" in bridge.asks[0]) != described:
            continue
        for start in written.cast.things[bridge.start]:
            question = _bridge(written, bridge, start, chance=chance)
            if question is not None:
                groups.setdefault(str(at), []).append(question)
    return groups


def _bridge(written: Written, bridge: Bridge, start: Thing, *, chance: Random) -> Question | None:
    other = start.goal[1] if start.goal is not None else ""
    text = chance.choice(bridge.asks).format(name=start.display, other=other)
    described = "{other}" in bridge.asks[0]
    seen = [(start, "goal")] if described else []
    here = start
    for step in bridge.steps:
        if step.startswith("~"):
            sources = here.sources.get(step[1:], [])
            if len(sources) != 1:
                return None
            here = sources[0]
            seen.append((here, step.rsplit(".", 1)[1]))
        elif step in here.targets:
            seen.append((here, step))
            here = here.targets[step]
        else:
            return None
    if bridge.last not in here.values:
        return None
    seen.append((here, bridge.last))
    support = tuple(dict.fromkeys(thing.stem.lower() for thing, _ in seen))
    target = here.targets.get(bridge.last)
    answers = target.answers if target else (here.values[bridge.last],)
    if len(support) < 2 or any(answer.lower() in text.lower() for answer in answers):
        return None
    evidence = tuple(written.evidence(thing, key) for thing, key in seen)
    cls = "paraphrase_bridge" if described else "bridge"
    return Question("", cls, text, answers, support, evidence)


def _paraphrases(written: Written, *, chance: Random) -> list[Question]:
    things = [thing for thing in written.cast.everything() if thing.goal is not None]
    chance.shuffle(things)
    return [
        Question(
            "",
            "paraphrase",
            chance.choice(thing.kind.goal_asks).format(other=thing.goal[1]),
            thing.answers,
            (thing.stem.lower(),),
            (written.evidence(thing, "goal"),),
        )
        for thing in things
        if thing.goal is not None
    ]


def _temporal(written: Written, *, chance: Random) -> list[Question]:
    changing = [d for d in written.cast.decisions if d.series.changed]
    firsts = [d for d in changing if d.before is None]
    chance.shuffle(firsts)
    asked_first = {id(d.thing) for d in firsts[:TEMPORAL_FIRST]}
    now = [d for d in changing if d.after is None and id(d.thing) not in asked_first]
    chance.shuffle(now)
    return [
        *(
            _decided(written, d, "temporal", d.series.asks_now, chance=chance)
            for d in now[:TEMPORAL_NOW]
        ),
        *(
            _decided(written, d, "temporal", d.series.asks_first, chance=chance)
            for d in firsts[:TEMPORAL_FIRST]
        ),
    ]


def _decided(
    written: Written, decision: Decision, cls: str, asks: tuple[str, ...], *, chance: Random
) -> Question:
    return Question(
        "",
        cls,
        chance.choice(asks).format(name=decision.thing.display),
        (decision.value,),
        (decision.stem.lower(),),
        (written.decisions[id(decision)].evidence[decision.series.topic],),
    )


def _in_turn(groups: dict[str, list[Question]], *, chance: Random) -> Iterator[Question]:
    """One of each group after the other, so that no kind of question crowds out the rest."""
    order = list(groups.values())
    for group in order:
        chance.shuffle(group)
    chance.shuffle(order)
    for row in zip_longest(*order):
        yield from (question for question in row if question is not None)


def _take(questions: Iterator[Question], count: int) -> list[Question]:
    taken: dict[str, Question] = {}
    for question in questions:
        if len(taken) == count:
            break
        taken.setdefault(question.question, question)
    return list(taken.values())
