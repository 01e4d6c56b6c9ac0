"""Every statement in a reply resolves to a note, a version and a source, and all of it can be rebuilt."""

import random
import re
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.invariants.home import Agent, Forker, Home, data_of, text_of

SEED = 20_261_130


@dataclass(frozen=True, slots=True)
class Archive:
    """A home that was written to through every door, each text with a token of its own."""

    home: Home
    agent: Agent
    tokens: dict[str, str]
    """What was done to a text, and the token in it."""
    ids: dict[str, str]


def fill(home: Home, agent: Agent) -> tuple[dict[str, str], dict[str, str]]:
    dice = random.Random(SEED)  # noqa: S311 - to be the same at every run
    words = ("saved", "amended", "changed", "replaced", "replacing", "forgotten", "passage",
             "by hand", "edited", "moved", "by a person", "approved", "shared", "long")  # fmt: skip
    tokens = {word: f"{dice.getrandbits(64):016x}" for word in words}
    ids: dict[str, str] = {}

    def save(word: str, **more: Any) -> str:
        body = f"The {word} thing is called {tokens[word]}. See [[saved thing]]."
        source = [f"transcript:{tokens[word]}#turn=4"]
        reply = agent.data("save", title=f"{word} thing", body=body, source=source, **more)
        ids[word] = str(reply["id"])
        return ids[word]

    for word in ("saved", "amended", "changed", "replaced", "forgotten"):
        save(word, tags=[f"tag-{word}"])
    save("shared", project="shared")
    save("replacing", supersedes=[ids["replaced"]])
    for word, mode in (("amended", "amend"), ("changed", "changed")):
        agent.data("correct", id=ids[word], version=1, mode=mode, reason=f"{word} so",
                   body=f"The {word} thing is now called {tokens[word]}, said twice.")  # fmt: skip
    agent.data("forget", id=ids["forgotten"], reason="it is no more")
    passage = agent.data(
        "save",
        title="passage thing",
        body=f"The passage thing is called {tokens['passage']}.\n\nThe other passage 77 is dropped.",
    )
    ids["passage"] = str(passage["id"])
    agent.data("forget", id=ids["passage"], passage="The other passage 77 is dropped.")
    for word in ("by hand", "edited", "moved"):
        home.write(
            f"heron/{word}.md",
            f"---\nsource: transcript:{tokens[word]}\n---\n# {word} thing\n\n"
            f"The {word} thing is called {tokens[word]}. See [[saved thing]].\n",
        )
    long = "".join(f"Line {at} says something about day {at}.\n" for at in range(200))
    home.write(
        "heron/long.md", f"# long thing\n\n{long}\nThe long thing is called {tokens['long']}.\n"
    )
    agent.ids("anything")
    edited = home.vault / "heron/edited.md"
    edited.write_text(f"{edited.read_text('utf-8')}\nAn editor was here at 14:05.\n", "utf-8")
    (home.vault / "heron/moved.md").rename(home.vault / "heron/moved again.md")
    person = home.json("save", "by a person thing", "--source", f"letter {tokens['by a person']}",
                       "--body", f"The by a person thing is called {tokens['by a person']}.")  # fmt: skip
    ids["by a person"] = str(person["id"])
    home.json("vault", "policy", "personal", "review=agents")
    save("approved")
    (item,) = home.json("review", "list")
    home.json("review", "approve", item["review_id"], "--confirm")
    home.json("vault", "policy", "personal", "review=none")
    for word in ("by hand", "edited", "moved", "long"):
        (ids[word], *_) = agent.ids(f"{word} thing {tokens[word]}")
    return tokens, ids


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory, forker: Forker) -> Iterator[Archive]:
    home = Home(tmp_path_factory.mktemp("archive"), forker)
    with home.agent() as agent:
        tokens, ids = fill(home, agent)
        yield Archive(home, agent, tokens, ids)


def plain(text: str) -> str:
    return " ".join(text.replace("…", "").split())


