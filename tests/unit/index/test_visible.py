"""Which versions a read may see: status, validity, what was recorded when, and what leads on."""

from pathlib import Path

import pytest

from memsvc.index import writer
from memsvc.index.values import Filters
from memsvc.index.visible import visible
from memsvc.model.vocabulary import Kind, Status, Trust
from tests.unit.index.place import NOW, Place, reading, scope

JAN, FEB, MAR, APR = (f"2026-{month:02}-01T00:00:00.000000Z" for month in (1, 2, 3, 4))
MID_JAN, MID_FEB, MID_MAR, MID_APR = (
    f"2026-{month:02}-15T00:00:00.000000Z" for month in (1, 2, 3, 4)
)
BEFORE, FUTURE = "2025-12-01T00:00:00.000000Z", "2027-06-01T00:00:00.000000Z"


@pytest.mark.parametrize(
    "status", [Status.PROPOSED, Status.DISPUTED, Status.RETRACTED, Status.REJECTED]
)
@pytest.mark.parametrize(
    "filters",
    [{}, {"history": True}, {"as_of": MID_FEB}, {"known_at": MID_FEB}, {"as_of": JAN, "history": True},
     {"now": ""}],
)  # fmt: skip
def test_what_is_withheld_is_seen_in_no_mode(
    place: Place, status: Status, filters: dict[str, object]
) -> None:
    place.put("HIDDEN", "text", status=status)
    place.put("OPEN", "text")
    assert place.seen(**filters) == [("OPEN", 1)]


def test_validity_is_half_open(place: Place) -> None:
    place.put("A", "text", valid_from=FEB, valid_to=MAR)
    place.put("ALWAYS", "text", recorded_from=JAN)
    for moment, there in ((MID_JAN, False), (FEB, True), (MID_FEB, True), (MAR, False)):
        assert (("A", 1) in place.seen(as_of=moment)) is there
        assert (("A", 1) in place.seen(now=moment)) is there
        assert ("ALWAYS", 1) in place.seen(now=moment)
    assert place.visible(now=MID_JAN).withheld == {"not_yet_valid": 1}
    assert place.visible(now=MID_APR).withheld == {"expired": 1}


def put_changed(place: Place) -> None:
    """True since January; in March somebody tells that it is otherwise since February."""
    place.put(
        "N", "old value", valid_from=JAN, valid_to=FEB, ended_at=MAR, end_mode="changed",
        recorded_from=JAN, latest=False,
    )  # fmt: skip
    place.put("N", "new value", version=2, valid_from=FEB, recorded_from=MAR)


def put_wrong(place: Place) -> None:
    place.put(
        "N", "wrong value", recorded_from=JAN, recorded_to=MAR, end_mode="wrong", latest=False
    )
    place.put("N", "right value", version=2, recorded_from=MAR)


def put_amended(place: Place) -> None:
    place.put("N", "a typpo", recorded_from=JAN, recorded_to=MAR, end_mode="amend", latest=False)
    place.put("N", "a typo", version=2, recorded_from=MAR)


def put_superseded(place: Place) -> None:
    place.put(
        "OLD", "old value", valid_to=MAR, ended_at=MAR, recorded_from=JAN, end_mode="superseded",
        status=Status.SUPERSEDED, superseded_by="N",
    )  # fmt: skip
    place.put("N", "new value", recorded_from=MAR, valid_from=MAR)


def put_replaced(place: Place) -> None:
    """Nobody said until when the old value held."""
    place.put("OLD", "old value", ended_at=MAR, recorded_from=JAN, end_mode="superseded",
        status=Status.SUPERSEDED, superseded_by="N",
    )  # fmt: skip
    place.put("N", "new value", recorded_from=MAR, valid_from=MAR)


def put_long_wrong(place: Place) -> None:
    """It had run out before anybody said that it never was true."""
    place.put(
        "N", "wrong value", valid_from=JAN, valid_to=FEB, recorded_from=JAN, recorded_to=MAR,
        end_mode="wrong", latest=False,
    )  # fmt: skip
    place.put("N", "right value", version=2, recorded_from=MAR)


