"""A recall over an index that tests fill themselves, with a clock and an embedder they control."""

from dataclasses import replace
from pathlib import Path

from memsvc.embedding.loader import LazyEmbedder
from memsvc.model.identity import Scope
from memsvc.model.replies import RecallReply
from memsvc.model.requests import RecallRequest
from memsvc.service.recall import Recall
from memsvc.service.recall.render import render_recall
from tests.fakes import FakeEmbedder, FixedClock
from tests.unit.index.place import Place, reading, scope

__all__ = ["Desk"]


class Desk:
    """Asks what was put into `place`."""

    def __init__(self, path: Path, *, embedder: FakeEmbedder | None = None) -> None:
        self.place = Place(path, embedder=embedder)
        self.clock = FixedClock()
        self.lazy = LazyEmbedder.of(embedder) if embedder else LazyEmbedder.off()
        self.recall = Recall(database=self.place.database, embedder=self.lazy, clock=self.clock)

    def ask(self, query: str, *scopes: Scope, **more: object) -> RecallReply:
        request = RecallRequest(query=query, **more)  # type: ignore[arg-type] # passed on
        reply = self.recall.recall(reading(*(scopes or (scope(),))), request)
        return replace(reply, took_ms=0.0)

    def ids(self, query: str, *scopes: Scope, **more: object) -> list[str]:
        return [hit.id for hit in self.ask(query, *scopes, **more).hits]

    def text(self, query: str, *scopes: Scope, **more: object) -> str:
        return render_recall(self.ask(query, *scopes, **more))
