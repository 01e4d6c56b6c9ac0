"""One gateway: every way into memory is enumerated here, and each refuses what the policy forbids."""

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.invariants.doors import (
    COMMANDS,
    METHODS,
    TOOLS,
    Does,
    commands,
    methods,
    named,
)
from tests.invariants.home import Forker, Home
from tests.invariants.writes import (
    BREAKING,
    DOORS,
    FILES,
    FINE,
    INTAKES,
    MOST,
    REJECTED,
    Desk,
    fine_text,
    opened,
)

ROBIN = ("--principal", "agent:robin")


def made(folder: Path, forker: Forker) -> Home:
    """A home in which something was rejected, with a policy that forbids what can be forbidden."""
    home = Home(folder, forker)
    home.json("vault", "policy", "personal", f"max_note={MOST}")
    gone = home.json("save", "Host", "--body", REJECTED)
    home.json("forget", gone["id"], "--reason", "it was never true")
    return home


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, forker: Forker) -> Iterator[Desk]:
    home = made(tmp_path_factory.mktemp("gateway"), forker)
    with home.agent() as agent, opened(home) as api:
        yield Desk(home, agent, api)


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory, forker: Forker) -> Home:
    """A home that no process looks after."""
    return made(tmp_path_factory.mktemp("quiet"), forker)


def doors_of(prefix: str, table: dict[str, object]) -> set[str]:
    return {
        name.removeprefix(prefix).partition(",")[0] for name in table if name.startswith(prefix)
    }


# -- what there is -------------------------------------------------------------------------


@pytest.mark.guarantee("W1")
def test_every_tool_command_and_method_is_known_and_every_door_is_tried(desk: Desk) -> None:
    for prefix, present, table in (
        ("mcp ", {tool.name for tool in desk.agent.tools()}, TOOLS),
        ("cli ", set(commands()), COMMANDS),
        ("api ", set(methods()), METHODS),
    ):
        assert present == set(table), "a new way in needs its line in tests/invariants/doors.py"
        untried = named(table, Does.WRITES) - doors_of(prefix, {**DOORS})
        assert untried == set(), "a door needs its line in tests/invariants/writes.py"
        takes_in = named(table, Does.TAKES_IN) - {"vault add", "vault_add"}  # see below
        assert takes_in - doors_of(prefix, {**INTAKES}) == set(), "so does an intake"
        if prefix != "mcp ":
            assert doors_of(prefix, {**INTAKES}) | takes_in == takes_in


# -- the same breach through each ----------------------------------------------------------


@pytest.mark.guarantee("W1", "A1")
@pytest.mark.parametrize("name", DOORS)
def test_no_door_lets_a_forbidden_text_in_and_each_refusal_is_on_record(
    desk: Desk, name: str
) -> None:
    door = DOORS[name]
    expected = []
    before = len(desk.home.events("--outcome", "refused"))
    for case in door.cases:
        code = door.send(desk, BREAKING[case].text)
        wanted = "invalid_input" if not door.keeps and case == "too long" else BREAKING[case].code
        assert code == wanted, case
        expected.append(wanted)
    events = desk.home.events("--outcome", "refused")
    recorded = [str(one["reason"]) for one in events if one["action"] != "file_edit"]
    assert recorded[: len(expected)] == expected[::-1]
    assert len(events) >= before + len(expected)
    for case in door.cases if door.keeps else ():
        word = BREAKING[case].word
        assert not word or desk.agent.ids(word, history=True) == [], case
    fine = fine_text()
    assert door.send(desk, fine) == ""
    if door.keeps:
        hits = desk.agent.data("recall", query=fine, k=1)["hits"]
        assert FINE in hits[0]["text"]
    for case in FILES:
        living = [
            path for path in desk.home.vault.rglob("heron/*.md") if ".trash" not in path.parts
        ]
        assert all(BREAKING[case].word not in path.read_text("utf-8") for path in living), case


def drop(home: Home, folder: str) -> dict[Path, bytes]:
    """A file with each forbidden text and one that may pass, put into a folder of the vault."""
    texts = {case: f"# Note\n\n{BREAKING[case].text}\n" for case in FILES}
    texts["fine"] = f"# Fine\n\n{fine_text()}\n"
    placed = {home.write(f"{folder}/{name}.md", text): text for name, text in texts.items()}
    return {path: text.encode() for path, text in placed.items()}


@pytest.mark.guarantee("W1", "W6")
@pytest.mark.parametrize("name", INTAKES)
def test_whatever_takes_files_in_withholds_and_queues_what_breaks_the_policy(
    quiet: Home, name: str
) -> None:
    folder = f"heron/{name.replace(' ', '-')}"
    files: dict[Path, bytes] = {}

    def put() -> int:
        files.update(drop(quiet, folder))
        return len(files)

    INTAKES[name](quiet, put)
    refused = [one for one in quiet.events("--action", "file_edit") if one["outcome"] == "refused"][
        : len(FILES)
    ]
    assert sorted(one["reason"] for one in refused) == sorted(
        f"withheld: {BREAKING[case].withheld}" for case in FILES
    )
    for case in FILES:
        assert quiet.json("recall", BREAKING[case].word, "--history")["hits"] == [], case
    hits = quiet.json("recall", FINE, "--k", "50")["hits"]
    assert f"{folder}/fine.md" in [hit["path"] for hit in hits]
    assert {path: path.read_bytes() for path in files} == files


