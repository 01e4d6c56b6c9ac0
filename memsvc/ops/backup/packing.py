"""Writes the members of an archive, each with its hash, and the file to disk in the end."""

import hashlib
import os
import stat
import time
import zipfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from memsvc.errors import StorageFailed
from memsvc.ops.backup.copying import Taken
from memsvc.ops.backup.manifest import Member

__all__ = ["Packer"]

_CHUNK = 1 << 20
_LEVEL = 6
_LARGE = 1 << 31
_FIRST_YEAR = 1980
_LAST_YEAR = 2107
_PRIVATE = 0o600


class Packer:
    """An archive in the making; on disk, durably, when its block ends well."""

    def __init__(self, path: Path) -> None:
        self.folder = path.parent
        self.members: list[Member] = []
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, _PRIVATE)
        self._file = os.fdopen(handle, "w+b")
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL)

    def __enter__(self) -> "Packer":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._file:
            if kind is not None:
                with suppress(OSError, ValueError):  # what failed already
                    self._zip.close()
                return
            self._zip.close()
            self._file.flush()
            os.fsync(self._file.fileno())

    def add(self, name: str, source: BinaryIO, taken: Taken) -> None:
        """Pack what was copied to `source`. Raises StorageFailed when it reads back otherwise."""
        source.seek(taken.start)
        digest, left = hashlib.sha256(), taken.size
        with self._zip.open(_info(name, taken), "w", force_zip64=taken.size > _LARGE) as out:
            while left and (piece := source.read(min(_CHUNK, left))):
                digest.update(piece)
                out.write(piece)
                left -= len(piece)
        if left or digest.hexdigest() != taken.sha256:
            raise StorageFailed("the disk did not keep what was copied; try another disk")
        self._list(name, taken)

    def add_file(self, name: str, path: Path) -> None:
        """Pack a file that nobody else uses."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            found = path.stat()
            self.add(name, file, Taken(0, found.st_size, digest, found.st_mtime_ns, _PRIVATE))

    def add_bytes(self, name: str, data: bytes) -> None:
        """Pack a member that is no file."""
        taken = Taken(0, len(data), hashlib.sha256(data).hexdigest(), time.time_ns(), _PRIVATE)
        self.add_plain(name, data)
        self._list(name, taken)

    def _list(self, name: str, taken: Taken) -> None:
        self.members.append(
            Member(
                name=name,
                size=taken.size,
                sha256=taken.sha256,
                mtime_ns=taken.mtime_ns,
                mode=taken.mode,
            )
        )

    def add_plain(self, name: str, data: bytes) -> None:
        """Pack what the manifest does not list: itself, and what is bound to it."""
        info = _info(name, Taken(0, len(data), "", time.time_ns(), _PRIVATE))
        self._zip.writestr(info, data, zipfile.ZIP_DEFLATED, _LEVEL)


def _info(name: str, taken: Taken) -> zipfile.ZipInfo:
    when = time.gmtime(taken.mtime_ns // 1_000_000_000)[:6]
    legal = _FIRST_YEAR <= when[0] <= _LAST_YEAR
    info = zipfile.ZipInfo(name, when if legal else (_FIRST_YEAR, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (stat.S_IFREG | taken.mode) << 16
    info.file_size = taken.size
    return info
