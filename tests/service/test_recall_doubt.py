"""Recall says that it does not know, why, and what comes nearest."""

from pathlib import Path

import pytest

from memsvc.service.recall.names import phrases, words_of
from memsvc.service.recall.render import render_recall
from tests.fakes import FakeEmbedder
from tests.service.recalling import Desk


@pytest.fixture(params=["words", "meaning"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Desk:
    embedder = FakeEmbedder() if request.param == "meaning" else None
    desk = Desk(tmp_path / "memsvc.db", embedder=embedder)
    people = ("Greta Lindqvist", "Hollis Carrow", "Marit Quintanar")
    for number, name in enumerate(people):
        desk.place.put(f"P{number}", f"{name} joined the lab in 201{number}.", title=name)
    for number, name in enumerate(("Kestrel", "Heron")):
        desk.place.put(
            f"J{number}", f"Project {name} is led by {people[number]}.", title=f"Project {name}"
        )
    return desk


def test_a_name_that_occurs_nowhere_is_said_to_be_unknown_and_a_known_one_is_found(
    desk: Desk,
) -> None:
    known = desk.ask("In what year did Greta Lindqvist join the lab?")
    assert (known.abstained, known.hits[0].id) == (False, "P0")
    reply = desk.ask("In what year did Kasimir Ibarrondo join the lab?")
    assert reply.abstained
    assert reply.hits == []
    assert "“Kasimir”, “Ibarrondo”" in reply.reason
    assert desk.ask("By whom is Project Kestrel led?").hits[0].id == "J0"
    assert "“Albatross”" in desk.ask("Who leads Project Albatross?").reason


def test_a_name_whose_parts_occur_apart_is_said_to_be_unknown(desk: Desk) -> None:
    reply = desk.ask("In what year did Hollis Quintanar join the lab?")
    assert reply.abstained
    assert "the parts of “Hollis Quintanar” occur" in reply.reason
    assert not desk.ask("In what year did Hollis Carrow join the lab?").abstained


def test_an_abstaining_reply_names_what_comes_nearest_without_its_text(desk: Desk) -> None:
    reply = desk.ask("In what year did Hollis Quintanar join the lab?")
    assert {one.id for one in reply.nearest} >= {"P1", "P2"}
    text = render_recall(reply)
    assert "nearest: Hollis Carrow · id P1" in text
    assert "joined the lab in" not in text
    small = desk.ask("In what year did Hollis Quintanar join the lab?", budget=60)
    assert desk.lazy.count_tokens(render_recall(small)) <= 60


def test_what_is_not_said_of_a_named_note_is_doubted_and_what_is_said_is_found(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path / "memsvc.db", embedder=FakeEmbedder(synonyms=[("boss", "led")]))
    for number, name in enumerate(("Kestrel", "Heron", "Osprey", "Plover")):
        desk.place.put(
            f"J{number}",
            f"Project {name} is led by somebody. The tower of {name} is old.",
            title=f"Project {name}",
        )
    asked = desk.ask("Who is the boss of Project Kestrel?")
    assert (asked.abstained, asked.hits[0].id) == (False, "J0")
    reply = desk.ask("Under which licence was Project Kestrel published?")
    assert reply.abstained
    assert "“Project Kestrel” is there" in reply.reason
    assert "read it (id J0)" in reply.reason
    assert reply.nearest[0].id == "J0"
    assert not desk.ask("Project Kestrel").abstained


@pytest.mark.parametrize(
    "question",
    [
        "who leads project albatross",  # no capitals: nothing tells that it is a name
        "Wer leitet die Dokumentation?",  # a language that capitalises nouns
        "What Is The Leader Of Project Albatross",  # a title
        "which VHF channel is led by somebody",  # a kind of thing
    ],
)
def test_capitals_that_tell_nothing_raise_no_doubt(desk: Desk, question: str) -> None:
    assert "mentions" not in desk.ask(question).reason
    assert "“Albatross”" in desk.ask("Who leads Project Albatross?").reason


def test_names_are_words_with_capitals_marks_or_digits() -> None:
    question = "Does Greta's gpt-4o run on lazy_wombat or on the node of Marit Quintanar in 2026?"
    words = words_of(question)
    assert [word.text for word in words if word.name] == [
        "Greta", "gpt-4o", "lazy_wombat", "Marit", "Quintanar",
    ]  # fmt: skip
    assert [[word.text for word in some] for some in phrases(words, question)] == [
        ["Marit", "Quintanar"]
    ]


def test_a_name_with_a_word_besides_that_says_little_is_no_question_of_its_own(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path / "memsvc.db", embedder=FakeEmbedder())
    for number in range(30):
        desk.place.put(
            f"N{number:02}", f"The cache of item {number} waits.", title=f"Cache {number}"
        )
    assert desk.ids("what is the cache of thing 17 and item")[:1] == ["N17"]
    assert desk.ask("under which licence was Cache 17 published").abstained


def test_a_name_that_one_of_several_notes_mentions_whole_is_known(desk: Desk) -> None:
    desk.place.put("F1", "Kasimir Ibarrondo founded the harbour museum.", title="Old walls")
    desk.place.put("F2", "Ibarrondo is a village, and Kasimir is a name.", title="Words")
    found = desk.ask("When did Kasimir Ibarrondo found the harbour museum?")
    assert (found.abstained, found.hits[0].id) == (False, "F1")
    reply = desk.ask("When did Kasimir Carrow found the harbour museum?")
    assert "the parts of “Kasimir Carrow” occur" in reply.reason


def test_of_a_name_with_a_part_that_is_nowhere_nobody_says_that_its_parts_occur(desk: Desk) -> None:
    told = (
        "Beside which walls, ponds and meadows did {} paint red harbours when the lab was joined?"
    )
    reply = desk.ask(told.format("Marit Ibarrondo"))
    assert "the parts of" not in reply.reason
    assert "the parts of “Marit Carrow” occur" in desk.ask(told.format("Marit Carrow")).reason


@pytest.mark.parametrize("links", [("PAGE",), ()])
def test_what_a_named_notes_neighbour_says_is_said_of_it_however_far_behind_the_note_is(
    tmp_path: Path, links: tuple[str, ...]
) -> None:
    desk = Desk(tmp_path / "memsvc.db", embedder=FakeEmbedder())
    desk.place.put("NAMED", "Nothing much is known here.", title="Kestrel", links=links)
    desk.place.put("PAGE", "The maintainer signs the licence details in the city.", title="Page")
    for number in range(4):
        body = f"The maintainer keeps licence details of the city in drawer {number}."
        desk.place.put(f"X{number}", body, title=f"Drawer {number}")
    reply = desk.ask("kestrel maintainer licence details city")
    assert reply.abstained is (links == ())
    assert ("“Kestrel” is there" in reply.reason) is (links == ())


def test_what_another_note_says_of_a_named_one_in_other_words_is_said_of_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "memsvc.db", embedder=FakeEmbedder(synonyms=[("boss", "led")]))
    for number, name in enumerate(("Kestrel", "Heron", "Osprey")):
        body = f"The tower is old, and number {number} on the map."
        desk.place.put(f"J{number}", body, title=f"Project {name}")
    desk.place.put("M", "The project Kestrel is led by Hollis.", title="Minutes")
    assert desk.ids("Who is the boss of Project Kestrel?")[0] == "M"
    assert desk.ask("Who is the boss of Project Heron?").abstained


def test_a_note_that_is_named_by_its_alias_answers_for_itself(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "memsvc.db", embedder=FakeEmbedder())
    desk.place.put(
        "TOOL", "It is kept by the harbour crew.", title="Tool seven", aliases=("Wickline",)
    )
    desk.place.put("CREW", "The mountain crew sits in Bergen.", title="Crew")
    assert desk.ids("who keeps Wickline kept by harbour crew") == ["TOOL"]


def test_a_name_whose_parts_never_meet_is_unknown_however_many_notes_hold_one(desk: Desk) -> None:
    for number in range(30):
        desk.place.put(f"C{number:02}", f"Nora Carrow is tall, said {number}.", title=f"C{number}")
    reply = desk.ask("Is Marit Carrow tall?")
    assert "the parts of “Marit Carrow” occur" in reply.reason
    assert not desk.ask("Is Nora Carrow tall?").abstained
