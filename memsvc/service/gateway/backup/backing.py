"""Backups from the gateway's side: vaults held still, the ledger as it then is, and the event."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sqlalchemy import Connection

from memsvc.clock import stamp
from memsvc.database import Database, Snapshot
from memsvc.errors import InvalidInput, Misconfigured
from memsvc.ledger import chain, registry, tombstones
from memsvc.ledger import writer as ledger
from memsvc.ledger.anchor import Anchor
from memsvc.ledger.chain import Verdict
from memsvc.ledger.keys import KeyRing
from memsvc.ledger.records import VaultRecord
from memsvc.model.events import NewEvent
from memsvc.model.identity import Caller, Scope
from memsvc.model.progress import Progress
from memsvc.model.replies import Json
from memsvc.model.vocabulary import Action, Outcome
from memsvc.service.anchoring import signed
from memsvc.service.gateway.files.scan import Scanner
from memsvc.service.gateway.operations import settle
from memsvc.service.gateway.parts import Parts

__all__ = ["Backing", "Still", "check_ledger", "keys_needed", "reading"]


class Still:
    """Vaults that nobody writes until `release`, and the ledger of that moment until the end."""

    def __init__(self, held: ExitStack, snapshot: Snapshot) -> None:
        self._held = held
        self._snapshot = snapshot

    def release(self) -> None:
        """Let the writers go on; the ledger's snapshot stays."""
        self._held.close()

    def copy_ledger(self, path: Path, progress: Callable[[int, int], None] | None = None) -> None:
        """Write the ledger, index and all, into a new file. Raises StorageFailed."""
        self._snapshot.copy_to(path, progress)


class Backing:
    """One backup of a running home. Every method may raise StorageFailed."""

    def __init__(self, parts: Parts, scanner: Scanner, caller: Caller) -> None:
        self._parts = parts
        self._scanner = scanner
        self._caller = caller

    @property
    def home(self) -> Path:
        """The home's folder."""
        return self._parts.home.root

    def now(self) -> str:
        """The time, as the ledger writes it."""
        return stamp(self._parts.clock.now())

    def vaults(self) -> list[VaultRecord]:
        """The registered vaults."""
        with self._parts.database.read() as connection:
            return registry.vaults(connection)

    def take_in(self, vault: VaultRecord, progress: Progress | None) -> None:
        """Take in what people changed in the vault's files. Raises VaultOffline."""
        self._scanner.scan(vault.name, seconds=None, progress=progress)

    @contextmanager
    def still(self, vaults: Sequence[VaultRecord]) -> Iterator[Still]:
        """Hold these vaults against every writer, with no file change owed."""
        with ExitStack() as held:
            for vault in sorted(vaults, key=lambda one: one.name):
                held.enter_context(self._parts.locked(vault.name))
                settle(self._parts, vault)
            with self._parts.database.snapshot() as snapshot:
                yield Still(held, snapshot)

    def secrets(self) -> dict[str, str]:
        """The home's secret key files by name, as text. Raises Misconfigured."""
        found = {}
        for path in (self._parts.home.keys, self._parts.home.signing_key):
            try:
                found[path.name] = path.read_text("utf-8")
            except FileNotFoundError:
                continue
            except (OSError, ValueError) as error:
                raise Misconfigured(f"the key file {path.name} cannot be read") from error
        return found

    def check_keys(self, path: Path) -> None:
        """That the copied ledger's rejections can be checked with the home's keys.

        Raises Misconfigured.
        """
        self._parts.keys()
        missing = keys_needed(path).difference(
            KeyRing.open(self._parts.home.keys, create=False).ids
        )
        if missing:
            raise Misconfigured("the tombstone key file changed meanwhile; repeat the backup")

    def signed(self, verdict: Verdict) -> Anchor:
        """The head of the copied ledger, signed by the home's key, which is made if missing."""
        return signed(self._parts.home, verdict, at=self.now())

    def done(self, detail: dict[str, Json], *, reason: str) -> int:
        """The event that says that the backup is made; its number."""
        with self._parts.database.write() as connection:
            return ledger.add_event(
                connection,
                NewEvent(
                    action=Action.CONFIG,
                    outcome=Outcome.DONE,
                    caller=self._caller,
                    scope=Scope(self._caller.vault, self._caller.project),
                    reason=reason,
                    detail={"backup": "made", **detail},
                ),
                at=self._parts.clock.now(),
            )


@contextmanager
def reading(path: Path) -> Iterator[Connection]:
    """One consistent snapshot of a ledger in a file of its own."""
    database = Database(path)
    try:
        with database.read() as connection:
            yield connection
    finally:
        database.close()


def check_ledger(path: Path) -> Verdict:
    """The chain of a ledger in a file of its own. Raises InvalidInput when it does not hold."""
    with reading(path) as connection:
        verdict = chain.verify(connection)
    if verdict.problems or not verdict.events:
        why = verdict.problems[0] if verdict.problems else "it has no event"
        raise InvalidInput(f"the audit of that ledger does not hold: {why}", argument="ledger")
    return verdict


def keys_needed(path: Path) -> frozenset[str]:
    """The keys that the standing rejections of a ledger in a file of its own were made with."""
    with reading(path) as connection:
        return tombstones.tombstone_keys(connection)
