"""The policy is the only maker of scopes, and grants are all it goes by."""

import pytest

from memsvc.errors import Denied, NotFound
from memsvc.model.identity import Caller, Principal, Scope
from memsvc.model.vocabulary import SHARED, PrincipalKind, ProjectSlug, Role, VaultName
from memsvc.scope import policy
from memsvc.scope.policy import Grant
from memsvc.scope.proof import ReadScope, WriteScope, stamp_of

TEAM, OTHER = VaultName("team"), VaultName("other")
HERON, OSPREY = ProjectSlug("heron"), ProjectSlug("osprey")
CALLER = Caller(Principal(PrincipalKind.AGENT, "tester"), TEAM, HERON)


def granted(*scopes: Scope, role: Role = Role.WRITER) -> list[Grant]:
    return [Grant(scope, role) for scope in scopes]


@pytest.mark.guarantee("S2")
def test_a_scope_is_picked_by_vault_and_project_together() -> None:
    grants = granted(Scope(OTHER, HERON), Scope(TEAM, OSPREY), Scope(TEAM, HERON))
    assert policy.read_scope(CALLER, grants).scopes == (Scope(TEAM, HERON),)
    assert policy.read_scope(CALLER, grants, project="osprey").scopes == (Scope(TEAM, OSPREY),)
    assert policy.read_scope(CALLER, grants, vault="other").scopes == (Scope(OTHER, HERON),)
    assert policy.write_scope(CALLER, grants, project="osprey").scope == Scope(TEAM, OSPREY)
    for vault, project in (("other", "osprey"), ("", "*"), ("%", "")):
        with pytest.raises(NotFound) as refused:
            policy.read_scope(CALLER, grants, vault=vault, project=project)
        assert str(refused.value) == policy.NOWHERE
        with pytest.raises(NotFound):
            policy.write_scope(CALLER, grants, vault=vault, project=project)
    with pytest.raises(NotFound):
        policy.read_scope(CALLER, [])


@pytest.mark.guarantee("S1")
def test_shared_is_read_with_a_project_of_its_vault_if_it_is_granted() -> None:
    heron, shared = Scope(TEAM, HERON), Scope(TEAM, SHARED)
    elsewhere = Scope(OTHER, SHARED)
    assert policy.read_scope(CALLER, granted(heron, shared)).scopes == (heron, shared)
    assert policy.read_scope(CALLER, granted(heron, elsewhere)).scopes == (heron,)
    asked = policy.read_scope(CALLER, granted(heron, shared), project="shared")
    assert asked.scopes == (shared,)
    assert asked.label == "team/shared"
    assert heron not in asked
    assert shared in asked


def test_a_write_needs_the_role() -> None:
    heron = Scope(TEAM, HERON)
    for role, need, allowed in (
        (Role.READER, Role.WRITER, False),
        (Role.WRITER, Role.WRITER, True),
        (Role.WRITER, Role.REVIEWER, False),
        (Role.REVIEWER, Role.REVIEWER, True),
        (Role.ADMIN, Role.WRITER, True),
    ):
        grants = granted(heron, role=role)
        if allowed:
            assert policy.write_scope(CALLER, grants, need=need).role is role
        else:
            with pytest.raises(Denied):
                policy.write_scope(CALLER, grants, need=need)
    with pytest.raises(Denied):
        policy.write_scope(CALLER, granted(heron, role=Role.READER))


def test_reviewers_and_who_is_above_them_see_what_was_rejected() -> None:
    heron = Scope(TEAM, HERON)
    reviews = [
        policy.write_scope(CALLER, granted(heron, role=one)).reviews for one in list(Role)[1:]
    ]
    assert list(Role)[1:] == [Role.WRITER, Role.REVIEWER, Role.ADMIN]
    assert reviews == [False, True, True]


def test_oversight_names_each_granted_scope_once() -> None:
    heron, other = Scope(TEAM, HERON), Scope(OTHER, OSPREY)
    assert policy.oversight_scope(CALLER, granted(heron, other, heron)).scopes == (heron, other)
    assert policy.oversight_scope(CALLER, []).scopes == ()
    assert policy.oversight_scope(CALLER, []).label == ""


@pytest.mark.guarantee("S2")
def test_nobody_else_makes_a_scope() -> None:
    heron = Scope(TEAM, HERON)
    made = policy.write_scope(CALLER, granted(heron))
    assert WriteScope(heron, Role.ADMIN, CALLER, made.stamp).scope == heron
    for forged in (None, object()):
        with pytest.raises(PermissionError):
            ReadScope((heron,), CALLER, forged)  # type: ignore[arg-type] # a forgery
        with pytest.raises(PermissionError):
            WriteScope(heron, Role.ADMIN, CALLER, forged)  # type: ignore[arg-type] # a forgery
    with pytest.raises(PermissionError):
        stamp_of("memsvc.service.api")
