"""Commands that show and prove what was done: audit list, verify, export and anchor."""

import sys
from typing import Annotated

import typer

from memsvc.errors import InvalidInput
from memsvc.interfaces.cli.export import FORMATS, destination, write_events
from memsvc.interfaces.cli.notes import Action, Before, Confirm, Limit
from memsvc.interfaces.cli.options import command, global_options
from memsvc.interfaces.cli.session import Session
from memsvc.model.replies import Json
from memsvc.model.requests import AuditRequest

__all__ = ["register"]

# ruff: noqa: A002, PLR0913 - names and number of the options are the contract's

NoteId = Annotated[
    str, typer.Argument(metavar="[ID]", help="Only events of this note; the beginning is enough.")
]
Actor = Annotated[str, typer.Option("--actor", help="Only who acted: kind:name, a kind or a name.")]
Outcome = Annotated[str, typer.Option("--outcome", help="Only done, refused or failed.")]
Since = Annotated[str, typer.Option("--since", help="Only events from that date on, ISO 8601.")]
Until = Annotated[str, typer.Option("--until", help="Only events before that date, ISO 8601.")]


def register(app: typer.Typer, *, panel: str) -> None:
    """Add the commands to the application."""
    group = typer.Typer(no_args_is_help=True)
    global_options(group)
    command(group, "list")(audit_list)
    command(group, "verify")(audit_verify)
    command(group, "export")(audit_export)
    command(group, "anchor")(audit_anchor)
    text = "What was done, by whom; the chain that proves it."
    app.add_typer(group, name="audit", help=text, rich_help_panel=panel)


def audit_list(
    session: Session,
    id: NoteId = "",
    *,
    actor: Actor = "",
    action: Action = "",
    outcome: Outcome = "",
    since: Since = "",
    until: Until = "",
    limit: Limit = 50,
    before: Before = 0,
) -> None:
    """List audit events, newest first: of all vaults, or of --vault and --project where given."""
    number = since if since.isascii() and since.isdigit() else ""
    request = AuditRequest(
        id=id,
        vault=_given(session, "vault"),
        project=_given(session, "project"),
        actor=actor,
        action=action,
        outcome=outcome,
        since="" if number else since,
        until=until,
        limit=limit,
        before=before or int(number[:18] or 0),
    )
    reply = session.service().audit_list(session.caller(), request)
    from memsvc.interfaces.fence import fence
    from memsvc.interfaces.render import render_event  # only where events are shown

    events = "\n".join(render_event(event) for event in reply.events)
    more = [f"older events: --before {reply.next}"] if reply.next else []
    session.show(reply, "\n".join([fence({}, events) if events else "no events match", *more]))


def audit_verify(
    session: Session,
    *,
    anchor: Annotated[
        list[str],
        typer.Option(
            "--anchor", metavar="FILE", help="A file of anchors to check too; repeatable."
        ),
    ] = [],  # noqa: B006 - typer makes a fresh list
    key: Annotated[
        list[str],
        typer.Option(
            "--key", metavar="ed25519:HEX", help="Only this signer's anchors count; repeatable."
        ),
    ] = [],  # noqa: B006 - typer makes a fresh list
) -> None:
    """Check that no audit event was changed, removed, inserted or cut off, and hold the database
    against every known anchor.
    """
    found = session.service().audit_verify(anchors=anchor, keys=key)
    problems = _list(found["problems"])
    verdict = "the chain holds" if found["ok"] else "the audit does not hold"
    lines = [f"{found['events']} events, head {found['head']}: {verdict}"]
    lines += [_anchored(one) for one in _list(found["anchors"]) if isinstance(one, dict)]
    if not found["anchors"]:
        lines.append(
            "no anchor: a cut end or an older copy of the database would go unnoticed; "
            "see `memsvc audit anchor --help`"
        )
    lines += [f"problem: {_plain(problem)}" for problem in problems]
    session.show(found, "\n".join(lines))
    if not found["ok"]:
        sys.stdout.flush()
        typer.echo(f"memsvc: the audit does not hold: {len(problems)} problems", err=True)
        raise typer.Exit(1)


