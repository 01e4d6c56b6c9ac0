"""The ring of tombstone keys: made once, rotated, and read again when its file changes."""

from pathlib import Path

import pytest

from memsvc.errors import Misconfigured, StorageFailed
from memsvc.ledger.keys import KeyRing, RingFile
from memsvc.model.identity import Scope
from memsvc.model.vocabulary import ProjectSlug, VaultName

SCOPE = Scope(VaultName("v"), ProjectSlug("p"))


def test_a_rotated_ring_digests_with_the_new_key_and_checks_all(tmp_path: Path) -> None:
    file = tmp_path / "tombstone.keys"
    first = KeyRing.open(file, create=True)
    second = first.rotated()
    assert KeyRing.open(file, create=False).ids == first.ids, "nothing is written before store"
    second.store()
    again = KeyRing.open(file, create=False)
    assert again.ids == second.ids == (*first.ids, second.ids[-1])
    assert again.digest(SCOPE, "x") == second.digest(SCOPE, "x") != first.digest(SCOPE, "x")
    assert again.candidates(SCOPE, "x") == (
        first.digest(SCOPE, "x")[1],
        second.digest(SCOPE, "x")[1],
    )
    assert [path.name for path in tmp_path.iterdir()] == ["tombstone.keys"]


def test_what_a_crash_left_of_a_rotation_is_no_hindrance(tmp_path: Path) -> None:
    file = tmp_path / "tombstone.keys"
    ring = KeyRing.open(file, create=True)
    (tmp_path / ".tombstone.keys.new").write_text('{"keys": [')
    ring.rotated().store()
    assert len(KeyRing.open(file, create=False).ids) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["tombstone.keys"]


def test_a_ring_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    ring = KeyRing.open(home / "tombstone.keys", create=True)
    ring.path.unlink()
    home.rmdir()
    with pytest.raises(StorageFailed, match="old keys stay"):
        ring.rotated().store()


def test_the_file_is_read_again_when_it_changed_and_only_then(tmp_path: Path) -> None:
    asked = []

    def needed() -> frozenset[str]:
        asked.append(1)
        return frozenset()

    file = tmp_path / "tombstone.keys"
    rings = RingFile(file, needed)
    first = rings()
    assert rings().ids == first.ids
    known = len(asked)
    assert rings() is rings()
    assert len(asked) == known
    first.rotated().store()
    assert len(rings().ids) == 2
    assert len(asked) == known + 1


def test_a_ring_without_a_needed_key_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "tombstone.keys"
    ring = KeyRing.open(file, create=True)
    assert RingFile(file, lambda: frozenset(ring.ids))().ids == ring.ids
    with pytest.raises(Misconfigured, match="lacks the keys beef"):
        RingFile(file, lambda: frozenset({*ring.ids, "beef"}))()
    file.unlink()
    with pytest.raises(Misconfigured, match="missing"):
        RingFile(file, lambda: frozenset(ring.ids))()
    assert not file.exists()
    file.write_text('{"keys": []}')
    with pytest.raises(Misconfigured, match="no key"):
        RingFile(file, frozenset)()


@pytest.mark.guarantee("C1")
def test_a_ring_that_is_lost_after_it_was_made_is_missed(tmp_path: Path) -> None:
    needed: list[str] = []
    file = tmp_path / "tombstone.keys"
    rings = RingFile(file, lambda: frozenset(needed))
    needed.extend(rings().ids)
    aside = file.rename(tmp_path / "aside")
    with pytest.raises(Misconfigured, match="missing"):
        rings()
    aside.rename(file)
    assert rings().ids == tuple(needed)


def test_a_ring_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    file = tmp_path / "tombstone.keys"
    file.mkdir()
    with pytest.raises(Misconfigured, match="cannot be read"):
        KeyRing.open(file, create=True)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"keys": 7}', '{"keys": [{}]}', "\x00\xff"])
def test_a_ring_that_is_no_ring_is_refused_and_left_as_it_is(tmp_path: Path, text: str) -> None:
    file = tmp_path / "tombstone.keys"
    file.write_text(text)
    with pytest.raises(Misconfigured):
        KeyRing.open(file, create=True)
    assert file.read_text() == text
    file.unlink()
    assert len(KeyRing.open(file, create=True).ids) == 1
