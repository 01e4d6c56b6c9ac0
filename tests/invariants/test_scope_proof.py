"""The proof of scope in the code: every reader function asks for it, and every verb of the API keeps to it."""

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

import memsvc
from memsvc.errors import MemsvcError, NotFound
from memsvc.model.identity import Caller, Scope
from memsvc.model.replies import RecallReply, as_data
from memsvc.model.requests import (
    CorrectRequest,
    ForgetRequest,
    HistoryRequest,
    ReadRequest,
    RecallRequest,
    SaveRequest,
)
from memsvc.model.vocabulary import CorrectMode, ProjectSlug, Role, VaultName
from memsvc.scope import policy
from memsvc.scope.proof import ReadScope, WriteScope
from tests.service.world import World, agent, human

SECRET = "zanzibar"
WIDER = [
    "",
    "*",
    "%",
    "[]",
    "null",
    "None",
    "osprey",
    "OSPREY",
    "nowhere",
    "shared/../osprey",
    "heron/*",
    "personal/osprey",
    "_",
]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.service.close()


def readers() -> list[tuple[str, Callable[..., object]]]:
    found = []
    for info in pkgutil.walk_packages(list(memsvc.__path__), prefix="memsvc."):
        if info.name.rpartition(".")[2].endswith("reader"):
            module = importlib.import_module(info.name)
            found += [(f"{info.name}.{name}", getattr(module, name)) for name in module.__all__]
    return found


@pytest.mark.guarantee("S1", "S3")
def test_every_reader_function_takes_a_read_scope_first_without_default() -> None:
    functions = [(name, one) for name, one in readers() if inspect.isfunction(one)]
    assert len(functions) > 5
    for name, function in functions:
        first = next(iter(inspect.signature(function).parameters.values()))
        assert first.annotation is ReadScope, name
        assert first.default is inspect.Parameter.empty, name


def test_a_scope_cannot_be_made_outside_the_policy() -> None:
    for make in (
        lambda: ReadScope((Scope(VaultName("a"), ProjectSlug("b")),), agent(), object()),  # type: ignore[arg-type] # the point
        lambda: WriteScope(Scope(VaultName("a"), ProjectSlug("b")), None, agent(), object()),  # type: ignore[arg-type] # the point
    ):
        with pytest.raises(PermissionError):
            make()


def verbs(world: World, caller: Caller, note_id: str) -> dict[str, Callable[[], object]]:
    """Every verb, aimed at a note of another scope."""
    service = world.service
    return {
        "recall": lambda: service.recall(caller, RecallRequest(query=f"{SECRET} falcon")),
        "recall history": lambda: service.recall(
            caller, RecallRequest(query=SECRET, history=True, explain=True, k=50)
        ),
        "recall as_of": lambda: service.recall(
            caller, RecallRequest(query=SECRET, as_of="2026-12-01", known_at="2099-01-01")
        ),
        "read": lambda: service.read(caller, ReadRequest(id=note_id)),
        "correct": lambda: service.correct(
            caller, CorrectRequest(id=note_id, version=1, mode=CorrectMode.WRONG, body="x y z")
        ),
        "correct stale": lambda: service.correct(
            caller, CorrectRequest(id=note_id, version=9, mode=CorrectMode.AMEND, body="x y z")
        ),
        "forget": lambda: service.forget(caller, ForgetRequest(id=note_id)),
        "supersede": lambda: service.save(
            caller, SaveRequest(title="t", body="Some other statement.", supersedes=(note_id,))
        ),
        "history": lambda: service.history(caller, HistoryRequest(limit=200)),
        "history id": lambda: service.history(caller, HistoryRequest(id=note_id)),
        "scopes": lambda: service.scopes(caller),
        "audit": lambda: service.audit_list(caller),
        "tombstones": lambda: service.tombstones(caller),
        "reviews": lambda: service.reviews(caller),
        "stats": lambda: service.stats(caller),
    }


@pytest.mark.guarantee("S1")
def test_no_verb_tells_a_caller_anything_of_another_project(world: World) -> None:
    secret = world.save(
        f"The {SECRET} falcon", f"The {SECRET} falcon nests here.", by=agent("osprey")
    )
    world.forget(
        world.save("Gone", f"The {SECRET} kestrel was wrong.", by=agent("osprey")).id,
        by=agent("osprey"),
    )
    mine = world.save("Mine", "The falcon of heron nests there. See [[the-zanzibar-falcon]].")
    assert world.ids(SECRET, by=agent("osprey")) == [secret.id]
    outside = agent("heron")
    for name, act in verbs(world, outside, secret.id).items():
        try:
            reply = act()
            said = str(
                as_data(replace(reply, explain={}) if isinstance(reply, RecallReply) else reply)
            )
        except NotFound as error:
            said = f"{error.message} {error.data}"
        said = said.replace("the-zanzibar-falcon", "")  # its own text names the link
        assert SECRET not in said, name
        assert secret.id not in said, name
        assert "osprey" not in said, name
    assert world.ids("falcon nests") == [mine.id]
    assert world.ids(SECRET, by=agent("osprey")) == [secret.id]


