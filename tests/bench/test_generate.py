import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from bench.generate import Generated, Question, build, write
from bench.generate.cast import slug
from bench.generate.check import faults
from bench.generate.model import Pool, World
from bench.generate.worlds import WORLDS

POOLS: tuple[Pool, Pool] = ("tune", "held_out")
SEEDS = range(20)
UNANSWERED = {"absent_entity", "absent_attribute"}
CLASSES = {
    "fact": (28, 28),
    "bridge": (15, 15),
    "paraphrase": (10, 14),
    "paraphrase_bridge": (6, 8),
    "temporal": (10, 10),
    "absent_entity": (10, 10),
    "absent_attribute": (12, 12),
}
SMALL_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a an the of to in on for and or is are was it its that this who what when where why how so "
        "as at by with from we our us they them their those people not no into out off up down "
        "after before one some somebody something have has let get more than over make each my "
        "which if whether because be do does about while there here",
    )
)


@cache
def vault(seed: int, pool: Pool) -> Generated:
    return build(seed, pool=pool)


@cache
def labelled(seed: int, pool: Pool) -> dict[str, str]:
    """Notes by id, with links read as their labels."""
    files = vault(seed, pool).files
    return {
        path.rsplit("/", 1)[-1].removesuffix(".md").lower(): re.sub(
            r"\[\[(?:[^\]|]*\|)?([^\]|]*)\]\]", r"\1", text
        )
        for path, text in files.items()
    }


def worlds(pool: Pool) -> list[World]:
    return [world for world in WORLDS if world.pool == pool]


def frames(world: World) -> Iterator[str]:
    for kind in world.kinds:
        yield from kind.goal_asks
        for attribute in kind.attributes:
            yield from attribute.asks
    for bridge in world.bridges:
        yield from bridge.asks
    for series in world.series:
        yield from (*series.asks_now, *series.asks_first)
    for ghost in world.ghosts:
        yield from ghost.asks


def goals(world: World) -> list[tuple[str, str]]:
    return [pair for kind in world.kinds for pair in kind.goals]


def asked_with(frame: str, question: Question, display: str = "{name}") -> str:
    """The name that the question puts into the frame; "" when it is of another frame."""
    pattern = re.escape(frame.replace("{name}", display)).replace(re.escape("{name}"), "(.+)")
    match = re.fullmatch(pattern, question.question)
    return match[1] if match else ""


def names_in(question: Question, world: World) -> set[str]:
    """The names, as the world's questions about attributes may hold them, in lower case."""
    return {
        name.lower()
        for kind in world.kinds
        for attribute in kind.attributes
        for frame in attribute.asks
        if (name := asked_with(frame, question, kind.display))
    }


def told(question: Question, world: World, notes: dict[str, str]) -> Iterator[str]:
    """Lines that say what the question asks for, by the world's own ways of saying it."""
    lines = [line for text in notes.values() for line in text.split("\n")]
    for kind in world.kinds:
        for attribute in kind.attributes:
            for name in filter(
                None, (asked_with(f, question, kind.display) for f in attribute.asks)
            ):
                display = kind.display.format(name=name)
                own = [
                    line
                    for stem, text in notes.items()
                    if stem == display.lower() or stem.endswith(slug(name))
                    for line in text.split("\n")
                ]
                again = kind.again.format(first=name.split()[0])
                for says in attribute.says:
                    said = re.escape(says).replace(re.escape("{value}"), ".+")
                    full = said.replace(re.escape("{name}"), re.escape(display))
                    short = re.sub(r"^(The\\ )?\\{name\\}", re.escape(again), said)
                    yield from (line for line in lines if re.search(full, line))
                    yield from (line for line in own if re.search(short, line))
                rows = (f"- {attribute.label}: ", f"| {attribute.label} | ")
                yield from (line for line in own if line.startswith(rows))
    for frames_, kind_key, word in [
        *((series.asks_now, series.kind, series.topic) for series in world.series),
        *((ghost.asks, ghost.kind, ghost.word) for ghost in world.ghosts),
    ]:
        kind = next(kind for kind in world.kinds if kind.key == kind_key)
        for name in filter(None, (asked_with(frame, question, kind.display) for frame in frames_)):
            display = kind.display.format(name=name).lower()
            yield from (line for line in lines if display in line.lower() and word in line.lower())


@pytest.mark.parametrize("pool", POOLS)
def test_the_same_seed_writes_the_same_bytes_and_another_seed_others(
    pool: Pool, tmp_path: Path
) -> None:
    def written(seed: int, name: str) -> dict[str, bytes]:
        write(build(seed, pool=pool), tmp_path / name)
        files = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        return {path.relative_to(tmp_path / name).as_posix(): path.read_bytes() for path in files}

    first = written(5, "first")
    assert first == written(5, "again")
    assert "questions.jsonl" in first
    assert first != written(6, "other")


