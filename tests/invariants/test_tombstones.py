"""C1, C2, C6: what was rejected stays out through every door and in any disguise; nothing else does."""

import itertools
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memsvc.bootstrap import open_service
from memsvc.model.requests import ForgetRequest, SaveRequest
from memsvc.settings import Settings
from tests.fakes import FixedClock
from tests.invariants.house import House, lose_index, opened, prune, with_model
from tests.service.world import human

REJECTED = "The heron deploy port is 6544."
RIGHT = "The heron deploy port is 5433."
LOOK_ALIKES = str.maketrans("aceopxyTh", "асеорхуТһ")
MATHEMATICAL = {
    **{chr(ord("a") + n): chr(0x1D41A + n) for n in range(26)},
    **{chr(ord("0") + n): chr(0x1D7CE + n) for n in range(10)},
}

DRESSED: dict[str, Callable[[str], str]] = {
    "plain": str,
    "capitals": str.upper,
    "spacing": lambda text: text.replace(" ", " \u00a0\t", 2).replace("port is", "port\nis"),
    "punctuation": lambda text: f"“{text[:-1]}” — !",
    "full width": lambda text: "".join(
        chr(ord(char) + 0xFEE0) if char > " " else "\u3000" for char in text
    ),
    "mathematical letters": lambda text: "".join(MATHEMATICAL.get(char, char) for char in text),
    "look-alikes": lambda text: text.translate(LOOK_ALIKES),
    "zero width": "\u200b".join,
    "joiners and soft hyphens": lambda text: text.replace("er", "e\u200d\u00adr").replace(
        "po", "p\u2060o"
    ),
    "right to left": lambda text: (
        "\u202e" + text.replace("deploy", "\u2067deploy\u2069") + "\u202c\u200f"
    ),
    "combining accents": lambda text: text.replace("e", "e\u0301").replace("o", "o\u0336"),
    "accents": lambda text: text.replace("e", "é").replace("o", "ö"),
    "emphasis": lambda text: f"**The** *heron* _deploy_ ***port*** ~~is~~ ==**{text[-5:-1]}**==.",
    "link": lambda text: text.replace("heron", "[heron](https://heron.example/a_(b) 'x')"),
    "wiki link": lambda text: text.replace("heron", "[[birds/grey|heron]]"),
    "code ticks": lambda text: text.replace("deploy port", "`deploy port`"),
    "html": lambda text: f"<b>{text.replace('port', '<i>po</i>rt')}</b><!-- not at all -->",
    "entities": lambda text: text.replace("h", "&#104;").replace(" is ", "&nbsp;is "),
    "list item": lambda text: f"Ports:\n\n- one\n- {text}\n",
    "task in a quote": lambda text: f"> - [x] {text}",
    "heading": lambda text: f"## {text}\n\nSee there.",
    "table row": lambda text: f"| what | which |\n|---|---|\n| {text[:-6]} | {text[-5:-1]} |\n",
    "code block": lambda text: f"```text\n{text}\n```\n",
    "inside a longer text": lambda text: f"Good morning. {text} So much for today.",
}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house in which agent:claude said something wrong and took it back."""
    with opened(tmp_path_factory.mktemp("tombstones")) as made:
        claude = made.agent()
        note = claude.save("Deploy port", REJECTED)
        corrected = claude.ask("correct", id=note["id"], version=1, mode="wrong", body=RIGHT)
        assert corrected["tombstones"] == 1
        yield made


NUMBERS = itertools.count(7000)


def neighbour() -> str:
    """A statement like the rejected one, never made before: it differs in its number."""
    return REJECTED.replace("6544", str(next(NUMBERS)))


def withheld(house: House) -> set[str]:
    """The paths of files that wait for a person because they state what was rejected."""
    items = house.json("review", "list", "--kind", "withheld")
    return {item["detail"]["path"] for item in items if item["detail"]["why"] == "rejected_claim"}


def wrongly_treated(
    door: Callable[[str, str], str], *, refused: str = "rejected_claim", stored: str
) -> dict[str, tuple[str, str]]:
    """By disguise, how the door answered for the rejected value and for its neighbour, if wrongly."""
    answers = {
        name: (door(name, dress(REJECTED)), door(name, dress(neighbour())))
        for name, dress in DRESSED.items()
    }
    return {name: both for name, both in answers.items() if both != (refused, stored)}


@pytest.mark.guarantee("C1", "C2", "W1")
def test_no_disguise_gets_a_rejected_value_through_save(house: House) -> None:
    who = itertools.cycle(["claude", "codex"])

    def save(name: str, text: str) -> str:
        return house.agent(next(who)).code("save", title=f"Port, {name}", body=text)

    assert wrongly_treated(save, stored="created") == {}
    assert REJECTED not in house.agent().texts("heron deploy port 6544", history=True)
    assert RIGHT in house.agent().texts("heron deploy port 5433")


@pytest.mark.guarantee("C1", "C2", "W1")
def test_no_disguise_gets_a_rejected_value_through_correct(house: House) -> None:
    claude, modes = (
        house.agent(),
        itertools.cycle(["changed", "wrong", "amend", "wrong", "changed"]),
    )

    def correct(name: str, text: str) -> str:
        note = claude.save(f"Crane {name}", f"The crane of {next(NUMBERS)} is tall.")
        return claude.code("correct", id=note["id"], version=1, mode=next(modes), body=text)

    assert wrongly_treated(correct, stored="corrected") == {}


@pytest.mark.guarantee("C1", "C2", "W1")
def test_no_disguise_gets_a_rejected_value_in_as_a_passage_or_a_title(house: House) -> None:
    claude = house.agent()

    def passage(name: str, text: str) -> str:
        note = claude.save(f"Stork {name}", f"The stork {next(NUMBERS)} is white. And so on.")
        more = {"old_text": "And so on.", "new_text": f"\n\n{text}\n"}
        return claude.code("correct", id=note["id"], version=1, mode="amend", **more)

    def title(name: str, text: str) -> str:
        line = " ".join(text.split())
        body = f"It is number {next(NUMBERS)}, as said."
        return claude.code("save", title=line, body=body)

    assert wrongly_treated(passage, stored="corrected") == {}
    blocks = {"list item", "task in a quote", "heading", "table row", "code block"}
    assert set(wrongly_treated(title, stored="created")) <= blocks, "a title is one line"


@pytest.mark.guarantee("C1", "C2", "W1")
def test_no_disguise_gets_a_rejected_value_through_the_command_line(house: House) -> None:
    def save(name: str, text: str) -> str:
        return house.code("save", f"Port, {name}", "--body", text)

    assert wrongly_treated(save, stored="created") == {}


@pytest.mark.guarantee("C1", "C2", "W1")
@pytest.mark.parametrize("how", ["new file", "edited file"])
def test_no_disguise_gets_a_rejected_value_in_as_a_file(house: House, how: str) -> None:
    claude = house.agent()
    bad: dict[str, tuple[str, str]] = {}
    good: dict[str, tuple[str, str]] = {}
    for name, dress in DRESSED.items():
        for texts, said in ((bad, REJECTED), (good, neighbour())):
            path = f"heron/{how}/{len(bad) + len(good)}.md"
            texts[path] = (name, dress(said))
            if how == "edited file":
                house.write(path, f"The ibis of {path} is quiet.\n")
    if how == "edited file":
        assert set(bad) <= {hit["path"] for hit in claude.hits("ibis quiet")}
    before = withheld(house)
    for path, (_, text) in {**bad, **good}.items():
        house.write(path, text)
    claude.hits("heron deploy port")
    now = withheld(house) - before
    assert {name for path, (name, _) in bad.items() if path not in now} == set()
    assert {name for path, (name, _) in good.items() if path in now} == set()
    assert {path for path in bad if house.vault.joinpath(path).read_text() != bad[path][1]} == set()
    for path, (_, text) in good.items():
        assert path in {hit["path"] for hit in claude.hits(text, k=5)}
    for query in ("heron deploy port 6544", "ibis quiet"):
        assert not {hit["path"] for hit in claude.hits(query)} & set(bad)


@pytest.mark.guarantee("C1", "W1")
@pytest.mark.parametrize("how", ["correct", "forget", "forget a passage", "review reject"])
def test_every_way_of_rejecting_blocks_every_door(house: House, how: str) -> None:
    claude = house.agent()
    number = next(NUMBERS)
    value, other = f"The egret nests in tree {number}.", f"The egret nests in tree {number}1."
    if how == "review reject":
        house.json("vault", "policy", "personal", "review=agents")
        held = claude.ask("save", title="Egret", body=value)
        assert held["outcome"] == "proposed"
        (item,) = [one for one in house.json("review", "list") if one["note_id"] == held["id"]]
        house.json("review", "reject", item["review_id"], "--confirm")
        house.json("vault", "policy", "personal", "review=none")
    else:
        note = claude.save("Egret", f"{value} It likes {number} frogs.")
        said: dict[str, dict[str, Any]] = {
            "correct": {"version": 1, "mode": "wrong", "body": f"It likes {number} frogs."},
            "forget": {},
            "forget a passage": {"passage": value},
        }
        claude.ask(how.split(maxsplit=1)[0], id=note["id"], **said[how])
    again, fine = (
        house.write(f"heron/{number}.md", value),
        house.write(f"heron/{number}1.md", other),
    )
    spare = claude.save("Spare", f"The spare of {number} is here.")["id"]
    doors: dict[str, Callable[[str], str]] = {
        "save": lambda text: claude.code("save", title="Egret again", body=text),
        "another agent": lambda text: house.agent("codex").code("save", title="E", body=text),
        "correct": lambda text: claude.code(
            "correct", id=spare, version=1, mode="changed", body=text
        ),
        "command line": lambda text: house.code("save", "Egret once more", "--body", text),
    }
    assert {name: door(value) for name, door in doors.items()} == dict.fromkeys(
        doors, "rejected_claim"
    )
    assert {name: door(other) for name, door in doors.items()} == {
        "save": "created",
        "another agent": "created",
        "correct": "corrected",
        "command line": "created",
    }
    found = {hit["path"] for hit in claude.hits(f"egret nests in tree {number}1 {number}")}
    assert f"heron/{again.name}" in withheld(house)
    assert f"heron/{fine.name}" not in withheld(house)
    assert found
    assert f"heron/{again.name}" not in found


@pytest.mark.guarantee("C1", "C4")
def test_a_value_stays_rejected_through_supersession_restatement_and_corroboration(
    house: House,
) -> None:
    claude, codex = house.agent(), house.agent("codex")
    wrong, right, newer = (f"The bittern booms at {hour} o'clock." for hour in (3, 4, 5))
    note = claude.save("Bittern", wrong)
    for who in (codex, claude):
        assert who.ask("save", title="Bittern", body=wrong)["outcome"] == "unchanged"
    claude.ask("correct", id=note["id"], version=1, mode="wrong", body=right)
    successor = claude.save("Bittern now", newer, supersedes=[note["id"]])
    assert successor["superseded"] == [note["id"]]
    for who in (claude, codex):
        for title in ("Bittern", "Bittern now", "Something else"):
            assert who.code("save", title=title, body=wrong) == "rejected_claim"
            more = {"supersedes": [successor["id"]]}
            assert who.code("save", title=title, body=wrong, **more) == "rejected_claim"
        changed = {"id": successor["id"], "version": 1, "mode": "changed", "body": wrong}
        assert who.code("correct", **changed) == "rejected_claim"
    assert [hit["id"] for hit in claude.hits("bittern booms")] == [successor["id"]]
    assert wrong not in claude.texts("bittern booms at 3 o'clock", history=True)
    restated = codex.save("Bittern after all", right)
    assert codex.ask("save", title="Bittern after all", body=right)["outcome"] == "unchanged"
    assert restated["id"] in {hit["id"] for hit in claude.hits("bittern booms at 4 o'clock")}


@pytest.mark.guarantee("C1")
def test_what_another_note_states_still_is_corroborated_by_nobody_once_it_is_rejected(
    house: House,
) -> None:
    claude, codex = house.agent(), house.agent("codex")
    value = "The plover runs 9 miles."
    longer = f"Read this first. {value} Then rest."
    note, twin = claude.save("Plover", value), claude.save("Plover's guide", longer)
    forgotten = claude.ask("forget", id=note["id"])
    assert [one["id"] for one in forgotten["also_stated_in"]] == [twin["id"]]
    assert codex.code("save", title="Plover's guide", body=longer) == "rejected_claim"
    assert claude.ask("read", id=twin["id"])["corroborated"] == 0
    without = longer.replace(value, "")
    kept = {"id": twin["id"], "version": 1, "mode": "amend", "body": without}
    assert claude.code("correct", **kept) == "corrected"
    assert codex.code("save", title="Plover's guide", body=without) == "unchanged"


# -- what time and upkeep do to it -----------------------------------------------------------


def bring_back(house: House) -> None:
    """The backup of before the rejection, merged into the home of after it."""
    reply = house.json("restore", str(house.root / "before.zip"), "--merge", "--confirm")
    assert reply["seq"] > 0


def lose_home(house: House, *, archive: str = "after") -> None:
    """The home is lost with all its vaults, and put back from a backup of just before."""
    made, keys = house.root / f"{archive}.zip", house.root / f"{archive}.keys"
    if not made.exists():
        house.json("backup", str(made), "--keys", str(keys))
    house.restart()
    newer = house.root / "newer"
    shutil.rmtree(newer, ignore_errors=True)
    house.home.rename(newer)
    words = ["restore", str(made), "--keys", str(keys), "--confirm"]
    if archive == "before":
        words += ["--ledger", str(newer / "memsvc.db")]
    assert house.json(*words)["files"] > 0


def lose_home_but_the_ledger(house: House) -> None:
    """The backup is of before the rejection; the ledger that knows better was saved."""
    lose_home(house, archive="before")


AFTERWARDS: dict[str, Callable[[House], object]] = {
    "reindex": lambda house: house.json("reindex"),
    "key rotation": lambda house: house.json("tombstone", "rotate-key", "--confirm"),
    "restart and loss of the index": lose_index,
    "restart and pruning": prune,
    "merge of an older backup": bring_back,
    "disaster and restore": lose_home,
    "disaster and restore of an older backup": lose_home_but_the_ledger,
}


@pytest.fixture(scope="module")
def quiet_house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A house with the same rejection and few visitors, so that it is quickly left."""
    with opened(tmp_path_factory.mktemp("afterwards")) as made:
        note = made.agent().save("Deploy port", REJECTED)
        before = str(made.root / "before")
        made.json("backup", f"{before}.zip", "--keys", f"{before}.keys")
        made.agent().ask("correct", id=note["id"], version=1, mode="wrong", body=RIGHT)
        yield made


