"""Commands for the person who reviews: review list, show, approve and reject."""

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Annotated

import typer

from memsvc.errors import InvalidInput
from memsvc.interfaces.cli.notes import Body, BodyFile, Confirm, Reason, body_of
from memsvc.interfaces.cli.options import command
from memsvc.interfaces.cli.session import Session
from memsvc.interfaces.requests import as_word
from memsvc.model.requests import DecisionRequest, ReviewFilter
from memsvc.model.vocabulary import Disposition, ReviewKind

__all__ = ["register"]

# ruff: noqa: A002, PLR0913 - names and number of the options are the contract's

Ids = Annotated[
    list[str] | None, typer.Argument(metavar="ID…", help="Review items, as the list names them.")
]
Source = Annotated[str, typer.Option("--source", help="All open items from that source.")]
Kind = Annotated[
    str,
    typer.Option(
        "--kind",
        help="All open items of that kind: proposal, correction, restatement, withheld, dispute, "
        "conflict, purge_request.",
    ),
]
Likeness = Annotated[
    str,
    typer.Option(
        "--likeness", help="The group of that name in the list, as long as nobody joined it."
    ),
]
_TAKES = {
    "approve": (Disposition.KEEP_NEW, Disposition.KEEP_BOTH, Disposition.REPLACE),
    "reject": (Disposition.KEEP_OLD, Disposition.REJECT_BOTH),
}


def register(group: typer.Typer) -> None:
    """Add the commands to their group."""
    command(group, "list")(list_items)
    command(group, "show")(show)
    command(group, "approve")(approve)
    command(group, "reject")(reject)


def list_items(
    session: Session,
    *,
    source: Annotated[str, typer.Option("--source", help="Only from that source.")] = "",
    kind: Annotated[str, typer.Option("--kind", help="Only of that kind.")] = "",
    likeness: Annotated[str, typer.Option("--likeness", help="Only that group.")] = "",
) -> None:
    """List what waits for a person's decision, grouped by where it comes from and what is alike."""
    wanted = ReviewFilter(source=source, kind=kind, likeness=likeness)
    found = session.service().reviews(session.caller(), wanted)
    session.show(found, _grouped(found) or "nothing waits for review")


def show(
    session: Session, id: Annotated[str, typer.Argument(metavar="ID", help="The review item.")]
) -> None:
    """Show one item: its text, why it waits, and how it differs from what stands."""
    page = session.service().review_show(session.caller(), id)
    session.show(page, None if session.as_json else _page(page))


def approve(
    session: Session,
    ids: Ids = None,
    *,
    source: Source = "",
    kind: Kind = "",
    likeness: Likeness = "",
    keep: Annotated[
        str,
        typer.Option(
            "--disposition",
            help="keep-new (it takes the old text's place), keep-both, or replace (by your own "
            "text: --body or --body-file).",
        ),
    ] = Disposition.KEEP_NEW.value,
    old: Annotated[
        str, typer.Option("--old", help="The active note whose place it takes; its id.")
    ] = "",
    title: Annotated[str, typer.Option("--title", help="Another title.")] = "",
    body: Body = None,
    body_file: BodyFile = None,
    lift: Annotated[
        bool, typer.Option("--lift", help="Allow again what it states and was rejected before.")
    ] = False,
    reason: Reason = "",
    confirm: Confirm = False,
) -> None:
    """Approve what was proposed: it is recalled from now on, as confirmed by a person."""
    text = body_of(body, body_file) if body is not None or body_file is not None else ""
    wish = Disposition.REPLACE.value if text and keep == Disposition.KEEP_NEW else keep
    request = DecisionRequest(
        id="",
        disposition=_disposition("approve", wish),
        reason=reason,
        old=old,
        title=title,
        body=text,
        lift=lift,
    )
    _decide(
        session,
        request,
        ids,
        ReviewFilter(source=source, kind=kind, likeness=likeness),
        flag=confirm,
    )


def reject(
    session: Session,
    ids: Ids = None,
    *,
    source: Source = "",
    kind: Kind = "",
    likeness: Likeness = "",
    keep: Annotated[
        str, typer.Option("--disposition", help="keep-old, or reject-both (the old text too).")
    ] = Disposition.KEEP_OLD.value,
    old: Annotated[
        str, typer.Option("--old", help="The active note that reject-both means; its id.")
    ] = "",
    reason: Reason = "",
    confirm: Confirm = False,
) -> None:
    """Reject what was proposed: what it states is refused here from now on."""
    request = DecisionRequest(
        id="", disposition=_disposition("reject", keep), reason=reason, old=old
    )
    _decide(
        session,
        request,
        ids,
        ReviewFilter(source=source, kind=kind, likeness=likeness),
        flag=confirm,
    )


def _disposition(verb: str, text: str) -> Disposition:
    chosen = as_word(Disposition, text, argument="disposition")
    if chosen not in _TAKES[verb]:
        raise InvalidInput(
            f"review {verb} takes the dispositions {', '.join(_TAKES[verb])}",
            argument="disposition",
        )
    return chosen


