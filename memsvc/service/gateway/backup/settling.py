"""A home put back from a backup: where its vaults are now, and the event that says so."""

from collections.abc import Mapping
from dataclasses import replace

from memsvc.errors import InvalidInput
from memsvc.index import schema
from memsvc.ledger import registry
from memsvc.ledger import writer as ledger
from memsvc.model.events import NewEvent
from memsvc.model.identity import Caller, Scope
from memsvc.model.replies import Json
from memsvc.model.vocabulary import SHARED, Action, Outcome
from memsvc.service import access
from memsvc.service.gateway.parts import Parts

__all__ = ["settle_in"]


def settle_in(
    parts: Parts,
    caller: Caller,
    *,
    folders: Mapping[str, str],
    detail: Mapping[str, Json],
    reason: str,
) -> int:
    """Register the vaults at their folders, in one transaction with its event; the event's number.

    `folders` are by vault. Raises Denied for anyone but a person who confirms, InvalidInput for a
    home that was opened since, StorageFailed.
    """
    access.require_confirmed(caller, "restoring a backup")
    with parts.database.write() as connection:
        if schema.current(connection):  # it was opened since, so it is in use
            raise InvalidInput(
                "this home is in use: a backup is put where none is", argument="into"
            )
        names = [vault.name for vault in registry.vaults(connection)]
        if caller.vault not in names and names:
            caller = replace(caller, vault=names[0], project=SHARED)
        for name in names:
            if name in folders:
                ledger.update_vault(
                    connection, name, path=folders[name], offline_since="", offline_reason=""
                )
        return ledger.add_event(
            connection,
            NewEvent(
                action=Action.RESTORE,
                outcome=Outcome.DONE,
                caller=caller,
                scope=Scope(caller.vault, caller.project),
                reason=reason,
                detail={**detail, "confirmed": caller.confirmed},
            ),
            at=parts.clock.now(),
        )
