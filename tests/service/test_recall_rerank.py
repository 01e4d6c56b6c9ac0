"""The optional reranker orders hits, and its absence is told and harms nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memsvc.embedding.protocol import Reranker
from memsvc.errors import ModelUnavailable
from memsvc.model.vocabulary import Status
from memsvc.service.recall import Recall
from tests.service.recalling import Desk


@dataclass
class Liking:
    """A reranker that likes texts with a word in them."""

    word: str
    fails: bool = False
    wanted: bool = True
    problem: str = ""
    model_id: str = "liking@1"
    asked: list[str] = field(default_factory=list)

    def get(self) -> Reranker | None:
        return None if self.problem else self

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.fails:
            raise ModelUnavailable("it fell over")
        self.asked.append(query)
        return np.array([float(self.word in text) for text in texts], dtype=np.float32)


def desk_with(tmp_path: Path, reranker: Liking) -> Desk:
    desk = Desk(tmp_path / "memsvc.db")
    desk.recall = Recall(
        database=desk.place.database, embedder=desk.lazy, clock=desk.clock, reranker=reranker
    )
    desk.place.put("A", "The falcon nests on the tower.", title="Falcon")
    desk.place.put("B", "The falcon eats marmalade.")
    desk.place.put(
        "OLD", "The falcon nests on marmalade.", title="Falcon then",
        status=Status.SUPERSEDED, superseded_by="A", valid_to="2026-02-01T00:00:00.000000Z",
        ended_at="2026-02-01T00:00:00.000000Z", end_mode="superseded",
    )  # fmt: skip
    return desk


def test_a_reranker_orders_the_hits_and_keeps_what_was_replaced_behind(tmp_path: Path) -> None:
    liking = Liking("marmalade")
    desk = desk_with(tmp_path, liking)
    reply = desk.ask("falcon", history=True)
    assert [hit.id for hit in reply.hits] == ["B", "A", "OLD"]
    assert reply.coverage.arms["rerank"] == "ran"
    assert liking.asked == ["falcon"]
    liking.wanted = False
    plain = desk.ask("falcon", history=True)
    assert "rerank" not in plain.coverage.arms
    assert {hit.id for hit in plain.hits} == {"A", "B", "OLD"}
    assert plain.hits[0].id != "B"


@pytest.mark.parametrize("broken", [{"fails": True}, {"problem": "it was not fetched"}])
def test_a_reranker_that_cannot_run_is_told_of_and_the_hits_stay(
    tmp_path: Path, broken: dict[str, object]
) -> None:
    desk = desk_with(tmp_path, Liking("marmalade", **broken))  # type: ignore[arg-type] # passed on
    reply = desk.ask("falcon")
    assert [hit.id for hit in reply.hits] == ["A", "B"]
    assert reply.coverage.arms["rerank"].startswith("off: ")
    assert "rerank search is off" in desk.text("falcon")
