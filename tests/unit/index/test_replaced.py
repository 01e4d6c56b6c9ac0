"""When a note is replaced: since its successor holds, as far as a reader may know, and where it leads."""

from pathlib import Path
from typing import Any

import pytest

from memsvc.model.vocabulary import Status, Trust
from tests.unit.index.place import Place, scope

JAN, FEB, MAR, APR = (f"2026-{month:02}-01T00:00:00.000000Z" for month in (1, 2, 3, 4))
MID_JAN, MID_FEB = "2026-01-15T00:00:00.000000Z", "2026-02-15T00:00:00.000000Z"
FUTURE = "2027-06-01T00:00:00.000000Z"


def put_old(place: Place, **more: Any) -> None:
    given: dict[str, Any] = {
        "status": Status.SUPERSEDED,
        "superseded_by": "N",
        "end_mode": "superseded",
    }
    place.put("OLD", "old value", **{**given, **more})


@pytest.mark.guarantee("C4")
def test_only_what_was_replaced_leads_on(place: Place) -> None:
    gone: dict[str, Any] = {"status": Status.SUPERSEDED, "superseded_by": "N"}
    ended: dict[str, Any] = {
        "valid_to": FEB,
        "ended_at": FEB,
        "end_mode": "changed",
        "latest": False,
    }
    place.put("N", "new", trust=Trust.HUMAN)
    place.put("LEADS", "text", **gone)
    place.put("NOWHERE", "text", status=Status.SUPERSEDED)
    place.put("WRONG", "text", recorded_to=MAR, end_mode="wrong", **gone)
    place.put("LATER", "text", valid_from=FUTURE, **gone)
    place.put("RUN", "text", valid_to=FEB)
    place.put("CHANGED", "text", **ended)
    place.put("TAKEN", "text", **{**ended, "status": Status.RETRACTED})
    place.put("LASTS", "text", **{**ended, "valid_to": FUTURE, "ended_at": ""})
    place.put("STANDS", "text", status=Status.SUPERSEDED, superseded_by="AHEAD")
    place.put("AHEAD", "text", trust=Trust.HUMAN, valid_from=FUTURE)
    for trust, seen in ((Trust.AGENT, {"N", "LASTS", "STANDS"}), (Trust.HUMAN, {"N"})):
        found = place.visible(min_trust=trust)
        assert set(found.note_ids) == {"LEADS", "CHANGED"} | seen
        assert {name for name, _ in place.seen(min_trust=trust)} == seen
        assert found.note_ids[found.successor[found.note_ids.index("LEADS")]] == "N"


@pytest.mark.guarantee("C4")
def test_a_note_stands_until_its_own_successor_holds(place: Place) -> None:
    put_old(place)
    place.put("N", "new", valid_from=FUTURE)
    place.put("X", "another", valid_from=JAN)
    assert place.seen() == [("OLD", 1), ("X", 1)]
    assert place.seen(now=FUTURE) == [("N", 1), ("X", 1)]


@pytest.mark.guarantee("C4", "S1")
def test_a_successor_of_another_scope_tells_nothing_of_when_it_begins(place: Place) -> None:
    put_old(place)
    place.put("N", "new", project="osprey", valid_from=FUTURE)
    assert place.seen() == []
    assert place.seen(scope(), scope("osprey")) == [("OLD", 1)]


@pytest.mark.parametrize(
    ("status", "seen"),
    [(Status.PROPOSED, []), (Status.RETRACTED, []), (Status.ACTIVE, [("OLD", 1)])],
)
def test_a_successor_that_is_withheld_tells_nothing_of_when_it_begins(
    place: Place, status: Status, seen: list[tuple[str, int]]
) -> None:
    put_old(place)
    place.put("N", "new", status=status, valid_from=FUTURE)
    assert place.seen() == seen


def test_a_successor_that_was_replaced_itself_still_tells_when_it_began(place: Place) -> None:
    put_old(place)
    place.put("N", "new", status=Status.SUPERSEDED, superseded_by="Z", valid_from=FUTURE)
    place.put("Z", "newest", valid_from=FUTURE)
    assert place.seen() == [("OLD", 1)]


def test_what_was_learned_of_a_successor_counts_since_it_was_learned(
    place: Place, tmp_path: Path
) -> None:
    put_old(place, ended_at=JAN)
    place.put("N", "new", valid_from=APR, recorded_from=MAR)
    assert place.seen(known_at=MID_FEB) == []
    assert place.seen(known_at=MAR) == [("OLD", 1)]
    other = Place(tmp_path / "other.db")
    put_old(other, ended_at=JAN)
    wrong: dict[str, Any] = {
        "recorded_from": JAN,
        "recorded_to": FEB,
        "end_mode": "wrong",
        "latest": False,
    }
    other.put("N", "too early", valid_from=JAN, **wrong)
    other.put("N", "new", version=2, valid_from=APR, recorded_from=FEB)
    assert other.seen(known_at=FEB) == [("OLD", 1)]
    assert other.seen(as_of=MID_FEB) == [("OLD", 1)]
    assert other.seen(known_at=MID_JAN) == [("N", 1)]
    other.database.close()
    late = Place(tmp_path / "late.db")
    put_old(late, ended_at=JAN)
    late.put("N", "too late", valid_from=APR, **wrong)
    late.put("N", "new", version=2, recorded_from=FEB)
    assert late.seen(known_at=MID_JAN) == [("OLD", 1)]
    assert late.seen(known_at=FEB) == [("N", 2)]
    late.database.close()
