"""What a caller may read and write: the only maker of ReadScope and WriteScope."""

from collections.abc import Sequence
from dataclasses import dataclass

from memsvc.errors import Denied, NotFound
from memsvc.model.identity import Caller, Scope
from memsvc.model.vocabulary import SHARED, Role
from memsvc.scope.proof import ReadScope, WriteScope, stamp_of

__all__ = ["NOWHERE", "Grant", "oversight_scope", "read_scope", "write_scope"]

_STAMP = stamp_of("memsvc.scope.policy")

NOWHERE = "no such vault or project for this connection; leave both out to use the bound one"
"""The one wording for unknown, forbidden and malformed names."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A role in one scope. There are no patterns here: they are expanded where grants are stored."""

    scope: Scope
    role: Role


def _pick(grants: Sequence[Grant], *, caller: Caller, vault: str, project: str) -> Grant:
    wanted_vault = vault or caller.vault
    wanted_project = project or caller.project
    for grant in grants:
        if grant.scope.vault == wanted_vault and grant.scope.project == wanted_project:
            return grant
    raise NotFound(NOWHERE)


def read_scope(
    caller: Caller, grants: Sequence[Grant], *, vault: str = "", project: str = ""
) -> ReadScope:
    """The picked scope and its vault's `shared`, as far as granted; first the picked one.

    Empty arguments mean the caller's own scope. Any other text must be the exact name of a granted
    scope; everything else, `*` and `%` included, raises NotFound in the same words.
    """
    picked = _pick(grants, caller=caller, vault=vault, project=project)
    scopes = [picked.scope]
    shared = Scope(picked.scope.vault, SHARED)
    if shared != picked.scope and any(grant.scope == shared for grant in grants):
        scopes.append(shared)
    return ReadScope(tuple(scopes), caller, _STAMP)


def write_scope(
    caller: Caller,
    grants: Sequence[Grant],
    *,
    vault: str = "",
    project: str = "",
    need: Role = Role.WRITER,
) -> WriteScope:
    """The one scope that a write goes to. Raises NotFound, or Denied when the role is too low."""
    picked = _pick(grants, caller=caller, vault=vault, project=project)
    if picked.role.rank < need.rank:
        raise Denied(
            f"this needs the {need} role; {caller.principal} has {picked.role} in "
            f"{picked.scope}; ask a person who reviews this vault"
        )
    return WriteScope(picked.scope, picked.role, caller, _STAMP)


def oversight_scope(caller: Caller, grants: Sequence[Grant]) -> ReadScope:
    """Every scope that was granted, each by name: for the person who looks after a home."""
    return ReadScope(tuple(dict.fromkeys(grant.scope for grant in grants)), caller, _STAMP)
