"""An audit event before it is written."""

from dataclasses import dataclass, field

from memsvc.model.identity import Caller, Scope
from memsvc.model.replies import Json
from memsvc.model.vocabulary import Action, Outcome

__all__ = ["NewEvent"]


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
