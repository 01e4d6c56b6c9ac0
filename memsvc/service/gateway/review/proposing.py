"""A correction that waits for a person: its text becomes a proposal, the note stays as it is."""

from collections.abc import Sequence

from memsvc.model.replies import CorrectReply, Json
from memsvc.model.requests import CorrectRequest, SaveRequest
from memsvc.model.vocabulary import ReviewKind
from memsvc.scope.vault_policy import VaultPolicy
from memsvc.service.gateway import checks
from memsvc.service.gateway.correct import Change
from memsvc.service.gateway.files.scan import Scanner
from memsvc.service.gateway.guard.restated import Suspicion, held
from memsvc.service.gateway.indexing import document_of, is_editable, vectors_for
from memsvc.service.gateway.parts import Parts
from memsvc.service.gateway.review.holding import Hold
from memsvc.service.gateway.save import create
from memsvc.service.gateway.standing import Current

__all__ = ["propose_correction"]


def propose_correction(
    parts: Parts,
    scanner: Scanner,
    now_is: Current,
    request: CorrectRequest,
    change: Change,
    rules: VaultPolicy,
    again: Sequence[Suspicion] = (),
) -> CorrectReply:
    """Keep a correction for a reviewer: a proposed note with the text, and what it corrects.

    `again` is what of it probably says again what was rejected.
    The caller holds the vault's lock. Raises the Refused family, Uneditable, StorageFailed.
    """
    old = now_is.version
    checks.check_note_text(change.title, change.body, rules)
    document = document_of(old)
    proposal = SaveRequest(
        title=change.title,
        body=change.body,
        kind=document.kind,
        tags=document.tags,
        source=change.source or old.source,
        reason=change.reason,
    )
    detail: dict[str, Json] = {
        "corrects": str(now_is.note.note_id),
        "corrects_version": old.version,
        "mode": change.mode,
        "effective": request.effective,
        "source": list[Json](change.source),
        "can_apply": is_editable(old, document),
    }
    policy = rules.wants_review(now_is.scope.caller.principal)
    reasons = (f"the vault's policy: review={rules.review}",) if policy else ()
    before = checks.statements(document.title, document.body)
    after = checks.statements(change.title, change.body)
    reply = create(
        parts,
        scanner,
        now_is.scope,
        proposal,
        now_is.vault,
        now_is.root,
        valid=(change.valid_from, ""),
        texts=checks.introduced([*after, *checks.sourced(change.source)], before),
        vectors=vectors_for(parts, change.title, change.body),
        hold=held(again, Hold(ReviewKind.CORRECTION, reasons, detail)),
    )
    return CorrectReply(
        outcome="proposed",
        mode=change.mode,
        id=str(now_is.note.note_id),
        path=now_is.note.path,
        version=old.version,
        scope=str(now_is.note.scope),
        event=reply.event,
        notice=f"the note stays as it is; the new text waits for a person as note {reply.id}, "
        f"{reply.notice}",
    )
