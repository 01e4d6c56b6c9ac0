"""What a tool answers: one text for the model, and the same facts as data in `_meta`."""

from mcp.types import CallToolResult, TextContent

from memsvc.errors import MemsvcError
from memsvc.interfaces.outcome import error_data
from memsvc.model.replies import as_data

__all__ = ["RESULT_KEY", "failure", "success"]

RESULT_KEY = "memsvc/result"


def success(reply: object) -> CallToolResult:
    """The result of a verb that was done."""
    from memsvc.interfaces.render import render  # needed at the first call only

    return CallToolResult(
        content=[TextContent(type="text", text=render(reply))],
        _meta={RESULT_KEY: as_data(reply)},
    )


def failure(error: MemsvcError) -> CallToolResult:
    """The result of a verb that was refused or failed: a tool error that the model can act on."""
    from memsvc.interfaces.render import render_error  # needed at the first error only

    return CallToolResult(
        content=[TextContent(type="text", text=render_error(error))],
        _meta={RESULT_KEY: error_data(error)},
        is_error=True,
    )
