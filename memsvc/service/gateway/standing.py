"""A note as it stands, read under its vault's lock, and the claims of it that are rejected."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection

from memsvc.clock import stamp
from memsvc.errors import Uneditable
from memsvc.index import writer as index
from memsvc.ledger import registry
from memsvc.ledger import writer as ledger
from memsvc.ledger.records import NoteRecord, TombstoneRecord, VaultRecord, VersionRecord
from memsvc.model.identity import Caller
from memsvc.model.vocabulary import Action, Role
from memsvc.scope.proof import WriteScope
from memsvc.service import access
from memsvc.service.gateway import checks
from memsvc.service.gateway.events import note_event
from memsvc.service.gateway.files.scan import Scanner
from memsvc.service.gateway.operations import settle
from memsvc.service.gateway.parts import Parts, root_of
from memsvc.service.gateway.wordings import Wording, earlier_wordings, statements_of

__all__ = [
    "Current",
    "current",
    "earlier_claims",
    "make_tombstones",
    "what_is_rejected",
    "withdraw",
    "wordings_of",
]

_KEPT_ENDS = ("changed", "amend", "edit")
"""How a version ends that history goes on to show."""


@dataclass(frozen=True, slots=True)
class Current:
    """A note as it stands, read under the vault's lock."""

    scope: WriteScope
    vault: VaultRecord
    root: Path
    note: NoteRecord
    version: VersionRecord


def current(
    parts: Parts,
    scanner: Scanner,
    caller: Caller,
    note_id: str,
    *,
    need: Role = Role.WRITER,
    gone: bool = False,
) -> Current:
    """The note as its file stands now; the caller holds no lock yet but the vault's.

    With `gone` also a note that was retracted. Raises NotFound, Denied, VaultOffline.
    """
    with parts.database.read() as connection:
        _, note = access.note_for(connection, caller, note_id, need=need, gone=gone)
        vault, root = root_of(connection, note.vault)
    settle(parts, vault)
    scanner.refresh_locked(vault, root, [note.path])
    with parts.database.read() as connection:
        scope, note = access.note_for(connection, caller, note_id, need=need, gone=gone)
        version = registry.find_version(connection, note.note_id, note.version)
    if version is None:
        raise Uneditable(f"the ledger has no text of {note.path}; run `memsvc doctor`")
    return Current(scope, vault, root, note, version)


def make_tombstones(
    connection: Connection,
    parts: Parts,
    now_is: Current,
    dropped: list[checks.Statement],
    *,
    earlier: Sequence[Wording] = (),
    reason: str,
    event_seq: int,
) -> int:
    """Reject the claims that count, in the note's scope, with one event; how many were new.

    What is rejected already stays as it is, whichever key it was rejected under. `earlier` are claims
    of versions before the present one.
    """
    present = [Wording(now_is.version.version, one) for one in dropped]
    rejected = [one for one in (*present, *earlier) if one.statement.counts]
    now = parts.clock.now()
    keys, scope = parts.keys(), now_is.note.scope
    met = checks.find_rejected(connection, keys, scope, [one.statement for one in rejected])
    blocked = {one.digest for one in met}
    records = []
    for version, statement in rejected:
        if not blocked.isdisjoint(keys.candidates(scope, statement.normal)):
            continue
        key_id, digest = keys.digest(scope, statement.normal)
        records.append(
            TombstoneRecord(
                tombstone_id=parts.new_id(now),
                vault=scope.vault,
                project=scope.project,
                key_id=key_id,
                digest=digest,
                claim_kind=statement.kind,
                note_id=now_is.note.note_id,
                version=version,
                at=stamp(now),
                actor=str(now_is.scope.caller.principal),
                reason=reason[:500],
                event_seq=event_seq,
            )
        )
    made = ledger.add_tombstones(connection, records)
    if made:
        ledger.add_event(
            connection,
            note_event(
                Action.TOMBSTONE,
                now_is.scope.caller,
                now_is.note,
                reason=reason,
                detail={"claims": made},
            ),
            at=now,
        )
    return made


def wordings_of(
    connection: Connection,
    now_is: Current,
    rejected: Sequence[checks.Statement],
    *,
    spared: Sequence[checks.Statement] = (),
) -> list[Wording]:
    """What amendments of the note made of the claims: see `earlier_wordings`."""
    if not rejected:
        return []
    versions = registry.versions_of(connection, now_is.note.note_id)
    return earlier_wordings(versions, rejected, spared=spared)


def withdraw(
    connection: Connection, note: NoteRecord, dropped: Sequence[checks.Statement], now: datetime
) -> None:
    """Take earlier versions that state a rejected claim out of history: they were wrong in it too."""
    rejected = {statement.normal for statement in dropped if statement.counts}
    if not rejected:
        return
    for version in registry.versions_of(connection, note.note_id):
        if version.end_mode not in _KEPT_ENDS:
            continue
        if rejected.isdisjoint(statement.normal for statement in statements_of(version)):
            continue
        ended = {"recorded_to": version.recorded_to or stamp(now), "end_mode": "wrong"}
        ledger.end_version(connection, note.note_id, version.version, **ended)
        index.update_state(connection, note.note_id, version.version, **ended)


def what_is_rejected(version: VersionRecord) -> list[checks.Statement]:
    """The claims that go with a whole note; a bare title is a name, and may be used again."""
    return [one for one in statements_of(version) if _goes(one)]


def _goes(statement: checks.Statement) -> bool:
    return statement.kind != "title" or any(char.isdigit() for char in statement.normal)


def earlier_claims(
    connection: Connection, now_is: Current, rejected: Sequence[checks.Statement]
) -> list[Wording]:
    """The wordings that amendments replaced of what goes with a whole note; no bare title either."""
    found = wordings_of(connection, now_is, rejected)
    return [one for one in found if _goes(one.statement)]
