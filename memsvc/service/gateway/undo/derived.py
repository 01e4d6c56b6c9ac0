"""Which notes were made of another one: those that name it as their source, and those made of them."""

from collections import defaultdict

from sqlalchemy import Connection

from memsvc.ledger import registry
from memsvc.ledger.records import NoteRecord, VersionRecord
from memsvc.model.replies import Related
from memsvc.notes.links import LinkResolver, link_targets_of
from memsvc.scope.proof import ReadScope
from memsvc.service.gateway.indexing import document_of, names_of, resolve

__all__ = ["derived_from"]


def derived_from(
    scope: ReadScope, connection: Connection, note: NoteRecord, version: VersionRecord
) -> list[Related]:
    """Notes of the scope, not gone, whose source leads to the note by links, by path.

    The note may be retracted already; then a name that no other note has means it still.
    """
    own = LinkResolver(
        [(note.note_id, note.path, "", tuple(names_of(note.path, document_of(version))))]
    )
    made_of: defaultdict[str, list[Related]] = defaultdict(list)
    for other, text in registry.sourced_by_links(connection, note.vault):
        if other.scope not in scope:
            continue
        targets = link_targets_of(list(text.source))
        found, missing = resolve(connection, other.scope, targets, from_path=other.path)
        sources = set(found.values())
        if any(own.resolve(target, from_path=other.path) for target in missing):
            sources.add(note.note_id)
        for source in sources:
            made_of[source].append(
                Related(
                    id=other.note_id,
                    title=text.title,
                    scope=str(other.scope),
                    version=other.version,
                    how="derived",
                    path=other.path,
                )
            )
    found_all: dict[str, Related] = {}
    waiting = [str(note.note_id)]
    while waiting:
        for one in made_of.get(waiting.pop(), ()):
            if one.id != note.note_id and one.id not in found_all:
                found_all[one.id] = one
                waiting.append(one.id)
    return sorted(found_all.values(), key=lambda one: one.path)
