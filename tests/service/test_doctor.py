"""What the doctor finds: each check is fine in a sound home, and says what is wrong in one that is not."""

import os
from pathlib import Path

import pytest

from memsvc.ledger import writer as ledger
from memsvc.model.vocabulary import Trust, VaultName
from memsvc.service.gateway.drafts import sha
from tests.invariants.vandal import behind_the_back
from tests.service.world import World, agent, human


def found(world: World) -> dict[str, tuple[str, str]]:
    """By check, its state and what it says."""
    return {
        str(one["check"]): (str(one["state"]), str(one["detail"]))
        for one in world.service.doctor(human())
    }


def states(world: World) -> dict[str, str]:
    return {check: state for check, (state, _) in found(world).items()}


def test_a_sound_home_is_fine_but_for_the_anchor_that_it_lacks(world: World) -> None:
    note = world.save("Host", "The staging host is called marsh.")
    assert states(world) == {
        "audit chain": "ok",
        "audit anchors": "warn",
        "file changes owed": "ok",
        "review": "ok",
        "tombstone keys": "ok",
        "vault personal": "ok",
    }
    world.service.audit_anchor(human())
    world.forget(note.id)
    fine = found(world)
    assert fine["tombstone keys"] == ("ok", "1 keys")
    assert fine["audit anchors"][0] == "ok"
    assert fine["audit anchors"][1].startswith("newest at event ")
    assert fine["audit chain"] == ("ok", f"{len(world.service.audit_list(human()).events)} events")


def test_a_lost_or_damaged_key_file_is_told_once_something_was_rejected(world: World) -> None:
    note = world.save("Host", "The staging host is called marsh.")
    keys = world.root / "home" / "tombstone.keys"
    world.forget(note.id)
    kept = keys.read_bytes()
    keys.unlink()
    assert found(world)["tombstone keys"] == ("fail", "tombstone.keys is missing from the home")
    keys.write_bytes(b"{}")
    assert states(world)["tombstone keys"] == "fail"
    keys.write_bytes(kept)
    assert states(world)["tombstone keys"] == "ok"


def test_an_edited_event_fails_the_chain(world: World) -> None:
    world.save("Host", "The staging host is called marsh.")
    assert states(world)["audit chain"] == "ok"
    with behind_the_back(world.root / "home" / "memsvc.db") as raw:
        raw.execute("UPDATE audit_event SET actor_name = 'mallory' WHERE action = 'save'")
    assert states(world)["audit chain"] == "fail"


def test_what_waits_or_is_owed_is_a_warning_with_its_number(world: World) -> None:
    world.service.vault_policy(human(), "personal", ["review=agents"])
    note = world.save("Host", "The staging host is called marsh.")
    assert found(world)["review"] == ("warn", "1 items wait for a person")
    assert found(world)["file changes owed"] == ("ok", "0")
    data = world.file(note.path).read_bytes()
    os.utime(world.file(note.path), (1e9, 1e9))  # long ago, so that nobody looks at it twice
    world.service.scan_all(human())
    with world.service._database.write() as connection:
        ledger.add_operation(
            connection,
            vault=VaultName("personal"),
            kind="write",
            path=note.path,
            target="",
            note_id=note.id,
            version=1,
            before_hash=sha(data),
            after_hash=sha(data),
            event_seq=1,
            at=world.service._clock.now(),
        )
    with world.service._gateway._parts.locked(VaultName("personal")):
        assert found_elsewhere(world) == ("warn", "1")
    assert found(world)["file changes owed"] == ("ok", "0")


def found_elsewhere(world: World) -> tuple[str, str]:
    """What another process is told of owed changes while this one is at work."""
    other = world.open()
    try:
        states = {str(one["check"]): one for one in other.doctor(human())}
        return str(states["file changes owed"]["state"]), str(states["file changes owed"]["detail"])
    finally:
        other.close()


def test_a_vault_that_is_away_and_a_file_that_cannot_be_read_are_named(world: World) -> None:
    world.write("heron/odd.md", "---\na: [1\n---\nThe staging host is called marsh.\n")
    assert len(world.ids("staging host")) == 1
    broken = found(world)["file"]
    assert (broken[0], broken[1].startswith("heron/odd.md: ")) == ("warn", True)
    aside = world.root / "aside"
    world.vault.rename(aside)
    away = found(world)
    assert away["vault personal"] == ("fail", "its folder cannot be read")
    assert away["vault"][0] == "fail"
    aside.rename(world.vault)
    assert "vault" not in found(world)


@pytest.mark.guarantee("S1", "S2")
def test_scopes_say_what_a_caller_may_read_and_write(tmp_path: Path) -> None:
    world = World(tmp_path)
    note = world.save("Host", "The staging host is called marsh.")
    world.save("Osprey", "The osprey host is called fen.", by=agent("osprey"))
    mine = world.service.scopes(agent())
    assert (mine.reads, mine.writes, mine.role) == (
        ["personal/heron", "personal/shared"],
        ["personal/heron", "personal/shared"],
        "writer",
    )
    assert (mine.notes, mine.index["waiting"]) == (1, 0)
    assert world.service.scopes(human()).role == "admin"
    world.service.vault_policy(human(), "personal", ["shared=people"])
    assert world.service.scopes(agent()).writes == ["personal/heron"]
    assert world.service.scopes(agent("shared")).role == "reader"
    assert world.service.scopes(human()).writes == ["personal/heron", "personal/shared"]
    assert note.id in world.ids("staging host")
    assert Trust.AGENT.value == world.hits("staging host")[0].trust
    world.service.close()
