"""A backup is read without trust: whatever is not as its manifest says is refused, and nothing is put."""

import struct
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest

from memsvc.errors import InvalidInput, StorageFailed
from memsvc.ops.backup import sealing
from memsvc.ops.backup.archive import open_archive
from memsvc.ops.backup.manifest import parse
from tests.unit.ops.hostile import LINE, manifest_of, member, pack, whole

HASH = "c" * 64


def extract_all(path: Path, out: Path) -> None:
    with open_archive(path) as archive:
        for number, one in enumerate(archive.manifest.members):
            archive.extract(one, out / str(number))


def refused(path: Path, tmp_path: Path) -> str:
    """Read all of an archive the way a restore does; the refusal."""
    out = tmp_path / "out"
    out.mkdir(exist_ok=True)
    with pytest.raises(InvalidInput) as caught:
        extract_all(path, out)
    assert "\n" not in caught.value.message
    return caught.value.message


def test_a_whole_backup_is_read_and_each_file_keeps_bytes_time_and_mode(tmp_path: Path) -> None:
    files = whole()
    with open_archive(pack(tmp_path / "b.zip", files)) as archive:
        archive.verify()
        (note,) = [one for one in archive.manifest.members if one.name.endswith("cat.md")]
        archive.extract(note, tmp_path / "cat.md")
        with pytest.raises(InvalidInput, match="one name on this file system"):
            archive.extract(note, tmp_path / "cat.md")
    assert (tmp_path / "cat.md").read_bytes() == files["vaults/notes/cat.md"]
    assert (tmp_path / "cat.md").stat().st_mtime_ns == 1
    assert (tmp_path / "cat.md").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    "name",
    [
        "../evil.md",
        "/etc/evil.md",
        "vaults/notes/../../evil.md",
        "vaults/notes/./evil.md",
        "vaults/notes//evil.md",
        "vaults/../evil.md",
        "vaults/other/evil.md",
        "vaults/notes/",
        "home/../evil",
        "home/memsvc.db",
        "home/tombstone.keys",
        "evil.md",
        "C:evil.md",
    ],
)
def test_a_name_that_could_leave_its_place_is_refused(tmp_path: Path, name: str) -> None:
    files = {**whole(), name: b"evil"}
    path = pack(tmp_path / "b.zip", files)
    assert "name that no backup gives" in refused(path, tmp_path) or "plain file" in refused(
        path, tmp_path
    )
    assert not (tmp_path / "evil.md").exists()
    assert list((tmp_path / "out").iterdir()) == []


def test_a_link_in_the_archive_is_refused_and_a_plain_file_there_is_not(tmp_path: Path) -> None:
    for kind, is_refused in (
        (0o120777, True),
        (0o040755, True),
        (0o010644, True),
        (0o100644, False),
    ):
        files = whole()
        path = pack(tmp_path / f"{kind}.zip", {k: v for k, v in files.items() if "cat" not in k},
                    manifest_of(files))  # fmt: skip
        info = zipfile.ZipInfo("vaults/notes/cat.md")
        info.external_attr = kind << 16
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(info, files["vaults/notes/cat.md"])
        if is_refused:
            assert "no plain file" in refused(path, tmp_path)
        else:
            with open_archive(path) as archive_:
                archive_.verify()


def test_what_the_manifest_does_not_list_or_the_archive_lacks_is_refused(tmp_path: Path) -> None:
    files = whole()
    more = pack(tmp_path / "more.zip", files, **{"vaults/notes/extra.md": b"more"})
    assert "other files than its manifest says" in refused(more, tmp_path)
    sealed = pack(tmp_path / "sealed.zip", files, **{"keys.sealed": b"{}"})
    assert "other files than its manifest says" in refused(sealed, tmp_path)
    told = manifest_of({**files, "vaults/notes/gone.md": b"gone"})
    less = pack(tmp_path / "less.zip", files, told)
    assert "other files than its manifest says" in refused(less, tmp_path)


def test_changed_bytes_are_refused_at_the_same_size_and_at_another(tmp_path: Path) -> None:
    files = whole()
    told = manifest_of(files)
    note = files["vaults/notes/cat.md"]
    same = pack(tmp_path / "a.zip", {**files, "vaults/notes/cat.md": note[::-1]}, told)
    assert "not the one that was backed up" in refused(same, tmp_path)
    longer = pack(tmp_path / "b.zip", {**files, "vaults/notes/cat.md": note + b"!"}, told)
    assert "another size" in refused(longer, tmp_path)


def test_a_file_of_two_names_is_refused(tmp_path: Path) -> None:
    files = whole()
    path = pack(tmp_path / "b.zip", files)
    with warnings.catch_warnings(), zipfile.ZipFile(path, "a") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("vaults/notes/cat.md", files["vaults/notes/cat.md"])
    assert "one name" in refused(path, tmp_path)
    told = manifest_of(files)
    told["members"].append(told["members"][0])
    assert "one name" in refused(pack(tmp_path / "c.zip", files, told), tmp_path)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    bomb = pack(tmp_path / "manifest.zip", whole(), b"[" + b" " * (40 << 20) + b"]")
    assert "larger than it may be" in refused(bomb, tmp_path)
    files = {**whole(), "vaults/notes/big.bin": bytes(30 << 20)}
    path = pack(tmp_path / "lies.zip", files)
    data = bytearray(path.read_bytes())
    told = struct.pack("<I", 30 << 20)
    at = data.rindex(told)  # the directory's size of the member, not its own header's
    data[at : at + 4] = struct.pack("<I", 1 << 20)
    path.write_bytes(data)
    assert "another size" in refused(path, tmp_path)
    with open_archive(pack(tmp_path / "large.zip", whole())) as archive:
        one = archive.manifest.members[0]
        huge = [type(one)(name="x", size=1 << 60, sha256=HASH, mtime_ns=0, mode=0)]
        with pytest.raises(StorageFailed, match="MB free"):
            archive.room_for(tmp_path, huge)
        archive.room_for(tmp_path, [one])


