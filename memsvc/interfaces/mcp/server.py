"""The MCP server: lists its tools at once, and opens the store only after it has answered."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.stdio import stdio_server
from mcp.types import CallToolResult, InputRequiredResult
from mcp.types import Tool as ListedTool
from pydantic import ValidationError

from memsvc import __version__
from memsvc.errors import InvalidInput, MemsvcError
from memsvc.interfaces.mcp.arguments import explain, without_nulls
from memsvc.interfaces.mcp.describe import INSTRUCTIONS
from memsvc.interfaces.mcp.desk import Desk
from memsvc.interfaces.mcp.draining import answer_before_the_end
from memsvc.interfaces.mcp.results import failure
from memsvc.interfaces.mcp.tools import make_tools
from memsvc.interfaces.outcome import crashed

__all__ = ["MemoryServer"]

_AFTER_THE_LIST = 0.05
_WITHOUT_A_LIST = 1.5
_LAST_ANSWERS = 20.0
"""Seconds until the store is opened, soon after the tools were listed or else after a while; and
for the calls under way when input ends.
"""


class MemoryServer(MCPServer[None]):
    """The seven tools over one desk; every error of a tool has one shape."""

    def __init__(self, desk: Desk) -> None:
        tools = make_tools(desk)
        self._desk = desk
        self._arguments = {tool.name: list(tool.parameters["properties"]) for tool in tools}
        super().__init__(
            "memsvc",
            title="memsvc",
            description="Memory for coding agents",
            instructions=INSTRUCTIONS,
            version=__version__,
            tools=tools,
            lifespan=_lifespan,
            log_level="WARNING",
        )

    def open_in(self, seconds: float) -> None:
        """Begin to open the store after so many seconds, when the replies on the way are out."""
        asyncio.get_running_loop().call_later(seconds, self._desk.start)

    async def run_stdio_async(self) -> None:
        """Serve standard input and output until input ends and its calls are answered."""
        server = self._lowlevel_server
        async with (
            stdio_server() as connection,
            answer_before_the_end(connection, patience=_LAST_ANSWERS) as (reads, writes),
        ):
            await server.run(reads, writes, server.create_initialization_options())

    async def list_tools(self) -> list[ListedTool]:
        self.open_in(_AFTER_THE_LIST)
        return await super().list_tools()

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[None, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        if name not in self._arguments:
            tools = ", ".join(self._arguments)
            return failure(InvalidInput(f"there is no such tool; tools: {tools}", argument="name"))
        try:
            return await super().call_tool(name, without_nulls(arguments), context)
        except ToolError as error:
            return await asyncio.to_thread(self._failure, name, error)

    def _failure(self, tool: str, error: ToolError) -> CallToolResult:
        cause = error.__cause__
        if isinstance(cause, MemsvcError):
            shown = cause
        elif isinstance(cause, ValidationError):
            shown = explain(cause, tool=tool, legal=self._arguments[tool])
        else:
            shown = crashed("tool_crashed", cause or error, tool=tool)
        return failure(shown)


@asynccontextmanager
async def _lifespan(server: MCPServer[None]) -> AsyncIterator[None]:
    if isinstance(server, MemoryServer):
        server.open_in(_WITHOUT_A_LIST)
    yield
