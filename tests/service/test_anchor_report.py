"""What a check of the anchors says of each place: how many, the newest, what is wrong, what was passed over."""

import subprocess
from pathlib import Path
from typing import Any

from memsvc.model.requests import AuditRequest
from tests.invariants.vandal import behind_the_back
from tests.service.world import World, human


def places(world: World, **more: Any) -> dict[str, dict[str, Any]]:
    """By the name of the file, what was found there."""
    found: Any = world.service.audit_verify(**more)["anchors"]
    return {Path(one["place"]).name: one for one in found}


def test_each_place_tells_its_newest_anchor_and_when_it_was_made(world: World) -> None:
    outside = world.root / "outside.jsonl"
    first = world.service.audit_anchor(human(), to=str(outside))
    world.save("Host", "The staging host is called marsh.")
    second = world.service.audit_anchor(human())
    found = places(world)
    assert set(found) == {"anchors.jsonl", "outside.jsonl"}
    own, other = found["anchors.jsonl"], found["outside.jsonl"]
    assert (own["ok"], own["anchors"], own["seq"], own["at"]) == (
        True,
        2,
        second["seq"],
        second["at"],
    )
    assert (other["ok"], other["anchors"], other["seq"]) == (True, 1, first["seq"])
    assert (own["problems"], own["notices"]) == ([], [])
    assert int(str(second["seq"])) > int(str(first["seq"]))


def test_anchors_of_other_homes_are_counted_and_passed_over(tmp_path: Path) -> None:
    one, two = World(tmp_path / "one"), World(tmp_path / "two")
    shared = tmp_path / "shared.jsonl"
    one.service.audit_anchor(human(), to=str(shared))
    for _ in range(2):
        two.save("Host", "The staging host is called marsh.")
        two.service.audit_anchor(human(), to=str(shared))
    (mine,) = [found for name, found in places(one).items() if name == shared.name]
    assert (mine["ok"], mine["anchors"]) == (True, 1)
    assert mine["notices"] == ["2 anchors of other databases were passed over"]
    (theirs,) = [found for name, found in places(two).items() if name == shared.name]
    assert theirs["anchors"] == 2
    assert theirs["notices"] == ["1 anchors of other databases were passed over"]
    assert theirs["seq"] > mine["seq"]
    one.service.close()
    two.service.close()


def test_a_place_with_nothing_of_this_home_is_told_only_where_it_was_expected(
    tmp_path: Path,
) -> None:
    one, two = World(tmp_path / "one"), World(tmp_path / "two")
    theirs = tmp_path / "theirs.jsonl"
    two.service.audit_anchor(human(), to=str(theirs))
    assert places(one) == {}
    found = places(one, anchors=[str(theirs)])["theirs.jsonl"]
    assert (found["ok"], found["anchors"], found["seq"], found["at"]) == (False, 0, 0, "")
    assert [words in str(found["problems"]) for words in ("no anchor there", "is gone")] == [
        True,
        False,
    ]
    gone = places(one, anchors=[str(tmp_path / "none.jsonl")])["none.jsonl"]
    assert "is gone; put it back" in str(gone["problems"])
    one.service.close()
    two.service.close()


def test_of_many_anchors_that_do_not_agree_the_newest_are_told_and_the_rest_counted(
    world: World,
) -> None:
    for number in range(9):
        world.save(f"Host {number}", f"The staging host {number} is called marsh.")
        world.service.audit_anchor(human())
    first = world.service.audit_list(human(), AuditRequest(action="save")).events[-1].seq
    with behind_the_back(world.root / "home" / "memsvc.db") as raw:
        raw.execute(f"UPDATE audit_event SET hash = 'x' || substr(hash, 2) WHERE seq >= {first}")  # noqa: S608 - a number
    found = places(world)["anchors.jsonl"]
    assert (found["ok"], found["anchors"]) == (False, 9)
    assert len(found["problems"]) == MOST + 1
    assert f"{9 - MOST} older anchors do not agree either" in found["problems"][-1]


MOST = 5


def test_a_vault_in_a_clone_of_anothers_repository_owes_no_anchors(tmp_path: Path) -> None:
    def git(at: Path, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=at, check=True, capture_output=True)

    one, two = World(tmp_path / "one"), World(tmp_path / "two")
    git(one.vault, "init", "-q")
    for name, value in (("user.name", "t"), ("user.email", "t@example.org")):
        git(one.vault, "config", name, value)
    one.save("Host", "The staging host is called marsh.")
    one.service.audit_anchor(human(), git=True)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(one.vault), str(clone))
    assert len(places(one)) == 2
    two.service.vault_add(human(), "team", str(clone), {})
    report = two.service.audit_verify()
    assert (report["ok"], report["anchors"]) == (True, [])
    one.service.close()
    two.service.close()
