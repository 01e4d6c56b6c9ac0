"""Notes whose rows in the index are behind the ledger, put right one by one."""

from pathlib import Path

import pytest
from sqlalchemy import text

from memsvc.ledger import registry
from memsvc.model.requests import DecisionRequest
from memsvc.model.vocabulary import Disposition, VaultName
from memsvc.service.gateway.indexing import index_version
from memsvc.service.gateway.mending import Answer, not_borne_out
from tests.service.world import World, human

PERSONAL = VaultName("personal")
HOST = "The staging host is called marsh."


def indexed(world: World, note_id: str) -> int:
    """How many versions of the note the index holds."""
    with world.service._database.read() as connection:
        wanted = text("SELECT count(*) FROM index_entry WHERE note_id = :note_id")
        return int(connection.execute(wanted, {"note_id": note_id}).scalar_one())


def drop(world: World, note_id: str) -> None:
    """Take a note out of the index alone."""
    from memsvc.index import writer

    with world.service._database.write() as connection:
        writer.remove_note(connection, note_id)


def test_a_note_is_put_back_and_one_that_is_gone_taken_out(world: World, tmp_path: Path) -> None:
    (tmp_path / "team").mkdir()
    world.service.vault_add(human(), "team", str(tmp_path / "team"), {})
    lost, gone = world.save("Host", HOST), world.save("Port", "The port is 4711 on staging.")
    elsewhere = world.save("Team host", "The team's host is fen.", by=human(vault="team"))
    world.forget(gone.id, by=human())
    world.service.vault_policy(human(), "personal", ["review=agents"])
    turned_down = world.save("Gate", "The gate opens at seven each day.")
    (item,) = world.service.reviews(human())
    request = DecisionRequest(id=str(item["review_id"]), disposition=Disposition.KEEP_OLD)
    world.service.decide(human(), request)
    for one in (lost, elsewhere):
        assert indexed(world, one.id) > 0
        drop(world, one.id)
    world.service._gateway.mend_index(PERSONAL, [lost.id, gone.id, turned_down.id])
    world.service._gateway.mend_index(PERSONAL, [elsewhere.id, "01NOBODY"])
    assert indexed(world, lost.id) > 0
    assert indexed(world, gone.id) == indexed(world, turned_down.id) == 0
    assert indexed(world, elsewhere.id) == 0  # the other vault's lock was not held
    assert world.ids("staging host called") == [lost.id]


@pytest.mark.guarantee("C4")
def test_the_ledger_bears_out_what_stands_and_nothing_that_was_taken_back(world: World) -> None:
    changed = world.save("Host", HOST)
    world.correct(changed, "The staging host is called fen.", "changed")
    back = world.save("Port", "The port is 4711 on staging.")
    text_of = world.file(back.path).read_text("utf-8")
    world.file(back.path).unlink()
    assert back.id not in world.ids("port staging 4711")
    world.file(back.path).write_text(text_of.replace("4711", "4712"), "utf-8")
    assert back.id in world.ids("port staging 4712")
    gone = world.save("Gate", "The gate opens at seven each day.")
    world.forget(gone.id)
    answers = [
        Answer(changed.id, 1), Answer(changed.id, 2, current=True), Answer(back.id, 2, current=True),
        Answer(gone.id, 1), Answer(back.id, 1), Answer("01NOBODY", 1),
    ]  # fmt: skip
    with world.service._database.read() as connection:
        assert not_borne_out(connection, answers[:3]) == []
        assert not_borne_out(connection, answers) == [gone.id, back.id, "01NOBODY"]


@pytest.mark.guarantee("C1")
def test_an_index_that_has_what_the_ledger_took_back_is_put_right_by_who_asks(world: World) -> None:
    kept, gone = world.save("Host", HOST), world.save("Fen", "The staging host is called fen.")
    with world.service._database.read() as connection:
        note = registry.find_note(connection, gone.id)
        version = registry.find_version(connection, gone.id, 1)
    assert note is not None
    assert version is not None
    world.forget(gone.id, by=human())
    with world.service._database.write() as connection:
        index_version(connection, version, note)  # as an index from a copy has it
    assert indexed(world, gone.id) == 1
    reply = world.ask("staging host called")
    assert [hit.id for hit in reply.hits] == [kept.id]
    assert not any("changing just now" in one for one in reply.coverage.notices)
    assert indexed(world, gone.id) == 0
