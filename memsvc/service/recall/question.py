"""A recall request, checked: every number in range, every date an instant."""

from memsvc.clock import parse_instant, stamp
from memsvc.errors import InvalidInput
from memsvc.index.values import Filters
from memsvc.model.requests import RecallRequest
from memsvc.model.vocabulary import Trust

__all__ = ["MAX_BUDGET", "MAX_K", "MIN_BUDGET", "filters_of"]

MAX_K = 50
MIN_BUDGET, MAX_BUDGET = 50, 20_000


def filters_of(request: RecallRequest, now: str) -> Filters:
    """What the request may see. Raises InvalidInput, which names the argument and what is legal."""
    _within("k", request.k, 1, MAX_K)
    _within("budget", request.budget, MIN_BUDGET, MAX_BUDGET)
    return Filters(
        now=now,
        as_of=_instant("as_of", request.as_of),
        known_at=_instant("known_at", request.known_at),
        history=request.history,
        kinds=tuple(sorted(set(request.kinds))),
        tags=tuple(sorted({tag.strip() for tag in request.tags if tag.strip().lstrip("#")})),
        min_trust=_trust(request.min_trust),
    )


def _within(argument: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise InvalidInput(f"{argument} must be between {least} and {most}", argument=argument)


def _instant(argument: str, text: str) -> str:
    if not text.strip():
        return ""
    try:
        return stamp(parse_instant(text))
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"{argument} is no date: write 2026-11-30 or 2026-11-30T10:04:11Z", argument=argument
        ) from error


def _trust(text: str) -> Trust:
    if not text.strip():
        return Trust.AGENT
    try:
        return Trust(text.strip().lower())
    except ValueError as error:
        legal = ", ".join(Trust)
        raise InvalidInput(
            f"min_trust must be one of {legal}, or empty for all", argument="min_trust"
        ) from error
