"""The JSON export: one header line, one line a note, one closing line; docs/exchange.md has the fields."""

import json
from collections.abc import Mapping
from typing import Any

from memsvc import __version__
from memsvc.errors import InvalidInput
from memsvc.model.exchange import ExportedNote
from memsvc.model.replies import as_data
from memsvc.service.exchange_desk import Export

__all__ = ["FORMAT", "MANIFEST", "VERSION", "check_header", "closing", "header", "line_of"]

FORMAT = "memsvc-export"
VERSION = 1
MANIFEST = "memsvc-export.json"
"""The header's name in a markdown export; its `files` are what the export wrote."""

_BREAKS = {ord(one): f"\\u{ord(one):04x}" for one in "\x85\u2028\u2029"}
"""What some programs take for the end of a line, escaped."""


def header(export: Export, *, form: str, history: bool) -> dict[str, Any]:
    """What an export says of itself before its notes."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "as": form,
        "memsvc": __version__,
        "exported_at": export.at,
        "vault": str(export.scope.vault),
        "project": str(export.scope.project),
        "folder": export.folder,
        "statuses": [status.value for status in export.statuses],
        "history": history,
    }


def line_of(note: ExportedNote) -> str:
    """A note as its line."""
    data = as_data(note)
    if isinstance(data, dict) and not note.versions:
        data.pop("versions")
    return json.dumps(data, ensure_ascii=False).translate(_BREAKS) + "\n"


def closing(count: int) -> str:
    """The last line: without it the file was cut off."""
    return json.dumps({"end": True, "notes": count}) + "\n"


def check_header(found: Mapping[str, Any]) -> None:
    """Refuse what is no export, or one of a later kind. Raises InvalidInput."""
    if found.get("format") != FORMAT:
        raise InvalidInput("that is no export of memsvc", argument="source")
    version = found.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise InvalidInput(
            f"the export is of schema version {version!s:.20}, and this memsvc reads up to "
            f"{VERSION}; update memsvc",
            argument="source",
        )
