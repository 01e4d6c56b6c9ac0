"""The seven verbs as MCP tools: flat arguments in, one text and its data out."""

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp.types import CallToolResult, ToolAnnotations
from pydantic import Field

from memsvc.interfaces.binding import principal_name
from memsvc.interfaces.mcp import describe
from memsvc.interfaces.mcp.arguments import strict_tool
from memsvc.interfaces.mcp.desk import Desk, Opened
from memsvc.interfaces.mcp.results import success
from memsvc.interfaces.requests import as_kinds, history_request
from memsvc.model.identity import Caller, Principal
from memsvc.model.requests import (
    CorrectRequest,
    ForgetRequest,
    ReadRequest,
    RecallRequest,
    SaveRequest,
)
from memsvc.model.vocabulary import CorrectMode, Detail, ForgetMode, Kind, PrincipalKind

if TYPE_CHECKING:
    from memsvc.service.api import MemoryService

__all__ = ["Verbs", "make_tools"]

_NONE: list[str] = []
_MANY = 1_000_000_000

Title = Annotated[str, Field(description="Short and specific; names the subject.")]
Body = Annotated[str, Field(description="The text, markdown.")]
NoteId = Annotated[str, Field(description="The note's id, from recall.")]
Reason = Annotated[str, Field(description="Why; kept in the note's history.")]
Tags = Annotated[list[str], Field(description="Tags, without '#'.")]
Source = Annotated[list[str], Field(description="Where it comes from: URL, file#line, and so on.")]
Project = Annotated[str, Field(description="Another granted project; empty = the bound one.")]
Vault = Annotated[str, Field(description="Another granted vault; empty = the bound one.")]
Date = Annotated[str, Field(description="ISO 8601 date or date-time; empty = not given.")]
KindName = Annotated[
    Literal["fact", "decision", "preference", "procedure", "episode", "summary", "note"],
    Field(description="What sort of thing the note says."),
]
# ruff: noqa: A002, PLR0913 - names and number of the arguments are the contract's


