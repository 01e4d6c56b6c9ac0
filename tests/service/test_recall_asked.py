"""What becomes of a question before anything is looked for: read by the model, or by words alone."""

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from memsvc.embedding.protocol import Reading
from memsvc.errors import InvalidInput, ModelUnavailable
from memsvc.model.requests import RecallRequest
from memsvc.service.recall.board import TIED
from memsvc.service.recall.tuning import Tuning
from tests.fakes import FakeEmbedder
from tests.service.recalling import Desk
from tests.unit.index.place import reading, scope

BODY = "The falcon nests in the tower."


class _Counting(FakeEmbedder):
    """An embedder that keeps the questions it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def read_query(self, text: str) -> Reading:
        self.asked.append(text)
        return super().read_query(text)

    def read_passages(self, texts: Sequence[str]) -> list[Reading]:
        plain = FakeEmbedder()
        return [plain.read_query(text) for text in texts]


class _Failing(_Counting):
    """An embedder that fails at every question."""

    def read_query(self, text: str) -> Reading:
        raise ModelUnavailable(f"the model's process ended at {len(text)} characters")


@pytest.fixture
def counting(tmp_path: Path) -> tuple[Desk, _Counting]:
    embedder = _Counting()
    desk = Desk(tmp_path / "memsvc.db", embedder=embedder)
    desk.place.put("TOWER", BODY)
    return desk, embedder


def test_a_question_without_words_costs_no_reading(counting: tuple[Desk, _Counting]) -> None:
    desk, embedder = counting
    for query in ("", "???", "what is it"):
        assert desk.ids(query) == []
    assert embedder.asked == []
    assert desk.ids("where does the falcon nest") == ["TOWER"]
    assert embedder.asked == ["where does the falcon nest"]


def test_a_recall_that_is_told_to_leave_the_model_out_reads_nothing_with_it(
    counting: tuple[Desk, _Counting],
) -> None:
    desk, embedder = counting
    request = RecallRequest(query="where does the falcon nest")
    found = desk.recall.recall(reading(scope()), request, tuning=Tuning(vector=False))
    assert [hit.id for hit in found.hits] == ["TOWER"]
    assert embedder.asked == []
    desk.recall.recall(reading(scope()), request)
    assert len(embedder.asked) == 1


def test_a_model_that_fails_at_the_question_leaves_the_words(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "memsvc.db", embedder=_Failing())
    desk.place.put("TOWER", BODY)
    reply = desk.ask("where does the falcon nest")
    assert [hit.id for hit in reply.hits] == ["TOWER"]
    assert reply.coverage.arms["lexical"] == "ran"
    assert reply.coverage.arms["vector"].startswith("off")
    assert reply.coverage.without_vector == 1


def test_a_reply_tells_how_long_it_took(counting: tuple[Desk, _Counting]) -> None:
    desk, _ = counting
    begun = time.perf_counter()
    request = RecallRequest(query="falcon", explain=True)
    reply = desk.recall.recall(reading(scope()), request)
    took = (time.perf_counter() - begun) * 1000
    assert 0 < reply.took_ms <= took + 0.01


def test_of_very_many_equal_notes_the_same_few_are_looked_at(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "memsvc.db")
    for number in reversed(range(30)):
        desk.place.put(f"N{number:02}", f"The falcon number {number} nests.", title="Falcon")
    request = RecallRequest(query="falcon nests", k=50)
    few = desk.recall.recall(reading(scope()), request, tuning=Tuning(candidates=2))
    assert [hit.id for hit in few.hits] == [f"N{number:02}" for number in range(2 * TIED)]
    assert len(desk.ids("falcon nests", k=50)) == 30


def test_a_question_that_is_nothing_but_a_name_finds_the_note_of_that_name(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "memsvc.db")
    desk.place.put("PLAN", "The kestrel tower and its kestrel.", title="Kestrel tower plan")
    desk.place.put("TOWER", "It is old, and nobody goes there.", title="Kestrel tower")
    for number in range(6):
        desk.place.put(f"X{number}", f"A wall of stone, number {number}.", title=f"Wall {number}")
    assert desk.ids("kestrel tower")[0] == "TOWER"
    assert desk.ids("kestrel tower plan")[0] == "PLAN"


@pytest.mark.parametrize("blank", ["", "  ", "\n"])
def test_a_blank_argument_asks_for_nothing(counting: tuple[Desk, _Counting], blank: str) -> None:
    desk, _ = counting
    assert desk.ids("falcon", as_of=blank, known_at=blank, min_trust=blank) == ["TOWER"]
    with pytest.raises(InvalidInput):
        desk.ids("falcon", as_of=f"{blank}soon")
