"""What the person who looks after a home does beside the audit: rejections, review, vaults, health."""

import time
from collections.abc import Mapping, Sequence

from memsvc.clock import stamp
from memsvc.errors import NotFound, VaultOffline
from memsvc.index import reader as index
from memsvc.ledger import reader, registry
from memsvc.model.catalogue import Catalogue
from memsvc.model.identity import Caller
from memsvc.model.progress import Progress
from memsvc.model.replies import Json, RestoreReply
from memsvc.model.requests import RestoreRequest
from memsvc.model.vocabulary import VaultName
from memsvc.scope.vault_policy import VaultPolicy
from memsvc.service import access
from memsvc.service.reviewing import ReviewDesk

__all__ = ["Progress", "Stewardship"]


class Stewardship(ReviewDesk):
    """The part of the service that is not the seven verbs."""

    def tombstones(self, caller: Caller) -> list[dict[str, Json]]:
        """What was rejected, without its text."""
        self.ensure_ready()
        with self._database.read() as connection:
            return reader.tombstones(access.oversight(connection, caller), connection)

    def lift(self, caller: Caller, tombstone_id: str, reason: str) -> dict[str, str]:
        """A rejected claim allowed again; for a person, with a confirmation."""
        self.ensure_ready()
        return self._gateway.lift(caller, tombstone_id=tombstone_id, reason=reason)

    def restore(self, caller: Caller, request: RestoreRequest) -> RestoreReply:
        """A retracted or corrected note brought back; for a person, with a confirmation."""
        self.ensure_ready()
        return self._gateway.restore(caller, request)

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
        self._gateway.remove_vault(caller, name=name)
        return {"removed": name}

    def vault_policy(self, caller: Caller, name: str, pairs: Sequence[str] = ()) -> dict[str, str]:
        """A vault's policy, after any `key=value` pairs are set. Raises InvalidInput, NotFound."""
        self.ensure_ready()
        if pairs:
            return self._gateway.set_policy(caller, name=name, pairs=pairs)
        with self._gateway.on_record(caller):
            access.require_owner(caller)
        with self._database.read() as connection:
            record = registry.vault_named(connection, name)
        if record is None:
            raise NotFound("no vault of that name; `memsvc vault list` shows them")
        return VaultPolicy.of(record.policy).shown()

    def vault_accept(self, caller: Caller, name: str) -> dict[str, Json]:
        """Believe that the notes a vault lost are deleted, and bring it online."""
        self.ensure_ready()
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
