"""The command that serves agents: `memsvc mcp`."""

import os

import typer

from memsvc.errors import Misconfigured
from memsvc.interfaces.cli.options import command
from memsvc.interfaces.cli.session import Session

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    command(app, "mcp", panel="Agents", answers=False)(mcp)


def mcp(session: Session) -> None:
    """Serve one agent over standard input and output (MCP)."""
    from memsvc.interfaces.mcp.desk import Desk  # the SDK takes half a second to load
    from memsvc.interfaces.mcp.stdio import opener, serve_stdio
    from memsvc.logs import configure_logs
    from memsvc.settings import Settings

    try:
        settings = session.settings()
    except Misconfigured:
        settings = Settings()  # the server answers all the same, and each tool says what is wrong
    configure_logs(level=settings.log_level, form=settings.log_format)
    desk = Desk(opener(session.settings, os.environ), patience=float(settings.start_timeout))
    serve_stdio(desk)
