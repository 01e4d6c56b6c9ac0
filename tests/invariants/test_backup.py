"""A backup brings nothing back that was taken back after it, through either way of restoring."""

import hashlib
import io
import os
import shutil
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

from memsvc.bootstrap import open_service
from memsvc.errors import Denied, InvalidInput, RejectedClaim, StorageFailed, VaultOffline
from memsvc.model.progress import Progress
from memsvc.model.requests import AuditRequest, DecisionRequest, ReadRequest
from memsvc.model.requests import RestoreRequest as NoteRequest
from memsvc.model.vocabulary import Disposition
from memsvc.ops.backup.copying import copy_steadily
from memsvc.ops.backup.making import BackupReport, BackupRequest, back_up
from memsvc.ops.backup.merging import MergeReport, MergeRequest, merge
from memsvc.ops.backup.restoring import Keys, RestoreReport, RestoreRequest, restore
from memsvc.service.api import MemoryService
from memsvc.settings import Settings
from tests.invariants.traces import holding
from tests.service.world import World, agent, human


@pytest.fixture
def world(tmp_path: Path) -> "World":
    return World(tmp_path)


def backup(world: World, name: str = "b.zip") -> BackupReport:
    keys = (world.root / name).with_suffix(".keys")
    return back_up(world.service, human(), BackupRequest(target=world.root / name, keys=keys))


def merged(world: World, *, only: tuple[str, ...] = (), dry_run: bool = False) -> MergeReport:
    request = MergeRequest(archive=world.root / "b.zip", only=only, dry_run=dry_run)
    return merge(world.service, human(), request)


def opened(home: Path, vault: str) -> MemoryService:
    return open_service(Settings(home=home, vault=vault, embedder="none"))


def restored(
    world: World, *, ledger: Path | None = None, progress: Progress | None = None
) -> RestoreReport:
    """The home lost, and put back."""
    world.service.close()
    home = world.root / "home"
    if ledger is not None:
        ledger.mkdir()
        for name in ("memsvc.db", "memsvc.db-wal", "tombstone.keys"):
            if (home / name).exists():
                shutil.copy(home / name, ledger / name)
    shutil.rmtree(home)
    request = RestoreRequest(
        archive=world.root / "b.zip",
        home=home,
        keys=Keys(file=world.root / "b.keys"),
        ledger=ledger / "memsvc.db" if ledger else None,
    )
    report = restore(request, human(), opened, progress=progress)
    world.service = world.open()
    return report


def events(world: World, action: str) -> list[tuple[str, str]]:
    found = world.service.audit_list(human(), AuditRequest(action=action)).events
    return [(one.outcome, one.note_id) for one in found]


def story(world: World) -> dict[str, str]:
    """Notes, a backup of them, and what was done to each one since."""
    bodies = {
        "retracted": "The falcon key is 7101.",
        "purged": "The secret heron nest is at 51.2217 north.",
        "corrected": "The release is on 3 March.",
        "superseded": "The owl tariff is 12 euros.",
        "deleted": "The crane hook takes 44 tons.",
        "missing": "The stork lands at 6 sharp.",
        "untouched": "The robin sings at 5 o'clock.",
    }
    ids = {name: world.save(name, text).id for name, text in bodies.items()}
    backup(world)
    by = human()
    world.forget(ids["retracted"])
    world.forget(ids["purged"], mode="purge", by=by)
    note = world.service.read(agent(), _read(ids["corrected"]))
    world.correct(note, "The release is on 12 March.")  # type: ignore[arg-type] # has id and version
    world.save("owl now", "The owl tariff is 15 euros.", supersedes=(ids["superseded"],))
    world.file("heron/deleted.md").unlink()
    world.ids("crane hook")
    assert world.ids("crane hook") == []
    return ids


def _read(note_id: str) -> ReadRequest:
    return ReadRequest(id=note_id)


TAKEN_BACK = ("falcon key 7101", "secret heron nest 51.2217", "release on 3 March", "owl tariff 12")


