"""reindex: the index dropped and made again from the ledger, after the files were read."""

from collections.abc import Sequence

from memsvc.database import in_batches
from memsvc.embedding.protocol import Embedder
from memsvc.errors import ModelUnavailable
from memsvc.index import models, schema
from memsvc.index import writer as index
from memsvc.index.values import ChunkText, PassageVector
from memsvc.ledger import registry
from memsvc.ledger import writer as ledger
from memsvc.model.events import NewEvent
from memsvc.model.identity import Caller, Scope
from memsvc.model.progress import Progress, tell
from memsvc.model.vocabulary import Action, Outcome, VaultName
from memsvc.service.gateway.indexing import index_again, passage_vectors
from memsvc.service.gateway.parts import Parts

__all__ = ["embed_missing", "fill", "forget_other_models", "put_all", "rebuild", "tidy"]

NOTES_AT_ONCE = 100
CHUNKS_AT_ONCE = 64


def rebuild(parts: Parts, caller: Caller, *, progress: Progress | None = None) -> int:
    """Drop the index of every vault and put back all visible versions; how many notes.

    One event. Readers see a partial index meanwhile and are told so by its counters.
    """
    with parts.database.write() as connection:
        schema.drop(connection)
        schema.ensure(connection)
        ledger.add_event(
            connection,
            NewEvent(
                action=Action.REINDEX,
                outcome=Outcome.DONE,
                caller=caller,
                scope=Scope(caller.vault, caller.project),
            ),
            at=parts.clock.now(),
        )
    tidy(parts)
    return fill(parts, progress=progress)


def fill(parts: Parts, *, progress: Progress | None = None) -> int:
    """Put every vault's notes into the index, and note that it is whole; how many notes.

    Until that is noted every start does it again: a process that was killed leaves no gap for good.
    """
    with parts.database.read() as connection:
        vaults, made = registry.vaults(connection), schema.epoch(connection)
    count = sum(put_all(parts, vault.name, progress=progress) for vault in vaults)
    with parts.database.write() as connection:
        schema.set_whole(connection, made=made)
    return count


def put_all(parts: Parts, vault: VaultName, *, progress: Progress | None = None) -> int:
    """Index every version of a vault's notes anew, a batch a transaction; how many notes."""
    with parts.database.read() as connection:
        notes = registry.notes_of(connection, vault)
    done = 0
    for batch in in_batches(notes, NOTES_AT_ONCE):
        with parts.locked(vault), parts.database.write() as connection:
            for note in batch:
                current = registry.find_note(connection, note.note_id)
                if current is not None:
                    index_again(connection, current)
        done += len(batch)
        tell(progress, done, len(notes), "indexing notes")
    return len(notes)


def tidy(parts: Parts) -> None:
    """Erase the vectors of passages that are gone, and forget those whose file was lost."""
    with parts.database.read() as connection:
        if not index.untidy(connection):
            return
    with parts.database.write() as connection:
        index.tidy(connection)


def _embedded(
    embedder: Embedder, batch: Sequence[ChunkText]
) -> tuple[Sequence[ChunkText], Sequence[PassageVector]]:
    """Vectors of a batch, and of which of it: a passage that the model fails at is left out.

    Raises ModelUnavailable if it fails at every one.
    """
    try:
        return batch, passage_vectors(embedder, [piece.text for piece in batch])
    except ModelUnavailable:
        if len(batch) == 1:
            raise
    read: list[ChunkText] = []
    rows: list[PassageVector] = []
    failure: ModelUnavailable | None = None
    for piece in batch:
        try:
            rows += passage_vectors(embedder, [piece.text])
            read.append(piece)
        except ModelUnavailable as error:
            failure = error
    if failure is not None and not rows:
        raise failure
    return read, rows


def forget_other_models(parts: Parts, model_id: str) -> None:
    """Drop the vectors of every other model."""
    with parts.database.write() as connection:
        models.forget_others(connection, model_id)
    tidy(parts)


def embed_missing(
    parts: Parts, *, limit: int | None = None, progress: Progress | None = None
) -> int:
    """Give vectors to chunks that have none, a batch a transaction; how many were given.

    Nothing is embedded inside a transaction, and what is done stays done when it is stopped.
    """
    embedder = parts.embedder()
    if embedder is None:
        return 0
    done, after = 0, 0
    tidy(parts)
    with parts.database.read() as connection:
        total = index.count_without_vector(connection, embedder.model_id) if progress else 0
    while limit is None or done < limit:
        with parts.database.read() as connection:
            batch = index.chunks_without_vector(
                connection, embedder.model_id, limit=CHUNKS_AT_ONCE, after=after
            )
        if not batch:
            break
        read, given = _embedded(embedder, batch)
        with parts.database.write(durable=False) as connection:
            index.put_vectors(
                connection, embedder.model_id, [piece.chunk_id for piece in read], given
            )
        done += len(read)
        after = batch[-1].chunk_id
        tell(progress, done, max(total, done), "embedding passages")
    return done
