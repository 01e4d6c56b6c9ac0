"""Vectors in one mapped file: exact, shared, gone when their passages are, and never half there."""

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sqlalchemy import func, select

from memsvc.errors import StorageFailed
from memsvc.index import reader, schema, vectors, writer
from memsvc.index.analyse import query_terms
from memsvc.index.values import Filters
from memsvc.index.vectorfile import SEGMENT, VectorFile, signs
from memsvc.index.vectors import FAR, NO_VECTOR
from memsvc.index.vectorstore import COMPACT_FROM, file_of
from memsvc.index.visible import visible
from tests.fakes import FakeEmbedder
from tests.unit.index.place import NOW, Place, given, reading, scope

EMBEDDER = FakeEmbedder()
MODEL = EMBEDDER.model_id


def unit(rows: int, dimension: int = 384, seed: int = 1) -> NDArray[np.float32]:
    raw = np.random.default_rng(seed).standard_normal((rows, dimension)).astype(np.float32)
    return np.asarray(raw / np.linalg.norm(raw, axis=1, keepdims=True), dtype=np.float32)


@pytest.fixture
def filled(tmp_path: Path) -> Place:
    place = Place(tmp_path / "memsvc.db", embedder=EMBEDDER)
    place.put("A", "The falcon nests on the tower.")
    place.put("B", "A heron stands in the reeds.")
    return place


def file_in(place: Place) -> VectorFile:
    with place.database.read() as connection:
        held = file_of(connection, MODEL)
    assert held is not None
    return held[1]


def close(place: Place, text: str) -> dict[str, float]:
    read = reading(scope())
    query = EMBEDDER.embed_query(text)
    with place.database.read() as connection:
        seen = visible(read, connection, Filters(now=NOW))
        found = reader.vector(read, connection, seen, model_id=MODEL, query=query)
    best: dict[str, float] = {}
    for at, one in zip(seen.owner, found, strict=True):
        note = seen.note_ids[int(at)]
        best[note] = max(best.get(note, -9.0), float(one))
    return best


def without_vector(place: Place) -> int:
    with place.database.read() as connection:
        return writer.count_without_vector(connection, MODEL)


def tidied(place: Place) -> None:
    with place.database.write() as connection:
        writer.tidy(connection)


@pytest.mark.parametrize("dimension", [384, 100, 64])
@pytest.mark.parametrize("first", [0, 5, SEGMENT - 3, 3 * SEGMENT])
def test_what_is_written_is_read_back_bit_by_bit(
    tmp_path: Path, dimension: int, first: int
) -> None:
    file = VectorFile(tmp_path / "a.vectors", dimension)
    matrix = unit(SEGMENT + 10, dimension)
    file.write(first, matrix)
    mapped = file.map()
    assert mapped is not None
    assert mapped.count >= first + len(matrix)
    positions = np.arange(first, first + len(matrix))
    assert np.array_equal(mapped.copy(positions), matrix)
    query = unit(1, dimension, seed=2)[0]
    differing = np.bitwise_count(signs(matrix) ^ signs(query[None, :])).sum(axis=1)
    for some in (positions, positions[::7], positions[3:4], positions[:0]):
        assert np.allclose(mapped.products(some, query), matrix[some - first] @ query, atol=1e-6)
        assert mapped.distances(some, query).tolist() == differing[some - first].tolist()


def test_erased_vectors_are_zeros_in_the_file_itself(tmp_path: Path) -> None:
    file = VectorFile(tmp_path / "a.vectors", 384)
    matrix = unit(5)
    file.write(0, matrix)
    file.erase([1, 3])
    raw = file.path.read_bytes()
    for row in range(5):
        assert (matrix[row].tobytes() in raw) is (row not in (1, 3))
    mapped = file.map()
    assert mapped is not None
    nothing = np.zeros(384, dtype=np.float32) - 1  # no sign at all
    assert mapped.distances(np.array([1]), nothing).tolist() == [0]