@pytest.mark.guarantee("S2")
@pytest.mark.parametrize("wider", WIDER)
def test_no_argument_widens_a_scope(world: World, wider: str) -> None:
    secret = world.save("Falcon", f"The {SECRET} falcon nests here.", by=agent("osprey"))
    mine = world.save("Mine", "The falcon of heron nests there.")
    messages = set()
    for field in ("project", "vault"):
        for act in (
            lambda more: world.ask(f"{SECRET} falcon nests", **more),
            lambda more: world.save("x", "Some text to keep.", **more),
        ):
            try:
                reply = act({field: wider})
            except NotFound as error:
                messages.add(error.message)
                continue
            assert reply.scope == "personal/heron"
            assert secret.id not in str(as_data(reply))
            if hasattr(reply, "hits"):
                assert [hit.id for hit in reply.hits] == [mine.id]
    assert len(messages) <= 1
    assert all(wider not in message or wider in ("", "_") for message in messages)
    assert world.ids(SECRET, by=agent("osprey")) == [secret.id]


def test_unknown_and_forbidden_scopes_are_refused_in_the_same_words(world: World) -> None:
    world.save("Falcon", "The falcon nests here.", by=agent("osprey"))
    said = set()
    for project in ("osprey", "nowhere"):
        with pytest.raises(NotFound) as caught:
            world.ask("falcon", project=project)
        said.add((caught.value.message, str(caught.value.data)))
    assert len(said) == 1


def test_a_project_sees_its_vaults_shared_notes_and_no_other_vaults(
    world: World, tmp_path: Path
) -> None:
    folder = tmp_path / "team"
    folder.mkdir()
    world.service.vault_add(human(), "team", str(folder), {})
    common = world.save("Common", "The falcon rule is common.", project="shared")
    own = world.save("Own", "The falcon rule is mine.")
    other = world.save("Team", "The falcon rule is theirs.", by=agent(vault="team"))
    assert set(world.ids("falcon rule")) == {common.id, own.id}
    assert world.ids("falcon rule", project="shared") == [common.id]
    assert world.ids("falcon rule", by=agent("osprey")) == [common.id]
    assert world.ids("falcon rule", by=agent(vault="team")) == [other.id]


@pytest.mark.guarantee("S1", "S2")
def test_a_picked_vault_has_its_own_files_looked_at_and_nobody_elses(
    world: World, tmp_path: Path
) -> None:
    """Who is bound to one vault and granted another picks it by name; an embedded caller may not."""
    folder = tmp_path / "team"
    folder.mkdir()
    world.service.vault_add(human(), "team", str(folder), {})
    saved = world.save("Team", "The falcon rule is theirs.", by=agent(vault="team"))
    there = Scope(VaultName("team"), ProjectSlug("heron"))
    grants = [policy.Grant(Scope(VaultName("personal"), there.project), Role.WRITER)]
    scope = policy.read_scope(agent(), [*grants, policy.Grant(there, Role.READER)], vault="team")
    hits = world.hits("falcon rule", by=agent(vault="team"))
    assert [(hit.id, hit.path) for hit in hits] == [(saved.id, saved.path)]
    assert world.service._stale(scope, [saved.path]) == []
    world.write(saved.path, "The falcon rule is of the file of that name in the bound vault.\n")
    assert world.service._stale(scope, [saved.path]) == []
    path = folder / saved.path
    path.write_text(path.read_text("utf-8").replace("theirs", "changed by them"), "utf-8")
    assert world.service._stale(scope, [saved.path]) == [saved.path]
    events = len(world.service.audit_list(human(vault="team")).events)
    with pytest.raises(NotFound):
        world.ask("falcon rule", vault="team")
    assert len(world.service.audit_list(human(vault="team")).events) == events
    (hit,) = world.hits("falcon rule", by=agent(vault="team"))
    assert "changed by them" in hit.text


@pytest.mark.guarantee("S1", "R3")
def test_another_projects_notes_do_not_change_a_reply(world: World) -> None:
    for number in range(5):
        world.save(f"Falcon {number}", f"The falcon number {number} nests in heron wood.")
    before = asdict(world.ask("falcon nests wood", explain=True))
    for number in range(30):
        world.save(f"Falcon {number}", f"The falcon wood {number} nests.", by=agent("osprey"))
    after = asdict(world.ask("falcon nests wood", explain=True))
    for reply in (before, after):
        del reply["took_ms"]
        reply["explain"] = {}
    assert before["hits"]
    assert before == after


@pytest.mark.guarantee("A3")
def test_no_event_or_telemetry_row_holds_note_or_query_text(world: World) -> None:
    note = world.save("Titleword", "The bodyword statement is here.")
    fixed = world.correct(note, "The otherword statement is here.")
    world.ask("queryword bodyword")
    with pytest.raises(MemsvcError):
        world.save("Again", "The bodyword statement is here.")
    world.forget(fixed.id)
    world.service.close()
    import sqlite3

    raw = sqlite3.connect(world.root / "home" / "memsvc.db")
    seen = 0
    for table in ("audit_event", "recall_event", "tombstone", "review_item", "file_operation"):
        for row in raw.execute(f"SELECT * FROM {table}"):  # noqa: S608 - names from above
            seen += 1
            for word in ("bodyword", "otherword", "queryword", "Titleword"):
                assert word not in str(row), table
    raw.close()
    assert seen > 5
    world.service = world.open()