@pytest.mark.parametrize(
    ("put", "filters", "expected"),
    [
        (put_changed, {}, [("N", 2)]),
        (put_changed, {"as_of": MID_JAN}, [("N", 1)]),
        (put_changed, {"as_of": MID_FEB}, [("N", 2)]),
        (put_changed, {"known_at": MID_FEB}, [("N", 1)]),
        (put_changed, {"known_at": MID_APR}, [("N", 2)]),
        (put_changed, {"known_at": MAR}, [("N", 2)]),
        (put_changed, {"as_of": MID_FEB, "known_at": MID_FEB}, [("N", 1)]),
        (put_changed, {"as_of": MID_JAN, "known_at": MID_APR}, [("N", 1)]),
        (put_changed, {"history": True}, [("N", 1), ("N", 2)]),
        (put_changed, {"history": True, "as_of": MID_JAN}, [("N", 1)]),
        (put_wrong, {}, [("N", 2)]),
        (put_wrong, {"as_of": MID_JAN}, [("N", 2)]),
        (put_wrong, {"known_at": MID_FEB}, [("N", 1)]),
        (put_wrong, {"known_at": MAR}, [("N", 2)]),
        (put_wrong, {"known_at": MID_FEB, "history": True}, [("N", 1)]),
        (put_wrong, {"history": True}, [("N", 2)]),
        (put_wrong, {"history": True, "as_of": MID_JAN}, [("N", 2)]),
        (put_amended, {}, [("N", 2)]),
        (put_amended, {"as_of": MID_JAN}, [("N", 2)]),
        (put_amended, {"known_at": MID_FEB}, [("N", 1)]),
        (put_amended, {"history": True}, [("N", 1), ("N", 2)]),
        (put_amended, {"history": True, "known_at": BEFORE}, []),
        (put_superseded, {}, [("N", 1)]),
        (put_superseded, {"as_of": MID_FEB}, [("OLD", 1)]),
        (put_superseded, {"known_at": MID_FEB}, [("OLD", 1)]),
        (put_superseded, {"known_at": MAR}, [("N", 1)]),
        (put_superseded, {"as_of": MAR}, [("N", 1)]),
        (put_superseded, {"as_of": MID_APR}, [("N", 1)]),
        (put_superseded, {"history": True}, [("N", 1), ("OLD", 1)]),
        (put_replaced, {}, [("N", 1)]),
        (put_replaced, {"as_of": MID_FEB}, [("OLD", 1)]),
        (put_replaced, {"as_of": MAR}, [("N", 1)]),
        (put_replaced, {"known_at": MID_FEB}, [("OLD", 1)]),
        (put_replaced, {"known_at": MAR}, [("N", 1)]),
        (put_replaced, {"history": True}, [("N", 1), ("OLD", 1)]),
        (put_long_wrong, {}, [("N", 2)]),
        (put_long_wrong, {"history": True}, [("N", 2)]),
        (put_long_wrong, {"known_at": MID_FEB, "history": True}, [("N", 1)]),
    ],
)
def test_time_decides_which_version_is_seen(
    place: Place, put: object, filters: dict[str, object], expected: list[tuple[str, int]]
) -> None:
    assert callable(put)
    put(place)
    assert place.seen(**filters) == expected


@pytest.mark.guarantee("W4")
def test_what_was_recorded_before_the_clock_was_set_back_is_seen_at_once(place: Place) -> None:
    place.put("A", "a", recorded_from=FUTURE)
    place.put("B", "b", recorded_from=NOW)
    assert place.seen() == place.seen(as_of=NOW) == [("A", 1), ("B", 1)]
    assert place.seen(known_at=NOW) == [("B", 1)]


@pytest.mark.guarantee("C4")
def test_a_replaced_note_with_an_unknown_end_is_never_seen_as_true_then(place: Place) -> None:
    place.put("OLD", "old", status=Status.SUPERSEDED, superseded_by="N")
    place.put("N", "new")
    for filters in ({}, {"as_of": MID_FEB}, {"as_of": NOW}):
        assert place.seen(**filters) == [("N", 1)]
    found = place.visible(history=True)
    assert dict(zip(found.note_ids, found.current.tolist(), strict=True)) == {
        "OLD": False,
        "N": True,
    }


