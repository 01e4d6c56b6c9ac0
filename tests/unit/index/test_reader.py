"""The arms and look-ups of the index: nothing outside the scope, everything inside."""

import inspect
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sqlalchemy import Connection

from memsvc.index import postings as module
from memsvc.index import reader, schema, writer
from memsvc.index.analyse import query_terms
from memsvc.index.values import Filters, Lexical
from memsvc.index.vectors import NO_VECTOR
from memsvc.index.visible import visible
from memsvc.model.vocabulary import Status
from memsvc.scope.proof import ReadScope
from tests.fakes import FakeEmbedder
from tests.unit.index.place import NOW, Place, given, reading, scope

EMBEDDER = FakeEmbedder()


@pytest.fixture
def filled(tmp_path: Path) -> Place:
    place = Place(tmp_path / "memsvc.db", embedder=EMBEDDER)
    place.put("A", "The falcon nests on the tower.", links=("B", "S"), problem="odd")
    place.put("B", "A heron stands in the reeds.")
    place.put("S", "The zanzibar falcon is secret.", project="osprey", links=("A",), problem="bad")
    return place


def words_of(place: Place, query: str, *, project: str = "heron") -> Lexical:
    read = reading(scope(project))
    with place.database.read() as connection:
        seen = visible(read, connection, Filters(now=NOW))
        return reader.lexical(read, connection, seen, query_terms(query))


@pytest.mark.guarantee("S1")
def test_every_function_takes_the_scope_first_and_an_empty_one_finds_nothing(filled: Place) -> None:
    ids = list(range(1, 10))
    empty, own = reading(), reading(scope())
    with filled.database.read() as connection:

        def results(read: ReadScope) -> dict[str, object]:
            seen = visible(read, connection, Filters(now=NOW))
            query = EMBEDDER.embed_query("falcon")
            return {
                "part_of": reader.part_of(read, connection, 1, chunk_id=1, most=99).text,
                "catalogue": reader.catalogue(read, connection, now=NOW),
                "closer": reader.closer(
                    read,
                    connection,
                    seen,
                    range(len(seen)),
                    model_id=EMBEDDER.model_id,
                    query=query,
                ),
                "counts": any(reader.counts(read, connection).values()),
                "held": reader.held(read, connection, ids),
                "lexical": reader.lexical(read, connection, seen, ["falcon"]).by_version.tolist(),
                "links_of": any(reader.links_of(read, connection, "A")),
                "neighbours": reader.neighbours(read, connection, seen, range(len(seen))),
                "passages": reader.passages(read, connection, ids),
                "problems": reader.problems(read, connection, limit=9),
                "shown": reader.shown(read, connection, ids),
                "similar": reader.similar(
                    read, connection, title="falcon", body="nests", embedder=None
                ),
                "vector": reader.vector(
                    read, connection, seen, model_id=EMBEDDER.model_id, query=query
                ).tolist(),
            }

        nothing, something = results(empty), results(own)
    assert set(nothing) == set(reader.__all__)
    for name in reader.__all__:
        first = next(iter(inspect.signature(getattr(reader, name)).parameters.values()))
        assert (first.name, first.annotation) == ("scope", ReadScope)
        assert not nothing[name], name
        assert something[name], name
        assert "zanzibar" not in str(something[name]), name
        assert "'S'" not in str(something[name]), name


@pytest.mark.guarantee("S1")
def test_a_visible_set_of_one_scope_is_no_use_in_another(filled: Place) -> None:
    with filled.database.read() as connection:
        theirs = visible(reading(scope("osprey")), connection, Filters(now=NOW))
        with pytest.raises(PermissionError):
            reader.lexical(reading(scope()), connection, theirs, ["falcon"])
        assert reader.lexical(
            reading(scope("osprey")), connection, theirs, ["falcon"]
        ).by_version.any()


@pytest.mark.guarantee("S1")
def test_links_name_visible_notes_of_the_scope_only(filled: Place) -> None:
    with filled.database.read() as connection:
        out, inward = reader.links_of(reading(scope()), connection, "A")
        assert ([one.id for one in out], inward) == (["B"], [])
        both = reading(scope(), scope("osprey"))
        out, inward = reader.links_of(both, connection, "A")
        assert ([one.id for one in out], [one.id for one in inward]) == (["B", "S"], ["S"])
        assert reader.links_of(reading(scope()), connection, "S") == ([], [])


