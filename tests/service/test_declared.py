"""Supersession that files declare themselves, in whatever order they arrive."""

import pytest

from memsvc.model.requests import ReadRequest
from tests.service.world import World, agent, human

OLD = "The heron deadline is 3 March, said the office."
NEW = "The heron deadline is 12 March, said the office."


def statuses(world: World, query: str = "heron deadline office") -> dict[str, bool]:
    """The title of everything on record that the query meets, and whether it is current."""
    return {hit.title: hit.current for hit in world.hits(query, history=True)}


@pytest.mark.guarantee("C4")
@pytest.mark.parametrize("first", ["old", "new"])
def test_a_file_that_replaces_another_does_so_whichever_comes_first(
    world: World, first: str
) -> None:
    texts = {
        "old": f"# Old\n\n{OLD}\n",
        "new": f'---\nsupersedes: ["[[old]]"]\n---\n# New\n\n{NEW}\n',
    }
    for name in sorted(texts, key=lambda one: one != first):
        world.write(f"heron/{name}.md", texts[name])
        assert len(world.ids("heron deadline office")) == 1
    assert [hit.title for hit in world.hits("heron deadline office")] == ["New"]
    assert statuses(world) == {"New": True, "Old": False}
    world.restart()
    assert [hit.title for hit in world.hits("heron deadline office")] == ["New"]
    assert world.file("heron/old.md").read_text() == texts["old"], "its file stays"


@pytest.mark.guarantee("C4")
@pytest.mark.parametrize("link", ["[[new]]", "[[heron/new]]", "[[new.md]]", "[[NEW|the new one]]"])
def test_a_file_that_was_replaced_leads_to_its_successor_once_that_is_there(
    world: World, link: str
) -> None:
    world.write(
        "heron/old.md", f'---\nstatus: superseded\nsuperseded_by: "{link}"\n---\n# Old\n\n{OLD}\n'
    )
    world.write("heron/other.md", "# Other\n\nThe harbour opens at six.\n")
    assert world.ids("heron deadline 3 March") == []
    world.write("heron/new.md", f"# New\n\n{NEW}\n")
    assert [hit.title for hit in world.hits("heron deadline 3 March")] == ["New"]
    (old,) = [hit for hit in world.hits("heron deadline", history=True) if hit.title == "Old"]
    (new,) = world.hits("heron deadline")
    assert world.service.read(agent(), _read(old.id)).superseded_by == new.id


def _read(note_id: str) -> "ReadRequest":
    return ReadRequest(id=note_id)


def test_a_file_replaces_nothing_but_active_notes_of_its_own_project(world: World) -> None:
    world.write("osprey/old.md", f"# Theirs\n\n{OLD}\n")
    world.write("heron/self.md", '---\nsupersedes: ["[[self]]"]\n---\n# Self\n\nThe tide is low.\n')
    world.write("heron/done.md", "---\nstatus: proposed\n---\n# Done\n\nThe tide was high.\n")
    world.write(
        "heron/new.md",
        f'---\nsupersedes: ["[[osprey/old]]", "[[done]]"]\n---\n# New\n\n{NEW}\n',
    )
    world.write("shared/tide.md", "# Tides\n\nThe tide turns at noon.\n")
    world.write(
        "heron/tides.md", '---\nsupersedes: ["[[tide]]"]\n---\n# Our tides\n\nThe tide turns.\n'
    )
    assert [hit.title for hit in world.hits("heron deadline")] == ["New"]
    assert [hit.title for hit in world.hits("heron deadline", by=agent("osprey"))] == ["Theirs"]
    assert {hit.title for hit in world.hits("tide turns")} >= {"Tides", "Our tides"}
    assert [hit.title for hit in world.hits("tide low")] == ["Self"]
    assert world.ask("tide high").coverage.withheld == {"proposed": 1}


