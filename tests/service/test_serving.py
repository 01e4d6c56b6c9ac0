"""What a service that answers once does itself, and one that serves leaves to its background."""

import threading

import pytest

from memsvc.embedding.loader import LazyEmbedder
from memsvc.model.replies import Related
from memsvc.service.api import EMBED_BATCH, _without
from tests.fakes import FakeEmbedder
from tests.service.replies import hit, reply
from tests.service.world import World


@pytest.mark.parametrize(
    ("waiting", "embedded"), [(0, 0), (0, EMBED_BATCH - 1), (0, EMBED_BATCH), (1, 0)]
)
def test_the_background_goes_on_at_once_while_anything_is_left(
    world: World, monkeypatch: pytest.MonkeyPatch, waiting: int, embedded: int
) -> None:
    service = world.service
    world.save("Host", "The staging host is called marsh.")
    monkeypatch.setattr(service._gateway, "embed_missing", lambda **_: embedded)
    monkeypatch.setattr(service._gateway.scanner, "waiting", lambda _: waiting)
    assert service._work() is (waiting > 0 or embedded == EMBED_BATCH)


def test_who_answers_once_reads_with_the_model_and_who_serves_does_not_make_anybody_wait(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = world.service
    loaded: list[str] = []

    def load() -> FakeEmbedder:
        loaded.append(threading.current_thread().name)
        return FakeEmbedder()

    embedder = LazyEmbedder(load)
    monkeypatch.setattr(service, "_embedder", embedder)
    with monkeypatch.context() as serving:
        serving.setattr(service, "_background", object.__new__(_Idle))
        world.write("heron/Host.md", "The staging host is called marsh.\n")
        assert len(world.ids("staging host")) == 1
        assert loaded == []
    world.write("heron/Port.md", "The staging port is 4711.\n")
    assert len(world.ids("staging port")) == 1
    assert loaded == [threading.current_thread().name]
    world.write("heron/Gate.md", "The staging gate opens at seven.\n")
    assert len(world.ids("staging gate")) == 1
    assert len(loaded) == 1


class _Idle:
    """A background that has nothing to do."""

    def poke(self) -> None:
        """Somebody waits."""


def test_of_a_reply_that_never_stands_still_all_that_is_left_out_is_counted() -> None:
    near = [
        Related(id=f"R{number}", title="Near", scope="team/heron", version=1, how="nearest", path=f"{number}.md")
        for number in range(3)
    ]  # fmt: skip
    abstained = reply(nearest=near, abstained=True, reason="nothing fits")
    left = _without(abstained, ["0.md"], ["R1"])
    assert [one.id for one in left.nearest] == ["R2"]
    assert left.coverage.notices == ["2 notes are changing just now and left out; ask again"]
    assert left.reason == "nothing fits"
    hits = reply(hit(id="N1", path="a.md"), hit(id="N2", path="b.md"))
    left = _without(hits, ["a.md"], [])
    assert ([one.id for one in left.hits], left.count, left.abstained) == (["N2"], 1, False)
    assert left.coverage.notices == ["1 note is changing just now and left out; ask again"]