@pytest.mark.guarantee("C1", "C2")
@pytest.mark.parametrize("what", AFTERWARDS)
def test_a_rejection_outlives(quiet_house: House, what: str) -> None:
    house = quiet_house
    AFTERWARDS[what](house)
    claude = house.agent()
    for dress in (DRESSED["plain"], DRESSED["look-alikes"], DRESSED["table row"]):
        assert claude.code("save", title="Port", body=dress(REJECTED)) == "rejected_claim"
        assert claude.code("save", title="Port", body=dress(neighbour())) == "created"
    assert house.code("save", "Port", "--body", REJECTED) == "rejected_claim"
    number = next(NUMBERS)
    house.write(f"heron/after/{number}.md", f"Note {number}. {REJECTED}")
    house.write(f"heron/after/{number}1.md", f"Note {number}1. {neighbour()}")
    assert f"heron/after/{number}1.md" in {one["path"] for one in claude.hits(f"{number}1")}
    waiting = withheld(house)
    assert f"heron/after/{number}.md" in waiting
    assert f"heron/after/{number}1.md" not in waiting
    assert RIGHT in claude.texts("heron deploy port 5433")
    assert REJECTED not in claude.texts("heron deploy port 6544", history=True)


@pytest.mark.guarantee("C1")
def test_a_rejection_of_ten_years_ago_is_none_the_weaker(tmp_path: Path) -> None:
    old, other = (f"The heron census counted {count} nests." for count in (81, 82))
    settings = Settings.model_validate({"home": tmp_path / "home", "embedder": "none"})
    service = open_service(settings, clock=FixedClock(datetime(2016, 11, 30, tzinfo=UTC)))
    saved = service.save(human(), SaveRequest(title="Census", body=old))
    service.forget(human(), ForgetRequest(id=saved.id))
    service.close()
    with opened(tmp_path) as house:
        error = house.agent().refused("save", title="Census", body=old)
        assert (error["code"], error["data"]["at"][:10]) == ("rejected_claim", "2016-11-30")
        assert house.agent().save("Census", other)["id"]


