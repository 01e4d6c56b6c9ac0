"""What a review item is about: the new text, the old one, and both as their files stand now."""

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from memsvc.clock import stamp, stamp_seconds
from memsvc.errors import InvalidInput, NotFound, Uneditable
from memsvc.index import reader as index
from memsvc.ledger import registry
from memsvc.ledger.records import NoteRecord, VersionRecord
from memsvc.model.replies import Json
from memsvc.model.requests import DecisionRequest
from memsvc.model.vocabulary import Action, NoteId, ReviewKind, Status, Trust
from memsvc.notes.frontmatter import Value, edit
from memsvc.service import access
from memsvc.service.gateway import checks, drafts
from memsvc.service.gateway.correct import Change
from memsvc.service.gateway.indexing import document_of, is_editable
from memsvc.service.gateway.review.decision import Item
from memsvc.service.gateway.review.turning import Turn
from memsvc.service.gateway.save import free_path
from memsvc.service.gateway.wordings import statements_of

__all__ = [
    "Case",
    "approval_of",
    "as_own_note",
    "case_of",
    "likely_stated",
    "paths_of",
    "restoration_of",
    "sides",
    "standing_text",
]

Pair = tuple[NoteRecord, VersionRecord]


@dataclass(frozen=True, slots=True)
class Case:
    """An item with its texts. `earlier` is the note's last approved text, where it differs; `olds`
    are the active notes it is weighed against; `ours` and `base` belong to a conflict.
    """

    item: Item
    request: DecisionRequest
    note: NoteRecord
    version: VersionRecord
    olds: tuple[Pair, ...] = ()
    earlier: VersionRecord | None = None
    ours: VersionRecord | None = None
    base: VersionRecord | None = None

    @property
    def kind(self) -> str:
        """The item's kind."""
        return self.item.kind


def case_of(connection: Connection, item: Item, request: DecisionRequest) -> Case:
    """The item's texts. Raises NotFound when its note, or the one named as old, is not there."""
    note = registry.find_note(connection, item.note_id)
    version = registry.find_version(connection, item.note_id, note.version) if note else None
    if note is None or version is None:
        raise NotFound("the note of this item is not there any more", argument="id")
    case = Case(item, request, note, version, olds=tuple(_olds(connection, item, request)))
    if item.kind == ReviewKind.CONFLICT:
        ours, base = sides(connection, item.note_id, item.version, item.detail)
        return replace(case, ours=ours, base=base)
    return replace(case, earlier=standing_text(connection, version))


def sides(
    connection: Connection, note_id: str, committed: Json, detail: Mapping[str, Json]
) -> tuple[VersionRecord | None, VersionRecord | None]:
    """Of a conflict: what was committed meanwhile, and the text that both changes began with."""
    versions = registry.versions_of(connection, note_id)
    ours = next((one for one in versions if one.version == committed), None)
    base = next((one for one in versions if one.content_hash == detail.get("base_hash")), None)
    return ours, base


def standing_text(connection: Connection, version: VersionRecord) -> VersionRecord | None:
    """The last text of the note that was approved, if it is another one than `version`."""
    earlier = [
        one
        for one in registry.versions_of(connection, version.note_id)
        if one.version < version.version and one.status is Status.ACTIVE
    ]
    if not earlier or earlier[-1].text_key == version.text_key:
        return None
    return earlier[-1]


def _named(item: Item) -> list[str]:
    """The ids of the notes that the item itself weighs its text against."""
    named = item.detail.get("supersedes")
    ids = [str(one) for one in named] if isinstance(named, list) else []
    corrects = item.detail.get("corrects")
    return [*ids, str(corrects)] if corrects else ids


def _olds(connection: Connection, item: Item, request: DecisionRequest) -> list[Pair]:
    found: list[Pair] = []
    asked = request.old.strip().upper()
    for one in dict.fromkeys([*_named(item), *([asked] if asked else [])]):
        note = registry.find_note(connection, one)
        usable = note is not None and note.scope == item.scope and note.status is Status.ACTIVE
        version = registry.find_version(connection, one, note.version) if note and usable else None
        if note is not None and version is not None and one != item.note_id:
            found.append((note, version))
        elif one == asked:
            raise NotFound(access.NO_NOTE, argument="old")
    return found


def paths_of(connection: Connection, item: Item, request: DecisionRequest) -> list[str]:
    """The files whose present text the decision depends on."""
    ids = [item.note_id, *_named(item), request.old.strip().upper()]
    notes = (registry.find_note(connection, one) for one in ids if one)
    return [note.path for note in notes if note is not None and note.vault == item.scope.vault]