def test_the_command_writes_the_bytes_that_building_here_gives(tmp_path: Path) -> None:
    asked = ["--seed", "5", "--pool", "tune", "--size", "90", "--out", str(tmp_path / "run")]
    run = subprocess.run(
        [sys.executable, "-m", "bench.generate", *asked],
        capture_output=True, text=True, check=True, timeout=60, env={"PYTHONHASHSEED": "77"},
        cwd=Path(__file__).parents[2],
    )  # fmt: skip
    here = build(5, pool="tune", size=90)
    write(here, tmp_path / "here")
    assert here.world in run.stdout
    for path in (tmp_path / "here").rglob("*.*"):
        twin = tmp_path / "run" / path.relative_to(tmp_path / "here")
        assert twin.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("pool", POOLS)
def test_every_answer_stands_in_the_evidence_and_the_evidence_in_a_needed_note(pool: Pool) -> None:
    for seed in SEEDS:
        notes = labelled(seed, pool)
        for question in vault(seed, pool).questions:
            if question.cls in UNANSWERED:
                assert not question.answers + question.support + question.evidence
                continue
            texts = [notes[stem] for stem in question.support]
            assert texts
            assert all(any(line in text for text in texts) for line in question.evidence)
            assert all(any(line in text for line in question.evidence) for text in texts)
            assert any(answer in question.evidence[-1] for answer in question.answers) or any(
                answer in question.evidence[0] for answer in question.answers
            )


@pytest.mark.parametrize("pool", POOLS)
def test_every_vault_asks_every_class_and_a_class_the_expected_number_of_times(pool: Pool) -> None:
    for seed in SEEDS:
        counted = Counter(question.cls for question in vault(seed, pool).questions)
        assert set(counted) == set(CLASSES)
        for name, (least, most) in CLASSES.items():
            assert least <= counted[name] <= most


@pytest.mark.parametrize("pool", POOLS)
def test_an_original_value_is_in_a_replaced_note_and_a_current_one_in_a_note_that_is_not(
    pool: Pool,
) -> None:
    for seed in SEEDS:
        notes = labelled(seed, pool)
        replaced = {stem: 'status: "superseded"' in text for stem, text in notes.items()}
        asked = [
            replaced[question.support[0]]
            for question in vault(seed, pool).questions
            if question.cls == "temporal"
        ]
        assert Counter(asked) == {False: 6, True: 4}
        for stem, text in notes.items():
            successor = re.search(r'^superseded_by: "(.+)"$', text, re.MULTILINE)
            assert bool(successor) == replaced[stem]
            assert successor is None or successor[1].lower() in notes


@pytest.mark.parametrize("pool", POOLS)
def test_logs_that_nothing_replaces_still_quote_values_that_no_longer_hold(pool: Pool) -> None:
    by_name = {world.name: world for world in WORLDS}
    quoting = 0
    for seed in SEEDS:
        world = by_name[vault(seed, pool).world]
        notes = labelled(seed, pool)
        templates = [text for series in world.series for text in series.stale]
        quotes = [re.escape(t).replace(re.escape("{name}"), ".+") for t in templates]
        for question in vault(seed, pool).questions:
            if question.cls != "temporal" or "superseded_by" not in notes[question.support[0]]:
                continue
            value = re.escape(question.answers[0])
            patterns = [quote.replace(re.escape("{value}"), value) for quote in quotes]
            logs = [text for text in notes.values() if "superseded" not in text]
            quoting += any(re.search(pattern, text) for pattern in patterns for text in logs)
    assert quoting >= len(SEEDS)


@pytest.mark.parametrize("pool", POOLS)
def test_absent_names_occur_nowhere_and_names_of_facts_do(pool: Pool) -> None:
    by_name = {world.name: world for world in WORLDS}
    for seed in SEEDS:
        generated = vault(seed, pool)
        everything = "\n".join([*generated.files, *labelled(seed, pool).values()]).lower()
        world = by_name[generated.world]
        absent = [question for question in generated.questions if question.cls == "absent_entity"]
        for question in absent:
            names = names_in(question, world)
            assert names
            assert all(name not in everything for name in names)
        facts = [
            names for q in generated.questions if q.cls == "fact" and (names := names_in(q, world))
        ]
        assert len(facts) > 20
        assert all(any(name in everything for name in names) for names in facts)


