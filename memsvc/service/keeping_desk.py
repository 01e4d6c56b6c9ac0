"""Backups for the person who owns a home: what `memsvc.ops.backup` needs of the service."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from memsvc.database import Database
from memsvc.ledger import migrate, reader
from memsvc.model.identity import Caller
from memsvc.model.progress import Progress
from memsvc.model.replies import EventView, Json
from memsvc.model.vocabulary import Action
from memsvc.service import access
from memsvc.service.gateway.gateway import Gateway
from memsvc.service.home import Home

if TYPE_CHECKING:
    from memsvc.service.gateway.backup.backing import Backing
    from memsvc.service.gateway.backup.merging import Merging

__all__ = ["KeepingDesk"]


class KeepingDesk:
    """The part of the service that a backup and a restore work through."""

    _home: Home
    _database: Database
    _gateway: Gateway

    def ensure_ready(self, progress: Progress | None = None) -> None:
        """Make the home usable; the service says how."""
        raise NotImplementedError

    @contextmanager
    def backing_up(self, caller: Caller) -> "Iterator[Backing]":
        """A backup of this home in the making; one that fails is on record. Raises Denied."""
        self.ensure_ready()
        with self._gateway.backing_up(caller) as backing:
            access.require_owner(caller)
            yield backing

    @contextmanager
    def merging(self, caller: Caller) -> "Iterator[Merging]":
        """A backup of this home being merged into it; one that fails is on record. Raises Denied."""
        self.ensure_ready()
        with self._gateway.merging(caller) as merging:
            access.require_owner(caller)
            yield merging

    def may_restore(self, caller: Caller) -> None:
        """Raises Denied, which is then on record here, unless the caller may put a home back."""
        self.ensure_ready()
        with self._gateway.on_record(caller, Action.RESTORE):
            access.require_owner(caller)

    def settle_in(
        self,
        caller: Caller,
        *,
        folders: Mapping[str, str],
        detail: Mapping[str, Json],
        reason: str = "",
    ) -> int:
        """Begin with a home whose files were just put back from a backup: its ledger brought to
        this version, its vaults registered at their folders, on record; the event's number.

        Raises Denied, Misconfigured, StorageFailed.
        """
        migrate.upgrade(self._database)
        return self._gateway.settle_in(caller, folders=folders, detail=detail, reason=reason)

    def events_since(self, caller: Caller, seq: int, *, limit: int = 200) -> list[EventView]:
        """What was recorded after an event, oldest first. Raises Denied."""
        self.ensure_ready()
        with self._gateway.on_record(caller):
            access.require_owner(caller)
        wanted = reader.EventFilter(after=seq)
        with self._database.read() as connection:
            scope = access.records(connection, caller)
            return reader.events(scope, connection, wanted, limit=limit, oldest_first=True)
