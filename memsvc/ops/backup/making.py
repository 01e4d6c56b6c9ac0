"""Makes one verified archive of a home while it is in use."""

import hashlib
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from filelock import FileLock, Timeout

from memsvc import __version__
from memsvc.errors import InvalidInput, MemsvcError, Misconfigured, StorageFailed, VaultOffline
from memsvc.ledger.chain import Verdict
from memsvc.ledger.records import VaultRecord
from memsvc.model.identity import Caller
from memsvc.model.progress import Progress, tell
from memsvc.notes.disk import sync_folder
from memsvc.notes.paths import contains, is_note_path
from memsvc.ops.backup import sealing
from memsvc.ops.backup.archive import open_archive
from memsvc.ops.backup.copying import Found, Taken, copy_steadily, look_around
from memsvc.ops.backup.manifest import (
    ANCHOR,
    HOME_FILES,
    LEDGER,
    MANIFEST,
    SEALED,
    Manifest,
    Member,
    VaultCopy,
    vault_member,
)
from memsvc.ops.backup.packing import Packer
from memsvc.service.gateway.backup.backing import Backing
from memsvc.service.gateway.backup.ledger_copy import slim

__all__ = ["BackupReport", "BackupRequest", "Service", "back_up"]

_ARCHIVE = "archive.zip"
_AT_ONCE = 100


