"""What a backup says of itself: every member with its hash, the vaults, and where the ledger ended."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from memsvc.errors import InvalidInput
from memsvc.ledger.anchor_places import IN_BACKUP
from memsvc.notes.slugs import RESERVED_NAMES
from memsvc.scope.names import is_project

__all__ = [
    "ANCHOR",
    "FORMAT",
    "HOME_FILES",
    "LEDGER",
    "MANIFEST",
    "SEALED",
    "LeftOut",
    "Manifest",
    "Member",
    "VaultCopy",
    "damaged",
    "parse",
    "vault_member",
]

FORMAT = "memsvc-backup-1"
MANIFEST = "manifest.json"
SEALED = "keys.sealed"
"""The secret keys, encrypted; not in the manifest, whose hash the encryption is bound to."""
LEDGER = "ledger.db"
ANCHOR = IN_BACKUP
HOME_FILES = ("memsvc.toml", "anchors/anchors.jsonl", "anchors/places.json")
"""What of the home itself travels, below `home/`."""

_HASH = re.compile(r"[0-9a-f]{64}\Z")
_WINDOWS = re.compile(r'[\\:*?"<>|\x01-\x1f]')
_MOST_BYTES = 1 << 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One file of the archive; the time in nanoseconds, the mode its permission bits."""

    name: str
    size: int
    sha256: str
    mtime_ns: int
    mode: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A file or folder that is not in the backup, and why."""

    path: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultCopy:
    """A vault: its registered folder, that folder inside the home if it is there, and what is here.

    `copied` is False for a vault that was left out by wish: the ledger holds its notes' texts.
    """

    name: str
    path: str
    inside: str
    copied: bool
    files: int
    notes: int
    left_out: tuple[LeftOut, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """`database` is the hash of the ledger's first event, `seq` and `hash` are its last one's."""

    made: str
    memsvc: str
    home: str
    keys: str
    database: str
    seq: int
    hash: str
    vaults: tuple[VaultCopy, ...]
    members: tuple[Member, ...]

    def encode(self) -> bytes:
        """The bytes that stand in the archive."""
        found = {"format": FORMAT, **asdict(self)}
        return json.dumps(found, ensure_ascii=False, indent=1).encode("utf-8")

    def of_vault(self, name: str) -> dict[str, Member]:
        """A vault's files by their path inside it."""
        prefix = vault_member(name, "")
        return {
            one.name.removeprefix(prefix): one
            for one in self.members
            if one.name.startswith(prefix)
        }

    def member(self, name: str) -> Member | None:
        """The member of that name."""
        return next((one for one in self.members if one.name == name), None)


def vault_member(vault: str, path: str) -> str:
    """The name of a vault's file in the archive."""
    return f"vaults/{vault}/{path}"


def damaged(why: str) -> InvalidInput:
    """The error for an archive that must not be used."""
    return InvalidInput(
        f"that is no whole memsvc backup: {why}; nothing was restored; use another copy of it",
        argument="archive",
    )


def parse(data: bytes) -> Manifest:
    """The manifest, with every name and number checked. Raises InvalidInput."""
    try:
        found = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise damaged("its manifest is no JSON") from error
    if not isinstance(found, dict) or not str(found.get("format", "")).startswith("memsvc-backup-"):
        raise damaged("its manifest is of something else")
    if found["format"] != FORMAT:
        raise InvalidInput(
            f"that backup has the format {str(found['format'])[:40]}, and this memsvc reads {FORMAT}: "
            "install the version that made it",
            argument="archive",
        )
    try:
        manifest = _manifest(found)
    except (KeyError, TypeError, ValueError) as error:
        raise damaged("its manifest lacks something or holds what it must not") from error
    _check(manifest)
    return manifest


def _manifest(found: Mapping[str, Any]) -> Manifest:
    texts = {name: _text(found[name]) for name in ("made", "memsvc", "home", "keys", "hash")}
    return Manifest(
        **texts,
        database=_text(found["database"]),
        seq=_number(found["seq"]),
        vaults=tuple(_vault(one) for one in _list(found["vaults"])),
        members=tuple(_member(one) for one in _list(found["members"])),
    )


def _member(found: Mapping[str, Any]) -> Member:
    return Member(
        name=_text(found["name"]),
        size=_number(found["size"]),
        sha256=_hash(found["sha256"]),
        mtime_ns=_number(found["mtime_ns"]),
        mode=_number(found["mode"]) & 0o777,
    )


def _vault(found: Mapping[str, Any]) -> VaultCopy:
    if type(found["copied"]) is not bool:
        raise TypeError
    return VaultCopy(
        name=_text(found["name"]),
        path=_text(found["path"]),
        inside=_text(found["inside"]),
        copied=found["copied"],
        files=_number(found["files"]),
        notes=_number(found["notes"]),
        left_out=tuple(
            LeftOut(path=_text(one["path"]), why=_text(one["why"]))
            for one in _list(found["left_out"])
        ),
    )


def _text(found: object) -> str:
    if not isinstance(found, str):
        raise TypeError
    found.encode("utf-8")  # half a character is a ValueError
    return found


def _number(found: object) -> int:
    if type(found) is not int or not 0 <= found <= _MOST_BYTES * 8_192:
        raise TypeError
    return found


def _hash(found: object) -> str:
    text = _text(found)
    if not _HASH.match(text):
        raise ValueError
    return text


def _list(found: object) -> Sequence[Any]:
    if not isinstance(found, list):
        raise TypeError
    return found


def _check(manifest: Manifest) -> None:
    """Refuse what could leave its place, and names that stand twice."""
    vaults = [one.name for one in manifest.vaults]
    if len(set(vaults)) != len(vaults) or not all(is_project(name) for name in vaults):
        raise damaged("a vault in it has no legal name")
    for vault in manifest.vaults:
        if vault.inside and _unsafe(vault.inside):
            raise damaged("a vault's folder in it leaves the home")
    names = [one.name for one in manifest.members]
    if len(set(names)) != len(names):
        raise damaged("two files in it have one name")
    copied = {vault.name for vault in manifest.vaults if vault.copied}
    for name in names:
        if not _expected(name, copied):
            raise damaged("a file in it has a name that no backup gives")
    if LEDGER not in names or ANCHOR not in names or manifest.keys not in ("apart", "sealed"):
        raise damaged("its ledger, its anchor or its keys are missing")


def _expected(name: str, vaults: set[str]) -> bool:
    first, _, rest = name.partition("/")
    if first == "vaults":
        vault, _, path = rest.partition("/")
        return vault in vaults and not _unsafe(path)
    if first == "home":
        return rest in HOME_FILES
    return name in (LEDGER, ANCHOR)


def _unsafe(path: str) -> bool:
    """Whether a relative path could mean anything but a file below its folder, on this system."""
    parts = path.split("/")
    if "\x00" in path or any(part in ("", ".", "..") for part in parts):
        return True
    if os.name != "nt":
        return False
    return any(
        _WINDOWS.search(part) or part.split(".", 1)[0].rstrip(" ").lower() in RESERVED_NAMES
        for part in parts
    )
