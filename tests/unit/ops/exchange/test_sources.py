"""What foreign stores hold, as an import sees it."""

import json
from pathlib import Path

import pytest

from memsvc.errors import InvalidInput
from memsvc.model.exchange import Imported, ImportOutcome, Outline
from memsvc.model.vocabulary import Kind, Status
from memsvc.ops.exchange.sources import Foreign, Source
from memsvc.ops.exchange.take_in import open_source


def put(folder: Path, name: str, text: str | bytes) -> Path:
    place = folder / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(text.encode() if isinstance(text, str) else text)
    return place


def read(source: Source) -> tuple[dict[str, Foreign], dict[str, Imported], dict[str, Outline]]:
    """Records, what is none, and outlines, each by place."""
    found = list(source.outlines())
    outlines = {one.place: one for one in found if isinstance(one, Outline)}
    others = {one.place: one for one in found if isinstance(one, Imported)}
    return {place: source.record(one) for place, one in outlines.items()}, others, outlines


def memory_file(folder: Path, *rows: object) -> Path:
    text = "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
    return put(folder, "memory.jsonl", text)


def entity(name: str, kind: str, *observations: object) -> dict[str, object]:
    return {"type": "entity", "name": name, "entityType": kind, "observations": list(observations)}


def relation(start: str, kind: str, end: str) -> dict[str, object]:
    return {"type": "relation", "from": start, "to": end, "relationType": kind}


def test_an_entity_becomes_a_note_with_observations_and_links(tmp_path: Path) -> None:
    path = memory_file(
        tmp_path,
        entity("David Barnett", "person", "Speaks fluent Spanish", "Two\nlines"),
        relation("David Barnett", "works_at", "Quinto | Andar [x]"),
        entity("Quinto | Andar [x]", "company"),
        relation("David Barnett", "knows", "Somebody Else"),
    )
    records, others, outlines = read(open_source(path))
    assert others == {}
    first = records["line 1"]
    assert first.content == (
        "---\ntitle: David Barnett\nentity_type: person\n---\n"
        "- Speaks fluent Spanish\n- Two\n  lines\n\n## Relations\n\n"
        "- works_at [[quinto-andar-x|Quinto   Andar  x]]\n- knows [[Somebody Else]]\n"
    )
    assert first.source == ("server-memory:David Barnett",)
    assert records["line 3"].content.endswith("---\n- entity type: company\n")
    assert [one.path for one in outlines.values()] == ["david-barnett.md", "quinto-andar-x.md"]


def test_a_bad_line_of_a_memory_file_costs_that_line(tmp_path: Path) -> None:
    path = memory_file(
        tmp_path,
        {"type": "_aim", "source": "mcp-knowledge-graph"},
        entity("Heron", "project", "Ships on 12 March"),
        '{"type":"entity","name":"Cut',
        {"type": "entity", "name": "", "observations": []},
        {"type": "entity", "name": "No list", "observations": "text"},
        entity("Numbers", "x", 7),
        relation("Nobody", "knows", "Heron"),
        {"type": "relation", "from": "Heron"},
        {"type": "other"},
        "[1, 2]",
        entity("Heron", "bird", "Ships on 12 March", "Stands in the reeds"),
        entity("Object", "x", {"content": "kept by a fork"}),
    )
    source = open_source(path)
    records, others, _ = read(source)
    assert set(records) == {"line 2", "line 12"}
    assert set(others) == {f"line {number}" for number in (3, 4, 5, 6, 7, 8, 9, 10)}
    assert all(one.outcome is ImportOutcome.REFUSED and one.reason for one in others.values())
    assert records["line 2"].content.count("Ships on 12 March") == 1
    assert "Stands in the reeds" in records["line 2"].content
    assert "kept by a fork" in records["line 12"].content
    assert source.notices == ["line 11 adds to the entity of line 2"]


