"""C3, C4, W5: what was corrected is so in every verb that reads, and stays so; no update is lost."""

import datetime
import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.invariants.house import Agent, House, lose_index, opened

LONG = (
    "# Runbook\n\nThe weir gate opens at dawn.\n\n- The weir pump is called Marta.\n"
    "- The weir keeper is Odd Lindqvist.\n\n| hour | level |\n|---|---|\n| 6 | low |\n"
)
KEPT = ("The weir gate opens at dawn.", "The weir keeper is Odd Lindqvist.", "6 | low")


@dataclass(frozen=True)
class Case:
    """A correction that was made, what holds since, and what does not."""

    query: str
    now: tuple[str, ...]
    gone: str
    id: str
    rejected: bool = False
    """Whether the old text was never true; else it is history."""
    then: str = ""
    """A day on which the old text held."""
    others: tuple[str, ...] = field(default=())
    """Ids of further notes that are found with it."""


def replaced(claude: Agent, mode: str, **more: Any) -> Case:
    subject = f"kiln{mode}{len(more)}"
    old, new = f"The {subject} lid is red as rust.", f"The {subject} lid is blue as ice."
    note = claude.save(f"Lid of {subject}", old, valid_from="2026-01-01")
    said = {"version": 1, "mode": mode, "body": new, **more}
    claude.ask("correct", id=note["id"], **said)
    then = "2026-02-01" if mode == "changed" else ""
    return Case(f"{subject} lid", (new,), old, note["id"], mode == "wrong", then)


def flipped(claude: Agent, mode: str) -> Case:
    old, new = (f"The mill{mode} wall may {word}be painted at night." for word in ("", "not "))
    note = claude.save(f"Paint of {mode}", old, valid_from="2026-01-01")
    claude.ask("correct", id=note["id"], version=1, mode=mode, body=new)
    then = "2026-02-01" if mode == "changed" else ""
    return Case(f"mill{mode} wall painted", (new,), old, note["id"], mode == "wrong", then)


def partly(claude: Agent, mode: str) -> Case:
    long = LONG.replace("weir", f"weir{mode}")
    note = claude.save(f"Weir of {mode}", long, valid_from="2026-01-01")
    said = {"old_text": "is called Marta", "new_text": "is called Elin"}
    claude.ask("correct", id=note["id"], version=1, mode=mode, **said)
    now = (
        *(one.replace("weir", f"weir{mode}") for one in KEPT),
        f"weir{mode} pump is called Elin.",
    )
    gone = f"weir{mode} pump is called Marta."
    then = "2026-02-01" if mode == "changed" else ""
    return Case(f"weir{mode} pump called", now, gone, note["id"], mode == "wrong", then)


def passage_forgotten(claude: Agent) -> Case:
    note = claude.save("Lock", LONG.replace("weir", "lock"))
    claude.ask("forget", id=note["id"], passage="- The lock pump is called Marta.\n")
    now = tuple(one.replace("weir", "lock") for one in KEPT)
    return Case(
        "lock keeper gate", now, "The lock pump is called Marta.", note["id"], rejected=True
    )


def superseded(claude: Agent) -> Case:
    old, new = "The quarry siren sounds at noon.", "The quarry siren sounds at one."
    first = claude.save("Siren", old, valid_from="2026-01-01")
    second = claude.save("Siren now", new, supersedes=[first["id"]])
    return Case("quarry siren sounds", (new,), old, second["id"], then="2026-02-01",
                others=(first["id"],))  # fmt: skip


def bounded(claude: Agent) -> Case:
    old, new = "The sluice fee is 40 crowns.", "The sluice fee is 55 crowns."
    first = claude.save("Fee", old, valid_from="2026-01-01", valid_to="2026-06-01")
    second = claude.save("Fee since June", new, valid_from="2026-06-01")
    return Case("sluice fee crowns", (new,), old, second["id"], then="2026-02-01",
                others=(first["id"],))  # fmt: skip


CASES: dict[str, Callable[[Agent], Case]] = {
    "replaced, it changed": lambda claude: replaced(claude, "changed"),
    "replaced, changed long ago": lambda claude: replaced(
        claude, "changed", effective="2026-03-01"
    ),
    "replaced, it was wrong": lambda claude: replaced(claude, "wrong"),
    "replaced, in better words": lambda claude: replaced(claude, "amend"),
    "polarity, it changed": lambda claude: flipped(claude, "changed"),
    "polarity, it was wrong": lambda claude: flipped(claude, "wrong"),
    "a part changed": lambda claude: partly(claude, "changed"),
    "a part was wrong": lambda claude: partly(claude, "wrong"),
    "a part retracted": passage_forgotten,
    "superseded by another note": superseded,
    "out of its time": bounded,
}
RETRACTED = "The bellows creak in the east wing."