def check_story(world: World, ids: dict[str, str]) -> None:
    """Nothing that was taken back is back; what nobody took back is there."""
    said = {hit.text for query in TAKEN_BACK for hit in world.hits(query)}
    assert said >= {"The release is on 12 March.", "The owl tariff is 15 euros."}
    for text in ("7101", "51.2217", "3 March.", "12 euros"):
        assert not [one for one in said if text in one.replace("12 March", "")]
    assert world.ids("robin sings") == [ids["untouched"]]
    assert world.ids("stork lands") == [ids["missing"]]
    for text in ("The falcon key is 7101.", "The secret heron nest is at 51.2217 north.",
                 "The release is on 3 March."):  # fmt: skip
        with pytest.raises(RejectedClaim):
            world.save("again", text)
    assert holding(world.root / "home", b"51.2217") == []
    assert world.service.audit_verify()["ok"]


@pytest.mark.guarantee("C1", "C4", "C5", "W1")
def test_a_merge_brings_back_what_was_lost_and_nothing_that_was_taken_back(world: World) -> None:
    ids = story(world)
    world.file("heron/missing.md").unlink()
    (world.vault / "heron" / "pic.png").write_bytes(b"new")
    told = merged(world, dry_run=True)
    assert world.ids("crane hook") == []
    report = merged(world)
    assert (report.files + report.notes, report.unchanged) == (told.files + told.notes, 1) == (2, 1)
    why = {one.id: one.why for one in report.not_restored}
    assert why == {
        ids["retracted"]: "retracted",
        ids["purged"]: "purged",
        ids["corrected"]: "corrected",
        ids["superseded"]: "superseded",
    }
    assert [one.path for one in report.not_restored if one.why == "purged"] == [""]
    assert world.ids("crane hook") == [ids["deleted"]]
    check_story(world, ids)
    again = merged(world)
    assert (again.files, again.notes, again.unchanged) == (0, 0, 1)
    assert {one.why for one in again.not_restored} == {*why.values(), "newer text"}
    world.service.close()


@pytest.mark.guarantee("C1", "C4", "C5", "W1")
def test_a_lost_home_with_a_newer_ledger_comes_back_as_the_ledger_says(world: World) -> None:
    ids = story(world)
    newer = world.save("late", "The late note has number 99.")
    world.service.restore(human(), NoteRequest(id=ids["deleted"]))
    report = restored(world, ledger=world.root / "newer")
    assert {one.id: one.why for one in report.not_restored} == {
        ids["retracted"]: "retracted",
        ids["purged"]: "purged",
        ids["corrected"]: "corrected",
        ids["superseded"]: "superseded",
    }
    assert report.withheld == ()
    assert world.ids("late note 99") == [newer.id]
    assert world.ids("crane hook") == [ids["deleted"]]
    assert (world.vault / ".trash" / "heron" / "retracted.md").exists()
    edits = [one for one in events(world, "file_edit") if one[0] == "done"]
    assert edits == []
    check_story(world, ids)
    world.service.close()


@pytest.mark.guarantee("C1", "C5")
def test_whatever_became_of_a_note_since_the_backup_a_newer_ledger_is_followed(
    world: World,
) -> None:
    moved = world.save("moved", "The moved number is 11.")
    edited = world.save("edited", "The edited number is 12.")
    trashed = world.save("trashed", "The trashed number is 14.2217 north.")
    amended = world.save("amended", "The amendd number is 15.")
    world.write("heron/odd.md", b"The odd number is 13, caf\xe9.\n")
    world.service.vault_policy(human(), "personal", ["review=agents"])
    proposed = world.save("proposed", "The proposed number is 16.")
    world.service.vault_policy(human(), "personal", ["review=none"])
    world.forget(trashed.id)
    assert world.ids("odd number 13") != []
    backup(world)

    world.file("heron/sub").mkdir()
    world.file(moved.path).rename(world.file("heron/sub/moved.md"))
    world.correct(edited, "The edited number is 12 by now.", mode="amend")
    world.forget(edited.id)
    world.forget(trashed.id, mode="purge", by=human())
    world.correct(amended, "The amended number is 15.", mode="amend")
    world.write("heron/odd.md", b"The odd number is 130, caf\xe9.\n")
    assert world.ids("moved number 11") == [moved.id]
    (item,) = world.service.reviews(human())
    turned_down = DecisionRequest(id=str(item["review_id"]), disposition=Disposition.KEEP_OLD)
    world.service.decide(human(), turned_down)

    report = restored(world, ledger=world.root / "newer")
    assert {one.id: (one.why, one.path) for one in report.not_restored} == {
        edited.id: ("retracted", edited.path),
        trashed.id: ("purged", ""),
        proposed.id: ("rejected", proposed.path),
    }
    assert "vault personal: 2 notes written from the ledger" in report.notices
    assert any("1 notes are not in the ledger byte for byte" in one for one in report.notices)
    assert {hit.path: hit.text for hit in world.hits("number", k=20)} == {
        "heron/sub/moved.md": "The moved number is 11.",
        amended.path: "The amended number is 15.",
        "heron/odd.md": world.hits("odd number 13")[0].text,
    }
    assert b"13, caf\xe9" in world.file("heron/odd.md").read_bytes()
    kept = sorted(path.name for path in world.vault.rglob("*.md"))
    assert kept == ["amended.md", "moved.md", "odd.md", "proposed.md"]
    assert world.file(".trash/heron/proposed.md").exists()
    assert holding(world.root / "home", b"14.2217") == []
    world.service.close()


