"""Commands that carry a scope out of a home and foreign notes into one: export and import."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from memsvc.interfaces.amounts import counted
from memsvc.interfaces.cli.options import command
from memsvc.interfaces.cli.progress import progress_bar
from memsvc.interfaces.cli.session import Session
from memsvc.model.replies import Json

__all__ = ["register"]

_MOST_LINES = 50


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    command(app, "export", panel="Upkeep")(export)
    command(app, "import", panel="Upkeep")(import_)


def export(
    session: Session,
    target: Annotated[
        str, typer.Argument(help="File (json; - for standard output) or folder (markdown).")
    ],
    *,
    form: Annotated[str, typer.Option("--format", help="json or markdown.")] = "json",
    every: Annotated[
        bool,
        typer.Option("--all", help="Also what is proposed, disputed or retracted; for a reviewer."),
    ] = False,
    history: Annotated[
        bool, typer.Option("--history", help="Every version of each note; for a reviewer.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take the place of an earlier export.")
    ] = False,
) -> None:
    """Write the notes of one project to a file or a folder that appears whole."""
    from memsvc.model.exchange import ExportRequest  # only where something leaves
    from memsvc.ops.exchange.publish import publish

    with progress_bar("export") as progress:
        reply = publish(
            session.service(),
            session.caller(),
            Path(target),
            form=form,
            request=ExportRequest(every=every, history=history),
            replace=replace,
            progress=progress,
        )
    if target == "-":
        return  # standard output is the export's
    left = reply.get("left_out")
    more = f"; {len(left)} that are gone left out" if isinstance(left, list) and left else ""
    session.show(
        reply,
        f"{counted(int(str(reply['notes'])), 'note')} of {reply['scope']} written to {target}{more}",
    )


def import_(
    session: Session,
    source: Annotated[str, typer.Argument(help="File or folder to import.")],
    *,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            help="auto, json, markdown (exports of memsvc), memex (pages with OKF front matter), "
            "obsidian (any folder of markdown) or server-memory (the MCP server's JSONL).",
        ),
    ] = "auto",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would become of each record; write nothing.")
    ] = False,
    propose: Annotated[
        bool,
        typer.Option(
            "--propose-conflicts",
            help="Queue other texts of notes that are here for review, instead of only listing them.",
        ),
    ] = False,
    confirm: Annotated[
        bool, typer.Option("--confirm", "--yes", help="Do not ask; you are sure.")
    ] = False,
) -> None:
    """Take foreign notes into one project, each as a write of its own; nothing is overwritten."""
    from memsvc.ops.exchange.take_in import problems, take_in  # only where something comes in

    def agreed(question: str) -> None:
        session.confirmed(question, flag=confirm)

    reply = take_in(
        session.service(),
        session.caller(),
        Path(source),
        form=form,
        dry_run=dry_run,
        propose=propose,
        agreed=agreed,
        bar=lambda: progress_bar("import"),
    )
    session.show(reply, _told(reply))
    wrong, stopped = problems(reply), str(reply["stopped"])
    if stopped or wrong:
        sys.stdout.flush()
        what = (
            f"the import stopped: {stopped}"
            if stopped
            else f"not imported: {counted(wrong, 'record')}"
        )
        typer.echo(f"memsvc: {' '.join(what.split())}", err=True)
        raise typer.Exit(1)


def _told(reply: Mapping[str, Json]) -> str:
    from memsvc.interfaces.fence import one_line  # pulls the stores in: only where notes are shown

    records, told = reply["records"], reply["told"]
    counts = records if isinstance(records, dict) else {}
    said = ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "no records"
    head = f"{'would be: ' if reply['dry_run'] else ''}{said}"
    lines = [f"{reply['source']} ({reply['format']}) into {reply['scope']}: {head}"]
    notices = reply["notices"]
    lines += [f"note: {one_line(str(one))}" for one in notices] if isinstance(notices, list) else []
    items: Sequence[Json] = told if isinstance(told, list) else []
    for one in items[:_MOST_LINES]:
        if isinstance(one, dict):
            where = one_line(str(one["place"]))
            lines.append(f"{one['outcome']:<9} {where}: {one_line(str(one['reason']))}")
    if len(items) > _MOST_LINES:
        lines.append(f"… and {len(items) - _MOST_LINES} more: --json lists them all")
    return "\n".join(lines)