@pytest.mark.guarantee("R4")
def test_every_hit_resolves_to_a_note_a_version_a_source_a_file_and_an_event(
    archive: Archive,
) -> None:
    home, agent = archive.home, archive.agent
    events = {one["note_id"]: one for one in home.events()}
    seen = set()
    for word, token in archive.tokens.items():
        for more in ({}, {"detail": "full"}, {"history": True}):
            asked = {"query": f"{word} thing called {token}", "k": 20, "budget": 8_000, **more}
            result = agent.ask("recall", asked)
            blocks = re.split(r"(?m)^\[\d+\] ", text_of(result))[1:]
            hits = data_of(result)["hits"]
            assert len(blocks) == len(hits)
            for block, hit in zip(blocks, hits, strict=True):
                assert f"id {hit['id']}" in block
                assert f"version {hit['version']}" in block
                assert all(f"source: {one}" in block for one in hit["source"])
                note = agent.data("read", id=hit["id"], version=hit["version"], offset=hit["start"])
                assert (note["id"], note["version"]) == (hit["id"], hit["version"])
                assert plain(hit["text"]) in plain(note["body"]) or hit["heading"]
                assert (note["source"], note["path"]) == (hit["source"], hit["path"])
                assert (note["author"], note["trust"]) == (hit["author"], hit["trust"])
                assert hit["id"] in events
                assert hit["version"] in [one["version"] for one in note["versions"]]
                if hit["current"]:
                    file = (home.vault / hit["path"]).read_text("utf-8")
                    assert plain(hit["text"]) in plain(file)
                seen.add(hit["id"])
    assert {archive.ids[word] for word in archive.tokens if word != "forgotten"} <= seen
    assert archive.ids["forgotten"] not in seen


@pytest.mark.guarantee("R4")
def test_a_command_shows_the_same_provenance(archive: Archive) -> None:
    for word in ("saved", "by hand", "by a person"):
        token = archive.tokens[word]
        (hit, *_) = archive.home.json("recall", word, "thing", token)["hits"]
        assert (hit["id"], token in hit["text"], token in hit["source"][0]) == (
            archive.ids[word],
            True,
            True,
        )
        read = archive.home.json("read", hit["id"], "--version", str(hit["version"]))
        assert (token in read["body"], read["source"]) == (True, hit["source"])
        said = archive.home.run("recall", word, "thing", token).out
        assert f"source: {hit['source'][0]}" in said
        assert f"id {hit['id']} · version {hit['version']}" in said


@pytest.mark.guarantee("R3")
def test_a_reply_says_what_it_covered_and_what_it_left_out(archive: Archive) -> None:
    home, agent = archive.home, archive.agent
    covered = agent.data("recall", query="thing called")["coverage"]
    assert covered["scopes"] == ["personal/heron", "personal/shared"]
    assert covered["arms"]["lexical"] == "ran"
    assert "off" in covered["arms"]["vector"]
    home.json("vault", "policy", "personal", "review=agents")
    agent.data("save", title="R", body="The reviewed limpkin number 1 calls.")
    home.json("vault", "policy", "personal", "review=none")
    agent.data("save", title="E", body="The expired limpkin number 2 calls.", valid_to="2020-01-01",
               valid_from="2019-01-01")  # fmt: skip
    agent.data("save", title="L", body="The limpkin number 3 calls.")
    result = agent.ask("recall", {"query": "limpkin calls"})
    withheld = data_of(result)["coverage"]["withheld"]
    assert (withheld["proposed"], withheld["expired"]) == (1, 1)
    assert "1 waiting for review" in text_of(result)
    assert len(data_of(result)["hits"]) == 1
    only = agent.data("recall", query="thing called", project="shared")
    assert (only["coverage"]["scopes"], only["scope"]) == (["personal/shared"], "personal/shared")
    cut = agent.ask("recall", {"query": "thing called", "k": 2, "budget": 120})
    assert data_of(cut)["coverage"]["cut"]
    assert "\n-- cut" in text_of(cut)
    nothing = agent.data("recall", query="zeppelin insurance premium")
    assert (nothing["abstained"], nothing["hits"]) == (True, [])
    assert nothing["reason"]


