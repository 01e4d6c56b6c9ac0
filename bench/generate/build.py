"""Builds a vault and its questions from a seed."""

import json
from dataclasses import asdict, replace
from datetime import date, timedelta
from pathlib import Path
from random import Random

from bench.generate.absent import ask_absent
from bench.generate.cast import draw_cast, slug
from bench.generate.check import faults
from bench.generate.model import Generated, Pool, World
from bench.generate.notes import Note, Writer
from bench.generate.questions import Written, ask
from bench.generate.worlds import WORLDS

__all__ = ["build", "write"]


def build(seed: int, *, pool: Pool, world: str = "", size: int = 0) -> Generated:
    """A vault with its questions: the same for the same arguments.

    `world` names one of the pool's worlds and `size` the number of notes, about; empty and 0 let
    the seed choose. Raises ValueError for a world that is not in the pool, and for gold that its
    own notes do not bear out.
    """
    chance = Random(f"{pool}/{world}/{size}/{seed}")
    drawn = _choose(world, pool, chance=chance)
    size = size or chance.choice(drawn.sizes)
    cast = draw_cast(drawn, size, chance=chance)
    writer = Writer(cast, chance=chance)
    things = {id(thing): writer.thing(thing) for thing in cast.everything()}
    decisions = {id(decision): writer.decision(decision) for decision in cast.decisions}
    notes = [*things.values(), *decisions.values(), *_ideas(writer, drawn)]
    notes.extend(_logs(writer, drawn, max(10, size - len(notes)), chance=chance))
    files = {note.path: note.text for note in notes}
    asked = ask(Written(cast, things, decisions), chance=chance)
    asked.extend(ask_absent(cast, files, chance=chance))
    questions = [replace(question, id=f"q{at:03}") for at, question in enumerate(asked, 1)]
    generated = Generated(dict(sorted(files.items())), questions, drawn.name)
    if wrong := faults(generated):
        raise ValueError(f"{drawn.name}, seed {seed}: {'; '.join(wrong[:5])}")
    return generated


def write(generated: Generated, folder: Path) -> None:
    """Write the notes to `folder`/vault and the questions, a JSON object a line, beside it."""
    for path, text in generated.files.items():
        target = folder / "vault" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", newline="\n")
    lines = [
        json.dumps(asdict(question), ensure_ascii=False, sort_keys=True)
        for question in generated.questions
    ]
    questions = folder / "questions.jsonl"
    questions.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def _choose(name: str, pool: Pool, *, chance: Random) -> World:
    worlds = [world for world in WORLDS if world.pool == pool]
    if not name:
        return chance.choice(worlds)
    for world in worlds:
        if world.name == name:
            return world
    names = ", ".join(world.name for world in worlds)
    raise ValueError(f"no world {name!r} in pool {pool}; there are: {names}")


def _ideas(writer: Writer, world: World) -> list[Note]:
    notes = [
        writer.page(title, text, stem=title if "{name}" in world.kinds[0].stem else slug(title))
        for title, text in world.pages
    ]
    return [*notes, writer.index()] if world.index else notes


def _logs(writer: Writer, world: World, count: int, *, chance: Random) -> list[Note]:
    first = date(world.years[0], 1, 1)
    span = (date(world.years[1], 12, 31) - first).days
    notes: dict[str, Note] = {}
    for number in range(1, count + 1):
        when = first + timedelta(days=chance.randint(0, span))
        note = writer.log(chance.choice(world.logs), when, number)
        notes.setdefault(note.path.lower(), note)
    return list(notes.values())
