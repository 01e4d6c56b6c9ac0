"""A throw-away home whose clock and ids are told, with two vaults and callers bound to projects."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memsvc.bootstrap import open_service
from memsvc.clock import stamp
from memsvc.embedding.loader import LazyEmbedder
from memsvc.model.identity import Caller, Principal
from memsvc.model.replies import CorrectReply, ForgetReply, RecallReply, SaveReply
from memsvc.model.requests import CorrectRequest, ForgetRequest, RecallRequest, SaveRequest
from memsvc.model.vocabulary import (
    CorrectMode,
    ForgetMode,
    Kind,
    PrincipalKind,
    ProjectSlug,
    VaultName,
)
from memsvc.service.api import MemoryService
from memsvc.service.recall.tuning import DEFAULT, Tuning
from memsvc.settings import Settings

__all__ = ["HERE", "OTHER_VAULT", "TAG", "THERE", "VAULT", "House", "agent", "note_text", "person"]

VAULT, OTHER_VAULT = "personal", "second"
HERE, THERE = "heron", "osprey"
TAG = "field"
"""Every note of the bench has this tag and the kind fact, so that filters leave it in."""
_BEGIN = datetime(2026, 6, 1, 8, 0, tzinfo=UTC)
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def agent(project: str = HERE, *, vault: str = VAULT, name: str = "prober") -> Caller:
    """An agent bound to a project."""
    principal = Principal(PrincipalKind.AGENT, name)
    return Caller(principal, VaultName(vault), ProjectSlug(project), door="bench")


def person(project: str = HERE) -> Caller:
    """The person who owns the home."""
    principal = Principal(PrincipalKind.HUMAN, "alice")
    return Caller(principal, VaultName(VAULT), ProjectSlug(project), door="bench", confirmed="flag")


def note_text(body: str, **keys: str) -> str:
    """A hand-written note file: its frontmatter keys, the bench's tag and kind, the body."""
    lines = [f"{key}: {value}" for key, value in keys.items()]
    return "\n".join(["---", *lines, "kind: fact", f"tags: [{TAG}]", "---", body, ""])


@dataclass(slots=True)
class _Clock:
    instant: datetime = _BEGIN

    def now(self) -> datetime:
        return self.instant


class _Ids:
    """ULIDs that count up, so that two runs break ties in the same way."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, now: datetime) -> str:
        self._count += 1
        return _spell(int(now.timestamp() * 1000), 10) + _spell(self._count, 16)


def _spell(number: int, width: int) -> str:
    return "".join(_ALPHABET[(number >> (5 * place)) & 31] for place in reversed(range(width)))


class House:
    """The verbs of one home. Every change moves the clock by a minute; asking does not."""

    def __init__(self, root: Path, *, embedder: LazyEmbedder, tuning: Tuning = DEFAULT) -> None:
        self._root = root
        self._embedder = embedder
        self._tuning = tuning
        self._clock = _Clock()
        self._ids = _Ids()
        self.service: MemoryService = self._open()
        folder = root / OTHER_VAULT
        folder.mkdir()
        self.service.vault_add(person(), OTHER_VAULT, str(folder), {}, layout="folders")

    def _open(self) -> MemoryService:
        service = open_service(
            Settings.model_validate({"home": self._root / "home", "embedder": "none"}),
            clock=self._clock,
            new_id=self._ids,
            embedder=self._embedder,
        )
        service.ensure_ready()
        return service

    def close(self) -> None:
        """Give back every handle."""
        self.service.close()

    def restart(self) -> None:
        """Another process, as far as a process can tell."""
        self.service.close()
        self.service = self._open()

    def reindex(self) -> None:
        """Drop the index and build it anew from files and ledger."""
        self.service.reindex(person())

    def now(self) -> str:
        """The present instant as text that a request takes."""
        return stamp(self._clock.now())

    def day(self, days: int) -> str:
        """The date so many days from now."""
        return self.now_plus(days)[:10]

    def now_plus(self, days: float) -> str:
        """The instant so many days from now."""
        return stamp(self._clock.now() + timedelta(days=days))

    def tick(self, *, days: float = 0.0) -> str:
        """Let time pass, a minute by default; the new instant."""
        self._clock.instant += timedelta(days=days) if days else timedelta(minutes=1)
        return self.now()

    def file(self, path: str, *, vault: str = VAULT) -> Path:
        """A path inside a vault."""
        root = self._root / "home" / VAULT if vault == VAULT else self._root / OTHER_VAULT
        return root / path

    def write(self, path: str, text: str, *, vault: str = VAULT) -> Path:
        """Put a file there as editors do, whole under another name first."""
        self.tick()
        target = self.file(path, vault=vault)
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_name(f".{target.name}.new")
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(target)
        return target

    def drop(
        self, path: str, body: str, *, vault: str = VAULT, keys: Mapping[str, str] | None = None
    ) -> str:
        """Put a note's file there with an id in its frontmatter, and have it taken in; the id."""
        note_id = self._ids(self._clock.now())
        self.write(path, note_text(body, id=note_id, **(keys or {})), vault=vault)
        self.settle(vault)
        return note_id

    def settle(self, vault: str = VAULT) -> None:
        """Take in what changed in a vault's folder."""
        self.service.scan_all(agent(vault=vault))

    def save(
        self,
        title: str,
        body: str,
        *,
        by: Caller | None = None,
        supersedes: tuple[str, ...] = (),
        valid: tuple[str, str] = ("", ""),
        source: tuple[str, ...] = (),
    ) -> SaveReply:
        """A new note with the bench's tag and kind; `valid` are from and to. Raises as save does."""
        self.tick()
        request = SaveRequest(
            title=title,
            body=body,
            kind=Kind.FACT,
            tags=(TAG,),
            supersedes=supersedes,
            valid_from=valid[0],
            valid_to=valid[1],
            source=source,
        )
        return self.service.save(by or agent(), request)

    def correct(
        self,
        note: SaveReply | CorrectReply,
        body: str,
        mode: CorrectMode,
        *,
        by: Caller | None = None,
        effective: str = "",
    ) -> CorrectReply:
        """A note's whole text replaced. Raises as correct does."""
        self.tick()
        request = CorrectRequest(
            id=note.id, version=note.version, mode=mode, body=body, effective=effective
        )
        return self.service.correct(by or agent(), request)

    def forget(
        self,
        note_id: str,
        *,
        by: Caller | None = None,
        passage: str = "",
        mode: ForgetMode = ForgetMode.RETRACT,
    ) -> ForgetReply:
        """A note or a passage retracted. Raises as forget does."""
        self.tick()
        request = ForgetRequest(id=note_id, passage=passage, mode=mode, reason="bench")
        return self.service.forget(by or agent(), request)

    def ask(
        self, caller: Caller, request: RecallRequest, *, tuning: Tuning | None = None
    ) -> RecallReply:
        """What recall answers; `tuning` takes the place of the home's."""
        return self.service.recall(caller, request, tuning=tuning or self._tuning)
