"""Commands that keep a home safe: backup and restore."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memsvc.errors import InvalidInput
from memsvc.interfaces.amounts import counted
from memsvc.interfaces.cli.notes import Confirm, Reason
from memsvc.interfaces.cli.options import command
from memsvc.interfaces.cli.progress import progress_bar
from memsvc.interfaces.cli.session import Session
from memsvc.interfaces.fence import one_line

if TYPE_CHECKING:
    from memsvc.ops.backup import restoring
    from memsvc.ops.backup.making import BackupReport
    from memsvc.ops.backup.merging import MergeReport
    from memsvc.ops.backup.restoring import RestoreReport
    from memsvc.service.api import MemoryService
    from memsvc.service.gateway.backup.catching_up import NotRestored

__all__ = ["register"]

_UPKEEP = "Upkeep"
_MOST_SHOWN = 50

Keys = Annotated[
    str,
    typer.Option("--keys", metavar="FILE", help="File of the secret keys, apart from the archive."),
]
PassphraseFile = Annotated[
    str,
    typer.Option(
        "--passphrase-file",
        metavar="FILE",
        help="File whose first line seals the secret keys inside the archive; - is standard input.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    command(app, "backup", panel=_UPKEEP)(backup)
    command(app, "restore", panel=_UPKEEP)(restore)


def backup(
    session: Session,
    target: Annotated[str, typer.Argument(metavar="TARGET.zip", help="The archive to make.")],
    *,
    keys: Keys = "",
    passphrase_file: PassphraseFile = "",
    without: Annotated[
        list[str],
        typer.Option("--without", metavar="VAULT", help="Leave out a vault's files; repeatable."),
    ] = [],  # noqa: B006 - typer makes a fresh list
    replace: Annotated[bool, typer.Option("--replace", help="Replace files of that name.")] = False,
    reason: Reason = "",
) -> None:
    """Make one verified archive of this home while it is in use: ledger, vaults, settings, keys."""
    from memsvc.ops.backup.making import BackupRequest, back_up  # needed here only

    request = BackupRequest(
        target=_path(target),
        keys=_path(keys) if keys else None,
        passphrase=_passphrase(passphrase_file, keys, twice=True),
        without=tuple(without),
        replace=replace,
        reason=reason,
    )
    with progress_bar("backup") as progress:
        report = back_up(session.service(), session.caller(), request, progress=progress)
    session.show(report, _made(report))


def restore(  # noqa: PLR0913 - a command's options
    session: Session,
    archive: Annotated[str, typer.Argument(metavar="ARCHIVE", help="What `backup` made.")],
    *,
    into: Annotated[
        str, typer.Option("--into", metavar="FOLDER", help="The new home; else this home's folder.")
    ] = "",
    beside: Annotated[
        bool,
        typer.Option("--beside", help="Put the vaults into the new home, not where they were."),
    ] = False,
    folder: Annotated[
        list[str],
        typer.Option("--folder", metavar="VAULT=FOLDER", help="Where a vault goes; repeatable."),
    ] = [],  # noqa: B006 - typer makes a fresh list
    keep: Annotated[
        list[str],
        typer.Option(
            "--keep", metavar="VAULT", help="Leave a vault's present folder as it is; repeatable."
        ),
    ] = [],  # noqa: B006 - typer makes a fresh list
    ledger: Annotated[
        str,
        typer.Option("--ledger", metavar="FILE", help="A newer memsvc.db of the same home."),
    ] = "",
    keys: Keys = "",
    passphrase_file: PassphraseFile = "",
    merge: Annotated[
        bool,
        typer.Option(
            "--merge", help="Bring what this living home's vault lost back into it, nothing else."
        ),
    ] = False,
    only: Annotated[
        list[str],
        typer.Option(
            "--only", metavar="ID|PATH", help="With --merge: these notes or folders; repeatable."
        ),
    ] = [],  # noqa: B006 - typer makes a fresh list
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the backup and the places; change nothing.")
    ] = False,
    reason: Reason = "",
    confirm: Confirm = False,
) -> None:
    """Put a home back from a backup: into an empty place, beside a living one, or merged into it."""
    from memsvc.ops.backup import restoring  # needed here only

    if merge or only:
        given = (into, beside, folder, keep, ledger, not merge)
        if any(given):
            raise InvalidInput(
                "--merge goes with --only, --vault, --dry-run and --reason only", argument="merge"
            )
        _merge(session, archive, tuple(only), reason, dry_run=dry_run, confirm=confirm)
        return
    _ask_living(session)
    home = _path(into) if into else session.settings().home
    if beside and not into:
        raise InvalidInput("--beside needs --into FOLDER: the new home", argument="into")
    caller = (
        session.caller()
        if dry_run
        else session.confirmed(f"Restore {Path(archive).name} into {home}?", flag=confirm)
    )
    request = restoring.RestoreRequest(
        archive=_path(archive),
        home=home,
        keys=_keys(keys, passphrase_file),
        folders=_folders(folder),
        keep=tuple(keep),
        beside=beside,
        ledger=_path(ledger) if ledger else None,
        reason=reason,
        dry_run=dry_run,
    )
    with progress_bar("restore") as progress:
        report = restoring.restore(request, caller, _open_home, progress=progress)
    session.show(report, _restored(report))


def _ask_living(session: Session) -> None:
    """Who is no person is refused by the living home, which keeps that on record. A person's
    disaster may have left that home unusable, so for a person it is not opened.
    """
    from memsvc.service.home import Home

    caller = session.caller()
    person = caller.principal.is_person
    if not person and Home(session.settings().home).database.exists():
        session.service().may_restore(caller)


def _merge(
    session: Session,
    archive: str,
    only: tuple[str, ...],
    reason: str,
    *,
    dry_run: bool,
    confirm: bool,
) -> None:
    from memsvc.ops.backup.merging import MergeRequest, merge  # see restore

    caller = session.caller()
    if not dry_run:
        question = f"Bring back into vault {caller.vault} what it lost since {Path(archive).name}?"
        caller = session.confirmed(question, flag=confirm)
    request = MergeRequest(archive=_path(archive), only=only, reason=reason, dry_run=dry_run)
    with progress_bar("restore") as progress:
        report = merge(session.service(), caller, request, progress=progress)
    session.show(report, _merged(report))


def _keys(keys: str, passphrase_file: str) -> "restoring.Keys":
    from memsvc.ops.backup import restoring  # see restore

    return restoring.Keys(
        file=_path(keys) if keys else None,
        passphrase=_passphrase(passphrase_file, keys, twice=False),
    )


def _open_home(home: Path, vault: str) -> "MemoryService":
    from memsvc.bootstrap import open_service  # see Session.service
    from memsvc.settings import Settings

    return open_service(Settings(home=home, vault=vault, embedder="none"))


def _path(text: str) -> Path:
    return Path(text).expanduser().absolute()


def _folders(pairs: list[str]) -> dict[str, Path]:
    found = {}
    for pair in pairs:
        vault, separator, place = pair.partition("=")
        if not separator or not vault or not place:
            raise InvalidInput("--folder takes VAULT=FOLDER", argument="folder")
        found[vault] = _path(place)
    return found


def _passphrase(file: str, keys: str, *, twice: bool) -> str:
    """The passphrase in the file, or typed on a terminal when no file of keys is named either."""
    if file and keys:
        raise InvalidInput("--keys or --passphrase-file, not both", argument="keys")
    if file:
        try:
            text = sys.stdin.read() if file == "-" else _path(file).read_text("utf-8")
        except (OSError, ValueError) as error:
            raise InvalidInput(
                "the file of the passphrase cannot be read", argument="passphrase_file"
            ) from error
        found = text.split("\n", 1)[0].rstrip("\r")
        if not found:
            raise InvalidInput("the passphrase is empty", argument="passphrase_file")
        return found
    if keys or not (twice and sys.stdin.isatty() and sys.stderr.isatty()):
        return ""
    return str(
        typer.prompt(
            "Passphrase for the keys", hide_input=True, err=True, confirmation_prompt=twice
        )
    )


def _made(report: "BackupReport") -> str:
    what = f"{counted(report.notes, 'note')}, {counted(report.files, 'file')} in {counted(len(report.vaults), 'vault')}"
    lines = [
        f"backed up {what}, and the ledger up to event {report.seq}",
        f"archive: {report.archive} ({report.bytes} bytes, sha256 {report.sha256})",
        f"keys: {report.keys}; without them rejections cannot be checked: keep them apart from it",
        report.notice,
    ]
    return "\n".join(line for line in lines if line)


def _merged(report: "MergeReport") -> str:
    did = "would bring back" if report.dry_run else "brought back"
    came = ", ".join(
        (
            f"{counted(report.files, 'file')} of notes",
            counted(report.notes, "deleted note"),
            counted(report.attachments, "attachment"),
        )
    )
    lines = [
        f"vault {report.vault}: {did} {came}; as they were: {report.unchanged}",
        *_not_restored(report.not_restored),
        *(f"not overwritten: {path}" for path in report.changed_attachments[:_MOST_SHOWN]),
        *(f"never a note, left out: {path}" for path in report.unknown[:_MOST_SHOWN]),
    ]
    return "\n".join(one_line(line) for line in lines)


def _not_restored(found: "Sequence[NotRestored]") -> list[str]:
    lines = [
        f"not restored: {one.why}, {one.at[:19]}: {one.id} {one.path}"
        for one in found[:_MOST_SHOWN]
    ]
    more = len(found) - _MOST_SHOWN
    return [*lines, *([f"and {more} more; --json lists them"] if more > 0 else [])]


def _restored(report: "RestoreReport") -> str:
    did = "would restore" if report.dry_run else "restored"
    lines = [
        f"{did} {counted(report.files, 'file')}, the ledger up to event {report.seq}: {report.home}"
    ]
    lines += [
        f"vault {one.name}: {one.folder}{', left as it is' if one.kept else ''}"
        for one in report.vaults
    ]
    lines += _not_restored(report.not_restored)
    lines += [
        f"{one['why']}: {one['id']}; see `memsvc review list`"
        for one in report.withheld[:_MOST_SHOWN]
    ]
    lines += report.notices
    return "\n".join(one_line(line) for line in lines)
