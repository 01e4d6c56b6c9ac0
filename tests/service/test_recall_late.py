"""The closer look: sentences, tokens and links decide, and never reach outside the scope."""

from pathlib import Path

import pytest

from memsvc.index.detail_reader import details_of
from memsvc.model.requests import RecallRequest
from memsvc.service.recall.tuning import DEFAULT, Tuning
from tests.fakes import FakeEmbedder
from tests.service.recalling import Desk
from tests.unit.index.place import reading, scope

FILLER = "Minutes were taken and tea was served to all who came. "


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "memsvc.db", embedder=FakeEmbedder(synonyms=[("boat", "ship")]))


def ids(desk: Desk, query: str, tuning: Tuning) -> list[str]:
    reply = desk.recall.recall(reading(scope()), RecallRequest(query=query), tuning=tuning)
    return [hit.id for hit in reply.hits]


def test_one_fitting_sentence_beats_a_passage_that_is_vaguely_about_it(desk: Desk) -> None:
    desk.place.put("LONG", f"{FILLER}The ship carries grain. {FILLER}", title="Monday")
    desk.place.put("VAGUE", "The grain, tea, minutes and a carrier.", title="Tuesday")
    query = "which boat carries the grain"
    assert ids(desk, query, DEFAULT)[0] == "LONG"


def test_a_neighbour_answers_what_its_leader_leaves_open(desk: Desk) -> None:
    desk.place.put(
        "TOOL", "Wickline is kept by the harbour crew.", title="Wickline", links=("CREW",)
    )
    desk.place.put("CREW", "The harbour crew sits in Oslo.", title="Harbour crew")
    for number in range(6):
        desk.place.put(f"X{number}", f"The crew number {number} kept tools in town {number}.")
    query = "in which place sits whoever keeps Wickline"
    assert ids(desk, query, DEFAULT)[:2] == ["TOOL", "CREW"]
    assert "CREW" not in ids(desk, query, Tuning(links=False))[:2]


@pytest.mark.guarantee("S1")
def test_details_of_another_scope_are_never_read(desk: Desk) -> None:
    mine = desk.place.put("M", "The falcon nests here.")[0].chunk_id
    other = desk.place.put("O", "The falcon nests there.", project="osprey")[0].chunk_id
    assert desk.place.embedder is not None
    model_id = desk.place.embedder.model_id
    with desk.place.database.read() as connection:
        both = [mine, other]
        assert set(details_of(reading(scope()), connection, both, model_id=model_id)) == {mine}
        assert set(details_of(reading(scope("osprey")), connection, both, model_id=model_id)) == {
            other
        }
        assert details_of(reading(scope()), connection, both, model_id="another") == {}


def test_notes_that_say_the_same_count_once_and_a_number_makes_them_differ(desk: Desk) -> None:
    desk.place.put("A", "The deploy port of heron is 6544.", title="Deploy port")
    desk.place.put("B", "The deploy port of  heron is 6544.", title="Port of deploy")
    desk.place.put("C", "The deploy port of heron is 5433.", title="Old port")
    reply = desk.ask("deploy port of heron")
    assert {hit.id for hit in reply.hits} in ({"A", "C"}, {"B", "C"})
    folded = next(hit for hit in reply.hits if hit.id != "C")
    assert {folded.id, *folded.same_as} == {"A", "B"}
    assert set(ids(desk, "deploy port of heron", Tuning(collapse=False))) == {"A", "B", "C"}


def test_a_note_that_ran_out_is_told_beside_one_that_says_the_same_today(desk: Desk) -> None:
    then = "2026-02-01T00:00:00.000000Z"
    desk.place.put("NOW", "The deploy port of heron is 6544.", title="Deploy port")
    desk.place.put("THEN", "The deploy port of heron is 6544.", title="Deploy port", valid_to=then)
    reply = desk.ask("deploy port of heron", history=True)
    assert [(hit.id, hit.current, hit.same_as) for hit in reply.hits] == [
        ("NOW", True, []),
        ("THEN", False, []),
    ]
    assert desk.ids("deploy port of heron") == ["NOW"]


def test_a_neighbours_words_weigh_as_in_the_closer_look_where_there_is_one(desk: Desk) -> None:
    desk.place.put(
        "TOOL", "Wickline is kept by the harbour crew.", title="Wickline", links=("CREW",)
    )
    desk.place.put("CREW", "The harbour crew sits in Oslo.", title="Harbour crew")

    def scores(**tuning: float) -> dict[str, float]:
        request = RecallRequest(query="in which place sits whoever keeps Wickline")
        reply = desk.recall.recall(reading(scope()), request, tuning=Tuning(**tuning))  # type: ignore[arg-type] # passed on
        return {hit.id: round(hit.score, 4) for hit in reply.hits}

    usual = scores()
    assert set(usual) == {"TOOL", "CREW"}
    assert scores(words=0.8) == usual
    assert scores(words_late=0.4)["CREW"] > usual["CREW"]
