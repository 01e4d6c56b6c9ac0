"""A1–A3 at the doors: each act is its event, with writers at once too, and no trace holds a note's text."""

import json
import sqlite3
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.invariants.carriers import CARRIERS, json_export
from tests.invariants.house import House, opened
from tests.invariants.traces import where

SECRET = "AKIA" + "IOSFODNN7" + "EXAMPLQ"
NOBODY = ("--principal", "agent:claude")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with opened(tmp_path_factory.mktemp("events")) as made:
        made.agent()
        made.json("scopes")
        yield made


def events(house: House, after: int = 0) -> list[dict[str, Any]]:
    """All events after a number, oldest first, as the command line exports them."""
    lines = house.run("audit", "export").out.splitlines()
    found = [json.loads(line) for line in lines]
    return [one for one in found if one["seq"] > after]


def last(house: House) -> int:
    newest = house.json("audit", "list", "--limit", "1")["events"]
    return int(newest[0]["seq"])


class Acts:
    """One life of a note, act by act; each act names the events that it must leave and nothing else."""

    def __init__(self, house: House) -> None:
        self.house, self.claude = house, house.agent()
        self.note: dict[str, Any] = {}
        self.other: dict[str, Any] = {}
        self.kept, self.keys, self.out = (str(house.root / one) for one in ("b.zip", "b.keys", "o"))

    def call(self, tool: str, **arguments: Any) -> Callable[[], object]:
        return lambda: self.claude.result(tool, **arguments)

    def run(self, *arguments: str) -> Callable[[], object]:
        return lambda: self.house.run(*arguments)

    def saved(self) -> None:
        self.note = self.claude.save("Ledger", "The ledger of the mill has 40 pages.")

    def superseding(self) -> None:
        more = {"supersedes": [self.note["id"]]}
        self.other = self.claude.save("Ledger now", "The ledger of the mill has 44 pages.", **more)

    def on_note(self, tool: str, **arguments: Any) -> Callable[[], object]:
        return lambda: self.claude.result(tool, id=self.note["id"], **arguments)

    def on_other(self, *command: str, after: tuple[str, ...] = ()) -> Callable[[], object]:
        return lambda: self.house.run(*command, self.other["id"], *after)

    def file(self, path: str, text: str) -> Callable[[], object]:
        def act() -> None:
            self.house.write(path, text)
            self.claude.hits("anything at all")

        return act

    def moved(self) -> None:
        (self.house.vault / "heron/hand.md").rename(self.house.vault / "heron/moved.md")
        self.claude.hits("anything at all")

    def removed(self) -> None:
        (self.house.vault / "heron/moved.md").unlink()
        self.claude.hits("anything at all")

    def lifted(self) -> None:
        found = self.house.json("tombstone", "list")
        (one,) = [
            row for row in found if row["note_id"] == self.note["id"] and not row["lifted_at"]
        ]
        self.house.json("tombstone", "lift", one["tombstone_id"], "--confirm")

    def decided(self, verb: str) -> Callable[[], object]:
        def act() -> None:
            items = self.house.json("review", "list", "--kind", "proposal")
            self.house.json("review", verb, items[0]["review_id"], "--confirm")

        return act

    def broken(self) -> None:
        folder = self.house.vault / "kite"
        folder.write_bytes(b"a file where a folder belongs")
        done = self.house.run("save", "Lost", "--body", "The kite is lost.", "--project", "kite")
        folder.unlink()
        assert done.code == 1

    def carried(self, text: str, *by: str) -> Callable[[], object]:
        source = json_export(self.house.root / f"in-{len(text)}-{len(by)}", text)
        return self.run("import", str(source), "--confirm", *by)

    def table(self) -> list[tuple[str, Callable[[], object], list[str]]]:
        wrong = {"version": 1, "mode": "wrong", "body": "The ledger of the mill has 42 pages."}
        stale = {"version": 1, "mode": "amend", "body": "Nothing."}
        rejected = {"title": "Ledger", "body": "The ledger of the mill has 40 pages."}
        nobody = {"id": "01KBA7ZD5QX4T9W2M3N8R6C0VE"}
        held = {"title": "Held", "body": "The held ledger has 50 pages."}
        dropped = {"title": "Held too", "body": "The held ledger has 51 pages."}
        return [
            ("save", self.saved, ["save done"]),
            ("the same again", self.call("save", **rejected), ["corroborate done"]),
            ("reads", lambda: [self.claude.hits("ledger"), self.claude.ask("scopes"),
                               self.claude.ask("read", id=self.note["id"]),
                               self.claude.ask("history"), self.house.run("stats"),
                               self.house.run("doctor"), self.house.run("tombstone", "list"),
                               self.house.run("review", "list")], []),
            ("a secret", self.call("save", title="Key", body=f"key {SECRET}"), ["save refused"]),
            ("no title", self.call("save", title=" ", body="Text."), ["save refused"]),
            ("NUL", self.call("save", title="Nul", body="a\x00b"), ["save refused"]),
            ("an echo", self.call("save", title="E", body="</recalled-notes> x"), ["save refused"]),
            ("unknown scope", self.call("save", title="S", body="x y", vault="no"), ["save refused"]),
            ("wrong", self.on_note("correct", **wrong), ["correct done", "tombstone done"]),
            ("nothing new", self.on_note("correct", **{**wrong, "version": 2}), []),
            ("stale", self.on_note("correct", **stale), ["correct refused"]),
            ("unknown note", self.call("correct", **nobody, **stale), ["correct refused"]),
            ("unknown to forget", self.call("forget", **nobody), ["forget refused"]),
            ("rejected", self.call("save", **rejected), ["save refused"]),
            ("by shell", self.run("save", "L", "--body", rejected["body"]), ["save refused"]),
            ("unconfirmed", self.run("forget", nobody["id"], "--mode", "purge"), []),
            ("file", self.file("heron/hand.md", "The mill is made by hand.\n"), ["file_edit done"]),
            ("bad file", self.file("heron/bad.md", rejected["body"]), ["file_edit refused"]),
            ("mended", self.file("heron/bad.md", "The mill is good.\n"), ["file_edit done"]),
            ("move", self.moved, ["file_move done"]),
            ("file deleted", self.removed, ["file_delete done"]),
            ("lift", self.lifted, ["lift done"]),
            ("lift nothing", self.run("tombstone", "lift", "x", "--confirm"), ["lift refused"]),
            ("supersede", self.superseding, ["save done", "supersede done"]),
            ("policy", self.run("vault", "policy", "personal", "review=agents"), ["config done"]),
            ("propose", self.call("save", **held), ["propose done"]),
            ("approve", self.decided("approve"), ["approve done"]),
            ("propose again", self.call("save", **dropped), ["propose done"]),
            ("reject", self.decided("reject"), ["reject done", "tombstone done"]),
            ("policy back", self.run("vault", "policy", "personal", "review=none"), ["config done"]),
            ("policy wrong", self.run("vault", "policy", "personal", "review=x"), ["config refused"]),
            ("forget", self.on_other("forget"), ["forget done", "tombstone done"]),
            ("restore", self.on_other("restore-note", after=("--confirm",)),
             ["restore done", "lift done"]),
            ("purge", self.on_other("forget", after=("--mode", "purge", "--confirm")),
             ["purge done", "tombstone done"]),
            ("import", self.carried("The barge of the mill has 60 oars."), ["import done"] * 2),
            ("import again", self.carried("The barge of the mill has 60 oars.", "--dry-run"), []),
            ("import of a rejected", self.carried("The ledger of the mill has 44 pages."),
             ["import refused", "import done"]),
            ("import by nobody", self.run("import", str(self.house.root / "in-34-0"), "--confirm",
                                          "--vault", "no"), ["import refused"]),
            ("export", self.run("export", self.out), []),
            ("export of all", self.run("export", self.out, "--all", *NOBODY), ["config refused"]),
            ("backup", self.run("backup", self.kept, "--keys", self.keys), ["config done"]),
            ("backup again", self.run("backup", self.kept, "--keys", self.keys),
             ["config refused"]),
            ("backup by an agent", self.run("backup", f"{self.kept}.zip", "--keys", "k", *NOBODY),
             ["config refused"]),
            ("merge of nothing", self.run("restore", self.kept, "--merge", "--confirm"), []),
            ("merge by an agent", self.run("restore", self.kept, "--merge", "--confirm", *NOBODY),
             ["restore refused"]),
            ("restore by an agent", self.run("restore", self.kept, "--keys", self.keys, "--beside",
                                             "--into", f"{self.out}2", "--confirm", *NOBODY),
             ["restore refused"]),
            ("anchor", self.run("audit", "anchor"), []),
            ("anchor by an agent", self.run("audit", "anchor", *NOBODY), ["config refused"]),
            ("rotate", self.run("tombstone", "rotate-key", "--confirm"), ["config done"]),
            ("rotate unasked", self.run("tombstone", "rotate-key", "--confirm", "--principal",
                                        "agent:claude"), ["config refused"]),
            ("reindex", self.run("reindex"), ["reindex done"]),
            ("failure", self.broken, ["save failed"]),
        ]  # fmt: skip


