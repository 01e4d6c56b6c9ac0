"""Putting in and taking out: exact, in one transaction, and the same in any order."""

import itertools

import pytest
from sqlalchemy import text

from memsvc.index import schema, writer
from memsvc.index.values import IndexEntry
from memsvc.index.writer import Put
from memsvc.model.vocabulary import NoteId, Status, Trust
from tests.fakes import FakeEmbedder
from tests.unit.index.place import Place, given, scope


def rows(place: Place) -> dict[str, int]:
    tables = (*(table.name for table in schema.metadata.sorted_tables), "index_fts")
    with place.database.read() as connection:
        return {
            name: connection.execute(text(f"SELECT count(*) FROM {name}")).scalar_one()  # noqa: S608 - our names
            for name in tables
        }


def matches(place: Place, word: str) -> int:
    with place.database.read() as connection:
        found = connection.execute(
            text("SELECT count(*) FROM index_fts WHERE index_fts MATCH :word"), {"word": word}
        )
        return int(found.scalar_one())


def test_removing_a_note_leaves_no_row_and_no_word(place: Place) -> None:
    place.embedder = FakeEmbedder()
    before = rows(place)
    place.put("A", "unusual words " * 100, tags=("t",), links=("B",))
    place.put("A", "other words", version=2)
    assert rows(place)["index_vector"] > 3
    assert matches(place, "unusu OR unusual") > 0
    with place.database.write() as connection:
        writer.remove_note(connection, "A")
    with place.database.write() as connection:
        writer.tidy(connection)
    after = rows(place)
    assert after.pop("index_gone") == 2  # numbers and ids only, for other processes
    del before["index_gone"]
    assert after == {**before, "index_scope": 1, "index_vector_file": 1}
    assert matches(place, "unusu OR unusual OR word OR t") == 0
    with place.database.write() as connection:
        connection.execute(text("INSERT INTO index_fts(index_fts) VALUES ('integrity-check')"))


def test_putting_a_version_again_replaces_it(place: Place) -> None:
    first = place.put("A", "before", links=("X",))
    second = place.put("A", "after")
    assert place.seen() == [("A", 1)]
    assert not {one.chunk_id for one in first} & {one.chunk_id for one in second}
    assert (matches(place, "befor"), matches(place, "after")) == (0, 1)
    assert rows(place)["index_link"] == 0


def test_a_version_put_into_another_project_leaves_the_one_it_was_in(place: Place) -> None:
    place.put("A", "the text")
    place.put("B", "another")
    assert place.seen() == [("A", 1), ("B", 1)]
    assert place.seen(scope("osprey")) == []
    place.put("A", "the text", project="osprey")
    assert place.seen() == [("B", 1)]
    assert place.seen(scope("osprey")) == [("A", 1)]


def test_unchanged_passages_keep_their_vectors(place: Place) -> None:
    place.embedder = FakeEmbedder()
    place.put("A", "# One\n\nThe same text as ever.\n\n# Two\n\nThe old text of it.")
    place.embedder = None
    place.put("A", "# One\n\nThe same text as ever.\n\n# Two\n\nA new text of it.", version=2)
    model = FakeEmbedder().model_id
    with place.database.read() as connection:
        left = writer.chunks_without_vector(connection, model, limit=10)
        assert writer.count_without_vector(connection, model) == 1
    assert [one.text for one in left] == ["A\nTwo\nA new text of it."]
    place.put("B", "# One\n\nThe same text as ever.", title="A")
    with place.database.read() as connection:
        assert writer.count_without_vector(connection, model) == 2  # never those of another note


def test_what_waits_for_vectors_is_given_out_in_batches(place: Place) -> None:
    chunks = [place.put(f"N{number}", f"text {number}")[0] for number in range(5)]
    embedder = FakeEmbedder()
    done: list[int] = []
    while True:
        with place.database.read() as connection:
            after = done[-1] if done else 0
            batch = writer.chunks_without_vector(connection, "m", 2, after=after)
        if not batch:
            break
        done += [one.chunk_id for one in batch]
        matrix = embedder.embed_passages([one.text for one in batch])
        with place.database.write() as connection:
            ids = [one.chunk_id for one in batch]
            writer.put_vectors(connection, "m", [*ids, 999_999][: len(matrix)], given(matrix))
    assert done == [one.chunk_id for one in chunks]
    assert rows(place)["index_vector"] == 5
    with place.database.write() as connection:
        writer.put_vectors(connection, "m", [999_999], given(embedder.embed_passages(["gone"])))
        writer.put_vectors(connection, "m", done[:1], given(embedder.embed_passages(["again"])))
    assert rows(place)["index_vector"] == 5