def audit_export(
    session: Session,
    id: NoteId = "",
    *,
    form: Annotated[str, typer.Option("--format", help=f"One of: {', '.join(FORMATS)}.")] = "jsonl",
    to: Annotated[
        str, typer.Option("--to", metavar="FILE", help="Write a file, whole or not at all.")
    ] = "",
    replace: Annotated[bool, typer.Option("--replace", help="Replace the file of --to.")] = False,
    actor: Actor = "",
    action: Action = "",
    outcome: Outcome = "",
    since: Since = "",
    until: Until = "",
) -> None:
    """Write every audit event, oldest first: as one JSON object a line, or as CSV with a header.

    With --vault and --project only theirs. A CSV cell that a spreadsheet would run as a formula
    gets an apostrophe in front, and so does one that begins with an apostrophe.
    """
    if form not in FORMATS:
        raise InvalidInput(f"--format must be one of: {', '.join(FORMATS)}", argument="format")
    request = AuditRequest(
        id=id,
        vault=_given(session, "vault"),
        project=_given(session, "project"),
        actor=actor,
        action=action,
        outcome=outcome,
        since=since,
        until=until,
    )
    events = session.service().audit_export(session.caller(), request)
    with destination(to, replace=replace) as stream:
        count = write_events(events, stream, form=form)
    if to:
        session.show({"file": to, "format": form, "events": count}, f"{count} events in {to}")


def audit_anchor(
    session: Session,
    *,
    to: Annotated[
        str, typer.Option("--to", metavar="FILE", help="Add the anchor to this file too.")
    ] = "",
    git: Annotated[
        bool, typer.Option("--git", help="Commit the anchor in the vault's git repository too.")
    ] = False,
    forget: Annotated[
        str, typer.Option("--forget", metavar="PLACE", help="Look for anchors there no longer.")
    ] = "",
    confirm: Confirm = False,
) -> None:
    """Write down, signed, what the last event is now, so that `audit verify` notices a cut end or
    an older copy of the database. In the home alone this proves nothing once the whole home is
    replaced: use --to with a file elsewhere, or --git and push.
    """
    if forget:
        if to or git:
            raise InvalidInput("--forget stands alone", argument="forget")
        caller = session.confirmed(f"Look for anchors at {forget} no longer?", flag=confirm)
        gone = session.service().audit_forget_anchor(caller, forget)
        session.show(gone, f"forgotten: {gone['forgotten']}; the file there stays")
        return
    reply = session.service().audit_anchor(session.caller(), to=to, git=git)
    lines = [f"event {reply['seq']}, hash {reply['hash']}", f"signed by {reply['key']}"]
    for one in _list(reply["places"]):
        if isinstance(one, dict):
            done = "anchored in" if one["added"] else "already anchored in"
            commit = f", commit {one['commit']} on {one['branch']}" if "commit" in one else ""
            lines.append(f"{done} {_plain(one['place'])}{commit}")
    if not reply["outside"]:
        lines.append(
            "this anchor lies in the home and goes with it: use --to or --git for one outside"
        )
    session.show(reply, "\n".join(lines))


def _given(session: Session, name: str) -> str:
    """A vault or project named on the command line, which narrows; one from the settings does not."""
    value = session.given.get(name, "")
    return value if isinstance(value, str) else ""


def _anchored(place: dict[str, Json]) -> str:
    count = "1 anchor" if place["anchors"] == 1 else f"{place['anchors']} anchors"
    state = "agrees" if place["ok"] else "DOES NOT AGREE"
    newest = f", newest at event {place['seq']} of {str(place['at'])[:19]}Z" if place["seq"] else ""
    notices = "".join(f"; {_plain(notice)}" for notice in _list(place["notices"]))
    return f"{_plain(place['place'])}: {count}{newest}: {state}{notices}"


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _plain(value: Json) -> str:
    from memsvc.interfaces.fence import one_line  # pulls the stores in: not at start-up

    return one_line(str(value), 600)