def test_a_replaced_note_that_ended_before_keeps_its_end(world: World) -> None:
    for name, head in (("early", "valid_to: 2026-02-01\n"), ("late", "valid_to: 2029-02-01\n")):
        world.write(
            f"heron/{name}.md", f"---\nvalid_from: 2026-01-01\n{head}---\n# {name}\n\n{OLD}\n"
        )
        assert world.ask("heron deadline").coverage.scopes
    world.write(
        "heron/new.md",
        f'---\nvalid_from: 2026-03-01\nsupersedes: ["[[early]]", "[[late]]"]\n---\n# New\n\n{NEW}\n',
    )
    found = {hit.title: hit.valid_to for hit in world.hits("heron deadline", history=True)}
    assert found["early"].startswith("2026-02-01")
    assert found["late"].startswith("2026-03-01")


@pytest.mark.parametrize(
    ("link", "path", "title"),
    [("CI/CD", "heron/pipeline.md", "CI/CD"), ("deep/down", "heron/deep/down.md", "The cellar")],
)
def test_a_link_with_a_slash_finds_its_note_when_that_arrives(
    world: World, link: str, path: str, title: str
) -> None:
    plan = world.save("Plan", f"As [[{link}]] has it, we go on.")
    world.write("heron/other.md", "# Other\n\nThe harbour opens at six.\n")
    (other,) = world.ids("harbour opens")
    world.write(path, f"# {title}\n\nThe pump runs at night.\n")
    (hit,) = world.hits("pump night")
    assert [one.id for one in world.service.read(agent(), _read(hit.id)).links_in] == [plan.id]
    assert world.service.read(agent(), _read(other)).links_in == []


def test_a_waiting_file_has_no_successor_until_it_was_replaced(world: World) -> None:
    world.write("heron/gone.md", f'---\nsuperseded_by: "[[new]]"\n---\n# Gone\n\n{OLD}\n')
    assert world.ids("heron deadline") == []
    world.service.vault_policy(human(), "personal", ["external_edits=propose"])
    world.write("heron/old.md", f'---\nsuperseded_by: "[[new]]"\n---\n# Old\n\n{OLD} Yes.\n')
    assert world.ids("heron deadline") == []
    world.write("heron/new.md", f"# New\n\n{NEW}\n")
    assert world.ids("heron deadline") == []
    world.write("heron/late.md", f'---\nsuperseded_by: "[[new]]"\n---\n# Late\n\n{OLD} So.\n')
    assert world.ids("heron deadline") == []
    found = {str(one["title"]): str(one["note_id"]) for one in world.service.reviews(human())}
    for title in ("Old", "Late"):
        assert world.service.read(human(), _read(found[title])).superseded_by == ""
    (gone,) = [hit for hit in world.hits("heron deadline", history=True) if hit.title == "Gone"]
    assert world.service.read(agent(), _read(gone.id)).superseded_by == found["New"]


@pytest.mark.guarantee("R5")
def test_a_replaced_text_that_a_person_edits_is_on_record_as_a_rebuild_has_it(
    world: World,
) -> None:
    old = world.write("heron/old.md", f"# Old\n\n{OLD}\n")
    assert len(world.ids("heron deadline office")) == 1
    new = world.write("heron/new.md", f'---\nsupersedes: ["[[old]]"]\n---\n# New\n\n{NEW}\n')
    assert [hit.title for hit in world.hits("heron deadline office")] == ["New"]
    old.write_text(f"# Old\n\n{OLD} It was so.\n", "utf-8")
    assert [hit.title for hit in world.hits("heron deadline office")] == ["New"]
    assert new.exists()

    def rows() -> list[tuple[object, ...]]:
        with world.service._database.read() as connection:
            return sorted(
                tuple(row)
                for row in connection.exec_driver_sql(
                    "SELECT note_id, version, status, latest, valid_to, ended_at, recorded_to,"
                    " end_mode, superseded_by FROM index_entry"
                )
            )

    before = rows()
    assert len(before) >= 2
    world.service.reindex(human())
    assert rows() == before
