"""Other notes that state what was just rejected: they stay, and the caller is told."""

from memsvc.database import Database
from memsvc.index import reader as index
from memsvc.ledger import registry
from memsvc.model.replies import Related
from memsvc.scope.proof import ReadScope
from memsvc.service.gateway.checks import Statement, statements
from memsvc.service.gateway.indexing import document_of

__all__ = ["stating"]

CANDIDATES = 20
CLAIMS = 12


def stating(
    scope: ReadScope,
    database: Database,
    rejected: list[Statement],
    *,
    without: str,
) -> list[Related]:
    """Visible notes that make one of the rejected statements.

    Whoever states the same uses the same words, so they are looked for by words and no model is
    asked. At most the first dozen claims are looked up, twenty candidates each.
    """
    wanted = {statement.normal for statement in rejected if statement.counts}
    found: dict[str, Related] = {}
    with database.read() as connection:
        candidates: dict[str, Related] = {}
        for statement in rejected[: CLAIMS * 2]:
            if not statement.counts or (statement.kind == "whole" and len(rejected) > 1):
                continue
            for one in index.similar(
                scope, connection, title="", body=statement.normal, embedder=None, limit=CANDIDATES
            ):
                candidates.setdefault(one.id, one)
        for note_id, one in candidates.items():
            note = registry.find_note(connection, note_id)
            if note is None or note_id == without or note.scope not in scope:
                continue
            version = registry.find_version(connection, note_id, note.version)
            if version is None:
                continue
            document = document_of(version)
            made = {made_one.normal for made_one in statements(document.title, document.body)}
            if made & wanted:
                found[note_id] = Related(
                    id=one.id,
                    title=version.title,
                    scope=str(note.scope),
                    version=note.version,
                    how="states the same",
                )
    return list(found.values())
