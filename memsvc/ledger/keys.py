"""The secret keys of tombstones: a file beside the database, never inside it."""

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path

from memsvc.errors import Misconfigured, StorageFailed
from memsvc.model.identity import Scope

__all__ = ["KeyRing", "RingFile"]

_BYTES = 32


class KeyRing:
    """All retained keys; the last one makes new digests, every one is checked.

    The file is JSON: `{"keys": [{"id": "…", "key": "<hex>"}]}`, readable by its owner only.
    """

    def __init__(self, path: Path, keys: tuple[tuple[str, bytes], ...]) -> None:
        self.path = path
        self._keys = keys

    @classmethod
    def open(cls, path: Path, *, create: bool) -> "KeyRing":
        """Read the file; make it when it is missing and `create` says that nothing depends on it.

        Raises Misconfigured when it is missing while tombstones exist, or unreadable.
        """
        if not path.exists():
            if not create:
                raise Misconfigured(
                    f"the tombstone key file {path.name} is missing from the home while rejected "
                    "claims depend on it; put it back from a backup"
                )
            _create(path)
        try:
            data = json.loads(path.read_text("utf-8"))
            keys = tuple((str(item["id"]), bytes.fromhex(item["key"])) for item in data["keys"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Misconfigured(
                f"the tombstone key file {path.name} cannot be read; put it back from a backup"
            ) from error
        if not keys:
            raise Misconfigured(f"the tombstone key file {path.name} holds no key")
        return cls(path, keys)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all retained keys, oldest first; ids are no secrets."""
        return tuple(key_id for key_id, _ in self._keys)

    def digest(self, scope: Scope, normal: str) -> tuple[str, str]:
        """The current key's id and the digest of a claim's normal form in one scope."""
        key_id, key = self._keys[-1]
        return key_id, _digest(key, scope, normal)

    def candidates(self, scope: Scope, normal: str) -> tuple[str, ...]:
        """The digest of the claim under every retained key."""
        return tuple(_digest(key, scope, normal) for _, key in self._keys)

    def rotated(self) -> "KeyRing":
        """The ring with a new current key; nothing is written yet."""
        return KeyRing(self.path, (*self._keys, _new_key()))

    def store(self) -> None:
        """Put the file in place of the present one, whole or not at all, also after power loss.

        The caller keeps every other writer of the home out meanwhile. Raises StorageFailed.
        """
        fresh = self.path.with_name(f".{self.path.name}.new")
        try:
            fresh.unlink(missing_ok=True)
            _write(fresh, self._keys)
            os.replace(fresh, self.path)  # noqa: PTH105 - the crash tests watch it
            _sync_folder(self.path.parent)
        except OSError as error:
            raise StorageFailed(
                f"{self.path.name} was not written ({error.strerror}); the old keys stay"
            ) from error


class RingFile:
    """Gives the ring as its file stands now, for processes that live through a rotation.

    `needed` names the keys that standing tombstones were made with. It is asked whenever the file
    changed: a ring that lacks one would let rejected claims back in.
    """

    def __init__(self, path: Path, needed: Callable[[], frozenset[str]]) -> None:
        self._path = path
        self._needed = needed
        self._known: tuple[tuple[int, int, int], KeyRing] | None = None

    def __call__(self) -> KeyRing:
        """The ring. Raises Misconfigured when the file is missing, unreadable or too old."""
        look = _look(self._path)
        known = self._known
        if known is not None and known[0] == look:
            return known[1]
        needed = self._needed()
        ring = KeyRing.open(self._path, create=not needed)
        missing = sorted(needed.difference(ring.ids))
        if missing:
            raise Misconfigured(
                f"the tombstone key file {self._path.name} lacks the keys {', '.join(missing)} that "
                "rejected claims depend on: it is older than the last rotation; put back the "
                "newest copy"
            )
        if look is not None:
            self._known = (look, ring)
        return ring


def _look(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino)


def _digest(key: bytes, scope: Scope, normal: str) -> str:
    message = "\x00".join((scope.vault, scope.project, normal)).encode("utf-8", "surrogatepass")
    return hmac.new(key, message, hashlib.sha256).hexdigest()


def _new_key() -> tuple[str, bytes]:
    return secrets.token_hex(8), secrets.token_bytes(_BYTES)


def _create(path: Path) -> None:
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    _write(fresh, (_new_key(),))
    try:
        os.link(fresh, path)  # never replaces a key that another process made first
    except FileExistsError:
        pass
    finally:
        fresh.unlink()


def _write(path: Path, keys: tuple[tuple[str, bytes], ...]) -> None:
    data = {"keys": [{"id": key_id, "key": key.hex()} for key_id, key in keys]}
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(data, file)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
