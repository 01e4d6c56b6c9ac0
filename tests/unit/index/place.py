"""An index on a real database, and scopes to read it with."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memsvc.database import Database
from memsvc.index import schema, writer
from memsvc.index.chunks import chunk, embed_text
from memsvc.index.units import pack
from memsvc.index.values import ChunkText, Filters, IndexEntry, PassageVector
from memsvc.index.visible import Visible, visible
from memsvc.model.identity import Caller, Principal, Scope
from memsvc.model.vocabulary import NoteId, PrincipalKind, ProjectSlug, VaultName
from memsvc.scope.proof import ReadScope, stamp_of
from tests.fakes import FakeEmbedder

__all__ = ["NOW", "Place", "given", "reading", "scope"]

NOW = "2026-11-30T10:04:11.000000Z"


def scope(project: str = "heron", vault: str = "team") -> Scope:
    return Scope(VaultName(vault), ProjectSlug(project))


def reading(*scopes: Scope) -> ReadScope:
    caller = Caller(
        Principal(PrincipalKind.AGENT, "tester"), VaultName("team"), ProjectSlug("heron")
    )
    return ReadScope(scopes, caller, stamp_of("memsvc.scope.policy"))


def given(matrix: NDArray[np.float32]) -> list[PassageVector]:
    """Vectors as the index takes them, without detail."""
    return [PassageVector(row) for row in matrix]


class Place:
    """A database file with an index, opened by this object alone."""

    def __init__(self, path: Path, *, embedder: FakeEmbedder | None = None) -> None:
        self.database = Database(path)
        self.embedder = embedder
        with self.database.write() as connection:
            schema.ensure(connection)

    def put(
        self,
        note_id: str,
        body: str,
        *,
        title: str = "",
        project: str = "heron",
        version: int = 1,
        **more: object,
    ) -> list[ChunkText]:
        entry = IndexEntry(
            note_id=NoteId(note_id),
            version=version,
            scope=scope(project),
            path=f"{project}/{note_id}.md",
            title=title or note_id,
            body=body,
            **{"recorded_from": "2026-01-01T00:00:00.000000Z", **more},  # type: ignore[arg-type] # passed on
        )
        return self.put_entry(entry)

    def put_entry(self, entry: IndexEntry) -> list[ChunkText]:
        vectors, model_id = {}, ""
        if self.embedder is not None:
            pieces = chunk(entry.body, entry.title)
            texts = [embed_text(entry.title, one) for one in pieces]
            read = zip(texts, self.embedder.read_passages(texts), strict=True)
            made = (
                PassageVector(one.vector, pack(text, one.states, one.spans)) for text, one in read
            )
            vectors, model_id = dict(enumerate(made)), self.embedder.model_id
        with self.database.write() as connection:
            return writer.put(connection, entry, vectors=vectors, model_id=model_id)

    def visible(self, *scopes: Scope, **filters: object) -> Visible:
        wanted = Filters(**{"now": NOW, **filters})  # type: ignore[arg-type] # passed on
        with self.database.read() as connection:
            return visible(reading(*(scopes or (scope(),))), connection, wanted)

    def seen(self, *scopes: Scope, **filters: object) -> list[tuple[str, int]]:
        """Note and version of everything seen, sorted."""
        found = self.visible(*scopes, **filters)
        return sorted(
            (found.note_ids[at], int(found.versions[at]))
            for at in range(len(found))
            if found.seen[at]
        )
