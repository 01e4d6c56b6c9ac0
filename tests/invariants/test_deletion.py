"""C5: what was retracted, purged or deleted is absent afterwards, also where copies of before come back."""

import json
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.invariants.house import House, lose_index, opened, with_model
from tests.invariants.traces import where

GONE = {
    "retracted": "The vexopluma gate opens at 6544907213 for the quibbrax ferry.",
    "purged": "The jundwelk barge carries 5433907218 crates of sorkeldine.",
    "deleted": "The tagglewump crane lifts 7120934451 stones before breakfast.",
    "wrong": "The frobnuzzle lamp burns 8231045562 hours of quorflimmer oil.",
    "passage": "The zyqortle bell rings 9342156673 times for the morvelack.",
}
WORDS = {
    "retracted": ("vexopluma", "quibbrax", "6544907213"),
    "purged": ("jundwelk", "sorkeldine", "5433907218"),
    "deleted": ("tagglewump", "7120934451"),
    "wrong": ("frobnuzzle", "quorflimmer", "8231045562"),
    "passage": ("zyqortle", "morvelack", "9342156673"),
}
"""High in entropy, so that each is that note's and nothing else's."""
KEPT = {
    "retracted": "The harbour gate opens for the ferry when Solveig calls.",
    "purged": "The harbour barge carries crates that Solveig counted.",
    "deleted": "The harbour crane lifts stones while Solveig watches.",
    "wrong": "The harbour lamp burns oil that Solveig pours.",
    "passage": "The harbour bell rings when Solveig pulls.",
}
QUERIES = {
    "retracted": "harbour gate opens ferry",
    "purged": "harbour barge carries crates",
    "deleted": "harbour crane lifts stones",
    "wrong": "harbour lamp burns oil",
    "passage": "harbour bell rings",
}


MORE: tuple[dict[str, Any], ...] = (
    {},
    {"detail": "full", "explain": True, "history": True},
    {"as_of": "2030-01-01", "history": True},
)


@dataclass(frozen=True)
class Emptied:
    """A house from which a note of each sort is gone, and what was copied before."""

    house: House
    ids: dict[str, str]
    files: dict[str, bytes]
    """The old files by their paths in the vault."""
    paths: dict[str, str]
    aside: Path
    """The old database and vectors."""


def git(house: House, *arguments: str) -> None:
    own = ("-c", "user.name=alice", "-c", "user.email=alice@example.org")
    subprocess.run(["git", *own, *arguments], cwd=house.vault, check=True, capture_output=True)


def put_aside(house: House, aside: Path) -> None:
    aside.mkdir()
    source, target = (sqlite3.connect(one) for one in (house.home / "memsvc.db", aside / "old.db"))
    source.backup(target)
    source.close()
    target.close()
    if (house.home / "vectors").exists():
        shutil.copytree(house.home / "vectors", aside / "vectors")


def emptied(house: House, *, model: bool = False) -> Emptied:
    """Save, recall, copy, and take away."""
    claude = house.agent()
    ids, paths = {}, {}
    for how, text in GONE.items():
        claude.save(f"Kept for {how}", KEPT[how])
        body = f"{text} It is said so." if how == "passage" else text
        saved = claude.save(f"Harbour, {how}", body)
        ids[how], paths[how] = saved["id"], saved["path"]
    for who in (claude, house.agent("codex")) if model else (claude,):
        if model:
            with_model(who)
        for how, query in QUERIES.items():
            assert ids[how] in {hit["id"] for hit in who.hits(query)}
            assert GONE[how] in who.texts(query)
    files = {path: (house.vault / path).read_bytes() for path in paths.values()}
    git(house, "init", "-q")
    git(house, "add", "-A")
    git(house, "commit", "-qm", "as it was")
    aside = house.root / "aside"
    put_aside(house, aside)
    claude.ask("forget", id=ids["retracted"])
    purged = house.json("forget", ids["purged"], "--mode", "purge", "--confirm")
    assert purged["outcome"] == "purged"
    (house.vault / paths["deleted"]).unlink()
    right = "The lamp burns whale fat."
    claude.ask("correct", id=ids["wrong"], version=1, mode="wrong", body=right)
    claude.ask("forget", id=ids["passage"], passage=GONE["passage"])
    return Emptied(house, ids, files, paths, aside)


@pytest.fixture(scope="module")
def rooms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Emptied]:
    with opened(tmp_path_factory.mktemp("deletion"), MEMSVC_EMBEDDER="packaged") as house:
        yield emptied(house, model=True)


@pytest.fixture
def apart(tmp_path: Path) -> Iterator[Emptied]:
    """The same for one test alone: others put old pages back into the database."""
    with opened(tmp_path, MEMSVC_EMBEDDER="packaged") as house:
        yield emptied(house, model=True)


