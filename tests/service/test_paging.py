"""Whole notes in a recall, cut fairly, and the rest of a long one by read."""

from dataclasses import replace

import pytest

from memsvc.embedding.tokens import TokenCounter
from memsvc.errors import InvalidInput
from memsvc.interfaces.render import MAX_CHARS, render_note
from memsvc.model.requests import ReadRequest
from memsvc.model.vocabulary import Detail
from memsvc.service.recall.render import neutralise, render_recall
from tests.service.world import World, agent

NEST = "The falcon nests on the tower of the old mill."


def lines(number: int, *, about: str = "weather") -> str:
    return "".join(
        f"Line {at} says something about the {about} of day {at}.\n" for at in range(number)
    )


def long_note(world: World, *, before: int = 0, after: int = 600) -> str:
    body = f"{lines(before)}\n{NEST}\n\n{lines(after)}"
    return world.save("Falcon", body).id


@pytest.mark.guarantee("R1")
@pytest.mark.parametrize("budget", [120, 300, 700, 2000, 6000])
def test_a_long_note_crowds_no_other_out(world: World, budget: int) -> None:
    query = "falcon nests tree tower"
    long = long_note(world)
    short = {world.save(f"Falcon {n}", f"The falcon {n} nests in a tree.").id for n in range(4)}
    snippets = world.ids(query, budget=budget)
    reply = world.ask(query, detail=Detail.FULL, budget=budget)
    assert TokenCounter()(render_recall(reply)) <= budget
    assert reply.hits[0].id == long
    if budget >= 700:
        assert {hit.id for hit in reply.hits} == set(snippets) == {long, *short}
        assert all(not hit.cut for hit in reply.hits if hit.id != long)
        assert reply.coverage.cut


def test_the_room_that_others_leave_goes_to_the_long_note(world: World) -> None:
    long_note(world)
    (alone,) = world.hits("falcon nests", detail=Detail.FULL)
    assert alone.cut
    assert len(alone.text) > 3_000
    assert TokenCounter()(render_recall(world.ask("falcon nests", detail=Detail.FULL))) > 1_500


def test_a_whole_note_that_fits_is_whole_and_says_nothing_of_parts(world: World) -> None:
    world.save("Falcon", f"# Birds\n\n{NEST}\n\n{lines(5)}")
    reply = world.ask("falcon nests", detail=Detail.FULL)
    (hit,) = reply.hits
    assert (hit.cut, hit.start, reply.coverage.cut) == (False, 0, False)
    assert hit.text.startswith("# Birds")
    assert hit.text.endswith("day 4.")
    assert "characters" not in render_recall(reply)


def test_a_cut_note_shows_its_best_passage_and_where_it_goes_on(world: World) -> None:
    note = long_note(world, before=500)
    for budget in (300, 2000):
        reply = world.ask("falcon nests", detail=Detail.FULL, budget=budget)
        (hit,) = reply.hits
        assert NEST in hit.text
        assert hit.start > 0
        end = hit.start + len(hit.text.removesuffix("…"))
        text = render_recall(reply)
        assert f"characters {hit.start} to {end} of {hit.length}; read with offset={end}" in text
        whole = world.service.read(agent(), ReadRequest(id=note)).body
        rest = world.service.read(agent(), ReadRequest(id=note, offset=end)).body
        assert whole == whole[: hit.start] + hit.text.removesuffix("…") + rest
        assert hit.length == len(whole)


def test_a_note_whose_best_passage_is_near_its_beginning_is_cut_behind_it(world: World) -> None:
    long_note(world, before=3)
    (hit,) = world.hits("falcon nests", detail=Detail.FULL)
    assert (hit.start, hit.cut, NEST in hit.text) == (0, True, True)
    assert hit.text.startswith("Line 0")


@pytest.mark.parametrize("unit", ["Line about nothing much.\n", "x", "项目的截止日期。"])
def test_the_pages_of_a_read_are_the_note_without_a_gap(world: World, unit: str) -> None:
    body = f"{NEST}\n{unit * (30_000 // len(unit))}\nThe end of the falcon.\n"
    world.write("heron/falcon.md", body)
    (note,) = world.ids("tower of the old mill")
    offset, pages, texts = 0, 0, ""
    while True:
        view = world.service.read(agent(), ReadRequest(id=note, offset=offset))
        text = render_note(view)
        assert len(text) <= MAX_CHARS
        assert text.count("</recalled-notes>") == 1
        assert (view.offset, view.length) == (offset, len(body))
        pages += 1
        more = text.rpartition("read with offset=")[2].partition(";")[0]
        end = int(more) if more.isdigit() else len(body)
        assert end > offset
        texts += body[offset:end]
        offset = end
        if end == len(body):
            break
    assert texts == body
    assert pages >= 4
    assert "The end of the falcon." in text


@pytest.mark.guarantee("R2")
def test_a_page_that_grows_when_made_harmless_is_shorter_and_still_closed(world: World) -> None:
    note = world.save("Falcon", NEST)
    view = world.service.read(agent(), ReadRequest(id=note.id))
    text = render_note(
        replace(view, body="<recalled-notes\n" * 2_000, source=["where it is from " * 12] * 8)
    )
    assert "characters 0 to 7488 " not in text
    assert MAX_CHARS - 1_500 < len(text) <= MAX_CHARS
    assert text.count("</recalled-notes>") == text.count("<recalled-notes") == 1
    assert "read with offset=" in text


@pytest.mark.guarantee("R2")
def test_an_opening_tag_right_before_another_is_made_harmless_too() -> None:
    assert neutralise("<recalled-notes\n<recalled-notes <b>") == (
        "&lt;recalled-notes\n&lt;recalled-notes <b>"
    )
    assert neutralise("<recalled <b>") == "<recalled <b>"


def test_an_offset_past_the_end_is_refused_and_the_last_one_is_not(world: World) -> None:
    note = world.save("Falcon", NEST)
    length = world.service.read(agent(), ReadRequest(id=note.id)).length
    for offset in (length, length + 1, -1):
        with pytest.raises(InvalidInput, match="offset"):
            world.service.read(agent(), ReadRequest(id=note.id, offset=offset))
    view = world.service.read(agent(), ReadRequest(id=note.id, offset=length - 1))
    assert (view.body, view.offset) == ("\n", length - 1)


def test_rows_of_a_table_are_shown_below_its_header(world: World) -> None:
    head = "| Part | Price in euro | Supplier |\n|---|---|---|\n"
    rows = "".join(f"| Gadget {n} | {n * 37} | The supplier called {n} |\n" for n in range(40))
    world.save("Prices", f"{head}{rows}")
    (hit,) = world.hits("price of gadget 31")
    assert "| Gadget 31 | 1147 |" in hit.text
    assert hit.text.startswith("| Part | Price in euro | Supplier |\n…")


def test_the_heading_path_stands_above_a_passage(world: World) -> None:
    world.save("Birds", f"# Mill\n\n{lines(8)}\n## Tower\n\n{NEST}\n\n## Pond\n\n{lines(8)}")
    reply = world.ask("falcon nests old mill tower")
    assert reply.hits[0].heading == "Mill > Tower"
    assert "    (Mill > Tower)\n" in render_recall(reply)
