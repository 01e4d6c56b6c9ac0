"""The vectors of rejected claims: each of its scope and model, kept once, forgotten by note."""

import numpy as np
import pytest
from numpy.typing import NDArray

from memsvc.index import rejections
from memsvc.index.rejections import Near, Rejection
from tests.unit.index.place import Place, scope

ONE = np.array([1, 0, 0], np.float32)
TWO = np.array([0, 1, 0], np.float32)
BETWEEN = np.array([0.6, 0.8, 0], np.float32)


def put(place: Place, *rows: Rejection, project: str = "heron", model: str = "m@1") -> None:
    with place.database.write() as connection:
        rejections.put(connection, scope(project), model, rows)


def near(
    place: Place,
    *statements: NDArray[np.float32],
    project: str = "heron",
    model: str = "m@1",
    least: float = 0.5,
) -> list[Near]:
    given = np.array(statements, np.float32).reshape(len(statements), -1)
    with place.database.read() as connection:
        return rejections.nearest(
            connection, scope(project), model_id=model, statements=given, least=least
        )


def known(place: Place, project: str = "heron", model: str = "m@1") -> set[str]:
    with place.database.read() as connection:
        return rejections.known(connection, scope(project), model)


@pytest.mark.guarantee("C2")
def test_a_rejection_is_near_in_its_own_scope_and_model_only(place: Place) -> None:
    put(place, Rejection("t1", "n1", ONE))
    put(place, Rejection("t2", "n2", ONE), project="osprey")
    put(place, Rejection("t3", "n3", ONE), model="m@2")
    assert [one.tombstone_id for one in near(place, ONE)] == ["t1"]
    assert [one.tombstone_id for one in near(place, ONE, project="osprey")] == ["t2"]
    assert [one.tombstone_id for one in near(place, ONE, model="m@2")] == ["t3"]
    assert near(place, ONE, project="osprey", model="m@2") == []
    assert (known(place), known(place, "osprey"), known(place, model="m@2")) == (
        {"t1"}, {"t2"}, {"t3"},
    )  # fmt: skip
    assert known(place, "osprey", "m@2") == set()


def test_the_closest_come_first_and_none_below_the_least(place: Place) -> None:
    put(place, Rejection("t1", "n1", ONE), Rejection("t2", "n1", TWO))
    found = near(place, TWO, BETWEEN)
    assert [(one.tombstone_id, one.statement) for one in found] == [("t2", 0), ("t2", 1), ("t1", 1)]
    assert [round(one.cosine, 2) for one in found] == [1.0, 0.8, 0.6]
    assert [one.tombstone_id for one in near(place, BETWEEN, least=0.7)] == ["t2"]
    put(place, Rejection("t4", "n1", ONE))
    exact = near(place, ONE, least=1.0)
    assert [one.tombstone_id for one in exact] == ["t1", "t4"]


def test_nothing_rejected_and_nothing_stated_are_near_to_nothing(place: Place) -> None:
    assert near(place, ONE) == []
    put(place)
    assert known(place) == set()
    put(place, Rejection("t1", "n1", ONE))
    nothing = np.empty((0, 3), np.float32)
    with place.database.read() as connection:
        assert rejections.nearest(
            connection, scope(), model_id="m@1", statements=nothing, least=0
        ) == []  # fmt: skip
    assert len(near(place, ONE)) == 1


def test_a_claim_without_a_text_is_known_and_near_to_nothing(place: Place) -> None:
    put(place, Rejection("t1", "n1", None), Rejection("t2", "n1", ONE))
    assert known(place) == {"t1", "t2"}
    assert [one.tombstone_id for one in near(place, ONE, least=-1)] == ["t2"]


def test_what_is_there_stays_and_a_forgotten_notes_vectors_go(place: Place) -> None:
    put(place, Rejection("t1", "n1", ONE), Rejection("t2", "n2", ONE))
    put(place, Rejection("t1", "n1", TWO))
    assert [one.tombstone_id for one in near(place, ONE)] == ["t1", "t2"]
    with place.database.write() as connection:
        rejections.forget(connection, ["n1"])
    assert known(place) == {"t2"}
