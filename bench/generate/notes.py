"""Writes the notes of a vault and remembers which line states what."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from random import Random

from bench.generate.cast import Cast, Decision, Thing
from bench.generate.model import Layout, Log, World
from bench.generate.values import spell

__all__ = ["Note", "Writer"]

_OPENING = re.compile(r"^(?:The )?\{name\} ")
_PRONOUN = 0.35
_QUOTES_STALE = 0.3


@dataclass(frozen=True, slots=True)
class Note:
    """A file, and by attribute key the line or sentence that states it, links as labels."""

    path: str
    text: str
    evidence: dict[str, str]


@dataclass(frozen=True, slots=True)
class _Fact:
    key: str
    label: str
    says: tuple[str, ...]
    plain: str
    linked: str


class _Mentions:
    """Fills placeholders with links to things of the kind they name: `{person}`, `{person2}`."""

    def __init__(self, writer: "Writer", given: dict[str, str]) -> None:
        self._writer = writer
        self._given = dict(given)

    def __getitem__(self, key: str) -> str:
        if key not in self._given:
            kind = key.rstrip("0123456789")
            thing = self._writer.chance.choice(self._writer.cast.things[kind])
            self._given[key] = self._writer.link(thing)
        return self._given[key]


class Writer:
    """Writes one vault's notes, each choice drawn from `chance`."""

    def __init__(self, cast: Cast, *, chance: Random) -> None:
        self.cast = cast
        self.world: World = cast.world
        self.chance = chance
        self._decoys: dict[int, list[str]] = {}
        self._scatter_decoys()

    def link(self, thing: Thing, *, listed: bool = False) -> str:
        styles = (self.world.list_links if listed else ()) or self.world.links
        return self._link(self.chance.choice(styles), thing)

    def thing(self, thing: Thing) -> Note:
        """The note of a thing, in one of its kind's layouts."""
        facts = self._facts(thing)
        layout = self.chance.choice(thing.kind.layouts)
        filler = [self.fill(text, thing) for text in thing.kind.filler]
        self.chance.shuffle(filler)
        blocks, evidence = self._lay(layout, thing, facts, filler)
        blocks.extend(self._decoys.get(id(thing), []))
        blocks.extend(self._inverses(thing))
        front: dict[str, object] = {
            "title": thing.display,
            "type": thing.kind.key,
            "date": self._some_day(),
        }
        if thing.kind.tags:
            front["tags"] = list(self.chance.sample(thing.kind.tags, 1))
        extra: dict[str, object] = {
            attribute.key: thing.values[attribute.key]
            for attribute in thing.kind.attributes
            if attribute.property and attribute.key in thing.values and not attribute.to
        }
        text = self._page(front, extra, "" if layout == "line" else thing.display, blocks)
        return Note(_path(thing.kind.folder, thing.stem), text, evidence)

    def decision(self, decision: Decision) -> Note:
        """The note of a decision, which says in frontmatter when it is replaced."""
        series, thing = decision.series, decision.thing
        when = spell(decision.when, style=self.world.date_style)
        given = {"date": when, "value": decision.value}
        if decision.before is not None:
            template = self.chance.choice(series.changed)
            given["earlier"] = f"[[{decision.before.stem}|the earlier decision]]"
        else:
            template = self.chance.choice(series.first)
        linked = template.format(name=self.link(thing), **given)
        given["earlier"] = "the earlier decision"
        plain = template.format(name=thing.display, **given)
        extra: dict[str, object] = {}
        if decision.after is not None:
            extra = {"status": "superseded", "superseded_by": f"[[{decision.after.stem}]]"}
        elif decision.before is not None and self.chance.random() < 0.5:
            extra = {"status": "current"}
        if decision.before is not None and self.chance.random() < 0.5:
            extra["supersedes"] = [f"[[{decision.before.stem}]]"]
        title = series.title.format(name=thing.display, date=decision.when.isoformat())
        blocks = [linked]
        if series.filler:
            count = self.chance.randint(0, min(2, len(series.filler)))
            blocks.extend(self.fill(t, thing) for t in self.chance.sample(series.filler, count))
        front: dict[str, object] = {
            "title": title,
            "type": "decision",
            "date": decision.when.isoformat(),
        }
        text = self._page(front, extra, title, blocks)
        return Note(_path(series.folder, decision.stem), text, {series.topic: plain})

    def log(self, log: Log, when: date, number: int) -> Note:
        """A dated note that answers nothing; some quote a value that no longer holds."""
        given = {"date": spell(when, style=self.world.date_style), "number": str(number)}
        mentions = _Mentions(self, given)
        count = self.chance.randint(2, min(6, len(log.lines)))
        lines = [
            template.format_map(_Mentions(self, given))
            for template in self.chance.sample(log.lines, count)
        ]
        replaced = [d for d in self.cast.decisions if d.after is not None and d.series.stale]
        if replaced and self.chance.random() < _QUOTES_STALE:
            old = self.chance.choice(replaced)
            stale = self.chance.choice(old.series.stale)
            lines.append(stale.format(name=self.link(old.thing), value=old.value))
        title = log.title.format(date=when.isoformat(), number=number)
        front: dict[str, object] = {"title": title, "type": "log", "date": when.isoformat()}
        body = [self.chance.choice(log.opening).format_map(mentions)] if log.opening else []
        body.append("\n".join(f"- {line}" for line in lines))
        stem = log.stem.format(date=when.isoformat(), number=number)
        return Note(_path(log.folder, stem), self._page(front, {}, title, body), {})

    def page(self, title: str, text: str, *, stem: str) -> Note:
        """A note about an idea, with links to a few things that have a purpose."""
        goals = [thing for thing in self.cast.everything() if thing.goal is not None]
        some = self.chance.sample(goals, min(len(goals), self.chance.randint(2, 5)))
        related = ", ".join(self.link(thing, listed=True) for thing in some)
        front: dict[str, object] = {"title": title, "type": "idea"}
        blocks = [text, f"Comes up in: {related}."]
        return Note(_path("", stem), self._page(front, {}, title, blocks), {})

    def index(self) -> Note:
        """The entry note that links to every thing."""
        blocks = []
        for key, things in self.cast.things.items():
            blocks.append(f"## {key.capitalize()}")
            blocks.append(", ".join(self.link(thing, listed=True) for thing in things))
        front: dict[str, object] = {"title": self.world.index, "type": "index"}
        return Note("index.md", self._page(front, {}, self.world.index, blocks), {})

    def fill(self, template: str, thing: Thing) -> str:
        """A sentence that states nothing asked for, about `thing`."""
        first = thing.name.split()[0]
        return template.format_map(_Mentions(self, {"name": thing.display, "first": first}))

    def _facts(self, thing: Thing) -> list[_Fact]:
        kind = thing.kind
        facts = []
        if thing.goal is not None:
            goal = thing.goal[0]
            facts.append(_Fact("goal", kind.goal_label, kind.goal_says, goal, goal))
        rest = [a for a in kind.attributes if a.key in thing.values]
        self.chance.shuffle(rest)
        for attribute in rest:
            plain = thing.values[attribute.key]
            target = thing.targets.get(attribute.key)
            linked = self.link(target) if target is not None else plain
            facts.append(_Fact(attribute.key, attribute.label, attribute.says, plain, linked))
        return facts

    def _lay(
        self, layout: Layout, thing: Thing, facts: list[_Fact], filler: list[str]
    ) -> tuple[list[str], dict[str, str]]:
        if layout in {"prose", "line"}:
            sentences, evidence = self._sentences(thing, facts)
            if layout == "line":
                return [" ".join(sentences)], evidence
            sentences.extend(filler[: self.chance.randint(1, 3)])
            return _paragraphs(sentences, every=self.chance.randint(2, 4)), evidence
        if layout in {"list", "table"}:
            lead, evidence = self._sentences(thing, [f for f in facts if f.key == "goal"])
            rest = [fact for fact in facts if fact.key != "goal"]
            block, more = _rows(rest, table=layout == "table")
            lead.extend(filler[:1])
            after = filler[1 : 1 + self.chance.randint(0, 2)]
            return [" ".join(lead), block, *after], evidence | more
        summary, details, background = self.world.sections
        cut = max(1, len(facts) // 2)
        sentences, evidence = self._sentences(thing, facts[:cut])
        block, more = _rows(facts[cut:], table=self.chance.random() < 0.4)
        long = _paragraphs(filler, every=3)
        blocks = [f"## {summary}", " ".join(sentences), f"## {background}", *long]
        if thing.kind.code:
            blocks.append(f"```\n{thing.kind.code.format(name=thing.name)}\n```")
        blocks += [f"## {details}", block] if block else []
        return blocks, evidence | more

    def _sentences(self, thing: Thing, facts: list[_Fact]) -> tuple[list[str], dict[str, str]]:
        sentences, evidence = [], {}
        again = thing.kind.again.format(first=thing.name.split()[0])
        for at, fact in enumerate(facts):
            template = self.chance.choice(fact.says)
            name = thing.display
            if at and self.chance.random() < _PRONOUN:
                template = _OPENING.sub(f"{again} ", template)
            sentences.append(template.format(name=name, value=fact.linked))
            evidence[fact.key] = template.format(name=name, value=fact.plain)
        return sentences, evidence

    def _inverses(self, thing: Thing) -> Iterator[str]:
        for kind in self.world.kinds:
            for attribute in kind.attributes:
                sources = thing.sources.get(f"{kind.key}.{attribute.key}")
                if attribute.inverse and sources and attribute.to == thing.kind.key:
                    linked = ", ".join(self.link(source, listed=True) for source in sources)
                    yield f"{attribute.inverse}: {linked}."

    def _scatter_decoys(self) -> None:
        for ghost in self.world.ghosts:
            if not ghost.decoy:
                continue
            hosts = [t for t in self.cast.everything() if t.kind.key != ghost.kind]
            for host in self.chance.sample(hosts, min(3, len(hosts))):
                text = ghost.decoy.format(name=host.display)
                self._decoys.setdefault(id(host), []).append(text)

    def _page(
        self, front: dict[str, object], extra: dict[str, object], title: str, blocks: list[str]
    ) -> str:
        head = {key: front[key] for key in self.world.front if key in front} | extra
        lines = [f"{key}: {_yaml(value)}" for key, value in head.items()]
        parts = ["\n".join(["---", *lines, "---"])] if head else []
        if self.world.heading and title:
            parts.append(f"# {title}")
        return "\n\n".join([*parts, *blocks]) + "\n"

    def _link(self, style: str, thing: Thing) -> str:
        path = _path(thing.kind.folder, thing.stem)
        return style.format(
            stem=thing.stem, label=thing.display, path=path.removesuffix(".md"), file=path
        )

    def _some_day(self) -> str:
        first, last = self.world.years
        day = date(self.chance.randint(first, last), self.chance.randint(1, 12), 1)
        return day.isoformat()


def _path(folder: str, stem: str) -> str:
    return f"{folder}/{stem}.md" if folder else f"{stem}.md"


def _rows(facts: list[_Fact], *, table: bool) -> tuple[str, dict[str, str]]:
    form = "| {} | {} |" if table else "- {}: {}"
    evidence = {fact.key: form.format(fact.label, fact.plain) for fact in facts}
    lines = [
        form.format(fact.label, fact.linked.replace("|", r"\|") if table else fact.linked)
        for fact in facts
    ]
    if table and lines:
        lines = ["| What | Value |", "| --- | --- |", *lines]
    return "\n".join(lines), evidence


def _paragraphs(sentences: list[str], *, every: int) -> list[str]:
    return [" ".join(sentences[at : at + every]) for at in range(0, len(sentences), every)]


def _yaml(value: object) -> str:
    return str(value) if isinstance(value, int) else json.dumps(value, ensure_ascii=False)