@pytest.mark.guarantee("C1")
def test_without_a_newer_ledger_the_report_says_what_it_cannot_know(world: World) -> None:
    kept = world.save("kept", "The kept number is 31.")
    gone = world.save("gone", "The gone number is 32.")
    world.forget(gone.id)
    made = backup(world)
    world.forget(kept.id)
    report = restored(world)
    assert stat.S_IMODE((world.root / "home" / "locks").stat().st_mode) == 0o700
    assert f"ends at event {made.seq} " in report.notices[0]
    assert "not known here" in report.notices[0]
    assert world.ids("kept number") == [kept.id]
    assert world.ids("gone number") == [kept.id]
    with pytest.raises(RejectedClaim):
        world.save("again", "The gone number is 32.")
    world.service.close()


@pytest.mark.guarantee("C1", "W1", "A1")
def test_a_deleted_note_that_states_what_was_rejected_since_stays_away(world: World) -> None:
    bad = world.save("bad", "The vault door code is 4711.")
    good = world.save("good", "The garden door code is 4712.")
    world.save("tea", "Tea is served at noon.")
    backup(world)
    for path in ("heron/bad.md", "heron/good.md"):
        world.file(path).unlink()
    world.ids("door code")
    assert world.ids("door code") == []
    other = world.save("other", "The vault door code is 4711.")
    world.forget(other.id, reason="changed")
    report = merged(world)
    assert [(one.id, one.why) for one in report.not_restored] == [(bad.id, "rejected claim")]
    assert world.ids("door code") == [good.id]
    assert not world.file("heron/bad.md").exists()
    assert ("refused", bad.id) in events(world, "restore")
    assert ("done", good.id) in events(world, "restore")
    world.service.close()


@pytest.mark.guarantee("C1", "C6")
def test_a_merge_lifts_no_rejection_that_the_note_itself_made(world: World) -> None:
    """A retracted note whose file was put back by hand, withheld, and deleted once more."""
    bad = world.save("bad", "The vault door code is 4711.")
    good = world.save("good", "The garden door code is 4712.")
    world.save("tea", "Tea is served at noon.")
    backup(world)
    text = world.file("heron/bad.md").read_bytes()
    world.forget(bad.id)
    world.write("heron/bad.md", text)
    assert world.ids("door code") == [good.id]
    for path in ("heron/bad.md", "heron/good.md"):
        world.file(path).unlink()
        world.ids("door code")
    standing = world.service.tombstones(human())
    report = merged(world)
    assert [(one.id, one.why) for one in report.not_restored] == [(bad.id, "rejected claim")]
    assert world.ids("door code") == [good.id]
    assert world.service.tombstones(human()) == standing
    assert [one for one in standing if not one["lifted_at"]]
    world.service.close()


