"""A request to purge, decided: the note is destroyed, comes back, or stays as it is without being destroyed."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from memsvc.clock import Clock
from memsvc.errors import Denied, InvalidInput, NotFound
from memsvc.ledger import registry
from memsvc.ledger import writer as ledger
from memsvc.model.replies import Json, RestoreReply, as_data
from memsvc.model.requests import DecisionRequest, ForgetRequest, RestoreRequest
from memsvc.model.vocabulary import Disposition, ForgetMode
from memsvc.scope.proof import WriteScope
from memsvc.service import access
from memsvc.service.gateway import checks
from memsvc.service.gateway.files.scan import Scanner
from memsvc.service.gateway.operations import settle
from memsvc.service.gateway.parts import Parts, root_of
from memsvc.service.gateway.review.decision import Decision, Item
from memsvc.service.gateway.standing import Current
from memsvc.service.gateway.undo.derived import derived_from
from memsvc.service.gateway.undo.purge import purge
from memsvc.service.gateway.undo.restore import bring_back

__all__ = ["PurgeDecision", "decide_purge"]


class PurgeDecision(NamedTuple):
    """What a decision did: its reply, and the claims that are rejected from now on."""

    reply: dict[str, Json]
    rejected: Sequence[checks.Statement]


def decide_purge(
    parts: Parts, scanner: Scanner, scope: WriteScope, item: Item, request: DecisionRequest
) -> PurgeDecision:
    """Carry out a decision about a request to purge, whose reviewer `scope` proves.

    keep-new destroys the note; keep-old brings it back as it was before the request; reject-both
    leaves it retracted. The first two are for a person who confirms. The caller holds the vault's
    lock. Raises Denied, InvalidInput, NotFound, and what a purge or a restore raises.
    """
    disposition = request.disposition
    if disposition in (Disposition.KEEP_BOTH, Disposition.REPLACE):
        raise InvalidInput(
            "a request to purge takes approve (keep-new: the note is destroyed), reject (keep-old: "
            "it comes back) or reject with reject-both (it stays retracted)",
            argument="disposition",
        )
    if disposition is not Disposition.REJECT_BOTH and not scope.caller.confirmed:
        raise Denied(
            "to destroy a note, or to bring it back, is a person's decision, who confirms it: add "
            "--confirm"
        )
    now_is = _current(parts, scanner, scope, item)
    approves = disposition is Disposition.KEEP_NEW
    decision = Decision(item, request, scope.caller, approves)
    close = _Closing(parts.clock, decision, now_is.version.version)
    if approves:
        return _destroy(parts, now_is, close)
    if disposition is Disposition.KEEP_OLD:
        back = RestoreRequest(id=item.note_id, reason=request.reason)
        restored = bring_back(parts, now_is, back, first=close)
        return PurgeDecision(close.reply(restored.path, restored.notice, restored=restored), ())
    with parts.database.write() as connection:
        close(connection)
    return PurgeDecision(close.reply(now_is.note.path, "nothing was erased; it stays as it is"), ())


def _current(parts: Parts, scanner: Scanner, scope: WriteScope, item: Item) -> Current:
    with parts.database.read() as connection:
        vault, root = root_of(connection, item.scope.vault)
        note = registry.find_note(connection, item.note_id)
    settle(parts, vault)
    scanner.require_folder(vault)
    if note is not None:
        scanner.refresh_locked(vault, root, [note.path])
    with parts.database.read() as connection:
        note = registry.find_note(connection, item.note_id)
        version = registry.find_version(connection, note.note_id, note.version) if note else None
    if note is None or version is None or note.scope != item.scope:
        raise NotFound("the note of this item is not there any more", argument="id")
    return Current(scope, vault, root, note, version)


def _destroy(parts: Parts, now_is: Current, close: "_Closing") -> PurgeDecision:
    wish = ForgetRequest(
        id=str(now_is.note.note_id), mode=ForgetMode.PURGE, reason=close.request.reason
    )
    with parts.database.read() as connection:
        around = access.around(connection, now_is.scope.caller, now_is.note.scope)
        derived = derived_from(around, connection, now_is.note, now_is.version)
    report, rejected = purge(parts, now_is, wish, first=close)
    reply = close.reply("", report.notice, tombstones=report.tombstones)
    reply["purge"] = {**_object(as_data(report)), "derived": as_data(derived)}
    return PurgeDecision(reply, rejected)


def _object(data: Json) -> dict[str, Json]:
    return data if isinstance(data, dict) else {}


class _Closing:
    """Closes the item, with the decision's event, at the beginning of the transaction that acts."""

    def __init__(self, clock: Clock, decision: Decision, version: int) -> None:
        self.request = decision.request
        self._clock = clock
        self._decision = decision
        self._version = version
        self._seq = 0

    def __call__(self, connection: Connection) -> None:
        """Raises InvalidInput when somebody else decided meanwhile."""
        now = self._clock.now()
        event = self._decision.event(self._decision.item.note_id, self._version)
        self._seq = ledger.add_event(connection, event, at=now)
        self._decision.close(connection, event_seq=self._seq, at=now)

    def reply(
        self,
        path: str,
        notice: str,
        *,
        tombstones: int = 0,
        restored: RestoreReply | None = None,
    ) -> dict[str, Json]:
        """What the person is told, after the transaction."""
        reply = self._decision.reply(
            self._decision.item.note_id,
            path=path,
            event_seq=self._seq,
            tombstones=tombstones,
            notice=notice,
        )
        return reply if restored is None else {**reply, "restored": as_data(restored)}
