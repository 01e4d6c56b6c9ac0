"""Reads what a closer look at some versions needs: their names, and what a model made of passages."""

import json
from collections.abc import Sequence

from sqlalchemy import Connection, select

from memsvc.database import in_batches
from memsvc.index.schema import details, entries, terms, vector_files, vectors
from memsvc.index.sqlite_fts import scope_token
from memsvc.index.visible import keys_of
from memsvc.scope.proof import ReadScope

__all__ = ["details_of", "names_of"]


def details_of(
    scope: ReadScope, connection: Connection, chunk_ids: Sequence[int], *, model_id: str
) -> dict[int, bytes]:
    """The packed details (`memsvc.index.units`) of passages of these scopes, by passage id."""
    tokens = [scope_token(key) for key in keys_of(scope)]
    found: dict[int, bytes] = {}
    for some in in_batches(chunk_ids):
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
                vectors.c.chunk_id.in_(some),
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
    keys = keys_of(scope)
    found: dict[int, tuple[tuple[str, ...], tuple[str, ...]]] = {}
    for some in in_batches(entry_ids):
        rows = connection.execute(
            select(entries.c.entry_id, entries.c.title, entries.c.aliases, entries.c.tags).where(
                entries.c.entry_id.in_(some), entries.c.scope_key.in_(keys)
            )
        )
        for row in rows:
            own = (row.title, *json.loads(row.aliases))
            found[row.entry_id] = (own, tuple(json.loads(row.tags)))
    return found
