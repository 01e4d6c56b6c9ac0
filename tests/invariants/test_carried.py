"""What is carried out of a home, and into one, is judged as if it were written there and then."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.invariants.carriers import CARRIERS, json_export
from tests.invariants.home import Forker, Home
from tests.invariants.writes import BREAKING, FILES, FINE, REJECTED, fine_text

ROBIN = ("--principal", "agent:robin")
ALLOWED = tuple(name for name in FILES if not name.startswith(("recalled", "private")))
"""What a policy can allow, or nobody has rejected yet."""
CLAIMED: dict[str, Any] = {
    "status": "active",
    "trust": "verified",
    "author": "human:alice",
    "on_behalf_of": "alice",
    "version": 7,
    "project": "osprey",
    "vault": "team",
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, forker: Forker) -> Home:
    return Home(tmp_path_factory.mktemp("carried"), forker)


def found(home: Home, *words: str) -> list[dict[str, Any]]:
    hits: list[dict[str, Any]] = home.json("recall", *words, "--k", "50")["hits"]
    return hits


# -- an archive of before ------------------------------------------------------------------


@pytest.fixture
def strict(tmp_path: Path, forker: Forker) -> Home:
    """A home that has turned against what its backup holds, and lost its files since."""
    home = Home(tmp_path, forker)
    home.json("vault", "policy", "personal", "secrets=off", "max_note=1000000")
    for name in ALLOWED:
        home.write(f"heron/{name}.md", f"# {name}\n\n{BREAKING[name].text}\n")
    home.write("heron/fine.md", f"# Fine\n\n{fine_text()}\n")
    assert len(found(home, "staging magpie dunnock")) == len(ALLOWED)
    home.json("backup", str(tmp_path / "b.zip"), "--keys", str(tmp_path / "b.keys"))
    home.json("vault", "policy", "personal", "secrets=on", "max_note=3000")
    for number in range(6):  # or the vault would go offline for what it lost
        home.write(f"heron/spare-{number}.md", f"The spare of {number} stays.\n")
    other = home.json("save", "Host", "--body", f"Hello. {REJECTED}")
    home.json("forget", other["id"], "--passage", REJECTED)
    for path in (home.vault / "heron").glob("*.md"):
        if path.stem in (*ALLOWED, "fine"):
            path.unlink()
    for _ in range(2):
        found(home, "spare")
    return home


@pytest.mark.slow
@pytest.mark.guarantee("C1", "C2", "W1", "A1")
def test_a_backup_of_before_a_rejection_brings_back_what_still_may_be_said(strict: Home) -> None:
    (last,) = strict.events("--limit", "1")
    report = strict.json("restore", str(strict.root / "b.zip"), "--merge", "--confirm")
    left = {one["path"]: one["why"] for one in report["not_restored"]}
    assert set(left) == {f"heron/{name}.md" for name in ALLOWED}
    assert report["notes"] == 1
    events = [one for one in strict.events("--limit", "50") if one["seq"] > last["seq"]]
    refused = [one["reason"] for one in events if one["outcome"] == "refused"]
    assert sorted(refused) == sorted(BREAKING[name].code for name in ALLOWED)
    strict.json("reindex")
    for more in ((), ("--history",)):
        for name in ALLOWED:
            assert not strict.json("recall", BREAKING[name].word, *more)["hits"], name
    assert [one["path"] for one in found(strict, FINE)] == ["heron/fine.md"]
    assert not [name for name in ALLOWED if (strict.vault / f"heron/{name}.md").exists()]


# -- standing ------------------------------------------------------------------------------


def stand(home: Home, word: str) -> tuple[str, str, str]:
    (hit,) = (one for one in found(home, word) if word in one["text"])
    return hit["trust"], hit["author"], hit["scope"]


@pytest.mark.guarantee("W2", "S5")
def test_what_an_import_says_of_itself_gives_it_no_standing(home: Home) -> None:
    theirs = home.json("save", "Eider", "--body", "The eider number 1 dives.", project="osprey")
    claimed = {**CLAIMED, "id": theirs["id"]}
    source = json_export(home.root / "claims", "The scoter number 2 dives.", **claimed)
    done = home.json("import", str(source), "--confirm", *ROBIN)
    assert (done["records"]["created"], done["scope"]) == (1, "personal/heron")
    assert stand(home, "scoter") == ("agent", "agent:robin", "personal/heron")
    assert found(home, "eider") == []
    still = home.json("read", theirs["id"], project="osprey")
    assert (still["version"], still["trust"]) == (1, "human")
    assert "eider" in str(still["body"])
    head = "".join(f"{name}: {value}\n" for name, value in CLAIMED.items())
    for form in ("obsidian", "markdown", "memex"):
        folder = CARRIERS[form](home.root / form, "placeholder")
        (page,) = folder.glob("*.md")
        kind = "type: Concept\n" if form == "memex" else ""
        page.write_text(f"---\n{kind}{head}---\nThe {form} goldeneye dives.\n", "utf-8")
        home.json("import", str(folder), "--format", form, "--confirm", *ROBIN)
        assert stand(home, f"{form} goldeneye") == ("agent", "agent:robin", "personal/heron")
        home.json("reindex")
        assert stand(home, f"{form} goldeneye") == ("agent", "agent:robin", "personal/heron")
    mine = json_export(home.root / "mine", "The smew number 3 dives.", **CLAIMED)
    home.json("import", str(mine), "--confirm")
    assert stand(home, "smew")[0] == "human"


@pytest.mark.guarantee("W1")
def test_an_import_is_proposed_where_a_save_would_be(home: Home) -> None:
    home.json("vault", "policy", "personal", "review=agents")
    try:
        source = json_export(home.root / "proposed", "The gadwall number 4 dabbles.", **CLAIMED)
        done = home.json("import", str(source), "--confirm", *ROBIN)
    finally:
        home.json("vault", "policy", "personal", "review=none")
    assert (done["records"]["proposed"], done["records"]["created"]) == (1, 0)
    assert found(home, "gadwall") == []
    (item,) = home.json("review", "list", "--kind", "proposal")
    home.json("review", "approve", item["review_id"], "--confirm")
    assert "gadwall" in found(home, "gadwall")[0]["text"]


# -- what an export holds ------------------------------------------------------------------


def told(home: Home, *options: str) -> str:
    """All that an export holds, as one text."""
    target = home.root / f"out{len(list(home.root.iterdir()))}"
    home.json("export", str(target), *options)
    if target.is_file():
        return target.read_text("utf-8")
    return "\n".join(
        path.read_text("utf-8") for path in sorted(target.rglob("*")) if path.is_file()
    )


@pytest.mark.slow
@pytest.mark.guarantee("S3", "C1", "C5")
@pytest.mark.parametrize("form", ["json", "markdown"])
def test_an_export_holds_nothing_that_is_withheld_gone_or_of_another_scope(
    tmp_path: Path, forker: Forker, form: str
) -> None:
    home = Home(tmp_path, forker)
    kept = home.json("save", "Kept", "--body", "The whimbrel number 1 probes.")
    gone = home.json("save", "Gone", "--body", "The phalarope number 2 spins.")
    home.json("forget", gone["id"])
    old = home.json("save", "Wrong", "--body", "The turnstone number 3 flips.")
    how = ("--version", "1", "--mode", "wrong", "--body", "The lapwing number 4 tumbles.")
    home.json("correct", old["id"], *how)
    for project in ("osprey", "shared"):
        home.json("save", "Other", "--body", f"The sanderling of {project}.", project=project)
    home.json("vault", "policy", "personal", "review=agents")
    home.json("save", "Waits", "--body", "The garganey number 5 waits.", *ROBIN)
    home.json("vault", "policy", "personal", "review=none")
    home.write("heron/again.md", "The phalarope number 2 spins.\n")
    home.write("heron/new.md", "The ruddy duck number 6 was just written.\n")
    plain = told(home, "--format", form)
    for word in ("whimbrel", "lapwing", "ruddy duck", kept["id"]):
        assert word in plain, word
    for word in ("phalarope", "turnstone", "sanderling", "garganey"):
        assert word not in plain, word
    everything = told(home, "--format", form, "--all")
    assert "garganey" in everything
    assert "sanderling" not in everything
    for project in ("heron", "kestrel"):
        assert json.dumps(home.run("export", "-", project=project).out).count("sanderling") == 0