@pytest.mark.guarantee("A1", "A2", "W1")
def test_each_act_is_its_event_and_a_read_is_none(house: House) -> None:
    differing = {}
    for name, act, wanted in Acts(house).table():
        before = last(house)
        act()
        found = events(house, before)
        if sorted(f"{one['action']} {one['outcome']}" for one in found) != sorted(wanted):
            differing[name] = [(one["action"], one["outcome"], one["reason"]) for one in found]
    assert differing == {}
    everything = events(house)
    assert [one["seq"] for one in everything] == list(range(1, len(everything) + 1))
    refused = [one for one in everything if one["outcome"] != "done"]
    assert all(one["reason"] and one["actor"] and one["at"] for one in refused)
    assert house.run("audit", "verify").code == 0


@pytest.mark.guarantee("A1", "A2")
def test_writers_at_once_make_one_chain_with_each_act_once(house: House) -> None:
    each, before = 8, last(house)
    claude, codex = house.agent(), house.agent("codex")

    def write(name: str) -> None:
        agent = {"claude": claude, "codex": codex}[name]
        for number in range(each):
            said = f"Counted by {name}: {number} of {each} gulls."
            saved = agent.save(f"Gulls {name} {number}", said)
            assert agent.code("save", title=" ", body=said) == "invalid_input"
            assert agent.code("forget", id=saved["id"]) == "retracted"

    def command() -> None:
        for number in range(each):
            house.json("save", f"Shell {number}", "--body", f"Counted by shell: {number} terns.")
            house.run("save", " ", "--body", "Counted.")

    def process(number: int) -> None:
        arguments = ["save", f"P{number}", "--body", f"Counted by process: {number} auks."]
        started = house.start([sys.executable, "-m", "memsvc", *arguments])
        started.communicate(timeout=60)
        assert started.returncode == 0

    with ThreadPoolExecutor(5) as pool:
        ends = [pool.submit(write, name) for name in ("claude", "codex")]
        ends += [pool.submit(command), pool.submit(process, 1), pool.submit(process, 2)]
        for end in ends:
            end.result(timeout=110)
    found = events(house, before)
    assert [one["seq"] for one in found] == list(range(before + 1, before + 1 + len(found)))
    counted: dict[str, int] = {}
    for one in found:
        key = f"{one['actor'].rpartition(':')[2]} {one['action']} {one['outcome']}"
        counted[key] = counted.get(key, 0) + 1
    wanted = {
        f"{name} {act}": each
        for name in ("claude", "codex")
        for act in ("save done", "save refused", "forget done", "tombstone done")
    }
    wanted |= {"alice save done": each, "alice save refused": each}
    by_process = {key: counted.pop(key) for key in list(counted) if key not in wanted}
    assert counted == wanted
    assert list(by_process.values()) == [2]
    assert house.run("audit", "verify").code == 0


