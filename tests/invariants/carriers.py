"""One text in each form that `memsvc import` takes, as another program would have written it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["CARRIERS", "json_export"]

_HEAD = {"format": "memsvc-export", "version": 1, "vault": "there", "project": "mallard"}


def json_export(folder: Path, text: str, **fields: Any) -> Path:
    """An export of another home, with one note and any more of its fields."""
    folder.mkdir()
    note = {"title": f"Note of {folder.name}", "path": f"{folder.name}.md", "body": text, **fields}
    lines = [_HEAD, note, {"end": True, "notes": 1}]
    path = folder / "export.json"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    return path


def _page(folder: Path, head: str, text: str) -> Path:
    folder.mkdir()
    body = f"---\n{head}title: Note of {folder.name}\n---\n{text}\n"
    (folder / f"{folder.name}.md").write_text(body, "utf-8")
    return folder


def _markdown(folder: Path, text: str) -> Path:
    made = _page(folder, "trust: verified\n", text)
    manifest = {**_HEAD, "as": "markdown", "files": [f"{folder.name}.md"]}
    (made / "memsvc-export.json").write_text(json.dumps(manifest), "utf-8")
    return made


def _memex(folder: Path, text: str) -> Path:
    return _page(folder, "type: Concept\n", text)


def _obsidian(folder: Path, text: str) -> Path:
    made = _page(folder, "tags: [birds]\n", text)
    (made / ".obsidian").mkdir()
    return made


def _server_memory(folder: Path, text: str) -> Path:
    folder.mkdir()
    path = folder / "memory.jsonl"
    name = f"Note of {folder.name}"
    entity = {"type": "entity", "name": name, "entityType": "bird", "observations": [text]}
    path.write_text(f"{json.dumps(entity)}\n", "utf-8")
    return path


CARRIERS: dict[str, Callable[[Path, str], Path]] = {
    "json": json_export,
    "markdown": _markdown,
    "memex": _memex,
    "obsidian": _obsidian,
    "server-memory": _server_memory,
}
"""By format, what writes a text below a new folder; the file or folder to import."""
