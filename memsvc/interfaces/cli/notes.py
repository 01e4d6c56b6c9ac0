"""The verbs on notes as commands: save, recall, correct, forget, read, history, scopes."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from memsvc.errors import InvalidInput
from memsvc.interfaces.cli.options import command
from memsvc.interfaces.cli.session import Session
from memsvc.interfaces.requests import as_kinds, as_word, history_request
from memsvc.model.requests import (
    CorrectRequest,
    ForgetRequest,
    ReadRequest,
    RecallRequest,
    SaveRequest,
    TextHistoryRequest,
)
from memsvc.model.vocabulary import CorrectMode, Detail, ForgetMode, Kind

__all__ = ["Body", "BodyFile", "Confirm", "NoteId", "Reason", "body_of", "register"]

_PANEL = "Notes"
_STDIN = "-"
# ruff: noqa: A002, PLR0913 - names and number of the options are the contract's

Body = Annotated[str | None, typer.Option("--body", help="The text; - reads standard input.")]
BodyFile = Annotated[
    str | None, typer.Option("--body-file", metavar="PATH", help="File with the text; - is stdin.")
]
NoteId = Annotated[str, typer.Argument(metavar="ID", help="The note's id.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; kept in the note's history.")]
Tags = Annotated[list[str], typer.Option("--tag", "--tags", help="A tag; repeatable.")]
Source = Annotated[
    list[str], typer.Option("--source", help="Where it comes from (URL, file#line); repeatable.")
]
Action = Annotated[str, typer.Option("--action", help="Only this action, for example save.")]
Since = Annotated[
    str,
    typer.Option(
        "--since",
        help="Only events from that date on, ISO 8601; or the number that an earlier page ended with.",
    ),
]
Limit = Annotated[int, typer.Option("--limit", help="Most events to show.")]
Before = Annotated[int, typer.Option("--before", help="Only events below this number; to page.")]
Confirm = Annotated[bool, typer.Option("--confirm", help="Do not ask; you are sure.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    for name, function in (
        ("save", save),
        ("recall", recall),
        ("correct", correct),
        ("forget", forget),
        ("read", read),
        ("history", history),
        ("scopes", scopes),
    ):
        command(app, name, panel=_PANEL)(function)


def save(
    session: Session,
    title_words: Annotated[
        str, typer.Argument(metavar="TITLE", help="Short and specific.", show_default=False)
    ] = "",
    body_words: Annotated[
        str | None, typer.Argument(metavar="BODY", help="The text; - reads standard input.")
    ] = None,
    *,
    title: Annotated[str, typer.Option("--title", help="The title, if not given first.")] = "",
    body: Body = None,
    body_file: BodyFile = None,
    kind: Annotated[
        str, typer.Option("--kind", help=f"One of: {', '.join(Kind)}.")
    ] = Kind.NOTE.value,
    tags: Tags = [],  # noqa: B006 - typer makes a fresh list
    source: Source = [],  # noqa: B006 - typer makes a fresh list
    reason: Reason = "",
    valid_from: Annotated[str, typer.Option("--valid-from", help="True since, ISO 8601.")] = "",
    valid_to: Annotated[
        str, typer.Option("--valid-to", help="True until, ISO 8601; or unknown.")
    ] = "",
    supersedes: Annotated[
        list[str], typer.Option("--supersedes", help="Id of a note it replaces; repeatable.")
    ] = [],  # noqa: B006 - typer makes a fresh list
    idempotency_key: Annotated[
        str, typer.Option("--idempotency-key", help="A repeat with the same key does nothing.")
    ] = "",
) -> None:
    """Save a note. The text comes from BODY, --body, --body-file or standard input."""
    text = body_of(body_words if body is None else body, body_file, piped=True)
    request = SaveRequest(
        title=title or title_words,
        body=text,
        kind=as_word(Kind, kind, argument="kind"),
        tags=tuple(tags),
        source=tuple(source),
        reason=reason,
        valid_from=valid_from,
        valid_to=valid_to,
        supersedes=tuple(supersedes),
        idempotency_key=idempotency_key,
    )
    session.show(session.service().save(session.caller(), request))


def recall(
    session: Session,
    query: Annotated[list[str], typer.Argument(metavar="WORDS", help="The question.")],
    *,
    k: Annotated[int, typer.Option("-k", "--k", help="Most notes, 1 to 50.")] = 8,
    budget: Annotated[
        int, typer.Option("--budget", help="Most tokens of the reply, 50 to 20000.")
    ] = 2000,
    kinds: Annotated[
        list[str], typer.Option("--kind", "--kinds", help="Only this kind; repeatable.")
    ] = [],  # noqa: B006 - typer makes a fresh list
    tags: Annotated[
        list[str], typer.Option("--tag", "--tags", help="Only notes with this tag; repeatable.")
    ] = [],  # noqa: B006 - typer makes a fresh list
    min_trust: Annotated[
        str, typer.Option("--min-trust", help="Only from this trust on: agent, human, verified.")
    ] = "",
    as_of: Annotated[str, typer.Option("--as-of", help="What was true then, ISO 8601.")] = "",
    known_at: Annotated[
        str, typer.Option("--known-at", help="What was on record then, ISO 8601.")
    ] = "",
    history: Annotated[
        bool, typer.Option("--history", help="Superseded notes and versions too, marked.")
    ] = False,
    detail: Annotated[str, typer.Option("--detail", help="snippet or full.")] = "snippet",
    explain: Annotated[bool, typer.Option("--explain", help="Say how hits were ranked.")] = False,
) -> None:
    """Find notes that answer a question."""
    request = RecallRequest(
        query=" ".join(query),
        k=k,
        budget=budget,
        kinds=as_kinds(kinds, argument="kind"),
        tags=tuple(tags),
        min_trust=min_trust,
        as_of=as_of,
        known_at=known_at,
        history=history,
        detail=as_word(Detail, detail, argument="detail"),
        explain=explain,
    )
    session.show(session.service().recall(session.caller(), request))


def correct(
    session: Session,
    id: NoteId,
    *,
    version: Annotated[int, typer.Option("--version", help="The version you read.")],
    mode: Annotated[
        str,
        typer.Option(
            "--mode", help="changed (no longer true), wrong (never was) or amend (better words)."
        ),
    ],
    body: Body = None,
    body_file: BodyFile = None,
    old_text: Annotated[
        str, typer.Option("--old-text", help="A passage that occurs exactly once.")
    ] = "",
    new_text: Annotated[str, typer.Option("--new-text", help="What replaces --old-text.")] = "",
    title: Annotated[str, typer.Option("--title", help="A new title.")] = "",
    effective: Annotated[
        str, typer.Option("--effective", help="For changed: since when, ISO 8601; default now.")
    ] = "",
    reason: Reason = "",
    source: Source = [],  # noqa: B006 - typer makes a fresh list
) -> None:
    """Replace a note's text, whole or one passage."""
    request = CorrectRequest(
        id=id,
        version=version,
        mode=as_word(CorrectMode, mode, argument="mode"),
        body=body_of(body, body_file, piped=False),
        old_text=old_text,
        new_text=new_text,
        title=title,
        effective=effective,
        reason=reason,
        source=tuple(source),
    )
    session.show(session.service().correct(session.caller(), request))


