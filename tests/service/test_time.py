"""Time: what was true then, what was believed then, and both at once, over the verbs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memsvc.bootstrap import open_service
from memsvc.errors import InvalidInput
from memsvc.model.requests import ReadRequest
from memsvc.service.api import MemoryService
from memsvc.settings import Settings
from tests.fakes import FixedClock
from tests.service.world import World, agent, human

FIRST = datetime(2026, 4, 10, 9, 0, tzinfo=UTC)
"""When the story begins."""
LEARNED = datetime(2026, 6, 20, 9, 0, tzinfo=UTC)
"""When it is told that things are otherwise."""
TODAY = datetime(2026, 7, 1, 9, 0, tzinfo=UTC)
"""When it is asked."""
ASKED = "heron port"
OLD, NEW = "The heron port is 6544.", "The heron port is 7000."


@dataclass
class Timed(World):
    clock: FixedClock = field(default_factory=lambda: FixedClock(FIRST))

    def open(self) -> MemoryService:
        settings = Settings.model_validate({"home": self.root / "home", "embedder": "none"})
        service = open_service(settings, clock=self.clock)
        service.ensure_ready()
        return service

    def said(self, **when: object) -> list[str]:
        """The values that a recall gives, in the order of their words."""
        hits = self.hits(ASKED, by=None, **when)
        return sorted({value for hit in hits for value in ("6544", "7000") if value in hit.text})


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Timed]:
    made = Timed(tmp_path)
    yield made
    made.service.close()


def backdated(world: Timed) -> None:
    """True since March, learned in June."""
    world.clock.set(LEARNED)
    world.save("Port", NEW, valid_from="2026-03-01")


def changed_now(world: Timed) -> None:
    note = world.save("Port", OLD)
    world.clock.set(LEARNED)
    world.correct(note, NEW, "changed")


def changed_before_it_was_told(world: Timed) -> None:
    """Noted in April as true since January; told in June that it is otherwise since May."""
    note = world.save("Port", OLD, valid_from="2026-01-01")
    world.clock.set(LEARNED)
    world.correct(note, NEW, "changed", effective="2026-05-01")


def changed_before_it_was_noted(world: Timed) -> None:
    """Noted in April, since when nobody said; told in June that it was otherwise since March."""
    note = world.save("Port", OLD)
    world.clock.set(LEARNED)
    world.correct(note, NEW, "changed", effective="2026-03-01")


def changes_later(world: Timed) -> None:
    """Told in June that it will be otherwise from August on."""
    note = world.save("Port", OLD)
    world.clock.set(LEARNED)
    world.correct(note, NEW, "changed", effective="2026-08-01")


def wrong(world: Timed) -> None:
    note = world.save("Port", OLD, valid_from="2026-01-01")
    world.clock.set(LEARNED)
    world.correct(note, NEW, "wrong")


def changed_after_it_ran_out(world: Timed) -> None:
    note = world.save("Port", OLD, valid_from="2026-01-01", valid_to="2026-05-01")
    world.clock.set(LEARNED)
    world.correct(note, NEW, "changed")


def superseded(world: Timed) -> None:
    note = world.save("Port", OLD, valid_from="2026-01-01")
    world.clock.set(LEARNED)
    world.save("New port", NEW, supersedes=(note.id,))


def superseded_from_a_past_day(world: Timed) -> None:
    note = world.save("Port", OLD)
    world.clock.set(LEARNED)
    world.save("New port", NEW, supersedes=(note.id,), valid_from="2026-03-01")


def superseded_from_a_coming_day(world: Timed) -> None:
    note = world.save("Port", OLD)
    world.clock.set(LEARNED)
    world.save("New port", NEW, supersedes=(note.id,), valid_from="2026-08-01")


def over_since_nobody_knows_when(world: Timed) -> None:
    world.save("Port", OLD, valid_from="2026-01-01", valid_to="unknown")


def replaced_by_hand_since_nobody_knows_when(world: Timed) -> None:
    world.write("heron/old.md", f'---\nstatus: superseded\nsuperseded_by: "[[new]]"\n---\n{OLD}\n')
    world.write("heron/new.md", f"{NEW}\n")
    world.said()


def replaced_by_hand_by_what_has_a_date(world: Timed) -> None:
    replaced_by_hand_since_nobody_knows_when(world)
    world.write("heron/new.md", f"---\nvalid_from: 2026-03-01\n---\n{NEW}\n")
    world.said()


def replaced_by_hand_from_a_coming_day(world: Timed) -> None:
    world.write("heron/old.md", f'---\nstatus: superseded\nsuperseded_by: "[[new]]"\n---\n{OLD}\n')
    world.write("heron/new.md", f"---\nvalid_from: 2026-08-01\n---\n{NEW}\n")
    world.said()


def replaced_by_hand_though_planned_for_longer(world: Timed) -> None:
    """The end that was once planned does not keep a replaced note alive."""
    world.write(
        "heron/old.md",
        f'---\nstatus: superseded\nsuperseded_by: "[[new]]"\nvalid_to: 2030-01-01\n---\n{OLD}\n',
    )
    world.write("heron/new.md", f"---\nvalid_from: 2026-03-01\n---\n{NEW}\n")
    world.said()


def told_by_the_new_file(world: Timed) -> None:
    world.write("heron/old.md", f"{OLD}\n")
    world.said()
    world.clock.set(LEARNED)
    world.write(
        "heron/new.md", f'---\nvalid_from: 2026-03-01\nsupersedes: ["[[old]]"]\n---\n{NEW}\n'
    )
    world.said()


def edited_with_a_later_start(world: Timed) -> None:
    world.write("heron/port.md", f"---\nvalid_from: 2026-01-01\n---\n{OLD}\n")
    world.said()
    world.clock.set(LEARNED)
    world.write("heron/port.md", f"---\nvalid_from: 2026-05-01\n---\n{NEW}\n")
    world.said()


def edited_without_a_date(world: Timed) -> None:
    world.write("heron/port.md", f"{OLD}\n")
    world.said()
    world.clock.set(LEARNED)
    world.write("heron/port.md", f"{NEW}\n")
    world.said()


def in_another_zone(world: Timed) -> None:
    """Two hours ahead of UTC: from 22:00 UTC of the day before on."""
    world.write("heron/port.md", f"---\nvalid_from: 2026-03-01T00:00:00+02:00\n---\n{NEW}\n")
    world.said()


BOTH, NONE = ["6544", "7000"], list[str]()
THEN, SINCE = ["6544"], ["7000"]
Story = Callable[[Timed], None]

CASES: list[tuple[Story, dict[str, object], list[str]]] = [
    (backdated, {}, SINCE),
    (backdated, {"as_of": "2026-04-15"}, SINCE),
    (backdated, {"as_of": "2026-02-28T23:59:59Z"}, NONE),
    (backdated, {"as_of": "2026-03-01"}, SINCE),
    (backdated, {"known_at": "2026-06-19"}, NONE),
    (backdated, {"as_of": "2026-04-15", "known_at": "2026-06-19"}, NONE),
    (backdated, {"as_of": "2026-04-15", "known_at": "2026-06-21"}, SINCE),
    (changed_now, {}, SINCE),
    (changed_now, {"as_of": "2026-06-20T08:59:59Z"}, THEN),
    (changed_now, {"as_of": "2026-06-20T09:00:00Z"}, SINCE),
    (changed_now, {"history": True}, BOTH),
    (changed_before_it_was_told, {"as_of": "2026-04-30T23:59:59Z"}, THEN),
    (changed_before_it_was_told, {"as_of": "2026-05-01"}, SINCE),
    (changed_before_it_was_told, {"known_at": "2026-06-19"}, THEN),
    (changed_before_it_was_told, {"as_of": "2026-06-01", "known_at": "2026-06-01"}, THEN),
    (changed_before_it_was_told, {"as_of": "2026-06-01", "known_at": "2026-07-01"}, SINCE),
    (changed_before_it_was_told, {"as_of": "2026-02-01", "known_at": "2026-04-01"}, NONE),
    (changed_before_it_was_told, {"as_of": "2026-02-01", "known_at": "2026-04-11"}, THEN),
    (changed_before_it_was_noted, {}, SINCE),
    (changed_before_it_was_noted, {"as_of": "2026-02-15"}, THEN),
    (changed_before_it_was_noted, {"as_of": "2026-04-15"}, SINCE),
    (changed_before_it_was_noted, {"known_at": "2026-05-01"}, THEN),
    (changed_before_it_was_noted, {"history": True}, BOTH),
    (changes_later, {}, THEN),
    (changes_later, {"as_of": "2026-07-31T23:59:59Z"}, THEN),
    (changes_later, {"as_of": "2026-08-01"}, SINCE),
    (changes_later, {"known_at": "2026-05-01", "as_of": "2026-09-01"}, THEN),
    (wrong, {}, SINCE),
    (wrong, {"as_of": "2026-02-01"}, SINCE),
    (wrong, {"as_of": "2026-02-01", "known_at": "2026-05-01"}, THEN),
    (wrong, {"known_at": "2026-06-20T08:59:59Z"}, THEN),
    (wrong, {"known_at": "2026-06-20T09:00:00Z"}, SINCE),
    (wrong, {"history": True}, SINCE),
    (changed_after_it_ran_out, {}, SINCE),
    (changed_after_it_ran_out, {"as_of": "2026-04-01"}, THEN),
    (changed_after_it_ran_out, {"as_of": "2026-05-15"}, NONE),
    (superseded, {}, SINCE),
    (superseded, {"as_of": "2026-02-01"}, THEN),
    (superseded, {"as_of": "2026-06-20T08:59:59Z"}, THEN),
    (superseded, {"as_of": "2026-06-20T09:00:00Z"}, SINCE),
    (superseded, {"known_at": "2026-06-19"}, THEN),
    (superseded, {"history": True}, BOTH),
    (superseded_from_a_past_day, {}, SINCE),
    (superseded_from_a_past_day, {"as_of": "2026-02-15"}, THEN),
    (superseded_from_a_past_day, {"as_of": "2026-05-15"}, SINCE),
    (superseded_from_a_past_day, {"known_at": "2026-05-15"}, THEN),
    (superseded_from_a_coming_day, {}, THEN),
    (superseded_from_a_coming_day, {"as_of": "2026-07-31T23:59:59Z"}, THEN),
    (superseded_from_a_coming_day, {"as_of": "2026-08-01"}, SINCE),
    (superseded_from_a_coming_day, {"as_of": "2026-09-01", "known_at": "2026-05-01"}, THEN),
    (over_since_nobody_knows_when, {}, NONE),
    (over_since_nobody_knows_when, {"as_of": "2026-02-01"}, NONE),
    (over_since_nobody_knows_when, {"as_of": "2030-01-01"}, NONE),
    (over_since_nobody_knows_when, {"history": True}, THEN),
    (replaced_by_hand_since_nobody_knows_when, {}, SINCE),
    (replaced_by_hand_since_nobody_knows_when, {"as_of": "2026-04-11"}, SINCE),
    (replaced_by_hand_since_nobody_knows_when, {"history": True}, BOTH),
    (replaced_by_hand_by_what_has_a_date, {}, SINCE),
    (replaced_by_hand_by_what_has_a_date, {"as_of": "2026-02-28"}, THEN),
    (replaced_by_hand_by_what_has_a_date, {"as_of": "2026-03-01"}, SINCE),
    (replaced_by_hand_from_a_coming_day, {}, THEN),
    (replaced_by_hand_from_a_coming_day, {"as_of": "2026-08-01"}, SINCE),
    (replaced_by_hand_though_planned_for_longer, {}, SINCE),
    (replaced_by_hand_though_planned_for_longer, {"as_of": "2026-02-01"}, THEN),
    (told_by_the_new_file, {}, SINCE),
    (told_by_the_new_file, {"as_of": "2026-02-01"}, THEN),
    (told_by_the_new_file, {"as_of": "2026-05-01"}, SINCE),
    (told_by_the_new_file, {"known_at": "2026-05-01"}, THEN),
    (edited_with_a_later_start, {}, SINCE),
    (edited_with_a_later_start, {"as_of": "2026-04-30"}, THEN),
    (edited_with_a_later_start, {"known_at": "2026-06-01"}, THEN),
    (edited_with_a_later_start, {"history": True}, BOTH),
    (edited_without_a_date, {}, SINCE),
    (edited_without_a_date, {"known_at": "2026-06-01"}, THEN),
    (edited_without_a_date, {"as_of": "2026-06-01"}, SINCE),
    (in_another_zone, {"as_of": "2026-02-28T21:59:59Z"}, NONE),
    (in_another_zone, {"as_of": "2026-02-28T22:00:00Z"}, SINCE),
    (in_another_zone, {"as_of": "2026-03-01T00:00:00+02:00"}, SINCE),
]


@pytest.mark.guarantee("R5")
@pytest.mark.parametrize("story", list(dict.fromkeys(story for story, _, _ in CASES)))
def test_time_decides_which_text_is_recalled_also_after_a_rebuild(
    world: Timed, story: Story
) -> None:
    story(world)
    world.clock.set(TODAY)
    cases = [(when, said) for told, when, said in CASES if told is story]
    assert any(said for _, said in cases)
    assert [world.said(**when) for when, _ in cases] == [said for _, said in cases]
    world.service.reindex(human())
    assert [world.said(**when) for when, _ in cases] == [said for _, said in cases]


@pytest.mark.guarantee("C4")
@pytest.mark.parametrize("story", [changes_later, superseded_from_a_coming_day])
def test_what_will_change_holds_until_then_and_not_a_moment_longer(
    world: Timed, story: Story
) -> None:
    story(world)
    world.clock.set(datetime(2026, 7, 31, 23, 59, 59, tzinfo=UTC))
    (hit,) = world.hits(ASKED)
    assert ("6544" in hit.text, hit.current, hit.valid_to[:10]) == (True, True, "2026-08-01")
    assert world.ask(ASKED).coverage.withheld == {"not_yet_valid": 1}
    world.clock.advance(seconds=1)
    (hit,) = world.hits(ASKED)
    assert ("7000" in hit.text, hit.current) == (True, True)


def test_an_end_that_nobody_knows_differs_from_none(world: Timed) -> None:
    open_ = world.save("Open port", NEW, valid_from="2026-01-01")
    over = world.save("Port", OLD, valid_from="2026-01-01", valid_to="unknown")
    assert "valid_to: unknown\n" in world.file(over.path).read_text()
    views = [world.service.read(agent(), ReadRequest(id=note.id)) for note in (open_, over)]
    assert [(view.valid_to, view.current) for view in views] == [("", True), ("unknown", False)]
    assert world.ids(ASKED) == [open_.id]
    assert world.ask(ASKED).coverage.withheld == {"expired": 1}
    past = {hit.id: hit for hit in world.hits(ASKED, history=True)}
    assert (past[over.id].valid_to, past[over.id].current) == ("unknown", False)
    by_hand = world.write(f"{over.path}", world.file(over.path).read_text() + "\nMore of it.\n")
    assert world.ids(ASKED) == [open_.id]
    by_hand.write_text(by_hand.read_text().replace("valid_to: unknown", "valid_to:"))
    assert set(world.ids(ASKED)) == {open_.id, over.id}


def test_a_note_is_read_as_current_only_while_it_holds(world: Timed) -> None:
    note = world.save("Port", OLD, valid_from="2026-04-01", valid_to="2026-05-01")
    later = world.save("Later port", NEW, valid_from="2026-05-01")

    def current() -> list[bool]:
        ids = (note.id, later.id)
        return [world.service.read(agent(), ReadRequest(id=one)).current for one in ids]

    assert current() == [True, False]
    world.clock.set(LEARNED)
    assert current() == [False, True]


def test_a_correction_of_what_ran_out_does_not_stretch_it(world: Timed) -> None:
    changed_after_it_ran_out(world)
    (new,) = world.hits(ASKED)
    view = world.service.read(agent(), ReadRequest(id=new.id))
    windows = [(one.valid_from, one.valid_to) for one in view.versions]
    assert windows == [("2026-01-01", "2026-05-01"), ("2026-06-20T09:00:00Z", "")]
    assert "valid_to:\n" in world.file(new.path).read_text()


def test_a_start_that_was_named_does_not_give_way(world: Timed) -> None:
    note = world.save("Port", OLD, valid_from="2026-02-01")
    for effective in ("2026-01-31", "2026-02-01"):
        with pytest.raises(InvalidInput, match="effective must be later than 2026-02-01"):
            world.correct(note, NEW, "changed", effective=effective)
    assert world.correct(note, NEW, "changed", effective="2026-02-02").version == 2


def test_an_edit_of_a_replaced_note_does_not_move_its_end(world: Timed) -> None:
    superseded(world)
    world.clock.set(TODAY)
    (old,) = (hit for hit in world.hits(ASKED, history=True) if "6544" in hit.text)
    path = world.file(old.path)
    path.write_text(path.read_text().replace("valid_to: 2026-06-20T09:00:00Z", "valid_to:") + "x\n")
    assert world.said(as_of="2026-06-20T08:00:00Z") == THEN
    assert world.said(as_of="2026-06-25") == SINCE


@pytest.mark.parametrize("end", ["2026-01-01", "2025-12-31", "sometime"])
def test_an_end_that_cannot_be_is_refused(world: Timed, end: str) -> None:
    with pytest.raises(InvalidInput, match="valid_to"):
        world.save("Port", OLD, valid_from="2026-01-01", valid_to=end)
    assert world.save("Port", OLD, valid_from="2026-01-01", valid_to="2026-01-02").version == 1
