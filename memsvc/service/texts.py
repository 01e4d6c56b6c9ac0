"""How a note's text changed from version to version, taken from the versions, not from events."""

import difflib
import hashlib
import itertools
from collections.abc import Sequence

from sqlalchemy import Connection

from memsvc.errors import InvalidInput, NotFound
from memsvc.ledger import registry
from memsvc.ledger.records import VersionRecord
from memsvc.model.replies import TextChange, TextHistoryReply
from memsvc.model.requests import TextHistoryRequest
from memsvc.scope.proof import ReadScope
from memsvc.service.access import NO_NOTE

__all__ = ["bounded", "difference", "text_history"]

MOST_CHANGES = 50
MOST_LINES = 400
"""Lines of one difference that are shown; the rest is counted."""
MOST_CHARS = 40_000
_MOST_COMPARED = 4_000
_CONTEXT = 3
_LINE_CHARS = 2_000
_ELSEWHERE = "one of the two texts was written in another scope"
_NOT_ON_RECORD = "the text is no longer on record: it was purged"


def text_history(
    scope: ReadScope, connection: Connection, request: TextHistoryRequest
) -> TextHistoryReply:
    """The changes of one note of the scope, newest first, retracted notes too.

    Raises NotFound, in the same words for unknown and out of scope; InvalidInput without an id.
    """
    if not request.id.strip():
        raise InvalidInput("name the note whose text you want to see change", argument="id")
    note = registry.find_note(connection, request.id.strip().upper())
    if note is None or note.scope not in scope:
        raise NotFound(NO_NOTE)
    limit = max(1, min(request.limit, MOST_CHANGES))
    numbers = [
        number
        for number in registry.version_numbers(connection, note.note_id)
        if number < (request.before or number + 1)
    ]
    shown = numbers[-limit:]
    against = numbers[-limit - 1 : -limit] or [0]
    texts: list[VersionRecord | None] = [
        registry.find_version(connection, note.note_id, number) for number in [*against, *shown]
    ]
    changes = [
        _change(scope, old, new) for old, new in itertools.pairwise(texts) if new is not None
    ]
    return TextHistoryReply(
        id=note.note_id,
        title=next((one.title for one in reversed(texts) if one is not None), ""),
        scope=str(note.scope),
        path=note.path,
        status=note.status.value,
        changes=changes[::-1],
        next=shown[0] if len(numbers) > len(shown) else 0,
    )


def _change(scope: ReadScope, old: VersionRecord | None, new: VersionRecord) -> TextChange:
    both = [new] if old is None else [old, new]
    lines: list[str] = []
    added = removed = 0
    if any(one.scope not in scope for one in both):
        problem = _ELSEWHERE
    elif any(_purged(one) for one in both):
        problem = _NOT_ON_RECORD
    else:
        lines, added, removed, problem = difference(old.content if old else "", new.content)
    text, cut = bounded(lines)
    return TextChange(
        version=new.version,
        against=old.version if old else 0,
        at=new.recorded_from,
        author=new.author,
        mode=new.mode,
        reason=new.reason,
        event=new.event_seq,
        fate=old.end_mode if old else "",
        added=added,
        removed=removed,
        diff=text,
        cut=cut,
        problem=problem,
    )


def _purged(version: VersionRecord) -> bool:
    """Whether there was a text, by its hash, and there is none now."""
    return not version.content and version.content_hash not in ("", hashlib.sha256().hexdigest())


def difference(old: str, new: str) -> tuple[list[str], int, int, str]:
    """Unified lines without the two header lines, how many were added and removed, and a problem."""
    before, after = old.splitlines(), new.splitlines()
    same = _common(before, after)
    tail = _common(before[same:][::-1], after[same:][::-1])
    start = max(0, same - _CONTEXT)
    end = max(0, tail - _CONTEXT)
    left, right = before[start : len(before) - end], after[start : len(after) - end]
    if max(len(left), len(right)) > _MOST_COMPARED:
        return [], 0, 0, f"too much changed to compare: {len(before)} lines, now {len(after)}"
    lines: list[str] = []
    added = removed = 0
    for group in difflib.SequenceMatcher(None, left, right).get_grouped_opcodes(_CONTEXT):
        first, last = group[0], group[-1]
        lines.append(
            f"@@ -{_range(start, first[1], last[2])} +{_range(start, first[3], last[4])} @@"
        )
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                lines += [f" {line}" for line in left[i1:i2]]
                continue
            lines += [f"-{line}" for line in left[i1:i2]]
            lines += [f"+{line}" for line in right[j1:j2]]
            removed, added = removed + i2 - i1, added + j2 - j1
    problem = "" if lines or old == new else "only line ends differ"
    return lines, added, removed, problem


def _range(offset: int, start: int, stop: int) -> str:
    """A span of lines as unified differences write it."""
    length = stop - start
    beginning = offset + start + (1 if length else 0)
    return str(beginning) if length == 1 else f"{beginning},{length}"


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines both begin with."""
    for number, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            return number
    return min(len(one), len(other))


def bounded(lines: list[str]) -> tuple[str, bool]:
    """Lines as one text, cut where it becomes too long to show, and whether it was cut."""
    shown: list[str] = []
    room = MOST_CHARS
    for line in lines[:MOST_LINES]:
        part = line if len(line) <= _LINE_CHARS else f"{line[:_LINE_CHARS]}…"
        room -= len(part) + 1
        if room < 0:
            break
        shown.append(part)
    cut = len(shown) < len(lines) or any(len(line) > _LINE_CHARS for line in lines)
    return "\n".join(shown), cut
