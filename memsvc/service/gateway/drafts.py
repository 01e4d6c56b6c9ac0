"""From a verb's request to a file's text and a version's record."""

import hashlib
import re
import unicodedata
from dataclasses import replace
from datetime import datetime

from memsvc.clock import UNKNOWN, parse_end, parse_instant, stamp, stamp_seconds
from memsvc.errors import InvalidInput
from memsvc.ledger.records import VersionRecord
from memsvc.model.identity import Caller, Scope
from memsvc.model.requests import SaveRequest
from memsvc.model.vocabulary import NoteId, Status, Trust
from memsvc.notes.document import Document, read_document
from memsvc.notes.frontmatter import Value, compose

__all__ = [
    "content_of_save",
    "day_of",
    "ending",
    "instant",
    "sha",
    "shown",
    "start_before",
    "text_key",
    "trust_of",
    "version_of",
    "whole_second",
    "with_event",
    "without_fraction",
]


def sha(data: bytes) -> str:
    """sha256 in hex."""
    return hashlib.sha256(data).hexdigest()


def text_key(title: str, body: str) -> str:
    """Equal for notes that say the same in the same words, whatever their white space."""
    plain = (
        re.sub(r"\s+", " ", unicodedata.normalize("NFC", text)).strip() for text in (title, body)
    )
    return sha("\x00".join(plain).encode("utf-8", "surrogatepass"))


def instant(text: str, *, argument: str) -> str:
    """A date argument as a stamp; the empty text stays empty. Raises InvalidInput."""
    if not text.strip():
        return ""
    try:
        return stamp(parse_instant(text))
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"{argument} is no date: write 2026-11-30 or 2026-11-30T10:04:11Z", argument=argument
        ) from error


def ending(text: str, *, argument: str) -> str:
    """An end of validity as a stamp, or as unknown; empty for none. Raises InvalidInput."""
    if not text.strip():
        return ""
    try:
        return parse_end(text)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"{argument} is no date: write 2026-11-30, 2026-11-30T10:04:11Z, or unknown for what "
            "has ended, nobody knows when",
            argument=argument,
        ) from error


def day_of(text: str) -> str:
    """The first instant of a stamp's day: since when a new note holds that does not say."""
    return f"{text[:10]}T00:00:00.000000Z"


def start_before(valid_from: str, end: str, *, created: str) -> str:
    """Since when a text held that ended at `end`, perhaps before it was written down.

    A start that nobody named, the day on which the note was made, gives way: it is unknown then.
    """
    assumed = valid_from == day_of(created)
    return "" if assumed and end != UNKNOWN and end <= valid_from else valid_from


def whole_second(now: datetime) -> str:
    """The present instant as frontmatter can hold it: without fractions."""
    return without_fraction(stamp(now))


def without_fraction(text: str) -> str:
    """A stamp cut to its whole second."""
    return f"{text[:19]}.000000Z"


def shown(text: str) -> str:
    """A stamp as frontmatter shows it: a date at midnight, else date and time."""
    if not text:
        return ""
    if text == UNKNOWN:
        return "unknown"
    moment = parse_instant(text)
    if (moment.hour, moment.minute, moment.second) == (0, 0, 0):
        return text[:10]
    return stamp_seconds(moment)


def trust_of(caller: Caller) -> Trust:
    """What stands behind a text: who wrote it, as the connection says."""
    return Trust.HUMAN if caller.principal.is_person else Trust.AGENT


def content_of_save(  # noqa: PLR0913 - one file's head
    request: SaveRequest,
    *,
    caller: Caller,
    scope: Scope,
    note_id: str,
    now: datetime,
    valid_from: str,
    valid_to: str,
    supersedes: list[str],
    status: Status = Status.ACTIVE,
) -> str:
    """The text of a new note's file. `supersedes` are wikilinks."""
    values: dict[str, Value] = {
        "id": note_id,
        "title": request.title.strip(),
        "kind": request.kind.value,
        "status": status.value,
        "trust": trust_of(caller).value,
        "project": scope.project,
        "created": stamp_seconds(now),
        "updated": stamp_seconds(now),
        "version": 1,
        "valid_from": shown(valid_from),
        "valid_to": shown(valid_to),
        "author": str(caller.principal),
        "on_behalf_of": caller.on_behalf_of,
        "session": caller.session,
        "source": list(request.source),
        "reason": request.reason,
        "supersedes": supersedes,
        "superseded_by": "",
        "tags": [tag.strip().lstrip("#") for tag in request.tags if tag.strip().lstrip("#")],
    }
    body = request.body if request.body.endswith("\n") else f"{request.body}\n"
    return compose(values, body)


def version_of(  # noqa: PLR0913 - a version is this wide
    content: str,
    *,
    document: Document | None = None,
    caller: Caller,
    scope: Scope,
    note_id: str,
    version: int,
    path: str,
    mode: str,
    now: datetime,
    valid_from: str,
    valid_to: str,
    reason: str = "",
    source: tuple[str, ...] | None = None,
    status: Status = Status.ACTIVE,
    trust: Trust | None = None,
    event_seq: int = 0,
) -> VersionRecord:
    """The record of one version whose file has this text."""
    data = content.encode("utf-8")
    read = document or read_document(data, path=path)
    return VersionRecord(
        note_id=NoteId(note_id),
        version=version,
        vault=scope.vault,
        project=scope.project,
        path=path,
        title=read.title,
        mode=mode,
        status=status,
        trust=trust_of(caller) if trust is None else trust,
        author=str(caller.principal),
        on_behalf_of=caller.on_behalf_of,
        session=caller.session,
        reason=reason,
        source=read.source if source is None else source,
        content=content,
        body_start=read.body_start,
        content_hash=read.content_hash if document else sha(data),
        text_key=text_key(read.title, content[read.body_start :]),
        valid_from=valid_from,
        valid_to=valid_to,
        valid_to_original=valid_to,
        recorded_from=stamp(now),
        problem=read.problem,
        event_seq=event_seq,
    )


def with_event(record: VersionRecord, seq: int) -> VersionRecord:
    """The record, tied to the event that made it."""
    return replace(record, event_seq=seq)
