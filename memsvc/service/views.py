"""What read, scopes and stats show, gathered under a proven scope."""

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from memsvc.errors import InvalidInput, NotFound
from memsvc.index import reader as index
from memsvc.ledger import registry
from memsvc.ledger.records import NoteRecord, VersionRecord
from memsvc.model.replies import NoteView, VersionView
from memsvc.model.requests import ReadRequest
from memsvc.model.vocabulary import Status
from memsvc.scope.proof import ReadScope
from memsvc.service.access import readable_note, reviews_in
from memsvc.service.gateway.drafts import shown
from memsvc.service.gateway.indexing import document_of, resolve

if TYPE_CHECKING:
    from memsvc.notes.document import Document

__all__ = ["note_view"]

_REJECTED_ENDS = {
    "wrong": "was rejected as wrong",
    "rejected": "was rejected",
    "retracted": "was forgotten",
    "forgotten": "was forgotten",
    "purged": "was purged",
}
"""How a version ends whose text was rejected, in words."""


def note_view(
    scope: ReadScope, connection: Connection, request: ReadRequest, *, now: str
) -> NoteView:
    """The whole note at one version, with provenance, links both ways and its versions.

    It is `current` if it is the newest version of an active note and holds at the instant `now`.
    A text that was rejected is for who reviews: anybody else is told why it is withheld.
    """
    note = readable_note(scope, connection, request.id)
    versions = registry.versions_of(connection, note.note_id)
    wanted = request.version or note.version
    found = next((one for one in versions if one.version == wanted), None)
    if found is None:
        known = ", ".join(str(one.version) for one in versions)
        raise NotFound(f"this note has no version {wanted}; it has {known}", argument="version")
    withheld = ""
    if not reviews_in(connection, scope.caller, note.scope):
        withheld = _withheld(note, found, versions[-1])
    if withheld:
        found = replace(found, title="", content="", body_start=0, source=(), reason="", problem="")
    document = document_of(found)
    if request.offset and not 0 < request.offset < len(document.body):
        raise InvalidInput(
            f"offset must be less than {len(document.body)}, the number of characters of the text",
            argument="offset",
        )
    links_out, links_in = index.links_of(scope, connection, note.note_id)
    newest = found.version == note.version
    holds = found.valid_from <= now and (not found.valid_to or found.valid_to > now)
    return NoteView(
        id=note.note_id,
        version=found.version,
        title=found.title,
        scope=str(note.scope),
        path=note.path,
        kind=document.kind.value,
        status=(note.status if newest else found.status).value,
        trust=found.trust.value,
        author=found.author,
        on_behalf_of=found.on_behalf_of,
        session=found.session,
        reason=found.reason,
        created=note.created_at,
        updated=found.recorded_from,
        valid_from=shown(found.valid_from),
        valid_to=shown(found.valid_to),
        source=list(found.source),
        tags=list(document.tags),
        supersedes=_replaced_by(connection, scope, note, document),
        superseded_by=_visible_id(connection, scope, note.superseded_by),
        body=document.body[request.offset :],
        offset=request.offset,
        length=len(document.body),
        content_hash=found.content_hash,
        current=newest and holds and note.status is Status.ACTIVE,
        corroborated=note.corroborated,
        problem=note.withheld or found.problem,
        withheld=withheld,
        links_out=links_out,
        links_in=links_in,
        versions=[_version_view(one) for one in versions],
    )


def _withheld(note: NoteRecord, version: VersionRecord, newest: VersionRecord) -> str:
    """Why the version's text is not shown to one who does not review; nothing if it may be.

    A text that the note states today, because it was brought back, is not withheld.
    """
    if version.version == newest.version:
        how = "states what was rejected" if note.withheld == "rejected_claim" else ""
    elif version.text_key == newest.text_key and not note.withheld:
        how = ""
    else:
        how = _REJECTED_ENDS.get(version.end_mode, "")
    if not how:
        return ""
    when = f" on {version.recorded_to[:10]}" if version.recorded_to else ""
    return (
        f"version {version.version} {how}{when}: its text is for a person who reviews. Read the "
        "present version, and do not say again what that one said"
    )


def _replaced_by(
    connection: Connection, scope: ReadScope, note: NoteRecord, document: "Document"
) -> list[str]:
    found, _ = resolve(connection, note.scope, list(document.supersedes), from_path=note.path)
    return [one for one in dict.fromkeys(found.values()) if _visible_id(connection, scope, one)]


def _visible_id(connection: Connection, scope: ReadScope, note_id: str) -> str:
    other = registry.find_note(connection, note_id) if note_id else None
    return note_id if other is not None and other.scope in scope else ""


def _version_view(version: VersionRecord) -> VersionView:
    return VersionView(
        version=version.version,
        valid_from=shown(version.valid_from),
        valid_to=shown(version.valid_to),
        recorded_from=version.recorded_from,
        recorded_to=version.recorded_to,
        author=version.author,
        mode=version.mode,
        reason=version.reason,
        event=version.event_seq,
    )
