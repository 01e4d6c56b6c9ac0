"""The text of a recall: notes fenced as data, and what the recall covered."""

import re

from memsvc.model.replies import Coverage, Hit, RecallReply, Related
from memsvc.service.recall.neutral import neutralise

__all__ = ["LEAN", "attribute", "neutralise", "render_hit", "render_recall", "shown_query"]

LEAN = "lean"
"""Set in a reply's `explain` when the budget is too small for more than the bare fence."""
MAX_TITLE = 160
MAX_SOURCES = 3
MAX_SOURCE = 160
_SPACES = re.compile(r"\s+")
_WHY = {
    "proposed": "waiting for review",
    "disputed": "disputed",
    "superseded": "superseded",
    "expired": "no longer valid",
    "not_yet_valid": "not valid yet",
}


def render_recall(reply: RecallReply) -> str:
    """The fenced block. Nothing inside can close the fence; the text of notes is indented."""
    lean = LEAN in reply.explain
    several = len(reply.coverage.scopes) > 1 and not lean
    query = "" if lean else str(reply.explain.get("query", ""))
    shown = f' query="{attribute(query, 400)}"' if query else ""
    scope = attribute(reply.scope, 40 if lean else 200)
    lines = [f'<recalled-notes scope="{scope}" count="{reply.count}"{shown}>']
    lines += [
        render_hit(number, hit, several=several) for number, hit in enumerate(reply.hits, start=1)
    ]
    if reply.abstained:
        why = "" if lean else f": {_line(reply.reason, 300)}"
        lines.append(f"Nothing good enough{why}")
        lines += [] if lean else [_near(one) for one in reply.nearest]
    elif not reply.hits:
        lines.append("Cut: a larger budget is needed.")
    if not lean:
        lines += _covered(reply.coverage)
    elif reply.hits and reply.coverage.cut:
        lines.append("-- cut")
    return "\n".join([*lines, "</recalled-notes>"])


def render_hit(number: int, hit: Hit, *, several: bool) -> str:
    """One note: a line about it, the passage indented, where it comes from."""
    about = [
        _line(hit.title, MAX_TITLE) or "(no title)",
        hit.kind,
        hit.trust,
        "" if hit.current else "NOT CURRENT",
        f"valid since {_instant(hit.valid_from)}" if hit.valid_from else "",
        f"until {_instant(hit.valid_to)}" if hit.valid_to else "",
        _line(hit.scope, 140) if several else "",
        f"id {_line(hit.id, 40)}",
        f"version {hit.version}",
    ]
    lines = [f"[{number}] {' · '.join(part for part in about if part)}"]
    text = neutralise(hit.text)
    if hit.heading and (hit.start or not hit.length):
        lines.append(f"    ({_line(hit.heading, 200)})")
    lines += [f"    {line}".rstrip() for line in text.split("\n")] if text else []
    if hit.cut and hit.length:
        lines.append(f"    [{_extent(hit)}]")
    lines += [f"    source: {_line(one, MAX_SOURCE)}" for one in hit.source[:MAX_SOURCES]]
    if hit.superseded_by:
        lines.append(f"    superseded by: {_line(hit.superseded_by, 40)}")
    if hit.replaces:
        lines.append(f"    replaces: {', '.join(_line(one, 40) for one in hit.replaces[:5])}")
    if hit.same_as:
        lines.append(f"    also in: {', '.join(_line(one, 40) for one in hit.same_as[:5])}")
    return "\n".join(lines)


def _extent(hit: Hit) -> str:
    """Which part of a note is shown, and how to see the next one."""
    end = hit.start + len(hit.text.removesuffix("…"))
    part = f"characters {hit.start} to {min(end, hit.length)} of {hit.length}"
    return f"{part}; read with offset={end} for more" if end < hit.length else part


def _near(one: Related) -> str:
    return f"    nearest: {_line(one.title, 80)} · id {_line(one.id, 40)}"


def shown_query(query: str) -> str:
    """A query as the reply repeats it: one line of at most 80 characters."""
    return _line(query[:2_000], 80)


def attribute(text: str, limit: int) -> str:
    """Text as the value of an attribute in double quotes."""
    flat = _line(text, limit).replace("&lt;", "<").replace("&", "&amp;")
    return flat.replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _covered(coverage: Coverage) -> list[str]:
    lines = [
        f"-- {name} search is {_line(state, 160)}"
        for name, state in coverage.arms.items()
        if name != "links" and state != "ran"
    ]
    if coverage.withheld:
        counted = (
            f"{number} {_WHY.get(reason, reason)}" for reason, number in coverage.withheld.items()
        )
        lines.append(f"-- withheld in these scopes: {', '.join(counted)}")
    if coverage.waiting:
        lines.append(f"-- {coverage.waiting} changed files wait to be indexed")
    lines += [f"-- {_line(notice, 300)}" for notice in coverage.notices[:4]]
    if coverage.cut:
        lines.append("-- cut: ask with a larger budget or k for more, or read a note by its id")
    return lines


def _instant(text: str) -> str:
    """A stamp as people read it: a date at midnight, else to the second."""
    if text[10:26] == "T00:00:00.000000":
        return text[:10]
    return f"{text[:19]}Z" if len(text) > len("2026-11-30") else text


def _line(text: str, limit: int) -> str:
    flat = _SPACES.sub(" ", neutralise(text[: 4 * limit])).strip()
    return flat if len(flat) <= limit else f"{flat[: limit - 1].rstrip()}…"
