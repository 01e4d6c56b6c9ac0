"""The replies of the verbs as short text, for agents and for the shell.

Text of notes stands inside the fence that recall uses, and every free-text field is neutralised, so
nothing that was stored can pass for memsvc's own words. All text stays under `MAX_CHARS`.
"""

from collections.abc import Callable, Iterable, Sequence

from memsvc.errors import MemsvcError, StaleVersion
from memsvc.interfaces.amounts import counted
from memsvc.interfaces.fence import error_line, fence, one_line, quoted
from memsvc.model.replies import (
    CorrectReply,
    EventView,
    ForgetReply,
    HistoryReply,
    NoteView,
    RecallReply,
    Related,
    RestoreReply,
    SaveReply,
    ScopesReply,
    VersionView,
)

__all__ = [
    "MAX_CHARS",
    "render",
    "render_correct",
    "render_current",
    "render_echoes",
    "render_error",
    "render_event",
    "render_forget",
    "render_history",
    "render_note",
    "render_recall",
    "render_restore",
    "render_save",
    "render_scopes",
]

MAX_CHARS = 9_500
_BODY_CHARS = 7_500
_LAST_LINE = 500
"""A page ends at the last line end within so many characters."""
_FIELD_CHARS = 200
_LISTED = 8
_OUT_OF_REACH = 20
_TO_THE_SECOND = 20


def render(reply: object) -> str:
    """The text of any verb's reply; TypeError for anything else."""
    for kind, renderer in _RENDERERS:
        if isinstance(reply, kind):
            return renderer(reply)
    raise TypeError(f"{type(reply).__name__} is no reply of a verb")


def render_recall(reply: RecallReply) -> str:
    """The fenced block of a recall."""
    from memsvc.service.recall import render as recall  # pulls the stores in: not at start-up

    return recall.render_recall(reply)


def render_save(reply: SaveReply) -> str:
    """What was saved where, and which notes are close to it."""
    head = {
        "created": "Saved as a new note.",
        "unchanged": "Already saved: an active note says exactly this; nothing was added.",
        "proposed": "Proposed: the note is kept back from recall until a person reviews it.",
    }.get(reply.outcome, f"{reply.outcome}.")
    lines = [head, *_place(reply.id, reply.version, reply.scope, reply.path, reply.event)]
    if reply.superseded:
        lines.append(f"now superseded: {_listed(reply.superseded)}")
    lines += _others(
        "similar notes; if one of them is about the same thing, use correct on it instead:",
        reply.similar,
    )
    return _bounded([*lines, *_notice(reply.notice)])


def render_correct(reply: CorrectReply) -> str:
    """The corrected note's new version, and other notes that still state the old text."""
    proposed = "Proposed: the note stays as it is until a person approves the new text."
    lines = [
        proposed if reply.outcome == "proposed" else f"Corrected ({reply.mode}).",
        *_place(reply.id, reply.version, reply.scope, reply.path, reply.event),
    ]
    if reply.valid_from:
        lines.append(f"valid from: {_when(reply.valid_from)}")
    if reply.tombstones:
        lines.append(f"rejected for good here: {counted(reply.tombstones, 'statement')}")
    lines += _others("other notes that still state the old text:", reply.also_stated_in)
    return _bounded([*lines, *_notice(reply.notice)])


def render_forget(reply: ForgetReply) -> str:
    """What left recall, and other notes that state the same."""
    head = {
        "retracted": "Forgotten: the note left recall.",
        "passage_removed": "Forgotten: the passage left the note.",
        "proposed": "Proposed: the note stays as it is until a person approves it without the passage.",
        "purged": "Purged: the text is gone from files, versions and index; hashes stay.",
    }.get(reply.outcome, f"{reply.outcome}.")
    lines = [head, *_place(reply.id, reply.version, reply.scope, reply.path, reply.event)]
    if reply.trash:
        lines.append(f"the file is now: {quoted(reply.trash)}")
    if reply.tombstones:
        lines.append(f"rejected for good here: {counted(reply.tombstones, 'statement')}")
    if reply.erased:
        lines.append(f"removed for good: {counted(reply.erased, 'file')}")
    if reply.also_purged:
        lines.append(f"purged too, as proposed for it: {', '.join(reply.also_purged)}")
    lines += render_echoes(reply.also_stated_in, reply.derived, reply.out_of_reach)
    return _bounded([*lines, *_notice(reply.notice)])


