"""Files are whole or absent, never overwritten unseen, and failures say what to do."""

import errno
import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from memsvc.errors import StorageFailed
from memsvc.notes import disk
from memsvc.notes.disk import FileChanged, leftovers, move, probe, signature, stage
from memsvc.notes.paths import is_note_path
from memsvc.notes.walk import walk

NOBODY = 65534


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def everything(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*")}


@contextmanager
def small_disk(folder: Path, options: str) -> Iterator[Path]:
    """A real file system of its own, mounted on a new folder."""
    mount, place = shutil.which("mount"), folder / "disk"
    if mount is None or os.geteuid() != 0:
        pytest.skip("only root can mount a small disk")
    place.mkdir()
    done = subprocess.run(
        [mount, "-t", "tmpfs", "-o", options, "tmpfs", str(place)], capture_output=True, check=False
    )
    if done.returncode != 0:
        pytest.skip("this system does not let the test mount a small disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


@pytest.mark.guarantee("W4")
def test_a_staged_file_is_no_note_until_it_is_published(tmp_path: Path) -> None:
    target = tmp_path / "heron" / "release.md"
    staged = stage(target, b"text")
    assert walk(tmp_path).files == {}
    [left] = leftovers(tmp_path)
    assert not is_note_path(left.relative_to(tmp_path).as_posix())
    assert left.read_bytes() == b"text"
    staged.publish(expect=None)
    assert target.read_bytes() == b"text"
    assert everything(tmp_path) == {"heron", "heron/release.md"}
    staged.publish(expect=None)
    staged.discard()
    assert target.read_bytes() == b"text"


def test_a_discarded_file_leaves_nothing_not_even_its_folders(tmp_path: Path) -> None:
    staged = stage(tmp_path / "a" / "b" / "x.md", b"text")
    assert everything(tmp_path) > {"a", "a/b"}
    staged.discard()
    staged.publish(expect=None)
    assert everything(tmp_path) == set()


def test_discarding_keeps_a_folder_that_someone_else_uses(tmp_path: Path) -> None:
    staged = stage(tmp_path / "a" / "x.md", b"text")
    (tmp_path / "a" / "theirs.md").write_bytes(b"theirs")
    staged.discard()
    assert everything(tmp_path) == {"a", "a/theirs.md"}


@pytest.mark.guarantee("W5", "W6")
def test_a_file_that_changed_meanwhile_is_never_overwritten(tmp_path: Path) -> None:
    target = tmp_path / "x.md"
    target.write_bytes(b"mine")
    staged = stage(target, b"new")
    for expect in (None, sha(b"older")):
        with pytest.raises(FileChanged):
            staged.publish(expect=expect)
        assert target.read_bytes() == b"mine"
    staged.publish(expect=sha(b"mine"))
    assert target.read_bytes() == b"new"
    assert leftovers(tmp_path) == []


@pytest.mark.guarantee("W5", "W6")
def test_a_file_that_went_away_is_not_made_again(tmp_path: Path) -> None:
    target = tmp_path / "x.md"
    staged = stage(target, b"new")
    with pytest.raises(FileChanged):
        staged.publish(expect=sha(b"old"))
    staged.discard()
    assert everything(tmp_path) == set()


@pytest.mark.guarantee("W5", "W6")
def test_of_two_writers_of_one_new_file_one_is_told(tmp_path: Path) -> None:
    first, second = stage(tmp_path / "x.md", b"one"), stage(tmp_path / "x.md", b"two")
    second.publish(expect=None)
    with pytest.raises(FileChanged):
        first.publish(expect=None)
    first.discard()
    assert (tmp_path / "x.md").read_bytes() == b"two"
    assert leftovers(tmp_path) == []


def test_mode_and_owner_of_a_file_are_kept(tmp_path: Path) -> None:
    target, fresh = tmp_path / "x.md", tmp_path / "y.md"
    target.write_bytes(b"old")
    target.chmod(0o640)
    owner = NOBODY if os.geteuid() == 0 else os.geteuid()
    os.chown(target, owner, -1)
    stage(target, b"new").publish(expect=sha(b"old"))
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert target.stat().st_uid == owner
    before = os.umask(0o027)
    try:
        stage(fresh, b"new").publish(expect=None)
    finally:
        os.umask(before)
    assert stat.S_IMODE(fresh.stat().st_mode) == 0o640


@pytest.mark.guarantee("W4")
def test_a_full_disk_is_told_at_staging_and_leaves_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path, "size=64k") as place:
        stage(place / "kept.md", b"kept").publish(expect=None)
        with pytest.raises(StorageFailed) as caught:
            stage(place / "a" / "x.md", b"x" * 200_000)
        assert "free some space" in caught.value.message
        assert str(tmp_path) not in caught.value.message
        assert everything(place) == {"kept.md"}
        stage(place / "a" / "x.md", b"small").publish(expect=None)
        assert (place / "a" / "x.md").read_bytes() == b"small"


@pytest.mark.guarantee("W4")
def test_a_disk_without_free_entries_is_told_before_anything_is_moved(tmp_path: Path) -> None:
    with small_disk(tmp_path, "size=1m,nr_inodes=4") as place:
        (place / "x.md").write_bytes(b"x")
        (place / "y.md").write_bytes(b"y")
        (place / "z.md").write_bytes(b"z")
        with pytest.raises(StorageFailed):
            probe(place / ".trash")
        with pytest.raises(StorageFailed):
            move(place / "x.md", place / ".trash" / "x.md", expect=sha(b"x"))
        assert everything(place) == {"x.md", "y.md", "z.md"}
        (place / "y.md").unlink()
        (place / "z.md").unlink()
        move(place / "x.md", place / ".trash" / "x.md", expect=sha(b"x"))
        assert everything(place) == {".trash", ".trash/x.md"}


@pytest.mark.guarantee("W4")
def test_a_read_only_disk_is_told_at_staging(tmp_path: Path) -> None:
    with small_disk(tmp_path, "size=1m") as place:
        (place / "x.md").write_bytes(b"x")
        probe(place)
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        for attempt in (
            lambda: stage(place / "x.md", b"y"),
            lambda: probe(place),
            lambda: move(place / "x.md", place / "z.md", expect=sha(b"x")),
        ):
            with pytest.raises(StorageFailed) as caught:
                attempt()
            assert "read-only" in caught.value.message
            assert str(tmp_path) not in caught.value.message
        assert everything(place) == {"x.md"}


def test_a_folder_without_permission_is_told_at_staging() -> None:
    place = Path(tempfile.mkdtemp())
    try:
        place.chmod(0o555)
        if os.geteuid() == 0:
            os.seteuid(NOBODY)
        with pytest.raises(StorageFailed) as caught:
            stage(place / "x.md", b"x")
        with pytest.raises(StorageFailed):
            probe(place)
    finally:
        with suppress(PermissionError):
            os.seteuid(os.getuid())
        place.chmod(0o755)
    assert "permission" in caught.value.message
    assert everything(place) == set()
    probe(place)
    assert everything(place) == set()
    place.rmdir()


def test_names_and_folders_that_cannot_be_are_told_at_staging(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(StorageFailed) as caught:
        stage(tmp_path / ("n" * 300 + ".md"), b"x")
    assert "too long" in caught.value.message
    with pytest.raises(StorageFailed):
        stage(tmp_path / "file" / "x.md", b"x")
    assert everything(tmp_path) == {"file"}
    longest = tmp_path / ("日" * 84 + ".md")
    stage(longest, b"x").publish(expect=None)
    assert longest.read_bytes() == b"x"


def test_a_folder_where_the_file_should_go_is_told_and_cleaned_up(tmp_path: Path) -> None:
    target = tmp_path / "x.md"
    target.mkdir()
    staged = stage(target, b"x")
    with pytest.raises(FileChanged):
        staged.publish(expect=None)
    with pytest.raises(StorageFailed):
        staged.publish(expect=sha(b"old"))
    assert everything(tmp_path) == {"x.md"}


@pytest.mark.guarantee("W6")
def test_a_move_keeps_the_bytes_and_never_overwrites(tmp_path: Path) -> None:
    source, target = tmp_path / "x.md", tmp_path / ".trash" / "x.md"
    source.write_bytes(b"x")
    with pytest.raises(FileChanged):
        move(source, target, expect=sha(b"other"))
    assert source.read_bytes() == b"x"
    before = signature(source)
    move(source, target, expect=sha(b"x"))
    assert everything(tmp_path) == {".trash", ".trash/x.md"}
    assert (signature(target).inode, signature(target).mtime_ns) == (before.inode, before.mtime_ns)
    source.write_bytes(b"second")
    with pytest.raises(FileChanged):
        move(source, target, expect=sha(b"second"))
    assert (source.read_bytes(), target.read_bytes()) == (b"second", b"x")
    with pytest.raises(FileChanged):
        move(tmp_path / "gone.md", tmp_path / "y.md", expect=sha(b"x"))


@pytest.mark.guarantee("W4")
def test_a_move_that_was_cut_off_half_way_is_finished(tmp_path: Path) -> None:
    source, target = tmp_path / "x.md", tmp_path / "y.md"
    source.write_bytes(b"x")
    os.link(source, target)
    move(source, target, expect=sha(b"x"))
    assert everything(tmp_path) == {"y.md"}
    assert target.read_bytes() == b"x"


def test_a_move_to_another_disk_copies_and_never_overwrites(tmp_path: Path) -> None:
    source = tmp_path / "x.md"
    source.write_bytes(b"x")
    with small_disk(tmp_path, "size=1m") as place:
        move(source, place / "x.md", expect=sha(b"x"))
        assert everything(place) == {"x.md"}
        assert not source.exists()
        source.write_bytes(b"y")
        with pytest.raises(FileChanged):
            move(source, place / "x.md", expect=sha(b"y"))
        assert source.read_bytes() == b"y"
        assert everything(place) == {"x.md"}


def test_a_name_is_claimed_where_no_hard_links_exist(tmp_path: Path) -> None:
    disk._claim(tmp_path / "x.md")
    assert (tmp_path / "x.md").read_bytes() == b""
    with pytest.raises(FileChanged):
        disk._claim(tmp_path / "x.md")


@pytest.mark.guarantee("W4")
def test_a_killed_writer_leaves_the_old_file_whole_and_a_leftover_to_find(tmp_path: Path) -> None:
    target = tmp_path / "x.md"
    target.write_bytes(b"old")
    program = (
        "import os, signal, sys; from pathlib import Path; from memsvc.notes.disk import stage\n"
        "stage(Path(sys.argv[1]), b'new'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(target)], check=False)
    assert done.returncode == -9
    assert target.read_bytes() == b"old"
    assert set(walk(tmp_path).files) == {"x.md"}
    assert len(leftovers(tmp_path)) == 1


def test_leftovers_are_ours_only(tmp_path: Path) -> None:
    for name in (
        ".x.tmp",
        ".notes.memsvc-tmp",
        "x.0123456789ab.memsvc-tmp",
        ".git/.x.0123456789ab.memsvc-tmp",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"theirs")
    assert leftovers(tmp_path) == []
    stage(tmp_path / "a" / "x.md", b"ours")
    assert [path.parent for path in leftovers(tmp_path)] == [tmp_path / "a"]


def test_a_failure_names_the_systems_words_when_it_has_no_advice() -> None:
    with pytest.raises(StorageFailed, match="Input/output error"), disk._failing("x.md"):
        raise OSError(errno.EIO, os.strerror(errno.EIO), "/somewhere/else")
