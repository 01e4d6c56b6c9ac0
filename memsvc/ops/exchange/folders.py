"""Reads folders of markdown: exports of memsvc, OKF bundles such as memex pages, Obsidian vaults."""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memsvc.errors import StorageFailed, VaultOffline
from memsvc.ids import is_ulid
from memsvc.ledger.records import GONE
from memsvc.model.exchange import Imported, Outline
from memsvc.model.vocabulary import Kind, Status
from memsvc.notes.document import MAX_NOTE_BYTES, Document, read_document
from memsvc.notes.paths import is_note_path
from memsvc.notes.walk import walk
from memsvc.ops.exchange.jsonl import origin_of
from memsvc.ops.exchange.schema import MANIFEST, check_header
from memsvc.ops.exchange.sources import Foreign, Unreadable, bad, skipped
from memsvc.service.gateway.drafts import text_key

__all__ = ["FolderSource", "MarkdownSource", "MemexSource", "ObsidianSource"]

_RESERVED = ("index.md", "log.md")
"""What OKF keeps for listings and logs, in every folder of a bundle."""
_KINDS = {
    "playbook": Kind.PROCEDURE,
    "runbook": Kind.PROCEDURE,
    "how-to": Kind.PROCEDURE,
    "metric": Kind.FACT,
    "event": Kind.EPISODE,
}
_MOST_SETTINGS = 1024 * 1024


class FolderSource:
    """What all folders of markdown have in common."""

    form = ""
    roots = False

    def __init__(self, root: Path) -> None:
        self.root = root
        self.notices: list[str] = []

    # -- what a kind of folder says for itself ---------------------------------------------

    def left_out(self, path: str) -> str:
        """Why a file is no note of this kind of folder; empty for a note."""
        return "" if is_note_path(path) else "no note by its name"

    def below(self, path: str) -> str:
        """Where the file goes, below the project's folder."""
        return path

    def status_of(self, document: Document) -> Status:
        """Where the note stands, by its own word."""
        if document.superseded_by or document.status_declared == Status.SUPERSEDED:
            return Status.SUPERSEDED
        return Status(document.status_declared or Status.ACTIVE)

    def foreign(self, path: str, document: Document) -> Foreign:
        """The note with what its source says of it."""
        where = f"{self.form}:{self.root.name}/{path}"[:400]
        return Foreign(
            content=document.content,
            created=_text(document, "created"),
            source=() if document.source else (where,),
            origin={"imported_from": where} if document.source else {},
        )

    # -- reading ---------------------------------------------------------------------------

    def outlines(self) -> Iterator[Outline | Imported]:
        """Every note below the folder, and what is left out."""
        try:
            walked = walk(self.root)
        except VaultOffline as error:
            raise StorageFailed("the folder to import cannot be read") from error
        for path in walked.skipped:
            yield skipped(path, "a link to another place, or a name that is not UTF-8")
        for path in walked.unreadable:
            yield bad(f"{path}/", "the folder cannot be read")
        others = 0
        for path in self._others():
            if path[-3:].lower() == ".md":
                yield skipped(path, "a copy made by a sync, or a temporary file")
            else:
                others += 1
        if others:
            self.notices.append(f"{others} files that are no notes stay where they are")
        ids: set[str] = set()
        for path in sorted(walked.files):
            why = self.left_out(path)
            yield skipped(path, why) if why else self._outline(path, ids)

    def _others(self) -> Iterator[str]:
        for folder, folders, names in os.walk(self.root):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                path = Path(folder, name).relative_to(self.root).as_posix()
                shown = path.encode("utf-8", "backslashreplace").decode()
                if not name.startswith(".") and not is_note_path(path) and shown != MANIFEST:
                    yield shown

    def _outline(self, path: str, ids: set[str]) -> Outline | Imported:
        try:
            document = self._document(path)
        except Unreadable as error:
            return bad(path, str(error))
        status = self.status_of(document)
        if not document.body.strip():
            return skipped(path, "the note is empty")
        if status in GONE:
            return skipped(path, f"the note was {status} there, and does not travel")
        declared = document.declared_id.upper()
        own = declared if is_ulid(declared) and declared not in ids else ""
        ids.add(own)
        return Outline(
            place=path,
            key=path,
            id=own,
            path=self.below(path),
            found_at=path,
            title=document.title,
            aliases=document.aliases,
            status=status,
            successor=document.superseded_by,
            supersedes=document.supersedes,
            text_key=text_key(document.title, document.body),
        )

    def record(self, outline: Outline) -> Foreign:
        """One file, read again."""
        document = self._document(outline.key)
        return self.foreign(outline.key, document)

    def _document(self, path: str) -> Document:
        place = self.root / path
        try:
            if place.stat().st_size > MAX_NOTE_BYTES:
                raise Unreadable(f"the file is larger than {MAX_NOTE_BYTES // 1024**2} MiB")
            raw = place.read_bytes()
        except OSError as error:
            raise Unreadable(f"the file cannot be read: {error.strerror}") from error
        document = read_document(raw, path=path)
        if document.lossy or document.problem.startswith("binary"):
            raise Unreadable("the file is no UTF-8 text")
        return document