@pytest.mark.guarantee("W1", "C2")
def test_a_vault_that_is_added_has_its_files_judged_by_its_own_scope(
    quiet: Home, tmp_path: Path
) -> None:
    for case in FILES:
        (tmp_path / f"{case}.md").write_text(f"# Note\n\n{BREAKING[case].text}\n", "utf-8")
    quiet.json("vault", "add", "team", str(tmp_path))
    there = ("--vault", "team")
    own = {case for case in FILES if quiet.json("recall", BREAKING[case].word, *there)["hits"]}
    # what was rejected elsewhere may be said here, and this vault has no limit of its own
    assert own == {"rejected", "rejected, dressed", "too long"}
    quiet.json("vault", "remove", "team")
    assert quiet.fails("recall", "marsh", *there)["code"] == "not_found"


def git(folder: Path, *arguments: str) -> None:
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org"}
    who |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}
    subprocess.run(
        ["git", "-c", "init.defaultBranch=main", *arguments],
        cwd=folder,
        env={**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull},
        capture_output=True,
        check=True,
    )


def pulled(home: Home, folder: str, tmp_path: Path) -> None:
    """The texts arrive by a colleague's commits."""
    if not (home.vault / ".git").exists():
        git(home.vault, "init", "-q")
    git(home.vault, "add", "-A")
    git(home.vault, "commit", "-q", "--allow-empty", "-m", "mine")
    git(tmp_path, "clone", "-q", str(home.vault), "theirs")
    theirs = tmp_path / "theirs"
    (theirs / folder).mkdir(parents=True)
    for case in FILES:
        (theirs / folder / f"{case}.md").write_text(f"# Note\n\n{BREAKING[case].text}\n", "utf-8")
    (theirs / folder / "fine.md").write_text(f"# Fine\n\n{fine_text()}\n", "utf-8")
    git(theirs, "add", "-A")
    git(theirs, "commit", "-q", "-m", "theirs")
    git(home.vault, "pull", "-q", "--ff-only", str(theirs), "main")


def moved(home: Home, folder: str, tmp_path: Path) -> None:
    """The texts were allowed, or withheld, in another project, and their files are moved here."""
    files = drop(home, f"osprey/{tmp_path.name}")
    home.json("recall", "anything")
    for path in files:
        home.write(f"{folder}/{path.name}", path.read_bytes())
        path.unlink()


def edited(home: Home, folder: str, tmp_path: Path) -> None:
    """Notes that memsvc wrote are opened in an editor, and say the texts afterwards."""
    for name in (*FILES, "fine"):
        text = fine_text() if name == "fine" else BREAKING[name].text
        saved = home.json("save", f"Edited {name}", "--body", f"The wagtail {name} is {folder}.")
        path = home.vault / saved["path"]
        path.write_text(f"{path.read_text('utf-8')}\n\n{text}\n", "utf-8")
        home.write(f"{folder}/{name}.md", path.read_bytes())
        path.unlink()


def copied(home: Home, folder: str, tmp_path: Path) -> None:
    """Copies with other names, made by a sync or by hand, of notes in the trash."""
    for name in FILES:
        home.write(f".trash/{name} 2.md", f"{BREAKING[name].text}\n").rename(
            home.write(f"{folder}/{name}.md", "")
        )
    home.write(f"{folder}/fine.md", fine_text())


@pytest.mark.guarantee("W1", "C1")
@pytest.mark.parametrize("arrive", [pulled, moved, edited, copied])
def test_however_a_file_comes_into_the_vault_its_text_is_judged(
    quiet: Home, arrive: Callable[[Home, str, Path], None], tmp_path: Path
) -> None:
    folder = f"heron/{arrive.__name__}"
    arrive(quiet, folder, tmp_path)
    hits = quiet.json("recall", FINE, "--k", "50")["hits"]
    assert f"{folder}/fine.md" in [hit["path"] for hit in hits]
    quiet.json("reindex")
    for case in FILES:
        for more in ((), ("--history",)):
            assert quiet.json("recall", BREAKING[case].word, *more)["hits"] == [], case
    refused = quiet.events("--outcome", "refused")[: len(FILES)]
    assert sorted(one["reason"] for one in refused) == sorted(
        f"withheld: {BREAKING[case].withheld}" for case in FILES
    )
    waiting = {row["note_id"] for row in quiet.json("review", "list")}
    assert {one["note_id"] for one in refused} <= waiting