# -- no text ---------------------------------------------------------------------------------

TOKENS = {
    name: f"q{index}vz{name.replace(' ', '')}8f3kx{index}w"
    for index, name in enumerate(
        ("title", "body", "wrong", "right", "passage", "old text", "refused", "secret", "long",
         "query", "file", "frontmatter", "bad yaml", "heading", "conflict", "argument", "id",
         "review", "stdin", "crash", "tag", "carried", "carried in vain")
    )
}  # fmt: skip


def live(house: House, token: dict[str, str]) -> list[str]:
    """Say every token through some door; what was said to the caller of a call that failed."""
    claude = house.agent()
    errors: list[str] = []

    def fail(tool: str, **arguments: Any) -> None:
        errors.append(claude.refused(tool, **arguments)["message"])

    note = claude.save(
        f"On {token['title']}",
        f"# {token['heading']}\n\nThe {token['body']} is 40. The {token['wrong']} is 41.\n\n"
        f"A {token['passage']} is 42. An {token['old text']} is 43.",
        tags=[token["tag"]],
    )["id"]
    old = f"The {token['wrong']} is 41."
    said = {"old_text": old, "new_text": f"The {token['right']} is 44."}
    claude.ask("correct", id=note, version=1, mode="wrong", **said)
    claude.ask("forget", id=note, passage=f"A {token['passage']} is 42.")
    fail("correct", id=note, version=1, mode="amend", body=f"{token['refused']} is stale.")
    fail("correct", id=note, version=3, mode="amend", old_text=token["refused"], new_text="x")
    fail("save", title="Again", body=old)
    fail("save", title="Key", body=f"{token['secret']} {SECRET}")
    fail("save", title=token["long"] * 30, body="x y z")
    fail("save", title=f"a\n{token['refused']}", body="x y z")
    fail("save", title="Nul", body=f"{token['refused']}\x00")
    fail("save", title="Echo", body=f"<recalled-notes> {token['refused']}")
    fail("save", title="Kind", body="x", kind=token["argument"])
    fail("save", title="More", body="x", bodies=token["argument"])
    fail("read", id=token["id"])
    fail("forget", id=token["id"], passage=token["passage"])
    claude.hits(f"{token['query']} {token['body']}")
    claude.ask("recall", query=token["query"], explain=True)
    house.write(
        "heron/hand.md", f"---\ntitle: {token['frontmatter']}\n---\n{token['file']} is 9.\n"
    )
    house.write("heron/odd.md", f"---\ntitle: [{token['bad yaml']}\n---\nOdd.\n")
    house.write("heron/bad.md", f"The {token['conflict']} again.\n\n{old}\n")
    claude.hits("odd")
    for arguments in (
        ("save", "Shell", "--body", f"{token['stdin']} {SECRET}"),
        ("save", "Shell", "--body", "x", "--kind", token["argument"]),
        ("save", token["long"] * 30, "--body", "x"),
        ("read", token["id"]),
        ("recall", token["query"], "--detail", token["argument"]),
        ("correct", note, "--version", "1", "--mode", "amend", "--body", token["refused"]),
        ("save", "Shell", "--body", old),
    ):
        done = house.run(*arguments)
        assert done.code == 1, arguments
        errors.append(done.err)
    for name, text in (("carried", f"The {token['carried']} is 46."),
                       ("carried in vain", f"The {token['carried in vain']}. {old}")):  # fmt: skip
        for form, carry in CARRIERS.items():
            folder = house.root / f"{name}-{form}"
            source = carry(folder, f"{text} From {form}.")
            done = house.run("import", str(source), "--format", form, "--confirm")
            assert done.code == (0 if name == "carried" else 1), done
            errors.append(done.err)
    house.json("backup", str(house.root / "b.zip"), "--keys", str(house.root / "b.keys"))
    house.json("restore", str(house.root / "b.zip"), "--merge", "--confirm")
    house.json("vault", "policy", "personal", "review=agents")
    held = claude.ask("save", title="Held", body=f"The {token['review']} is 45.")
    house.json("vault", "policy", "personal", "review=none")
    (item,) = [one for one in house.json("review", "list") if one["note_id"] == held["id"]]
    house.json("review", "reject", item["review_id"], "--confirm")
    return errors