@pytest.fixture
def copied(tmp_path: Path) -> Iterator[Emptied]:
    with opened(tmp_path) as house:
        yield emptied(house)


def told(house: House, query: str, who: str, ways: Sequence[dict[str, Any]]) -> dict[str, str]:
    """What each verb that searches shows of a question, by door; the question itself is no part."""
    found = {}
    for more in ways:
        reply = house.agent(who).ask("recall", query=query, k=50, budget=20_000, **more)
        shown = [reply["hits"], reply["nearest"], reply["reason"], reply["coverage"]]
        found[f"{who} {more}"] = json.dumps(shown)
    return found


def shown_by_id(house: House, who: str, note_id: str) -> list[str]:
    """What an agent that remembers an id of before is shown for it."""
    agent = house.agent(who)
    calls = [("read", {}), ("read", {"version": 1}), ("history", {})]
    results = [agent.result(tool, id=note_id, **more) for tool, more in calls]
    stale = {"id": note_id, "version": 99, "mode": "amend", "body": "Nothing."}
    return [json.dumps(one) for one in [*results, agent.result("correct", **stale)]]


def check_absent(
    room: Emptied, *, without: frozenset[str] = frozenset(), who: str = "claude"
) -> None:
    """No verb that reads shows a word of what is gone, and each shows what was beside it."""
    house, claude = room.house, room.house.agent(who)
    gone = {how: QUERIES[how] for how in QUERIES if how not in without}
    for how, query in gone.items():
        reply = house.json("recall", *query.split(), "--detail", "full", "--k", "50")
        listed = json.dumps([reply["hits"], reply["nearest"], reply["reason"]])
        assert KEPT[how] in listed, how
        assert not [word for word in WORDS[how] if word in listed], how
        named = f"{query} {' '.join(WORDS[how])}"
        everything = told(house, named, who, MORE[1:]) | told(house, query, who, MORE[:1])
        for door, said in everything.items():
            for word in WORDS[how]:
                assert word not in said, (how, door, word)
        assert KEPT[how] in claude.texts(query), how
        for door, said in everything.items():
            assert KEPT[how] in said, (how, door)
    for how in gone:
        for shown in shown_by_id(house, who, room.ids[how]):
            assert not [word for word in WORDS[how] if word in shown], (how, shown)


STEPS: dict[str, Callable[[House], object]] = {
    "in processes that had it in their caches": lambda _: None,
    "reindex": lambda house: house.json("reindex"),
    "restart and loss of the index": lose_index,
}


@pytest.mark.slow
@pytest.mark.guarantee("C3", "C5", "R5")
@pytest.mark.parametrize("step", STEPS)
def test_what_is_gone_is_absent_from_every_verb_that_reads(rooms: Emptied, step: str) -> None:
    STEPS[step](rooms.house)
    with_model(rooms.house.agent())
    check_absent(rooms)
    for how in ("retracted", "purged", "deleted"):
        for options in ((), ("--version", "1")):
            assert "no note with that id" in rooms.house.fails("read", rooms.ids[how], *options)
    if "caches" in step:
        check_absent(rooms, who="codex")


@pytest.mark.slow
@pytest.mark.guarantee("C5", "A3")
def test_what_is_gone_is_absent_from_everything_that_is_written_out(apart: Emptied) -> None:
    house, rooms = apart.house, apart
    for form in ("jsonl", "csv"):
        house.json("audit", "export", "--format", form, "--to", str(house.root / f"out.{form}"))
    house.json("eval", "build")
    house.json("export", str(house.root / "out.json"))
    (house.root / "all").mkdir()
    house.json("export", str(house.root / "all" / "out.json"), "--all", "--history")
    house.json("export", str(house.root / "pages"), "--format", "markdown")
    house.json("backup", str(house.root / "b.zip"), "--keys", str(house.root / "b.keys"))
    shutil.unpack_archive(house.root / "b.zip", house.root / "unpacked")
    pages = "\n".join(page.read_text("utf-8") for page in (house.root / "pages").rglob("*.md"))
    assert KEPT["retracted"] in pages
    assert not [word for words in WORDS.values() for word in words if word in pages]
    written = [
        house.root / "out.json",
        house.root / "out.jsonl",
        house.root / "out.csv",
        *(house.home / "eval").rglob("*.json"),
    ]
    texts = {path.name: path.read_text("utf-8") for path in written}
    assert {"out.jsonl", "out.csv", "gold.json"} <= set(texts)
    assert rooms.ids["retracted"] in texts["out.jsonl"]
    assert KEPT["retracted"] in texts["gold.json"]
    assert KEPT["retracted"] in texts["out.json"]
    for how, words in WORDS.items():
        for name, text in texts.items():
            assert not [word for word in words if word in text], (how, name)
    for how in ("retracted", "purged"):
        told_of = house.run("history", rooms.ids[how], "--diff").out
        assert (WORDS[how][0] in told_of) == (how == "retracted")
    needles = [word[2:].encode() for word in WORDS["purged"]]
    left = where(house.home, needles)
    assert {name for name in left if ".git/" not in name} == set()
    for copy in (house.root / "unpacked", house.root / "all"):
        left = where(copy, needles)
        assert {name for name in left if ".git/" not in name} == set(), copy
        assert where(copy, [word.encode() for word in WORDS["retracted"]]), copy
    assert where(house.home, [word.encode() for word in WORDS["retracted"]])


