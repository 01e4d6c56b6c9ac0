"""Commands for the person who looks after a home: tombstones, review, index, health, demo."""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from memsvc.errors import MemsvcError
from memsvc.interfaces.cli import audit, review
from memsvc.interfaces.cli.notes import Confirm, Reason
from memsvc.interfaces.cli.options import command, global_options
from memsvc.interfaces.cli.progress import progress_bar
from memsvc.interfaces.cli.session import Session
from memsvc.model.replies import as_data
from memsvc.model.requests import RestoreRequest

__all__ = ["register"]

_REVIEW = "Review"
_UPKEEP = "Upkeep"
# ruff: noqa: A002 - the names of the options are the contract's


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    audit.register(app, panel=_REVIEW)
    tombstone = _group(app, "tombstone", "Statements that were rejected for good.", _REVIEW)
    command(tombstone, "list")(tombstone_list)
    command(tombstone, "lift")(tombstone_lift)
    command(tombstone, "rotate-key")(tombstone_rotate_key)
    command(app, "restore-note", panel=_REVIEW)(restore_note)
    review.register(_group(app, "review", "What waits for a person.", _REVIEW))
    command(app, "reindex", panel=_UPKEEP)(reindex)
    command(app, "doctor", panel=_UPKEEP)(doctor)
    command(app, "stats", panel=_UPKEEP)(stats)
    database = _group(app, "db", "The database's schema.", _UPKEEP)
    command(database, "upgrade")(db_upgrade)
    command(database, "check")(db_check)
    command(app, "demo", panel="Setup")(demo)


def tombstone_list(session: Session) -> None:
    """List what was rejected: where, when, by whom and why; never the text."""
    found = session.service().tombstones(session.caller())
    session.show(found, _lines(found, "nothing was rejected"))


def tombstone_lift(
    session: Session,
    id: Annotated[str, typer.Argument(metavar="ID", help="The tombstone's id.")],
    *,
    reason: Reason = "",
    confirm: Confirm = False,
) -> None:
    """Allow a rejected statement again; needs the reviewer role and is audited."""
    caller = session.confirmed(f"Allow what tombstone {id} rejects again?", flag=confirm)
    reply = session.service().lift(caller, id, reason)
    session.show(reply, f"tombstone {id} lifted\n{_facts(reply)}".rstrip())


def restore_note(
    session: Session,
    id: Annotated[str, typer.Argument(metavar="ID", help="The note's id.")],
    *,
    version: Annotated[
        int, typer.Option("--version", help="The version to bring back; 0 = the last one.")
    ] = 0,
    reason: Reason = "",
    confirm: Confirm = False,
) -> None:
    """Bring back a retracted or corrected note; what that rejected is allowed again."""
    caller = session.confirmed(f"Bring back note {id}?", flag=confirm)
    request = RestoreRequest(id=id, version=version, reason=reason)
    session.show(session.service().restore(caller, request))


def tombstone_rotate_key(
    session: Session, *, reason: Reason = "", confirm: Confirm = False
) -> None:
    """Make rejections to come with a new secret key; the old keys are kept and still checked."""
    caller = session.confirmed("Begin to use a new tombstone key?", flag=confirm)
    reply = session.service().rotate_key(caller, reason)
    kept = reply["retained"] if isinstance(reply["retained"], list) else []
    session.show(
        reply,
        f"key {reply['key']} is in use; older keys kept: {len(kept)}; audit event "
        f"{reply['event']}\nback up tombstone.keys now: an older copy of it is refused from now on",
    )


def reindex(session: Session) -> None:
    """Drop the index and build it again from files and ledger."""
    service, caller = session.service(), session.caller()
    with progress_bar("reindex") as progress:
        reply = service.reindex(caller, progress)
    session.show(reply, _facts(reply))


def doctor(session: Session) -> None:
    """Look for what is wrong with the installation, the home and its vaults."""
    from memsvc.ops.doctor import examine  # looks at packages: needed here only

    findings = examine(session.settings())
    try:
        findings += session.service().doctor(session.caller())
    except MemsvcError as error:
        findings.append({"check": "home opens", "state": "fail", "detail": error.message})
    session.show(
        findings,
        "\n".join(f"{item['state']:<5} {item['check']}: {item['detail']}" for item in findings),
    )
    bad = [item for item in findings if item["state"] == "fail"]
    if bad:
        _fail(f"{len(bad)} of {len(findings)} checks failed")


def stats(session: Session) -> None:
    """Show counts and sizes of this home."""
    reply = session.service().stats(session.caller())
    session.show(reply, _facts(reply))


def db_upgrade(session: Session) -> None:
    """Bring the database to this version's schema."""
    from memsvc.bootstrap import database_state  # see Session.service

    session.service()
    state = database_state(session.settings())
    session.show(state, _facts(state))


def db_check(session: Session) -> None:
    """Say whether the database stands at this version's schema; changes nothing."""
    from memsvc.bootstrap import database_state  # see Session.service

    state = database_state(session.settings())
    session.show(state, _facts(state))
    if state["revision"] != state["head"]:
        _fail("the database is not at this version's schema; run `memsvc db upgrade`")


def demo(session: Session) -> None:
    """Play the whole story in a throw-away home: save, recall, correct, forget, refuse, audit."""
    from memsvc.bootstrap import open_service  # see Session.service
    from memsvc.ops.demo import play
    from memsvc.settings import Settings

    def say(line: str) -> None:
        if not session.as_json:
            typer.echo(line)

    embedder = session.settings().embedder
    with tempfile.TemporaryDirectory(prefix="memsvc-demo-") as folder:
        steps = play(
            lambda home: open_service(Settings(home=home, embedder=embedder)), Path(folder), say
        )
    if session.as_json:
        session.print_json(as_data(steps))
    failed = [step.name for step in steps if not step.ok]
    if failed:
        _fail(f"the demo broke a promise: {', '.join(failed)}")


def _group(app: typer.Typer, name: str, text: str, panel: str) -> typer.Typer:
    group = typer.Typer(no_args_is_help=True)
    global_options(group)
    app.add_typer(group, name=name, help=text, rich_help_panel=panel)
    return group


def _fail(message: str) -> None:
    sys.stdout.flush()
    typer.echo(f"memsvc: {message}", err=True)
    raise typer.Exit(1)


def _facts(facts: Mapping[str, object]) -> str:
    return "\n".join(f"{key}: {value}" for key, value in facts.items() if value not in ("", None))


def _lines(items: Sequence[Mapping[str, object]], nothing: str) -> str:
    from memsvc.interfaces.fence import fence, one_line  # only where notes are shown

    lines = (
        " · ".join(
            f"{key} {one_line(str(value))}"
            for key, value in item.items()
            if value not in ("", None)
        )
        for item in items
    )
    return fence({}, "\n".join(lines)) if items else nothing
