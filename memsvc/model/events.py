"""An audit event before it is written."""

from dataclasses import dataclass, field

from memsvc.errors import MemsvcError
from memsvc.model.identity import Caller, Scope
from memsvc.model.replies import Json
from memsvc.model.vocabulary import Action, Outcome

__all__ = ["NewEvent", "facts_of"]


_FACTS = ("rule", "tombstone", "argument", "count", "version")


def facts_of(error: MemsvcError) -> dict[str, str | int]:
    """What of an error's data an event may hold: names and numbers, no text."""
    return {
        name: value
        for name, value in error.data.items()
        if name in _FACTS and isinstance(value, str | int)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """What happened, where and by whom. `detail` holds counts, ids and hashes, never note text."""

    action: Action
    outcome: Outcome
    caller: Caller
    scope: Scope
    note_id: str = ""
    version: int = 0
    reason: str = ""
    before_hash: str = ""
    after_hash: str = ""
    detail: dict[str, Json] = field(default_factory=dict)
