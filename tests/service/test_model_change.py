"""Another model: a clear state, words meanwhile, vectors bit by bit, and no mixture of the two."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memsvc.bootstrap import open_service
from memsvc.embedding.loader import LazyEmbedder
from memsvc.errors import Denied, InvalidInput, ModelUnavailable
from memsvc.model.replies import RecallReply
from memsvc.model.requests import RecallRequest, SaveRequest
from memsvc.service.api import MemoryService
from memsvc.settings import Settings
from tests.fakes import FakeEmbedder
from tests.service.world import agent, human

NOTES = 150
SYNONYMS = [("vessel", "ship"), ("skipper", "captain")]


class Home:
    """One home, opened with one model after another."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._open: list[MemoryService] = []

    def opened(self, embedder: FakeEmbedder | None) -> MemoryService:
        lazy = LazyEmbedder.off() if embedder is None else LazyEmbedder.of(embedder)
        service = open_service(Settings(home=self.root), embedder=lazy)
        service.ensure_ready()
        self._open.append(service)
        return service

    def close(self) -> None:
        for service in self._open:
            service.close()


class Poisoned(FakeEmbedder):
    """A model that fails at every text with a certain word."""

    def embed_query(self, text: str) -> NDArray[np.float32]:
        if "poison" in text:
            raise ModelUnavailable("the model failed on a text")
        return super().embed_query(text)


def model(name: str) -> FakeEmbedder:
    return FakeEmbedder(name, synonyms=SYNONYMS)


def fill(service: MemoryService, root: Path) -> None:
    folder = root / "personal" / "heron"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(NOTES):
        text = f"# Berth {number:03}\n\nVessel, skipper, pier{number:03}.\n"
        (folder / f"berth-{number:03}.md").write_text(text)
    service.scan_all(agent())


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made = Home(tmp_path / "home")
    service = made.opened(model("first@1"))
    fill(service, made.root)
    assert service.embed_all() == NOTES
    yield made
    made.close()


def ask(service: MemoryService, query: str, *, k: int = 8) -> RecallReply:
    return service.recall(agent(), RecallRequest(query=query, k=k))


def titles(reply: RecallReply) -> list[str]:
    return [hit.title for hit in reply.hits]


def without_vector(service: MemoryService) -> int:
    return int(str(service.model_state(human())["without_vector"]))


def embed_some(service: MemoryService, count: int) -> None:
    """Stop the work in the middle, as an interrupt does."""

    def stop(done: int, total: int, what: str) -> None:
        if done >= count:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        service.embed_all(stop)


def test_a_change_of_model_is_said_and_words_go_on(home: Home) -> None:
    told = "86 of 150 passages have no vector of this model yet"  # the first look read 64
    before = home.opened(model("first@1"))
    assert not any("vector" in problem for problem in before.scopes(agent()).problems)
    assert not any(item["check"] == "vectors" for item in before.doctor(human()))
    after = home.opened(model("second@1"))
    scopes = after.scopes(agent())
    assert any(told in problem and "memsvc model embed" in problem for problem in scopes.problems)
    assert scopes.index["model_id"] == "second@1"
    assert (scopes.index["vectors"], scopes.index["without_vector"]) == (64, NOTES - 64)
    assert after.stats(human())["other_vectors"] == NOTES
    (warned,) = [item for item in after.doctor(human()) if item["check"] == "vectors"]
    assert warned["state"] == "warn"
    assert told in str(warned["detail"])
    reply = ask(home.opened(None), "pier042")
    assert titles(reply) == ["Berth 042"]


def test_a_vault_that_is_half_read_answers_by_meaning_where_it_can_and_by_words_elsewhere(
    home: Home,
) -> None:
    service = home.opened(model("second@1"))
    ask(service, "anything")  # the first look reads 64 passages
    assert without_vector(service) == NOTES - 64
    for number in (0, 40, 63, 64, 100, 149):
        reply = ask(service, f"pier{number:03} vessel")
        assert titles(reply)[0] == f"Berth {number:03}"
        assert reply.coverage.arms["vector"] == "ran"
        assert reply.coverage.without_vector == NOTES - 64
        own = ask(service, f"pier{number:03}")
        assert titles(own) == [f"Berth {number:03}"]
    found = ask(service, "ship captain", k=20)
    assert found.hits
    assert {int(title.split()[1]) < 64 for title in titles(found)} == {True}
    service.embed_all()
    everywhere = ask(service, "ship captain", k=20)
    assert everywhere.coverage.without_vector == 0
    assert len(everywhere.hits) == len(found.hits) == 20


