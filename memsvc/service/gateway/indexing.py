"""From a version's record to the index, with its links resolved and its vectors if a model is loaded."""

import json
import posixpath
import unicodedata
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from memsvc.embedding.protocol import Embedder
from memsvc.errors import ModelUnavailable
from memsvc.index import writer as index
from memsvc.index.chunks import chunk, embed_text
from memsvc.index.units import pack
from memsvc.index.values import IndexEntry, PassageVector
from memsvc.ledger import registry
from memsvc.ledger import writer as ledger
from memsvc.ledger.records import NoteRecord, VersionRecord
from memsvc.model.identity import Scope
from memsvc.model.vocabulary import SHARED, Status
from memsvc.notes.document import Document, read_document
from memsvc.notes.links import LinkResolver, link_targets_of, parse_links
from memsvc.notes.tags import body_tags
from memsvc.service.gateway.drafts import sha
from memsvc.service.gateway.parts import Parts

__all__ = [
    "HIDDEN_ENDS",
    "Vectors",
    "document_of",
    "end_text",
    "entry_of",
    "fold",
    "index_again",
    "index_earlier",
    "index_version",
    "is_editable",
    "link_texts",
    "names_of",
    "passage_vectors",
    "resolve",
    "shown_versions",
    "vectors_for",
]

Vectors = Mapping[int, PassageVector]
"""Vectors by chunk ordinal."""

HIDDEN_ENDS = ("deleted", "retracted", "purged", "withheld")
"""How a version ends that no recall shows, history neither."""
_LEFT = ("deleted", "retracted")
"""How a version ends with which its note left."""
MOST_CHUNKS_AT_ONCE = 24
"""A longer text is embedded in the background: the caller does not wait for it."""


def document_of(version: VersionRecord) -> Document:
    """The version's file, read again."""
    return read_document(version.content.encode("utf-8", "surrogatepass"), path=version.path)


def shown_versions(note: NoteRecord, versions: Sequence[VersionRecord]) -> list[VersionRecord]:
    """Those of a note's versions that recall may show, in order.

    Of a note that had left and whose file is back, but waits for a person, what came before waits too.
    """
    left = max((one.version for one in versions if one.end_mode in _LEFT), default=0)
    after = left if note.withheld else 0
    return [one for one in versions if one.end_mode not in HIDDEN_ENDS and one.version > after]


def index_again(connection: Connection, note: NoteRecord) -> None:
    """Every version of a note that may be shown, into the index."""
    for version in shown_versions(note, registry.versions_of(connection, note.note_id)):
        index_version(connection, version, note)


def index_earlier(connection: Connection, before: NoteRecord, after: NoteRecord) -> None:
    """What a note said before goes into the index with it when it is back, or waits no more.

    `after` is the note as it is about to be; its own version is not looked at.
    """
    freed = before.withheld and not after.withheld
    if not (before.gone or freed):
        return
    versions = registry.versions_of(connection, after.note_id)
    if before.gone or any(one.end_mode in _LEFT for one in versions):
        for version in shown_versions(after, versions):
            if version.version < after.version:
                index_version(connection, version, after)


def end_text(connection: Connection, version: VersionRecord, **ended: str) -> None:
    """A version is its note's latest no more, `ended` says how: in the ledger, and in the index, where
    its status is its own from now on, not its note's.
    """
    ledger.end_version(connection, version.note_id, version.version, **ended)
    index.update_state(
        connection,
        version.note_id,
        version.version,
        latest=False,
        status=version.status,
        **ended,
    )


def is_editable(version: VersionRecord, document: Document) -> bool:
    """Whether the file can be rewritten: its bytes are exactly its text in UTF-8, without a problem."""
    exact = sha(version.content.encode("utf-8", "surrogatepass")) == version.content_hash
    return document.editable and exact


def fold(text: str) -> str:
    """A name as links are looked up: composed, case-folded, without surrounding blanks."""
    return unicodedata.normalize("NFC", text).strip().casefold()


def names_of(path: str, document: Document) -> set[str]:
    """Every name by which a link may call the note at `path`, which ends in `.md`, folded."""
    stem = path[:-3]
    names = {stem, posixpath.basename(stem), document.title, *document.aliases}
    return {fold(name) for name in names if fold(name)}


def link_texts(document: Document) -> list[str]:
    """Every link target that the note names, in its body and its frontmatter, each once."""
    targets = [link.target for link in parse_links(document.body) if link.target]
    for value in document.values.values():
        targets.extend(link_targets_of(value))
    return list(dict.fromkeys(targets))


