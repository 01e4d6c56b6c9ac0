"""A home in which claims were rejected, and the product's own checks asked about new texts."""

import string
from collections.abc import Sequence
from pathlib import Path

from memsvc.bootstrap import open_service
from memsvc.clock import SystemClock
from memsvc.database import Database
from memsvc.embedding.loader import LazyEmbedder
from memsvc.ids import new_ulid
from memsvc.ledger import tombstones
from memsvc.ledger.keys import RingFile
from memsvc.model.identity import Caller, Principal, Scope
from memsvc.model.requests import ForgetRequest, SaveRequest
from memsvc.model.vocabulary import ForgetMode, PrincipalKind, ProjectSlug, VaultName
from memsvc.service.gateway import checks
from memsvc.service.gateway.guard import restated
from memsvc.service.gateway.parts import Parts
from memsvc.service.home import Home
from memsvc.settings import Settings

__all__ = ["House"]

VAULT, PROJECT = VaultName("personal"), ProjectSlug("bench")
TITLE = "Another note"
_LETTERS = string.ascii_lowercase
TOGETHER = 20
"""Claims in one note."""


class House:
    """One scope; `rejected` claims were saved in notes and forgotten with them."""

    def __init__(self, root: Path, embedder: LazyEmbedder, rejected: Sequence[str]) -> None:
        self._service = open_service(Settings.model_validate({"home": root}), embedder=embedder)
        home = Home(root)
        self._database = Database(home.database)
        self._scope = Scope(VAULT, PROJECT)
        self._parts = Parts(
            home=home,
            database=self._database,
            clock=SystemClock(),
            new_id=new_ulid,
            keys=RingFile(home.keys, self._needed),
            embedder=embedder.ready,
            reader=embedder.soon,
        )
        self.tombstones = self._reject(rejected)

    def _needed(self) -> frozenset[str]:
        with self._database.read() as connection:
            return tombstones.tombstone_keys(connection)

    def _reject(self, claims: Sequence[str]) -> int:
        caller = Caller(Principal(PrincipalKind.AGENT, "bench"), VAULT, PROJECT, door="bench")
        made = 0
        for start in range(0, len(claims), TOGETHER):
            body = "\n".join(f"- {claim}" for claim in claims[start : start + TOGETHER])
            note = self._service.save(
                caller, SaveRequest(title=f"Batch {_LETTERS[start // TOGETHER]}", body=body)
            )
            request = ForgetRequest(id=note.id, mode=ForgetMode.RETRACT, reason="bench")
            made += self._service.forget(caller, request).tombstones
        return made

    def blocks(self, body: str) -> bool:
        """Whether a note with this body meets a tombstone: what every write asks before it commits."""
        texts = checks.statements(TITLE, body)
        with self._database.read() as connection:
            met = checks.find_rejected(connection, self._parts.keys(), self._scope, texts)
        return bool(met)

    def suspects(self, body: str) -> list[restated.Suspicion]:
        """What the guard against paraphrases says of a note with this body."""
        return restated.likely(self._parts, self._scope, checks.statements(TITLE, body))

    def stands_for(self, suspicion: restated.Suspicion, claim: str) -> bool:
        """Whether the tombstone that was named is the one of this claim."""
        digests = [
            digest
            for one in checks.statements("", claim)
            for digest in self._parts.keys().candidates(self._scope, one.normal)
        ]
        return suspicion.tombstone.digest in digests

    def close(self) -> None:
        """Give back every handle."""
        self._service.close()
        self._database.close()