def answers(home: Home, archive: Archive) -> list[object]:
    """What a server that starts anew says to everything that can be asked about the archive."""
    with home.agent() as agent:
        return asked_for(agent, archive)


def asked_for(agent: Agent, archive: Archive) -> list[object]:
    found: list[object] = []
    keys = (
        "id",
        "version",
        "title",
        "text",
        "source",
        "current",
        "status",
        "trust",
        "superseded_by",
    )
    for word, token in archive.tokens.items():
        for query in (token, f"what is the {word} thing called"):
            for history in (False, True):
                hits = agent.data("recall", query=query, k=5, history=history)["hits"]
                found.append([{key: hit[key] for key in keys} for hit in hits])
        if word not in ("forgotten",):
            note = agent.data("read", id=archive.ids[word])
            found.append(
                [note[key] for key in ("body", "links_in", "links_out", "versions", "tags")]
            )
    return found


def tables(raw: sqlite3.Connection) -> list[str]:
    rows = raw.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'index_%'"
    )
    return [str(name) for (name,) in rows]


def without_index(home: Home) -> int:
    """Drop every table and file that is derived; how many tables."""
    raw = sqlite3.connect(home.folder / "memsvc.db")
    virtual = {"index_fts"}
    names = tables(raw)
    for name in [*virtual, *(one for one in names if not one.startswith("index_fts"))]:
        raw.execute(f"DROP TABLE IF EXISTS {name}")
    raw.commit()
    assert tables(raw) == []
    raw.execute("VACUUM")
    raw.close()
    kept = {"memsvc.db", "tombstone.keys", "personal", "memsvc.toml"}
    for path in home.folder.iterdir():
        if path.name not in kept:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return len(names)


@pytest.mark.slow
@pytest.mark.guarantee("R5")
def test_everything_is_rebuilt_from_files_and_ledger_alone(tmp_path: Path, forker: Forker) -> None:
    home = Home(tmp_path, forker)
    with home.agent() as agent:
        archive = Archive(home, agent, *fill(home, agent))
    before = answers(home, archive)
    said = str(before)
    assert {word for word, token in archive.tokens.items() if token not in said} == {"forgotten"}
    for command in ("reindex", "init"):  # at once, and as a home that starts without its index
        assert without_index(home) > 8
        home.json(command)
        assert answers(home, archive) == before, command
    body = f"The forgotten thing is called {archive.tokens['forgotten']}. See [[saved thing]]."
    assert home.fails("save", "forgotten thing", "--body", body)["code"] == "rejected_claim"
    assert home.json("audit", "verify")["ok"]


@pytest.mark.guarantee("R4", "R5")
def test_what_was_derived_from_a_forgotten_source_is_named_and_goes_with_it(
    tmp_path: Path, forker: Forker
) -> None:
    home = Home(tmp_path, forker)
    source = home.json("save", "Interview", "--body", "The interview number 1 is with the owner.")
    derived = home.json("save", "Summary", "--body", "The summary number 2 is short.",
                        "--source", "[[interview]]")  # fmt: skip
    further = home.json("save", "Digest", "--body", "The digest number 3 is shorter.",
                        "--source", "[[summary]]")  # fmt: skip
    apart = home.json("save", "Apart", "--body", "The other number 4 stands alone.")

    def found() -> set[str]:
        hits = home.json("recall", "number", "interview", "summary", "digest", "stands", "alone")[
            "hits"
        ]
        return {str(hit["id"]) for hit in hits}

    four = {str(one["id"]) for one in (source, derived, further, apart)}
    assert found() == four
    other = home.json("forget", apart["id"])
    assert other["derived"] == []
    gone = home.json("forget", source["id"], "--derived", "--reason", "the owner withdrew it")
    assert {one["id"] for one in gone["derived"]} == {derived["id"], further["id"]}
    home.json("reindex")
    assert found() == set()
    again = home.fails("save", "Summary", "--body", "The summary number 2 is short.")
    assert again["code"] == "rejected_claim"
    home.json("restore-note", derived["id"], "--confirm")
    assert found() == {derived["id"]}
