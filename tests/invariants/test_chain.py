"""The audit proves itself: whatever is done to the events behind memsvc's back is found."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from memsvc.model.requests import AuditRequest
from tests.service.world import World, human

DAMAGE = {
    "edited": ["UPDATE audit_event SET reason = 'other' WHERE seq = 2"],
    "edited detail": ["UPDATE audit_event SET detail = '{}' WHERE seq = 3"],
    "removed": ["DELETE FROM audit_event WHERE seq = 2"],
    "inserted": [
        (
            "INSERT INTO audit_event SELECT 9, at, action, outcome, vault, project, note_id, version, "
            "actor_kind, actor_name, on_behalf_of, client, session, request_id, reason, before_hash, "
            "after_hash, detail, prev_hash, hash FROM audit_event WHERE seq = 4"
        )
    ],
    "reordered": [
        "UPDATE audit_event SET seq = 99 WHERE seq = 2",
        "UPDATE audit_event SET seq = 2 WHERE seq = 3",
        "UPDATE audit_event SET seq = 3 WHERE seq = 99",
    ],
    "tail cut": ["DELETE FROM audit_event WHERE seq = (SELECT max(seq) FROM audit_event)"],
    "tail cut, counter reset": [
        "DELETE FROM audit_event WHERE seq = (SELECT max(seq) FROM audit_event)",
        "UPDATE sqlite_sequence SET seq = seq - 1 WHERE name = 'audit_event'",
    ],
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    for number in range(4):
        made.save(f"Note {number}", f"The statement number {number} is here.", reason="because")
    yield made
    made.service.close()


@pytest.mark.guarantee("A2")
@pytest.mark.parametrize("how", DAMAGE)
def test_damage_to_the_events_is_found(world: World, how: str) -> None:
    assert world.service.audit_verify()["ok"]
    raw = sqlite3.connect(world.root / "home" / "memsvc.db")
    raw.execute("DROP TRIGGER audit_event_no_update")
    raw.execute("DROP TRIGGER audit_event_no_delete")
    for statement in DAMAGE[how]:
        raw.execute(statement)
    raw.commit()
    raw.close()
    verdict = world.service.audit_verify()
    assert not verdict["ok"], how
    assert verdict["problems"]


@pytest.mark.guarantee("A1", "R4")
def test_every_write_is_an_event_with_who_and_what(world: World) -> None:
    note = world.save("Port", "The heron deploy port is 6544.", reason="setup", by=human())
    events = world.service.audit_list(human(), AuditRequest(id=note.id)).events
    (event,) = events
    assert (event.action, event.outcome, event.actor, event.reason) == (
        "save",
        "done",
        "human:alice",
        "setup",
    )
    assert event.seq == note.event
    hit = world.hits("deploy port")[0]
    assert (hit.id, hit.version, hit.author) == (note.id, 1, "human:alice")
