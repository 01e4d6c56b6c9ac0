"""Shows how a note's text changed, as data inside the fence, coloured on a terminal."""

import os
import sys

import typer

from memsvc.interfaces.cli.session import Session
from memsvc.interfaces.fence import fence, one_line
from memsvc.model.replies import TextChange, TextHistoryReply
from memsvc.model.requests import TextHistoryRequest

__all__ = ["render_texts", "show_texts"]

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_HEAD = "version "
_FIELD = 200


def show_texts(session: Session, request: TextHistoryRequest) -> None:
    """Ask for the text history and print it."""
    reply = session.service().text_history(session.caller(), request)
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    session.show(reply, render_texts(reply, colour=colour))


def render_texts(reply: TextHistoryReply, *, colour: bool) -> str:
    """The changes, newest first. Nothing stored can close the fence or reach the terminal as
    anything but plain characters.
    """
    blocks = [_block(change) for change in reply.changes]
    attributes = {
        "scope": reply.scope,
        "id": reply.id,
        "status": reply.status,
        "title": reply.title,
    }
    lines = fence(attributes, "\n".join(blocks)).split("\n")
    inside = [_coloured(line) if colour else line for line in lines[1:-1]]
    more = [f"older changes: --before {reply.next}"] if reply.next else []
    return "\n".join([lines[0], *inside, lines[-1], *more])


def _block(change: TextChange) -> str:
    what = f"from version {change.against}" if change.against else "the first text"
    parts = [
        f"{_HEAD}{change.version} · {what} · {change.mode or 'saved'} {change.at[:19]}Z",
        f"by {one_line(change.author, _FIELD)}",
        f"event {change.event}",
        f"+{change.added} -{change.removed} lines",
        f"reason: {one_line(change.reason, _FIELD)}" if change.reason else "",
        "the older text was REJECTED" if change.fate == "wrong" else "",
    ]
    head = " · ".join(part for part in parts if part)
    rest = [change.diff] if change.diff else []
    rest += [f"[{change.problem}]"] if change.problem else []
    rest += ["[cut: the difference is longer than what is shown]"] if change.cut else []
    return "\n".join([head, *rest])


def _coloured(line: str) -> str:
    if line.startswith(_HEAD):
        return typer.style(line, bold=True)
    found = _COLOURS.get(line[:1])
    return typer.style(line, fg=found) if found else line