def test_an_okf_page_keeps_its_provenance_as_text(tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    put(
        folder,
        "index.md",
        '---\nokf_version: "0.2"\n---\n# All\n\n* [Alert](/playbooks/alert.md)\n',
    )
    put(folder, "playbooks/log.md", "# Log\n")
    put(
        folder,
        "playbooks/alert.md",
        "---\ntype: Playbook\ntitle: Freshness alert\ndescription: Steps.\nstatus: stable\n"
        "resource: https://example.org/dash\ntags: [oncall]\n"
        "generated: { by: agent/2.5, at: 2026-04-12T09:00:00Z }\n"
        "verified: { by: human:ann, at: 2026-06-25T09:00:00Z }\n"
        "sources:\n  - id: a\n    resource: /tables/orders.md\n---\n\n# Trigger\n\nSee the alert.\n",
    )
    put(folder, "tables/orders.md", "---\ntype: BigQuery Table\nstatus: deprecated\n---\n\nOld.\n")
    put(folder, "tables/untyped.md", "---\ntype:\ntitle: None\n---\n\nText.\n")
    source = open_source(folder, form="memex")
    found = list(source.outlines())
    outlines = {one.place: one for one in found if isinstance(one, Outline)}
    assert {one.place for one in found if isinstance(one, Imported)} == {
        "index.md",
        "playbooks/log.md",
    }
    page = source.record(outlines["playbooks/alert.md"])
    assert (page.kind, page.created) == (Kind.PROCEDURE, "2026-04-12T09:00:00Z")
    assert {name: one.status for name, one in outlines.items()} == {
        "playbooks/alert.md": Status.ACTIVE,
        "tables/orders.md": Status.SUPERSEDED,
        "tables/untyped.md": Status.ACTIVE,
    }
    assert page.source == (
        "https://example.org/dash",
        "/tables/orders.md",
        "memex:bundle/playbooks/alert.md",
    )
    assert page.origin["original_author"] == "agent/2.5"
    assert page.origin["original_trust"] == "human-reviewed"
    assert page.origin["okf_status"] == "stable"
    assert outlines["tables/orders.md"].status is Status.SUPERSEDED


def test_an_obsidian_folder_is_taken_without_what_is_no_note(tmp_path: Path) -> None:
    folder = tmp_path / "My Vault"
    put(folder, ".obsidian/templates.json", '{"folder": "Templates"}')
    put(folder, ".trash/gone.md", "Gone.\n")
    put(folder, "Templates/daily.md", "# {{date}}\n")
    put(folder, "a.sync-conflict-20261130-101112-ABCDEFG.md", "Twice.\n")
    put(folder, "picture.png", b"\x89PNG")
    put(folder, "sketch.excalidraw.md", "---\nexcalidraw-plugin: parsed\n---\nxx\n")
    put(folder, "broken.md", "---\n: [\n---\nStill text.\n")
    put(folder, "wide.md", "\ufeffÜber\r\nzwei\r\n".encode("utf-16"))
    put(folder, "bom.md", b"\xef\xbb\xbf# Titled\r\n\r\nText.\r\n")
    put(folder, "empty.md", "")
    source = open_source(folder)
    assert source.form == "obsidian"
    records, others, outlines = read(source)
    assert set(records) == {"broken.md", "wide.md", "bom.md"}
    assert {place: one.outcome.value for place, one in others.items()} == {
        "Templates/daily.md": "skipped",
        "a.sync-conflict-20261130-101112-ABCDEFG.md": "skipped",
        "sketch.excalidraw.md": "skipped",
        "empty.md": "skipped",
    }
    assert outlines["bom.md"].title == "Titled"
    assert "zwei\r\n" in records["wide.md"].content
    assert source.notices == ["1 files that are no notes stay where they are"]


def test_a_copied_file_does_not_take_the_id_of_the_first(tmp_path: Path) -> None:
    head = "---\nid: 01KBA7ZD5QX4T9W2M3N8R6C0VE\n---\n"
    put(tmp_path, "n/note 1.md", f"{head}Copy.\n")
    put(tmp_path, "n/note.md", f"{head}First.\n")
    _, _, outlines = read(open_source(tmp_path / "n"))
    assert [bool(one.id) for one in outlines.values()] == [True, False]


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("a.jsonl", '\ufeff{"format": "memsvc-export", "version": 1}\n', "json"),
        ("b.jsonl", '\n{"type": "relation"}\n', "server-memory"),
        ("d/x.md", "---\ntype: Metric\n---\nText.\n", "memex"),
        ("e/x.md", "Text.\n", "obsidian"),
        ("f/memsvc-export.json", '{"format": "memsvc-export", "version": 1}', "markdown"),
    ],
)
def test_a_format_is_told_by_what_is_there(tmp_path: Path, name: str, text: str, form: str) -> None:
    place = put(tmp_path, name, text)
    assert open_source(place if "/" not in name else place.parent).form == form


@pytest.mark.parametrize("form", ["auto", "json", "obsidian", "folder"])
def test_what_is_no_source_is_refused_with_what_to_do(tmp_path: Path, form: str) -> None:
    place = put(tmp_path, "x.txt", "plain words\n")
    with pytest.raises(InvalidInput):
        open_source(place, form=form)
    with pytest.raises(InvalidInput):
        open_source(tmp_path / "missing")
    newer = put(tmp_path, "n.jsonl", '{"format": "memsvc-export", "version": 2}\n')
    with pytest.raises(InvalidInput, match="update memsvc"):
        open_source(newer)


def test_a_cut_off_export_is_told_and_its_whole_lines_are_read(tmp_path: Path) -> None:
    rows = [
        {"format": "memsvc-export", "version": 1, "folder": "heron"},
        {"title": "By hand", "body": "---\nnot: frontmatter\n---\ntext", "tags": ["a"]},
        {"title": "No body"},
        {"body": 7},
        {"body": "x", "status": "retracted"},
        {"body": "x", "status": "perhaps"},
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows) + '{"id": "01KBA7ZD5Q", "bo'
    source = open_source(put(tmp_path, "x.json", text))
    records, others, _ = read(source)
    assert records["line 2"].content.endswith("---\n---\nnot: frontmatter\n---\ntext")
    assert {place: one.outcome.value for place, one in others.items()} == {
        "line 3": "refused",
        "line 4": "refused",
        "line 5": "skipped",
        "line 6": "refused",
        "line 7": "refused",
    }
    assert "cut off" in source.notices[0]
