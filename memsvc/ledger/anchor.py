"""Anchors: what the head of the chain was at some time, signed, for keeping outside the database."""

import hashlib
import json
import os
import re
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from pathlib import Path

from sqlalchemy import Connection

from memsvc.errors import Misconfigured, StorageFailed
from memsvc.ledger.chain import Verdict, hash_at

__all__ = ["Anchor", "Finding", "SigningKey", "judge", "parse", "same_key", "words"]

_FORMAT = "memsvc-anchor-1"
_HASH = re.compile(r"[0-9a-f]{64}\Z")
_SIGNATURE = re.compile(r"[0-9a-f]{128}\Z")
_STAMP = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z\Z", re.ASCII)
_MOST_CHARS = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """Event `seq` of the database whose first event has the hash `database` had the hash `hash`.

    `at` is when that was written down; `key` the public Ed25519 key of the signature, in hex.
    """

    database: str
    seq: int
    hash: str
    at: str
    key: str
    signature: str = ""

    def line(self) -> str:
        """The anchor as one line of JSON, as files keep it."""
        return json.dumps({"format": _FORMAT, **asdict(self)}, sort_keys=True)

    def signed_text(self) -> bytes:
        """What the signature is over: the line without the signature, in its shortest form."""
        parts = {"format": _FORMAT, **asdict(self)}
        del parts["signature"]
        return json.dumps(parts, sort_keys=True, separators=(",", ":")).encode()

    def is_signed(self) -> bool:
        """Whether the holder of `key` signed exactly this."""
        from cryptography.exceptions import InvalidSignature  # slow to load: only for anchors
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.key))
            public.verify(bytes.fromhex(self.signature), self.signed_text())
        except (InvalidSignature, ValueError):
            return False
        return True


class Finding(StrEnum):
    """What holding an anchor against the database showed."""

    AGREES = "agrees"
    FOREIGN = "foreign"
    FORGED = "forged"
    OTHER_KEY = "other_key"
    OTHER_DATABASE = "other_database"
    CUT = "cut"
    DIFFERS = "differs"


def judge(
    connection: Connection, anchor: Anchor, verdict: Verdict, *, keys: frozenset[str], pinned: bool
) -> Finding:
    """Hold one anchor against the database that `verdict` is about.

    `keys` are the public keys known to be this home's; with `pinned` no other signature counts.
    Without, a signature by another key still tells what it tells of this database, and is foreign
    only when it names another database too.
    """
    if not anchor.is_signed():
        return Finding.FORGED
    known = anchor.key in keys
    if anchor.database != verdict.identity:
        return Finding.OTHER_DATABASE if known else Finding.FOREIGN
    if anchor.seq > verdict.events:
        return Finding.CUT
    if hash_at(connection, anchor.seq) != anchor.hash:
        return Finding.DIFFERS
    return Finding.AGREES if known or not pinned else Finding.OTHER_KEY


def words(finding: Finding, anchor: Anchor, verdict: Verdict) -> str:
    """What a finding means, for a person."""
    made = f"the anchor of {anchor.at[:19]}Z at event {anchor.seq}"
    ends = (
        f"this database ends at event {verdict.events} of {verdict.head_at[:19]}Z"
        if verdict.events
        else "this database has no events"
    )
    return {
        Finding.AGREES: f"{made} agrees",
        Finding.FOREIGN: f"{made} is of another database and another key; it says nothing here",
        Finding.FORGED: f"{made} does not bear out its own signature: the anchor was changed",
        Finding.OTHER_KEY: f"{made} agrees, but another key than the expected one signed it",
        Finding.OTHER_DATABASE: f"{made} is of another database: the present one was put in its "
        "place, or its first event was changed or removed",
        Finding.CUT: f"{made} tells of events that are gone; {ends}: its end was cut off, or an "
        "older copy was put in its place",
        Finding.DIFFERS: f"{made} knew another event {anchor.seq}: an event up to there was "
        "changed, removed, inserted or moved, and the chain made anew behind it",
    }[finding]


def parse(line: str) -> Anchor:
    """The anchor on a line of a file. Raises ValueError for anything else."""
    if len(line) > _MOST_CHARS:
        raise ValueError("too long for an anchor")
    try:
        found = json.loads(line)
    except RecursionError as error:
        raise ValueError("too deep for an anchor") from error
    if not isinstance(found, dict) or found.get("format") != _FORMAT:
        raise ValueError("no anchor")
    names = {field.name for field in fields(Anchor)}
    if set(found) != names | {"format"}:
        raise ValueError("fields missing or unknown")
    texts = {name: found[name] for name in names - {"seq"}}
    seq = found["seq"]
    if not all(isinstance(text, str) for text in texts.values()) or type(seq) is not int or seq < 1:
        raise ValueError("a field of the wrong kind")
    hashes = all(_HASH.match(texts[name]) for name in ("database", "hash", "key"))
    if not hashes or not _SIGNATURE.match(texts["signature"]) or not _STAMP.match(texts["at"]):
        raise ValueError("a hash, key or signature that is none")
    return Anchor(seq=seq, **texts)


def same_key(text: str) -> str:
    """A public key as people write it, `ed25519:<64 hex digits>`, as anchors hold it.

    Raises ValueError.
    """
    found = text.strip().lower().removeprefix("ed25519:")
    if not _HASH.match(found):
        raise ValueError("no public key")
    return found


class SigningKey:
    """The secret that signs a home's anchors: a file in the home, readable by its owner only.

    The file is JSON: `{"ed25519": "<hex>"}`.
    """

    def __init__(self, secret: bytes) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # slow: only for anchors
            Ed25519PrivateKey,
        )

        self._key = Ed25519PrivateKey.from_private_bytes(secret)

    @classmethod
    def open(cls, path: Path) -> "SigningKey | None":
        """The key in the file, None when there is no file. Raises Misconfigured."""
        try:
            found = json.loads(path.read_text("utf-8"))
            return cls(bytes.fromhex(found["ed25519"]))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Misconfigured(
                f"{path.name}, which signs anchors, cannot be read; put it back from a backup, or "
                "move it away to begin with a new one"
            ) from error

    @classmethod
    def make(cls, path: Path) -> "SigningKey":
        """A new key, in the file; the caller keeps others from making one too. Raises StorageFailed."""
        secret = os.urandom(32)
        fresh = path.with_name(f".{path.name}.new")
        try:
            fresh.unlink(missing_ok=True)
            handle = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({"ed25519": secret.hex()}, file)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
        except OSError as error:
            raise StorageFailed(f"{path.name} was not written: {error.strerror}") from error
        return cls(secret)

    @property
    def public(self) -> str:
        """The public key, in hex."""
        return self._key.public_key().public_bytes_raw().hex()

    @property
    def name(self) -> str:
        """A short name for files: it differs between homes and gives nothing away."""
        return hashlib.sha256(bytes.fromhex(self.public)).hexdigest()[:16]

    def anchor(self, verdict: Verdict, *, at: str) -> Anchor:
        """The signed anchor of the head that `verdict` found; it must have an event."""
        bare = Anchor(
            database=verdict.identity, seq=verdict.events, hash=verdict.head, at=at, key=self.public
        )
        signature = self._key.sign(bare.signed_text()).hex()
        return Anchor(**{**asdict(bare), "signature": signature})
