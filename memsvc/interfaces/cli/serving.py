"""The command that serves agents: `memsvc mcp`."""

import typer

from memsvc.interfaces.cli.options import command
from memsvc.interfaces.cli.session import Session
from memsvc.interfaces.mcp.start import serve

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    command(app, "mcp", panel="Agents", answers=False)(mcp)


def mcp(session: Session) -> None:
    """Serve one agent over standard input and output (MCP)."""
    serve(session.given)
