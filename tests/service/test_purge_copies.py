"""Which files of a vault go with a purged note, and which are only named."""

import os
from pathlib import Path

from memsvc.ledger import registry
from memsvc.notes.document import MAX_NOTE_BYTES
from memsvc.service.gateway.drafts import sha
from memsvc.service.gateway.undo.copies import Copies, find_copies, telling_lines
from tests.service.world import World, human

OLD = "The vexopluma gate opens at 6544907213 for the quibbrax ferry."
ID = "01KBA7ZD5QX4T9W2M3N8R6C0VE"
GIT = ".git/COMMIT_EDITMSG"


def named(world: World, note_id: str) -> str:
    """What a purge of the note says is out of reach."""
    return "\n".join(world.forget(note_id, by=human(), mode="purge").out_of_reach)


def copies(world: World, note_id: str) -> Copies:
    """What a purge that has the vault's lock finds now."""
    with world.service._gateway._parts.database.read() as connection:
        note = registry.find_note(connection, note_id)
        versions = registry.versions_of(connection, note_id)
    assert note is not None
    return find_copies(world.vault, note, versions, lines=telling_lines(note, versions), living={})


def test_only_a_note_that_quotes_a_purged_one_is_named(world: World) -> None:
    note = world.save("Ferry gate", f"- the gate:\n\n    {OLD}\n")
    world.save("Lantern", "The marsh lantern is lit by the warden at dusk.")
    world.save("Quote", f"They say: {OLD}")
    world.write("heron/plan.txt", OLD)
    world.write("heron/tea.txt", "Tea is at four.")
    said = named(world, note.id)
    assert "heron/quote.md" in said
    assert "heron/plan.txt" in said
    assert "lantern" not in said
    assert "tea.txt" not in said


def test_a_copy_is_known_in_any_encoding(world: World) -> None:
    note = world.save("Ferry gate", OLD)
    text = f"{world.file(note.path).read_text('utf-8')}More.\n"
    for encoding in ("utf-16", "utf-32", "utf-8-sig"):
        world.write(f".trash/{encoding}.md", text.encode(encoding))
        world.write(f"heron/{encoding}.txt", OLD.encode(encoding))
        world.write(f"heron/tea-{encoding}.txt", "Tea is at four.".encode(encoding))
    world.write("heron/wide.md", f"They say: {OLD}".encode("utf-16"))
    reply = world.forget(note.id, by=human(), mode="purge")
    assert list(world.file(".trash").glob("*")) == []
    assert reply.erased == 4
    assert [one.rpartition(": ")[2] for one in reply.out_of_reach[2:]] == [
        "heron/wide.md", "heron/utf-16.txt", "heron/utf-32.txt", "heron/utf-8-sig.txt",
    ]  # fmt: skip


def test_a_file_that_a_write_left_and_a_copy_without_an_id_are_removed(world: World) -> None:
    file = world.write("heron/gate.md", f"# Gate\n\n{OLD}\n")
    (note_id,) = world.ids("vexopluma gate")
    world.write("heron/gate.md.bak", file.read_bytes())
    world.write("heron/.gate.md.0123456789ab.memsvc-tmp", "Half a")
    world.write("heron/gate.txt", f"See heron/gate.md: {OLD}")
    assert world.forget(note_id, by=human(), mode="purge").erased == 3
    assert [path.name for path in world.file("heron").iterdir()] == ["gate.txt"]


def test_a_note_with_the_same_text_stays_and_is_named_to_who_may_see_it(world: World) -> None:
    text = f"# Ferry gate\n\n{OLD}\n"
    world.write("heron/one.md", text)
    (note_id,) = world.ids("vexopluma gate")
    for path in ("heron/two.md", "osprey/three.md"):
        world.write(path, text)
    reply = world.forget(note_id, by=human(), mode="purge")
    assert reply.erased == 1
    assert [one for one in reply.out_of_reach if ".md" in one] == [
        "another note that names or quotes it: heron/two.md"
    ]
    assert world.file("osprey/three.md").read_text("utf-8") == text
    assert world.file("heron/two.md").read_text("utf-8") == text


def test_a_file_that_names_a_purged_note_by_its_path_is_named(world: World) -> None:
    note = world.save("Where is the ferry?", "Here.")
    assert note.path == "heron/where-is-the-ferry.md"
    world.write(".obsidian/workspace.json", f'{{"last": "{note.path}"}}')
    world.write(".obsidian/app.json", '{"theme": "dark"}')
    said = named(world, note.id)
    assert "workspace.json" in said
    assert "app.json" not in said


def test_a_git_repository_around_the_vault_is_named(world: World) -> None:
    note = world.save("Ferry gate", OLD)
    assert "git" not in named(world, note.id)
    other = world.save("Lantern", "The marsh lantern is lit at dusk.")
    (world.root / ".git").mkdir()
    assert named(world, other.id).startswith("the history of the git repository")