def render_echoes(
    also_stated_in: Sequence[Related], derived: Sequence[Related], out_of_reach: Sequence[str]
) -> list[str]:
    """The lines on what else states what left recall, was made of it, or may hold it still."""
    lines = _others("other notes that state the same:", also_stated_in)
    too = any(one.how.endswith("retracted") for one in derived)
    heading = "retracted too, as derived from it:" if too else "notes whose source it is:"
    lines += _others(heading, derived)
    if out_of_reach:
        lines.append("out of reach, where the text may still be:")
        lines += [_fenced([f"- {where}" for where in out_of_reach], most=_OUT_OF_REACH)]
    return lines


def render_restore(reply: RestoreReply) -> str:
    """Which text of a note is current again, and what may be said again."""
    head = {
        "restored": f"Restored: the text of version {reply.restored} is current again.",
        "unchanged": "Nothing to restore.",
    }.get(reply.outcome, f"{reply.outcome}.")
    lines = [head, *_place(reply.id, reply.version, reply.scope, reply.path, reply.event)]
    if reply.lifted:
        lines.append(f"no longer rejected: {counted(reply.lifted, 'statement')}")
    return _bounded([*lines, *_notice(reply.notice)])


def render_note(note: NoteView) -> str:
    """A whole note with its provenance, fenced as data; a long body is cut, and says so."""
    facts = [
        *_optional("withheld", note.withheld),
        *_optional("title", note.title),
        " · ".join(
            (note.kind, note.status, note.trust, "current" if note.current else "not current")
        ),
        f"path: {_field(note.path)}",
        f"valid: {_when(note.valid_from) or 'always'} to {_when(note.valid_to) or 'open'}",
        f"author: {_author(note)}",
        *(f"source: {_field(source)}" for source in note.source[:_LISTED]),
        *_optional("tags", ", ".join(note.tags)),
        *_optional("reason", note.reason),
        *_optional("supersedes", ", ".join(note.supersedes)),
        *_optional("superseded by", note.superseded_by),
        *_optional("problem", note.problem),
        *_related("links to:", note.links_out),
        *_related("linked from:", note.links_in),
        *_versions(note.versions),
    ]
    head = "\n".join(facts)
    if len(head) > MAX_CHARS - _BODY_CHARS - 600:
        head = f"{head[: MAX_CHARS - _BODY_CHARS - 600]}…"
    attributes = {
        "scope": note.scope,
        "count": "1",
        "id": note.id,
        "version": str(note.version),
    }
    most = _BODY_CHARS
    while True:  # what is made harmless may grow
        text = _page(note, attributes, head, most)
        if len(text) <= MAX_CHARS:
            return text
        most -= len(text) - MAX_CHARS


def _page(note: NoteView, attributes: dict[str, str], head: str, most: int) -> str:
    """The note with at most so many characters of its text, and where the next ones begin."""
    body = note.body[: max(most, 0)]
    if len(note.body) > most:
        line = body.rfind("\n", max(0, len(body) - _LAST_LINE))
        body = body[: line + 1] if line > 0 else body
    end, whole = note.offset + len(body), note.offset + len(note.body)
    tail = []
    if note.offset or end < whole:
        more = f"for more, read with offset={end}; " if end < whole else ""
        shown = f"[characters {note.offset} to {end} of {whole}; {more}"
        tail = [f"{shown}the whole text is in the vault's file {_field(note.path)}]"]
    return "\n".join([fence(attributes, f"{head}\n---\n{body}"), *tail])


def render_history(reply: HistoryReply) -> str:
    """Audit events, one a line, newest first, with how to see older ones."""
    if not reply.events:
        return "No events match in this scope."
    lines: list[str] = []
    room = MAX_CHARS - 260  # of the fence and the line behind it
    last = reply.next
    for event in reply.events:
        line = render_event(event)
        room -= len(line) + 1
        if room < 0:
            last = event.seq + 1
            break
        lines.append(line)
    more = [f'older events: ask again with since="{last}"'] if last else []
    return "\n".join([fence({"scope": reply.scope}, "\n".join(lines)), *more])


def render_event(event: EventView) -> str:
    """One audit event as one line."""
    parts = [
        f"#{event.seq} {_when(event.at)} {event.action} {event.outcome}",
        f"{event.vault}/{event.project}",
        f"{event.note_id} v{event.version}" if event.note_id else "",
        one_line(event.actor, _FIELD_CHARS)
        + (f" for {one_line(event.on_behalf_of, _FIELD_CHARS)}" if event.on_behalf_of else ""),
        f"reason: {one_line(event.reason, _FIELD_CHARS)}" if event.reason else "",
    ]
    return " · ".join(part for part in parts if part)


