"""Imports a foreign store: finds out what it is, plans every record, and hands them to the gateway."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from memsvc.database import in_batches
from memsvc.errors import InvalidInput, MemsvcError, OverBudget, StorageFailed, VaultOffline
from memsvc.model.exchange import (
    Imported,
    ImportOutcome,
    ImportRecord,
    Outline,
    Planned,
    Replaces,
)
from memsvc.model.identity import Caller
from memsvc.model.progress import Progress, tell
from memsvc.model.replies import Json, as_data
from memsvc.model.vocabulary import Status
from memsvc.notes.document import read_document
from memsvc.notes.paths import stem_of
from memsvc.ops.exchange.folders import FolderSource, MarkdownSource, MemexSource, ObsidianSource
from memsvc.ops.exchange.jsonl import JsonSource, json_lines
from memsvc.ops.exchange.links import LinkMap
from memsvc.ops.exchange.schema import FORMAT, MANIFEST
from memsvc.ops.exchange.server_memory import ServerMemorySource
from memsvc.ops.exchange.sources import Foreign, Source, Unreadable, bad
from memsvc.service.api import MemoryService
from memsvc.service.gateway.drafts import ending, instant, text_key
from memsvc.service.model_desk import vector_notice

if TYPE_CHECKING:
    from memsvc.service.gateway.exchange.importing import ImportRun

__all__ = ["FORMS", "open_source", "problems", "take_in"]

FORMS = ("auto", "json", "markdown", "memex", "obsidian", "server-memory")

_FOLDERS: dict[str, type[FolderSource]] = {
    "markdown": MarkdownSource,
    "memex": MemexSource,
    "obsidian": ObsidianSource,
}
_FILES: dict[str, type[JsonSource] | type[ServerMemorySource]] = {
    "json": JsonSource,
    "server-memory": ServerMemorySource,
}
_AT_ONCE = 25
_PLANNED_AT_ONCE = 500
_LOOKED_AT = 200


def open_source(path: Path, *, form: str = "auto") -> Source:
    """The store at a path, of the format named or of the one that it looks like.

    Raises InvalidInput.
    """
    if form not in FORMS:
        raise InvalidInput(f"--format takes {', '.join(FORMS)}", argument="format")
    try:
        place = path.expanduser().resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise InvalidInput("there is nothing at that source", argument="source") from error
    found = form if form != "auto" else _looks_like(place)
    try:
        if place.is_dir() and found in _FOLDERS:
            return _FOLDERS[found](place)
        if place.is_file() and found in _FILES:
            return _FILES[found](place)
    except OSError as error:
        raise StorageFailed(f"the source cannot be read: {error.strerror}") from error
    raise InvalidInput(
        f"{found} is imported from a {'folder' if found in _FOLDERS else 'file'}, and that is none",
        argument="source",
    )


def _looks_like(place: Path) -> str:
    if place.is_file():
        return _file_looks_like(place)
    if (place / MANIFEST).is_file():
        return "markdown"
    if (place / ".obsidian").is_dir():
        return "obsidian"
    pages = governed = seen = 0
    for path in sorted(place.rglob("*.md"))[:_LOOKED_AT]:
        relative = path.relative_to(place).as_posix()
        if "/." in f"/{relative}" or path.name.lower() in ("index.md", "log.md"):
            continue
        seen += 1
        values = read_document(_beginning(path), path=relative).values
        pages += bool(values.get("type")) and "id" not in values
        governed += "id" in values and "trust" in values
    if seen and pages == seen:
        return "memex"
    return "markdown" if seen and governed == seen else "obsidian"


def _beginning(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(65_536)
    except OSError:
        return b""


def _file_looks_like(place: Path) -> str:
    try:
        first = next(json_lines(place), (0, 0, None))[2]
    except OSError as error:
        raise StorageFailed(f"the source cannot be read: {error.strerror}") from error
    if isinstance(first, dict) and first.get("format") == FORMAT:
        return "json"
    if isinstance(first, dict) and "type" in first:
        return "server-memory"
    raise InvalidInput(
        "that file is neither an export of memsvc nor a memory file of the MCP server; name its "
        "format with --format",
        argument="source",
    )


@dataclass(slots=True)
class _Report:
    """What became of the records so far; those that went as asked are only counted."""

    counts: Counter[str] = field(default_factory=Counter)
    told: list[Imported] = field(default_factory=list)

    def add(self, done: Iterable[Imported]) -> None:
        for one in done:
            self.counts[one.outcome.value] += 1
            if one.reason or one.outcome not in (ImportOutcome.CREATED, ImportOutcome.UNCHANGED):
                self.told.append(one)


def take_in(
    service: MemoryService,
    caller: Caller,
    path: Path,
    *,
    form: str = "auto",
    dry_run: bool = False,
    propose: bool = False,
    agreed: Callable[[str], None] = lambda _: None,
    bar: Callable[[], AbstractContextManager[Progress | None]] = nullcontext,
) -> dict[str, Json]:
    """Import a store into the caller's scope; what became of its records.

    `agreed` is told in a sentence what is about to be written, before anything is; it may raise.
    `bar` shows the progress from then on.
    Raises InvalidInput, NotFound, Denied, VaultOffline; what stops a run half way is in the reply.
    """
    source = open_source(path, form=form)
    service.keep_apart(path, argument="source")
    run = service.begin_import(caller, form=source.form, dry_run=dry_run, propose=propose)
    report = _Report()
    outlines, unread = _outlines(source)
    if not dry_run:
        agreed(f"Import {len(outlines)} notes ({source.form}) into {run.label}?")
    report.add(unread)
    run.turn_away(unread)
    stopped = ""
    try:
        with bar() as progress:
            for records in _batches(source, run, outlines, report, progress):
                done = run.take(records)
                report.add(done)
                if any(one.code == OverBudget.code for one in done):
                    stopped = "the write budget of this hour is used up; repeat the import later"
                    break
        event = 0 if stopped else run.finish(report.counts)
    except (StorageFailed, VaultOffline) as error:
        stopped, event = error.message, 0
    notice = vector_notice(service.model_state(caller))
    return {
        "run": run.run_id,
        "format": source.form,
        "source": path.expanduser().resolve().name,
        "scope": run.label,
        "dry_run": dry_run,
        "stopped": stopped,
        "records": {one.value: report.counts[one.value] for one in ImportOutcome},
        "notices": [*source.notices, *([notice] if notice and not dry_run else [])],
        "event": event,
        "told": [as_data(one) for one in report.told],
    }


def _outlines(source: Source) -> tuple[list[Outline], list[Imported]]:
    outlines: list[Outline] = []
    unread: list[Imported] = []
    for one in source.outlines():
        (outlines if isinstance(one, Outline) else unread).append(one)  # type: ignore[arg-type] # sorted by type
    return outlines, unread


def _batches(
    source: Source,
    run: "ImportRun",
    outlines: Sequence[Outline],
    report: _Report,
    progress: Progress | None,
) -> Iterator[list[ImportRecord]]:
    """The records of a source, replaced ones before those that replaced them."""
    planned: dict[str, Planned] = {}
    for some in in_batches(outlines, _PLANNED_AT_ONCE):
        planned |= zip((one.key for one in some), run.plan(some), strict=True)
    links = LinkMap(outlines, planned, roots=source.roots)
    successors = _successors(outlines, links)
    before: dict[str, list[Outline]] = {}
    for one in outlines:
        if one.key in successors:
            before.setdefault(successors[one.key], []).append(one)
    ordered = sorted(outlines, key=lambda one: -_distance(one.key, successors))
    batch: list[ImportRecord] = []
    for at, one in enumerate(ordered, 1):
        try:
            batch.append(_record(source.record(one), one, planned, links, successors, before))
        except (Unreadable, MemsvcError) as error:
            unread = [bad(one.place, str(error))]
            report.add(unread)
            run.turn_away(unread)
        if len(batch) == _AT_ONCE or (at == len(ordered) and batch):
            yield batch
            batch = []
        tell(progress, at, len(ordered), "importing notes", every=_AT_ONCE)


def _successors(outlines: Sequence[Outline], links: LinkMap) -> dict[str, str]:
    """By key, the key of the record that replaced it, as either of the two says."""
    found: dict[str, str] = {}
    for one in outlines:
        new = links.meant(one.successor, by=one) if one.successor else ""
        if new and new != one.key:
            found[one.key] = new
    for one in outlines:
        for text in one.supersedes:
            old = links.meant(text, by=one)
            if old and old != one.key:
                found.setdefault(old, one.key)
    return found


def _distance(key: str, successors: dict[str, str]) -> int:
    """How many notes replaced one another since this one."""
    seen = {key}
    while (key := successors.get(key, "")) and key not in seen:
        seen.add(key)
    return len(seen) - 1


def _record(
    foreign: Foreign,
    outline: Outline,
    planned: dict[str, Planned],
    links: LinkMap,
    successors: dict[str, str],
    before: dict[str, list[Outline]],
) -> ImportRecord:
    """The record as the gateway takes it. Raises InvalidInput for a date that is none."""
    plan = planned[outline.key]
    document = read_document(
        foreign.content.encode("utf-8", "surrogatepass"), path=outline.found_at
    )
    body = links.rewritten(document.body, by=outline)
    content = foreign.content
    same_as: tuple[str, ...] = ()
    if body != document.body:
        content = content[: document.body_start] + body
        same_as = (text_key(document.title, document.body),)
    origin = dict(foreign.origin)
    successor = successors.get(outline.key, "")
    if outline.successor and not successor:
        origin["original_superseded_by"] = outline.successor[:400]
    return ImportRecord(
        place=outline.place,
        id=plan.id,
        path=plan.path,
        found_at=outline.found_at,
        content=content,
        status=Status.SUPERSEDED if successor else outline.status,
        valid_from=instant(foreign.valid_from, argument="valid_from"),
        valid_to=ending(foreign.valid_to, argument="valid_to"),
        created=foreign.created,
        successor=stem_of(planned[successor].path) if successor else "",
        replaces=tuple(
            Replaces(id=planned[one.key].id, path=planned[one.key].path, text_key=one.text_key)
            for one in before.get(outline.key, ())
        ),
        kind=foreign.kind,
        source=foreign.source,
        origin=origin,
        same_as=same_as,
    )


def problems(reply: dict[str, Json]) -> int:
    """How many records of a reply are not here as they were asked for."""
    records = reply["records"]
    if not isinstance(records, dict):
        return 0
    wrong = (ImportOutcome.CONFLICT, ImportOutcome.REFUSED, ImportOutcome.FAILED)
    return sum(int(str(records[one.value])) for one in wrong)