# -- in other words --------------------------------------------------------------------------

BACKUP = "The staging database is backed up every night by Marek at 03:30."
PARAPHRASES = (
    "Every night at 03:30 Marek makes a backup of the staging database.",
    "At 03:30 a backup of the staging database is made by Marek every night.",
    "Marek backs up the staging database at 03:30 every night.",
)
ANOTHER_NUMBER = "Every night at 04:30 Marek makes a backup of the staging database."
ANOTHER_NAME = "Every night at 03:30 Priya makes a backup of the staging database."
A_NEGATION = "Marek never makes a backup of the staging database at 03:30 in the night."


@pytest.mark.slow
@pytest.mark.guarantee("C1", "C2")
def test_a_paraphrase_waits_for_a_person_and_what_differs_in_a_fact_is_stored(
    tmp_path: Path,
) -> None:
    with opened(tmp_path, MEMSVC_EMBEDDER="packaged") as house:
        claude = house.agent()
        note = claude.save("Backups", f"- {BACKUP}\n- It takes an hour.\n")
        with_model(claude)
        claude.ask("forget", id=note["id"])
        for neighbour in (ANOTHER_NUMBER, ANOTHER_NAME, A_NEGATION):
            saved = claude.save(f"Staging, {neighbour[:20]}", neighbour)
            assert saved["id"] in {hit["id"] for hit in claude.hits(neighbour)}
        spare = claude.save("Spare", "The spare database is small.")
        held = claude.ask("save", title="Staging", body=PARAPHRASES[0])
        said = {"id": spare["id"], "version": 1, "mode": "amend", "body": PARAPHRASES[1]}
        assert held["outcome"] == claude.ask("correct", **said)["outcome"] == "proposed"
        house.write("heron/again.md", PARAPHRASES[2])
        shown = claude.texts("who makes the backup of the staging database", history=True)
        for paraphrase in PARAPHRASES:
            assert paraphrase not in shown
        assert ANOTHER_NUMBER in shown
        items = house.json("review", "list")
        assert sorted(item["kind"] for item in items) == [
            "correction",
            "restatement",
            "restatement",
        ]
        named = {item["detail"]["tombstone"] for item in items}
        assert named <= {one["tombstone_id"] for one in house.json("tombstone", "list")}
        (item,) = [one for one in items if one["note_id"] == held["id"]]
        house.json("review", "approve", item["review_id"], "--confirm")
        assert PARAPHRASES[0] in claude.texts("who makes the backup of the staging database")
        assert claude.code("save", title="Backups", body=BACKUP) == "rejected_claim"


