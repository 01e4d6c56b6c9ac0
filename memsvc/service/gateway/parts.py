"""What every write needs: stores, clock, keys, and the lock of a vault."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import Connection

from memsvc.clock import Clock
from memsvc.database import Database
from memsvc.embedding.protocol import Embedder
from memsvc.errors import NotFound, StorageFailed, VaultOffline
from memsvc.ids import NewId
from memsvc.ledger import registry
from memsvc.ledger.keys import KeyRing
from memsvc.ledger.records import VaultRecord
from memsvc.model.vocabulary import VaultName
from memsvc.service.gateway.files.folders import OwnChanges
from memsvc.service.home import Home

__all__ = ["First", "Parts", "root_of", "vault_of"]

First = Callable[[Connection], None]
"""What a transaction does before anything else."""

LOCK_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Parts:
    """The gateway's collaborators. `embedder` gives the model if it is loaded, and never waits;
    `reader` loads it or waits for it a while.
    """

    home: Home
    database: Database
    clock: Clock
    new_id: NewId
    keys: Callable[[], KeyRing]
    embedder: Callable[[], Embedder | None]
    reader: Callable[[], Embedder | None]
    own_changes: OwnChanges = field(default_factory=OwnChanges)

    @contextmanager
    def locked(self, vault: VaultName) -> Iterator[None]:
        """Hold the vault against every other writer, in this process and others."""
        lock = FileLock(self.home.lock(vault), timeout=LOCK_SECONDS, poll_interval=0.003)
        try:
            with lock:
                yield
        except Timeout as error:
            raise StorageFailed(
                f"vault {vault} stayed locked by another process for {LOCK_SECONDS} s; "
                "nothing was written; repeat the call"
            ) from error

    @contextmanager
    def try_locked(self, vault: VaultName) -> Iterator[bool]:
        """Hold the vault if nobody else does; yields whether it is held."""
        lock = FileLock(self.home.lock(vault), timeout=0)
        try:
            lock.acquire()
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            lock.release()


def vault_of(connection: Connection, name: VaultName) -> VaultRecord:
    """A registered vault. Raises NotFound."""
    record = registry.vault_named(connection, name)
    if record is None:
        raise NotFound("that vault is not registered; `memsvc vault list` shows the vaults")
    return record


def root_of(connection: Connection, name: VaultName) -> tuple[VaultRecord, Path]:
    """A vault that is online, and its folder. Raises NotFound or VaultOffline."""
    record = vault_of(connection, name)
    if record.offline_since:
        raise VaultOffline(
            f"vault {name} is offline since {record.offline_since}: {record.offline_reason}; "
            "nothing was removed; make its folder readable again, or accept the loss with "
            f"`memsvc vault accept {name}`",
            vault=name,
        )
    return record, Path(record.path)