@pytest.mark.guarantee("C1", "W1")
def test_a_file_of_a_backup_that_states_what_its_ledger_rejects_is_withheld(world: World) -> None:
    """As when a person wrote it between the last look and the copy."""
    gone = world.save("gone", "The vault door code is 4711.")
    world.forget(gone.id)
    world.write("heron/sneaked.md", "The vault door code is 4711.\n")
    world.write("heron/fine.md", "The garden door code is 4712.\n")
    backup(world)
    restored(world)
    (hit,) = world.hits("door code")
    assert hit.text == "The garden door code is 4712."
    world.file("heron/sneaked.md").write_text("The vault door code is 4711!\n")
    assert [one.text for one in world.hits("door code")] == ["The garden door code is 4712."]
    world.service.close()


@pytest.mark.guarantee("W2")
def test_what_a_merge_brings_back_keeps_its_author_and_trust(world: World) -> None:
    one = world.save("one", "The number of one is 101.")
    two = world.save("two", "The number of two is 102.")
    backup(world)
    before = {note: _shown(world, note) for note in (one.id, two.id)}
    world.file("heron/one.md").unlink()
    world.ids("number")
    world.ids("number")
    world.file("heron/two.md").unlink()
    report = merged(world)
    assert (report.files + report.notes) == 2
    assert {note: _shown(world, note) for note in (one.id, two.id)} == before
    assert {trust for _, trust in before.values()} == {"agent"}
    world.service.close()


def _shown(world: World, note_id: str) -> tuple[str, str]:
    found = world.service.read(agent(), _read(note_id))
    return found.body.strip(), found.trust


@pytest.mark.guarantee("W5")
def test_a_merge_overwrites_no_newer_text_and_no_file_that_somebody_made(world: World) -> None:
    one = world.save("one", "The number of one is 101.")
    world.write("heron/pic.png", b"old")
    world.write("heron/gone.png", b"gone")
    backup(world)
    note = world.service.read(agent(), _read(one.id))
    world.correct(note, "The number of one is 201.", mode="changed")  # type: ignore[arg-type] # see above
    world.write("heron/pic.png", b"new")
    world.file("heron/gone.png").unlink()
    world.file("heron/one.md").unlink()
    report = merged(world)
    assert report.changed_attachments == ("heron/pic.png",)
    assert report.attachments == 1
    assert world.file("heron/pic.png").read_bytes() == b"new"
    assert world.file("heron/gone.png").read_bytes() == b"gone"
    assert "201" in world.file("heron/one.md").read_text()
    assert [hit.text for hit in world.hits("number of one")] == ["The number of one is 201."]
    world.service.close()


@pytest.mark.guarantee("C1", "W6")
def test_a_merge_gives_lost_files_their_bytes_and_tells_what_went_on_since(world: World) -> None:
    odd = b"The odd number is 13, caf\xe9.\n"
    world.write("heron/odd.md", odd)
    world.write("heron/bad.md", b"The bad number is 20, caf\xe9.\n")
    first = world.save("before", "The before number is 14.")
    second = world.correct(first, "The before number is 15.", mode="wrong")
    edited = world.save("edited", "The edited number is 17.")
    stays = world.save("stays", "The staying number is 18.")
    found = {hit.path: hit.id for hit in world.hits("number", k=20)}
    assert len(found) == 5
    backup(world)
    world.correct(second, "The before number is 16.", mode="changed")
    world.file("heron/odd.md").unlink()
    world.file("heron/bad.md").unlink()
    world.file(edited.path).unlink()
    world.write(edited.path, "Somebody wrote this instead, number 19.\n")
    assert len(world.ids("number", k=20)) == 3
    rejected = world.save("other", "The bad number is 20, caf\ufffd.")
    world.forget(rejected.id)
    report = merged(world)
    assert {one.id: one.why for one in report.not_restored} == {
        first.id: "newer text",
        edited.id: "newer text",
    }
    assert world.file("heron/odd.md").read_bytes() == odd
    assert world.service.read(agent(), _read(found["heron/odd.md"])).version == 2
    texts = [hit.text for hit in world.hits("number", k=20)]
    assert sorted(text[:12] for text in texts) == [
        "Somebody wro",
        "The before n",
        "The odd numb",
        "The staying ",
    ]
    assert "The before number is 16." in texts
    assert world.service.read(agent(), _read(stays.id)).version == 1
    assert ("done", "") in events(world, "restore")
    again = merged(world)
    assert (again.files, again.notes) == (0, 0)
    world.service.close()


