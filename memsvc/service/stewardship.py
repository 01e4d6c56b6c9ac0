"""What the person who looks after a home does: audit, rejections, review, vaults, index, health."""

import time
from collections.abc import Callable, Iterator, Mapping

from sqlalchemy import Connection

from memsvc.clock import Clock, stamp
from memsvc.database import Database
from memsvc.embedding.loader import LazyEmbedder
from memsvc.errors import Denied, InvalidInput, VaultOffline
from memsvc.index import reader as index
from memsvc.ledger import chain, reader, registry
from memsvc.model.catalogue import Catalogue
from memsvc.model.identity import Caller
from memsvc.model.replies import EventView, HistoryReply, Json
from memsvc.model.requests import HistoryRequest
from memsvc.model.vocabulary import Action, PrincipalKind, Role, VaultName
from memsvc.scope.proof import ReadScope
from memsvc.service import access
from memsvc.service.gateway.drafts import instant
from memsvc.service.gateway.gateway import Gateway
from memsvc.service.home import Home

__all__ = ["Progress", "Stewardship", "events_of"]

MOST_EVENTS = 200

Progress = Callable[[int, int, str], None]
"""Called with done, total and what is being done."""


class Stewardship:
    """The part of the service that is not the seven verbs."""

    _home: Home
    _database: Database
    _clock: Clock
    _gateway: Gateway
    _embedder: LazyEmbedder

    def ensure_ready(self) -> None:
        """Make the home usable; the service says how."""
        raise NotImplementedError

    def _look(self, vault: VaultName, *, quiet: bool = False) -> list[str]:
        raise NotImplementedError

    def audit_list(
        self,
        caller: Caller,
        *,
        id: str = "",  # noqa: A002 - the contract's name
        since: str = "",
        action: str = "",
        limit: int = 50,
        before: int = 0,
    ) -> HistoryReply:
        """Audit events of every scope that the person looks after."""
        self.ensure_ready()
        request = HistoryRequest(id=id, since=since, action=action, limit=limit, before=before)
        with self._database.read() as connection:
            return events_of(access.oversight(connection, caller), connection, request)

    def audit_verify(self) -> dict[str, Json]:
        """Whether the hash chain holds, and what is wrong with it."""
        self.ensure_ready()
        with self._database.read() as connection:
            verdict = chain.verify(connection)
        return {
            "ok": verdict.ok,
            "events": verdict.events,
            "head": verdict.head,
            "problems": list(verdict.problems),
        }

    def audit_export(self, caller: Caller) -> Iterator[EventView]:
        """Every event the person may see, oldest first."""
        self.ensure_ready()
        with self._database.read() as connection:
            scope = access.oversight(connection, caller)
            found = reader.events(scope, connection, limit=10_000_000)
        yield from reversed(found)

    def tombstones(self, caller: Caller) -> list[dict[str, Json]]:
        """What was rejected, without its text."""
        self.ensure_ready()
        with self._database.read() as connection:
            return reader.tombstones(access.oversight(connection, caller), connection)

    def lift(self, caller: Caller, tombstone_id: str, reason: str) -> dict[str, str]:
        """A rejected claim allowed again; for a person, with a confirmation."""
        self.ensure_ready()
        return self._gateway.lift(caller, tombstone_id=tombstone_id, reason=reason)

    def reviews(self, caller: Caller) -> list[dict[str, Json]]:
        """What waits for a person's decision."""
        self.ensure_ready()
        with self._database.read() as connection:
            return reader.reviews(access.oversight(connection, caller), connection)

    def vault_add(
        self,
        caller: Caller,
        name: str,
        path: str,
        projects: Mapping[str, str],
        layout: str = "auto",
    ) -> dict[str, Json]:
        """Register a folder as a vault."""
        self.ensure_ready()
        _owner(caller)
        record = self._gateway.add_vault(
            caller, name=name, path=path, projects=projects, layout=layout
        )
        return {"name": record.name, "path": record.path, "layout": record.layout}

    def vault_list(self) -> list[dict[str, Json]]:
        """The vaults of the home."""
        self.ensure_ready()
        with self._database.read() as connection:
            return [
                {
                    "name": one.name,
                    "path": one.path,
                    "layout": one.layout,
                    "projects": dict(one.projects),
                    "notes": registry.count_notes(connection, one.name),
                    "state": "offline" if one.offline_since else "online",
                    "reason": one.offline_reason,
                }
                for one in registry.vaults(connection)
            ]

    def vault_remove(self, caller: Caller, name: str) -> dict[str, Json]:
        """Stop serving a vault; its files stay."""
        self.ensure_ready()
        _owner(caller)
        self._gateway.remove_vault(caller, name=name)
        return {"removed": name}

    def vault_accept(self, caller: Caller, name: str) -> dict[str, Json]:
        """Believe that the notes a vault lost are deleted, and bring it online."""
        self.ensure_ready()
        _owner(caller)
        report = self._gateway.accept_loss(caller, name=name)
        return {"vault": name, "removed": report.removed, "files": report.files}

    def reindex(self, caller: Caller, progress: Progress | None = None) -> dict[str, Json]:
        """Read every file again, drop the index and build it anew from files and ledger."""
        self.ensure_ready()
        begun = time.monotonic()
        with self._database.read() as connection:
            vaults = registry.vaults(connection)
        offline = []
        for vault in vaults:
            try:
                self._gateway.scan(vault.name, seconds=None, force=True, progress=progress)
            except VaultOffline:
                offline.append(vault.name)
        notes = self._gateway.reindex(caller, progress=progress)
        self._embedder.load_now()
        vectors = self._gateway.embed_missing(limit=None, progress=progress)
        return {
            "notes": notes,
            "vectors": vectors,
            "offline": [str(name) for name in offline],
            "model": self._embedder.state,
            "seconds": round(time.monotonic() - begun, 2),
        }

    def stats(self, caller: Caller) -> dict[str, Json]:
        """Counts and sizes."""
        self.ensure_ready()
        from memsvc.service.status import statistics  # counts things: only when asked

        with self._database.read() as connection:
            scope = access.oversight(connection, caller)
            return statistics(scope, connection, self._home, self._embedder)

    def catalogue(self, caller: Caller) -> Catalogue:
        """The indexed notes that the caller may recall, for building and checking a ruler."""
        self.ensure_ready()
        now = stamp(self._clock.now())
        model = self._embedder.ready()
        with self._database.read() as connection:
            scope = access.reads(connection, caller)
            return Catalogue(
                at=now,
                scope=scope.label,
                scopes=tuple(str(one) for one in scope.scopes),
                notes=tuple(index.catalogue(scope, connection, now=now)),
                counts=index.counts(scope, connection),
                model_id=model.model_id if model is not None else "",
            )

    def doctor(self, caller: Caller) -> list[dict[str, Json]]:
        """Findings about the home and its vaults: `check`, `state` (ok, warn, fail), `detail`."""
        self.ensure_ready()
        from memsvc.service.status import findings  # looks at everything: only when asked

        problems = [
            notice
            for one in self.vault_list()
            for notice in self._look(VaultName(str(one["name"])), quiet=True)
        ]
        return findings(self._database, self._home, self._embedder, caller, problems)


def _owner(caller: Caller) -> None:
    if caller.principal.kind is not PrincipalKind.HUMAN:
        raise Denied(f"this is for the person who owns the home (role {Role.ADMIN})")


def events_of(scope: ReadScope, connection: Connection, request: HistoryRequest) -> HistoryReply:
    """One page of a scope's events, newest first. Raises InvalidInput for an unknown action or date."""
    limit = max(1, min(request.limit, MOST_EVENTS))
    if request.action and request.action not in {one.value for one in Action}:
        raise InvalidInput(f"action must be one of {', '.join(Action)}", argument="action")
    found = reader.events(
        scope,
        connection,
        note_id=request.id.strip().upper(),
        since=instant(request.since, argument="since"),
        action=request.action,
        before=request.before,
        limit=limit + 1,
    )
    more = len(found) > limit
    shown = found[:limit]
    return HistoryReply(
        scope=scope.label, events=shown, next=shown[-1].seq if more and shown else 0
    )
