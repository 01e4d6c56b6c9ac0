"""A service that answers from memory, for tests of what stands before it."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar, cast

from memsvc.interfaces.mcp.desk import Desk, Opened
from memsvc.model.identity import Caller, Principal
from memsvc.model.replies import (
    CorrectReply,
    Coverage,
    EventView,
    ForgetReply,
    HistoryReply,
    Hit,
    NoteView,
    RecallReply,
    Related,
    SaveReply,
    ScopesReply,
)
from memsvc.model.requests import (
    CorrectRequest,
    ForgetRequest,
    HistoryRequest,
    ReadRequest,
    RecallRequest,
    SaveRequest,
)
from memsvc.model.vocabulary import PrincipalKind, ProjectSlug, VaultName

if TYPE_CHECKING:
    from memsvc.service.api import MemoryService

__all__ = ["CALLER", "CALLS", "ID", "FakeService", "desk", "event", "note"]

_Reply = TypeVar("_Reply")

ID = "01KBA7ZD5QX4T9W2M3N8R6C0VE"
SCOPE = "personal/heron"
CALLER = Caller(
    principal=Principal(PrincipalKind.AGENT, "mcp"),
    vault=VaultName("personal"),
    project=ProjectSlug("heron"),
    door="mcp",
)
CALLS: dict[str, dict[str, object]] = {
    "recall": {"query": "release"},
    "save": {"title": "Release", "body": "12 March"},
    "correct": {"id": ID, "version": 1, "mode": "wrong", "body": "13 March"},
    "forget": {"id": ID},
    "read": {"id": ID},
    "history": {},
    "scopes": {},
}
"""A good call of every tool."""


def note(body: str = "The release is on 12 March.", *, title: str = "Release") -> NoteView:
    return NoteView(
        id=ID, version=1, title=title, scope=SCOPE, path="heron/release.md", kind="decision",
        status="active", trust="agent", author="agent:t", on_behalf_of="", session="", reason="",
        created="2026-11-30T10:04:11Z", updated="2026-11-30T10:04:11Z", valid_from="", valid_to="",
        source=["meeting"], tags=["deadline"], supersedes=[], superseded_by="", body=body,
        content_hash="0" * 64, links_in=[Related(id=ID, title=title, scope=SCOPE)],
    )  # fmt: skip


def event(seq: int, reason: str = "because") -> EventView:
    return EventView(
        seq=seq, at="2026-11-30T10:04:11.000000Z", action="save", outcome="done",
        vault="personal", project="heron", note_id=ID, version=1, actor="agent:t",
        on_behalf_of="", client="", session="", request_id="", reason=reason, before_hash="",
        after_hash="", detail={}, prev_hash="", hash="",
    )  # fmt: skip


def hit(text: str) -> Hit:
    return Hit(
        id=ID, version=1, title="Release", scope=SCOPE, path="heron/release.md", kind="decision",
        status="active", trust="agent", author="agent:t", valid_from="", valid_to="", updated="",
        source=[], heading="", text=text, cut=False, current=True, score=1.0,
    )  # fmt: skip


@dataclass(slots=True)
class FakeService:
    """Keeps what it was asked, and raises `error` instead of answering when there is one."""

    error: Exception | None = None
    asked: list[tuple[Caller, object]] = field(default_factory=list)
    closed: bool = False
    shown: NoteView = field(default_factory=note)
    events: list[EventView] = field(default_factory=lambda: [event(1)])

    def _answer(self, caller: Caller, request: object, reply: _Reply) -> _Reply:
        self.asked.append((caller, request))
        if self.error is not None:
            raise self.error
        return reply

    def save(self, caller: Caller, request: SaveRequest) -> SaveReply:
        reply = SaveReply(
            outcome="created", id=ID, path="heron/release.md", version=1, scope=SCOPE, event=1
        )
        return self._answer(caller, request, reply)

    def correct(self, caller: Caller, request: CorrectRequest) -> CorrectReply:
        reply = CorrectReply(
            outcome="corrected", mode=request.mode, id=ID, path="heron/release.md", version=2,
            scope=SCOPE, event=2, tombstones=1,
        )  # fmt: skip
        return self._answer(caller, request, reply)

    def forget(self, caller: Caller, request: ForgetRequest) -> ForgetReply:
        reply = ForgetReply(
            outcome="retracted", id=ID, version=1, scope=SCOPE, event=3, tombstones=2,
            trash=".trash/release.md",
        )  # fmt: skip
        return self._answer(caller, request, reply)

    def recall(self, caller: Caller, request: RecallRequest) -> RecallReply:
        reply = RecallReply(
            scope=SCOPE, query_hash="0", count=1, hits=[hit("The release is on 12 March.")],
            coverage=Coverage(scopes=[SCOPE], arms={"words": "ran"}),
        )  # fmt: skip
        return self._answer(caller, request, reply)

    def read(self, caller: Caller, request: ReadRequest) -> NoteView:
        return self._answer(caller, request, self.shown)

    def history(self, caller: Caller, request: HistoryRequest) -> HistoryReply:
        return self._answer(caller, request, HistoryReply(scope=SCOPE, events=self.events))

    def scopes(self, caller: Caller) -> ScopesReply:
        reply = ScopesReply(
            principal=str(caller.principal), on_behalf_of="", home="/h", vault="personal",
            project="heron", vault_path="/h/personal", reads=[SCOPE], writes=[SCOPE],
            role="writer", policy={"writes": "trust"}, state="ok", notes=1, index={"ready": True},
        )  # fmt: skip
        return self._answer(caller, None, reply)

    def close(self) -> None:
        self.closed = True


def desk(service: FakeService, *, anonymous: bool = True) -> Desk:
    opened = Opened(cast("MemoryService", service), CALLER, anonymous=anonymous)
    return Desk(lambda: opened, patience=10)