@pytest.mark.guarantee("C4")
def test_a_replaced_note_that_tells_its_end_was_true_until_then_and_is_never_current(
    place: Place,
) -> None:
    place.put("OLD", "old", status=Status.SUPERSEDED, superseded_by="N", valid_to=MAR)
    place.put("LONG", "long", status=Status.SUPERSEDED, superseded_by="N", valid_to=FUTURE)
    place.put("N", "new")
    assert place.seen() == [("N", 1)]
    assert place.seen(as_of=MID_FEB) == [("LONG", 1), ("N", 1), ("OLD", 1)]
    assert place.seen(as_of=MID_APR) == [("LONG", 1), ("N", 1)]


def test_what_was_true_or_believed_then_is_not_current_for_that(place: Place) -> None:
    put_wrong(place)
    place.put("ENDED", "text", valid_to=MAR)
    place.put("AHEAD", "text", valid_from=FUTURE)
    place.put("TILL", "text", status=Status.SUPERSEDED, superseded_by="AHEAD")
    place.put("GONE", "text", status=Status.SUPERSEDED, superseded_by="N", valid_to=MAR)
    place.put("UNTIL", "text", valid_from=NOW, valid_to=FUTURE)
    place.put("EDGE", "text", valid_from=MAR, valid_to=NOW)
    place.put("SWITCH", "text", status=Status.SUPERSEDED, superseded_by="UNTIL")

    def current(**filters: object) -> dict[tuple[str, int], bool]:
        found = place.visible(**filters)
        names = zip(found.note_ids, found.versions.tolist(), strict=True)
        told = zip(names, found.current.tolist(), found.seen.tolist(), strict=True)
        return {name: now for name, now, seen in told if seen}

    assert current() == {("N", 2): True, ("TILL", 1): True, ("UNTIL", 1): True}
    assert current(as_of=APR) == {
        ("N", 2): True, ("TILL", 1): True, ("EDGE", 1): False, ("SWITCH", 1): False,
    }  # fmt: skip
    assert current(known_at=MID_FEB) == {
        ("N", 1): False, ("ENDED", 1): False, ("TILL", 1): True, ("SWITCH", 1): False,
    }  # fmt: skip
    assert current(as_of=MID_FEB) == {
        ("N", 2): True, ("ENDED", 1): False, ("TILL", 1): True, ("SWITCH", 1): False,
        ("GONE", 1): False,
    }  # fmt: skip
    assert current(as_of=FUTURE) == {("N", 2): True, ("AHEAD", 1): False}


@pytest.mark.guarantee("C4")
def test_without_a_moment_the_newest_text_is_seen_whatever_its_validity(place: Place) -> None:
    put_changed(place)
    place.put("OLD", "old value", status=Status.SUPERSEDED, superseded_by="N")
    place.put("RUN", "out", valid_from=FEB, valid_to=MAR)
    place.put("ENDED", "text", recorded_to=MAR, end_mode="wrong")
    assert place.seen(now="") == [("N", 2), ("RUN", 1)]
    found = place.visible(now="")
    assert found.current.tolist() == found.seen.tolist()


@pytest.mark.guarantee("C4")
def test_successors_are_followed_along_chains_and_out_of_circles(place: Place) -> None:
    place.put("A", "a", status=Status.SUPERSEDED, superseded_by="B")
    place.put("B", "b", status=Status.SUPERSEDED, superseded_by="C")
    place.put("C", "c")
    place.put("X", "x", status=Status.SUPERSEDED, superseded_by="Y")
    place.put("Y", "y", status=Status.SUPERSEDED, superseded_by="X")
    place.put("GONE", "g", status=Status.SUPERSEDED, superseded_by="NOBODY")
    found = place.visible()
    leads = {
        note: found.note_ids[after] if after >= 0 else ""
        for note, after in zip(found.note_ids, found.successor.tolist(), strict=True)
    }
    assert leads == {"A": "C", "B": "C", "C": "", "X": "", "Y": "", "GONE": ""}
    assert place.seen() == [("C", 1)]