def forget(
    session: Session,
    id: NoteId,
    *,
    passage: Annotated[str, typer.Option("--passage", help="Only this passage of the note.")] = "",
    mode: Annotated[
        str, typer.Option("--mode", help="retract (a reviewer can restore it) or purge (gone).")
    ] = ForgetMode.RETRACT.value,
    derived: Annotated[
        bool, typer.Option("--derived", help="Retract the notes whose source it is, too.")
    ] = False,
    reason: Reason = "",
    confirm: Confirm = False,
) -> None:
    """Take a note, or one passage of it, out of memory."""
    how = as_word(ForgetMode, mode, argument="mode")
    caller = (
        session.confirmed(f"Destroy every trace of {id}?", flag=confirm)
        if how is ForgetMode.PURGE
        else session.caller()
    )
    request = ForgetRequest(id=id, passage=passage, mode=how, reason=reason, derived=derived)
    session.show(session.service().forget(caller, request))


def read(
    session: Session,
    id: NoteId,
    *,
    version: Annotated[int, typer.Option("--version", help="An older version; 0 = current.")] = 0,
    offset: Annotated[
        int, typer.Option("--offset", min=0, help="Leave out so many characters of the text.")
    ] = 0,
) -> None:
    """Show a note whole, with its provenance."""
    request = ReadRequest(id=id, version=version, offset=offset)
    session.show(session.service().read(session.caller(), request))


def history(
    session: Session,
    id: Annotated[str, typer.Argument(metavar="[ID]", help="Only events of this note.")] = "",
    *,
    since: Since = "",
    action: Action = "",
    limit: Limit = 20,
    before: Before = 0,
    diff: Annotated[
        bool,
        typer.Option(
            "--diff",
            help="How the note's text changed from version to version; --before is a version then.",
        ),
    ] = False,
) -> None:
    """Show who changed what in this scope, newest first."""
    if diff:
        from memsvc.interfaces.cli.texts import show_texts  # only for this option

        if since or action:
            raise InvalidInput("--diff takes ID, --limit and --before only", argument="diff")
        show_texts(session, TextHistoryRequest(id=id, limit=limit, before=before))
        return
    request = history_request(note=id, since=since, action=action, limit=limit, before=before)
    session.show(session.service().history(session.caller(), request))


def scopes(session: Session) -> None:
    """Show who you are here and what you may see and write."""
    session.show(session.service().scopes(session.caller()))


def body_of(given: str | None, file: str | None, *, piped: bool = False) -> str:
    """The text of a note from where the options say; `piped` also reads an unmentioned stdin."""
    if given is not None and file is not None:
        raise InvalidInput("give the text once: --body or --body-file", argument="body")
    if _STDIN in (given, file):
        return _standard_input()
    if given is not None:
        return given
    if file is not None:
        try:
            return _decoded(Path(file).expanduser().read_bytes())
        except OSError as error:
            raise InvalidInput(
                f"--body-file cannot be read: {error.strerror}", argument="body_file"
            ) from error
    return _standard_input() if piped and not sys.stdin.isatty() else ""


def _standard_input() -> str:
    return _decoded(sys.stdin.buffer.read())


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput("the text is not UTF-8", argument="body") from error
