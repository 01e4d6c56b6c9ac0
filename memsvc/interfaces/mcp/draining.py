"""Lets calls that are under way be answered when the client closes its end at once."""

from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager
from typing import Protocol

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

__all__ = ["answer_before_the_end"]

_LASTING = ("subscriptions/listen",)
"""Requests that are answered only when the client no longer wants them."""


Reads = MemoryObjectReceiveStream[SessionMessage | Exception]
Writes = MemoryObjectSendStream[SessionMessage]


class _Outlet(Protocol):
    """Where messages to the client go."""

    async def send(self, item: SessionMessage, /) -> None: ...

    async def aclose(self) -> None: ...


@asynccontextmanager
async def answer_before_the_end(
    connection: tuple[AsyncIterable[SessionMessage | Exception], _Outlet], *, patience: float
) -> AsyncIterator[tuple[Reads, Writes]]:
    """The connection, whose end of input waits until every request is answered.

    The SDK drops what is under way when input ends, though a program that pipes its requests in
    still reads. `patience` is the most seconds to wait.
    """
    incoming, outgoing = connection
    under_way = _UnderWay()
    to_server, reads = anyio.create_memory_object_stream[SessionMessage | Exception]()
    writes, from_server = anyio.create_memory_object_stream[SessionMessage]()

    async def inward(target: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        async with target:
            async for item in incoming:
                under_way.begin(item)
                await target.send(item)
            with anyio.move_on_after(patience):
                await under_way.wait()

    async def outward(source: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with source:
            async for item in source:
                await outgoing.send(item)
                under_way.end(item)
        await outgoing.aclose()

    async with anyio.create_task_group() as group:
        group.start_soon(inward, to_server)
        group.start_soon(outward, from_server)
        yield reads, writes
        group.cancel_scope.cancel()


class _UnderWay:
    """The requests that came in and have no answer yet."""

    def __init__(self) -> None:
        self._ids: set[str | int] = set()
        self._changed = anyio.Event()

    def begin(self, item: SessionMessage | Exception) -> None:
        message = item.message if isinstance(item, SessionMessage) else None
        if isinstance(message, JSONRPCRequest) and message.method not in _LASTING:
            self._ids.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method.endswith("/cancelled"):
            self._forget((message.params or {}).get("requestId"))

    def end(self, item: SessionMessage) -> None:
        if isinstance(item.message, JSONRPCResponse | JSONRPCError):
            self._forget(item.message.id)

    async def wait(self) -> None:
        while self._ids:
            self._changed = anyio.Event()
            await self._changed.wait()

    def _forget(self, request: object) -> None:
        if isinstance(request, str | int):
            self._ids.discard(request)
            self._changed.set()
