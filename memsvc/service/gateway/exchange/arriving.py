"""One foreign record on its way in: held against the policy, and written as a file of this vault."""

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection

from memsvc.clock import parse_instant, stamp, stamp_seconds
from memsvc.errors import InvalidInput, RecalledText, SecretFound, Uneditable, UnsafePath
from memsvc.ids import derived_ulid, is_ulid
from memsvc.ledger import registry
from memsvc.ledger.records import NoteRecord, VaultRecord
from memsvc.model.exchange import ImportRecord, Outline
from memsvc.model.identity import Scope
from memsvc.model.vocabulary import Status
from memsvc.notes import slugs
from memsvc.notes.document import MAX_NOTE_BYTES, Document, read_document
from memsvc.notes.frontmatter import Value, edit
from memsvc.notes.paths import is_note_path, resolve_note
from memsvc.notes.private import without_private
from memsvc.scope.proof import WriteScope
from memsvc.scope.vault_policy import VaultPolicy
from memsvc.service.gateway import checks, drafts, limits
from memsvc.service.gateway.files.layout import folder_of, project_of
from memsvc.service.gateway.guard import restated
from memsvc.service.gateway.indexing import Vectors, vectors_for
from memsvc.service.gateway.parts import Parts

__all__ = ["Prepared", "born", "content_for", "identity", "legal_path", "prepare", "stated_by"]

_LONGEST_NAME = 200
_SALTS = 8


@dataclass(frozen=True, slots=True)
class Prepared:
    """A record whose text the policy lets in, as far as the text alone can tell."""

    record: ImportRecord
    document: Document
    text_key: str
    texts: tuple[checks.Statement, ...] | None
    """What it states; None where nothing was rejected in the scope when it was looked at."""
    again: tuple[restated.Suspicion, ...]
    vectors: Vectors
    model_id: str
    left_out: str


def identity(
    connection: Connection, scope: Scope, form: str, outline: Outline
) -> tuple[str, NoteRecord | None]:
    """The id that a foreign record has in this scope, and its note if there is one.

    A ULID of memsvc is kept while no other scope has it; everything else gets an id that depends on
    the scope, the format and the name in the source, so that the same record is the same note.
    """
    claimed = outline.id.strip().upper()
    if is_ulid(claimed):
        note = registry.find_note(connection, claimed)
        if note is None or note.scope == scope:
            return claimed, note
    for salt in range(_SALTS):  # a note that was moved to another project keeps its id there
        seed = "\x00".join((str(scope), form, claimed or outline.key, str(salt or "")))
        derived = derived_ulid(seed)
        note = registry.find_note(connection, derived)
        if note is None or note.scope == scope:
            return derived, note
    raise InvalidInput("too many notes of this record were moved to other projects", argument="id")


def legal_path(root: Path, vault: VaultRecord, scope: Scope, wanted: str, title: str) -> str:
    """Where a record's file goes: as its source has it if that is a legal place of the project's
    folder, else under a name made of its title.
    """
    folder = folder_of(vault, scope.project)
    path = f"{folder}/{wanted}"
    try:
        resolve_note(root, path)
        legal = is_note_path(path) and len(posixpath.basename(path).encode()) <= _LONGEST_NAME
    except (UnsafePath, UnicodeEncodeError):
        legal = False
    if legal and project_of(vault, path) in (scope.project, project_of(vault, f"{folder}/x.md")):
        return path
    return f"{folder}/{slugs.slug(title)}.md"


def prepare(
    parts: Parts, scope: WriteScope, record: ImportRecord, rules: VaultPolicy, *, guarded: bool
) -> Prepared:
    """Hold a record against everything that its text alone can break.

    Private parts of the body are left out. `guarded`: something was rejected in the scope. Raises
    InvalidInput, SecretFound, RecalledText.
    """
    _check_text(record.content)
    document = read_document(record.content.encode(), path=record.found_at)
    body, private, closed = without_private(document.body)
    if not closed:
        raise InvalidInput(
            "the note opens a <private> block and never closes it; close it with </private>",
            argument="body",
        )
    if private:
        record = replace(record, content=record.content[: document.body_start] + body)
        document = read_document(record.content.encode(), path=record.found_at)
    checks.check_note_text(document.title, document.body, rules)
    _check_head(document, rules)
    sources = document.source or record.source
    checks.check_lines(rules, source=sources, tags=document.tags, origin=tuple(_origins(record)))
    texts: tuple[checks.Statement, ...] | None = None
    again: Sequence[restated.Suspicion] = ()
    if guarded:
        texts = stated_by(document, sources)
        again = restated.likely(parts, scope.scope, texts)
    vectors, model_id = vectors_for(parts, document.title, document.body)
    return Prepared(
        record,
        document,
        drafts.text_key(document.title, document.body),
        texts,
        tuple(again),
        vectors,
        model_id,
        limits.left_out(private),
    )


