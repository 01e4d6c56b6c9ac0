"""What keeps the proofs of a home: a new tombstone key, and which anchors are looked for; on record."""

from pathlib import Path

from memsvc.errors import Denied
from memsvc.ledger import tombstones
from memsvc.ledger import writer as ledger
from memsvc.model.events import NewEvent
from memsvc.model.identity import Caller, Scope
from memsvc.model.replies import Json
from memsvc.model.vocabulary import Action, Outcome
from memsvc.service.anchoring import rest_of
from memsvc.service.gateway.parts import Parts

__all__ = ["forget_anchor", "rotate_key"]


def rotate_key(parts: Parts, caller: Caller, *, reason: str) -> dict[str, Json]:
    """Begin to make tombstones with a new key; all older keys are kept and still checked.

    The write transaction keeps out every process that makes or checks a tombstone. The file is
    replaced before the event commits: a crash between leaves a key that only lacks its event, and
    the next rotation records that one instead of making another. Raises Denied, StorageFailed.
    """
    _confirmed(caller, "a new tombstone key")
    now = parts.clock.now()
    with parts.database.write() as connection:
        ring = parts.keys()
        recorded = tombstones.recorded_keys(connection)
        resumed = len(ring.ids) > 1 and ring.ids[-1] not in recorded
        new = ring if resumed else ring.rotated()
        seq = ledger.add_event(
            connection,
            NewEvent(
                action=Action.CONFIG,
                outcome=Outcome.DONE,
                caller=caller,
                scope=Scope(caller.vault, caller.project),
                reason=reason,
                detail={
                    "tombstone_key": new.ids[-1],
                    "retained": list(new.ids[:-1]),
                    "resumed": resumed,
                    "confirmed": caller.confirmed,
                },
            ),
            at=now,
        )
        if not resumed:
            new.store()
    return {
        "key": new.ids[-1],
        "retained": list[Json](new.ids[:-1]),
        "resumed": resumed,
        "event": seq,
    }


def forget_anchor(parts: Parts, caller: Caller, *, place: str) -> dict[str, Json]:
    """Look for anchors at a place no longer; the file there stays. Raises Denied, InvalidInput."""
    _confirmed(caller, "a place that proves the audit")
    with rest_of(parts.home, place) as gone, parts.database.write() as connection:
        seq = ledger.add_event(
            connection,
            NewEvent(
                action=Action.CONFIG,
                outcome=Outcome.DONE,
                caller=caller,
                scope=Scope(caller.vault, caller.project),
                detail={
                    "anchors": "forgotten",
                    "kind": gone.kind,
                    "file": Path(gone.path).name,
                    "confirmed": caller.confirmed,
                },
            ),
            at=parts.clock.now(),
        )
    return {"forgotten": str(gone), "event": seq}


def _confirmed(caller: Caller, what: str) -> None:
    if not caller.confirms:
        raise Denied(f"{what} is a person's decision, who confirms it: add --confirm")
