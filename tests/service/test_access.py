"""From a caller's claim to a scope: who has which role where, with a real ledger."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection

from memsvc.database import Database
from memsvc.errors import Denied, InvalidInput, NotFound
from memsvc.model.identity import Principal, Scope
from memsvc.model.vocabulary import SHARED, PrincipalKind, ProjectSlug, Role, VaultName
from memsvc.scope.policy import NOWHERE
from memsvc.service import access
from tests.service.world import World, agent, human

PERSONAL, TEAM = VaultName("personal"), VaultName("team")
HERON, OSPREY = ProjectSlug("heron"), ProjectSlug("osprey")
SERVICE = replace(agent(), principal=Principal(PrincipalKind.SERVICE, "capture"))


@pytest.fixture
def connection(world: World, tmp_path: Path) -> Iterator[Connection]:
    """The ledger of a home with two vaults and notes in heron, osprey, shared and team/heron."""
    team = tmp_path / "team"
    team.mkdir()
    world.service.vault_add(human(), "team", str(team), {})
    for project in (HERON, OSPREY, SHARED):
        world.save(f"In {project}", f"The {project} bell rings at noon.", by=agent(project))
    world.save("In team", "The team bell rings at noon.", by=agent(vault="team"))
    database = Database(world.root / "home" / "memsvc.db")
    with database.engine.connect() as made:
        yield made
    database.close()


def note_in(connection: Connection, scope: Scope) -> str:
    row = connection.exec_driver_sql(
        "SELECT note_id FROM note WHERE vault = ? AND project = ?", (scope.vault, scope.project)
    ).one()
    return str(row[0])


@pytest.mark.guarantee("S2")
def test_an_agent_has_its_project_and_shared_and_a_person_more_rights_there(
    connection: Connection,
) -> None:
    both = (Scope(PERSONAL, HERON), Scope(PERSONAL, SHARED))
    for caller, role in ((agent(), Role.WRITER), (SERVICE, Role.WRITER), (human(), Role.ADMIN)):
        assert access.reads(connection, caller).scopes == both
        assert access.writes(connection, caller).role is role
        assert access.writes(connection, caller, project="shared").role is role
        assert access.writable(connection, caller) == list(both)
        for vault, project in (("", "osprey"), ("team", ""), ("team", "heron"), ("*", "")):
            with pytest.raises(NotFound) as refused:
                access.reads(connection, caller, vault=vault, project=project)
            assert str(refused.value) == NOWHERE
            with pytest.raises(NotFound):
                access.writes(connection, caller, vault=vault, project=project)
    with pytest.raises(Denied):
        access.writes(connection, agent(), need=Role.REVIEWER)
    assert access.writes(connection, human(), need=Role.REVIEWER).scope == both[0]
    with pytest.raises(NotFound):
        access.reads(connection, agent(vault="nowhere"))


def test_shared_is_only_read_by_whom_the_policy_leaves_out(
    world: World, connection: Connection
) -> None:
    world.service.vault_policy(human(), "personal", ["shared=people"])
    connection.rollback()
    assert access.writable(connection, agent()) == [Scope(PERSONAL, HERON)]
    assert Scope(PERSONAL, SHARED) in access.reads(connection, agent())
    with pytest.raises(Denied):
        access.writes(connection, agent(), project="shared")
    with pytest.raises(Denied):
        access.writes(connection, agent("shared"))
    assert access.writes(connection, human(), project="shared").role is Role.ADMIN


@pytest.mark.guarantee("S1")
def test_a_note_is_found_in_its_own_scope_and_nowhere_else_in_the_same_words(
    world: World, connection: Connection
) -> None:
    own = note_in(connection, Scope(PERSONAL, HERON))
    scope = access.reads(connection, agent())
    assert access.readable_note(scope, connection, f" {own.lower()} ").note_id == own
    assert access.note_for(connection, agent(), own)[0].scope == Scope(PERSONAL, HERON)
    shared = note_in(connection, Scope(PERSONAL, SHARED))
    assert access.note_for(connection, agent(), shared)[0].scope == Scope(PERSONAL, SHARED)
    with pytest.raises(Denied):
        access.note_for(connection, agent(), own, need=Role.REVIEWER)
    other, foreign = (
        note_in(connection, one) for one in (Scope(PERSONAL, OSPREY), Scope(TEAM, HERON))
    )
    world.forget(own)
    connection.rollback()
    for note_id in (other, foreign, own, "01M000000000000000000000ZZ", ""):
        with pytest.raises(NotFound) as refused:
            access.readable_note(access.reads(connection, agent()), connection, note_id)
        assert str(refused.value) == access.NO_NOTE
        with pytest.raises(NotFound):
            access.note_for(connection, human(), note_id)


def test_a_person_looks_after_the_whole_home_and_an_agent_after_its_own_scope(
    connection: Connection,
) -> None:
    everything = {
        Scope(vault, project)
        for vault, project in (
            (PERSONAL, HERON), (PERSONAL, OSPREY), (PERSONAL, SHARED), (TEAM, HERON), (TEAM, SHARED),
        )
    }  # fmt: skip
    assert set(access.oversight(connection, human()).scopes) == everything
    assert set(access.records(connection, human()).scopes) >= {
        Scope(PERSONAL, OSPREY), Scope(TEAM, HERON),
    }  # fmt: skip
    own = (Scope(PERSONAL, HERON), Scope(PERSONAL, SHARED))
    for caller in (agent(), SERVICE):
        assert access.oversight(connection, caller).scopes == own
        assert access.records(connection, caller).scopes == own


def test_a_person_judges_in_any_scope_that_there_is_and_nobody_else_does(
    connection: Connection,
) -> None:
    osprey = Scope(PERSONAL, OSPREY)
    assert access.judges(connection, human(), osprey).scope == osprey
    assert access.judges(connection, human(), Scope(TEAM, HERON)).scope == Scope(TEAM, HERON)
    assert access.around(connection, human(), osprey).scopes == (osprey, Scope(PERSONAL, SHARED))
    for caller in (agent(), SERVICE):
        with pytest.raises(Denied):
            access.judges(connection, caller, Scope(PERSONAL, HERON))
        with pytest.raises(NotFound):
            access.around(connection, caller, osprey)
    for scope in (Scope(TEAM, OSPREY), Scope(VaultName("nowhere"), HERON)):
        with pytest.raises(NotFound):
            access.judges(connection, human(), scope)
        with pytest.raises(NotFound):
            access.around(connection, human(), scope)


@pytest.mark.parametrize("folder", [".obsidian", " /.hidden/notes/ ", "", "/", "a/../b", "a\\b"])
def test_only_a_folder_of_notes_inside_the_vault_is_mapped_to_a_project(
    world: World, tmp_path: Path, folder: str
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    with pytest.raises(InvalidInput) as caught:
        world.service.vault_add(human(), "team", str(notes), {folder: "heron"})
    assert caught.value.data["argument"] == "map"
    world.service.vault_add(human(), "team", str(notes), {" /Clients/Heron/ ": "heron"})
    (team,) = [one for one in world.service.vault_list() if one["name"] == "team"]
    assert team["projects"] == {"Clients/Heron": "heron"}
