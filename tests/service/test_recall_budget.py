"""What a reply gives up when its budget is small, and in which order."""

from dataclasses import replace

import pytest

from memsvc.model.replies import RecallReply
from memsvc.service.recall.budget import Limits, fit
from memsvc.service.recall.render import render_hit, render_recall
from tests.service.replies import hit, reply

PLENTY = 100_000


def cut_to(budget: int, made: RecallReply) -> RecallReply:
    """Fitted, with a character for a token."""
    return fit(made, Limits(budget, PLENTY, len))


def test_every_character_of_a_budget_counts_and_only_the_last_hit_is_cut() -> None:
    made = reply(*(hit(id=f"N{number}", text=f"{number}" * 300) for number in range(3)))
    whole = len(render_recall(made))
    for budget in range(500, whole + 200, 7):
        fitted = cut_to(budget, made)
        assert fitted.tokens == len(render_recall(fitted)) <= budget
        assert [one.id for one in fitted.hits] == ["N0", "N1", "N2"][: fitted.count]
        assert not any(one.cut for one in fitted.hits[:-1])
        if fitted.hits[-1].cut:
            assert fitted.hits[-1].text.endswith("…")
            assert budget - fitted.tokens <= len("Cut: a larger budget is needed.") + 4
        elif fitted.count < 3:  # the next one and forty of its characters do not fit
            least = render_hit(1, hit(id="N9", text="9" * 40), several=False)
            assert budget - fitted.tokens < len(least) + 40
        assert fitted.coverage.cut is (fitted.hits != made.hits)
    assert fitted.hits == made.hits


def test_nothing_follows_a_passage_that_was_cut() -> None:
    """The blanks in the middle leave room for the next hit when the rest is cut off."""
    long = hit(id="LONG", text=f"{'word ' * 12}{' ' * 900}end")
    made = reply(long, hit(id="NEXT", text="Short."))
    fitted = cut_to(700, made)
    assert [(one.id, one.cut) for one in fitted.hits] == [("LONG", True)]
    assert [one.id for one in cut_to(2_000, made).hits] == ["LONG", "NEXT"]
    follows = cut_to(700, reply(hit(id="LONG", text="word " * 12), made.hits[1]))
    assert [one.id for one in follows.hits] == ["LONG", "NEXT"]


def test_the_least_reply_is_one_hit_with_nothing_but_its_line_and_text() -> None:
    full = hit(
        id="N", title="A title of more than forty characters, which is much", heading="Part one",
        text="The release moves to March.", source=["meeting"], replaces=["OLD"],
        superseded_by="NEWER", valid_from="", start=5,
    )  # fmt: skip
    made = reply(full, hit(id="M"), query="when is the release")
    text = render_recall(cut_to(PLENTY, made))
    for part in (full.title, "(Part one)", "source: meeting", "replaces: OLD", "NEWER", "id M"):
        assert part in text
    least = (
        '<recalled-notes scope="team/heron" count="1">\n'
        "[1] A title of more than forty characters, …"
        " · decision · human · id N · version 1\n"
        "    {}\n"
        "-- cut\n"
        "</recalled-notes>"
    )
    shown = render_recall(cut_to(len(least.format("The release moves…")) + 32, made))
    assert shown.startswith(least.split("    {}", maxsplit=1)[0])
    assert shown.endswith(least.split("{}")[1])
    assert shown.count("\n") == least.count("\n")
    assert "    The release" in shown
    bare = cut_to(40, made)
    assert (bare.hits, bare.coverage.cut) == ([], True)


@pytest.mark.parametrize(
    ("instant", "shown"),
    [
        ("2026-11-30T00:00:00.000000Z", "2026-11-30 "),
        ("2026-11-30T00:00:00.000001Z", "2026-11-30T00:00:00Z "),
        ("2026-11-30T10:04:11.250000Z", "2026-11-30T10:04:11Z "),
        ("2026-11-30", "2026-11-30 "),
    ],
)
def test_an_instant_is_shown_as_a_day_at_midnight_and_else_to_the_second(
    instant: str, shown: str
) -> None:
    text = render_hit(1, hit(valid_from=instant, valid_to=instant), several=False)
    assert f"valid since {shown}" in text
    assert f"until {shown}" in text


def test_a_heading_stands_above_a_passage_and_a_later_part_but_not_above_a_whole_note() -> None:
    passage = hit(heading="Setup")
    assert "    (Setup)\n" in render_hit(1, passage, several=False)
    assert "(Setup)" not in render_hit(1, replace(passage, length=90), several=False)
    assert "(Setup)" in render_hit(1, replace(passage, length=90, start=40), several=False)
    assert "()" not in render_hit(1, hit(), several=False)


def test_a_whole_note_that_is_too_long_begins_at_its_best_passage_unless_that_is_near() -> None:
    text = f"{'a' * 600}The falcon nests. {'b' * 600}"
    note = hit(text=text, length=len(text), best=600)
    (shown,) = cut_to(600, reply(note)).hits
    assert (shown.start, shown.text[:17], shown.cut) == (600, "The falcon nests.", True)
    (longer,) = cut_to(1_100, reply(note)).hits
    assert (longer.start, longer.cut) == (0, True)
    assert "The falcon nests." in longer.text


def test_a_whole_note_that_was_cut_leaves_room_for_those_behind_it() -> None:
    long = hit(id="LONG", text="word " * 400, length=2_000)
    made = reply(long, hit(id="NEXT", text="Short.", length=6))
    fitted = cut_to(900, made)
    assert [(one.id, one.cut) for one in fitted.hits] == [("LONG", True), ("NEXT", False)]
    assert fitted.coverage.cut


def test_a_limit_is_what_still_fits() -> None:
    limits = Limits(5, 10, lambda text: len(text) // 2)
    assert limits.hold("x" * 10)
    assert not limits.hold("x" * 11)
    assert Limits(5, PLENTY, len).hold("x" * 5)
    assert not Limits(5, PLENTY, len).hold("x" * 6)


def test_a_text_is_never_cut_to_nothing_but_the_sign_that_it_was_cut() -> None:
    made = reply(hit(text="The release moves to March. " * 10))
    texts = {one.text for budget in range(40, 300) for one in cut_to(budget, made).hits}
    assert "…" not in texts
    assert "" in texts
    assert "T…" in texts
