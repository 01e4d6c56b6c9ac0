"""What a reviewer decided about an item: its event, how the item is closed, and what is replied."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from memsvc.errors import InvalidInput
from memsvc.ledger import writer as ledger
from memsvc.model.events import NewEvent
from memsvc.model.identity import Caller, Scope
from memsvc.model.replies import Json
from memsvc.model.requests import DecisionRequest
from memsvc.model.vocabulary import Action, Disposition, Outcome

__all__ = ["Decision", "Item"]


@dataclass(frozen=True, slots=True)
class Item:
    """An open review item."""

    review_id: str
    kind: str
    scope: Scope
    note_id: str
    version: int
    event_seq: int
    detail: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision. `approves`: something comes to stand, or is done, by it; `edited_by` are those
    who changed the text while it waited, `superseded` the notes that it replaces.
    """

    item: Item
    request: DecisionRequest
    caller: Caller
    approves: bool
    edited_by: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """How the item is closed."""
        return "approved" if self.approves else "rejected"

    @property
    def facts(self) -> dict[str, Json]:
        """What event, item and reply say of it: no text."""
        own = self.request.disposition is Disposition.REPLACE
        edited = [*self.edited_by, *([str(self.caller.principal)] if own else [])]
        return {
            "review": self.item.review_id,
            "kind": self.item.kind,
            "disposition": self.request.disposition.value,
            "proposed_by": self.item.detail.get("by", ""),
            "edited_by": list[Json](dict.fromkeys(edited)),
            "superseded": list[Json](self.superseded),
            "by": str(self.caller.principal),
        }

    def event(self, note_id: str, version: int, *, before_hash: str = "") -> NewEvent:
        """The decision's event."""
        return NewEvent(
            action=Action.APPROVE if self.approves else Action.REJECT,
            outcome=Outcome.DONE,
            caller=self.caller,
            scope=self.item.scope,
            note_id=note_id,
            version=version,
            reason=self.request.reason,
            before_hash=before_hash,
            detail={**self.facts, "confirmed": self.caller.confirmed},
        )

    def close(self, connection: Connection, *, event_seq: int, at: datetime) -> None:
        """Close the item. Raises InvalidInput when somebody else decided meanwhile."""
        decision = {**self.facts, "event": event_seq}
        if not ledger.decide_review(
            connection, self.item.review_id, at=at, state=self.state, decision=decision
        ):
            raise InvalidInput("this item was decided meanwhile", argument="id")

    def reply(
        self, note_id: str, *, path: str, event_seq: int, tombstones: int, notice: str
    ) -> dict[str, Json]:
        """What the person is told, after the transaction."""
        return {
            **self.facts,
            "outcome": self.state,
            "id": note_id,
            "path": path,
            "scope": str(self.item.scope),
            "event": event_seq,
            "tombstones": tombstones,
            "notice": notice,
        }