# -- scope, transcripts, lifting -------------------------------------------------------------


@pytest.mark.guarantee("C2")
def test_a_rejection_is_one_of_its_own_scope(house: House) -> None:
    stored = house.json("save", "Port", "--body", REJECTED, "--project", "osprey")
    assert (stored["outcome"], stored["scope"]) == ("created", "personal/osprey")
    assert house.agent().code("save", title="Port", body=REJECTED) == "rejected_claim"


@pytest.mark.guarantee("C1")
def test_a_transcript_that_is_read_twice_makes_no_second_note(house: House) -> None:
    first, second = house.agent("claude"), house.agent("codex")
    source = ["transcript:5f3c1a#turn=12"]
    keyed = {"source": source, "idempotency_key": "5f3c1a#12"}
    plain: dict[str, Any] = {
        "title": "Curlew",
        "body": "The curlew returned on 2 May.",
        "source": source,
    }
    other: dict[str, Any] = {"title": "Dunlin", "body": "The dunlin returned on 3 May.", **keyed}
    curlew = first.save(**plain)
    dunlin = first.save(**other)
    files = sorted(house.vault.rglob("*.md"))
    for who in (first, second):
        again = who.ask("save", **plain)
        assert (again["outcome"], again["id"]) == ("unchanged", curlew["id"])
    assert first.ask("save", **other)["id"] == dunlin["id"]
    assert sorted(house.vault.rglob("*.md")) == files
    for note, body in ((curlew, "It was 4 May."), (dunlin, "It was 5 May.")):
        first.ask("correct", id=note["id"], version=1, mode="wrong", body=body)
    for who in (first, second):
        assert who.code("save", **plain) == "rejected_claim"
    assert second.code("save", **{**other, "idempotency_key": ""}) == "rejected_claim"
    assert first.code("save", **other) == "rejected_claim", "not even as a repeat"
    assert sorted(house.vault.rglob("*.md")) == files
    third = {
        **plain,
        "body": "The curlew returned on 6 May.",
        "source": ["transcript:5f3c1a#turn=13"],
    }
    assert second.ask("save", **third)["outcome"] == "created"


