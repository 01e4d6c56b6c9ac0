"""A file edited while a change was on its way: both texts are kept, and a person decides."""

from typing import Any

import pytest

from memsvc.errors import InvalidInput, RejectedClaim
from memsvc.ledger import writer as ledger
from memsvc.model.replies import SaveReply
from memsvc.model.requests import DecisionRequest, ReadRequest
from memsvc.model.vocabulary import Disposition, NoteId, VaultName
from memsvc.service.gateway.drafts import sha
from tests.service.interrupted import cut_off
from tests.service.world import World, human

BASE = "The staging host is marsh.\n\nIt runs in hall 1.\n\nAlice looks after it.\n"
OURS = BASE.replace("marsh", "osprey")
THEIRS = BASE.replace("Alice", "Bob")
CLASH = BASE.replace("marsh", "falcon")
TEA = "The tea is served at four.\n"


def clash(world: World, ours: str, theirs: str) -> SaveReply:
    """A correction whose process dies before it writes the file, which a person then edits."""
    note = world.save("Staging host", BASE)
    cut_off(world, note.id, "Staging host", ours)
    path = world.file(note.path)
    path.write_text(path.read_text().replace(BASE, theirs))
    return note


def item(world: World) -> str:
    world.ids("staging host")
    (found,) = world.service.reviews(human())
    assert found["kind"] == "conflict"
    return str(found["review_id"])


def decide(world: World, how: str, **more: Any) -> dict[str, Any]:
    request = DecisionRequest(id=item(world), disposition=Disposition(how), **more)
    return world.service.decide(human(), request)


def texts(world: World) -> list[str]:
    return sorted(hit.text for hit in world.hits("staging host", detail="full"))


def test_a_conflict_shows_both_changes_and_what_they_make_together(world: World) -> None:
    clash(world, OURS, THEIRS)
    three: Any = world.service.review_show(human(), item(world))["three_way"]
    assert "+The staging host is osprey." in three["base_to_committed"]
    assert "+Bob looks after it." in three["base_to_file"]
    assert three["clashes"] == 0
    assert three["merged"].strip() == OURS.replace("Alice", "Bob").strip()


def test_a_clash_of_one_line_is_marked(world: World) -> None:
    clash(world, OURS, CLASH)
    three: Any = world.service.review_show(human(), item(world))["three_way"]
    assert three["clashes"] == 1
    for line in ("osprey", "falcon", "marsh", "<<<<<<< committed", ">>>>>>> file"):
        assert line in three["merged"]


def test_an_edit_or_time_settles_no_conflict(world: World) -> None:
    note = clash(world, OURS, CLASH)
    first = item(world)
    path = world.file(note.path)
    path.write_text(path.read_text().replace("hall 1", "hall 2"))
    world.restart()
    assert item(world) == first


@pytest.mark.parametrize(
    ("how", "stands", "not_there"),
    [
        ("keep-new", "falcon", "osprey"),
        ("keep-old", "osprey", "falcon"),
        ("reject-both", "marsh", "osprey"),
    ],
)
def test_one_of_the_texts_stands(world: World, how: str, stands: str, not_there: str) -> None:
    note = clash(world, OURS, CLASH)
    decide(world, how)
    (text,) = texts(world)
    assert stands in text
    assert not_there not in text
    assert stands in world.file(note.path).read_text()
    assert world.service.reviews(human()) == []
    if how == "reject-both":
        for word in ("osprey", "falcon"):
            with pytest.raises(RejectedClaim):
                world.save("Host", f"The staging host is {word}.")
    else:
        assert world.save("Host", f"The staging host is {not_there}.").outcome == "created"


def test_both_texts_stand_as_two_notes(world: World) -> None:
    note = clash(world, OURS, CLASH)
    decide(world, "keep-both")
    hits = world.hits("staging host", detail="full")
    assert len(hits) == 2
    assert {("falcon" in hit.text, "osprey" in hit.text) for hit in hits} == {
        (True, False),
        (False, True),
    }
    assert len({hit.id for hit in hits}) == 2
    assert "falcon" in world.file(note.path).read_text()
    world.service.reindex(human())
    assert len(texts(world)) == 2


