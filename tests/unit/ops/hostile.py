"""Builds backups, whole and hostile, without the code that makes them."""

import hashlib
import json
import zipfile
from pathlib import Path
from typing import Any

__all__ = ["manifest_of", "member", "pack", "whole"]

LINE = "a line that is long enough to be packed. " * 20


def member(name: str, data: bytes) -> dict[str, Any]:
    digest = hashlib.sha256(data).hexdigest()
    return {"name": name, "size": len(data), "sha256": digest, "mtime_ns": 1, "mode": 0o644}


def manifest_of(files: dict[str, bytes], **changed: Any) -> dict[str, Any]:
    vault = {
        "name": "notes",
        "path": "/srv/notes",
        "inside": "",
        "copied": True,
        "files": 1,
        "notes": 1,
    }
    found = {
        "format": "memsvc-backup-1",
        "made": "2026-11-30T10:04:11.000000Z",
        "memsvc": "0.1.0",
        "home": "/srv/home",
        "keys": "apart",
        "database": "a" * 64,
        "seq": 1,
        "hash": "a" * 64,
        "vaults": [{**vault, "left_out": []}],
        "members": [member(name, data) for name, data in files.items()],
    }
    return {**found, **changed}


def whole() -> dict[str, bytes]:
    return {
        "ledger.db": b"a ledger",
        "anchor.jsonl": b"an anchor",
        "vaults/notes/cat.md": LINE.encode(),
    }


def pack(
    path: Path,
    files: dict[str, bytes],
    manifest: dict[str, Any] | bytes | None = None,
    **more: bytes,
) -> Path:
    """A zip of these files with a manifest, by default the true one."""
    told = manifest_of(files) if manifest is None else manifest
    data = told if isinstance(told, bytes) else json.dumps(told).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {**files, **more, "manifest.json": data}.items():
            archive.writestr(name, content)
    return path
