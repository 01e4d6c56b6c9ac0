"""Reads a backup without trusting it: what is not exactly as its manifest says is refused."""

import hashlib
import os
import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memsvc.errors import InvalidInput, StorageFailed
from memsvc.model.progress import Progress, tell
from memsvc.ops.backup.manifest import ANCHOR, MANIFEST, SEALED, Manifest, Member, damaged, parse

__all__ = ["Archive", "Progress", "open_archive"]


_MOST_MANIFEST = 128 << 20
_MOST_SEALED = 1 << 20
_TEXT_RATIO = 200
_SLACK = 1 << 20
_CHUNK = 1 << 20
_AT_ONCE = 100
_ENCRYPTED = 0x1


class Archive:
    """An open backup whose directory agrees with its manifest; members are checked as they are read."""

    def __init__(self, path: Path, file: zipfile.ZipFile) -> None:
        self.path = path
        self._zip = file
        infos = _directory(file, path.stat().st_size)
        data = self._small(infos, MANIFEST, _MOST_MANIFEST)
        self.manifest: Manifest = parse(data)
        self.manifest_hash = hashlib.sha256(data).hexdigest()
        self.sealed = self._small(infos, SEALED, _MOST_SEALED) if SEALED in infos else b""
        _agree(self.manifest, infos)

    def _small(self, infos: dict[str, zipfile.ZipInfo], name: str, most: int) -> bytes:
        info = infos.get(name)
        if info is None:
            raise damaged(f"{name} is missing")
        if info.file_size > min(most, _TEXT_RATIO * info.compress_size + _SLACK):
            raise damaged(f"{name} is larger than it may be")
        with _reading(name), self._zip.open(info) as file:
            data = file.read(info.file_size + 1)
        if len(data) != info.file_size:
            raise damaged(f"{name} has another size than the directory says")
        return data

    def anchor_line(self) -> str:
        """The signed anchor of the ledger's head."""
        member = self.manifest.member(ANCHOR)
        if member is None or member.size > _SLACK:
            raise damaged("its anchor is none")
        return b"".join(self._pieces(member)).decode("utf-8", "replace").strip()

    def verify(self, progress: Progress | None = None) -> None:
        """Read every member and compare its hash. Raises InvalidInput at the first that differs."""
        members = self.manifest.members
        for done, member in enumerate(members, start=1):
            for _ in self._pieces(member):
                pass
            tell(progress, done, len(members), "verifying", every=_AT_ONCE)

    def extract(self, member: Member, target: Path) -> None:
        """Write a member to a file that is not there yet, with its time and permissions.

        Raises InvalidInput for bytes that are not the manifest's, StorageFailed.
        """
        try:
            handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "wb") as file:
                for piece in self._pieces(member):
                    file.write(piece)
                file.flush()
                if os.name == "posix":
                    os.fchmod(file.fileno(), member.mode | stat.S_IRUSR | stat.S_IWUSR)
            os.utime(target, ns=(member.mtime_ns, member.mtime_ns))
        except FileExistsError as error:
            raise damaged("two files in it have one name on this file system") from error
        except OSError as error:
            raise StorageFailed(f"{target.name} was not written: {error.strerror}") from error

    @staticmethod
    def is_same(member: Member, path: Path) -> bool:
        """Whether a file has a member's bytes. Raises OSError."""
        if path.stat().st_size != member.size:
            return False
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == member.sha256

    def content(self, member: Member, *, most: int) -> bytes:
        """The whole of a member of at most so many bytes. Raises InvalidInput."""
        if member.size > most:
            raise damaged("a file in it is larger than it may be")
        return b"".join(self._pieces(member))

    def _pieces(self, member: Member) -> Iterator[bytes]:
        digest, size = hashlib.sha256(), 0
        with _reading(member.name), self._zip.open(member.name) as file:
            while piece := file.read(min(_CHUNK, member.size - size + 1)):
                size += len(piece)
                if size > member.size:
                    raise damaged("a file in it is larger than its manifest says")
                digest.update(piece)
                yield piece
        if size != member.size or digest.hexdigest() != member.sha256:
            raise damaged("a file in it is not the one that was backed up")

    def room_for(self, folder: Path, members: list[Member]) -> None:
        """Raises StorageFailed when the disk of `folder` has no room for these members."""
        needed = sum(member.size for member in members)
        free = shutil.disk_usage(folder).free
        if needed + _SLACK > free:
            raise StorageFailed(
                f"the backup needs {needed >> 20} MB and the disk has {free >> 20} MB free; nothing "
                "was restored; free some space and repeat"
            )


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """The backup in a file. Raises InvalidInput when it is none or not whole."""
    try:
        file = zipfile.ZipFile(path)
    except FileNotFoundError as error:
        raise InvalidInput(
            f"there is no file {path.name} in that folder; name the archive that `memsvc backup` made",
            argument="archive",
        ) from error
    except zipfile.BadZipFile as error:
        raise damaged("it is no zip file, or its end is cut off") from error
    except (OSError, NotImplementedError, ValueError) as error:
        raise InvalidInput(f"{path.name} cannot be read: {error}", argument="archive") from error
    with file:
        yield Archive(path, file)


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Turn what a damaged zip makes the library raise into one error."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        what = name if name in (MANIFEST, SEALED) else "a file in it"
        raise damaged(f"{what} cannot be unpacked") from error


def _directory(file: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """The archive's entries by name, each a plain file that lies apart from the others."""
    infos = file.infolist()
    found = {info.filename: info for info in infos}
    if len(found) != len(infos):
        raise damaged("two files in it have one name")
    end = 0
    for info in sorted(infos, key=lambda one: one.header_offset):
        kind = stat.S_IFMT(info.external_attr >> 16)
        if info.is_dir() or kind not in (0, stat.S_IFREG):
            raise damaged("it holds something that is no plain file")
        if info.flag_bits & _ENCRYPTED or info.compress_type not in (
            zipfile.ZIP_STORED,
            zipfile.ZIP_DEFLATED,
        ):
            raise damaged("it is packed in a way that memsvc does not pack")
        if info.header_offset < end:
            raise damaged("files in it lie over one another")
        end = info.header_offset + info.compress_size
    if end > size:
        raise damaged("it is cut off")
    return found


def _agree(manifest: Manifest, infos: dict[str, zipfile.ZipInfo]) -> None:
    members = {member.name: member for member in manifest.members}
    extra = {MANIFEST, *([SEALED] if manifest.keys == "sealed" else [])}
    if set(infos) != set(members) | extra:
        raise damaged("it holds other files than its manifest says")
    if any(infos[name].file_size != member.size for name, member in members.items()):
        raise damaged("a file in it has another size than its manifest says")
