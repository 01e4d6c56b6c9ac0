"""A set that is brought up to date is the set made anew, whatever happened in between."""

import contextlib
import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

from memsvc.index import visible as module
from memsvc.index import writer
from memsvc.index.sets import Visible
from memsvc.index.values import Filters
from memsvc.index.visible import visible
from memsvc.model.vocabulary import Kind, Status, Trust
from tests.unit.index.place import NOW, Place, reading, scope

NOTES = ("A", "B", "C", "D", "E")
PROJECTS = ("heron", "osprey")
TIMES = tuple(f"2026-{month:02}-01T00:00:00.000000Z" for month in range(1, 12))
time = st.sampled_from(("", *TIMES))
note = st.sampled_from(NOTES)
status = st.sampled_from((*Status, Status.ACTIVE, Status.ACTIVE, Status.SUPERSEDED))
window = st.fixed_dictionaries(
    {},
    optional={
        "status": status,
        "superseded_by": st.sampled_from(("", *NOTES)),
        "valid_from": time,
        "valid_to": time,
        "valid_to_original": time,
        "ended_at": time,
        "recorded_to": time,
        "end_mode": st.sampled_from(("", "changed", "superseded", "amend", "wrong")),
        "latest": st.booleans(),
        "trust": st.sampled_from(Trust),
    },
)
fixed = st.fixed_dictionaries(
    {},
    optional={
        "recorded_from": st.sampled_from(TIMES),
        "tags": st.sampled_from(((), ("x",))),
        "kind": st.sampled_from((Kind.FACT, Kind.NOTE)),
    },
)
version = st.integers(1, 2)
project = st.sampled_from(PROJECTS)
operation = st.one_of(
    st.tuples(st.just("put"), note, version, project, window, fixed),
    st.tuples(st.just("update"), note, version, window),
    st.tuples(st.just("remove"), note),
    st.tuples(st.just("now"), st.sampled_from(TIMES)),
    st.tuples(st.just("fail"), note, window),
)
FILTERS = (
    Filters(now=""),
    Filters(now=NOW),
    Filters(now=NOW, history=True),
    Filters(now=NOW, as_of=TIMES[3]),
    Filters(now=NOW, known_at=TIMES[4], history=True),
    Filters(now=NOW, tags=("x",), min_trust=Trust.HUMAN),
    Filters(now=NOW, kinds=(Kind.FACT,), history=True),
)
SCOPES = (reading(scope("heron")), reading(scope("heron"), scope("osprey")))


class Undone(Exception):
    pass


def act(place: Place, what: str, *rest: object) -> None:
    if what == "put":
        note_id, number, where, more, other = rest
        place.put(
            str(note_id), "text\n\n" * int(str(number)), version=int(str(number)), project=str(where),
            **{**dict(more), **dict(other)},  # type: ignore[call-overload] # dictionaries
        )  # fmt: skip
        return
    with place.database.write() as connection:
        if what == "update":
            writer.update_state(connection, str(rest[0]), int(str(rest[1])), **dict(rest[2]))  # type: ignore[call-overload] # a dictionary
        elif what == "remove":
            writer.remove_note(connection, str(rest[0]))
        elif what == "fail":
            writer.update_state(connection, str(rest[0]), 1, **dict(rest[1]))  # type: ignore[call-overload] # a dictionary
            for one in FILTERS:
                visible(SCOPES[1], connection, one)
            raise Undone


def plain(seen: Visible) -> dict[str, object]:
    return {
        one.name: value.tolist() if isinstance(value, np.ndarray) else value
        for one in dataclasses.fields(seen)
        if one.name != "change"  # of any scope: an untouched set need not know the last
        for value in [getattr(seen, one.name)]
    }


def check(connection: Connection, now: str) -> None:
    """Every set as it is brought up to date, against the one that is made anew."""
    wanted = [
        (one, dataclasses.replace(filters, now=now if filters.now else ""))
        for one, filters in itertools.product(SCOPES, FILTERS)
    ]
    kept = [plain(visible(one, connection, filters)) for one, filters in wanted]
    remembered, module._SETS = module._SETS, module._Remembered()
    try:
        fresh = [plain(visible(one, connection, filters)) for one, filters in wanted]
    finally:
        module._SETS = remembered
    assert kept == fresh


