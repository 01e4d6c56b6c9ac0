"""Which versions a file's bytes were: how a backup's files are known again."""

from sqlalchemy import Connection, select

from memsvc.ledger import tables
from memsvc.model.vocabulary import NoteId, VaultName

__all__ = ["versions_by_content"]


def versions_by_content(
    connection: Connection, vault: VaultName
) -> dict[str, list[tuple[NoteId, int]]]:
    """By the sha256 of a file, the versions of the vault's notes that it was, oldest first."""
    table = tables.note_version
    rows = connection.execute(
        select(table.c.content_hash, table.c.note_id, table.c.version)
        .where(table.c.vault == vault)
        .order_by(table.c.note_id, table.c.version)
    )
    found: dict[str, list[tuple[NoteId, int]]] = {}
    for row in rows:
        found.setdefault(row.content_hash, []).append((NoteId(row.note_id), row.version))
    return found
