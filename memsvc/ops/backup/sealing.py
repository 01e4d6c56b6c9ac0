"""The secret keys of a home on their way: in a file apart, or encrypted with a passphrase."""

import json
import os
from collections.abc import Mapping
from typing import Any

from memsvc.errors import InvalidInput

__all__ = [
    "KEY_FILES",
    "LEAST_PASSPHRASE",
    "apart",
    "check_passphrase",
    "from_apart",
    "seal",
    "unseal",
]

KEY_FILES = ("tombstone.keys", "anchor.key")
LEAST_PASSPHRASE = 8
"""Characters of a passphrase, at least."""

_SEALED = "memsvc-sealed-keys-1"
_APART = "memsvc-keys-1"
_COST = 1 << 16
_BLOCK = 8
_MOST_COST = 1 << 20
_MOST_BYTES = 1 << 22


def check_passphrase(passphrase: str) -> None:
    """Raises InvalidInput for a passphrase that is too short to seal anything with."""
    if len(passphrase) < LEAST_PASSPHRASE:
        raise InvalidInput(
            f"the passphrase has fewer than {LEAST_PASSPHRASE} characters; take a longer one",
            argument="passphrase",
        )


def seal(files: Mapping[str, str], passphrase: str, *, bound_to: str) -> bytes:
    """The files encrypted: scrypt makes the key, ChaCha20-Poly1305 seals, for one manifest only.

    `bound_to` is the manifest's sha256. Raises InvalidInput for a passphrase that is too short.
    """
    check_passphrase(passphrase)
    salt, nonce = os.urandom(16), os.urandom(12)
    plain = json.dumps(dict(files)).encode("utf-8")
    secret = _cipher(passphrase, salt, _COST).encrypt(nonce, plain, _binding(bound_to))
    envelope = {
        "format": _SEALED,
        "scrypt": {"n": _COST, "r": _BLOCK, "p": 1, "salt": salt.hex()},
        "chacha20-poly1305": {"nonce": nonce.hex(), "sealed": secret.hex()},
    }
    return json.dumps(envelope).encode("utf-8")


def unseal(data: bytes, passphrase: str, *, bound_to: str) -> dict[str, str]:
    """What `seal` encrypted. Raises InvalidInput for another passphrase, manifest or envelope."""
    from cryptography.exceptions import InvalidTag  # slow to load: only for keys

    try:
        salt, cost, nonce, secret = _envelope(data)
        plain = _cipher(passphrase, salt, cost).decrypt(nonce, secret, _binding(bound_to))
    except InvalidTag as error:
        raise InvalidInput(
            "the passphrase is not the one that this backup's keys were sealed with, or the backup "
            "was changed; nothing was restored",
            argument="passphrase",
        ) from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidInput(
            "the sealed keys of that backup are damaged; use another copy of it", argument="archive"
        ) from error
    return _files(json.loads(plain))


def apart(files: Mapping[str, str], *, bound_to: str) -> bytes:
    """The files as a file of their own, which must stay secret; it names the manifest it goes with."""
    return json.dumps({"format": _APART, "manifest": bound_to, "files": dict(files)}).encode(
        "utf-8"
    )


def from_apart(data: bytes, *, bound_to: str) -> dict[str, str]:
    """What `apart` wrote. Raises InvalidInput for anything else, and for another backup's keys."""
    wrong = InvalidInput(
        "that is no file of keys that `memsvc backup --keys` wrote", argument="keys"
    )
    if len(data) > _MOST_BYTES:
        raise wrong
    try:
        found = json.loads(data)
        if found["format"] != _APART:
            raise wrong
        files = _files(found["files"])
        bound = found["manifest"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise wrong from error
    if bound != bound_to:
        raise InvalidInput(
            "those keys belong to another backup, or the archive was changed; give the file of keys "
            "that was written with it",
            argument="keys",
        )
    return files


def _envelope(data: bytes) -> tuple[bytes, int, bytes, bytes]:
    """Salt, cost, nonce and sealed bytes. Raises ValueError, KeyError or TypeError."""
    envelope = json.loads(data)
    scrypt, box = envelope["scrypt"], envelope["chacha20-poly1305"]
    cost = int(scrypt["n"])
    costs = 1 < cost <= _MOST_COST and not cost & (cost - 1) and scrypt["r"] == _BLOCK
    if envelope["format"] != _SEALED or not costs or scrypt["p"] != 1:
        raise ValueError("another format, or costs that nobody asks for")
    salt, nonce = bytes.fromhex(scrypt["salt"]), bytes.fromhex(box["nonce"])
    return salt, cost, nonce, bytes.fromhex(box["sealed"])


def _files(found: Any) -> dict[str, str]:  # noqa: ANN401 - JSON of unknown shape
    if not isinstance(found, dict):
        raise TypeError
    return {
        name: text for name, text in found.items() if name in KEY_FILES and isinstance(text, str)
    }


def _binding(bound_to: str) -> bytes:
    return f"{_SEALED} {bound_to}".encode("ascii")


def _cipher(passphrase: str, salt: bytes, cost: int) -> Any:  # noqa: ANN401 - a lazily loaded class
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305  # slow to load
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    kdf = Scrypt(salt=salt, length=32, n=cost, r=_BLOCK, p=1)
    return ChaCha20Poly1305(kdf.derive(passphrase.encode("utf-8", "surrogatepass")))
