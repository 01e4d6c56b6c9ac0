"""Lifting a tombstone: only a reviewer, with a confirmation, and on record."""

from datetime import datetime

from sqlalchemy import Connection

from memsvc.errors import NotFound
from memsvc.ledger import reader
from memsvc.ledger import writer as ledger
from memsvc.model.events import NewEvent
from memsvc.model.identity import Caller, Scope
from memsvc.model.vocabulary import Action, Outcome, ProjectSlug, Role, VaultName
from memsvc.service import access
from memsvc.service.gateway import checks
from memsvc.service.gateway.parts import Parts

__all__ = ["lift", "lift_one"]


def lift(parts: Parts, caller: Caller, *, tombstone_id: str, reason: str) -> dict[str, str]:
    """Let a rejected claim be saved again. Raises InvalidInput, SecretFound, NotFound, Denied."""
    checks.check_lines(reason=reason)
    with parts.database.read() as connection:
        scope = access.reads(connection, caller)
        found = [
            row
            for row in reader.tombstones(scope, connection)
            if row["tombstone_id"] == tombstone_id.strip().upper() and not row["lifted_at"]
        ]
        if not found:
            raise NotFound("no such tombstone in this scope; `memsvc tombstone list` shows them")
        access.writes(
            connection,
            caller,
            vault=found[0]["vault"],
            project=found[0]["project"],
            need=Role.REVIEWER,
        )
    access.require_confirmed(caller, "lifting a rejection")
    row = found[0]
    with parts.database.write() as connection:
        seq = lift_one(
            connection,
            caller,
            tombstone_id=row["tombstone_id"],
            scope=Scope(VaultName(row["vault"]), ProjectSlug(row["project"])),
            note_id=row["note_id"],
            version=row["version"],
            reason=reason,
            at=parts.clock.now(),
        )
    return {"tombstone": str(row["tombstone_id"]), "event": str(seq)}


def lift_one(
    connection: Connection,
    caller: Caller,
    *,
    tombstone_id: str,
    scope: Scope,
    note_id: str,
    version: int,
    reason: str,
    at: datetime,
) -> int:
    """Lift a tombstone of a scope that the caller reviews, with an event of its own; its number."""
    seq = ledger.add_event(
        connection,
        NewEvent(
            action=Action.LIFT,
            outcome=Outcome.DONE,
            caller=caller,
            scope=scope,
            note_id=note_id,
            version=version,
            reason=reason,
            detail={"tombstone": tombstone_id, "confirmed": caller.confirmed},
        ),
        at=at,
    )
    ledger.lift_tombstone(connection, tombstone_id, at=at, by=str(caller.principal), event_seq=seq)
    return seq