@dataclass(frozen=True)
class Corrected:
    """A house in which all the corrections were made, and one retraction without a replacement."""

    house: House
    cases: dict[str, Case]
    retracted: str


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Corrected]:
    with opened(tmp_path_factory.mktemp("correction")) as house:
        claude = house.agent()
        cases = {name: make(claude) for name, make in CASES.items()}
        note = claude.save("Bellows", RETRACTED)
        claude.save("Bellows of the west", "The bellows hum in the west wing.")
        claude.ask("forget", id=note["id"])
        yield Corrected(house, cases, note["id"])


def texts(hits: list[dict[str, Any]]) -> str:
    return "\n".join(hit["text"] for hit in hits)


def current(house: House, case: Case) -> dict[str, str]:
    """What each verb that reads says now, by door."""
    claude = house.agent()
    today = datetime.datetime.now(datetime.UTC).isoformat()
    words = case.query.split()
    return {
        "recall": claude.texts(case.query, detail="full"),
        "recall, explained": claude.texts(case.query, detail="full", explain=True),
        "recall as of now": claude.texts(case.query, detail="full", as_of=today),
        "recall as known now": claude.texts(case.query, detail="full", known_at=today),
        "read": claude.ask("read", id=case.id)["body"],
        "cli recall": texts(house.json("recall", *words, "--detail", "full")["hits"]),
        "cli recall as text": house.run("recall", *words, "--detail", "full").out,
        "cli read": house.run("read", case.id).out,
    }


def check(house: House, name: str, case: Case) -> None:
    claude = house.agent()
    for door, said in current(house, case).items():
        for one in case.now:
            assert one in said, (name, door, one)
        assert case.gone not in said, (name, door)
    assert case.gone not in claude.texts(case.query), (name, "snippet")
    found = claude.hits(case.query)
    assert (found[0]["id"], {hit["current"] for hit in found}) == (case.id, {True}), name
    assert not {hit["id"] for hit in found} & set(case.others), name
    ever = claude.hits(case.query, history=True, detail="full")
    stating = [hit for hit in ever if case.gone in hit["text"]]
    assert [hit for hit in ever if case.now[0] in hit["text"]], name
    first = json.dumps(claude.result("read", id=case.id, version=1))
    assert (case.gone in first) == (not case.rejected and not case.others), name
    by_person = house.run("read", case.id, "--version", "1").out
    assert (case.gone in by_person) == (not case.others), name
    if case.rejected:
        assert stating == [], name
    elif case.then:
        assert [(hit["id"], hit["current"]) for hit in stating] in (
            [(case.id, False)],
            [(case.others[0] if case.others else "", False)],
        ), name
        then = claude.texts(case.query, as_of=case.then, detail="full")
        assert case.gone in then, (name, then)
        assert case.now[-1] not in then, name
    events = json.dumps(claude.ask("history", id=case.id))
    assert case.id in events
    assert case.gone not in events, name
    assert case.gone not in json.dumps(house.json("audit", "list", case.id)), name


def reindexed_and_restarted(house: House) -> None:
    house.json("reindex")
    house.restart()


STEPS: dict[str, Callable[[House], object]] = {
    "at once": lambda _: None,
    "reindex and restart": reindexed_and_restarted,
    "loss of the index": lose_index,
}


@pytest.mark.guarantee("C3", "C4", "R5")
@pytest.mark.parametrize("step", STEPS)
def test_a_correction_holds_in_every_verb_that_reads(made: Corrected, step: str) -> None:
    STEPS[step](made.house)
    for name, case in made.cases.items():
        check(made.house, name, case)
    house, claude = made.house, made.house.agent()
    assert RETRACTED not in claude.texts("bellows wing", history=True)
    assert "west wing" in claude.texts("bellows wing", history=True)
    assert RETRACTED not in house.run("recall", "bellows", "wing").out
    for door in (
        claude.refused("read", id=made.retracted)["message"],
        claude.refused("read", id=made.retracted, version=1)["message"],
        house.fails("read", made.retracted),
    ):
        assert "no note with that id" in door
    assert claude.code("save", title="Bellows", body=RETRACTED) == "rejected_claim"


# -- two at once -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with opened(tmp_path_factory.mktemp("writers")) as made:
        yield made