@pytest.mark.parametrize("pool", POOLS)
def test_some_absent_names_have_parts_that_all_occur(pool: Pool) -> None:
    by_name = {world.name: world for world in WORLDS}
    for seed in SEEDS:
        generated = vault(seed, pool)
        everything = "\n".join(generated.files.values()).lower()
        apart = unheard = 0
        for question in generated.questions:
            if question.cls != "absent_entity":
                continue
            name = min(names_in(question, by_name[generated.world]), key=len)
            parts = re.findall(r"[^\W\d_]+|\d", name)
            if all(part in everything for part in parts):
                apart += 1
            else:
                unheard += 1
        assert apart >= 2
        assert unheard >= 1


@pytest.mark.slow
@pytest.mark.parametrize("pool", POOLS)
def test_a_missing_attribute_is_said_nowhere_of_a_thing_that_exists_and_a_fact_is_said(
    pool: Pool,
) -> None:
    by_name = {world.name: world for world in WORLDS}
    for seed in SEEDS:
        generated, notes = vault(seed, pool), labelled(seed, pool)
        world = by_name[generated.world]
        everything = "\n".join(notes.values()).lower()
        for question in generated.questions:
            if question.cls == "fact":
                assert question.evidence[0] in "\n".join(told(question, world, notes))
            elif question.cls == "absent_attribute":
                assert list(told(question, world, notes)) == []
                names = {asked_with(frame, question) for frame in frames(world)} - {""}
                assert any(name.lower() in everything for name in names)


def test_pools_share_no_world_goal_paraphrase_question_frame_or_name() -> None:
    tune, held_out = (worlds(pool) for pool in POOLS)
    assert len(tune) >= 3
    assert len(held_out) >= 3
    for part in (
        lambda world: [world.name],
        lambda world: [text.lower() for pair in goals(world) for text in pair],
        lambda world: [text.lower() for text in frames(world)],
        lambda world: [
            text for kind in world.kinds for text in (*kind.goal_says, *kind.filler) if text
        ],
    ):
        here = {text for world in tune for text in part(world)}
        there = {text for world in held_out for text in part(world)}
        assert here
        assert there
        assert not here & there


def test_no_two_things_have_the_same_goal_or_paraphrase() -> None:
    texts = [text.lower() for world in WORLDS for pair in goals(world) for text in pair]
    assert len(texts) >= 2 * 150
    assert len(texts) == len(set(texts))
    for pool in POOLS:
        assert sum(len(goals(world)) for world in worlds(pool)) >= 75


def test_a_paraphrase_says_a_goal_in_other_words() -> None:
    def content(text: str) -> set[str]:
        words = set(re.findall(r"[a-z]+", text.lower())) - SMALL_WORDS
        return {re.sub(r"(?<=\w{3})(ing|ed|es|s)$", "", word) for word in words}

    pairs = [pair for world in WORLDS for pair in goals(world)]
    shared = [pair for pair in pairs if content(pair[0]) & content(pair[1])]
    assert content("counting old maps") & content("the map")
    assert len(shared) <= len(pairs) // 20


def test_gold_that_a_note_no_longer_bears_out_is_found() -> None:
    generated = vault(1, "tune")
    question = next(question for question in generated.questions if question.cls == "fact")
    line = question.evidence[0]
    files = {path: "gone" if Path(path).stem.lower() in question.support else text
             for path, text in generated.files.items()}  # fmt: skip
    assert faults(generated) == []
    assert f"{question.id} quotes what no note says: {line}" in faults(
        replace(generated, files=files)
    )
    wrong = replace(question, answers=("no such value",))
    questions = [wrong if other is question else other for other in generated.questions]
    assert faults(replace(generated, questions=questions)) == [
        f"{question.id} has an answer that its evidence lacks"
    ]


def test_a_world_of_the_other_pool_is_refused_with_the_names_of_those_there_are() -> None:
    world = worlds("held_out")[0].name
    assert build(1, pool="held_out", world=world).world == world
    with pytest.raises(ValueError, match=worlds("tune")[0].name):
        build(1, pool="tune", world=world)


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_a_world_can_be_small_and_large(world: World) -> None:
    small = build(3, pool=world.pool, world=world.name, size=80)
    large = build(3, pool=world.pool, world=world.name, size=600)
    assert 80 <= len(small.files) <= 180
    assert 550 <= len(large.files) <= 620


def test_notes_of_one_pool_differ_in_how_they_state_a_fact() -> None:
    stated = Counter(
        question.evidence[0][:2]
        for seed in SEEDS
        for question in vault(seed, "tune").questions
        if question.cls == "fact"
    )
    total = sum(stated.values())
    assert stated["- "] > total // 10
    assert stated["| "] > total // 20
    assert total - stated["- "] - stated["| "] > total // 4
