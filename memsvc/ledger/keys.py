"""The secret keys of tombstones: a file beside the database, never inside it."""

import hashlib
import hmac
import json
import os
import secrets
from pathlib import Path

from memsvc.errors import Misconfigured
from memsvc.model.identity import Scope

__all__ = ["KeyRing"]

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

    def digest(self, scope: Scope, normal: str) -> tuple[str, str]:
        """The current key's id and the digest of a claim's normal form in one scope."""
        key_id, key = self._keys[-1]
        return key_id, _digest(key, scope, normal)

    def candidates(self, scope: Scope, normal: str) -> tuple[str, ...]:
        """The digest of the claim under every retained key."""
        return tuple(_digest(key, scope, normal) for _, key in self._keys)


def _digest(key: bytes, scope: Scope, normal: str) -> str:
    message = "\x00".join((scope.vault, scope.project, normal)).encode("utf-8", "surrogatepass")
    return hmac.new(key, message, hashlib.sha256).hexdigest()


def _create(path: Path) -> None:
    key = {"id": secrets.token_hex(4), "key": secrets.token_bytes(_BYTES).hex()}
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump({"keys": [key]}, file)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(fresh, path)  # never replaces a key that another process made first
    except FileExistsError:
        pass
    finally:
        fresh.unlink()
