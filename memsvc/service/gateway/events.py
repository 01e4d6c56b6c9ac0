"""The event of what was done to a note."""

from collections.abc import Mapping

from memsvc.ledger.records import NoteRecord, VersionRecord
from memsvc.model.events import NewEvent
from memsvc.model.identity import Caller
from memsvc.model.replies import Json
from memsvc.model.vocabulary import Action, Outcome

__all__ = ["note_event"]

_NOTHING: Mapping[str, Json] = {}


def note_event(
    action: Action,
    caller: Caller,
    note: NoteRecord,
    *,
    before: VersionRecord | None = None,
    after: VersionRecord | None = None,
    reason: str = "",
    detail: Mapping[str, Json] = _NOTHING,
) -> NewEvent:
    """What was done, in the note's scope: `before` is the version that it was done to, `after` the
    one that it made. Without either it is about the note's present version, whose text stays.
    """
    about = after or before
    return NewEvent(
        action=action,
        outcome=Outcome.DONE,
        caller=caller,
        scope=note.scope,
        note_id=note.note_id,
        version=about.version if about else note.version,
        reason=reason,
        before_hash=before.content_hash if before else "",
        after_hash=after.content_hash if after else "",
        detail=dict(detail),
    )