def render_scopes(reply: ScopesReply) -> str:
    """Who the caller is, what it may see and write, and how the store stands."""
    behalf = f" for {reply.on_behalf_of}" if reply.on_behalf_of else ""
    lines = [
        f"you are {reply.principal}{behalf}, {reply.role} in {reply.vault}/{reply.project}",
        f"reads: {_listed(reply.reads)}",
        f"writes: {_listed(reply.writes)}",
        f"vault folder: {reply.vault_path}",
        f"home: {reply.home}",
        f"policy: {', '.join(f'{name}={value}' for name, value in reply.policy.items())}",
        f"state: {reply.state}; {counted(reply.notes, 'note')}",
        f"index: {', '.join(f'{name}={value}' for name, value in reply.index.items())}",
        *([_fenced([f"problem: {one}" for one in reply.problems])] if reply.problems else []),
    ]
    return _bounded(lines)


def render_error(error: MemsvcError) -> str:
    """The error's message and, for a stale version, the note's current text."""
    current = render_current(error)
    message = error_line(error)
    return f"{message}\n{current}" if current else message


def render_current(error: MemsvcError) -> str:
    """The current text that a stale version's error carries, fenced as data; else empty."""
    text = error.data.get("body")
    if not isinstance(error, StaleVersion) or not isinstance(text, str):
        return ""
    attributes = {
        "count": "1",
        "id": str(error.data.get("id", "")),
        "version": str(error.data.get("version", "")),
    }
    cut = [f"[cut: 6000 of {len(text)} characters shown]"] if len(text) > 6_000 else []
    return "\n".join([fence(attributes, text[:6_000]), *cut])


_RENDERERS: Sequence[tuple[type, Callable[..., str]]] = (
    (RecallReply, render_recall),
    (SaveReply, render_save),
    (CorrectReply, render_correct),
    (ForgetReply, render_forget),
    (RestoreReply, render_restore),
    (NoteView, render_note),
    (HistoryReply, render_history),
    (ScopesReply, render_scopes),
)


def _place(note_id: str, version: int, scope: str, path: str, event: int) -> list[str]:
    lines = [f"id: {note_id}  version: {version}  scope: {scope}  audit event: {event}"]
    return [*lines, f"path: {quoted(path)}"] if path else lines


def _related(heading: str, notes: Sequence[Related]) -> list[str]:
    if not notes:
        return []
    lines = [
        f"- {_field(note.title)} (id {note.id}"
        + (f", version {note.version}" if note.version else "")
        + f", {note.scope})"
        for note in notes[:_LISTED]
    ]
    more = [f"- and {len(notes) - _LISTED} more"] if len(notes) > _LISTED else []
    return [heading, *lines, *more]


def _others(heading: str, notes: Sequence[Related]) -> list[str]:
    """The same where no fence stands around it yet."""
    lines = _related(heading, notes)
    return [lines[0], fence({}, "\n".join(lines[1:]))] if lines else []


def _fenced(lines: Sequence[str], *, most: int = _LISTED) -> str:
    """Lines with stored text in them, one each, in a fence of their own; the first `most`."""
    more = [f"- and {len(lines) - most} more"] if len(lines) > most else []
    return fence({}, "\n".join([*(_field(line) for line in lines[:most]), *more]))


def _versions(versions: Sequence[VersionView]) -> list[str]:
    shown = versions[-_LISTED:]
    return [
        f"version {version.version}: {version.mode or 'saved'} {_when(version.recorded_from)} by "
        f"{_field(version.author)}" + (f", {_field(version.reason)}" if version.reason else "")
        for version in shown
        if len(versions) > 1
    ]


def _author(note: NoteView) -> str:
    behalf = f" for {_field(note.on_behalf_of)}" if note.on_behalf_of else ""
    session = f" (session {_field(note.session)})" if note.session else ""
    return f"{_field(note.author)}{behalf}{session}, {_when(note.created)}, updated {_when(note.updated)}"


def _optional(name: str, value: str) -> list[str]:
    return [f"{name}: {_field(value)}"] if value else []


def _notice(notice: str) -> list[str]:
    return [f"note: {one_line(notice, 600)}"] if notice else []


def _when(instant: str) -> str:
    """A stamp to the second, as people read it; dates and empty text stay as they are."""
    return f"{instant[:19]}Z" if len(instant) > _TO_THE_SECOND else instant


def _field(text: str) -> str:
    return one_line(text, _FIELD_CHARS)


def _listed(items: Iterable[str]) -> str:
    listed = list(items)
    more = f" and {len(listed) - 20} more" if len(listed) > 20 else ""
    return (", ".join(listed[:20]) or "nothing") + more


def _bounded(lines: Sequence[str]) -> str:
    text = "\n".join(lines)
    return text if len(text) <= MAX_CHARS else f"{text[: MAX_CHARS - 1]}…"