def test_files_that_lie_over_one_another_are_refused(tmp_path: Path) -> None:
    files = {**whole(), "vaults/notes/dog.md": whole()["vaults/notes/cat.md"]}
    path = pack(tmp_path / "b.zip", files)
    with zipfile.ZipFile(path) as archive:
        offsets = {one.filename: one.header_offset for one in archive.infolist()}
    data = bytearray(path.read_bytes())
    entry = data.rindex(b"vaults/notes/dog.md") - 46
    assert data[entry : entry + 4] == b"PK\x01\x02"
    assert struct.unpack_from("<I", data, entry + 42)[0] == offsets["vaults/notes/dog.md"]
    struct.pack_into("<I", data, entry + 42, offsets["vaults/notes/cat.md"])
    path.write_bytes(data)
    assert "lie over one another" in refused(path, tmp_path)


def test_every_truncation_and_noise_is_refused_in_one_line(tmp_path: Path) -> None:
    whole_one = pack(tmp_path / "b.zip", whole()).read_bytes()
    path = tmp_path / "cut.zip"
    for size in (0, 1, 30, len(whole_one) // 2, len(whole_one) - 1):
        path.write_bytes(whole_one[:size])
        assert "no whole memsvc backup" in refused(path, tmp_path)
    path.write_bytes(b"\x1f\x8b not a zip at all")
    assert "no zip file" in refused(path, tmp_path)
    assert "there is no file" in refused(tmp_path / "absent.zip", tmp_path)
    flipped = 0
    for at in range(0, len(whole_one), 7):
        data = bytearray(whole_one)
        data[at] ^= 0x55
        path.write_bytes(data)
        try:
            with open_archive(path) as archive:
                archive.verify()
        except InvalidInput:
            flipped += 1
    assert flipped > len(whole_one) // 7 * 0.7  # the rest are times, versions and attributes


@pytest.mark.parametrize(
    "changed",
    [
        {"format": "memsvc-backup-2"},
        {"format": "other"},
        {"seq": "1"},
        {"seq": True},
        {"members": {}},
        {"keys": "nowhere"},
        {"vaults": [{"name": "notes"}]},
        {"made": None},
        {"members": [{**member("ledger.db", b""), "sha256": "A" * 64}]},
        {"members": [{**member("ledger.db", b""), "size": -1}]},
    ],
)
def test_a_manifest_of_another_shape_is_refused(changed: dict[str, Any], tmp_path: Path) -> None:
    files = whole()
    with open_archive(pack(tmp_path / "good.zip", files)) as archive:
        assert archive.manifest.seq == 1
    path = pack(tmp_path / "b.zip", files, manifest_of(files, **changed))
    assert refused(path, tmp_path)


@pytest.mark.parametrize("inside", ["../up", "/abs", "a/../b", ".."])
def test_a_vault_folder_that_leaves_the_home_is_refused(inside: str) -> None:
    import json

    told = manifest_of(whole())
    told["vaults"][0]["inside"] = "personal"
    assert parse(json.dumps(told).encode()).vaults[0].inside == "personal"
    told["vaults"][0]["inside"] = inside
    with pytest.raises(InvalidInput, match="leaves the home"):
        parse(json.dumps(told).encode())


def test_sealed_keys_open_with_their_passphrase_and_manifest_only() -> None:
    files = {"tombstone.keys": LINE, "anchor.key": "{}"}
    sealed = sealing.seal(files, "correct horse", bound_to=HASH)
    assert LINE.encode()[:40] not in sealed
    assert sealing.unseal(sealed, "correct horse", bound_to=HASH) == files
    for passphrase, bound_to in (("correct horsf", HASH), ("correct horse", "d" * 64)):
        with pytest.raises(InvalidInput, match="passphrase is not the one"):
            sealing.unseal(sealed, passphrase, bound_to=bound_to)
    for damage in (
        b"",
        b"{}",
        b"[1]",
        sealed.replace(b'"n": 65536', b'"n": 1073741824'),
        sealed[:-9],
    ):
        with pytest.raises(InvalidInput, match="damaged"):
            sealing.unseal(damage, "correct horse", bound_to=HASH)
    with pytest.raises(InvalidInput, match="fewer than"):
        sealing.seal(files, "short", bound_to=HASH)


def test_keys_apart_go_with_their_manifest_only() -> None:
    files = {"tombstone.keys": LINE}
    apart = sealing.apart({**files, "../evil": "x"}, bound_to=HASH)
    assert sealing.from_apart(apart, bound_to=HASH) == files
    with pytest.raises(InvalidInput, match="another backup"):
        sealing.from_apart(apart, bound_to="d" * 64)
    for damage in (b"", b"{}", b"[]", b'{"format": "memsvc-keys-1", "files": 3, "manifest": ""}'):
        with pytest.raises(InvalidInput, match="no file of keys"):
            sealing.from_apart(damage, bound_to=HASH)
