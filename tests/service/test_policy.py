"""What a vault's policy allows, for every verb and for files, and that each change is on record."""

import pytest

from memsvc.errors import Denied, InvalidInput, NotFound, OverBudget, SecretFound
from memsvc.model.requests import AuditRequest
from memsvc.model.vocabulary import PrincipalKind
from tests.service.world import World, agent, human

TOKEN = "ghp_" + "a8Kd03kfLq92mZx7Vb4Nc6Tr1Ys5Wp0QeRtZ"[:36]


def set_policy(world: World, *pairs: str) -> dict[str, str]:
    return world.service.vault_policy(human(), "personal", pairs)


def test_a_change_of_policy_is_one_event_and_scopes_shows_it(world: World) -> None:
    assert world.service.scopes(agent()).policy == {
        "review": "none",
        "external_edits": "trust",
        "secrets": "on",
        "max_note": "1000000",
        "write_budget": "0",
        "shared": "all",
    }
    set_policy(world, "review=agents", "write_budget=20")
    shown = world.service.scopes(agent()).policy
    assert (shown["review"], shown["write_budget"]) == ("agents", "20")
    changes = world.service.audit_list(human(), AuditRequest(action="config")).events
    assert changes[0].detail["policy"] == {"review": "agents", "write_budget": "20"}
    assert changes[0].detail["before"] == {"review": "none", "write_budget": "0"}
    set_policy(world, "review=agents")
    assert len(world.service.audit_list(human(), AuditRequest(action="config")).events) == len(
        changes
    )
    assert set_policy(world, "review=")["review"] == "none"
    world.restart()
    assert world.service.scopes(agent()).policy["write_budget"] == "20"


@pytest.mark.parametrize(
    "pair",
    [
        "review=some",
        "review",
        "secrets=maybe",
        "max_note=-1",
        "max_note=lots",
        "write_budget=1.5",
        "shared=everyone",
        "shared=agent:",
        "shared=all,agent:x",
        "accept_missing=yes",
        "nothing=1",
    ],
)
def test_a_setting_that_is_none_changes_nothing(world: World, pair: str) -> None:
    before = world.service.vault_policy(human(), "personal")
    with pytest.raises(InvalidInput):
        set_policy(world, "write_budget=7", pair)
    assert world.service.vault_policy(human(), "personal") == before
    assert set_policy(world, "write_budget=7")["write_budget"] == "7"


def test_only_a_person_sets_a_policy(world: World) -> None:
    with pytest.raises(Denied):
        world.service.vault_policy(agent(), "personal", ["review=none"])
    with pytest.raises(NotFound):
        world.service.vault_policy(human(), "elsewhere", ["review=none"])
    with pytest.raises(Denied):
        world.service.vault_policy(agent(), "personal")
    asked = AuditRequest(action="config", outcome="refused")
    refused = world.service.audit_list(human(), asked).events
    assert [event.reason for event in refused] == ["denied", "not_found", "denied"]
    assert set_policy(world, "review=all")["review"] == "all"


def test_review_all_holds_a_persons_save_too(world: World) -> None:
    set_policy(world, "review=all")
    mine = world.save("Tea", "The tea is served at four.", by=human())
    assert mine.outcome == "proposed"
    assert world.ids("tea served") == []
    set_policy(world, "review=agents")
    assert world.save("Port", "The port is 5433.", by=human()).outcome == "created"
    assert world.save("Fish", "The fish comes at six.").outcome == "proposed"
    assert len(world.ids("port")) == 1


@pytest.mark.guarantee("W1")
def test_an_agents_hour_is_limited_for_every_verb_and_a_persons_is_not(world: World) -> None:
    set_policy(world, "write_budget=3")
    first = world.save("One", "The first bird is a heron.")
    world.save("Two", "The second bird is an osprey.")
    world.correct(first, "The first bird is a crane.", "amend")
    refused = (
        lambda: world.save("Three", "The third bird is a falcon."),
        lambda: world.correct(first, "The first bird is a stork.", "amend"),
        lambda: world.forget(first.id),
    )
    for call in refused:
        with pytest.raises(OverBudget):
            call()
    assert world.save("Three", "The third bird is a falcon.", by=human()).outcome == "created"
    other = agent(name="another")
    assert world.save("Four", "The fourth bird is a tern.", by=other).outcome == "created"
    events = world.service.audit_list(human(), AuditRequest(outcome="refused")).events
    assert [event.reason for event in events] == ["over_budget"] * 3
    set_policy(world, "write_budget=4")
    assert world.save("Five", "The fifth bird is a gull.").outcome == "created"


