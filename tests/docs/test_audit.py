"""docs/audit.md says what the commands take and what they answer."""

from dataclasses import fields
from pathlib import Path

import pytest
import typer.main

from memsvc.interfaces.cli.app import build
from memsvc.ledger.anchor import Anchor, Finding, SigningKey, words
from memsvc.ledger.chain import Verdict

PAGE = (Path(__file__).parents[2] / "docs" / "audit.md").read_text("utf-8")
EVERYWHERE = {"--home", "--vault", "--project", "--principal", "--json", "--help"}
SPOKEN = {
    Finding.AGREES: "agrees",
    Finding.CUT: "tells of events that are gone",
    Finding.DIFFERS: "knew another event",
    Finding.OTHER_DATABASE: "is of another database",
    Finding.FORGED: "does not bear out its own signature",
    Finding.OTHER_KEY: "agrees, but another key",
    Finding.FOREIGN: "",
}


def made() -> tuple[Anchor, Verdict]:
    verdict = Verdict(4, "b" * 64, (), identity="a" * 64, head_at="2026-11-30T10:04:11.000000Z")
    return SigningKey(b"k" * 32).anchor(verdict, at=verdict.head_at), verdict


@pytest.mark.parametrize("finding", Finding)
def test_every_finding_is_explained_in_its_own_words(finding: Finding) -> None:
    anchor, verdict = made()
    assert SPOKEN[finding] in words(finding, anchor, verdict)
    assert SPOKEN[finding] in PAGE


def test_every_command_and_option_of_the_audit_is_named() -> None:
    root = typer.main.get_command(build())
    commands = root.commands["audit"].commands  # type: ignore[attr-defined] # a group
    assert set(commands) == {"list", "verify", "export", "anchor"}
    for name, command in commands.items():
        assert f"memsvc audit {name}" in PAGE
        options = {option for part in command.params for option in part.opts if option[:2] == "--"}
        quiet = EVERYWHERE | {"--limit", "--confirm", "--replace"}
        assert [option for option in sorted(options - quiet) if option not in PAGE] == []
    assert "memsvc tombstone rotate-key" in PAGE
    assert "memsvc history ID --diff" in PAGE


def test_the_anchor_on_the_page_has_the_fields_of_one() -> None:
    for field in fields(Anchor):
        assert f'"{field.name}"' in PAGE