def _decide(
    session: Session,
    request: DecisionRequest,
    ids: Sequence[str] | None,
    wanted: ReviewFilter,
    *,
    flag: bool,
) -> None:
    service = session.service()
    caller = session.caller()
    chosen = service.selected(caller, ids or [], wanted)
    question = _question(request, chosen, service.kinds(caller, chosen))
    if question or flag:
        caller = session.confirmed(question, flag=flag)
    if request.disposition is Disposition.REPLACE and len(chosen) > 1:
        raise InvalidInput("your own text replaces one item at a time", argument="body")
    if len(chosen) == 1:
        reply = service.decide(caller, replace(request, id=chosen[0]))
        session.show(reply, _decided(reply))
        return
    replies = service.decide_all(caller, request, ids=chosen)
    decided, failed = _rows(replies["decided"]), _rows(replies["failed"])
    session.show(replies, "\n".join([_decided(one) for one in decided]))
    if failed:
        sys.stdout.flush()
        first = f"{failed[0]['review']}: {failed[0]['message']}"
        typer.echo(f"memsvc: {len(failed)} of {len(chosen)} failed; {first}", err=True)
        raise typer.Exit(1)


def _question(request: DecisionRequest, chosen: Sequence[str], kinds: Collection[str]) -> str:
    """What to ask before the decision is carried out; nothing when it can be undone as it is."""
    what = f"{len(chosen)} items" if len(chosen) > 1 else f"item {chosen[0]}"
    purges = ReviewKind.PURGE_REQUEST in kinds
    if request.disposition in _TAKES["approve"]:
        lost = ", and destroy every trace of what is to be purged" if purges else ""
        return f"Approve {what} ({request.disposition}){lost}?"
    if purges and request.disposition is Disposition.KEEP_OLD:
        return f"Reject {what}, and bring back what was to be purged?"
    return ""


def _rows(value: object) -> list[Mapping[str, object]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _decided(reply: Mapping[str, object]) -> str:
    from memsvc.interfaces.fence import one_line  # see _grouped

    shown = ("review", "kind", "disposition", "id", "event", "tombstones", "notice")
    facts = " · ".join(
        f"{key} {reply[key]}" for key in shown if reply.get(key) not in ("", None, 0)
    )
    lines = [f"{reply['outcome']}: {facts}"]
    restored, report = reply.get("restored"), reply.get("purge")
    if isinstance(restored, Mapping):
        lines.append(f"{restored['outcome']}: the note is at {one_line(str(restored['path']))}")
    if isinstance(report, Mapping):
        lines += _purged(report)
    return "\n".join(lines)


def _purged(report: Mapping[str, object]) -> list[str]:
    """What a purge did, what else states or quotes the same, and where the text may still be."""
    from memsvc.interfaces.render import render_echoes  # see _grouped
    from memsvc.model.replies import Related

    stated, derived = (
        [Related(**row) for row in _rows(report.get(key))]  # type: ignore[arg-type] # as_data of Related
        for key in ("also_stated_in", "derived")
    )
    places = report.get("out_of_reach")
    beyond = [str(one) for one in places] if isinstance(places, list) else []
    return [
        f"purged: note {report['id']} · files removed for good {report['erased']}",
        *render_echoes(stated, derived, beyond),
    ]


def _grouped(rows: Sequence[Mapping[str, object]]) -> str:
    """Items under their scope and source; alike ones together under the group's name."""
    from memsvc.interfaces.fence import fence, one_line  # only where notes are shown

    lines: list[str] = []
    places = dict.fromkeys((row["vault"], row["project"], row.get("source", "")) for row in rows)
    for vault, project, source in places:
        lines.append(f"{vault}/{project} · from {one_line(str(source), 120) or 'unknown'}")
        here = [
            row
            for row in rows
            if (row["vault"], row["project"], row.get("source", "")) == (vault, project, source)
        ]
        for group in dict.fromkeys(row.get("likeness", "") for row in here):
            lines += [_line(row) for row in here if row.get("likeness", "") == group]
    return fence({}, "\n".join(lines)) if lines else ""


def _line(row: Mapping[str, object]) -> str:
    from memsvc.interfaces.fence import one_line  # see _grouped

    detail = row["detail"] if isinstance(row["detail"], Mapping) else {}
    alike = (
        f" · {row['alike']} alike, --likeness {row['likeness']}" if row.get("alike", 1) != 1 else ""
    )
    parts = [
        f"  {row['review_id']} · {row['kind']} · {one_line(str(row.get('title', '')), 100)}",
        f"{str(row['at'])[:16]} · note {row['note_id']} v{row['version']}",
        one_line(str(detail.get("why", "")), 160),
    ]
    return " · ".join(part for part in parts if part) + alike


def _page(page: Mapping[str, object]) -> str:
    from memsvc.interfaces.fence import fence, one_line, quoted  # see _grouped

    reasons = page["reasons"] if isinstance(page["reasons"], list) else []
    blocks = [
        f"review {page['review_id']} · {page['kind']} · {page['vault']}/{page['project']}",
        f"note {page['note_id']} · by {quoted(str(page.get('author', '')), 200)}",
    ]
    inside = [f"why: {one_line(str(one), 300)}" for one in reasons]
    inside.append(str(page.get("text", "")).rstrip("\n"))
    for one in _rows(page.get("differences")):
        inside.append(
            f"--- difference from note {one['against']} v{one['version']}: {one['title']}"
        )
        inside.append(str(one["diff"] or one["problem"] or "the same words"))
    three = page.get("three_way")
    if isinstance(three, Mapping):
        inside += [
            f"--- from before to what was committed (v{three['committed']})",
            str(three["base_to_committed"]),
            f"--- from before to the file (v{three['file']})",
            str(three["base_to_file"]),
            f"--- both together, {three['clashes']} clashes",
            str(three["merged"]),
        ]
    attributes = {"id": str(page["note_id"]), "title": str(page.get("title", ""))}
    return "\n".join([*blocks, fence(attributes, "\n".join(inside))])
