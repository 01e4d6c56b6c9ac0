"""The audit for the person who looks after a home: events listed and exported, and proven."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from memsvc.clock import Clock, stamp
from memsvc.database import Database
from memsvc.errors import Denied, InvalidInput
from memsvc.ledger import chain, reader
from memsvc.model.identity import Caller
from memsvc.model.replies import EventView, HistoryReply, Json, TextHistoryReply
from memsvc.model.requests import AuditRequest, HistoryRequest, TextHistoryRequest
from memsvc.model.vocabulary import Action, Outcome, PrincipalKind
from memsvc.scope.proof import ReadScope
from memsvc.service import access
from memsvc.service.gateway.drafts import instant
from memsvc.service.gateway.gateway import Gateway
from memsvc.service.home import Home

__all__ = ["MOST_EVENTS", "AuditDesk", "events_of"]

MOST_EVENTS = 200
_AT_ONCE = 1_000
_EVERYTHING = AuditRequest()


class AuditDesk:
    """The part of the service that shows and proves what was done."""

    _home: Home
    _database: Database
    _clock: Clock
    _gateway: Gateway

    def ensure_ready(self) -> None:
        """Make the home usable; the service says how."""
        raise NotImplementedError

    def audit_list(self, caller: Caller, request: AuditRequest = _EVERYTHING) -> HistoryReply:
        """Events of every scope that the person looks after, newest first. Raises InvalidInput."""
        self.ensure_ready()
        wanted = _filter(request)
        with self._database.read() as connection:
            scope = access.records(connection, caller)
            return _page(scope, connection, wanted, limit=request.limit)

    def audit_export(
        self, caller: Caller, request: AuditRequest = _EVERYTHING
    ) -> Iterator[EventView]:
        """The events that `audit_list` would page through, oldest first, `limit` aside.

        Read a thousand at a time, up to the newest one of the moment. Raises InvalidInput at once.
        """
        self.ensure_ready()
        wanted = _filter(request)
        with self._database.read() as connection:
            scope = access.records(connection, caller)
            newest = reader.events(scope, connection, wanted, limit=1)
        return self._exported(scope, wanted, until=newest[0].seq if newest else 0)

    def _exported(
        self, scope: ReadScope, wanted: reader.EventFilter, *, until: int
    ) -> Iterator[EventView]:
        after = 0
        while after < until:
            page = replace(wanted, after=after, before=until + 1)
            with self._database.read() as connection:
                found = reader.events(scope, connection, page, limit=_AT_ONCE, oldest_first=True)
            yield from found
            after = found[-1].seq if len(found) == _AT_ONCE else until

    def audit_verify(
        self, *, anchors: Sequence[str] = (), keys: Sequence[str] = ()
    ) -> dict[str, Json]:
        """Whether the hash chain holds and agrees with every known anchor, and what is wrong.

        `anchors` are more files of anchors; with `keys`, public keys, no other signature counts.
        """
        self.ensure_ready()
        from memsvc.service.anchoring import check_anchors  # reads files: only when asked

        with self._database.read() as connection:
            verdict = chain.verify(connection)
            checked = check_anchors(connection, self._home, verdict, files=anchors, keys=keys)
        problems = [*verdict.problems, *(problem for one in checked for problem in one.problems)]
        return {
            "ok": not problems,
            "events": verdict.events,
            "head": verdict.head,
            "database": verdict.identity,
            "problems": list(problems),
            "anchors": [one.as_json() for one in checked],
        }

    def audit_anchor(self, caller: Caller, *, to: str = "", git: bool = False) -> dict[str, Json]:
        """The head of the chain written down in the home and, as asked, in a file outside or in
        the repository of the caller's vault. Raises InvalidInput, Misconfigured, StorageFailed.
        """
        self.ensure_ready()
        from memsvc.service.anchoring import anchor  # see audit_verify

        with self._gateway.on_record(caller):
            access.require_owner(caller)
            return anchor(
                self._home, self._database, caller, at=stamp(self._clock.now()), to=to, git=git
            )

    def audit_forget_anchor(self, caller: Caller, place: str) -> dict[str, Json]:
        """No longer look for anchors at a place; its file stays. On record."""
        self.ensure_ready()
        return self._gateway.forget_anchor(caller, place=place)

    def rotate_key(self, caller: Caller, reason: str = "") -> dict[str, Json]:
        """A new secret key for tombstones to come; the old ones are kept and still checked."""
        self.ensure_ready()
        return self._gateway.rotate_key(caller, reason=reason)

    def text_history(self, caller: Caller, request: TextHistoryRequest) -> TextHistoryReply:
        """How a note's text changed from version to version, forgotten notes too.

        It shows what was rejected, so it is for a person. Raises Denied, NotFound.
        """
        self.ensure_ready()
        from memsvc.service.texts import text_history  # compares texts: only when asked

        if not caller.principal.is_person:
            with self._gateway.on_record(caller):
                raise Denied("the text history shows rejected statements: it is for a person")
        with self._database.read() as connection:
            return text_history(access.reads(connection, caller), connection, request)


def events_of(scope: ReadScope, connection: Connection, request: HistoryRequest) -> HistoryReply:
    """One page of a scope's events, newest first. Raises InvalidInput for an unknown action or date."""
    wanted = reader.EventFilter(
        note_id=request.id.strip().upper(),
        since=instant(request.since, argument="since"),
        action=_known_action(request.action),
        before=request.before,
    )
    return _page(scope, connection, wanted, limit=request.limit)


def _page(
    scope: ReadScope, connection: Connection, wanted: reader.EventFilter, *, limit: int
) -> HistoryReply:
    limit = max(1, min(limit, MOST_EVENTS))
    found = reader.events(scope, connection, wanted, limit=limit + 1)
    shown = found[:limit]
    more = len(found) > limit
    return HistoryReply(scope=scope.label, events=shown, next=shown[-1].seq if more else 0)


def _known_action(action: str) -> str:
    if action and action not in {one.value for one in Action}:
        raise InvalidInput(f"action must be one of {', '.join(Action)}", argument="action")
    return action


def _filter(request: AuditRequest) -> reader.EventFilter:
    if request.outcome and request.outcome not in {one.value for one in Outcome}:
        raise InvalidInput(f"outcome must be one of {', '.join(Outcome)}", argument="outcome")
    kind, name = _actor(request.actor.strip())
    return reader.EventFilter(
        vault=request.vault,
        project=request.project,
        note_prefix=request.id.strip().upper(),
        action=_known_action(request.action),
        outcome=request.outcome,
        actor_kind=kind,
        actor_name=name,
        since=instant(request.since, argument="since"),
        until=instant(request.until, argument="until"),
        before=request.before,
    )


def _actor(text: str) -> tuple[str, str]:
    """Kind and name of `kind:name`, of a kind alone, or of a name alone."""
    kinds = {one.value for one in PrincipalKind}
    kind, separator, name = text.partition(":")
    if separator and kind in kinds:
        return kind, name
    if separator:
        raise InvalidInput(
            f"actor is kind:name, and the kind one of {', '.join(PrincipalKind)}", argument="actor"
        )
    return (text, "") if text in kinds else ("", text)