def test_work_that_was_stopped_goes_on_where_it_was(home: Home) -> None:
    service = home.opened(model("second@1"))
    embed_some(service, 64)
    steps: list[tuple[int, int, str]] = []
    assert service.embed_all(lambda *step: steps.append(step)) == NOTES - 64
    assert steps[-1] == (NOTES - 64, NOTES - 64, "embedding passages")
    assert without_vector(service) == 0
    assert service.embed_all() == 0


@pytest.mark.slow
def test_work_that_was_killed_goes_on_where_it_was(home: Home) -> None:
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from tests.service.test_model_change import Home, model\n"
        "service = Home(Path(sys.argv[1])).opened(model('second@1'))\n"
        "def kill(done, total, what):\n"
        "    if done >= 128: os.kill(os.getpid(), signal.SIGKILL)\n"
        "service.embed_all(kill)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(home.root)],
        cwd=Path(__file__).parents[2],
        env=os.environ,
        timeout=90,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL
    service = home.opened(model("second@1"))
    left = without_vector(service)
    assert left <= NOTES - 64
    assert service.embed_all() == left
    assert without_vector(service) == 0
    for number in (0, 100, 127, 128, 149):
        assert titles(ask(service, f"ship pier{number:03}"))[0] == f"Berth {number:03}"


def test_vectors_of_the_old_model_stay_until_the_new_one_has_read_everything(home: Home) -> None:
    service = home.opened(model("second@1"))
    embed_some(service, 64)
    with pytest.raises(InvalidInput, match="86 passages have no vector"):
        service.forget_other_models(human())
    assert home.opened(model("first@1")).model_state(human())["vectors"] == NOTES
    service.embed_all()
    with pytest.raises(Denied):
        service.forget_other_models(agent())
    files = home.root / "vectors"
    assert len(list(files.glob("*.vectors"))) == 2
    reply = service.forget_other_models(human())
    assert (reply["removed"], reply["models"]) == (NOTES, ["first@1"])
    assert len(list(files.glob("*.vectors"))) == 1
    state = service.model_state(human())
    assert (state["vectors"], state["other_vectors"]) == (NOTES, 0)
    assert titles(ask(service, "ship pier007"))[0] == "Berth 007"
    assert service.forget_other_models(human())["removed"] == 0


def test_nothing_is_dropped_while_no_model_is_in_use(home: Home) -> None:
    with pytest.raises(ModelUnavailable, match="off by setting"):
        home.opened(None).forget_other_models(human())
    assert home.opened(model("first@1")).model_state(human())["vectors"] == NOTES


def test_a_text_that_the_model_fails_at_is_saved_and_found_by_words(home: Home) -> None:
    service = home.opened(Poisoned("first@1"))
    saved = service.save(agent(), SaveRequest(title="Stores", body="The poison is kept in shed 9."))
    other = service.save(agent(), SaveRequest(title="Nets", body="The nets are kept in shed 8."))
    assert without_vector(service) == 1
    with pytest.raises(ModelUnavailable):  # whoever asks for vectors is told
        service.embed_all()
    reply = ask(service, "where is the poison")
    assert [hit.id for hit in reply.hits][:1] == [saved.id]
    assert reply.coverage.arms["vector"] == "off: the model failed at this question"
    well = ask(service, "nets shed")
    assert [hit.id for hit in well.hits][:1] == [other.id]
    assert well.coverage.arms["vector"] == "ran"


def test_one_passage_that_fails_does_not_keep_others_from_their_vectors(tmp_path: Path) -> None:
    made = Home(tmp_path / "home")
    service = made.opened(Poisoned("first@1"))
    bodies: Sequence[str] = [f"Shed {number} holds nets." for number in range(20)]
    folder = made.root / "personal" / "heron"
    folder.mkdir(parents=True)
    for number, body in enumerate([*bodies[:10], "Shed 99 holds poison.", *bodies[10:]]):
        (folder / f"shed-{number:02}.md").write_text(body)
    service.scan_all(agent())
    assert service.embed_all() == 20
    assert without_vector(service) == 1
    assert "poison" in ask(service, "holds poison").hits[0].text
    made.close()