def breaking(house: House, token: str) -> list[str]:
    """A save that fails in the middle of its transaction, by call and by command; what was said."""
    raw = sqlite3.connect(house.home / "memsvc.db")
    raw.execute(
        "CREATE TRIGGER b BEFORE INSERT ON note_version BEGIN SELECT RAISE(ABORT, 'b'); END"
    )
    raw.commit()
    errors = [house.agent().refused("save", title="C", body=f"The {token} is 46.")["message"]]
    errors.append(house.run("save", "C", "--body", f"The {token} is 47.").err)
    raw.execute("DROP TRIGGER b")
    raw.commit()
    raw.close()
    return errors


def rows(house: House, *tables: str) -> str:
    raw = sqlite3.connect(house.home / "memsvc.db")
    found = [str(row) for one in tables for row in raw.execute(f"SELECT * FROM {one}")]  # noqa: S608 - names from below
    raw.close()
    return "\n".join(found)


TRACELESS = ("audit_event", "recall_event", "tombstone", "review_item", "vault", "index_rejection")


@pytest.mark.guarantee("A3")
def test_no_event_log_or_error_holds_a_word_of_a_note_or_a_question(tmp_path: Path) -> None:
    with opened(tmp_path) as house:
        errors = live(house, TOKENS) + breaking(house, TOKENS["crash"])
        failed = [one for one in events(house) if one["outcome"] == "failed"]
        exported = (
            house.run("audit", "export").out + house.run("audit", "export", "--format", "csv").out
        )
        listed = house.run("history").out + house.run("audit", "list").out
        listed += house.run("tombstone", "list").out + house.run("doctor").out
        house.restart()
        said = {
            "errors": "\n".join(errors),
            "events": rows(house, *TRACELESS),
            "export": exported,
            "lists": listed,
            "logs": "\n".join(path.read_text("utf-8") for path in house.logs.iterdir()),
        }
        stored = rows(house, "note_version")
        kept_in = where(house.vault, [TOKENS["file"].encode()])
    assert len(errors) > 15
    assert [(one["action"], one["reason"]) for one in failed] == [("save", "internal")] * 2
    assert list(kept_in) == ["heron/hand.md"]
    for name, token in TOKENS.items():
        for place, text in said.items():
            assert token not in text.lower(), (name, place)
    assert SECRET not in "".join(said.values()) + stored
    kept = {"title", "body", "wrong", "right", "passage", "old text", "heading", "tag", "file",
            "frontmatter", "bad yaml", "conflict", "review", "carried"}  # fmt: skip
    assert {name for name, token in TOKENS.items() if token in stored} == kept
    assert "audit_event" in TRACELESS
    assert said["export"].count('"action"') > 20
