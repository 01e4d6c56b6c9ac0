"""Writes a scope as one JSON file or as a folder of markdown files."""

import json
from pathlib import Path
from typing import Any

from memsvc.errors import InvalidInput, Uneditable
from memsvc.ledger.records import GONE
from memsvc.model.exchange import ExportedNote, ExportRequest
from memsvc.model.identity import Caller
from memsvc.model.progress import Progress, tell
from memsvc.model.replies import Json
from memsvc.notes.document import read_document
from memsvc.notes.frontmatter import Value, edit
from memsvc.notes.paths import stem_of
from memsvc.ops.exchange.places import new_file, new_folder
from memsvc.ops.exchange.schema import FORMAT, MANIFEST, closing, header, line_of
from memsvc.service.api import MemoryService
from memsvc.service.exchange_desk import Export

__all__ = ["FORMS", "publish"]

FORMS = ("json", "markdown")
_AT_ONCE = 50


def publish(
    service: MemoryService,
    caller: Caller,
    target: Path,
    *,
    form: str,
    request: ExportRequest,
    replace: bool,
    progress: Progress | None = None,
) -> dict[str, Json]:
    """Write the caller's scope to `target`; what was written. `form` is one of FORMS.

    Raises InvalidInput, Denied, StorageFailed, VaultOffline.
    """
    if form not in FORMS:
        raise InvalidInput(f"--format takes {' or '.join(FORMS)}", argument="format")
    if form == "markdown" and (request.history or str(target) == "-"):
        raise InvalidInput(
            "a markdown export is a folder and holds each note as it stands; use --format json",
            argument="format",
        )
    if str(target) != "-":
        service.keep_apart(target, argument="target")
    with service.export(caller, request) as export:
        if not export.ids:
            raise InvalidInput(
                f"{export.scope} has no notes to export; `memsvc stats` counts them, and --project "
                "names another project",
                argument="project",
            )
        head = header(export, form=form, history=request.history)
        write = _write_json if form == "json" else _write_markdown
        done = write(export, target, head, replace=replace, progress=progress)
    return {
        "format": form,
        "target": str(target),
        "scope": str(export.scope),
        "exported_at": export.at,
        **done,
    }


def _write_json(
    export: Export,
    target: Path,
    head: dict[str, Any],
    *,
    replace: bool,
    progress: Progress | None,
) -> dict[str, Json]:
    count, total = 0, len(export.ids)
    with new_file(target, replace=replace) as file:
        file.write(json.dumps(head, ensure_ascii=False) + "\n")
        for note in export.notes:
            file.write(line_of(note))
            count += 1
            tell(progress, count, total, "exporting notes", every=_AT_ONCE)
        file.write(closing(count))
    return {"notes": count}


def _write_markdown(
    export: Export,
    target: Path,
    head: dict[str, Any],
    *,
    replace: bool,
    progress: Progress | None,
) -> dict[str, Json]:
    files: list[str] = []
    left: list[Json] = []
    problems: list[Json] = []
    with new_folder(target, replace=replace, ours=_earlier(target)) as folder:
        for at, note in enumerate(export.notes, 1):
            if note.status in GONE:
                left.append(note.id)  # its path may be another note's by now
                continue
            text, problem = _with_frontmatter(note, export)
            if problem:
                problems.append({"id": note.id, "path": note.path, "reason": problem})
            place = folder / note.path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text.encode("utf-8", "surrogatepass"))
            files.append(note.path)
            tell(progress, at, len(export.ids), "exporting notes", every=_AT_ONCE)
        manifest = {**head, "notes": len(files), "files": files}
        (folder / MANIFEST).write_text(json.dumps(manifest, ensure_ascii=False), "utf-8")
    return {"notes": len(files), "left_out": left, "problems": problems}


def _earlier(target: Path) -> frozenset[str] | None:
    """The files of the export that is at the target, if one is."""
    try:
        found: Any = json.loads((target.expanduser() / MANIFEST).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        return None
    files = found.get("files")
    names = [name for name in files if isinstance(name, str)] if isinstance(files, list) else []
    return frozenset((*names, MANIFEST))


def _with_frontmatter(note: ExportedNote, export: Export) -> tuple[str, str]:
    """The note's file with what the ledger knows of it, and why it has to go without."""
    content = note.frontmatter + note.body
    document = read_document(content.encode("utf-8", "surrogatepass"), path=note.path)
    known: dict[str, Value | None] = {
        "id": note.id,
        "title": note.title,
        "kind": note.kind.value,
        "status": note.status.value,
        "trust": note.trust.value,
        "project": str(export.scope.project),
        "created": note.created,
        "valid_from": note.valid_from,
        "valid_to": note.valid_to,
        "author": note.author,
    }
    if note.source:
        known["source"] = list(note.source)
    present = document.values
    successor = export.successor_paths.get(note.superseded_by, "")
    if successor and not document.superseded_by:
        known["superseded_by"] = f"[[{stem_of(successor)}]]"
    if "created" in present:
        del known["created"]
    changes = {
        key: value
        for key, value in known.items()
        if (present.get(key) or "") != value and (value or key in present)
    }
    if not changes:
        return content, ""
    try:
        return edit(content, changes), ""
    except Uneditable as error:
        return content, error.message