def test_a_text_of_ones_own_ends_a_conflict(world: World) -> None:
    clash(world, OURS, CLASH)
    with pytest.raises(InvalidInput):
        decide(world, "replace")
    decide(world, "replace", body="The staging host is heron.")
    (text,) = texts(world)
    assert "heron" in text


def test_a_text_of_ones_own_may_replace_another_note_as_it_ends_a_conflict(world: World) -> None:
    other = world.save("Host of old", "The staging host is ibis.")
    note = clash(world, OURS, CLASH)
    reply = decide(world, "replace", body="The staging host is heron.", old=other.id)
    assert reply["superseded"] == [other.id]
    assert world.ids("staging host") == [note.id]


def forgotten(world: World, theirs: str) -> SaveReply:
    """A note that was forgotten, and whose file a person edited before it went to the trash."""
    note = world.save("Staging host", BASE)
    before = world.file(note.path).read_bytes()
    world.forget(note.id)
    with world.service._database.write() as connection:
        ledger.add_operation(
            connection,
            vault=VaultName("personal"),
            kind="trash",
            path=note.path,
            target=f".trash/{note.path}x",
            note_id=NoteId(note.id),
            version=1,
            before_hash=sha(before),
            after_hash=sha(before),
            event_seq=1,
            at=world.service._clock.now(),
        )
    if theirs:
        world.file(note.path).write_bytes(before.replace(BASE.encode(), theirs.encode()))
    world.restart()
    return note


@pytest.mark.parametrize(("how", "rejected"), [("keep-old", False), ("reject-both", True)])
def test_a_forgotten_note_that_was_edited_meanwhile_is_forgotten_after_all(
    world: World, how: str, *, rejected: bool
) -> None:
    note = forgotten(world, TEA)
    assert world.ids("tea served") == [note.id]
    with pytest.raises(InvalidInput):
        decide(world, "keep-both")
    decide(world, how)
    assert world.ids("tea served") == []
    assert not world.file(note.path).exists()
    assert world.service.reviews(human()) == []
    if rejected:
        with pytest.raises(RejectedClaim):
            world.save("Tea", TEA)
    else:
        assert world.save("Tea", TEA).outcome == "created"


def test_a_forgotten_note_whose_edit_is_kept_stands(world: World) -> None:
    note = forgotten(world, TEA)
    decide(world, "keep-new")
    assert world.ids("tea served") == [note.id]
    assert world.service.reviews(human()) == []


def test_a_forgotten_file_that_was_removed_meanwhile_is_no_conflict(world: World) -> None:
    note = forgotten(world, "")
    assert world.ids("staging host") == []
    assert not world.file(note.path).exists()
    assert world.service.reviews(human()) == []


def test_what_a_text_was_amended_from_is_not_rejected_with_the_changes_of_it(world: World) -> None:
    first = world.save("Staging host", BASE.replace("marsh", "lark"))
    note = world.correct(first, BASE, "amend")
    cut_off(world, note.id, "Staging host", OURS)
    path = world.file(note.path)
    path.write_text(path.read_text().replace(BASE, OURS.replace("Alice", "Bob")))
    decide(world, "reject-both")
    (text,) = texts(world)
    assert "marsh" in text
    with pytest.raises(RejectedClaim):
        world.save("Host", "The staging host is osprey.")
    assert world.save("Host", "The staging host is lark.").outcome == "created"


def test_a_text_that_is_put_back_says_which_version_it_is_now(world: World) -> None:
    note = clash(world, OURS, CLASH)
    decide(world, "keep-old")
    version = world.service.read(human(), ReadRequest(id=note.id)).version
    assert version > 2
    assert f"\nversion: {version}\n" in world.file(note.path).read_text()