@pytest.mark.guarantee("C6", "W2", "A1")
def test_a_person_who_reviews_lifts_a_rejection_on_record_and_nobody_else(house: House) -> None:
    claude = house.agent()
    value = "The avocet wintered at pond 7."
    note = claude.save("Avocet", value)
    claude.ask("forget", id=note["id"], reason="it was pond 8")
    found = claude.refused("save", title="Avocet", body=value)["data"]["tombstone"]
    tools = [tool["name"] for tool in claude.raw.ask("tools/list")["result"]["tools"]]
    assert "save" in tools
    assert not [name for name in tools if "lift" in name or "tombstone" in name]
    lift = ("tombstone", "lift", found)
    assert "needs a person" in house.fails(*lift)
    for nobody in ("agent:claude", "service:cron"):
        assert "person" in house.fails(*lift, "--confirm", "--principal", nobody)
    assert house.fails(*lift, "--confirm", "--project", "osprey").startswith("memsvc: no such")
    assert claude.code("save", title="Avocet", body=value) == "rejected_claim"
    before = house.json("audit", "list", "--action", "lift", "--outcome", "done")["events"]
    house.json(*lift, "--confirm", "--reason", "pond 7 it was")
    events = house.json("audit", "list", "--action", "lift", "--limit", "50")["events"]
    assert [event["outcome"] for event in events[:4]] == ["done", "refused", "refused", "refused"]
    lifted = events[0]
    assert (lifted["actor"], lifted["reason"]) == ("human:alice", "pond 7 it was")
    assert (lifted["note_id"], lifted["detail"]["tombstone"]) == (note["id"], found)
    assert len(
        house.json("audit", "list", "--action", "lift", "--outcome", "done")["events"]
    ) == 1 + len(before)
    assert claude.save("Avocet", value)["id"] != note["id"]
    assert value in claude.texts("where did the avocet winter")
    assert "no such" in house.fails(*lift, "--confirm")
