"""Which models' vectors the index holds, and how those of models no longer in use are dropped."""

from sqlalchemy import Connection, delete, distinct, func, select

from memsvc.index.schema import chunks, details, entries, rejections, vector_files, vectors
from memsvc.index.sqlite_fts import scope_key
from memsvc.scope.proof import ReadScope

__all__ = ["forget_others", "others", "passages_read"]


def passages_read(scope: ReadScope, connection: Connection, model_id: str) -> dict[str, int]:
    """Of these scopes: `passages`, `vectors` (passages with a vector of this model) and `others`
    (passages with a vector of another).
    """
    keys = [scope_key(one) for one in scope.scopes]
    inside = entries.c.scope_key.in_(keys)
    passages = connection.execute(
        select(func.coalesce(func.sum(entries.c.chunk_count), 0)).where(inside)
    ).scalar_one()
    rows = connection.execute(
        select(
            vector_files.c.model_id == model_id,
            func.count(distinct(vectors.c.chunk_id)),
        )
        .join(vectors, vectors.c.file_id == vector_files.c.file_id)
        .join(chunks, chunks.c.chunk_id == vectors.c.chunk_id)
        .join(entries, entries.c.entry_id == chunks.c.entry_id)
        .where(inside)
        .group_by(vector_files.c.model_id == model_id)
    )
    found = {bool(own): int(count) for own, count in rows}
    return {
        "passages": int(passages),
        "vectors": found.get(True, 0),
        "others": found.get(False, 0),
    }


def others(connection: Connection, model_id: str) -> dict[str, int]:
    """How many vectors the whole index holds of each other model, by its id."""
    rows = connection.execute(
        select(vector_files.c.model_id, func.count())
        .join(vectors, vectors.c.file_id == vector_files.c.file_id)
        .where(vector_files.c.model_id != model_id)
        .group_by(vector_files.c.model_id)
    )
    return {str(name): int(count) for name, count in rows}


def forget_others(connection: Connection, model_id: str) -> None:
    """Drop every vector of another model; `tidy` then removes their files."""
    named = select(vector_files.c.file_id).where(vector_files.c.model_id != model_id)
    connection.execute(delete(vectors).where(vectors.c.file_id.in_(named)))
    connection.execute(delete(details).where(details.c.file_id.in_(named)))
    connection.execute(delete(vector_files).where(vector_files.c.model_id != model_id))
    connection.execute(delete(rejections).where(rejections.c.model_id != model_id))
