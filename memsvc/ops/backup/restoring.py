"""Puts a home back from a backup: into an empty place, or beside a living one."""

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from memsvc.errors import InvalidInput, MemsvcError, Misconfigured, StorageFailed
from memsvc.ledger import anchor as anchors
from memsvc.ledger.chain import Verdict
from memsvc.ledger.keys import KeyRing
from memsvc.model.identity import Caller
from memsvc.model.progress import Progress, tell
from memsvc.model.replies import EventView, Json
from memsvc.model.vocabulary import Action, Outcome, VaultName
from memsvc.ops.backup import sealing
from memsvc.ops.backup.archive import Archive, open_archive
from memsvc.ops.backup.manifest import LEDGER, Manifest, damaged
from memsvc.ops.backup.planning import Place, plan
from memsvc.ops.backup.staging import Stage, sync_all
from memsvc.service import access
from memsvc.service.gateway.backup.backing import check_ledger, keys_needed
from memsvc.service.gateway.backup.catching_up import NotRestored, catch_up, later_ledger
from memsvc.service.home import Home

__all__ = [
    "Keys",
    "OpenHome",
    "RestoreReport",
    "RestoreRequest",
    "Service",
    "restore",
    "secrets_of",
]

_AT_ONCE = 100
_MOST_WITHHELD = 200


class Service(Protocol):
    """What a restore needs of `MemoryService`."""

    def settle_in(
        self,
        caller: Caller,
        *,
        folders: Mapping[str, str],
        detail: Mapping[str, Json],
        reason: str = "",
    ) -> int:
        """Begin anew at these folders; the event's number."""

    def ensure_ready(self, progress: Progress | None = None) -> None:
        """Make the index."""

    def scan_all(self, caller: Caller, progress: Progress | None = None) -> int:
        """Take in every file."""

    def events_since(self, caller: Caller, seq: int, *, limit: int = 200) -> list[EventView]:
        """What was recorded after an event."""

    def audit_verify(self) -> dict[str, Json]:
        """Whether the audit holds and agrees with its anchors."""

    def close(self) -> None:
        """Give back every handle."""


OpenHome = Callable[[Path, str], Service]
"""Opens the service of a home, bound to a vault of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """Where a backup's secret keys are: in a file of their own, or sealed by a passphrase."""

    file: Path | None = None
    passphrase: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreRequest:
    """`folders` say where vaults go, `keep` names those whose present folders stay as they are;
    `beside` puts everything below `home`; `ledger` is a newer ledger of the same home.
    """

    archive: Path
    home: Path
    keys: Keys
    folders: Mapping[str, Path] = field(default_factory=dict)
    keep: tuple[str, ...] = ()
    beside: bool = False
    ledger: Path | None = None
    reason: str = ""
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreReport:
    """What was put back, and what was not because it was taken back after the backup."""

    home: str
    made: str
    seq: int
    vaults: tuple[Place, ...]
    files: int
    event: int = 0
    not_restored: tuple[NotRestored, ...] = ()
    withheld: tuple[dict[str, Json], ...] = ()
    notices: tuple[str, ...] = ()
    dry_run: bool = False


def restore(
    request: RestoreRequest,
    caller: Caller,
    open_home: OpenHome,
    *,
    progress: Progress | None = None,
) -> RestoreReport:
    """Check the whole backup, make the home ready beside its place, and put it there in one step.

    Raises InvalidInput for a backup, keys, ledger or place that cannot be used, Denied, StorageFailed;
    then nothing was changed. A run that was cut off can be repeated.
    """
    access.require_confirmed(caller, "restoring a backup", dry=request.dry_run)
    with open_archive(request.archive) as archive:
        manifest = archive.manifest
        secrets = secrets_of(archive, request.keys)
        mark = f"{archive.manifest_hash} {request.home} {request.ledger or ''}"
        places = plan(
            manifest, request.home, request.folders, request.keep, beside=request.beside, mark=mark
        )
        if request.dry_run:
            archive.verify(progress)
            return _report(request, manifest, places, dry_run=True)
        with _stages(request, places, mark) as stages:
            done = _stage(request, archive, places, stages, secrets, caller, open_home, progress)
            sync_all()
            _put(stages, mark)
    withheld, notices = _begin(request, caller, places, done.event, open_home, progress)
    report = _report(request, manifest, places, dry_run=False)
    return replace(
        report,
        seq=done.verdict.events,
        event=done.event,
        not_restored=done.not_restored,
        withheld=withheld,
        notices=(*_limits(request, manifest), *done.notices, *notices),
    )


