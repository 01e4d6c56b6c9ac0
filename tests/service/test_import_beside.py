"""An import beside other writers and waiting texts, and of names that differ only in case."""

from pathlib import Path

import pytest

from memsvc.model.replies import Json
from memsvc.model.requests import DecisionRequest, ReadRequest
from memsvc.model.vocabulary import Disposition
from memsvc.service.gateway.exchange import arriving
from tests.service.test_import import (
    bring,
    counts,
    export,
    file_of,
    lines,
    replaced_elsewhere,
    told,
    write_lines,
)
from tests.service.world import World, agent, human

FIRST = "The heron release is on 3 March."
SECOND = "The heron release is on 30 March."
OTHER = "The heron hall is in Lisbon."


@pytest.mark.guarantee("C2")
def test_what_is_rejected_while_a_file_is_read_is_refused(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = world.save("Date", FIRST)
    folder = file_of(tmp_path / "notes", "a.md", f"{FIRST}\n").parent
    file_of(folder, "b.md", f"{OTHER}\n")
    true = arriving.prepare
    forgotten: list[str] = []

    def prepare(*given: object, **more: object) -> object:
        made = true(*given, **more)  # type: ignore[arg-type] # passed on
        if not forgotten:
            forgotten.append(world.forget(note.id).outcome)
        return made

    monkeypatch.setattr(arriving, "prepare", prepare)
    reply = bring(world, folder)
    assert forgotten == ["retracted"]
    assert counts(reply) == {"created": 1, "refused": 1}
    assert [one["code"] for one in told(reply)] == ["rejected_claim"]
    assert [hit.text for hit in world.hits("heron")] == [OTHER]
    left = [path.name for path in world.vault.rglob("*") if path.is_file() and path.suffix != ".md"]
    assert not any(name.startswith(".") and "stage" in name for name in left)
    assert sorted(path.name for path in world.file("heron").iterdir()) == ["b.md"]


def test_names_that_differ_only_in_case_become_two_files_anywhere(
    world: World, tmp_path: Path
) -> None:
    folder = file_of(tmp_path / "notes", "DATE.md", f"{FIRST}\n").parent
    file_of(folder, "Date.md", f"{OTHER}\n")
    file_of(folder, "date.md", "The heron crew has nine people.\n")
    assert counts(bring(world, folder)) == {"created": 3}
    paths = [hit.path for hit in world.hits("heron")]
    assert len(paths) == len({path.casefold() for path in paths}) == 3


def test_a_replacement_that_waits_replaces_once_it_is_approved(
    world: World, tmp_path: Path
) -> None:
    old, new = replaced_elsewhere(tmp_path, FIRST, SECOND)
    assert counts(bring(world, tmp_path / "before.json")) == {"created": 1}
    world.service.vault_policy(human(), "personal", ["review=agents"])
    for dry_run in (True, False):
        reply = bring(world, tmp_path / "after.json", by=agent(), dry_run=dry_run)
        assert counts(reply)["proposed"] == 1
        assert {one["code"] for one in told(reply) if one["outcome"] == "proposed"} == {""}
    assert world.ids("heron release") == [old]
    (item,) = world.service.reviews(human())
    request = DecisionRequest(id=str(item["review_id"]), disposition=Disposition.KEEP_NEW)
    world.service.decide(human(), request)
    assert world.ids("heron release") == [new]
    view = world.service.read(human(), ReadRequest(id=old))
    assert (view.status, view.superseded_by) == ("superseded", new)


def test_a_note_that_links_to_itself_and_to_a_later_one_leads_to_the_later_one_only(
    world: World, tmp_path: Path
) -> None:
    folder = file_of(tmp_path / "notes", "a.md", f"{FIRST} See [[a]] and [[b]].\n").parent
    file_of(folder, "b.md", f"{OTHER} See [[b]].\n")
    assert counts(bring(world, folder)) == {"created": 2}
    ids = {hit.path: hit.id for hit in world.hits("heron")}
    view = world.service.read(agent(), ReadRequest(id=ids["heron/a.md"]))
    assert [one.id for one in view.links_out] == [ids["heron/b.md"]]
    with world.service._database.read() as connection:
        targets = connection.exec_driver_sql("SELECT target FROM index_link").scalars().all()
    assert list(targets) == [ids["heron/b.md"]]


@pytest.mark.guarantee("C2", "A3")
def test_what_a_record_names_as_its_source_is_judged_like_its_text(
    world: World, tmp_path: Path
) -> None:
    gone = world.save("Date", FIRST)
    world.forget(gone.id)
    there = World(tmp_path / "there")
    there.save("Hall", OTHER, source=("meeting",))
    export(there, tmp_path / "there.json")
    there.service.close()
    head, note, tail = lines(tmp_path / "there.json")
    secret = "ghp_" + "a8Kd03kfLq92mZx7Vb4Nc6Tr1Ys5Wp0QeRtZ"
    for number, (source, code) in enumerate(((secret, "secret_found"), (FIRST, "rejected_claim"))):
        bad: dict[str, Json] = {**note, "source": [source], "frontmatter": None}
        reply = bring(world, write_lines(tmp_path / f"{number}.json", [head, bad, tail]))
        assert [one["code"] for one in told(reply)] == [code]
        folder = tmp_path / f"notes{number}"
        file_of(folder, "a.md", f"---\nsource: {source}\n---\n{OTHER}\n")
        assert [one["code"] for one in told(bring(world, folder))] == [code]
    assert world.ids("heron hall") == []
    assert counts(bring(world, tmp_path / "there.json")) == {"created": 1}
    assert [hit.source for hit in world.hits("heron hall")] == [["meeting"]]


def test_a_replaced_file_says_so_after_an_import_and_a_proposed_one_has_an_id_of_its_own(
    world: World, tmp_path: Path
) -> None:
    old, _ = replaced_elsewhere(tmp_path, FIRST, SECOND)
    bring(world, tmp_path / "before.json")
    (place,) = [hit.path for hit in world.hits("heron release")]
    bring(world, tmp_path / "after.json")
    text = world.file(place).read_text("utf-8")
    assert "status: superseded\n" in text
    assert "superseded_by: '[[moved]]'" in text.replace('"', "'")

    head, *notes, tail = lines(tmp_path / "after.json")
    moved = [
        {**one, "body": "The heron release is on 31 March.\n"} for one in notes if one["id"] != old
    ]
    bring(world, write_lines(tmp_path / "other.json", [head, *moved, tail]), propose=True)
    (item,) = world.service.reviews(human())
    (file,) = [path for path in world.vault.rglob("*.md") if "31 March" in path.read_text("utf-8")]
    assert f"id: {item['note_id']}\n" in file.read_text("utf-8")
    assert item["note_id"] != moved[0]["id"]


def test_a_name_with_capitals_stays_as_it_is(world: World, tmp_path: Path) -> None:
    folder = file_of(tmp_path / "notes", "Release Date.md", f"{FIRST}\n").parent
    assert counts(bring(world, folder)) == {"created": 1}
    assert [hit.path for hit in world.hits("heron release")] == ["heron/Release Date.md"]


def test_what_a_person_wrote_just_now_is_here_already_for_an_import(
    world: World, tmp_path: Path
) -> None:
    assert world.ids("heron release") == []
    world.write("heron/Date.md", f"# Date\n\n{FIRST}\n")
    folder = file_of(tmp_path / "notes", "Date.md", f"# Date\n\n{FIRST}\n").parent
    file_of(folder, "hall.md", f"{OTHER}\n")
    assert counts(bring(world, folder)) == {"created": 1, "unchanged": 1}
    assert len(world.ids("heron release")) == 1


def test_an_export_names_no_successor_that_it_does_not_hold(world: World, tmp_path: Path) -> None:
    old = world.save("Date", FIRST)
    new = world.save("Moved", SECOND, supersedes=(old.id,))

    def successors(name: str) -> dict[str, object]:
        export(world, tmp_path / name)
        rows = [one for one in lines(tmp_path / name) if "id" in one]
        return {str(one["id"]): one["superseded_by"] for one in rows}

    assert successors("both.json") == {old.id: new.id, new.id: ""}
    world.forget(new.id)
    assert successors("one.json") == {old.id: ""}