def test_a_vault_that_lost_nearly_everything_is_whole_again(world: World) -> None:
    ids = {world.save(f"note {n}", f"The number of {n} is {n}01.").id for n in range(12)}
    backup(world)
    shutil.rmtree(world.vault / "heron")
    world.restart()
    with pytest.raises(VaultOffline):
        world.service.scan_all(human())
    report = merged(world, only=("heron",))
    assert (report.files, report.notes) == (12, 0)
    assert set(world.ids("number", k=20)) == ids
    assert merged(world).unchanged == 12
    world.service.close()


def test_only_narrows_a_merge_to_notes_and_folders(world: World) -> None:
    one = world.save("one", "The number of one is 101.")
    world.save("two", "The number of two is 102.")
    world.write("heron/a/pic.png", b"a")
    world.write("heron/b/pic.png", b"b")
    backup(world)
    for path in ("heron/one.md", "heron/two.md", "heron/a/pic.png", "heron/b/pic.png"):
        world.file(path).unlink()
    report = merged(world, only=(one.id, "heron/a"))
    assert (report.files + report.notes, report.attachments) == (1, 1)
    assert world.file("heron/one.md").exists()
    assert world.file("heron/a/pic.png").exists()
    assert not world.file("heron/two.md").exists()
    assert not world.file("heron/b/pic.png").exists()
    world.service.close()


def test_a_merge_takes_no_backup_of_another_or_of_a_newer_home(
    world: World, tmp_path: Path
) -> None:
    world.save("one", "The number of one is 101.")
    first = backup(world, "older.zip")
    world.save("two", "The number of two is 102.")
    backup(world)
    other = World(tmp_path / "other")
    (other.root / "b.zip").write_bytes((world.root / "b.zip").read_bytes())
    with pytest.raises(InvalidInput, match="of another home"):
        merged(other)
    other.service.close()
    world.service.close()
    shutil.rmtree(world.root / "home")
    request = RestoreRequest(
        archive=Path(first.archive), home=world.root / "home",
        keys=Keys(file=world.root / "older.keys"),
    )  # fmt: skip
    restore(request, human(), opened)
    world.service = world.open()
    with pytest.raises(InvalidInput, match="knows events that this home does not"):
        merged(world)
    assert ("refused", "") in events(world, "restore")
    assert not world.file("heron/two.md").exists()
    older = MergeRequest(archive=Path(first.archive))
    assert merge(world.service, human(), older).unchanged == 1
    world.service.close()


@pytest.mark.guarantee("W1", "A1")
def test_a_restore_is_for_a_person_who_confirms(world: World) -> None:
    world.save("one", "The number of one is 101.")
    world.write("heron/pic.png", b"pic")
    backup(world)
    world.file("heron/one.md").unlink()
    world.file("heron/pic.png").unlink()
    request = MergeRequest(archive=world.root / "b.zip")
    picture = MergeRequest(archive=world.root / "b.zip", only=("heron/pic.png",))
    for caller in (agent(), human(confirmed="")):
        with pytest.raises(Denied):
            merge(world.service, caller, request)
        with pytest.raises(Denied):
            merge(world.service, caller, picture)
        assert not world.file("heron/pic.png").exists()
        plan = RestoreRequest(
            archive=world.root / "b.zip", home=world.root / "new",
            keys=Keys(file=world.root / "b.keys"),
        )  # fmt: skip
        with pytest.raises(Denied):
            restore(plan, caller, opened)
        assert not (world.root / "new").exists()
        assert not world.file("heron/one.md").exists()
    with pytest.raises(Denied):
        back_up(
            world.service,
            agent(),
            BackupRequest(target=world.root / "x.zip", keys=world.root / "x"),
        )
    with pytest.raises(InvalidInput, match="in use"):
        world.service.settle_in(human(), folders={"personal": "/elsewhere"}, detail={})
    assert events(world, "restore").count(("refused", "")) == 4
    assert ("refused", "") in events(world, "config")
    merged(world)
    assert world.file("heron/one.md").exists()
    world.service.close()


