"""A home with its callers, as the tests of the verbs use it: real files, real database."""

from dataclasses import dataclass, field
from pathlib import Path

from memsvc.bootstrap import open_service
from memsvc.model.identity import Caller, Principal
from memsvc.model.replies import CorrectReply, ForgetReply, Hit, RecallReply, SaveReply
from memsvc.model.requests import CorrectRequest, ForgetRequest, RecallRequest, SaveRequest
from memsvc.model.vocabulary import CorrectMode, ForgetMode, PrincipalKind, ProjectSlug, VaultName
from memsvc.service.api import MemoryService
from memsvc.settings import Settings

__all__ = ["World", "agent", "human"]


def agent(project: str = "heron", *, vault: str = "personal", name: str = "tester") -> Caller:
    principal = Principal(PrincipalKind.AGENT, name)
    return Caller(principal, VaultName(vault), ProjectSlug(project), door="test")


def human(project: str = "heron", *, vault: str = "personal", confirmed: str = "flag") -> Caller:
    principal = Principal(PrincipalKind.HUMAN, "alice")
    return Caller(
        principal, VaultName(vault), ProjectSlug(project), door="test", confirmed=confirmed
    )


@dataclass
class World:
    root: Path
    embedder: str = "none"
    service: MemoryService = field(init=False)

    def __post_init__(self) -> None:
        self.service = self.open()

    def open(self) -> MemoryService:
        settings = Settings.model_validate({"home": self.root / "home", "embedder": self.embedder})
        service = open_service(settings)
        service.ensure_ready()
        return service

    def restart(self) -> None:
        self.service.close()
        self.service = self.open()

    @property
    def vault(self) -> Path:
        return self.root / "home" / "personal"

    def loose(self) -> list[str]:
        """The names of what lies in the vault and is no note."""
        there = self.vault.rglob("*")
        return [path.name for path in there if path.suffix != ".md" and path.is_file()]

    def file(self, path: str) -> Path:
        return self.vault / path

    def write(self, path: str, text: str | bytes) -> Path:
        target = self.vault / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode() if isinstance(text, str) else text)
        return target

    def save(self, title: str, body: str, *, by: Caller | None = None, **more: object) -> SaveReply:
        request = SaveRequest(title=title, body=body, **more)  # type: ignore[arg-type] # passed on
        return self.service.save(by or agent(), request)

    def correct(
        self,
        note: SaveReply | CorrectReply,
        body: str,
        mode: str = "wrong",
        *,
        by: Caller | None = None,
        **more: object,
    ) -> CorrectReply:
        request = CorrectRequest(
            id=note.id,
            version=note.version,
            mode=CorrectMode(mode),
            body=body,
            **more,  # type: ignore[arg-type] # passed on
        )
        return self.service.correct(by or agent(), request)

    def forget(
        self, note_id: str, *, by: Caller | None = None, mode: str = "retract", **more: object
    ) -> ForgetReply:
        request = ForgetRequest(id=note_id, mode=ForgetMode(mode), **more)  # type: ignore[arg-type] # passed on
        return self.service.forget(by or agent(), request)

    def ask(self, query: str, *, by: Caller | None = None, **more: object) -> RecallReply:
        request = RecallRequest(query=query, **more)  # type: ignore[arg-type] # passed on
        return self.service.recall(by or agent(), request)

    def hits(self, query: str, *, by: Caller | None = None, **more: object) -> list[Hit]:
        return self.ask(query, by=by, **more).hits

    def ids(self, query: str, *, by: Caller | None = None, **more: object) -> list[str]:
        return [hit.id for hit in self.hits(query, by=by, **more)]