def stripped(old: bytes) -> bytes:
    """The text of a file without its frontmatter."""
    return old.partition(b"\n---\n")[2]


@pytest.mark.slow
@pytest.mark.guarantee("C1", "C5", "R5", "W1")
def test_old_files_that_come_back_stay_out_and_a_file_that_was_merely_deleted_returns(
    copied: Emptied,
) -> None:
    house, claude = copied.house, copied.house.agent()
    for how, query in QUERIES.items():
        similar = claude.save(f"Harbour, {how}", f"{query} and so on.")["similar"]
        assert copied.ids[how] not in {one["id"] for one in similar} or how in ("wrong", "passage")
        assert similar
    rejected = {how: path for how, path in copied.paths.items() if how != "deleted"}
    for how, path in rejected.items():
        old = copied.files[path]
        house.write(path, old)
        house.write(f"heron/elsewhere/{how}.md", old)
        house.write(f"heron/bare/{how}.md", stripped(old))
        house.write(f"heron/joined/{how}.md", b"# Joined\n\nGood morning.\n\n" + stripped(old))
    check_absent(copied)
    items = house.json("review", "list", "--kind", "withheld")
    held = {item["detail"]["path"] for item in items}
    for how, path in rejected.items():
        for one in (
            path,
            *(f"heron/{folder}/{how}.md" for folder in ("elsewhere", "bare", "joined")),
        ):
            assert one in held, (how, one)
    house.json("reindex")
    house.restart()
    check_absent(copied)
    assert GONE["deleted"] not in house.agent().texts(QUERIES["deleted"])
    git(house, "checkout", "-q", "-f", "HEAD", "--", ".")
    assert GONE["deleted"] in house.agent().texts(QUERIES["deleted"])
    lose_index(house)
    check_absent(copied, without=frozenset({"deleted"}))
    assert GONE["deleted"] in house.agent().texts(QUERIES["deleted"])
    for how in rejected:
        answer = house.agent().code("save", title=f"Back, {how}", body=GONE[how])
        assert answer == "rejected_claim", how


def put_index_back(house: House, old: Path) -> int:
    """Every table of the index as it was, with what hangs on it; how many notes it names."""
    raw = sqlite3.connect(house.home / "memsvc.db", isolation_level=None)
    raw.execute("ATTACH ? AS old", (str(old),))
    plain = [
        name
        for (name,) in raw.execute(
            "SELECT name FROM old.sqlite_master WHERE type = 'table' AND name LIKE 'index\\_%' "
            "ESCAPE '\\' AND name NOT LIKE '%fts%' AND name != 'index_rejection'"
        )
    ]
    assert len(plain) > 5
    raw.execute("BEGIN")
    for name in plain:
        raw.execute(f"DELETE FROM main.{name}")  # noqa: S608 - names of tables
    for name in plain:
        raw.execute(f"INSERT INTO main.{name} SELECT * FROM old.{name}")  # noqa: S608 - names of tables
    raw.execute("COMMIT")
    (count,) = raw.execute("SELECT count(DISTINCT note_id) FROM index_entry").fetchone()
    raw.close()
    return int(count)


@pytest.mark.slow
@pytest.mark.guarantee("C4", "C5", "R5")
@pytest.mark.parametrize("what", ["vectors", "index and vectors"])
def test_an_old_index_that_is_put_back_brings_nothing_back(rooms: Emptied, what: str) -> None:
    house = rooms.house
    house.restart()
    if "vectors" in what:
        for old in (rooms.aside / "vectors").iterdir():
            shutil.copy(old, house.home / "vectors" / old.name)
    if "index" in what:
        assert put_index_back(house, rooms.aside / "old.db") == 2 * len(GONE)
    with_model(house.agent())
    check_absent(rooms)
    house.json("reindex")
    with_model(house.agent())
    check_absent(rooms)