def test_a_file_that_cannot_be_written_is_an_error_before_anything_is_kept(filled: Place) -> None:
    folder = file_in(filled).path.parent
    folder.rename(folder.with_name("elsewhere"))
    folder.touch()  # whoever runs the tests, nothing can be put into a file
    with pytest.raises(StorageFailed, match="vectors"):
        filled.put("C", "The kestrel hovers.")
    assert filled.seen() == [("A", 1), ("B", 1)]
    folder.unlink()
    folder.with_name("elsewhere").rename(folder)
    assert without_vector(filled) == 0
    filled.put("C", "The kestrel hovers.")
    assert close(filled, "C\nThe kestrel hovers.")["C"] == pytest.approx(1.0, abs=1e-5)


def test_a_file_is_the_owners_alone(filled: Place) -> None:
    path = file_in(filled).path
    if os.name == "posix":
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_lost_file_means_no_vectors_and_they_are_made_again(filled: Place) -> None:
    vectors._PLACES.clear()  # as another process
    path = file_in(filled).path
    path.unlink()
    assert set(close(filled, "falcon").values()) == {float(NO_VECTOR)}
    with filled.database.read() as connection:
        assert writer.untidy(connection)
    tidied(filled)
    assert without_vector(filled) == 2
    with filled.database.read() as connection:
        assert not writer.untidy(connection)
        waiting = writer.chunks_without_vector(connection, MODEL, 10)
    with filled.database.write() as connection:
        matrix = EMBEDDER.embed_passages([one.text for one in waiting])
        writer.put_vectors(connection, MODEL, [one.chunk_id for one in waiting], given(matrix))
    assert close(filled, "A\nThe falcon nests on the tower.")["A"] == pytest.approx(1, abs=1e-5)


def test_a_file_cut_short_counts_as_lost(filled: Place) -> None:
    vectors._PLACES.clear()
    path = file_in(filled).path
    os.truncate(path, path.stat().st_size - 1)
    assert set(close(filled, "falcon").values()) == {float(NO_VECTOR)}
    filled.put("C", "The kestrel hovers.")  # does not add to a broken file
    assert close(filled, "C\nThe kestrel hovers.")["C"] == pytest.approx(1.0, abs=1e-5)
    assert without_vector(filled) == 2


def test_a_failed_write_leaves_no_vector_and_the_next_takes_its_place(filled: Place) -> None:
    def fail() -> None:
        with filled.database.write() as connection:
            ids = [1]
            matrix = EMBEDDER.embed_passages(["other words"])
            writer.put_vectors(connection, MODEL, ids, given(matrix))
            raise RuntimeError

    before = close(filled, "falcon")
    with pytest.raises(RuntimeError):
        fail()
    assert close(filled, "falcon") == before
    filled.put("C", "The kestrel hovers.")
    raw = file_in(filled).path.read_bytes()
    assert EMBEDDER.embed_passages(["other words"])[0].tobytes() not in raw
    assert EMBEDDER.embed_passages(["C\nThe kestrel hovers."])[0].tobytes() in raw


def test_versions_share_the_vectors_of_what_reads_the_same(filled: Place) -> None:
    body = "# One\n\nThe same text as ever.\n\n# Two\n\nThe {} text of it."
    filled.put("L", body.format("old"), latest=False)
    filled.put("L", body.format("new"), version=2)
    with filled.database.read() as connection:
        held = file_of(connection, MODEL)
        named = connection.execute(select(func.count()).select_from(schema.vectors)).scalar_one()
    assert held is not None
    assert (held[0].rows, named) == (2 + 3, 2 + 4)
    raw = file_in(filled).path.read_bytes
    same = EMBEDDER.embed_passages(["L\nOne\nThe same text as ever."])[0].tobytes()
    old = EMBEDDER.embed_passages(["L\nTwo\nThe old text of it."])[0].tobytes()
    assert same in raw()
    assert old in raw()
    filled.put("L", "# One\n\nThe same text as ever.", latest=False)
    tidied(filled)
    assert same in raw()
    assert old not in raw()
    assert without_vector(filled) == 0


