"""The catalogue of a scope: what is current, what leads on to it, and nothing of others."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memsvc.model.catalogue import CatalogueNote
from tests.service.world import World, agent


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.service.close()


def listed(world: World, project: str = "heron") -> dict[str, CatalogueNote]:
    notes = world.service.catalogue(agent(project)).notes
    return {note.title: note for note in notes}


@pytest.mark.guarantee("S1", "S3")
def test_a_catalogue_holds_the_notes_and_links_of_its_scope_only(world: World) -> None:
    far = world.save("Far falcon", "The far falcon nests here.", by=agent("osprey"))
    common = world.save("Common rule", "The common rule of all projects.", project="shared")
    target = world.save("Near falcon", "The near falcon nests here.")
    world.save("Guide", "See [[near-falcon]], [[common-rule]] and [[far-falcon]].")
    world.save("Index", "All of [[near-falcon]] and [[far-falcon]].", project="shared")
    found = listed(world)
    assert set(found) == {"Common rule", "Near falcon", "Guide", "Index"}
    assert found["Index"].links == (target.id,)  # a shared note's link leads out of this project
    assert listed(world, "osprey")["Index"].links == (far.id,)
    assert set(found["Guide"].links) == {target.id, common.id}
    assert "Guide" not in listed(world, "osprey")
    assert listed(world, "osprey")["Far falcon"].id == far.id
    catalogue = world.service.catalogue(agent())
    assert (catalogue.scope, catalogue.counts["notes"]) == ("personal/heron", 4)
    assert catalogue.scopes == ("personal/heron", "personal/shared")


def test_a_replaced_note_leads_on_and_a_retracted_one_is_gone(world: World) -> None:
    old = world.save("Deadline in March", "The deadline is on 3 March.")
    gone = world.save("Noise", "The noise statement was wrong here.")
    world.forget(gone.id)
    new = world.save("Deadline in May", "The deadline is on 5 May.", supersedes=(old.id,))
    found = listed(world)
    assert set(found) == {"Deadline in March", "Deadline in May"}
    assert (found["Deadline in March"].successor, found["Deadline in May"].successor) == (
        new.id,
        "",
    )
    assert found["Deadline in May"].opening.strip() == "The deadline is on 5 May."


def test_an_earlier_version_that_was_true_leads_on_to_its_own_note(world: World) -> None:
    note = world.save("Deadline", "The deadline is on 3 March.")
    world.correct(note, "The deadline is on 5 May.", "changed")
    first, second = sorted(world.service.catalogue(agent()).notes, key=lambda one: one.version)
    assert (first.successor, second.successor) == (note.id, "")
    assert ("3 March" in first.opening, "5 May" in second.opening) == (True, True)