@pytest.mark.guarantee("C4", "S1")
def test_a_successor_in_another_scope_or_withheld_leads_nowhere(place: Place) -> None:
    place.put("A", "a", status=Status.SUPERSEDED, superseded_by="B")
    place.put("B", "b", project="osprey")
    place.put("C", "c", status=Status.SUPERSEDED, superseded_by="D")
    place.put("D", "d", status=Status.PROPOSED)
    assert place.visible().successor.tolist() == [-1, -1]
    both = place.visible(scope(), scope("osprey"))
    assert [both.note_ids[at] for at in both.successor.tolist() if at >= 0] == ["B"]


def test_filters_narrow_what_is_seen(place: Place) -> None:
    place.put("A", "a", kind=Kind.DECISION, trust=Trust.VERIFIED, tags=("Work/Plan", "x"))
    place.put("B", "b", kind=Kind.FACT, trust=Trust.HUMAN, tags=("workshop",))
    place.put("C", "c")
    assert place.seen() == [("A", 1), ("B", 1), ("C", 1)]
    assert place.seen(kinds=(Kind.DECISION,)) == [("A", 1)]
    assert place.seen(kinds=(Kind.DECISION, Kind.FACT)) == [("A", 1), ("B", 1)]
    assert place.seen(min_trust=Trust.HUMAN) == [("A", 1), ("B", 1)]
    assert place.seen(min_trust=Trust.VERIFIED) == [("A", 1)]
    assert place.seen(kinds=(Kind.DECISION, Kind.FACT), min_trust=Trust.VERIFIED) == [("A", 1)]
    assert place.seen(tags=("work",)) == [("A", 1)]
    assert place.seen(tags=("#work/plan", "X")) == [("A", 1)]
    assert place.seen(tags=("x", "workshop")) == []


def test_filters_narrow_what_history_shows(place: Place) -> None:
    put_changed(place)
    place.put(
        "H", "said by a person", trust=Trust.HUMAN, valid_from=JAN, valid_to=FEB, ended_at=FEB,
        end_mode="changed", latest=False,
    )  # fmt: skip
    assert place.seen(history=True) == [("H", 1), ("N", 1), ("N", 2)]
    assert place.seen(history=True, min_trust=Trust.HUMAN) == [("H", 1)]


@pytest.mark.guarantee("C4")
def test_what_changed_leads_on_and_a_slip_that_was_amended_does_not(place: Place) -> None:
    put_changed(place)
    place.put("T", "a typpo", recorded_to=MAR, end_mode="amend", latest=False)
    place.put("T", "a typo", version=2, recorded_from=MAR)
    found = place.visible()
    assert list(zip(found.note_ids, found.versions.tolist(), strict=True)) == [
        ("N", 1),
        ("N", 2),
        ("T", 2),
    ]
    assert found.successor.tolist() == [1, -1, -1]


def test_versions_stand_in_the_order_they_came_whatever_their_scope(place: Place) -> None:
    for name, project in (("A", "osprey"), ("B", "heron"), ("C", "osprey"), ("D", "heron")):
        place.put(name, "text", project=project)
    assert place.visible(scope(), scope("osprey")).note_ids == ("A", "B", "C", "D")


@pytest.mark.guarantee("C4")
def test_a_note_without_the_tag_leads_to_a_successor_that_has_it(place: Place) -> None:
    place.put("OLD", "old", status=Status.SUPERSEDED, superseded_by="NEW")
    place.put("NEW", "new", tags=("x",))
    place.put("BARE", "bare", status=Status.SUPERSEDED, superseded_by="PLAIN", tags=("x",))
    place.put("PLAIN", "plain")
    for _ in range(2):
        found = place.visible(tags=("x",))
        old, bare = found.note_ids.index("OLD"), found.note_ids.index("BARE")
        assert found.note_ids[found.successor[old]] == "NEW"
        assert found.successor[bare] == -1
        assert place.seen(tags=("x",)) == [("NEW", 1)]
        place.put("OLD", "older", status=Status.SUPERSEDED, superseded_by="NEW")