def test_the_vectors_of_a_removed_note_are_overwritten(filled: Place) -> None:
    own = EMBEDDER.embed_passages(["A\nThe falcon nests on the tower."])[0].tobytes()
    other = EMBEDDER.embed_passages(["B\nA heron stands in the reeds."])[0].tobytes()
    with filled.database.write() as connection:
        writer.remove_note(connection, "A")
    tidied(filled)
    raw = file_in(filled).path.read_bytes()
    assert own not in raw
    assert own[:64] not in raw
    assert other in raw


def test_a_dropped_index_takes_its_vectors_along(filled: Place) -> None:
    old = file_in(filled).path
    with filled.database.write() as connection:
        schema.drop(connection)
        schema.ensure(connection)
    assert old.exists()  # until that is committed
    tidied(filled)
    assert not old.exists()
    filled.put("C", "The kestrel hovers.")
    assert close(filled, "C\nThe kestrel hovers.") == {"C": pytest.approx(1.0, abs=1e-5)}


def test_removed_vectors_give_their_room_back(filled: Place) -> None:
    many = COMPACT_FROM
    matrix = unit(many)
    with filled.database.write() as connection:
        held = file_of(connection, MODEL)
        assert held is not None
        held[1].write(held[0].rows, matrix)
        connection.execute(schema.vector_files.update().values(rows=held[0].rows + many))
        dead = [{"file_id": held[0].file_id, "position": held[0].rows + at} for at in range(many)]
        connection.execute(schema.dead_vectors.insert(), dead)
    before = close(filled, "A\nThe falcon nests on the tower.")
    old = file_in(filled).path
    tidied(filled)
    new = file_in(filled).path
    assert new != old
    assert old.exists()  # a reader may still map it
    assert new.stat().st_size < old.stat().st_size
    assert close(filled, "A\nThe falcon nests on the tower.") == pytest.approx(before, abs=1e-6)
    tidied(filled)
    assert not old.exists()
    filled.put("C", "The kestrel hovers.")
    assert close(filled, "C\nThe kestrel hovers.")["C"] == pytest.approx(1.0, abs=1e-5)
    assert without_vector(filled) == 0


def test_many_passages_are_found_as_if_all_were_compared(
    filled: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = reading(scope())
    words = ["falcon", "tower", "reeds", "heron", "mast", "rope", "sail", "tide", "crane", "quay"]
    chance = np.random.default_rng(3)
    for number in range(60):
        filled.put(f"N{number}", " ".join(chance.choice(words, 4)))
    query = EMBEDDER.embed_query("falcon tower mast")
    with filled.database.read() as connection:
        seen = visible(read, connection, Filters(now=NOW))
        lexical = reader.lexical(read, connection, seen, query_terms("crane"))

        def vector(words: object = None) -> NDArray[np.float32]:
            return reader.vector(
                read, connection, seen, model_id=MODEL, query=query, words=words  # type: ignore[arg-type] # a Lexical or nothing
            )  # fmt: skip

        exact = vector()
        monkeypatch.setattr(vectors, "EXACT", 20)
        monkeypatch.setattr(vectors, "NEAR", 12)
        likely = vector()
        compared = likely > FAR
        assert 12 <= compared.sum() < 40
        assert set(likely[~compared].tolist()) == {float(FAR)}
        assert np.allclose(likely[compared], exact[compared], atol=1e-6)
        assert set(np.argsort(-exact)[:5].tolist()) <= set(np.flatnonzero(compared).tolist())
        with_words = vector(lexical)
        assert (with_words > FAR).sum() > compared.sum()
        assert lexical.by_version[seen.owner[(with_words > FAR) & ~compared]].all()
        far = seen.owner[np.flatnonzero(~compared)[:5]].tolist()
        closer = reader.closer(read, connection, seen, far, model_id=MODEL, query=query)
        for position in far:
            start, end = seen.span(position)
            assert np.allclose(closer[position], exact[start:end], atol=1e-6)