def test_short_names_and_lines_tell_nothing(world: World) -> None:
    note = world.save("Harbour", "The gate is red.\n\nIt is 15 long..\n")
    for name, text in {
        "six": "A harbour is a Harbour.",
        "fifteen": "It is 15 long..",
        "sixteen": "The gate is red.",
    }.items():
        world.write(f"heron/{name}.txt", text)
    said = named(world, note.id)
    assert "sixteen.txt" in said
    assert "fifteen.txt" not in said
    assert "six.txt" not in said
    eight = world.save("Harbours", "Rowed.")
    world.write("heron/eight.txt", "All Harbours there are.")
    assert "eight.txt" in named(world, eight.id)


def test_a_file_that_names_a_purged_note_by_its_id_only_gives_nothing_away(world: World) -> None:
    world.write(f"heron/{ID}.md", f"---\nid: {ID}\n---\n# The old gate\n\n{OLD}\n")
    assert world.ids("vexopluma gate") == [ID]
    world.write("heron/id.txt", f"See {ID}.")
    world.write("heron/title.txt", "See The old gate.")
    said = named(world, ID)
    assert "title.txt" in said
    assert "id.txt" not in said


def test_a_copy_that_declares_the_id_is_removed_and_a_file_of_another_kind_is_named(
    world: World,
) -> None:
    note = world.save("Ferry gate", OLD)
    data = world.file(note.path).read_text("utf-8")
    world.write(".trash/GATE.MD", f"{data}More.\n")
    world.write("heron/gate.txt", f"{data}More.\n")
    world.write(".trash/speaks.md", f"The id was {note.id}, and: {OLD}\n")
    reply = world.forget(note.id, by=human(), mode="purge")
    assert reply.erased == 2
    assert not world.file(".trash/GATE.MD").exists()
    assert not world.file(note.path).exists()
    said = "\n".join(reply.out_of_reach)
    for left in ("heron/gate.txt", ".trash/speaks.md"):
        assert left in said
        assert world.file(left).exists()


def test_the_git_of_a_vault_and_what_lies_outside_are_left_alone(
    world: World, tmp_path: Path
) -> None:
    note = world.save("Ferry gate", OLD)
    data = world.file(note.path).read_bytes()
    world.write(GIT, data)
    world.write("heron/plan.txt", data + b"more")
    outside = tmp_path / "outside.md"
    outside.write_bytes(data)
    quoting = tmp_path / "outside.txt"
    quoting.write_bytes(data + b"more")
    world.file("heron/outside.bak").symlink_to(outside)
    world.file("heron/outside.txt").symlink_to(quoting)
    world.file("heron/nowhere.bak").symlink_to(tmp_path / "nowhere")
    reply = world.forget(note.id, by=human(), mode="purge")
    assert reply.erased == 1
    said = "\n".join(reply.out_of_reach)
    assert "heron/plan.txt" in said
    assert "outside" not in said
    assert GIT not in said
    assert world.file(GIT).read_bytes() == outside.read_bytes() == data
    assert world.file("heron/outside.bak").is_symlink()


def test_a_file_that_is_larger_than_a_note_may_be_is_not_looked_into(world: World) -> None:
    note = world.save("Ferry gate", OLD)
    for name, size in {"most": MAX_NOTE_BYTES, "more": MAX_NOTE_BYTES + 1}.items():
        os.truncate(world.write(f"heron/{name}.bin", OLD), size)
    said = named(world, note.id)
    assert "most.bin" in said
    assert "more.bin" not in said


def test_the_own_file_of_a_note_goes_however_large_it_has_become(world: World) -> None:
    file = world.write("heron/gate.md", f"# Gate\n\n{OLD}\n")
    (note_id,) = world.ids("vexopluma gate")
    os.truncate(file, MAX_NOTE_BYTES + 1)
    reply = world.forget(note_id, by=human(), mode="purge")
    assert (reply.erased, reply.notice) == (1, "")
    assert not file.exists()


def test_the_own_file_of_a_note_goes_with_an_edit_that_nobody_saw_yet(world: World) -> None:
    world.write("heron/gate.md", f"# Ferry gate\n\n{OLD}\n")
    (note_id,) = world.ids("vexopluma gate")
    edited = f"# Ferry gate\n\n{OLD}\n\nMy own line.\n".encode()
    file = world.write("heron/gate.md", edited)
    world.write("heron/new.md", f"Just now: {OLD}\n")
    found = copies(world, note_id)
    assert found == Copies((("heron/gate.md", sha(edited)),), (), ("heron/new.md",))
    file.unlink()
    assert copies(world, note_id) == Copies((), (), ("heron/new.md",))


def test_the_path_of_a_retracted_note_is_not_its_own_any_more(world: World) -> None:
    note = world.save("Ferry gate", OLD)
    data = world.file(note.path).read_bytes()
    trash = world.forget(note.id).trash
    world.write(note.path, "The lantern hangs here now.\n")
    assert copies(world, note.id) == Copies(((trash, sha(data)),), (), ())
