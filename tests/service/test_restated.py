"""The guard against paraphrases of rejected claims, with the packaged model, through each door."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from bench.negatives.model import packaged
from memsvc.bootstrap import open_service
from memsvc.embedding.loader import LazyEmbedder
from memsvc.embedding.protocol import Embedder
from memsvc.index import rejections
from memsvc.index.schema import rejections as table
from memsvc.model.identity import Scope
from memsvc.model.replies import Json
from memsvc.model.requests import DecisionRequest
from memsvc.model.vocabulary import Disposition, ProjectSlug, VaultName
from memsvc.service.api import MemoryService
from memsvc.service.gateway.files import scan
from memsvc.settings import Settings
from tests.service.test_import import bring, counts, export, file_of
from tests.service.world import World, agent, human

CLAIM = "The staging database is backed up every night by Marek at 03:30."
AGAIN = "Every night at 03:30 Marek makes a backup of the staging database."
NEIGHBOURS = (
    "Every night at 04:30 Marek makes a backup of the staging database.",
    "Every night at 03:30 Priya makes a backup of the staging database.",
    "Marek never makes a backup of the staging database at 03:30 in the night.",
)
SCOPE = Scope(VaultName("personal"), ProjectSlug("heron"))


class Meaning(World):
    """A world whose service has the packaged model loaded, or none."""

    embedder_of: LazyEmbedder

    def open(self) -> MemoryService:
        settings = Settings.model_validate({"home": self.root / "home"})
        service = open_service(settings, embedder=self.embedder_of)
        service.ensure_ready()
        return service


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LazyEmbedder:
    return packaged(tmp_path_factory.mktemp("models"))


@pytest.fixture
def world(tmp_path: Path, model: LazyEmbedder) -> Iterator[Meaning]:
    Meaning.embedder_of = model
    made = Meaning(tmp_path)
    yield made
    made.service.close()


def rejected(world: World, claim: str = CLAIM) -> str:
    """A note that states the claim among other things, forgotten; its id."""
    note = world.save("Backups", f"- {claim}\n- The line above has {len(claim)} letters.\n")
    assert note.outcome == "created"
    world.forget(note.id, reason="it was never set up")
    return note.id


def items(world: World) -> list[dict[str, Json]]:
    return world.service.reviews(human())


@pytest.mark.guarantee("C2")
def test_a_paraphrase_of_a_rejected_claim_waits_for_a_person_and_neighbours_are_stored(
    world: Meaning,
) -> None:
    old = rejected(world)
    reply = world.save("Staging", f"It is Tuesday today. {AGAIN}")
    assert reply.outcome == "proposed"
    assert old in reply.notice
    (item,) = items(world)
    assert (item["kind"], item["note_id"]) == ("restatement", reply.id)
    named = [one["tombstone_id"] for one in world.service.tombstones(human())]
    assert any(str(one) in reply.notice for one in named)
    assert reply.id not in world.ids(AGAIN)
    assert AGAIN not in str(item)
    for number, neighbour in enumerate(NEIGHBOURS):
        stored = world.save(f"Staging {number}", neighbour)
        assert stored.outcome == "created"
        assert stored.id in world.ids(neighbour)


def test_a_person_who_approves_the_paraphrase_has_it_recalled(world: Meaning) -> None:
    rejected(world)
    reply = world.save("Staging", AGAIN)
    (item,) = items(world)
    request = DecisionRequest(id=str(item["review_id"]), disposition=Disposition.KEEP_NEW)
    world.service.decide(human(), request)
    assert items(world) == []
    assert reply.id in world.ids(AGAIN)


@pytest.mark.parametrize("after", ["at once", "reindex", "restart"])
def test_the_guard_knows_what_was_rejected_after(world: Meaning, after: str) -> None:
    rejected(world)
    if after == "reindex":
        world.service.reindex(human())
    if after == "restart":
        world.restart()
    assert world.save("Staging", AGAIN).outcome == "proposed"
    assert world.save("Staging", NEIGHBOURS[0]).outcome == "created"


def test_a_correction_that_restates_waits_and_the_note_stays(world: Meaning) -> None:
    rejected(world)
    note = world.save("Staging", "The staging database is small.")
    held = world.correct(note, f"The staging database is small. {AGAIN}", "amend")
    assert held.outcome == "proposed"
    assert [item["kind"] for item in items(world)] == ["correction"]
    assert world.hits("staging database small")[0].version == note.version
    done = world.correct(note, f"The staging database is small. {NEIGHBOURS[0]}", "amend")
    assert done.outcome == "corrected"


def test_a_text_that_had_the_statement_before_may_be_amended(world: Meaning) -> None:
    note = world.save("Staging", AGAIN)
    assert note.outcome == "created"
    rejected(world)
    assert world.correct(note, f"{AGAIN} It takes an hour.", "amend").outcome == "corrected"
    assert world.save("Other", f"{AGAIN} It takes an hour.").outcome == "proposed"


def test_a_file_that_restates_is_withheld_until_its_text_is_another(world: Meaning) -> None:
    rejected(world)
    world.write("heron/near.md", NEIGHBOURS[0])
    world.write("heron/again.md", AGAIN)
    paths = [hit.path for hit in world.hits("backup of the staging database")]
    assert paths == ["heron/near.md"]
    (item,) = items(world)
    assert item["kind"] == "restatement"
    world.write("heron/again.md", NEIGHBOURS[1])
    paths = [hit.path for hit in world.hits("backup of the staging database")]
    assert sorted(paths) == ["heron/again.md", "heron/near.md"]
    assert items(world) == []


def test_another_scope_a_lifted_tombstone_and_a_missing_model_flag_nothing(
    world: Meaning, model: LazyEmbedder
) -> None:
    rejected(world)
    assert world.save("Staging", AGAIN, by=agent("osprey")).outcome == "created"
    world.embedder_of = LazyEmbedder.off()
    world.restart()
    blind = world.save("Staging", AGAIN)
    assert blind.outcome == "created"
    world.embedder_of = model
    world.restart()
    other = "At 03:30 a backup of the staging database is made by Marek every night."
    assert world.save("Again", other).outcome == "proposed"
    for one in world.service.tombstones(human()):
        world.service.lift(human(), tombstone_id=str(one["tombstone_id"]), reason="it was true")
    assert world.save("Once more", f"{other} So it is.").outcome == "created"


def test_what_a_note_was_corrected_to_may_be_said_again_in_other_words(world: Meaning) -> None:
    note = world.save("Cache", "The session cache lives in memory.")
    world.correct(note, "The session cache lives on disk.", "wrong")
    assert world.save("Where", "The session cache is kept on a disk.").outcome == "created"
    assert world.save("There", "Sessions are cached in memory.").outcome == "proposed"


def test_a_forgotten_passage_inside_a_sentence_is_known_by_its_meaning(world: Meaning) -> None:
    note = world.save("Backups", f"Mind this: {CLAIM[:-1]}, says the wiki. More is not known.")
    world.forget(note.id, passage=CLAIM[:-1])
    assert world.save("Staging", AGAIN).outcome == "proposed"
    assert world.save("Staging 2", NEIGHBOURS[1]).outcome == "created"


def test_a_forgotten_passage_is_known_wherever_it_stood_in_a_long_sentence(world: Meaning) -> None:
    long = (
        "On a page about the old office in Bergen, which nobody has read since the move last winter, "
        f"somebody noted that {CLAIM[:-1]}, next to a picture of a boat, the lunch menu of the "
        "canteen and a list of birds that were seen from the roof."
    )
    note = world.save("Backups", f"{long} More is not known.")
    world.forget(note.id, passage=CLAIM[:-1])
    assert world.save("Staging", AGAIN).outcome == "proposed"
    assert world.save("Staging 2", NEIGHBOURS[1]).outcome == "created"


def test_vectors_of_rejected_claims_go_with_the_note_and_hold_no_text(world: Meaning) -> None:
    gone, kept = (
        rejected(world),
        rejected(world, "The Oslo office rents 14 bicycles to its guests."),
    )
    world.save("Anything", "Some text of four words.")
    database = world.service._database

    def notes() -> set[str]:
        with database.read() as connection:
            return set(connection.execute(select(table.c.note_id)).scalars())

    assert notes() == {gone, kept}
    assert set(table.c.keys()) == {"tombstone_id", "model_id", "scope_key", "note_id", "vector"}
    with database.write() as connection:
        rejections.forget(connection, [gone])
    assert notes() == {kept}


def test_what_the_ledger_no_longer_holds_is_not_read_again(world: Meaning) -> None:
    gone = rejected(world)
    database = world.service._database
    with database.write() as connection:
        rejections.forget(connection, [gone])
        connection.exec_driver_sql(
            "UPDATE note_version SET content = '', body_start = 0 WHERE note_id = ?", (gone,)
        )
    assert world.save("Staging", AGAIN).outcome == "created"
    with database.read() as connection:
        rows = connection.execute(select(table.c.vector)).scalars().all()
    assert rows
    assert set(rows) == {b""}


@pytest.mark.guarantee("C1")
def test_a_process_that_has_not_loaded_the_model_loads_it_where_something_is_rejected(
    world: Meaning, model: LazyEmbedder
) -> None:
    def loaded() -> Embedder:
        embedder = model.ready()
        assert embedder is not None
        return embedder

    def restart() -> LazyEmbedder:
        world.service.close()
        Meaning.embedder_of = LazyEmbedder(loaded)
        world.service = world.open()
        return Meaning.embedder_of

    assert restart().state == "idle"
    assert world.save("Tea", "The tea is served at four o'clock.").outcome == "created"
    world.write("heron/gate.md", "The gate opens at seven each day.\n")
    assert world.service.scan_all(human()) == 2
    assert Meaning.embedder_of.state == "idle"  # nothing is rejected: nothing to be read
    rejected(world)
    restart()
    assert world.save("Staging", AGAIN).outcome == "proposed"
    spare = world.save("Spare", "The spare database is small.")
    restart()
    assert world.correct(spare, AGAIN, "amend").outcome == "proposed"
    restart()
    world.write("heron/again.md", f"{AGAIN}\n")
    world.write("heron/near.md", f"{NEIGHBOURS[0]}\n")
    assert [hit.path for hit in world.hits("backup of the staging database")] == ["heron/near.md"]
    assert sorted(str(one["kind"]) for one in items(world)) == [
        "correction",
        "restatement",
        "restatement",
    ]


@pytest.mark.guarantee("C2")
@pytest.mark.parametrize("head", ["", "---\nstatus: proposed\n---\n"])
def test_a_paraphrase_in_an_import_is_named_as_one_also_if_it_waited_elsewhere(
    world: Meaning, tmp_path: Path, head: str
) -> None:
    rejected(world)
    folder = file_of(tmp_path / "notes", "a.md", f"{head}{AGAIN}\n").parent
    file_of(folder, "b.md", f"{NEIGHBOURS[0]}\n")
    assert counts(bring(world, folder)) == {"created": 1, "proposed": 1}
    (item,) = items(world)
    assert item["kind"] == "restatement"
    assert [hit.text for hit in world.hits("backup of the staging database")] == [NEIGHBOURS[0]]


@pytest.mark.guarantee("C1")
def test_a_paraphrase_among_many_files_that_come_at_once_waits_too(world: Meaning) -> None:
    rejected(world)
    for number in range(3 * scan.FEW):
        world.write(f"heron/a{number:02}.md", f"The falcon number {number} nests in the tower.\n")
    world.write("heron/again.md", f"{AGAIN}\n")
    world.write("heron/near.md", f"{NEIGHBOURS[0]}\n")
    world.service.scan_all(human())
    assert [hit.path for hit in world.hits("backup of the staging database")] == ["heron/near.md"]
    assert [str(one["kind"]) for one in items(world)] == ["restatement"]
    assert len(world.ids("falcon nests", k=50)) == 3 * scan.FEW


@pytest.mark.guarantee("C1")
@pytest.mark.parametrize("door", ["recall", "scan", "export", "import"])
def test_what_came_by_file_while_no_process_ran_is_read_by_the_model_first(
    world: Meaning, model: LazyEmbedder, tmp_path: Path, door: str
) -> None:
    rejected(world)
    world.service.close()
    world.write("heron/again.md", f"{AGAIN}\n")
    world.write("heron/near.md", f"{NEIGHBOURS[0]}\n")
    go = threading.Event()

    def slow() -> Embedder:
        assert go.wait(60)
        embedder = model.ready()
        assert embedder is not None
        return embedder

    Meaning.embedder_of = LazyEmbedder(slow)
    world.service = world.open()
    if door == "recall":
        world.service.start_background()
        threading.Timer(0.3, go.set).start()
        assert len(world.ids("backup of the staging database")) == 1
    else:
        go.set()
        if door == "scan":
            assert world.service.scan_all(human()) >= 2
        elif door == "export":
            export(world, tmp_path / "out.json")
            text = (tmp_path / "out.json").read_text("utf-8")
            assert ("at 04:30" in text, "at 03:30" in text) == (True, False)
        else:
            folder = file_of(tmp_path / "notes", "tea.md", "The tea is served at four.\n").parent
            assert counts(bring(world, folder)) == {"created": 1}
    assert [str(one["kind"]) for one in items(world)] == ["restatement"]
    assert [hit.path for hit in world.hits("backup of the staging database")] == ["heron/near.md"]


@pytest.mark.guarantee("C1", "S2")
def test_a_file_is_compared_with_what_its_notes_own_project_rejected(
    world: Meaning, tmp_path: Path
) -> None:
    """In a mapped vault a note may be of a project that no folder has."""
    folder = tmp_path / "team"
    folder.mkdir()
    (folder / "old.md").write_text("An old note of everybody.\n", "utf-8")
    world.service.vault_add(human(), "team", str(folder), {})
    heron, osprey = agent(vault="team"), agent("osprey", vault="team")
    for caller in (heron, osprey):
        note = world.save(
            "Backups", f"- {CLAIM}\n- It is line two of {caller.project}.\n", by=caller
        )
        if caller is heron:
            world.forget(note.id, by=caller)
    saved = {
        str(caller.project): world.save("Staging", "The staging database is small.", by=caller)
        for caller in (heron, osprey)
    }
    for reply in saved.values():
        place = folder / reply.path
        text = place.read_text("utf-8").replace("The staging database is small.", AGAIN)
        place.write_text(text, "utf-8")
    asked = "backup of the staging database every night"
    assert saved["heron"].id not in world.ids(asked, by=heron)
    assert saved["osprey"].id in world.ids(asked, by=osprey)
    found = world.service.reviews(human(vault="team"))
    assert [(one["kind"], one["note_id"]) for one in found] == [("restatement", saved["heron"].id)]
