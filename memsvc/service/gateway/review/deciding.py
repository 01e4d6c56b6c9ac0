"""A reviewer's decision about one item: what it means for the notes, in one transaction."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from memsvc.errors import Denied, InvalidInput, NotFound
from memsvc.ledger import reader
from memsvc.model.identity import Caller, Scope
from memsvc.model.replies import Json
from memsvc.model.requests import CorrectRequest, DecisionRequest
from memsvc.model.vocabulary import (
    CorrectMode,
    Disposition,
    ProjectSlug,
    ReviewKind,
    Status,
    Trust,
    VaultName,
)
from memsvc.scope.proof import WriteScope
from memsvc.service import access
from memsvc.service.gateway import checks, drafts
from memsvc.service.gateway.correct import change_of
from memsvc.service.gateway.files.scan import Scanner
from memsvc.service.gateway.operations import KEPT, settle
from memsvc.service.gateway.parts import Parts, root_of
from memsvc.service.gateway.review.cases import (
    Case,
    approval_of,
    as_own_note,
    case_of,
    likely_stated,
    paths_of,
    restoration_of,
)
from memsvc.service.gateway.review.decision import Decision, Item
from memsvc.service.gateway.review.holding import NO_ITEM
from memsvc.service.gateway.review.purge_request import decide_purge
from memsvc.service.gateway.review.turning import Turn
from memsvc.service.gateway.standing import what_is_rejected
from memsvc.service.gateway.wordings import statements_of

__all__ = ["APPROVING", "decide"]

APPROVING = frozenset({Disposition.KEEP_NEW, Disposition.KEEP_BOTH, Disposition.REPLACE})
"""Dispositions by which something comes to stand; the others reject the new text."""


def decide(
    parts: Parts, scanner: Scanner, caller: Caller, request: DecisionRequest
) -> tuple[dict[str, Json], Sequence[checks.Statement]]:
    """Carry out a decision: the reply, and what a purge rejected.

    Raises NotFound, Denied, InvalidInput, the Refused family, Uneditable, StorageFailed.
    """
    checks.check_lines(reason=request.reason)
    approves = request.disposition in APPROVING
    item, scope = _open_item(parts, caller, request.id)
    if approves and not caller.confirmed:
        raise Denied("approving is a person's decision, who confirms it: add --confirm")
    if (request.disposition is Disposition.REPLACE) != bool(request.body.strip()):
        raise InvalidInput("your own text goes with replace, and replace needs it", argument="body")
    if item.kind == ReviewKind.PURGE_REQUEST:
        if request.disposition is Disposition.KEEP_NEW:
            scanner.scan(item.scope.vault, force=True)  # a copy that is a note must be known as one
        with parts.locked(item.scope.vault):
            item, scope = _open_item(parts, caller, request.id)
            return decide_purge(parts, scanner, scope, item, request)
    with parts.locked(item.scope.vault):
        with parts.database.read() as connection:
            vault, root = root_of(connection, item.scope.vault)
            paths = paths_of(connection, item, request)
        settle(parts, vault)
        scanner.refresh_locked(vault, root, paths)
        item, scope = _open_item(parts, caller, request.id)
        now = parts.clock.now()
        turn = Turn(parts, vault, root, scope, now, request.reason)
        with parts.database.read() as connection:
            case = case_of(connection, item, request)
        try:
            _HANDLERS[ReviewKind(item.kind)](turn, case)
        except BaseException:
            turn.staging.discard()
            raise
        return _carry_out(turn, case, caller, approves=approves), ()


def _open_item(parts: Parts, caller: Caller, review_id: str) -> tuple[Item, WriteScope]:
    with parts.database.read() as connection:
        scope = access.oversight(connection, caller)
        wanted = review_id.strip().upper()
        rows = reader.reviews(scope, connection, review_id=wanted) if wanted else []
        if not rows or rows[0]["state"] != "open":
            raise NotFound(NO_ITEM, argument="id")
        row = rows[0]
        item = Item(
            row["review_id"],
            row["kind"],
            Scope(VaultName(row["vault"]), ProjectSlug(row["project"])),
            row["note_id"],
            row["version"],
            row["event_seq"],
            row["detail"],
        )
        return item, access.judges(connection, caller, item.scope)


def _carry_out(turn: Turn, case: Case, caller: Caller, *, approves: bool) -> dict[str, Json]:
    written = case.item.detail.get("edited_by")
    decision = Decision(
        case.item,
        case.request,
        caller,
        approves,
        edited_by=tuple(str(one) for one in written) if isinstance(written, list) else (),
        superseded=tuple(turn.superseded),
    )
    note, version = case.note, case.version
    event = decision.event(note.note_id, version.version, before_hash=version.content_hash)
    seq, conflicts = turn.commit(decision, event, lift=case.request.lift)
    return decision.reply(
        str(note.note_id),
        path=note.path,
        event_seq=seq,
        tombstones=turn.rejected,
        notice=f"a {KEPT}" if conflicts else "",
    )


def _approve(turn: Turn, case: Case, *, alone: bool = False) -> None:
    """The new text stands; unless `alone`, in place of the old notes."""
    change = approval_of(turn, case, alone=alone)
    if change is None:
        turn.accept(case.note, case.version)
    else:
        turn.stand(case.note, case.version, change)
    if not alone:
        end = case.version.valid_from or drafts.whole_second(turn.now)
        for note, version in case.olds:
            turn.replace_by(note, version, successor=case.note, end=end)


def _spared(turn: Turn, case: Case) -> list[checks.Statement]:
    """What the new text alone states: neither the old notes nor others close to it."""
    stated: list[checks.Statement] = []
    for _, old in case.olds:
        stated += statements_of(old)
    with turn.parts.database.read() as connection:
        stated += likely_stated(connection, turn, case)
    return checks.introduced(what_is_rejected(case.version), stated)


def _no_old(case: Case) -> InvalidInput:
    return InvalidInput(
        f"{case.request.disposition} needs an old text, and this item names none; add --old ID of "
        "an active note, or choose another disposition",
        argument="disposition",
    )


def _proposal(turn: Turn, case: Case) -> None:
    """A proposed note, weighed against the notes that it says it replaces."""
    disposition = case.request.disposition
    if disposition in APPROVING:
        _approve(turn, case, alone=disposition is Disposition.KEEP_BOTH)
        return
    _turn_down(turn, case)


def _turn_down(turn: Turn, case: Case) -> None:
    """A proposed text is rejected, and with reject-both the old notes go too."""
    both = case.request.disposition is Disposition.REJECT_BOTH
    if both and not case.olds:
        raise _no_old(case)
    rejected = what_is_rejected(case.version) if both else _spared(turn, case)
    turn.retire(case.note, case.version, rejected, status=Status.REJECTED, why="rejected")
    for note, version in case.olds if both else ():
        gone = what_is_rejected(version)
        turn.retire(note, version, gone, status=Status.RETRACTED, why="forgotten")


def _correction(turn: Turn, case: Case) -> None:
    """A proposed text for an active note."""
    disposition = case.request.disposition
    if disposition in (Disposition.KEEP_NEW, Disposition.REPLACE):
        _apply_correction(turn, case)
        turn.retire(case.note, case.version, (), status=Status.RETRACTED, why="applied")
    elif disposition is Disposition.KEEP_BOTH:
        _approve(turn, case, alone=True)
    else:
        _turn_down(turn, case)


def _apply_correction(turn: Turn, case: Case) -> None:
    detail, request = case.item.detail, case.request
    target = next((pair for pair in case.olds if pair[0].note_id == detail.get("corrects")), None)
    if target is None:
        raise InvalidInput(
            "the note that this corrects is not active any more; keep both, or keep the old",
            argument="disposition",
        )
    note, old = target
    own = request.disposition is Disposition.REPLACE
    if not own and old.version != detail.get("corrects_version"):
        raise InvalidInput(
            f"the note was changed since: this corrects version {detail.get('corrects_version')} "
            f"and it is at {old.version}; replace it with a text of your own, or keep the old",
            argument="disposition",
        )
    sources = detail.get("source")
    correction = CorrectRequest(
        id=str(note.note_id),
        version=old.version,
        mode=CorrectMode(str(detail.get("mode"))),
        reason=request.reason or case.version.reason,
        source=tuple(str(one) for one in sources) if isinstance(sources, list) else (),
    )
    effective = drafts.instant(str(detail.get("effective", "")), argument="effective")
    body = request.body if own else case.version.body
    body = body if body.endswith("\n") else f"{body}\n"
    title = request.title.strip() or (old.title if own else case.version.title)
    change = change_of(correction, turn.at(note, old), body, title, effective, turn.now)
    author = "" if own else case.version.author
    turn.stand(note, old, replace(change, trust=Trust.VERIFIED, author=author, approved=True))


def _changed_file(turn: Turn, case: Case) -> None:
    """A file's text that was withheld or is disputed, weighed against the note's approved text."""
    disposition, earlier = case.request.disposition, case.earlier
    if disposition in APPROVING:
        if disposition is Disposition.KEEP_BOTH and earlier is not None:
            with turn.parts.database.read() as connection:
                turn.found(*as_own_note(connection, turn, earlier))
        _approve(turn, case, alone=disposition is Disposition.KEEP_BOTH)
    elif disposition is Disposition.KEEP_OLD and earlier is not None:
        change = restoration_of(turn, case.version, earlier, reject=True)
        turn.stand(case.note, case.version, change)
    else:
        rejected = _spared(turn, case)
        if disposition is Disposition.REJECT_BOTH:
            rejected = what_is_rejected(case.version)
            rejected += what_is_rejected(earlier) if earlier is not None else []
        turn.retire(case.note, case.version, rejected, status=Status.REJECTED, why="rejected")


def _conflict(turn: Turn, case: Case) -> None:
    """Two changes of one text: new is what the file says, old what was committed meanwhile."""
    disposition = case.request.disposition
    forgotten = case.item.detail.get("change") == "trash"
    ours, base = case.ours, case.base
    if disposition is Disposition.KEEP_NEW:
        return
    if case.note.gone:
        raise InvalidInput("the note is gone; only keep-new closes this", argument="disposition")
    if disposition is Disposition.REPLACE:
        _approve(turn, case)
    elif disposition is Disposition.KEEP_BOTH:
        if ours is None or forgotten:
            raise _no_old(case)
        with turn.parts.database.read() as connection:
            turn.found(*as_own_note(connection, turn, ours))
    elif disposition is Disposition.KEEP_OLD:
        _keep_ours(turn, case, forgotten=forgotten)
    else:
        both = [*what_is_rejected(case.version), *(what_is_rejected(ours) if ours else [])]
        if base is None or forgotten:
            turn.retire(case.note, case.version, both, status=Status.RETRACTED, why="forgotten")
            return
        change = restoration_of(turn, case.version, base, reject=False)
        turn.stand(case.note, case.version, change)
        turn.reject(case.note, case.version, checks.introduced(both, what_is_rejected(base)))


def _keep_ours(turn: Turn, case: Case, *, forgotten: bool) -> None:
    if forgotten:
        turn.retire(case.note, case.version, (), status=Status.RETRACTED, why="forgotten")
    elif case.ours is None:
        raise _no_old(case)
    elif case.ours.content_hash != case.version.content_hash:
        change = restoration_of(turn, case.version, case.ours, reject=False)
        turn.stand(case.note, case.version, change)


_HANDLERS: Mapping[ReviewKind, Callable[[Turn, Case], None]] = {
    ReviewKind.PROPOSAL: _proposal,
    ReviewKind.RESTATEMENT: _proposal,
    ReviewKind.CORRECTION: _correction,
    ReviewKind.WITHHELD: _changed_file,
    ReviewKind.DISPUTE: _changed_file,
    ReviewKind.CONFLICT: _conflict,
}