def test_a_newer_ledger_must_be_whole_of_this_home_and_newer(world: World, tmp_path: Path) -> None:
    world.save("one", "The number of one is 101.")
    world.service.close()
    shutil.copytree(world.root / "home", tmp_path / "older")
    world.service = world.open()
    world.save("two", "The number of two is 102.")
    backup(world)
    world.service.close()
    other = World(tmp_path / "other")
    other.save("one", "The number of one is 101.")
    other.service.close()
    shutil.copytree(world.root / "home", tmp_path / "broken")
    database = sqlite3.connect(tmp_path / "broken" / "memsvc.db")
    database.executescript(
        "DROP TRIGGER audit_event_no_update; UPDATE audit_event SET reason = 'x'"
    )
    database.close()
    (tmp_path / "junk").mkdir()
    (tmp_path / "junk" / "memsvc.db").write_bytes(b"no database at all" * 100)
    for name, why in (
        ("older", "older than the backup"),
        ("other/home", "of another home"),
        ("broken", "does not hold"),
        ("junk", "cannot be used"),
        ("absent", "cannot be read"),
    ):
        request = RestoreRequest(
            archive=world.root / "b.zip", home=world.root / "new",
            keys=Keys(file=world.root / "b.keys"), beside=True,
            ledger=tmp_path / name / "memsvc.db",
        )  # fmt: skip
        with pytest.raises(InvalidInput, match=why):
            restore(request, human(), opened)
        assert not (world.root / "new").exists()
        assert [path.name for path in world.root.iterdir() if "memsvc-restore" in path.name] == []


def test_a_backup_goes_to_a_free_place_outside_every_vault(world: World) -> None:
    world.save("one", "The number of one is 101.")
    root, keys = world.root, world.root / "k"
    wrong = {
        "end its name so": {"target": root / "b.tar", "keys": keys},
        "say where": {"target": root / "b.zip"},
        "fewer than": {"target": root / "b.zip", "passphrase": "short"},
        "two files": {"target": root / "b.zip", "keys": root / "b.zip"},
        "make it first": {"target": root / "no" / "b.zip", "keys": keys},
        "would lie in vault": {"target": world.vault / "b.zip", "keys": keys},
        "would lie in vault personal": {"target": root / "b.zip", "keys": world.vault / "k"},
        "no such vault": {"target": root / "b.zip", "keys": keys, "without": ("personnal",)},
    }
    for why, request in wrong.items():
        with pytest.raises(InvalidInput, match=why):
            back_up(world.service, human(), BackupRequest(**request))  # type: ignore[arg-type] # as named
        assert not [path for path in root.iterdir() if path.name != "home"]
    assert events(world, "config").count(("refused", "")) == len(wrong)
    backup(world)
    with pytest.raises(InvalidInput, match="--replace"):
        backup(world)
    plan = RestoreRequest(
        archive=root / "b.zip",
        home=root / "new",
        keys=Keys(file=root / "b.keys"),
        keep=("personnal",),
    )
    with pytest.raises(InvalidInput, match="no vault personnal"):
        restore(plan, human(), opened)
    world.service.close()


class Meddler(io.BytesIO):
    """Somebody who rewrites the file while it is being copied, so many times."""

    def __init__(self, path: Path, times: int) -> None:
        super().__init__()
        self.path = path
        self.times = times

    def write(self, data: Any) -> int:
        if self.times:
            self.times -= 1
            self.path.write_bytes(bytes([97 + self.times % 26]) * 3_000_000)
            os.utime(self.path, ns=(10**18, 10**18))  # as a sync does that keeps times
        return super().write(data)


def test_a_file_that_changes_while_it_is_copied_is_copied_whole_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "busy.bin"
    path.write_bytes(b"z" * 3_000_000)
    out = Meddler(path, 2)
    taken = copy_steadily(path, out)
    assert taken is not None
    assert taken.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert out.getvalue() == path.read_bytes() == b"a" * 3_000_000
    restless = Meddler(path, 1000)
    restless.seek(0)
    with pytest.raises(StorageFailed, match=r"busy\.bin kept changing"):
        copy_steadily(path, restless)
    assert restless.getvalue() == b""
    assert copy_steadily(tmp_path / "absent", io.BytesIO()) is None
