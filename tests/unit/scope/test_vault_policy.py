"""The settings of a vault's policy: read, checked, shown, and whom each one concerns."""

import pytest

from memsvc.errors import InvalidInput
from memsvc.model.identity import Principal
from memsvc.model.vocabulary import ExternalEdits, PrincipalKind, ReviewRule
from memsvc.scope.vault_policy import VaultPolicy, changed_settings

HUMAN = Principal(PrincipalKind.HUMAN, "alice")
AGENT = Principal(PrincipalKind.AGENT, "claude-code")
SERVICE = Principal(PrincipalKind.SERVICE, "capture")


def test_what_is_shown_can_be_given_again() -> None:
    settings = {
        "review": "agents", "external_edits": "propose", "secrets": "off", "max_note": "5000",
        "write_budget": "20", "shared": "agent:claude-code,service:capture",
    }  # fmt: skip
    policy = VaultPolicy.of(settings)
    assert policy.shown() == settings
    assert (policy.review, policy.external_edits) == (ReviewRule.AGENTS, ExternalEdits.PROPOSE)
    assert (policy.secrets, policy.max_note, policy.write_budget) == (False, 5000, 20)
    assert VaultPolicy.of({}).shown() == VaultPolicy().shown()
    assert VaultPolicy().shown()["secrets"] == "on"
    assert VaultPolicy.of({"accept_missing": "2026"}) == VaultPolicy()


def test_review_concerns_whom_the_rule_names() -> None:
    who = (HUMAN, AGENT, SERVICE)
    for rule, held in (
        ("none", [False, False, False]),
        ("agents", [False, True, True]),
        ("all", [True, True, True]),
    ):
        assert [VaultPolicy.of({"review": rule}).wants_review(one) for one in who] == held


def test_shared_is_written_by_people_and_those_who_are_named() -> None:
    who = (HUMAN, AGENT, SERVICE)
    for rule, may in (
        ("all", [True, True, True]),
        ("people", [True, False, False]),
        ("service:capture", [True, False, True]),
        ("agent:claude-code,service:other", [True, True, False]),
        ("agent:capture", [True, False, False]),
    ):
        assert [VaultPolicy.of({"shared": rule}).may_write_shared(one) for one in who] == may


def test_names_stand_between_commas_once_each() -> None:
    policy = VaultPolicy.of(
        {"shared": " agent:claude-code , , service:capture, agent:claude-code,"}
    )
    assert policy.shown()["shared"] == "agent:claude-code,service:capture"


def test_pairs_change_settings_and_an_empty_value_brings_the_default_back() -> None:
    before = {"review": "all", "secrets": "off"}
    after = changed_settings(before, [" review = agents ", "secrets=", "max_note=100"])
    assert after == {"review": "agents", "max_note": "100"}
    assert before == {"review": "all", "secrets": "off"}
    assert changed_settings({}, ["review="]) == {}
    assert changed_settings({}, ["shared=agent:a=b"]) == {"shared": "agent:a=b"}


@pytest.mark.parametrize("pair", ["max_note=100", "max_note=1_000_000", "max_note=1000000",
                                  "write_budget=0", "write_budget=1000000", "secrets=on",
                                  "shared=all", "shared=people"])  # fmt: skip
def test_the_ends_of_a_range_are_in_it(pair: str) -> None:
    name, _, value = pair.partition("=")
    assert changed_settings({}, [pair]) == {name: value}
    assert VaultPolicy.of({name: value}).shown()[name] == value.replace("_", "")


@pytest.mark.parametrize(
    "pair",
    ["max_note=99", "max_note=1000001", "max_note=٣٠٠", "max_note=²", "max_note=_", "write_budget=-1",
     "write_budget=1000001", "secrets=true", "review=some", "external_edits=none", "shared=agent",
     "shared=agent:", "shared=:x", "shared=robot:x", "shared=all,people", "shared=people,agent:x",
     "review", "=all", "nothing=1"],
)  # fmt: skip
def test_anything_else_is_refused(pair: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        changed_settings({}, [pair])
    assert refused.value.data["argument"] == "policy"
    name, separator, value = pair.partition("=")
    if separator and name in VaultPolicy().shown():
        with pytest.raises(InvalidInput):
            VaultPolicy.of({name: value})