@pytest.mark.guarantee("S1")
def test_weights_of_words_do_not_depend_on_other_projects(filled: Place) -> None:
    before = words_of(filled, "falcon heron nests")
    for number in range(30):
        filled.put(f"X{number}", "falcon falcon nests", project="osprey")
    after = words_of(filled, "falcon heron nests")
    assert before.weights == after.weights
    assert before.by_version.tolist() == after.by_version.tolist()
    for number in range(30):
        filled.put(f"Y{number}", "falcon", project="heron")
    assert words_of(filled, "falcon heron nests").weights != before.weights


@pytest.mark.parametrize(
    "query", ['say "hi', "NOT", "a AND (", "NEAR(a b)", "sc:x", "-x", "x*", "{a}:b", "\\"]
)
def test_no_query_is_syntax(filled: Place, query: str) -> None:
    filled.put("Q", f"this note says {query} exactly")
    found = words_of(filled, query)
    assert not found.weights or found.by_version.max() > 0


def test_a_common_word_of_a_large_scope_is_weighed_but_not_looked_up(
    filled: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "ALWAYS_COUNTED", 3)
    for number in range(10):
        filled.put(f"X{number}", "the reeds grow")
    found = words_of(filled, "reeds falcon")
    assert found.common == {query_terms("reeds")[0]}
    assert found.weights["falcon"] > found.weights[query_terms("reeds")[0]] > 0
    alone = words_of(filled, "reeds")
    assert alone.common == frozenset()
    assert (alone.by_version > 0).sum() == 11


def test_cosines_are_exact_and_follow_writes_through_another_database(
    filled: Place, tmp_path: Path
) -> None:
    def close(place: Place, text: str) -> dict[str, float]:
        read = reading(scope())
        query = EMBEDDER.embed_query(text)
        with place.database.read() as connection:
            seen = visible(read, connection, Filters(now=NOW))
            found = reader.vector(read, connection, seen, model_id=EMBEDDER.model_id, query=query)
        return {
            seen.note_ids[int(at)]: float(one) for at, one in zip(seen.owner, found, strict=True)
        }

    assert close(filled, "A\nThe falcon nests on the tower.")["A"] == pytest.approx(1.0, abs=1e-5)
    other = Place(tmp_path / "memsvc.db", embedder=EMBEDDER)
    other.put("C", "Rain falls.")
    assert close(filled, "C\nRain falls.")["C"] == pytest.approx(1.0, abs=1e-5)
    other.put("C", "Snow falls.")
    assert close(filled, "C\nRain falls.")["C"] < 0.9
    assert close(filled, "C\nSnow falls.")["C"] == pytest.approx(1.0, abs=1e-5)
    with other.database.write() as connection:
        writer.remove_note(connection, "C")
    assert set(close(filled, "C")) == {"A", "B"}
    with other.database.write() as connection:  # another index: its ids begin at one again
        schema.drop(connection)
        schema.ensure(connection)
    other.put("D", "Wind blows.")
    assert close(filled, "D\nWind blows.") == {"D": pytest.approx(1.0, abs=1e-5)}
    other.database.close()


def test_vectors_of_another_model_are_not_compared(filled: Place) -> None:
    read = reading(scope())
    with filled.database.read() as connection:
        seen = visible(read, connection, Filters(now=NOW))
        query = EMBEDDER.embed_query("falcon")
        other = reader.vector(read, connection, seen, model_id="other@1", query=query)
        own = reader.vector(read, connection, seen, model_id=EMBEDDER.model_id, query=query)
    assert (other == NO_VECTOR).all()
    assert (own > NO_VECTOR).all()


def test_vectors_of_a_transaction_that_fails_are_not_remembered(filled: Place) -> None:
    read = reading(scope())

    def close(connection: Connection, text: str) -> dict[str, float]:
        query = EMBEDDER.embed_query(text)
        seen = visible(read, connection, Filters(now=NOW))
        found = reader.vector(read, connection, seen, model_id=EMBEDDER.model_id, query=query)
        notes = [seen.note_ids[int(at)] for at in seen.owner]
        return dict(zip(notes, found.tolist(), strict=True))

    def fail() -> None:
        with filled.database.write() as connection:
            matrix = EMBEDDER.embed_passages(["wholly other words"])
            writer.put_vectors(connection, EMBEDDER.model_id, [1], given(matrix))
            close(connection, "wholly other words")
            raise RuntimeError

    with filled.database.read() as connection:
        before = close(connection, "wholly other words")
    with pytest.raises(RuntimeError):
        fail()
    filled.put("Z", "Another note.")  # gets the ids that the failed transaction had given
    with filled.database.read() as connection:
        assert close(connection, "wholly other words") == {
            **{note: pytest.approx(cosine, abs=1e-5) for note, cosine in before.items()},
            "Z": pytest.approx(0.0, abs=0.4),
        }
        assert close(connection, "Z\nAnother note.")["Z"] == pytest.approx(1.0, abs=1e-5)