@pytest.mark.guarantee("W5")
def test_a_stale_version_is_refused_with_the_current_text_through_each_door(house: House) -> None:
    claude, codex = house.agent(), house.agent("codex")
    note = claude.save("Ferry", "The ferry leaves at 7.")
    codex.ask("correct", id=note["id"], version=1, mode="changed", body="The ferry leaves at 8.")
    path = house.vault / note["path"]
    before = path.read_bytes()
    said = {"id": note["id"], "version": 1, "mode": "amend", "body": "The ferry leaves at 9."}
    error = claude.refused("correct", **said)
    assert (error["code"], error["data"]["version"]) == ("stale_version", 2)
    assert error["data"]["body"] == "The ferry leaves at 8.\n"
    shown = claude.result("correct", **said)["content"][0]["text"]
    assert "The ferry leaves at 8." in shown
    done = house.run("correct", note["id"], "--version", "1", "--mode", "wrong", "--body", "Never.")
    assert done.code == 1
    assert "The ferry leaves at 8." in done.out
    assert path.read_bytes() == before
    assert claude.code("correct", **{**said, "version": 3}) == "stale_version"
    path.write_bytes(before.replace(b"at 8", b"at 10"))  # a person edits meanwhile
    late = codex.refused("correct", **{**said, "version": 2})
    assert (late["data"]["version"], late["data"]["body"]) == (3, "The ferry leaves at 10.\n")
    assert claude.code("correct", **{**said, "version": 3}) == "corrected"
    assert claude.texts("ferry leaves") == "The ferry leaves at 9."


def add_lines(
    read: Callable[[], dict[str, Any]], correct: Callable[[int, str], str], lines: list[str]
) -> None:
    """Append line after line to a note, each again and again until nobody was faster."""
    for line in lines:
        answer = "stale_version"
        while answer == "stale_version":
            now = read()
            answer = correct(now["version"], f"{now['body'].rstrip()}\n{line}")
        assert answer == "corrected"


@pytest.mark.guarantee("W5", "A1")
def test_agents_and_a_shell_that_correct_one_note_at_once_lose_no_line(house: House) -> None:
    claude, codex = house.agent(), house.agent("codex")
    note = claude.save("Log", "line zero")["id"]

    def by_command(version: int, body: str) -> str:
        options = ("--version", str(version), "--mode", "amend", "--body", body)
        return house.code("correct", note, *options)

    def by_call(who: Agent) -> Callable[[int, str], str]:
        said = {"id": note, "mode": "amend"}
        return lambda version, body: who.code("correct", **said, version=version, body=body)

    wanted = {name: [f"line {name} {number}" for number in range(8)] for name in ("a", "b", "c")}
    writers = [
        (lambda: claude.ask("read", id=note), by_call(claude), wanted["a"]),
        (lambda: codex.ask("read", id=note), by_call(codex), wanted["b"]),
        (lambda: house.json("read", note), by_command, wanted["c"]),
    ]
    with ThreadPoolExecutor(len(writers)) as pool:
        for end in [pool.submit(add_lines, *writer) for writer in writers]:
            end.result(timeout=100)
    final = claude.ask("read", id=note)
    assert sorted(final["body"].splitlines()) == sorted(sum(wanted.values(), ["line zero"]))
    assert final["version"] == 25
    events = house.json("audit", "list", note, "--action", "correct", "--limit", "200")["events"]
    done = [one["version"] for one in events if one["outcome"] == "done"]
    assert done == list(range(25, 1, -1))
    assert house.run("audit", "verify").code == 0


@pytest.mark.guarantee("C1", "C2")
def test_what_changed_may_be_so_again_and_what_was_wrong_may_not(house: House) -> None:
    claude = house.agent()
    for make in (replaced, flipped):
        case = make(claude, "changed")
        assert claude.code("save", title="Back again", body=case.gone) == "created"
        case = make(claude, "wrong")
        assert claude.code("save", title="Back", body=case.gone) == "rejected_claim"
        again = {"id": case.id, "version": 2, "mode": "changed", "body": case.gone}
        assert claude.code("correct", **again) == "rejected_claim"
        assert claude.code("save", title="So it is", body=case.now[0]) == "created"


@pytest.mark.guarantee("W5")
def test_of_processes_that_start_from_the_same_version_one_wins(house: House) -> None:
    note = house.agent().save("Race", "The race has no winner.")["id"]
    command = [sys.executable, "-m", "memsvc", "correct", note, "--version", "1", "--mode", "wrong"]
    started = [
        house.start([*command, "--body", f"The winner is runner {number}.", "--json"])
        for number in range(3)
    ]
    outs = [json.loads(process.communicate(timeout=60)[0]) for process in started]
    won = [out for out in outs if out.get("outcome") == "corrected"]
    assert len(won) == 1
    lost = [out["error"] for out in outs if "error" in out]
    assert [error["code"] for error in lost] == ["stale_version"] * 2
    (text,) = {error["data"]["body"] for error in lost}
    assert text == house.agent().ask("read", id=note)["body"]
    assert Path(house.vault / won[0]["path"]).read_text("utf-8").endswith(text)