class Verbs:
    """The tool functions over one desk; each answers a CallToolResult or raises MemsvcError."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def recall(
        self,
        ctx: Context[Any, Any],
        *,
        query: Annotated[str, Field(description="The question, in words of the subject.")],
        k: Annotated[int, Field(ge=1, le=50, description="Most notes, 1-50.")] = 8,
        budget: Annotated[
            int, Field(ge=50, le=20_000, description="Most tokens of the reply.")
        ] = 2000,
        kinds: Annotated[list[str], Field(description="Only these kinds; empty = all.")] = _NONE,
        tags: Annotated[list[str], Field(description="Only notes with these tags.")] = _NONE,
        project: Project = "",
        vault: Vault = "",
        min_trust: Annotated[str, Field(description="agent, human or verified; empty = all.")] = "",
        as_of: Annotated[str, Field(description="What was true then, ISO 8601.")] = "",
        known_at: Annotated[str, Field(description="What was on record then, ISO 8601.")] = "",
        history: Annotated[bool, Field(description="Superseded notes too, marked.")] = False,
        detail: Annotated[
            Literal["snippet", "full"], Field(description="Best passage, or whole notes.")
        ] = "snippet",
        explain: Annotated[bool, Field(description="Add how hits were ranked.")] = False,
    ) -> CallToolResult:
        request = RecallRequest(
            query=query,
            k=k,
            budget=budget,
            kinds=as_kinds(kinds),
            tags=tuple(tags),
            project=project,
            vault=vault,
            min_trust=min_trust,
            as_of=as_of,
            known_at=known_at,
            history=history,
            detail=Detail(detail),
            explain=explain,
        )
        return self._answer(ctx, lambda service, caller: service.recall(caller, request))

    def save(
        self,
        ctx: Context[Any, Any],
        *,
        title: Title,
        body: Body,
        kind: KindName = "note",
        tags: Tags = _NONE,
        source: Source = _NONE,
        reason: Reason = "",
        valid_from: Date = "",
        valid_to: Date = "",
        supersedes: Annotated[list[str], Field(description="Ids of notes it replaces.")] = _NONE,
        project: Project = "",
        vault: Vault = "",
        idempotency_key: Annotated[str, Field(description="A repeat with it does nothing.")] = "",
    ) -> CallToolResult:
        request = SaveRequest(
            title=title,
            body=body,
            kind=Kind(kind),
            tags=tuple(tags),
            source=tuple(source),
            reason=reason,
            valid_from=valid_from,
            valid_to=valid_to,
            supersedes=tuple(supersedes),
            project=project,
            vault=vault,
            idempotency_key=idempotency_key,
        )
        return self._answer(ctx, lambda service, caller: service.save(caller, request))

    def correct(
        self,
        ctx: Context[Any, Any],
        *,
        id: NoteId,
        version: Annotated[int, Field(ge=1, le=_MANY, description="The version you read.")],
        mode: Annotated[
            Literal["changed", "wrong", "amend"],
            Field(description="No longer true, never true, or only better words."),
        ],
        body: Annotated[str, Field(description="The whole new text; or use old_text.")] = "",
        old_text: Annotated[str, Field(description="A passage that occurs exactly once.")] = "",
        new_text: Annotated[str, Field(description="What replaces old_text.")] = "",
        title: Annotated[str, Field(description="A new title; empty = keep.")] = "",
        effective: Annotated[str, Field(description="Since when, ISO 8601; empty = now.")] = "",
        reason: Reason = "",
        source: Source = _NONE,
    ) -> CallToolResult:
        request = CorrectRequest(
            id=id,
            version=version,
            mode=CorrectMode(mode),
            body=body,
            old_text=old_text,
            new_text=new_text,
            title=title,
            effective=effective,
            reason=reason,
            source=tuple(source),
        )
        return self._answer(ctx, lambda service, caller: service.correct(caller, request))

    def forget(
        self,
        ctx: Context[Any, Any],
        *,
        id: NoteId,
        passage: Annotated[str, Field(description="Only this passage; empty = the note.")] = "",
        mode: Annotated[
            Literal["retract", "purge"], Field(description="Hide for good, or destroy.")
        ] = "retract",
        reason: Reason = "",
    ) -> CallToolResult:
        request = ForgetRequest(id=id, passage=passage, mode=ForgetMode(mode), reason=reason)
        return self._answer(ctx, lambda service, caller: service.forget(caller, request))

    def read(
        self,
        ctx: Context[Any, Any],
        *,
        id: NoteId,
        version: Annotated[
            int, Field(ge=0, le=_MANY, description="An older version; 0 = current.")
        ] = 0,
        offset: Annotated[
            int, Field(ge=0, le=_MANY, description="Characters of the text to leave out.")
        ] = 0,
    ) -> CallToolResult:
        request = ReadRequest(id=id, version=version, offset=offset)
        return self._answer(ctx, lambda service, caller: service.read(caller, request))

    def history(
        self,
        ctx: Context[Any, Any],
        *,
        id: Annotated[str, Field(description="Only events of this note; empty = all.")] = "",
        since: Annotated[
            str, Field(description="From this date on; or the number to page on from.")
        ] = "",
        action: Annotated[str, Field(description="Only this action; empty = all.")] = "",
        limit: Annotated[int, Field(ge=1, le=100, description="Most events, 1-100.")] = 20,
    ) -> CallToolResult:
        request = history_request(note=id, since=since, action=action, limit=limit)
        return self._answer(ctx, lambda service, caller: service.history(caller, request))

    def scopes(self, ctx: Context[Any, Any]) -> CallToolResult:
        return self._answer(ctx, lambda service, caller: service.scopes(caller))

    def _answer(
        self, ctx: Context[Any, Any], act: "Callable[[MemoryService, Caller], object]"
    ) -> CallToolResult:
        opened = self._desk.opened()
        return success(act(opened.service, _caller(opened, ctx)))


def make_tools(desk: Desk) -> list[Tool]:
    """The tools in the order in which clients list them, which never changes."""
    verbs = Verbs(desk)
    reads = ToolAnnotations(
        read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    adds = ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    changes = ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=False
    )
    table: list[tuple[Callable[..., CallToolResult], str, str, ToolAnnotations, bool]] = [
        (verbs.recall, "Recall notes", describe.RECALL, reads, True),
        (verbs.save, "Save a note", describe.SAVE, adds, True),
        (verbs.correct, "Correct a note", describe.CORRECT, changes, True),
        (verbs.forget, "Forget a note", describe.FORGET, changes, True),
        (verbs.read, "Read a note", describe.READ, reads, False),
        (verbs.history, "Show what changed", describe.HISTORY, reads, False),
        (verbs.scopes, "Show scopes", describe.SCOPES, reads, False),
    ]
    return [
        strict_tool(
            function,
            title=title,
            description=description,
            annotations=annotations,
            always_load=always_load,
        )
        for function, title, description, annotations, always_load in table
    ]


def _caller(opened: Opened, ctx: Context[Any, Any]) -> Caller:
    """The bound caller, with what this connection says of itself."""
    params = ctx.session.client_params
    info = params.client_info if params is not None else None
    principal = opened.caller.principal
    if opened.anonymous and info is not None:
        name = principal_name(info.name) or principal.name
        principal = Principal(PrincipalKind.AGENT, name)
    return dataclasses.replace(
        opened.caller,
        principal=principal,
        client=f"{info.name} {info.version}".strip()[:128] if info is not None else "",
        request_id=ctx.request_id[:128],
    )
