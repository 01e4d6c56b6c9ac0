"""What a vault's policy sets for every write: private blocks left out, and how many an hour."""

from dataclasses import replace
from datetime import timedelta

from sqlalchemy import Connection

from memsvc.clock import stamp
from memsvc.errors import InvalidInput, OverBudget
from memsvc.ledger import registry
from memsvc.model.identity import Caller
from memsvc.model.requests import CorrectRequest, SaveRequest
from memsvc.model.vocabulary import VaultName
from memsvc.notes.private import without_private
from memsvc.scope.vault_policy import VaultPolicy
from memsvc.service.gateway.parts import Parts, vault_of

__all__ = [
    "check_budget",
    "correct_without_private",
    "left_out",
    "rules_of",
    "save_without_private",
]

_WINDOW = timedelta(hours=1)


def rules_of(parts: Parts, vault: VaultName) -> VaultPolicy:
    """The policy of a registered vault. Raises NotFound."""
    with parts.database.read() as connection:
        return VaultPolicy.of(vault_of(connection, vault).policy)


def check_budget(
    connection: Connection,
    parts: Parts,
    rules: VaultPolicy,
    caller: Caller,
    vault: VaultName,
    *,
    writes: int = 1,
) -> None:
    """Refuse an agent's `writes` when they are more than its hour has left. Raises OverBudget."""
    if not rules.write_budget or caller.principal.is_person:
        return
    since = stamp(parts.clock.now() - _WINDOW)
    done = registry.writes_since(connection, vault, caller.principal, since=since)
    if done + writes > rules.write_budget:
        raise OverBudget(
            f"{caller.principal} made {done} writes to vault {vault} within the last hour and "
            f"{rules.write_budget} are the most; go on later, and save less that nobody will need",
            count=done,
        )


def save_without_private(request: SaveRequest) -> tuple[SaveRequest, str]:
    """The request without private blocks, and a notice when there were any. Raises InvalidInput."""
    title, first = _without(request.title, argument="title")
    body, second = _without(request.body, argument="body")
    return replace(request, title=title, body=body), left_out(first + second)


def correct_without_private(request: CorrectRequest) -> tuple[CorrectRequest, str]:
    """As `save_without_private`, for the new texts of a correction."""
    title, first = _without(request.title, argument="title")
    body, second = _without(request.body, argument="body")
    text, third = _without(request.new_text, argument="new_text")
    cleaned = replace(request, title=title, body=body, new_text=text)
    return cleaned, left_out(first + second + third)


def _without(text: str, *, argument: str) -> tuple[str, int]:
    if "<" not in text:
        return text, 0
    kept, count, closed = without_private(text)
    if not closed:
        raise InvalidInput(
            f"the {argument} opens a <private> block and never closes it; leave the private part "
            "out, or close it with </private>",
            argument=argument,
        )
    if count and not kept.strip():
        raise InvalidInput(
            f"all of the {argument} is marked <private>: there is nothing to remember",
            argument=argument,
        )
    return kept, count


def left_out(count: int) -> str:
    """What a writer is told of private parts; empty for none."""
    return f"{count} <private> part{'s' if count > 1 else ''} left out" if count else ""
