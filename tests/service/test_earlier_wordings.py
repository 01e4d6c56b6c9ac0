"""Which earlier words of a note go with a claim that is rejected: those that amendments replaced."""

import pytest

from memsvc.ledger.records import VersionRecord
from memsvc.model.vocabulary import CorrectMode, NoteId, ProjectSlug, Status, Trust, VaultName
from memsvc.service.gateway.wordings import earlier_wordings, statements_of

HERON, OSPREY = ProjectSlug("heron"), ProjectSlug("osprey")


def version(
    number: int, *lines: str, title: str = "Pump", mode: str = "amend", project: str = HERON
) -> VersionRecord:
    head = f"---\ntitle: {title}\n---\n"
    return VersionRecord(
        note_id=NoteId("N"), version=number, vault=VaultName("team"), project=ProjectSlug(project),
        path=f"{project}/pump-12.md", title=title, mode=mode, status=Status.ACTIVE, trust=Trust.AGENT,
        author="agent:a", on_behalf_of="", session="", reason="", source=(),
        content=head + "\n\n".join(lines) if lines else "", body_start=len(head), content_hash="",
        text_key="", valid_from="", valid_to="", valid_to_original="", recorded_from="",
    )  # fmt: skip


def earlier(
    versions: list[VersionRecord], *rejected: str, spared: str = ""
) -> list[tuple[int, str]]:
    """What goes with the statements that begin so, but for the whole text."""
    stated = [one for one in statements_of(versions[-1]) if one.kind != "whole"]
    chosen = [one for one in stated if one.normal.startswith(rejected)]
    assert len(chosen) == len(rejected)
    left = [one for one in statements_of(versions[0]) if spared and one.normal.startswith(spared)]
    found = earlier_wordings(versions, chosen, spared=left)
    return [(one.version, one.statement.normal) for one in found]


@pytest.mark.guarantee("C1", "C2")
def test_the_words_that_an_amendment_replaced_go_and_their_neighbours_stay() -> None:
    versions = [
        version(1, "Falcon tends the pump.", "Bob locks the hall."),
        version(2, "The pump is tended by Falcon.", "The hall is locked by Bob."),
        version(3, "The pump is looked after by Falcon.", "The hall is locked by Bob."),
    ]
    assert earlier(versions, "the pump") == [
        (2, "the pump is tended by falcon"),
        (1, "falcon tends the pump"),
    ]
    assert earlier(versions, "the hall") == [(1, "bob locks the hall")]
    assert earlier(versions, "the hall", spared="bob") == []


def test_words_that_were_amended_there_and_back_are_told_once() -> None:
    there, back = "Falcon tends the pump.", "The pump is tended by Falcon."
    versions = [version(number, back if number % 2 else there) for number in range(1, 6)]
    assert earlier(versions, "the pump") == [(4, "falcon tends the pump")]


@pytest.mark.guarantee("C2")
@pytest.mark.parametrize("mode", list(CorrectMode))
def test_only_an_amendment_of_the_same_scope_keeps_the_meaning(mode: CorrectMode) -> None:
    new = version(2, "The pump is tended by Falcon.", mode=mode)
    old = version(1, "Falcon tends the pump.")
    expected = [(1, "falcon tends the pump")] if mode is CorrectMode.AMEND else []
    assert earlier([old, new], "the pump") == expected
    assert earlier([version(1, "Falcon tends the pump.", project=OSPREY), new], "the pump") == []


def test_of_a_version_that_was_purged_not_even_the_name_is_told() -> None:
    new = version(2, "Falcon tends the pump.", title="The pump")
    assert earlier([version(1, "Falcon tends it.", title="Pump 12"), new], "the pump") == [
        (1, "pump 12")
    ]
    assert earlier([version(1), new], "the pump", "falcon tends the pump") == []


@pytest.mark.guarantee("C2")
def test_what_stayed_as_it_was_replaced_nothing() -> None:
    versions = [
        version(1, "Falcon tends the pump.", "Falcon tends the garden."),
        version(2, "Osprey Ltd is in charge.", "Falcon tends the garden."),
    ]
    assert earlier(versions, "falcon tends the garden") == []
    assert earlier(versions, "osprey") == [(1, "falcon tends the pump")]


@pytest.mark.guarantee("C2")
def test_a_title_replaces_a_title_and_a_sentence_a_sentence() -> None:
    versions = [
        version(1, "It is serviced by Osprey.", "Bob locks it.", title="Falcon tends a pump"),
        version(2, "Falcon tends a pump daily.", "Bob locks it.", title="It is serviced"),
    ]
    assert earlier(versions, "it is serviced") == [(1, "falcon tends a pump")]
    assert earlier(versions, "falcon tends a pump daily") == [(1, "it is serviced by osprey")]


def test_a_sentence_that_was_only_taken_out_goes_with_none() -> None:
    versions = [
        version(1, "Falcon tends the pump.", "Bob locks the hall."),
        version(2, "Bob locks the hall."),
    ]
    assert earlier(versions, "bob") == []


def test_sentences_that_share_no_word_go_by_their_place() -> None:
    versions = [version(1, "Eins zwei.", "Drei vier."), version(2, "One two.", "Three four.")]
    assert earlier(versions, "one") == [(1, "eins zwei")]
    assert earlier(versions, "three") == [(1, "drei vier")]


def test_a_very_long_sentence_is_known_by_its_words_too() -> None:
    long = "the pump of the heron " * 60
    versions = [
        version(1, f"Slowly {long}.", "Bob locks it."),
        version(2, "Nobody locks a door.", f"Quickly {long}."),
    ]
    assert earlier(versions, "quickly") == [(1, f"slowly {long.strip()}")]