def test_every_newest_version_that_is_kept_back_is_counted_once_with_its_reason(
    place: Place,
) -> None:
    put_changed(place)
    for status in (Status.PROPOSED, Status.DISPUTED, Status.RETRACTED, Status.REJECTED):
        place.put(status.value, "text", status=status, valid_from=FUTURE)
    place.put("OLD", "text", status=Status.SUPERSEDED, superseded_by="N", valid_to=FEB)
    place.put("AHEAD", "text", valid_from=FUTURE)
    place.put("RUN", "text", valid_to=FEB)
    place.put("WRONG", "text", valid_to=FEB, recorded_to=MAR, end_mode="wrong")
    place.put("UNSURE", "text", valid_from=FUTURE, recorded_to=MAR, end_mode="wrong")
    lasting = {"proposed": 1, "disputed": 1, "not_yet_valid": 1}
    assert place.visible().withheld == {**lasting, "superseded": 1, "expired": 1}
    assert place.visible(history=True).withheld == lasting


@pytest.mark.guarantee("S1")
def test_withheld_counts_are_of_the_scope_alone(place: Place) -> None:
    place.put("A", "a", status=Status.PROPOSED)
    place.put("B", "b", status=Status.PROPOSED, project="osprey")
    place.put("C", "c", status=Status.DISPUTED, project="osprey")
    assert place.visible().withheld == {"proposed": 1}
    assert place.visible(scope("osprey")).withheld == {"proposed": 1, "disputed": 1}
    assert place.visible(scope("nowhere")).withheld == {}


@pytest.mark.guarantee("S1", "W4")
def test_a_remembered_set_follows_writes_of_another_process(place: Place, tmp_path: Path) -> None:
    other = Place(tmp_path / "memsvc.db")
    assert place.seen() == []
    other.put("A", "a")
    assert place.seen() == [("A", 1)]
    with other.database.write() as connection:
        writer.update_state(connection, "A", 1, status=Status.PROPOSED)
    assert place.seen() == []
    with other.database.write() as connection:
        writer.update_state(connection, "A", 1, status=Status.ACTIVE)
    assert place.seen() == [("A", 1)]
    with other.database.write() as connection:
        writer.update_state(connection, "A", 1, status=Status.RETRACTED)
    assert place.seen() == []
    with other.database.write() as connection:
        writer.update_state(connection, "A", 1, status=Status.ACTIVE)
    assert place.seen() == [("A", 1)]
    with other.database.write() as connection:
        writer.remove_note(connection, "A")
    other.put("A", "a", project="osprey")
    assert (place.seen(), place.seen(scope("osprey"))) == ([], [("A", 1)])
    with other.database.write() as connection:
        writer.remove_note(connection, "A")
    assert place.seen(scope("osprey")) == []
    other.database.close()


def test_a_write_that_is_rolled_back_leaves_nothing_remembered(place: Place) -> None:
    place.put("A", "a")

    def fail() -> None:
        with place.database.write() as connection:
            writer.update_state(connection, "A", 1, status=Status.PROPOSED)
            assert not visible(reading(scope()), connection, Filters(now=NOW)).seen.any()
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert place.seen() == [("A", 1)]
    place.put("B", "b")
    assert place.seen() == [("A", 1), ("B", 1)]


def test_a_remembered_set_ends_when_a_validity_begins_or_ends(place: Place) -> None:
    place.put("A", "a", valid_from=FEB, valid_to=MAR)
    place.put("B", "b")
    for now, expected in (
        (MID_JAN, [("B", 1)]), (MID_FEB, [("A", 1), ("B", 1)]), (MAR, [("B", 1)]),
        (FEB, [("A", 1), ("B", 1)]), (JAN, [("B", 1)]), (FUTURE, [("B", 1)]),
    ):  # fmt: skip
        assert place.seen(now=now) == expected