class Service(Protocol):
    """What a backup needs of `MemoryService`."""

    def backing_up(self, caller: Caller) -> AbstractContextManager[Backing]:
        """A backup in the making."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupRequest:
    """Where the archive goes, and the secret keys: into a file apart, or sealed by a passphrase."""

    target: Path
    keys: Path | None = None
    passphrase: str = ""
    without: tuple[str, ...] = ()
    replace: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupReport:
    """What was made; `event` is the number of its audit event, which is not in it."""

    archive: str
    bytes: int
    sha256: str
    keys: str
    seq: int
    head: str
    files: int
    notes: int
    vaults: tuple[VaultCopy, ...]
    event: int
    notice: str = ""


@dataclass(frozen=True, slots=True)
class _Copy:
    """A vault, what is in its folder, and the notes and trash among it, which must stand still."""

    vault: VaultRecord
    found: Found
    governed: frozenset[str]


def back_up(
    service: Service, caller: Caller, request: BackupRequest, *, progress: Progress | None = None
) -> BackupReport:
    """Make the archive, read it back, and only then give it its name; what was made.

    Writers are held up only while notes are read. Raises InvalidInput, Denied, VaultOffline,
    Misconfigured, StorageFailed; then nothing is left behind, and an older archive stays.
    """
    with service.backing_up(caller) as backing, _alone(backing):
        _clear(request)
        _check(backing, request)
        vaults = _wanted(backing, request.without)
        for vault in vaults:
            _take_in(backing, vault, progress)
        with _workplace(request.target) as work:
            manifest, secret = _pack(backing, vaults, request, work, progress)
            archive = work / _ARCHIVE
            _read_back(archive, manifest, progress)
            digest, size = _digest(archive)
            _place(archive, request, secret)
            seq = backing.done(
                {
                    "sha256": digest,
                    "bytes": size,
                    "seq": manifest.seq,
                    "head": manifest.hash,
                    "keys": manifest.keys,
                    "files": len(manifest.members),
                    "without": list(request.without),
                },
                reason=request.reason,
            )
    copied = [one for one in manifest.vaults if one.copied]
    return BackupReport(
        archive=str(request.target),
        bytes=size,
        sha256=digest,
        keys=str(request.keys) if request.keys else "sealed with the passphrase",
        seq=manifest.seq,
        head=manifest.hash,
        files=sum(one.files for one in copied),
        notes=sum(one.notes for one in copied),
        vaults=manifest.vaults,
        event=seq,
        notice=_notice(manifest),
    )


def _notice(manifest: Manifest) -> str:
    left = sum(len(one.left_out) for one in manifest.vaults)
    return f"{left} files or folders were left out; --json lists them" if left else ""


# -- before ----------------------------------------------------------------------------------


def _check(backing: Backing, request: BackupRequest) -> None:
    if request.target.suffix.lower() != ".zip":
        raise InvalidInput("a backup is a .zip file; end its name so", argument="target")
    if bool(request.keys) == bool(request.passphrase):
        raise InvalidInput(
            "say where the secret keys go: --keys FILE writes them apart, --passphrase-file FILE "
            "seals them in the archive",
            argument="keys",
        )
    if request.passphrase:
        sealing.check_passphrase(request.passphrase)
    if request.keys is not None and request.keys == request.target:
        raise InvalidInput("keys and archive are two files; name two", argument="keys")
    places = [("target", request.target), *([("keys", request.keys)] if request.keys else [])]
    for argument, path in places:
        _check_place(backing, path, argument=argument, replace=request.replace)


def _check_place(backing: Backing, path: Path, *, argument: str, replace: bool) -> None:
    if path.is_dir():
        raise InvalidInput(f"{path.name} is a folder; name a file", argument=argument)
    if not path.parent.is_dir():
        raise InvalidInput(
            f"the folder of {path.name} is not there; make it first", argument=argument
        )
    if path.exists() and not replace:
        raise InvalidInput(f"{path.name} is there already; add --replace", argument=argument)
    parent = path.parent.resolve()
    for vault in backing.vaults():
        if Path(vault.path).exists() and contains(Path(vault.path), parent):
            raise InvalidInput(
                f"{path.name} would lie in vault {vault.name}, and be backed up with it; name a "
                "place outside",
                argument=argument,
            )


def _wanted(backing: Backing, without: Sequence[str]) -> list[VaultRecord]:
    vaults = backing.vaults()
    unknown = sorted(set(without) - {vault.name for vault in vaults})
    if unknown:
        raise InvalidInput(
            f"--without {unknown[0]}: there is no such vault; `memsvc vault list` shows them",
            argument="without",
        )
    return [vault for vault in vaults if vault.name not in without]


def _take_in(backing: Backing, vault: VaultRecord, progress: Progress | None) -> None:
    try:
        backing.take_in(vault, progress)
    except VaultOffline as error:
        raise VaultOffline(
            f"{error.message}. Or leave its files out with --without {vault.name}: the ledger holds "
            "the text of its notes",
            vault=vault.name,
        ) from error


@contextmanager
def _alone(backing: Backing) -> Iterator[None]:
    lock = FileLock(backing.home / "locks" / ".backup.lock", timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise StorageFailed("another backup of this home is being made; repeat after it") from error
    try:
        yield
    finally:
        lock.release()


def _clear(request: BackupRequest) -> None:
    """Remove what a run that was cut off left beside the target, and keys that it put in place."""
    for work in _stale(request.target):
        if request.keys is not None and _orphaned(work / _ARCHIVE, request.keys):
            request.keys.unlink(missing_ok=True)
        shutil.rmtree(work, ignore_errors=True)
    if request.keys is not None:
        for fresh in _stale(request.keys):
            fresh.unlink(missing_ok=True)


def _stale(target: Path) -> list[Path]:
    pattern = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{12}}\.memsvc-tmp\Z")
    if not target.parent.is_dir():
        return []
    return [path for path in target.parent.iterdir() if pattern.match(path.name)]


def _orphaned(archive: Path, keys: Path) -> bool:
    """Whether the file of keys goes with an archive that never got its name."""
    if not archive.is_file() or not keys.is_file():
        return False
    try:
        with open_archive(archive) as made:
            sealing.from_apart(keys.read_bytes(), bound_to=made.manifest_hash)
    except InvalidInput:
        return False
    return True


@contextmanager
def _workplace(target: Path) -> Iterator[Path]:
    """A folder beside the target, gone in the end."""
    try:
        work = target.with_name(f".{target.name}.{secrets.token_hex(6)}.memsvc-tmp")
        work.mkdir(mode=0o700)
    except OSError as error:
        raise StorageFailed(f"{target.name} was not written: {error.strerror}") from error
    try:
        yield work
    except OSError as error:
        raise StorageFailed(
            f"{target.name} was not written: {error.strerror or error}; nothing is left of it"
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


# -- copying ---------------------------------------------------------------------------------


def _pack(
    backing: Backing,
    vaults: Sequence[VaultRecord],
    request: BackupRequest,
    work: Path,
    progress: Progress | None,
) -> tuple[Manifest, bytes]:
    """Write the archive into the work folder; its manifest, and the keys if they go apart."""
    made = backing.now()
    ledger = work / LEDGER
    with Packer(work / _ARCHIVE) as packer, tempfile.TemporaryFile(dir=work) as spool:
        copies = [_look(vault) for vault in vaults]
        for copy in copies:
            _add_loose(packer, copy, progress)
        with backing.still(vaults) as still:
            copies = [_look(copy.vault) for copy in copies]
            spooled = [one for copy in copies for one in _spool(spool, copy, progress)]
            still.release()
            still.copy_ledger(ledger, _pages(progress))
        for done, (name, taken) in enumerate(spooled, start=1):
            packer.add(name, spool, taken)
            tell(progress, done, len(spooled), "packing notes", every=_AT_ONCE)
        verdict = _slimmed(ledger)
        backing.check_keys(ledger)
        anchor = backing.signed(verdict)
        packer.add_file(LEDGER, ledger)
        packer.add_bytes(ANCHOR, anchor.line().encode("utf-8") + b"\n")
        _add_home(packer, backing.home)
        members = tuple(packer.members)
        manifest = Manifest(
            made=made,
            memsvc=__version__,
            home=str(backing.home),
            keys="apart" if request.keys else "sealed",
            database=verdict.identity,
            seq=verdict.events,
            hash=verdict.head,
            vaults=_described(backing, copies, members),
            members=members,
        )
        data = manifest.encode()
        bound = hashlib.sha256(data).hexdigest()
        packer.add_plain(MANIFEST, data)
        if request.keys:
            return manifest, sealing.apart(backing.secrets(), bound_to=bound)
        packer.add_plain(
            SEALED, sealing.seal(backing.secrets(), request.passphrase, bound_to=bound)
        )
        return manifest, b""


def _slimmed(ledger: Path) -> Verdict:
    try:
        return slim(ledger)
    except InvalidInput as error:
        raise Misconfigured(
            f"nothing was backed up: {error.message}; see `memsvc audit verify`, and keep a copy of "
            "the home's folder as it is"
        ) from error


def _look(vault: VaultRecord) -> _Copy:
    found = look_around(Path(vault.path))
    governed = frozenset(
        path for path in found.files if is_note_path(path) or path.startswith(".trash/")
    )
    return _Copy(vault, found, governed)


def _add_loose(packer: Packer, copy: _Copy, progress: Progress | None) -> None:
    """What is no note: attachments and settings, each whole, while everything goes on."""
    loose = [path for path in copy.found.files if path not in copy.governed]
    for done, path in enumerate(loose, start=1):
        with tempfile.TemporaryFile(dir=packer.folder) as file:
            taken = copy_steadily(Path(copy.vault.path, path), file)
            if taken is not None:
                packer.add(vault_member(copy.vault.name, path), file, taken)
        tell(progress, done, len(loose), "packing attachments", every=_AT_ONCE)


def _spool(spool: BinaryIO, copy: _Copy, progress: Progress | None) -> Iterator[tuple[str, Taken]]:
    """The notes as they stand while nobody writes them."""
    for done, path in enumerate(sorted(copy.governed), start=1):
        taken = copy_steadily(Path(copy.vault.path, path), spool)
        if taken is not None:
            yield vault_member(copy.vault.name, path), taken
        tell(progress, done, len(copy.governed), "reading notes", every=_AT_ONCE)


def _add_home(packer: Packer, home: Path) -> None:
    for name in HOME_FILES:
        path = home / name
        if path.is_symlink() or not path.is_file():
            continue
        with tempfile.TemporaryFile(dir=packer.folder) as file:
            taken = copy_steadily(path, file)
            if taken is not None:
                packer.add(f"home/{name}", file, taken)


def _described(
    backing: Backing, copies: Sequence[_Copy], members: Sequence[Member]
) -> tuple[VaultCopy, ...]:
    by_name = {copy.vault.name: copy for copy in copies}
    names = [member.name for member in members]
    described = []
    for vault in backing.vaults():
        copy = by_name.get(vault.name)
        prefix = vault_member(vault.name, "")
        paths = [name.removeprefix(prefix) for name in names if name.startswith(prefix)]
        described.append(
            VaultCopy(
                name=vault.name,
                path=vault.path,
                inside=_inside(Path(vault.path), backing.home),
                copied=copy is not None,
                files=len(paths),
                notes=sum(is_note_path(path) for path in paths),
                left_out=tuple(copy.found.left_out) if copy else (),
            )
        )
    return tuple(described)


def _inside(folder: Path, home: Path) -> str:
    for root in (home, home.resolve()):
        if folder != root and folder.is_relative_to(root):
            return folder.relative_to(root).as_posix()
    return ""


def _pages(progress: Progress | None) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    return lambda done, total: progress(done, total, "copying the ledger")


# -- after -----------------------------------------------------------------------------------


def _read_back(path: Path, manifest: Manifest, progress: Progress | None) -> None:
    try:
        with open_archive(path) as archive:
            if archive.manifest != manifest:
                raise StorageFailed("the archive reads back as another one; nothing is left of it")
            archive.verify(progress)
    except InvalidInput as error:
        raise StorageFailed(
            f"the disk did not keep what was written: {error.message}; try another disk"
        ) from error


def _digest(path: Path) -> tuple[str, int]:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest(), path.stat().st_size


def _place(archive: Path, request: BackupRequest, secret: bytes) -> None:
    """Give the archive its name, the keys first: an archive without its keys is worth less."""
    if request.keys is not None:
        fresh = request.keys.with_name(f".{request.keys.name}.{secrets.token_hex(6)}.memsvc-tmp")
        try:
            handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(secret)
                file.flush()
                os.fsync(file.fileno())
            _rename(fresh, request.keys, replace=request.replace)
        finally:
            fresh.unlink(missing_ok=True)
    try:
        _rename(archive, request.target, replace=request.replace)
    except (OSError, MemsvcError):
        if request.keys is not None and not request.replace:
            request.keys.unlink(missing_ok=True)
        raise


def _rename(fresh: Path, target: Path, *, replace: bool) -> None:
    if target.exists() and not replace:
        raise InvalidInput(f"{target.name} came meanwhile; add --replace", argument="target")
    fresh.replace(target)
    sync_folder(target.parent)