@dataclass(frozen=True, slots=True)
class _Done:
    """What the staged home has: its ledger's head before the restore, and the restore's event."""

    verdict: Verdict
    event: int
    not_restored: tuple[NotRestored, ...]
    notices: tuple[str, ...]


def _report(
    request: RestoreRequest, manifest: Manifest, places: list[Place], *, dry_run: bool
) -> RestoreReport:
    return RestoreReport(
        home=str(request.home),
        made=manifest.made,
        seq=manifest.seq,
        vaults=tuple(places),
        files=sum(place.files for place in places if not place.kept),
        notices=() if not dry_run else tuple(_limits(request, manifest)),
        dry_run=dry_run,
    )


def _limits(request: RestoreRequest, manifest: Manifest) -> list[str]:
    if request.ledger is not None:
        return []
    told = (
        f"the backup ends at event {manifest.seq} of {manifest.made[:19]}Z: what was rejected, "
        "retracted or purged after it is not known here; if a newer ledger is left, begin again with "
        "--ledger"
    )
    return [told]


# -- keys ------------------------------------------------------------------------------------


def secrets_of(archive: Archive, keys: Keys) -> dict[str, str]:
    """The secret key files that go with a backup, by name. Raises InvalidInput."""
    if archive.manifest.keys == "sealed":
        if not keys.passphrase:
            raise InvalidInput(
                "the keys of that backup are sealed: give its passphrase with --passphrase-file",
                argument="passphrase",
            )
        return sealing.unseal(archive.sealed, keys.passphrase, bound_to=archive.manifest_hash)
    if keys.file is None:
        raise InvalidInput(
            "the keys of that backup were written apart: give that file with --keys",
            argument="keys",
        )
    try:
        data = keys.file.read_bytes()
    except OSError as error:
        raise InvalidInput(
            f"the file of keys {keys.file.name} cannot be read: {error.strerror}", argument="keys"
        ) from error
    return sealing.from_apart(data, bound_to=archive.manifest_hash)


def _write_keys(home: Path, secrets: Mapping[str, str]) -> None:
    for name, text in secrets.items():
        handle = os.open(home / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)


def _check_keys(home: Path) -> None:
    """That every standing rejection of the staged ledger can be checked. Raises InvalidInput."""
    needed = keys_needed(home / "memsvc.db")
    try:
        ring = KeyRing.open(home / "tombstone.keys", create=False) if needed else None
    except Misconfigured as error:
        raise InvalidInput(
            "the keys given hold no usable tombstone keys, and rejected claims depend on them",
            argument="keys",
        ) from error
    missing = sorted(needed.difference(ring.ids if ring else ()))
    if missing:
        raise InvalidInput(
            f"the keys given lack {', '.join(missing)}, which rejected claims depend on",
            argument="keys",
        )


# -- staging ---------------------------------------------------------------------------------


@contextmanager
def _stages(request: RestoreRequest, places: list[Place], mark: str) -> Iterator[dict[str, Stage]]:
    """The home's stage as "" and those of vaults outside it, by name; gone again on failure."""
    stages = {"": Stage(request.home)}
    for place in places:
        if not place.inside and not place.kept:
            stages[place.name] = Stage(Path(place.folder))
    with ExitStack() as opened:
        for stage in stages.values():
            stage.begin(mark)
            opened.callback(stage.give_up)
        yield stages
        opened.pop_all()
    for stage in stages.values():
        stage.end()


def _stage(
    request: RestoreRequest,
    archive: Archive,
    places: list[Place],
    stages: Mapping[str, Stage],
    secrets: Mapping[str, str],
    caller: Caller,
    open_home: OpenHome,
    progress: Progress | None,
) -> _Done:
    """Everything as it is to be, in the stages; every check is done in here."""
    home = stages[""].files
    home.chmod(0o700)
    roots = _unpack(archive, places, stages, home, progress)
    verdict = _ledger(archive, home)
    _write_keys(home, secrets)
    _check_keys(home)
    lost: tuple[NotRestored, ...] = ()
    notices: tuple[str, ...] = ()
    if request.ledger is not None:
        old = home / "older.db"
        (home / "memsvc.db").rename(old)
        known = archive.manifest
        verdict = later_ledger(
            request.ledger, Home(home), identity=known.database, seq=known.seq, head=known.hash
        )
        _check_keys(home)  # they may have changed with the ledger
        lost, notices = catch_up(old, home / "memsvc.db", roots, progress)
        for path in home.glob("older.db*"):
            path.unlink()
    else:
        lost, notices = _complete(home, places, roots, progress)
    folders = {place.name: place.folder for place in places}
    detail: dict[str, Json] = {
        "backup": archive.manifest_hash,
        "seq": archive.manifest.seq,
        "ledger_seq": verdict.events,
        "vaults": [place.name for place in places],
        "not_restored": len(lost),
        "beside": request.beside,
    }
    name = places[0].name if places else "none"
    service = open_home(home, name)
    try:
        event = service.settle_in(caller, folders=folders, detail=detail, reason=request.reason)
        service.ensure_ready(progress)
    finally:
        service.close()
    return _Done(verdict, event, lost, notices)


