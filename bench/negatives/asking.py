"""Asks for a forbidden thing in every way that recall offers, and looks through what came back."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from bench.negatives.cases import Case, Control, Rate
from bench.negatives.house import TAG, House
from memsvc.errors import MemsvcError, NotFound
from memsvc.model.replies import Hit, RecallReply, as_data
from memsvc.model.requests import HistoryRequest, ReadRequest, RecallRequest
from memsvc.model.vocabulary import Detail, Kind
from memsvc.service.recall.tuning import Tuning

__all__ = [
    "BRIEFLY",
    "LASTING",
    "RANKED",
    "WAYS",
    "Way",
    "found",
    "problems_of",
    "seen_in",
    "verb_problems",
]

_ECHOES = ("query", "terms")
"""Parts of `explain` that repeat the question."""
_MOST = RecallRequest(query="", k=50, budget=20_000)
_UNJUDGED = Tuning(abstain=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to ask. `reads` names what it looks back through: history, as_of, known_at."""

    name: str
    base: RecallRequest = _MOST
    tuning: Tuning | None = None
    reads: frozenset[str] = frozenset()
    then: bool = False
    """as_of and known_at are given the case's instant, not the present one."""
    wordings: bool = False
    """Every query of the case is asked, not only its first."""

    def request(self, query: str, case: Case, now: str) -> RecallRequest:
        """The recall that asks in this way; `now` is the present instant."""
        instant = case.then if self.then else now
        return replace(
            self.base,
            query=query,
            history="history" in self.reads,
            as_of=instant if "as_of" in self.reads else "",
            known_at=instant if "known_at" in self.reads else "",
        )


_DEFAULT = Way(name="default", base=RecallRequest(query=""), wordings=True)
_WEAKEST = Way(name="weakest", base=replace(_MOST, explain=True), tuning=_UNJUDGED)
_HISTORY = Way(name="history", reads=frozenset({"history"}))
_AS_OF = Way(name="as of then", reads=frozenset({"as_of"}), then=True)
_KNOWN = Way(name="known then", reads=frozenset({"known_at"}), then=True)

_FILTERS = Way(name="filters", base=replace(_MOST, kinds=(Kind.FACT,), tags=(TAG,)))

BRIEFLY = (replace(_DEFAULT, wordings=False),)
LASTING = (*BRIEFLY, _WEAKEST, _HISTORY, _AS_OF, _KNOWN)
RANKED = (_DEFAULT, _WEAKEST, _HISTORY, _KNOWN, _FILTERS)
"""Enough where only the ranking differs: what may be seen is decided without the model."""
WAYS = (
    _DEFAULT,
    _WEAKEST,
    _HISTORY,
    _AS_OF,
    _KNOWN,
    _FILTERS,
    Way(name="full", base=replace(_MOST, detail=Detail.FULL)),
    Way(name="no links", tuning=replace(_UNJUDGED, links=False)),
    Way(name="as of now", reads=frozenset({"as_of"})),
    Way(name="known now", reads=frozenset({"known_at"})),
    Way(name="history as of then", reads=frozenset({"history", "as_of"}), then=True),
)
"""All of them; those with `then` are asked of cases that have an instant."""


def problems_of(house: House, case: Case, ways: Sequence[Way]) -> Iterator[tuple[str, str]]:
    """Recall probes of a case: how it was asked, and what was wrong, empty for nothing."""
    for way in ways:
        if way.then and not case.then:
            continue
        for query in case.queries if way.wordings else case.queries[:1]:
            request = way.request(query, case, house.now())
            reply = house.ask(case.caller, request, tuning=way.tuning)
            marked = bool(way.reads & case.allowed) and _looks_back(way)
            yield way.name, seen_in(reply, case, query=query, may_look_back=marked)


def _looks_back(way: Way) -> bool:
    return way.then or "history" in way.reads


def seen_in(reply: RecallReply, case: Case, *, query: str, may_look_back: bool) -> str:
    """What of the forbidden thing a reply to `query` shows; empty for nothing.

    With `may_look_back` a hit may show it when it is marked as not current. What an abstention
    repeats of the query is no showing.
    """
    for hit in reply.hits:
        shown = _shown(hit, case)
        if shown and not (may_look_back and not hit.current):
            return f"{shown} in hit {hit.id} version {hit.version} ({hit.status})"
    explain = {name: value for name, value in reply.explain.items() if name not in _ECHOES}
    rest = replace(reply, hits=[], explain=explain, reason=_unasked(reply.reason, query))
    return _text_problem(rest, case)


def _shown(hit: Hit, case: Case) -> str:
    if hit.id in case.ids:
        return "the note itself"
    if hit.path in case.paths:
        return f"file {hit.path}"
    return _text_problem(replace(hit, replaces=[], explain={}), case, ids=False) or (
        _text_problem(hit, case) if case.negative.rate is Rate.LEAK else ""
    )


def _unasked(reason: str, query: str) -> str:
    """A reason without the words of the query."""
    words = sorted(query.casefold().replace("?", " ").rstrip(".").split(), key=len, reverse=True)
    told = reason.casefold()
    for word in words:
        told = told.replace(word, " ")
    return told


def _text_problem(value: object, case: Case, *, ids: bool = True) -> str:
    """The first mark, and if wanted the first id, that occurs anywhere in a value."""
    text = json.dumps(as_data(value), ensure_ascii=False).casefold()
    for mark in (*case.marks, *(case.ids if ids else ())):
        if mark.casefold() in text:
            return f"'{mark}'"
    return ""


def found(house: House, control: Control) -> bool:
    """Whether a control finds its note among the first eight."""
    request = RecallRequest(
        query=control.query,
        budget=8_000,
        as_of=control.then,
        known_at=control.held,
        history=control.past,
    )
    return any(
        (not control.id or hit.id == control.id)
        and (not control.path or hit.path == control.path)
        and (not control.says or control.says.casefold() in hit.text.casefold())
        and hit.current is not (control.past or bool(control.then or control.held))
        for hit in house.ask(control.caller, request).hits
    )


def verb_problems(house: House, case: Case) -> Iterator[tuple[str, str]]:
    """The other readers: `read` and `history` of each forbidden id, refused or without its text."""
    for note_id in case.ids:
        yield "read", _read_problem(house, case, note_id)
        events = house.service.history(case.caller, HistoryRequest(id=note_id, limit=200))
        leaked = bool(events.events) and case.negative.rate is Rate.LEAK
        yield "history", "events" if leaked else _text_problem(events, case, ids=False)


def _read_problem(house: House, case: Case, note_id: str) -> str:
    try:
        view = house.service.read(case.caller, ReadRequest(id=note_id))
    except NotFound as error:
        return _error_problem(error, case)
    if not case.readable:
        return "read shows it"
    return "read shows it as current" if view.current else ""


def _error_problem(error: MemsvcError, case: Case) -> str:
    shown = [error.message, *(str(value) for value in error.data.values())]
    return _text_problem(shown, case)