@pytest.mark.guarantee("W1")
def test_shared_is_written_by_whom_the_policy_names(world: World) -> None:
    note = world.save("Tea", "The tea is served at four.", by=agent("shared"))
    set_policy(world, "shared=people")
    for call in (
        lambda: world.save("Fish", "The fish comes at six.", project="shared"),
        lambda: world.correct(note, "The tea is served at five.", "amend"),
        lambda: world.forget(note.id),
        lambda: world.save("Fish", "The fish comes at six.", by=agent("shared")),
    ):
        with pytest.raises(Denied):
            call()
    shown = world.service.scopes(agent())
    assert (shown.reads, shown.writes) == (
        ["personal/heron", "personal/shared"],
        ["personal/heron"],
    )
    assert world.service.scopes(agent("shared")).role == "reader"
    assert world.ids("tea served") == [note.id]
    assert world.save("Own", "The heron is late.").outcome == "created"
    assert world.save("Fish", "The fish comes at six.", by=human("shared")).outcome == "created"
    set_policy(world, "shared=agent:curator")
    curator = agent(name="curator")
    assert curator.principal.kind is PrincipalKind.AGENT
    reply = world.save("Bread", "The bread comes at seven.", project="shared", by=curator)
    assert reply.scope == "personal/shared"


def test_secrets_can_be_let_through_by_a_vaults_own_rule(world: World) -> None:
    text = f"The token is {TOKEN} for now."
    with pytest.raises(SecretFound):
        world.save("Token", text)
    world.write("heron/token.md", text)
    assert world.ids("token for now") == []
    set_policy(world, "secrets=off")
    assert world.save("Token", text).outcome == "created"
    assert len(world.ids("token for now")) == 1


def test_the_longest_note_is_the_policys_for_verbs_and_files(world: World) -> None:
    set_policy(world, "max_note=200")
    long = "The heron stands in the reeds. " * 10
    with pytest.raises(InvalidInput):
        world.save("Long", long)
    note = world.save("Short", "The osprey dives.")
    with pytest.raises(InvalidInput):
        world.correct(note, long, "amend")
    world.write("heron/long.md", long)
    assert world.ids("heron reeds") == []
    (item,) = world.service.reviews(human())
    assert item["detail"]["why"] == "too_long"  # type: ignore[index, call-overload] # JSON
    assert world.ids("osprey dives") == [note.id]
    file = world.file(note.path)
    file.write_text(f"{file.read_text()}\nIt dives at noon.\n")
    assert len(file.read_text()) > 200
    assert world.ids("osprey dives at noon") == [note.id]


def test_private_parts_are_left_out_of_what_is_saved(world: World) -> None:
    reply = world.save("Host", "The host is marsh.\n<private>Its door code is suncode.</private>\n")
    assert "<private>" in reply.notice
    assert "suncode" not in world.file(reply.path).read_text()
    assert world.ids("host marsh") == [reply.id]
    assert world.ids("door code suncode") == []
    world.correct(reply, "The host is fen. <PRIVATE>Code mooncode</PRIVATE> It hums.", "amend")
    (hit,) = world.hits("host fen hums", detail="full")
    assert "mooncode" not in hit.text
    for body, told in (
        ("All <private>of it is never closed.", "never closes"),
        ("<private>only this</private>", "private"),
    ):
        with pytest.raises(InvalidInput, match=told):
            world.save("Host two", body)
    with world.service._database.read() as connection:
        dump = "\n".join(connection.connection.iterdump())
    assert "The host is fen" in dump
    assert "mooncode" not in dump


@pytest.mark.guarantee("W1")
def test_a_file_with_a_private_part_is_withheld(world: World) -> None:
    world.write("heron/host.md", "The host is marsh.\n\n<private>Its code is 4711.</private>\n")
    world.write("heron/fine.md", "The host is hummed at by fen.\n")
    assert [hit.path for hit in world.hits("host")] == ["heron/fine.md"]
    (item,) = world.service.reviews(human())
    assert item["detail"]["why"] == "private_block"  # type: ignore[index, call-overload] # JSON


def test_what_stands_above_a_files_text_does_not_count_as_its_length(world: World) -> None:
    set_policy(world, "max_note=200")
    note = world.save("Heron", "The heron stands still. " * 8, tags=("bird",) * 20)
    path = world.file(note.path)
    assert len(path.read_text("utf-8")) > 400
    path.write_text(path.read_text("utf-8").replace("still", "there"), "utf-8")
    (hit,) = world.hits("heron stands there")
    assert (hit.version, hit.status) == (2, "active")
    path.write_text(path.read_text("utf-8") + "The heron flies. " * 8, "utf-8")
    assert world.ids("heron") == []


def test_derived_notes_are_retracted_within_the_policy_or_none_is(world: World) -> None:
    note = world.save("Host", "The host is marsh.", by=human())
    first = world.save("Digest", "Marsh hums.", by=human(), source=("[[host]]",))
    last = world.save("Notice", "Marsh, all.", by=human(), source=("[[host]]",), project="shared")
    there = {note.id, first.id, last.id}
    set_policy(world, "write_budget=2")
    with pytest.raises(OverBudget):
        world.forget(note.id, derived=True)
    assert set(world.ids("marsh")) == there
    set_policy(world, "write_budget=3", "shared=people")
    with pytest.raises(Denied):
        world.forget(note.id, derived=True)
    assert set(world.ids("marsh")) == there
    set_policy(world, "shared=all")
    assert len(world.forget(note.id, derived=True).derived) == 2
    assert world.ids("marsh") == []