def _complete(
    home: Path, places: list[Place], roots: Mapping[str, Path], progress: Progress | None
) -> tuple[tuple[NotRestored, ...], tuple[str, ...]]:
    """Write the notes of vaults whose files were left out, from the ledger that holds their texts."""
    absent = {one.name: roots[one.name] for one in places if not one.copied and one.name in roots}
    if not absent:
        return (), ()
    return catch_up(None, home / "memsvc.db", absent, progress)


def _unpack(
    archive: Archive,
    places: list[Place],
    stages: Mapping[str, Stage],
    home: Path,
    progress: Progress | None,
) -> dict[str, Path]:
    """Extract what goes to each stage; the staged folder of each vault that is put back."""
    manifest = archive.manifest
    wanted = [(one, home / _home_name(one.name)) for one in manifest.members if _is_home(one.name)]
    roots: dict[str, Path] = {}
    for place in places:
        if place.kept:
            continue
        stage = stages.get(place.name)
        if stage is not None and stage.placed:
            continue
        root = stage.files if stage is not None else home / place.inside
        root.mkdir(parents=True, exist_ok=True)
        roots[place.name] = root
        wanted += [(one, root / path) for path, one in manifest.of_vault(place.name).items()]
    archive.room_for(home, [member for member, _ in wanted])
    for done, (member, path) in enumerate(wanted, start=1):
        _make_folder(path.parent)
        archive.extract(member, path)
        tell(progress, done, len(wanted), "unpacking", every=_AT_ONCE)
    return roots


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise damaged("a file in it stands where a folder must be") from error
    except OSError as error:
        raise StorageFailed(f"{folder.name} was not made: {error.strerror}") from error


def _is_home(name: str) -> bool:
    return name == LEDGER or name.startswith("home/")


def _home_name(name: str) -> str:
    return "memsvc.db" if name == LEDGER else name.removeprefix("home/")


def _ledger(archive: Archive, home: Path) -> Verdict:
    """The unpacked ledger's chain, which must end where manifest and signed anchor say."""
    manifest = archive.manifest
    try:
        verdict = check_ledger(home / "memsvc.db")
        line = anchors.parse(archive.anchor_line())
    except (InvalidInput, Misconfigured, ValueError, sqlite3.DatabaseError) as error:
        why = error.message if isinstance(error, MemsvcError) else "its anchor is none"
        raise damaged(why) from error
    head = (manifest.database, manifest.seq, manifest.hash)
    if head != (verdict.identity, verdict.events, verdict.head):
        raise damaged("its ledger ends elsewhere than its manifest says")
    if head != (line.database, line.seq, line.hash) or not line.is_signed():
        raise damaged("its signed anchor does not agree with its ledger")
    return verdict


# -- placing ---------------------------------------------------------------------------------


def _put(stages: Mapping[str, Stage], mark: str) -> None:
    """Put everything in its place, the home last: before that nothing counts."""
    for name in sorted(stages, reverse=True):
        stages[name].put(mark)


def _begin(
    request: RestoreRequest,
    caller: Caller,
    places: list[Place],
    event: int,
    open_home: OpenHome,
    progress: Progress | None,
) -> tuple[tuple[dict[str, Json], ...], list[str]]:
    """Let the files pass the gateway once; what it withheld, and what does not agree."""
    notices: list[str] = []
    name = places[0].name if places else "none"
    service = open_home(request.home, name)
    try:
        for place in places:
            bound = replace(caller, vault=VaultName(place.name))
            try:
                service.scan_all(bound, progress)
            except MemsvcError as error:
                notices.append(f"vault {place.name}: {error.message}")
        since = service.events_since(caller, event, limit=_MOST_WITHHELD)
        verified = service.audit_verify()
    finally:
        service.close()
    withheld: tuple[dict[str, Json], ...] = tuple(
        {
            "id": one.note_id,
            "vault": one.vault,
            "project": one.project,
            "why": one.reason,
            "event": one.seq,
        }
        for one in since
        if one.action == Action.FILE_EDIT and one.outcome == Outcome.REFUSED
    )
    problems = verified["problems"]
    notices += [f"audit: {one}" for one in problems] if isinstance(problems, list) else []
    return withheld, notices