@pytest.mark.slow
@example(
    [
        [("put", "A", 1, "heron", {"status": Status.SUPERSEDED, "superseded_by": "B"}, {})],
        [("put", "A", 1, "osprey", {}, {})],
    ]
)
@settings(max_examples=25, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(st.lists(st.lists(operation, min_size=1, max_size=4), min_size=1, max_size=5))
def test_a_refreshed_set_is_the_set_made_anew(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[list[tuple[object, ...]]]
) -> None:
    place = Place(tmp_path_factory.mktemp("refresh") / "memsvc.db")
    now = NOW
    for operations in rounds:
        for what, *rest in operations:
            if what == "now":
                now = str(rest[0])
            else:
                with contextlib.suppress(Undone):
                    act(place, str(what), *rest)
        with place.database.read() as connection:
            check(connection, now)
    place.database.close()


def test_a_change_asks_for_what_changed_only(tmp_path: Path) -> None:
    place = Place(tmp_path / "memsvc.db")
    for number in range(30):
        place.put(f"N{number}", "text")
    before = place.visible()
    place.put("NEW", "text\n\ntext")
    asked: list[tuple[str, int]] = []
    real = module._build

    def counted(*args: object) -> object:
        asked.append(("build", 1))
        return real(*args)  # type: ignore[arg-type] # passed on

    module._build = counted  # type: ignore[assignment] # counts and passes on
    try:
        after = place.visible()
        assert asked == []
        module._SETS.clear()
        assert plain(place.visible()) == plain(after)
        assert asked == [("build", 1)]
    finally:
        module._build = real
    assert len(after) == len(before) + 1
    assert len(before) == 30  # what a reader holds stays as it was
    place.database.close()


def test_a_set_from_before_what_is_told_is_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "TOLD", 4)
    place = Place(tmp_path / "memsvc.db")
    place.put("A", "text")
    place.put("B", "text")
    assert place.seen() == [("A", 1), ("B", 1)]
    with place.database.write() as connection:
        writer.remove_note(connection, "A")
    for number in range(9):
        place.put(f"N{number}", "text")
    with place.database.read() as connection:
        check(connection, NOW)
    assert ("A", 1) not in place.seen()
    assert ("B", 1) in place.seen()
    place.database.close()


def test_a_large_change_is_taken_in_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_CHANGES", 3)
    place = Place(tmp_path / "memsvc.db")
    place.put("A", "text")
    assert place.seen() == [("A", 1)]
    for number in range(6):
        place.put(f"N{number}", "text")
    with place.database.write() as connection:
        writer.remove_note(connection, "A")
    with place.database.read() as connection:
        check(connection, NOW)
    assert len(place.seen()) == 6
    place.database.close()


def test_a_set_at_an_instant_and_one_without_are_not_mixed_up(place: Place) -> None:
    place.put("A", "text", valid_to=TIMES[1])
    place.put("B", "text")
    for _ in range(2):
        assert place.seen(now="") == [("A", 1), ("B", 1)]
        assert place.seen() == [("B", 1)]


def test_a_replaced_note_follows_its_successor_when_that_changes_or_goes(place: Place) -> None:
    later = "2027-01-01T00:00:00.000000Z"
    for old, new in (("A", "B"), ("C", "D")):
        place.put(old, "text", status=Status.SUPERSEDED, superseded_by=new, end_mode="superseded")
        place.put(new, "text", valid_from=later)
    assert place.seen() == [("A", 1), ("C", 1)], "they stand until their successors hold"
    with place.database.write() as connection:
        writer.update_state(connection, "B", 1, valid_from=TIMES[0])
    assert place.seen() == [("B", 1), ("C", 1)]
    with place.database.write() as connection:
        writer.remove_note(connection, "D")
    assert place.seen() == [("B", 1)]


def test_what_arrives_without_the_tags_asked_for_stays_out(place: Place) -> None:
    place.put("A", "text", tags=("x",))
    assert place.seen(tags=("x",)) == [("A", 1)]
    place.put("B", "text", tags=("y",))
    place.put("C", "text", tags=("x/z",))
    assert place.seen(tags=("x",)) == [("A", 1), ("C", 1)]
