"""Among very many notes not every passage is compared; what is found is the same."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from memsvc.index import reader, vectors
from memsvc.index.vectors import FAR
from memsvc.model.requests import RecallRequest
from memsvc.model.vocabulary import Status
from memsvc.service.recall.tuning import DEFAULT
from tests.fakes import FakeEmbedder
from tests.service.recalling import Desk
from tests.unit.index.place import reading, scope

WORDS = """
    falcon tower reed heron mast rope sail tide crane quay buoy chart anchor deck engine fuel
    harbour island journal kelp lantern mooring night ocean pier quarter rudder storm tug wave
"""


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    desk = Desk(tmp_path / "memsvc.db", embedder=FakeEmbedder())
    chance = np.random.default_rng(5)
    for number in range(120):
        body = "\n\n".join(
            " ".join(chance.choice(WORDS.split(), 12)) + "." for _ in range(number % 4 + 1)
        )
        links = (f"N{(number * 7) % 120}",)
        replaced = number % 10 == 3
        desk.place.put(
            f"N{number}",
            body,
            title=" ".join(chance.choice(WORDS.split(), 2)),
            links=links,
            status=Status.SUPERSEDED if replaced else Status.ACTIVE,
            superseded_by=f"N{number + 1}" if replaced else "",
        )
    return desk


def found(desk: Desk, query: str, **more: object) -> list[tuple[str, float, str]]:
    """With few candidates, as they are few beside all that is compared among very many."""
    request = RecallRequest(query=query, k=10, budget=20_000, explain=True, **more)  # type: ignore[arg-type] # passed on
    tuning = replace(DEFAULT, candidates=6)
    reply = desk.recall.recall(reading(scope()), request, tuning=tuning)
    return [(hit.id, round(hit.score, 3), str(hit.explain["via"])) for hit in reply.hits[:3]]


QUERIES = ("falcon on the tower", "storm rudder wave", "lantern kelp", "mooring chart at night")


def test_the_first_answers_are_those_of_comparing_everything(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = {query: found(desk, query) for query in QUERIES}
    history = found(desk, QUERIES[0], history=True)
    compared: list[int] = []
    real = vectors._likely

    def counted(*args: object) -> object:
        result = real(*args)  # type: ignore[arg-type] # passed on
        compared.append(len(result))
        return result

    monkeypatch.setattr(vectors, "_likely", counted)
    monkeypatch.setattr(vectors, "EXACT", 50)
    monkeypatch.setattr(vectors, "NEAR", 90)
    assert {query: found(desk, query) for query in QUERIES} == exact
    assert found(desk, QUERIES[0], history=True) == history
    assert all(exact.values())
    assert len(compared) == len(QUERIES) + 1
    assert all(90 <= some < 250 for some in compared)


def test_what_links_or_successors_lead_to_is_compared_after_all(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    real = reader.closer

    def counted(*args: object, **more: object) -> object:
        result = real(*args, **more)  # type: ignore[arg-type] # passed on
        asked.extend(result)
        return result

    monkeypatch.setattr(reader, "closer", counted)
    monkeypatch.setattr(vectors, "EXACT", 50)
    monkeypatch.setattr(vectors, "NEAR", 12)
    for query in QUERIES:
        reply = desk.ask(query, k=50, budget=20_000, explain=True)
        assert reply.hits
        assert all(float(str(hit.explain["close"])) > float(FAR) + 0.5 for hit in reply.hits)
    assert asked
