"""Which notes are listed as made of a forgotten one."""

from memsvc.model.replies import ForgetReply
from tests.service.world import World, agent, human


def listed(reply: ForgetReply) -> set[str]:
    return {one.title for one in reply.derived}


def test_a_note_with_more_sources_than_the_forgotten_one_is_listed(world: World) -> None:
    note = world.save("Port", "The heron deploy port is 6544.")
    world.save("Digest", "It is early.", source=("[[port]]", "[[nowhere]]"))
    far = ("[[port]]", "[[nowhere]]")
    world.save("Far", "It is far.", source=far, by=agent("osprey"))
    world.save("Everywhere", "It is wide.", source=("[[heron/port]]",), by=agent("shared"))
    world.save("Free", "It is late.", source=("[[nowhere]]", "[[elsewhere]]"))
    assert listed(world.forget(note.id)) == {"Digest", "Everywhere"}
    assert listed(world.forget(note.id, by=human(), mode="purge")) == {"Digest", "Everywhere"}


def test_notes_that_are_made_of_each_other_are_listed_once_and_the_forgotten_one_never(
    world: World,
) -> None:
    note = world.save("Port", "The heron deploy port is 6544.", source=("[[digest]]", "[[port]]"))
    world.save("Digest", "It is early.", source=("[[port]]", "[[digest of it]]"))
    world.save("Digest of it", "It is really early.", source=("[[digest]]",))
    world.save("Both", "It is both.", source=("[[digest]]", "[[digest of it]]", "[[both]]"))
    reply = world.forget(note.id, derived=True)
    assert [one.title for one in reply.derived] == ["Both", "Digest of it", "Digest"]
    assert {one.how for one in reply.derived} == {"derived, retracted"}
    assert world.ids("early deploy port both") == []
