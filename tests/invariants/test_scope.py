"""No read crosses a scope, through any tool or command, by any argument, in any job."""

import json
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.invariants.doors import COMMANDS, TOOLS, Does, commands, named, parameters
from tests.invariants.home import Agent, Forker, Home, everything_in

WORD = "zanzibar"
"""Stands in the neighbours' notes, and is asked for."""
SECRET = "quetzal"
"""Stands in the neighbours' notes, and is never asked for: where it shows, they do."""
ROBIN = ("--principal", "agent:robin")
UNKNOWN = "01KBA7ZD5QX4T9W2M3N8R6C0VE"
WIDER = [
    "", " ", "*", "%", "_", "[]", "{}", "null", "None", "all", "osprey", "OSPREY", "nowhere", "team",
    "personal/osprey", "heron,osprey", "shared/../osprey", "heron/*", '["heron", "osprey"]',
    "osprey' OR '1'='1",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Village:
    """A home with neighbours: `mine` is bound to heron, the others to what it must not see."""

    home: Home
    mine: Agent
    theirs: Agent
    elsewhere: Agent
    hidden: tuple[str, ...]
    """Ids of the neighbours' notes; the first is active and the best match for `QUERY`."""
    own: str

    def leaks(self, said: str, *, sent: object = "", labels: bool = True) -> list[str]:
        """What of the neighbours stands in a reply, beside an id that was sent."""
        scopes = ("personal/osprey", "team/heron") if labels else ()
        return [one for one in (SECRET, *scopes, *self.hidden) if one in said and one != sent]


QUERY = f"where does the {WORD} falcon nest"


def settle(agent: Agent, where: str) -> list[str]:
    """The neighbours' notes: in every state, with the words in every field."""

    def save(title: str, body: str, **more: Any) -> str:
        saved = agent.data("save", title=title, body=f"The {WORD} falcon {body} {SECRET}.", **more)
        return str(saved["id"])

    note = save(
        "Falcon ledger",
        f"nests on tower 4711 of {where}, see [[mine]], says",
        tags=[WORD, SECRET],
        source=[f"{WORD}-{SECRET}.md"],
        reason=f"{SECRET} said so",
    )
    old = save(f"Old {SECRET}", "nests on a roof near")
    save(f"New {SECRET}", "nests in a barn of", supersedes=[old])
    wrong = save(f"Wrong {SECRET}", "nests at sea 12 beside")
    body = f"The {WORD} falcon rests at sea, {SECRET}."
    agent.data("correct", id=wrong, version=1, mode="wrong", body=body)
    gone = save(f"Gone {SECRET}", "is a kestrel or a")
    agent.data("forget", id=gone, reason=f"{SECRET} was wrong")
    return [note, old, wrong, gone]


@pytest.fixture(scope="module")
def village(tmp_path_factory: pytest.TempPathFactory, forker: Forker) -> Iterator[Village]:
    root = tmp_path_factory.mktemp("village")
    home = Home(root, forker)
    (root / "team").mkdir()
    home.json("vault", "add", "team", str(root / "team"))
    with ExitStack() as stack:
        mine, theirs = (stack.enter_context(home.agent(name)) for name in ("heron", "osprey"))
        elsewhere = stack.enter_context(home.agent("heron", MEMSVC_VAULT="team"))
        hidden = settle(theirs, "osprey") + settle(elsewhere, "team")
        home.json("vault", "policy", "personal", "review=agents")
        waits = theirs.data("save", title="Waits", body=f"The {WORD} falcon is {SECRET}.")
        home.json("vault", "policy", "personal", "review=none")
        home.write("osprey/by-hand.md", f"The {WORD} {SECRET} falcon. [[mine]]\n")
        own = mine.data(
            "save",
            title="Mine",
            body="The falcon of heron nests on a cliff. See [[Falcon ledger]], [[by-hand]] and "
            "[[osprey/falcon-ledger]].",
        )
        theirs.ids("anything")
        yield Village(home, mine, theirs, elsewhere, (*hidden, str(waits["id"])), str(own["id"]))


def aimed(note: str) -> dict[str, list[dict[str, Any]]]:
    """Calls of every tool, aimed at a note."""
    new = {"mode": "wrong", "body": "Nothing of the sort 1 is true."}
    return {
        "recall": [
            {"query": QUERY},
            {"query": QUERY, "k": 50, "budget": 20_000, "history": True, "explain": True},
            {"query": QUERY, "as_of": "2099-01-01", "known_at": "2099-01-01", "detail": "full"},
            {"query": "Falcon ledger"},
            {"query": note},
            {"query": WORD, "tags": [WORD]},
        ],
        "read": [{"id": note}, {"id": note.lower()}, {"id": note, "version": 1}],
        "history": [{"limit": 100}, {"id": note}, {"action": "forget"}, {"since": "2020-01-01"}],
        "scopes": [{}],
        "correct": [{"id": note, "version": 1, **new}, {"id": note, "version": 9, **new}],
        "forget": [{"id": note, "mode": "retract"}, {"id": note, "passage": f"The {WORD} falcon"}],
        "save": [{"title": "T", "body": "Some statement 1 of mine.", "supersedes": [note]}],
    }


@pytest.mark.guarantee("S1", "S2")
def test_no_tool_tells_anything_of_another_scope(village: Village) -> None:
    for note in village.hidden:
        calls = aimed(note)
        assert set(calls) == {tool.name for tool in village.mine.tools()}
        for name, arguments in calls.items():
            for one in arguments:
                result = village.mine.ask(name, one)
                assert village.leaks(everything_in(result), sent=note) == [], (name, one)
                if name in ("read", "correct", "forget", "save"):
                    assert result.is_error, (name, one)
    note = village.hidden[0]
    for name in named(TOOLS, Does.READS) - {"scopes"}:  # the same calls show it to its own
        for one in aimed(note)[name][:2]:
            assert note in everything_in(village.theirs.ask(name, one)), (name, one)
    assert village.mine.ids("falcon nest")[:1] == [village.own]


@pytest.mark.guarantee("S1")
def test_links_likeness_and_echoes_stop_at_the_scope(village: Village) -> None:
    mine, theirs = village.mine, village.theirs
    read = mine.data("read", id=village.own)
    assert (read["links_in"], read["links_out"]) == ([], [])
    note = theirs.data("read", id=village.hidden[0])
    assert (note["links_in"], note["links_out"]) == ([], [])
    text = "The harrier number 21 hunts over marsh 22 at dusk."
    said = [agent.data("save", title="Harrier", body=text) for agent in (theirs, mine)]
    close = mine.data("save", title="Harriers", body=f"{text} It is grey, number 23.")
    assert [one["id"] for one in close["similar"]][:1] == [said[1]["id"]]
    assert said[0]["id"] not in json.dumps(close)
    gone = mine.data("forget", id=said[1]["id"])
    assert [one["id"] for one in gone["also_stated_in"]] == [close["id"]]
    assert theirs.ids("harrier dusk") == [said[0]["id"]]
    again = mine.refused("save", title="Harrier", body=text)
    assert again["code"] == "rejected_claim"
    corroborated = theirs.data("save", title="Harrier", body=text)
    assert (corroborated["outcome"], corroborated["id"]) == ("unchanged", said[0]["id"])


@pytest.mark.guarantee("S1", "R3")
def test_counts_and_order_do_not_tell_how_much_is_elsewhere(village: Village) -> None:
    mine, theirs = village.mine, village.theirs
    for number in range(3):
        mine.data("save", title=f"Crane {number}", body=f"The crane {number} calls over the moor.")
    asked = {"query": "crane calls over the moor", "explain": True, "history": True}

    def seen() -> tuple[object, object]:
        reply = mine.data("recall", **asked)
        scopes = mine.data("scopes")
        return {key: reply[key] for key in ("hits", "count", "coverage", "tokens")}, scopes["notes"]

    before = seen()
    for number in range(12):
        theirs.data(
            "save", title=f"Crane {number}", body=f"The crane {number} calls, moor {number}."
        )
    theirs.data("forget", id=theirs.ids("crane calls")[0])
    assert seen() == before
    assert len(mine.ids("crane calls over the moor")) == 3


def values_for(kind: str, village: Village) -> list[object]:
    if kind in ("integer", "boolean"):
        return [*WIDER[:9], None, [], -1, 10**12, True]
    return [*WIDER, village.hidden[0], None, [], ["osprey"], ["*"], 0, True]


@pytest.mark.slow
@pytest.mark.guarantee("S2")
def test_no_value_of_any_argument_of_any_tool_widens_a_call(village: Village) -> None:
    refused = set()
    tried = 0
    with village.home.agent("kite") as agent:
        own = agent.data("save", title="Kite", body="The falcon of kite nests on a mast.")["id"]
        base: dict[str, dict[str, Any]] = {name: calls[0] for name, calls in aimed(own).items()}
        base["forget"] = {"id": UNKNOWN}
        base["save"].pop("supersedes")
        for tool in agent.tools():
            for name, schema in tool.input_schema["properties"].items():
                for value in values_for(schema["type"], village):
                    result = agent.ask(tool.name, {**base[tool.name], name: value})
                    said = everything_in(result)
                    tried += 1
                    leaks = village.leaks(said, sent=value, labels=False)
                    assert leaks == [], (tool.name, name, value)
                    if name not in ("project", "vault"):
                        continue
                    if value in ("", None):
                        assert '"scope": "personal/kite"' in said, (tool.name, name, value)
                    else:
                        assert result.is_error, (tool.name, name, value)
                    if result.is_error and isinstance(value, str):
                        refused.add(said)
    assert tried > 400
    assert len(refused) == 1, "one wording for whatever is not there"
    assert village.theirs.ids(f"{WORD} falcon nest")[:1] == [village.hidden[0]]


@pytest.mark.guarantee("S2")
def test_a_refusal_is_the_same_whether_the_thing_is_there_or_not(village: Village) -> None:
    mine = village.mine
    gone = mine.data("save", title="Gone", body="The bunting number 31 is gone.")["id"]
    mine.data("forget", id=gone)
    ids = [*village.hidden, UNKNOWN, str(gone), "nonsense", "%", "*"]
    for name in ("read", "correct", "forget", "save"):
        said = set()
        for note in ids:
            (arguments, *_) = aimed(note)[name]
            said.add(everything_in(mine.ask(name, arguments)).replace(note, ""))
        assert len(said) == 1, name
    empty = {everything_in(mine.ask("history", {"id": note})) for note in ids if note != gone}
    assert len(empty) == 1
    shell = village.home
    for words in (["read"], ["forget"], ["history", "--diff"], ["restore-note", "--confirm"]):
        outs = {
            json.dumps(shell.fails(words[0], note, *words[1:]))
            for note in (village.hidden[0], UNKNOWN)
        }
        assert len(outs) == 1, words
    names = [{"project": "osprey"}, {"project": "nowhere"}, {"vault": "team"}, {"vault": "nowhere"}]
    for call in ({"query": "falcon"}, {"title": "T", "body": "Some statement of mine."}):
        tool = "recall" if "query" in call else "save"
        assert len({everything_in(mine.ask(tool, {**call, **name})) for name in names}) == 1


@pytest.mark.guarantee("S1", "S2")
def test_no_command_tells_an_agent_anything_of_another_scope(village: Village) -> None:
    home, note = village.home, village.hidden[0]
    (item,) = (one for one in home.json("review", "list") if one["note_id"] == village.hidden[-1])
    words = {
        "recall": [QUERY, "--history", "--explain", "--k", "50"],
        "read": [note],
        "history": [note],
        "review show": [item["review_id"]],
        "review list": ["--source", f"session:{item['note_id']}"],
    }
    keepers = {"audit verify", "vault list", "doctor", "reindex"}  # of the home, without its notes
    for name in named(COMMANDS, Does.READS, Does.TAKES_IN) - {"vault add", "eval run"}:
        own = words.get(name, [])
        done = home.run(*name.split(), *own, "--json", *ROBIN)
        sent = note if note in own else ""
        assert village.leaks(done.said, sent=sent, labels=name not in keepers) == [], name
    # a person looks after it all, and each project shows its own
    assert village.hidden[3] in json.dumps(home.events())
    assert village.hidden[3] in home.run("tombstone", "list", "--json").out
    assert village.hidden[-1] in home.run("review", "list", "--json").out
    for name in ("recall", "read", "history"):
        done = home.run(*name.split(), *words[name], "--json", project="osprey")
        assert note in done.out, name


@pytest.mark.slow
@pytest.mark.guarantee("S2")
def test_no_value_of_any_option_widens_a_commands_scope(village: Village) -> None:
    home, table = village.home, commands()
    first = {"recall": ["falcon"], "read": [village.own], "review show": [UNKNOWN]}
    tried = 0
    for name in sorted(named(COMMANDS, Does.READS)):
        for parameter in parameters(table[name]):
            if parameter.is_flag if hasattr(parameter, "is_flag") else False:
                continue
            for value in ("*", village.hidden[0]):
                argument = parameter.param_type_name == "argument"
                rest = [] if argument else first.get(name, [])
                option = [] if argument else [parameter.opts[-1]]
                if parameter.name in ("to", "anchor", "key"):
                    continue  # where to write, and what to check against
                done = home.run(*name.split(), *rest, *option, value, "--json", *ROBIN)
                tried += 1
                assert village.leaks(done.said, sent=value) == [], (name, parameter.name, value)
                assert "Traceback" not in done.err
    assert tried > 40
    for words in (["--project"], ["--vault"]):
        for value in ("*", "%", "[]", "null", "../osprey", "heron,osprey", "nowhere?"):
            done = home.run("recall", QUERY, *words, value, "--json", project="")
            assert done.code == 1, (words, value)
            assert village.leaks(done.said) == []


@pytest.mark.guarantee("S3")
def test_jobs_keep_to_the_scope_of_what_they_work_on(village: Village) -> None:
    home, mine, theirs = village.home, village.mine, village.theirs
    home.write("osprey/dropped.md", f"The {WORD} shrike impales number 41, {SECRET}.\n")
    home.write("heron/dropped.md", "The shrike of heron sings number 42.\n")
    until = time.monotonic() + 20
    while time.monotonic() < until:  # what the servers' background takes in, without being asked
        taken = {(one["project"], one["note_id"]) for one in home.events("--action", "file_edit")}
        if len({project for project, _ in taken}) == 2 and len(taken) >= 3:
            break
        threading.Event().wait(0.1)
    (own,) = [note for project, note in taken if project == "heron"]
    assert mine.ids("shrike") == [own]
    assert own not in theirs.ids("shrike")
    home.json("reindex")
    assert mine.ids("shrike") == [own]
    assert village.leaks(mine.text("recall", query=f"shrike impales {WORD}")) == []
    home.json("eval", "build")
    gold = (home.folder / "eval/personal/heron/gold.json").read_text("utf-8")
    assert village.leaks(gold) == []
    assert own in gold
    exported = home.run("audit", "export", *ROBIN).out
    assert village.leaks(exported) == []
    assert own in exported
    # a note that moves takes its place in the cache of a running server with it
    moved = home.vault / "osprey" / "moved.md"
    (home.vault / "heron/dropped.md").rename(moved)
    assert own not in mine.ids("shrike sings")
    assert own in theirs.ids("shrike sings")


@pytest.mark.guarantee("S4")
def test_a_note_that_slips_past_the_query_is_an_error_and_no_result(
    tmp_path: Path, forker: Forker
) -> None:
    home = Home(tmp_path, forker)
    hidden = f"The {WORD} {SECRET} falcon nests in the reeds."
    home.json("save", "Falcon", "--body", hidden, project="osprey")
    own = home.json("save", "Mine", "--body", "The falcon of heron nests there.")
    assert [hit["id"] for hit in home.json("recall", "falcon", "nests")["hits"]] == [own["id"]]
    raw = sqlite3.connect(home.folder / "memsvc.db")
    (key,) = raw.execute("SELECT scope_key FROM index_entry WHERE project = 'heron'").fetchone()
    (token,) = raw.execute(
        "SELECT sc FROM index_terms WHERE sc != '' AND chunk_id IN (SELECT chunk_id FROM "
        "index_chunk JOIN index_entry USING (entry_id) WHERE project = 'heron')"
    ).fetchone()
    raw.execute("UPDATE index_entry SET scope_key = ?", (key,))
    raw.execute("UPDATE index_terms SET sc = ?", (token,))
    raw.commit()
    raw.close()
    with home.agent() as mine:
        error = mine.refused("recall", query="falcon reeds")
        assert error["code"] == "internal"
        assert SECRET not in json.dumps(error)
    done = home.run("recall", "falcon", "reeds", "--json")
    assert (done.code, SECRET in done.said) == (1, False)


@pytest.mark.guarantee("S5")
def test_a_write_goes_where_it_is_sent_and_says_so(village: Village) -> None:
    mine, home = village.mine, village.home
    common = mine.data(
        "save", title="Rota", body="The rota number 51 is kept on the wall.", project="shared"
    )
    assert (common["scope"], common["path"]) == ("personal/shared", "shared/rota.md")
    assert (home.vault / "shared/rota.md").is_file()
    assert common["id"] in mine.ids("rota wall")  # and is read, which binds nothing
    mine.data("read", id=common["id"])
    own = mine.data("save", title="Rota two", body="The rota number 52 is kept on the door.")
    assert (own["scope"], own["path"]) == ("personal/heron", "heron/rota-two.md")
    assert "personal/heron" in mine.text("save", title="Rota 3", body="The rota number 53 is lost.")
    changed = mine.data(
        "correct", id=common["id"], version=1, mode="amend", body="The rota 51 is on the wall."
    )
    assert (changed["scope"], changed["path"]) == ("personal/shared", "shared/rota.md")
    assert not list(home.vault.glob("heron/rota.md"))
    assert home.json("save", "Rota 4", "--body", "The rota 54 is new.")["scope"] == "personal/heron"
    assert common["id"] in village.theirs.ids("rota wall")
    assert own["id"] not in village.theirs.ids("rota door")
    assert common["id"] not in village.elsewhere.ids("rota wall")
