"""What recall finds, in which order, and what it leaves out."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from memsvc.errors import InvalidInput
from memsvc.index import schema
from memsvc.index.values import IndexEntry
from memsvc.model.vocabulary import Detail, NoteId, Status, Trust
from memsvc.service.recall.render import render_recall
from tests.fakes import FakeEmbedder
from tests.service.recalling import Desk
from tests.unit.index.place import Place, scope

JAN, FEB, MAR = (f"2026-{month:02}-01T00:00:00.000000Z" for month in (1, 2, 3))


@pytest.fixture(params=["words", "meaning"])
def desk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Desk]:
    embedder = FakeEmbedder() if request.param == "meaning" else None
    made = Desk(tmp_path / "memsvc.db", embedder=embedder)
    yield made
    made.place.database.close()


def fill(place: Place) -> None:
    place.put("RELEASE", "The release of heron moves to 12 March.", title="Heron release")
    place.put("PORT", "The database listens on port 5433.", title="Database port")
    place.put("LUNCH", "Lunch is at noon in the kitchen.", title="Lunch")


def test_recall_finds_the_note_that_answers_and_not_the_others(desk: Desk) -> None:
    fill(desk.place)
    reply = desk.ask("when is the heron release")
    assert [hit.id for hit in reply.hits] == ["RELEASE"]
    assert reply.hits[0].text == "The release of heron moves to 12 March."
    assert (reply.count, reply.abstained, reply.reason) == (1, False, "")
    assert reply.hits[0].current


def test_a_query_about_something_else_is_not_answered(desk: Desk) -> None:
    fill(desk.place)
    reply = desk.ask("quantum chromodynamics lattice")
    assert (reply.count, reply.hits, reply.abstained) == (0, [], True)
    assert "query's words" in reply.reason
    assert desk.ids("database port")


@pytest.mark.parametrize("query", ["", " ", "*", "%", "what is it", '"', "\x00", "\ud800"])
def test_a_query_without_words_is_not_answered_with_everything(desk: Desk, query: str) -> None:
    fill(desk.place)
    reply = desk.ask(query)
    assert reply.abstained
    assert "no word" in reply.reason
    assert desk.ids(f"{query} lunch") == ["LUNCH"]


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None
)
@given(query=st.text(alphabet=st.characters(exclude_categories=()), max_size=200))
@example(query="wie es über'm Hafen war")  # a spelled-out umlaut beside an apostrophe
def test_any_text_is_a_legal_query(desk: Desk, query: str) -> None:
    if not desk.place.seen():
        fill(desk.place)
    text = render_recall(desk.ask(query))
    assert text.startswith("<recalled-notes ")
    text.encode("utf-8")


def test_a_very_long_query_is_legal(desk: Desk) -> None:
    fill(desk.place)
    assert "LUNCH" in desk.ids("lunch kitchen noon " * 6_000)


@pytest.mark.parametrize(
    ("query", "body"),
    [("截止日期", "项目的截止日期是七月九日"), ("七", "项目的截止日期是七月九日"),
     ("마감일", "프로젝트 마감일은 7월 9일입니다"), ("締め切り", "締め切りは7月9日です"), ("กำหนด", "กำหนดส่งโครงการ")],
)  # fmt: skip
def test_notes_in_scripts_without_spaces_are_found(desk: Desk, query: str, body: str) -> None:
    fill(desk.place)
    desk.place.put("CJK", body)
    assert desk.ids(query)[:1] == ["CJK"]
    assert desk.ids("lunch kitchen") == ["LUNCH"]


@pytest.mark.guarantee("S1", "S3")
def test_a_reply_is_the_same_whatever_other_projects_hold(desk: Desk) -> None:
    fill(desk.place)
    desk.place.put("SHARED", "Releases happen on Thursdays.", project="shared")
    queries = ["when is the heron release", "port", "releases thursdays", "zebra", "lunch kitchen"]
    scopes = (scope(), scope("shared"))
    before = [desk.ask(query, *scopes, explain=True) for query in queries]
    for number in range(40):
        desk.place.put(
            f"X{number}", "The release port lunch zebra heron.", project="osprey",
            links=("RELEASE", "PORT"), superseded_by="RELEASE",
            status=Status.SUPERSEDED if number % 2 else Status.PROPOSED,
        )  # fmt: skip
    desk.place.put("X", "The zebra is striped.", project="osprey")
    after = [desk.ask(query, *scopes, explain=True) for query in queries]
    for one, two in zip(before, after, strict=True):
        one.explain.pop("embedding_ms")
        two.explain.pop("embedding_ms")
        assert one == two
    assert desk.ids("zebra", scope("osprey"))[:1] == ["X"]


@pytest.mark.guarantee("S4")
def test_a_result_that_left_its_scope_is_an_error(desk: Desk) -> None:
    fill(desk.place)
    assert desk.ids("lunch") == ["LUNCH"]
    with desk.place.database.write() as connection:  # what no writer does
        connection.execute(
            update(schema.entries).where(schema.entries.c.note_id == "LUNCH").values(project="x")
        )
    with pytest.raises(RuntimeError, match="outside its scope"):
        desk.ask("lunch")
    assert desk.ids("database port") == ["PORT"]


@pytest.mark.guarantee("S1")
def test_an_empty_scope_reads_nothing(desk: Desk) -> None:
    fill(desk.place)
    from memsvc.model.requests import RecallRequest
    from tests.unit.index.place import reading  # an empty one

    reply = desk.recall.recall(reading(), RecallRequest(query="lunch"))
    assert (reply.hits, reply.abstained) == ([], True)
    assert desk.ids("lunch") == ["LUNCH"]


@pytest.mark.guarantee("C4")
def test_a_query_that_matches_a_replaced_note_gets_its_successor(desk: Desk) -> None:
    fill(desk.place)
    desk.place.put(
        "OLD", "The marmalade rollout is on Friday.", status=Status.SUPERSEDED, superseded_by="MID"
    )
    desk.place.put("MID", "It slipped.", status=Status.SUPERSEDED, superseded_by="NEW")
    desk.place.put("NEW", "Now planned for Monday instead.")
    reply = desk.ask("marmalade rollout friday", explain=True)
    assert [hit.id for hit in reply.hits] == ["NEW"]
    assert reply.hits[0].explain["via"] == "replaces OLD"
    assert "marmalade" not in str(reply.hits)
    assert reply.hits[0].replaces == ["MID"]
    assert reply.coverage.withheld == {"superseded": 2}


@pytest.mark.guarantee("C4")
def test_a_replaced_note_without_a_visible_successor_gives_nothing(desk: Desk) -> None:
    fill(desk.place)
    desk.place.put("OLD", "The marmalade plan.", status=Status.SUPERSEDED, superseded_by="NEW")
    desk.place.put("NEW", "The marmalade plan, new.", status=Status.PROPOSED)
    assert desk.ids("marmalade plan") == []
    assert desk.ids("lunch") == ["LUNCH"]


@pytest.mark.guarantee("C4")
def test_the_old_text_of_a_changed_note_leads_to_the_new_one(desk: Desk) -> None:
    desk.place.put(
        "N", "The office is in Marmalade Street.", valid_to=FEB, ended_at=FEB, end_mode="changed",
        latest=False, recorded_from=JAN,
    )  # fmt: skip
    desk.place.put("N", "We moved to the harbour.", version=2, valid_from=FEB, recorded_from=FEB)
    reply = desk.ask("marmalade street office")
    assert [(hit.id, hit.version, hit.current) for hit in reply.hits] == [("N", 2, True)]
    then = desk.ask("marmalade street office", as_of="2026-01-15")
    assert [(hit.version, hit.current) for hit in then.hits] == [(1, False)]


@pytest.mark.guarantee("C4")
def test_history_shows_replaced_notes_marked_and_beside_what_replaced_them(desk: Desk) -> None:
    desk.place.put("ZNEW", "Due in April after all.", title="Deadline moved", valid_from=FEB)
    desk.place.put(
        "OLD", "The marmalade deadline is in March.", title="Marmalade deadline", valid_to=FEB,
        ended_at=FEB, end_mode="superseded", status=Status.SUPERSEDED, superseded_by="ZNEW",
    )  # fmt: skip
    reply = desk.ask("marmalade deadline march", history=True)
    assert [(hit.id, hit.current) for hit in reply.hits] == [("OLD", False), ("ZNEW", True)]
    assert "NOT CURRENT" in render_recall(reply)
    assert "superseded by: ZNEW" in render_recall(reply)
    assert desk.ids("marmalade deadline march") == ["ZNEW"]


def test_a_version_that_says_the_same_is_not_told_twice(desk: Desk) -> None:
    desk.place.put(
        "N", "The marmalade is ready.", title="Jam", recorded_to=FEB, end_mode="amend", latest=False
    )
    desk.place.put("N", "The marmalade is ready.", title="Jam jar", version=2, recorded_from=FEB)
    desk.place.put("W", "The jam was blue.", recorded_to=FEB, end_mode="wrong", latest=False)
    assert [hit.version for hit in desk.ask("marmalade jam", history=True).hits] == [2]


@pytest.mark.guarantee("R5")
def test_an_index_built_in_another_order_answers_the_same(tmp_path: Path) -> None:
    words = ["falcon", "heron", "osprey", "kite", "reed", "river", "tower", "nest", "wing", "storm"]
    choose = random.Random(7)  # noqa: S311 - no secret
    entries = []
    for number in range(60):
        body = ". ".join(" ".join(choose.choices(words, k=4)) for _ in range(3))
        entries.append(
            IndexEntry(
                note_id=NoteId(f"N{number:02}"), version=1, scope=scope(), path=f"{number}.md",
                title=" ".join(choose.choices(words, k=2)), body=body, updated=MAR,
                links=(f"N{choose.randrange(60):02}",), recorded_from=JAN,
                trust=choose.choice(list(Trust)),
                status=Status.SUPERSEDED if number % 7 == 0 else Status.ACTIVE,
                superseded_by=f"N{number + 1:02}" if number % 7 == 0 else "",
            )
        )  # fmt: skip
    queries = [" ".join(choose.choices(words, k=k)) for k in (1, 2, 3, 4) for _ in range(4)]
    for embedder in (None, FakeEmbedder()):
        answers = []
        for order in range(2):
            desk = Desk(tmp_path / f"{order}{bool(embedder)}.db", embedder=embedder)
            for entry in entries:
                desk.place.put_entry(entry)
            with desk.place.database.write() as connection:
                schema.drop(connection)
                schema.ensure(connection)
            for entry in random.Random(order).sample(entries, len(entries)):  # noqa: S311 - no secret
                desk.place.put_entry(entry)
            answers.append(
                [desk.ask(query, history=history) for query in queries for history in (False, True)]
            )
            desk.place.database.close()
        assert answers[0] == answers[1]
        assert sum(reply.count for reply in answers[0]) > 50


def test_a_linked_note_helps_to_find_its_partner(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "memsvc.db", embedder=FakeEmbedder())
    desk.place.put("TOOL", "Wickline is written in Rust by the harbour crew.", links=("TEAM",))
    desk.place.put("TEAM", "The harbour crew sits in Oslo.")
    desk.place.put("OTHER", "The mountain crew sits in Bergen.")
    reply = desk.ask("where does the crew that writes wickline in rust sit", explain=True)
    found = {hit.id: hit.explain["via"] for hit in reply.hits}
    assert list(found)[:2] == ["TOOL", "TEAM"]
    assert found["TEAM"] == "linked with TOOL"
    assert reply.coverage.arms["links"] == "ran"


def test_k_bounds_the_hits_and_the_reply_says_that_there_are_more(desk: Desk) -> None:
    for number in range(12):
        desk.place.put(f"N{number}", f"The falcon number {number} nests.")
    for k in (1, 3, 12, 50):
        reply = desk.ask("falcon nests", k=k)
        assert reply.count == len(reply.hits) == min(k, 12)
        assert reply.coverage.cut is (k < 12)


@pytest.mark.parametrize(
    ("more", "argument"),
    [({"k": 0}, "k"), ({"k": 51}, "k"), ({"k": -1}, "k"), ({"budget": 49}, "budget"),
     ({"budget": 20_001}, "budget"), ({"as_of": "yesterday"}, "as_of"),
     ({"known_at": "2026-13-01"}, "known_at"), ({"as_of": "0001-01-01T00:00:00+14:00"}, "as_of"),
     ({"min_trust": "all"}, "min_trust")],
)  # fmt: skip
def test_an_argument_out_of_range_is_named(
    desk: Desk, more: dict[str, object], argument: str
) -> None:
    fill(desk.place)
    with pytest.raises(InvalidInput) as caught:
        desk.ask("lunch", **more)
    assert caught.value.data["argument"] == argument
    assert argument in caught.value.message
    assert desk.ids("lunch", k=50, budget=20_000, as_of="2026-11-30", min_trust="agent")


@pytest.mark.guarantee("R3")
def test_a_reply_says_what_it_covered(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "memsvc.db")
    fill(desk.place)
    desk.place.put("P", "text", status=Status.PROPOSED)
    desk.place.put("E", "text", valid_to=FEB)
    reply = desk.ask("lunch", scope(), scope("shared"))
    assert reply.coverage.scopes == ["team/heron", "team/shared"]
    assert reply.coverage.arms["lexical"] == "ran"
    assert reply.coverage.arms["vector"].startswith("off: off by setting")
    assert reply.coverage.withheld == {"proposed": 1, "expired": 1}
    assert reply.coverage.without_vector == 3
    text = render_recall(reply)
    assert "vector search is off" in text
    assert (
        "1 waiting for review, 1 no longer valid" in text or "1 no longer valid, 1 waiting" in text
    )
    assert "· team/heron ·" in text


def test_an_arm_that_still_loads_is_said_to(tmp_path: Path) -> None:
    from memsvc.embedding.loader import LazyEmbedder  # one that is idle
    from memsvc.service.recall import Recall

    desk = Desk(tmp_path / "memsvc.db")
    fill(desk.place)
    desk.recall = Recall(
        database=desk.place.database, embedder=LazyEmbedder(FakeEmbedder), clock=desk.clock
    )
    reply = desk.ask("lunch")
    assert reply.coverage.arms["vector"] == "off: the model is loading"
    assert [hit.id for hit in reply.hits] == ["LUNCH"]


def test_notes_without_vectors_yet_are_found_by_words_beside_those_with(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "memsvc.db", embedder=FakeEmbedder())
    desk.place.put("READ", "The falcon nests in the tower.")
    desk.place.embedder = None
    desk.place.put("UNREAD", "The falcon nests in the barn.")
    reply = desk.ask("falcon nests")
    assert {hit.id for hit in reply.hits} == {"READ", "UNREAD"}
    assert reply.coverage.without_vector == 1


@pytest.mark.guarantee("R4")
def test_detail_full_shows_the_whole_note_and_snippets_a_part(desk: Desk) -> None:
    body = "\n\n".join(
        f"Paragraph {n} tells of the marmalade and of many other things." for n in range(30)
    )
    desk.place.put("N", body, source=("meeting",), author="agent:t", trust=Trust.HUMAN)
    short = desk.ask("marmalade").hits[0]
    assert short.cut
    assert 100 < len(short.text) <= 402
    whole = desk.ask("marmalade", detail=Detail.FULL).hits[0]
    assert (whole.text, whole.cut) == (body, False)
    assert (whole.id, whole.version, whole.source, whole.author) == ("N", 1, ["meeting"], "agent:t")


def test_a_word_deep_in_a_long_line_is_shown(desk: Desk) -> None:
    desk.place.put("N", "blah " * 20_000 + "the marmalade recipe is here " + "blah " * 20_000)
    assert "marmalade recipe" in desk.ask("marmalade recipe").hits[0].text


def test_explain_is_given_when_asked_for(desk: Desk) -> None:
    fill(desk.place)
    plain, explained = desk.ask("lunch kitchen"), desk.ask("lunch kitchen", explain=True)
    assert plain.hits[0].explain == {}
    assert plain.explain == {"query": "lunch kitchen"}
    assert set(explained.hits[0].explain) == {"score", "close", "words", "via"}
    assert "lunch=" in str(explained.explain["terms"])
