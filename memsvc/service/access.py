"""From a caller's claim to a proven scope: grants are loaded here, and only here is the policy asked."""

from sqlalchemy import Connection

from memsvc.errors import Denied, NotFound
from memsvc.ledger import registry
from memsvc.ledger.records import NoteRecord, VaultRecord
from memsvc.model.identity import Caller, Scope
from memsvc.model.vocabulary import SHARED, Role, VaultName
from memsvc.scope import policy
from memsvc.scope.proof import ReadScope, WriteScope
from memsvc.scope.vault_policy import VaultPolicy

__all__ = [
    "NO_NOTE",
    "around",
    "judges",
    "note_for",
    "oversight",
    "readable_note",
    "reads",
    "records",
    "require_confirmed",
    "require_owner",
    "reviews_in",
    "vault_in",
    "vault_of",
    "writable",
    "writes",
]

NO_NOTE = "no note with that id in this scope; `recall` shows the ids of notes you may use"
"""The one wording for unknown, forgotten and out of scope."""


def vault_of(connection: Connection, caller: Caller) -> VaultRecord:
    """The vault the caller is bound to, or NotFound."""
    return vault_in(connection, caller.vault)


def vault_in(connection: Connection, name: VaultName) -> VaultRecord:
    """The vault of a scope that was proven, or NotFound if it was removed since."""
    found = registry.vault_named(connection, name)
    if found is None:
        raise NotFound(policy.NOWHERE)
    return found


def _grants(connection: Connection, caller: Caller) -> list[policy.Grant]:
    """An embedded caller has the project it is bound to, and its vault's `shared`."""
    rules = VaultPolicy.of(vault_of(connection, caller).policy)
    role = Role.ADMIN if caller.principal.is_person else Role.WRITER
    projects = dict.fromkeys((caller.project, SHARED))
    shared = role if rules.may_write_shared(caller.principal) else Role.READER
    return [
        policy.Grant(Scope(caller.vault, project), shared if project == SHARED else role)
        for project in projects
    ]


def reads(
    connection: Connection, caller: Caller, *, vault: str = "", project: str = ""
) -> ReadScope:
    """What the caller may read, narrowed by exact names; NotFound for anything else."""
    return policy.read_scope(caller, _grants(connection, caller), vault=vault, project=project)


def writes(
    connection: Connection,
    caller: Caller,
    *,
    vault: str = "",
    project: str = "",
    need: Role = Role.WRITER,
) -> WriteScope:
    """The one scope a write goes to; NotFound or Denied."""
    return policy.write_scope(
        caller, _grants(connection, caller), vault=vault, project=project, need=need
    )


def judges(connection: Connection, caller: Caller, scope: Scope) -> WriteScope:
    """The scope of something to review, for a person who may decide it.

    Raises NotFound, or Denied for anyone who is no person with the reviewer role.
    """
    if not caller.principal.is_person:
        raise Denied("a review is decided by a person; an agent may only propose")
    return policy.write_scope(
        caller,
        _overseen(connection, caller),
        vault=scope.vault,
        project=scope.project,
        need=Role.REVIEWER,
    )


def around(connection: Connection, caller: Caller, scope: Scope) -> ReadScope:
    """One of the scopes that a person looks after, with its vault's `shared`. Raises NotFound."""
    grants = _overseen(connection, caller)
    return policy.read_scope(caller, grants, vault=scope.vault, project=scope.project)


def _overseen(connection: Connection, caller: Caller) -> list[policy.Grant]:
    return [policy.Grant(one, Role.ADMIN) for one in oversight(connection, caller).scopes]


def writable(connection: Connection, caller: Caller) -> list[Scope]:
    """The scopes that the caller may write to."""
    grants = _grants(connection, caller)
    return [grant.scope for grant in grants if grant.role.rank >= Role.WRITER.rank]


def reviews_in(connection: Connection, caller: Caller, scope: Scope) -> bool:
    """Whether the caller has the reviewer role in a scope."""
    grants = _grants(connection, caller)
    return any(one.scope == scope and one.role.rank >= Role.REVIEWER.rank for one in grants)


def readable_note(
    scope: ReadScope, connection: Connection, note_id: str, *, gone: bool = False
) -> NoteRecord:
    """A note of the scope, a living one unless `gone`. Unknown, forgotten and out of scope raise
    the same NotFound.
    """
    record = registry.find_note(connection, note_id.strip().upper())
    if record is None or (record.gone and not gone) or record.scope not in scope:
        raise NotFound(NO_NOTE)
    return record


def require_owner(caller: Caller) -> None:
    """Raises Denied unless a person calls."""
    if not caller.principal.is_person:
        raise Denied(f"this is for the person who owns the home (role {Role.ADMIN})")


def require_confirmed(caller: Caller, what: str, *, dry: bool = False) -> None:
    """Raises Denied unless a person calls and confirms `what`; a dry run needs no confirmation."""
    if not (caller.principal.is_person if dry else caller.confirms):
        raise Denied(f"{what} is for a person, who confirms it: add --confirm")


def note_for(
    connection: Connection,
    caller: Caller,
    note_id: str,
    *,
    need: Role = Role.WRITER,
    gone: bool = False,
) -> tuple[WriteScope, NoteRecord]:
    """A note that the caller may write, with the scope it lives in; a living one unless `gone`.

    Unknown, forgotten and out of scope raise the same NotFound.
    """
    record = readable_note(reads(connection, caller), connection, note_id, gone=gone)
    scope = writes(connection, caller, vault=record.vault, project=record.project, need=need)
    return scope, record


def oversight(connection: Connection, caller: Caller) -> ReadScope:
    """What a caller may look after: a person the whole home, scope by scope; others their own scope."""
    if not caller.principal.is_person:
        return reads(connection, caller)
    grants = [
        policy.Grant(Scope(vault.name, project), Role.ADMIN)
        for vault in registry.vaults(connection)
        for project in dict.fromkeys((SHARED, *registry.scopes_with_events(connection, vault.name)))
    ]
    own = _grants(connection, caller)
    return policy.oversight_scope(caller, [*own, *grants])


def records(connection: Connection, caller: Caller) -> ReadScope:
    """Whose events a caller may see: a person every scope that an event names, also those of vaults
    that are no longer registered; others their own scope.
    """
    if not caller.principal.is_person:
        return reads(connection, caller)
    scopes = [Scope(caller.vault, caller.project), *registry.scopes_with_records(connection)]
    return policy.oversight_scope(caller, [policy.Grant(one, Role.ADMIN) for one in scopes])
