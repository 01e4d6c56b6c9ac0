"""Reads what a closer look at some versions needs: their names, and what a model made of passages."""

import json
from collections.abc import Sequence

from sqlalchemy import Connection, select

from memsvc.index.schema import details, entries, terms, vector_files, vectors
from memsvc.index.sqlite_fts import scope_key, scope_token
from memsvc.scope.proof import ReadScope

__all__ = ["details_of", "names_of"]

_BATCH = 500


def details_of(
    scope: ReadScope, connection: Connection, chunk_ids: Sequence[int], *, model_id: str
) -> dict[int, bytes]:
    """The packed details (`memsvc.index.units`) of passages of these scopes, by passage id."""
    tokens = [scope_token(scope_key(one)) for one in scope.scopes]
    found: dict[int, bytes] = {}
    for start in range(0, len(chunk_ids), _BATCH):
        rows = connection.execute(
            select(vectors.c.chunk_id, details.c.packed)
            .join(vector_files, vector_files.c.file_id == vectors.c.file_id)
            .join(
                details,
                (details.c.file_id == vectors.c.file_id)
                & (details.c.position == vectors.c.position),
            )
            .join(terms, terms.c.chunk_id == vectors.c.chunk_id)
            .where(
                vectors.c.chunk_id.in_(list(chunk_ids[start : start + _BATCH])),
                vector_files.c.model_id == model_id,
                terms.c.sc.in_(tokens),
            )
        )
        found |= {row.chunk_id: row.packed for row in rows}
    return found


def names_of(
    scope: ReadScope, connection: Connection, entry_ids: Sequence[int]
) -> dict[int, tuple[tuple[str, ...], tuple[str, ...]]]:
    """Title and aliases of versions, and their tags, by entry id."""
    keys = [scope_key(one) for one in scope.scopes]
    found: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = {}
    for start in range(0, len(entry_ids), _BATCH):
        some = list(entry_ids[start : start + _BATCH])
        rows = connection.execute(
            select(entries.c.entry_id, entries.c.title, entries.c.aliases, entries.c.tags).where(
                entries.c.entry_id.in_(some), entries.c.scope_key.in_(keys)
            )
        )
        for row in rows:
            own = (row.title, *json.loads(row.aliases))
            found[row.entry_id] = (own, tuple(json.loads(row.tags)))
    return found
