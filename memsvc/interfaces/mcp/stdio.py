"""Runs the MCP server of one process on standard input and output."""

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio

from memsvc.interfaces.binding import bind, named_by_client
from memsvc.interfaces.mcp.desk import Desk, Opened
from memsvc.interfaces.mcp.server import MemoryServer
from memsvc.settings import Settings

__all__ = ["opener", "serve_stdio"]

_CLOSING_SECONDS = 2.0


def serve_stdio(desk: Desk) -> None:
    """Serve until standard input ends or SIGTERM or SIGINT comes; then close the service and end the process.

    Never returns: threads that still wait for input or a model would hold a plain exit up. What
    was acknowledged is durable, what was not is rolled back by the database.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda _number, _frame: _finish(desk))
    with contextlib.suppress(BrokenPipeError):  # the client is gone, and nothing is left to say
        anyio.run(MemoryServer(desk).run_stdio_async)
    _finish(desk)


def opener(load: Callable[[], Settings], environ: Mapping[str, str]) -> Callable[[], Opened]:
    """What a desk needs to open the home that the settings name, for the program that connected."""

    def open_home() -> Opened:
        from memsvc.bootstrap import open_service  # pulls in the stores: after the first reply
        from memsvc.logs import configure_logs  # structlog is slow to load: see above

        settings = load()
        configure_logs(level=settings.log_level, form=settings.log_format)
        started_in = environ.get("CLAUDE_PROJECT_DIR", "")
        caller = bind(
            settings,
            door="mcp",
            environ=environ,
            folder=Path(started_in) if started_in else None,
        )
        service = open_service(settings)
        service.ensure_ready()
        service.start_background()
        return Opened(service, caller, anonymous=named_by_client(settings))

    return open_home


def _finish(desk: Desk) -> None:
    closing = threading.Thread(target=desk.close, name="memsvc-close", daemon=True)
    closing.start()
    closing.join(_CLOSING_SECONDS)
    sys.stderr.flush()
    os._exit(0)
