"""Lifting a tombstone: only a reviewer, with a confirmation, and on record."""

from memsvc.errors import NotFound
from memsvc.ledger import reader
from memsvc.ledger import writer as ledger
from memsvc.model.events import NewEvent
from memsvc.model.identity import Caller, Scope
from memsvc.model.vocabulary import Action, Outcome, ProjectSlug, Role, VaultName
from memsvc.service import access
from memsvc.service.gateway import checks
from memsvc.service.gateway.parts import Parts

__all__ = ["lift"]


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
    now = parts.clock.now()
    with parts.database.write() as connection:
        seq = ledger.add_event(
            connection,
            NewEvent(
                action=Action.LIFT,
                outcome=Outcome.DONE,
                caller=caller,
                scope=Scope(VaultName(row["vault"]), ProjectSlug(row["project"])),
                note_id=row["note_id"],
                version=row["version"],
                reason=reason,
                detail={"tombstone": row["tombstone_id"], "confirmed": caller.confirmed},
            ),
            at=now,
        )
        ledger.lift_tombstone(
            connection, row["tombstone_id"], at=now, by=str(caller.principal), event_seq=seq
        )
    return {"tombstone": str(row["tombstone_id"]), "event": str(seq)}