class MarkdownSource(FolderSource):
    """A folder that `memsvc export --format markdown` made, or one laid out like it."""

    form = "markdown"

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._head: Mapping[str, Any] = _settings(root / MANIFEST)
        if self._head:
            check_header(self._head)
        folder = self._head.get("folder")
        self._folder = f"{folder}/" if isinstance(folder, str) and folder else ""

    def below(self, path: str) -> str:
        """Without the project's folder there: it has another name here."""
        return path.removeprefix(self._folder)

    def foreign(self, path: str, document: Document) -> Foreign:  # noqa: ARG002 - as its base
        """An exported note keeps its sources; who wrote it there is kept as text."""
        vault, project = self._head.get("vault", ""), self._head.get("project", "")
        where = f"memsvc:{vault}/{project}" if self._head else f"markdown:{self.root.name}"
        return Foreign(
            content=document.content,
            created=_text(document, "created"),
            origin=origin_of(
                where, author=_text(document, "author"), trust=_text(document, "trust")
            ),
        )


class ObsidianSource(FolderSource):
    """A vault of Obsidian, or any folder of markdown files."""

    form = "obsidian"

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        core = _settings(root / ".obsidian" / "templates.json").get("folder")
        plugin = _settings(root / ".obsidian" / "plugins" / "templater-obsidian" / "data.json")
        folders = (core, plugin.get("templates_folder"))
        self._templates = tuple(
            f"{one.strip('/')}/" for one in folders if isinstance(one, str) and one.strip("/")
        )

    def left_out(self, path: str) -> str:
        """Templates and drawings are no notes."""
        if path.startswith(self._templates):
            return "a template"
        return "a drawing" if path.lower().endswith(".excalidraw.md") else ""


class MemexSource(FolderSource):
    """A bundle of pages with OKF front matter: `type` and what the Open Knowledge Format adds."""

    form = "memex"
    roots = True

    def left_out(self, path: str) -> str:
        """Listings and logs describe the bundle."""
        reserved = path.rpartition("/")[2].lower() in _RESERVED
        return "a listing or log of the bundle" if reserved else ""

    def status_of(self, document: Document) -> Status:
        """`deprecated` is no longer current; drafts and stable pages are."""
        if _text(document, "status").strip().lower() == "deprecated":
            return Status.SUPERSEDED
        return super().status_of(document)

    def foreign(self, path: str, document: Document) -> Foreign:
        """A page's own provenance becomes ours: `resource` and `sources`, `generated` and `verified`."""
        if not _text(document, "type").strip():
            raise Unreadable("the page has no type in its front matter, so it is no OKF page")
        plain = super().foreign(path, document)
        generated = document.values.get("generated")
        made = generated if isinstance(generated, dict) else {}
        kind = _text(document, "type").strip().lower()
        verified = _actors(document.values.get("verified"))
        trust = "human-reviewed" if any(one.startswith("human:") for one in verified) else ""
        return Foreign(
            content=document.content,
            created=str(made.get("at") or _text(document, "timestamp")),
            kind=Kind(kind) if kind in set(Kind) else _KINDS.get(kind),
            source=(*_resources(document), *plain.source),
            origin={
                **plain.origin,
                "original_author": str(made.get("by") or "")[:400],
                "original_trust": trust,
                "okf_status": _text(document, "status")[:400],
            },
        )


def _text(document: Document, key: str) -> str:
    value = document.values.get(key)
    return value if isinstance(value, str) else ""


def _settings(path: Path) -> dict[str, Any]:
    """A small JSON file of the source; empty if it is none."""
    try:
        if path.stat().st_size > _MOST_SETTINGS and path.name != MANIFEST:
            return {}
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _actors(value: object) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return [str(one.get("by", "")) for one in items if isinstance(one, dict)]


def _resources(document: Document) -> tuple[str, ...]:
    """What a page was made from: its own resource, and those of its sources."""
    found = [_text(document, "resource")]
    sources = document.values.get("sources")
    for one in sources if isinstance(sources, list) else []:
        resource = one.get("resource") if isinstance(one, dict) else one
        if isinstance(resource, str):
            found.append(resource)
    lines = (" ".join(one.split())[:400] for one in found)
    return tuple(dict.fromkeys(one for one in lines if one))[:40]