def test_similar_notes_of_an_indexed_one_cost_no_further_run_of_the_model(filled: Place) -> None:
    filled.put("T", "The falcon nests on a tower.", title="Falcon")

    class Asleep(FakeEmbedder):
        def embed_query(self, text: str) -> NDArray[np.float32]:
            raise AssertionError(text)

    def names(note_id: str, embedder: FakeEmbedder) -> list[str]:
        with filled.database.read() as connection:
            found = reader.similar(
                reading(scope()), connection, title="Falcon", body="The falcon nests on a tower.", embedder=embedder, note_id=note_id,
            )  # fmt: skip
        return sorted(one.id for one in found)

    assert names("T", Asleep()) == ["A", "T"]
    assert names("", EMBEDDER) == ["A", "T"]
    with pytest.raises(AssertionError):
        names("", Asleep())


def test_similar_notes_are_named_and_unlike_ones_are_not(filled: Place) -> None:
    filled.put("OLD", "The falcon nests on the tower.", status=Status.SUPERSEDED)
    with filled.database.read() as connection:
        for embedder in (None, EMBEDDER):
            found = reader.similar(
                reading(scope()), connection, title="Falcon", body="The falcon nests on a tower", embedder=embedder,
            )  # fmt: skip
            assert [one.id for one in found] == ["A"]
            assert reader.similar(
                reading(scope()), connection, title="Tax", body="Invoices are due", embedder=embedder
            ) == []  # fmt: skip


def test_a_text_is_read_back_whole_or_as_far_as_wanted_with_one_passage_in_it(
    filled: Place,
) -> None:
    body = "".join(f"Sentence number {n} of the text is here. " for n in range(200))
    pieces = filled.put("L", body)
    read = reading(scope())
    with filled.database.read() as connection:
        seen = visible(read, connection, Filters(now=NOW))
        entry = int(seen.entry_ids[seen.by_note["L"]])
        own = reader.passages(read, connection, [piece.chunk_id for piece in pieces])
        for piece in pieces:
            for most in (300, 2_000, 10**6):
                part = reader.part_of(read, connection, entry, chunk_id=piece.chunk_id, most=most)
                text = own[piece.chunk_id].text
                assert body[part.start : part.start + most] == part.text
                assert body[part.best :].startswith(text)
                assert part.length == len(body)
                assert part.text[part.best - part.start :].startswith(text[: most // 2])


def test_words_are_found_after_changes_as_by_a_process_that_saw_none(
    filled: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "ALWAYS_COUNTED", 4)

    def found() -> list[object]:
        result: list[object] = []
        for query in ("falcon reeds", "reeds", "heron falcon tower"):
            words = words_of(filled, query)
            result.append((dict(words.weights), words.common, words.by_passage.tolist()))
        return result

    def check() -> list[object]:
        kept = found()
        remembered, module._CACHE = module._CACHE, module._Remembered()
        try:
            assert kept == found()
        finally:
            module._CACHE = remembered
        return kept

    def fail() -> None:
        with filled.database.write() as connection:
            writer.remove_note(connection, "A")
            seen = visible(reading(scope()), connection, Filters(now=NOW))
            reader.lexical(reading(scope()), connection, seen, query_terms("falcon reeds"))
            raise RuntimeError

    seen = [check()]
    for number in range(6):  # from rare to common
        filled.put(
            f"X{number}", "the reeds grow", status=Status(["active", "proposed"][number % 2])
        )
        seen.append(check())
    with pytest.raises(RuntimeError):
        fail()
    assert check() == seen[-1]
    with filled.database.write() as connection:
        writer.update_state(connection, "X1", 1, status=Status.ACTIVE)
    seen.append(check())
    for number in range(6):  # and back
        with filled.database.write() as connection:
            writer.remove_note(connection, f"X{number}")
        seen.append(check())
    assert seen[-1] == seen[0]
    assert len({str(one) for one in seen}) > 4