def test_state_changes_in_place_and_nothing_else_does(place: Place) -> None:
    place.put("A", "text")
    with place.database.write() as connection:
        writer.update_state(connection, "A", 1, trust=Trust.VERIFIED, latest=True)
        with pytest.raises(TypeError):
            writer.update_state(connection, "A", 1, path="elsewhere.md")
        writer.update_state(connection, "NOBODY", 1, status=Status.PROPOSED)
    assert place.seen(min_trust=Trust.VERIFIED) == [("A", 1)]


def test_an_index_of_another_version_is_made_anew(place: Place) -> None:
    place.put("A", "text")
    with place.database.write() as connection:
        assert not schema.ensure(connection)
        connection.execute(schema.state.update().values(schema_version=0))
        assert not schema.current(connection)
        assert schema.ensure(connection)
        assert schema.current(connection)
    assert place.seen() == []
    place.put("A", "text")
    assert place.seen() == [("A", 1)]


def test_every_text_can_be_stored(place: Place) -> None:
    odd = "\x00 \ud800 \u202e 🚀 " + "ก" * 50
    place.put("A", odd, title=odd, tags=(odd,), source=(odd,), reason=odd, author=odd)
    assert place.seen() == [("A", 1)]


def test_no_two_scopes_share_a_key() -> None:
    from memsvc.index.sqlite_fts import scope_key  # the subject

    names = ["a", "b", "a/b", "ab", "A", "", "a\x00b"]
    keys = {scope_key(scope(p, v)) for p, v in itertools.product(names[:6], names[:6])}
    assert len(keys) == 36


@pytest.mark.guarantee("S1")
def test_full_text_itself_answers_within_the_scopes_named(place: Place) -> None:
    from memsvc.index.sqlite_fts import matching, scope_key  # the subject

    own = place.put("A", "falcon")[0].chunk_id
    other = place.put("B", "falcon", project="osprey")[0].chunk_id
    keys = [scope_key(scope()), scope_key(scope("osprey"))]
    with place.database.read() as connection:
        assert matching(connection, keys[:1], "falcon", most=-1)[0].tolist() == [own]
        assert matching(connection, keys[1:], "falcon", most=-1)[0].tolist() == [other]
        assert matching(connection, keys, "falcon", most=-1)[0].tolist() == [own, other]
        assert matching(connection, keys, "falcon", most=1)[0].tolist() == [own]
        assert matching(connection, keys, "osprey", most=-1)[0].tolist() == []


def test_versions_put_together_are_there_at_the_end_or_when_something_needs_them(
    place: Place,
) -> None:
    def entry(note_id: str, body: str) -> IndexEntry:
        where = scope()
        return IndexEntry(
            note_id=NoteId(note_id), version=1, scope=where, path="x.md", title="t", body=body
        )

    with place.database.write() as connection, writer.together(connection):
        writer.put_later(connection, Put(entry("A", "alpha")))
        writer.put_later(
            connection,
            Put(
                entry(
                    "B",
                    "two",
                )
            ),
        )
        assert connection.execute(text("SELECT count(*) FROM index_entry")).scalar_one() == 0
        writer.put_later(connection, Put(entry("B", "kilo")))
        assert connection.execute(text("SELECT count(*) FROM index_entry")).scalar_one() == 2
        writer.update_state(connection, "B", 1, trust=Trust.VERIFIED)
        writer.put_later(connection, Put(entry("C", "golf")))
        writer.put_later(connection, Put(entry("D", "delta")))
        writer.remove_note(connection, "D")
    assert place.seen() == [("A", 1), ("B", 1), ("C", 1)]
    assert place.seen(min_trust=Trust.VERIFIED) == [("B", 1)]
    assert (matches(place, "bravo"), matches(place, "kilo"), matches(place, "delta")) == (0, 1, 0)
    with place.database.write() as connection:
        writer.put_later(connection, Put(entry("E", "six")))
        assert connection.execute(text("SELECT count(*) FROM index_entry")).scalar_one() == 4

    def fail() -> None:
        with place.database.write() as connection, writer.together(connection):
            writer.put_later(connection, Put(entry("F", "seven")))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert len(place.seen()) == 4