def stated_by(document: Document, sources: Sequence[str]) -> tuple[checks.Statement, ...]:
    """What a record states in its title, its text and its sources."""
    return (*checks.statements(document.title, document.body), *checks.sourced(sources))


def _origins(record: ImportRecord) -> list[str]:
    return [text[: checks.MAX_LINE] for text in record.origin.values()]


def _check_text(content: str) -> None:
    if "\x00" in content:
        raise InvalidInput("the note holds a NUL character; remove it", argument="body")
    try:
        size = len(content.encode())
    except UnicodeEncodeError as error:
        raise InvalidInput(
            "the note holds half a character (a lone surrogate); send whole text", argument="body"
        ) from error
    if size > MAX_NOTE_BYTES:
        raise InvalidInput(
            f"the note has {size} bytes and {MAX_NOTE_BYTES} are the most", argument="body"
        )


def _check_head(document: Document, rules: VaultPolicy) -> None:
    """The frontmatter is kept as it is, so it is held against the policy too."""
    head = document.content[: document.body_start]
    problem = checks.find_violation("", head, rules) if head else ""
    if problem == "recalled_text":
        raise RecalledText("the frontmatter holds a recall reply; take it out")
    if problem == checks.PRIVATE:
        raise InvalidInput("the frontmatter has a part marked <private>", argument="frontmatter")
    if problem and problem != checks.TOO_LONG:
        raise SecretFound(
            f"the frontmatter holds a secret (rule: {problem}); take it out", rule=problem
        )


def content_for(
    ready: Prepared,
    scope: WriteScope,
    *,
    path: str,
    status: Status,
    supersedes: Sequence[str],
    version: int,
    now: datetime,
) -> tuple[str, str]:
    """The text of the note's file here, and what could not be said in it.

    What the record claims about who stands behind it gives way to who imports it; everything else
    in its frontmatter stays. A file that cannot be edited is taken as it is.
    """
    record, document, caller = ready.record, ready.document, scope.caller
    present = document.values
    keys: dict[str, Value | None] = {"id": record.id, "title": document.title}
    if "kind" in present or record.kind:
        keys["kind"] = (record.kind or document.kind).value
    keys |= {
        "status": status.value,
        "trust": drafts.trust_of(caller).value,
        "project": str(scope.scope.project),
        "created": _shown(record.created) or stamp_seconds(now),
        "updated": stamp_seconds(now),
        "version": version,
        "author": str(caller.principal),
    }
    for name, text in (
        ("valid_from", drafts.shown(record.valid_from)),
        ("valid_to", drafts.shown(record.valid_to)),
        ("on_behalf_of", caller.on_behalf_of),
        ("session", caller.session),
    ):
        if text or name in present:
            keys[name] = text
    if record.source and not document.source:
        keys["source"] = list(record.source)
    if supersedes or "supersedes" in present:
        keys["supersedes"] = list(supersedes)
    if record.successor or "superseded_by" in present:
        keys["superseded_by"] = f"[[{record.successor}]]" if record.successor else ""
    keys |= {name: text for name, text in record.origin.items() if text and name not in present}
    try:
        return edit(record.content, keys), ""
    except Uneditable as error:
        if document.declared_id not in ("", record.id):
            raise
        return record.content, f"{posixpath.basename(path)} is kept as it is: {error.message}"


def _shown(created: str) -> str:
    """A foreign date of origin as frontmatter shows it; nothing that is no date."""
    try:
        return stamp_seconds(parse_instant(created))
    except (ValueError, OverflowError):
        return ""


def born(record: ImportRecord, now: datetime) -> str:
    """Since when the note exists, as a stamp: what its source says, if that is not still to come."""
    try:
        found = stamp(parse_instant(record.created))
    except (ValueError, OverflowError):
        found = ""
    return min(found or stamp(now), stamp(now))