def resolve(
    connection: Connection, scope: Scope, texts: list[str], *, from_path: str
) -> tuple[dict[str, str], list[str]]:
    """Which note each link text of a note in this scope names: found ones by text, and the rest.

    A project's links lead into the project and `shared`; links of `shared` lead anywhere in the
    vault, and readers see only the ends that they may see.
    """
    if not texts:
        return {}, []
    wanted = set()
    for text in texts:
        bare = text[:-3] if text.lower().endswith(".md") else text
        joined = posixpath.normpath(posixpath.join(posixpath.dirname(from_path), bare))
        wanted |= {fold(bare), fold(posixpath.basename(bare)), fold(joined)}
    rows = registry.named(connection, scope.vault, wanted)
    notes: dict[str, tuple[str, list[str]]] = {}
    for note_id, name, path, project in rows:
        if SHARED in (scope.project, project) or project == scope.project:
            notes.setdefault(note_id, (path, []))[1].append(name)
    resolver = LinkResolver(
        (note_id, path, "", tuple(names)) for note_id, (path, names) in notes.items()
    )
    found: dict[str, str] = {}
    missing: list[str] = []
    for text in texts:
        target = resolver.resolve(text, from_path=from_path)
        if target is None:
            missing.append(text)
        else:
            found[text] = target
    return found, missing


def entry_of(
    version: VersionRecord, note: NoteRecord, *, document: Document, links: tuple[str, ...]
) -> IndexEntry:
    """What the index holds of a version."""
    tags = dict.fromkeys((*document.tags, *body_tags(document.body)))
    status = note.status if version.version == note.version else version.status
    return IndexEntry(
        note_id=note.note_id,
        version=version.version,
        scope=note.scope,
        path=note.path,
        title=version.title,
        aliases=document.aliases,
        tags=tuple(tags),
        kind=document.kind,
        status=status,
        trust=version.trust,
        valid_from=version.valid_from,
        valid_to=version.valid_to,
        valid_to_original=version.valid_to_original,
        ended_at=version.ended_at,
        recorded_from=version.recorded_from,
        recorded_to=version.recorded_to,
        end_mode=version.end_mode,
        latest=version.version == note.version,
        superseded_by=note.superseded_by if version.version == note.version else "",
        created=note.created_at,
        updated=version.recorded_from,
        author=version.author,
        source=version.source,
        reason=version.reason,
        content_hash=version.content_hash,
        body=document.body,
        links=links,
        problem=version.problem,
    )


def vectors_for(parts: Parts, title: str, body: str) -> tuple[Vectors, str]:
    """Vectors of a text's chunks and the model's id; empty while no model is loaded.

    Called before the transaction: nothing slow happens inside one.
    """
    embedder = parts.embedder()
    if embedder is None:
        return {}, ""
    chunks = chunk(body, title)
    if len(chunks) > MOST_CHUNKS_AT_ONCE:
        return {}, ""
    try:
        read = passage_vectors(embedder, [embed_text(title, piece) for piece in chunks])
    except ModelUnavailable:
        return {}, ""  # the background tries again
    return {piece.ordinal: read[row] for row, piece in enumerate(chunks)}, embedder.model_id


def passage_vectors(embedder: Embedder, texts: Sequence[str]) -> list[PassageVector]:
    """What the index keeps of passages, in order. Raises ModelUnavailable."""
    return [
        PassageVector(reading.vector, pack(text, reading.states, reading.spans))
        for text, reading in zip(texts, embedder.read_passages(texts), strict=True)
    ]


def index_version(
    connection: Connection,
    version: VersionRecord,
    note: NoteRecord,
    *,
    vectors: Vectors | None = None,
    model_id: str = "",
    document: Document | None = None,
) -> None:
    """Put one version into the index and the note's names and links where they are looked up."""
    read = document or document_of(version)
    found, missing = resolve(connection, note.scope, link_texts(read), from_path=note.path)
    links = tuple(dict.fromkeys(key for key in found.values() if key != note.note_id))
    entry = entry_of(version, note, document=read, links=links)
    index.put_later(connection, index.Put(entry, vectors or {}, model_id))
    if version.version == note.version and note.status is not Status.RETRACTED:
        ledger.set_names(
            connection, note.note_id, vault=note.vault, names=names_of(note.path, read)
        )
        packed = json.dumps(missing, ensure_ascii=False) if missing else ""
        if packed != note.unresolved:
            ledger.update_note(connection, note.note_id, unresolved=packed)
