"""Tools that refuse arguments they do not know, and say in one line what is wrong with one."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase
from mcp.types import ToolAnnotations
from pydantic import ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from memsvc.errors import InvalidInput

__all__ = ["explain", "strict_tool", "without_nulls"]

_WANTED = {
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "int_parsing_size": "is too large a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": 'must be a list of texts, for example ["a", "b"]',
    "string_unicode": "must be valid Unicode text",
}
_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "less_than_equal": ("at most", "le"),
}


def strict_tool(
    function: Callable[..., object],
    *,
    title: str,
    description: str,
    annotations: ToolAnnotations,
    always_load: bool,
) -> Tool:
    """A text-only tool whose schema and validation allow the function's arguments and no others."""
    tool = Tool.from_function(
        function,
        title=title,
        description=description,
        annotations=annotations,
        meta={"anthropic/alwaysLoad": True} if always_load else None,
        structured_output=False,
    )
    base = tool.fn_metadata.arg_model
    strict: type[ArgModelBase] = type(
        base.__name__, (base,), {"model_config": ConfigDict(extra="forbid")}
    )
    tool.fn_metadata.arg_model = strict
    schema: dict[str, Any] = strict.model_json_schema(by_alias=True)
    schema.pop("title", None)
    for member in schema.get("properties", {}).values():
        member.pop("title", None)
    tool.parameters = schema
    return tool


def without_nulls(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments without nulls: some clients send one for each argument that is not given."""
    return {name: value for name, value in arguments.items() if value is not None}


def explain(error: ValidationError, *, tool: str, legal: Sequence[str]) -> InvalidInput:
    """The first thing wrong with a call's arguments: which one, and what is legal; never its value."""
    details = error.errors(include_url=False, include_input=False)
    unknown = [item for item in details if item["type"] == "extra_forbidden"]
    first = (unknown or details)[0]
    name = str(first["loc"][0]) if first["loc"] else ""
    if unknown:
        near = difflib.get_close_matches(name, legal, n=1)
        hint = f"did you mean '{near[0]}'? " if near else ""
        takes = f"takes: {', '.join(legal)}" if legal else "takes no arguments"
        message = f"{tool} has no argument '{name[:60]}'; {hint}{tool} {takes}"
        return InvalidInput(message, argument=name[:60])
    return InvalidInput(f"{tool}: '{name}' {_reason(first)}", argument=name)


def _reason(detail: ErrorDetails) -> str:
    kind = detail["type"]
    if kind == "missing":
        return "is missing; it is required"
    if kind == "literal_error":
        return f"must be one of {detail.get('ctx', {}).get('expected', '')}"
    if kind in _BOUNDS:
        word, bound = _BOUNDS[kind]
        return f"must be {word} {detail.get('ctx', {}).get(bound, '')}"
    if len(detail["loc"]) > 1:
        return 'must hold texts only, for example ["a", "b"]'
    return _WANTED.get(kind, f"cannot be used: {detail['msg']}")