def likely_stated(connection: Connection, turn: Turn, case: Case) -> list[checks.Statement]:
    """What active notes close to the case's text state: it is not rejected along with it."""
    scope = access.around(connection, turn.scope.caller, case.item.scope)
    close = index.similar(
        scope, connection, title=case.version.title, body=case.version.body, embedder=None, limit=8
    )
    stated: list[checks.Statement] = []
    for one in close:
        note = registry.find_note(connection, one.id)
        version = registry.find_version(connection, one.id, note.version) if note else None
        if note is not None and version is not None and note.note_id != case.note.note_id:
            stated += statements_of(version)
    return stated


def approval_of(turn: Turn, case: Case, *, alone: bool) -> Change | None:
    """The change by which a text is approved; None when its file needs none.

    With the reviewer's own text if there is one. `alone`: it replaces nothing, whatever it says.
    """
    version = case.version
    document = document_of(version)
    own = case.request.body
    keys: dict[str, Value | None] = {}
    if alone and document.supersedes:
        keys["supersedes"] = ""
    if not own and not keys and "status" not in document.values:
        return None
    body = (own if own.endswith("\n") else f"{own}\n") if own else version.body
    return Change(
        action=Action.APPROVE,
        mode="approve",
        body=body,
        title=case.request.title.strip() or version.title,
        reason=turn.reason or version.reason,
        source=(),
        valid_from=version.valid_from,
        end={"recorded_to": stamp(turn.now), "end_mode": "approved"},
        reject=False,
        keys=keys,
        author="" if own else version.author,
        trust=Trust.VERIFIED,
        approved=True,
    )


def restoration_of(
    turn: Turn, version: VersionRecord, wanted: VersionRecord, *, reject: bool
) -> Change:
    """The change that puts an earlier text back; with `reject`, what the present one adds to it is
    rejected. Raises Uneditable when the earlier text cannot be written as it was.
    """
    content = _at_version(wanted, version.version + 1, turn)
    return Change(
        action=Action.REJECT,
        mode="reject",
        body=wanted.body,
        title=wanted.title,
        reason=turn.reason,
        source=wanted.source,
        valid_from=wanted.valid_from,
        valid_to=wanted.valid_to_original,
        end={"recorded_to": stamp(turn.now), "end_mode": "wrong"},
        reject=reject,
        content=content,
        author=wanted.author,
        trust=wanted.trust,
        approved=True,
    )


def _at_version(wanted: VersionRecord, number: int, turn: Turn) -> str:
    document = document_of(wanted)
    keys: dict[str, Value | None] = {"version": number, "updated": stamp_seconds(turn.now)}
    return _edited(wanted, {k: v for k, v in keys.items() if k in document.values})


def _edited(wanted: VersionRecord, keys: Mapping[str, Value | None]) -> str:
    if not is_editable(wanted, document_of(wanted)):
        raise Uneditable(f"an earlier text of {wanted.path} cannot be written back as it was")
    return edit(wanted.content, keys) if keys else wanted.content


def as_own_note(connection: Connection, turn: Turn, wanted: VersionRecord) -> Pair:
    """A text of one note as a new note beside it."""
    if not wanted.body.strip():
        raise InvalidInput("there is no second text to keep", argument="disposition")
    note_id = NoteId(turn.parts.new_id(turn.now))
    folder = posixpath.dirname(wanted.path) or "."
    path = free_path(connection, turn.vault, turn.root, folder, wanted.title).removeprefix("./")
    values = document_of(wanted).values
    own: dict[str, Value | None] = {
        "id": str(note_id),
        "status": Status.ACTIVE.value,
        "version": 1,
        "updated": stamp_seconds(turn.now),
    }
    content = _edited(wanted, {key: value for key, value in own.items() if key in values})
    version = drafts.version_of(
        content,
        caller=turn.scope.caller,
        scope=turn.scope.scope,
        note_id=note_id,
        version=1,
        path=path,
        mode="approve",
        now=turn.now,
        valid_from=wanted.valid_from,
        valid_to=wanted.valid_to_original,
        reason=turn.reason,
        source=wanted.source,
        trust=Trust.VERIFIED,
    )
    version = replace(version, author=wanted.author)
    note = NoteRecord(
        note_id=note_id,
        vault=turn.scope.scope.vault,
        project=turn.scope.scope.project,
        path=path,
        status=Status.ACTIVE,
        version=1,
        created_at=version.recorded_from,
        updated_at=version.recorded_from,
    )
    return note, version
