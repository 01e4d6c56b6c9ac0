"""Starts the stdio server with as little as possible between the client and its first answer."""

import logging
import os
import sys
from collections.abc import Mapping, Sequence

__all__ = ["plain_options", "serve"]

_OPTIONS = ("--home", "--vault", "--project", "--principal")


def plain_options(arguments: Sequence[str]) -> dict[str, object] | None:
    """The options after `memsvc mcp`, when they are plain; None when the command line must look.

    The full command line takes a tenth of a second to load, and clients wait for the first answer.
    """
    given: dict[str, object] = {}
    rest = list(arguments)
    while rest:
        name, separator, value = rest.pop(0).partition("=")
        if name not in _OPTIONS or not (separator or rest):
            return None
        given[name.removeprefix("--")] = value if separator else rest.pop(0)
    return given


def serve(given: Mapping[str, object]) -> None:
    """Serve one client with these options; ends the process."""
    # Until the settings are read, a plain handler; the SDK would set up a slow one on its own.
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    from memsvc.interfaces.mcp.desk import Desk  # the SDK takes half a second to load
    from memsvc.interfaces.mcp.stdio import opener, serve_stdio
    from memsvc.settings import load_settings

    serve_stdio(Desk(opener(lambda: load_settings(os.environ, given), os.environ)))
