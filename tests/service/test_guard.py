"""What the paraphrase guard reads and what it lets go, with a model that takes the same words for the same."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sqlalchemy import delete, select

from memsvc.bootstrap import open_service
from memsvc.embedding.loader import LazyEmbedder
from memsvc.errors import ModelUnavailable
from memsvc.index.schema import rejections
from memsvc.model.identity import Scope
from memsvc.model.vocabulary import ProjectSlug, ReviewKind, VaultName
from memsvc.service.api import MemoryService
from memsvc.service.gateway.checks import Statement, statements
from memsvc.service.gateway.guard import restated
from memsvc.service.gateway.guard.restated import held, likely, remember, remember_all
from memsvc.service.gateway.parts import Parts
from memsvc.service.gateway.review.holding import Hold
from memsvc.settings import Settings
from tests.fakes import FakeEmbedder
from tests.service.world import World, agent

CLAIM = "Every night the old heron sleeps on the roof"
AGAIN = "On the old roof the heron sleeps every night"
NEIGHBOUR = "Every morning the young osprey wakes in the big garden"
SCOPE = Scope(VaultName("personal"), ProjectSlug("heron"))
OTHER = Scope(VaultName("personal"), ProjectSlug("osprey"))


class Words(FakeEmbedder):
    """Remembers what it was given to read."""

    def __init__(self, name: str = "all-MiniLM-L6-v2@words") -> None:
        super().__init__(name, synonyms=[("roof", "gable")])
        self.read: list[str] = []
        self.broken = False
        self.meanwhile: Callable[[], object] = bool

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.broken:
            raise ModelUnavailable("it broke")
        self.read += texts
        self.meanwhile()
        return super().embed_passages(texts)


class Guarded(World):
    model: Words | None

    def open(self) -> MemoryService:
        settings = Settings.model_validate({"home": self.root / "home"})
        lazy = LazyEmbedder.of(self.model) if self.model else LazyEmbedder.off()
        service = open_service(settings, embedder=lazy)
        service.ensure_ready()
        return service

    def use(self, model: Words | None) -> None:
        self.service.close()
        Guarded.model = model
        self.service = self.open()

    @property
    def parts(self) -> Parts:
        return self.service._gateway._parts

    def kept(self) -> list[bytes]:
        with self.parts.database.read() as connection:
            return list(connection.execute(select(rejections.c.vector)).scalars())

    def lose(self, how: str) -> None:
        """The ledger's texts, at once."""
        with self.parts.database.write() as connection:
            connection.exec_driver_sql(how)

    def suspects(self, text: str) -> bool:
        return likely(self.parts, SCOPE, stated(text)) != []

    def reject(self, *claims: str, project: str = "heron") -> None:
        """With the model off, so that nothing of it is read before a test asks."""
        model, by = Guarded.model, agent(project)
        self.use(None)
        for claim in claims:
            self.forget(self.save("Some title", f"{claim}.", by=by).id, by=by)
        self.use(model)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[Guarded]:
    Guarded.model = Words()
    made = Guarded(tmp_path)
    yield made
    made.service.close()


def words(world: Guarded) -> Words:
    assert world.model is not None
    return world.model


def stated(text: str) -> list[Statement]:
    return statements("", text)


def numbered(count: int) -> list[str]:
    return [f"Bird {number} of the flock sleeps" for number in range(count)]


@pytest.mark.guarantee("C2")
def test_the_same_words_in_another_order_are_suspicious_in_their_scope_only(world: Guarded) -> None:
    world.reject(CLAIM)
    (one,) = likely(world.parts, SCOPE, stated(AGAIN))
    assert one.statement.text == AGAIN
    assert one.cosine > 0.99
    assert likely(world.parts, OTHER, stated(AGAIN)) == []
    assert likely(world.parts, SCOPE, stated("On the old roof nobody sings at noon")) == []


def test_what_does_not_count_and_what_has_no_words_is_not_compared(world: Guarded) -> None:
    world.reject(CLAIM)
    (full,) = [one for one in stated(AGAIN) if one.kind == "sentence"]
    assert [one.statement for one in likely(world.parts, SCOPE, [full])] == [full]
    words(world).read.clear()
    foreign = "Каждую ночь старая цапля спит на крыше"
    for one in (full._replace(counts=False), full._replace(text=""), *stated(foreign)):
        assert likely(world.parts, SCOPE, [one]) == []
    assert likely(world.parts, SCOPE, []) == []
    assert words(world).read == []
    mixed = full._replace(text=f"{AGAIN} цапля")
    likely(world.parts, SCOPE, [mixed])
    assert words(world).read[0] == mixed.text


def test_of_a_long_text_the_first_statements_are_compared(world: Guarded) -> None:
    world.reject(CLAIM)
    before = [Statement(one, "sentence", counts=True, text=one) for one in numbered(64)]
    again = Statement(AGAIN.lower(), "sentence", counts=True, text=AGAIN)
    assert likely(world.parts, SCOPE, [*before[1:], again]) != []
    assert likely(world.parts, SCOPE, [*before, again]) == []


def test_without_a_fitting_model_nothing_is_read_or_suspected(world: Guarded) -> None:
    world.reject(CLAIM)
    for model in (None, Words("another-model@1")):
        world.use(model)
        assert likely(world.parts, SCOPE, stated(AGAIN)) == []
        assert remember(world.parts, SCOPE, limit=9) == 0
        assert remember_all(world.parts, limit=None) == 0
        assert world.kept() == []
    world.use(Words())
    assert likely(world.parts, SCOPE, stated(AGAIN)) != []


def test_a_model_that_breaks_lets_the_write_go_on(world: Guarded) -> None:
    world.reject(CLAIM)
    words(world).broken = True
    assert likely(world.parts, SCOPE, stated(AGAIN)) == []
    with pytest.raises(ModelUnavailable):
        remember(world.parts, SCOPE, limit=9)
    words(world).broken = False
    assert likely(world.parts, SCOPE, stated(AGAIN)) != []


def test_every_rejected_claim_is_read_once_a_few_at_a_time(
    world: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.reject(*numbered(3))
    world.reject(*numbered(4), project="osprey")
    total = sum(len(world.service.tombstones(agent(name))) for name in ("heron", "osprey"))
    monkeypatch.setattr(restated, "AT_ONCE", 2)
    assert remember(world.parts, SCOPE, limit=1) == 1
    assert len(world.kept()) == 1
    first = remember_all(world.parts, limit=2)
    assert first == 2
    assert len(world.kept()) == 3
    assert remember_all(world.parts, limit=None) == total - 3
    assert len(world.kept()) == total
    assert remember_all(world.parts, limit=None) == 0
    assert remember(world.parts, SCOPE, limit=9) == 0
    assert sorted(words(world).read) == sorted(f"{one}." for one in [*numbered(3), *numbered(4)])


def test_what_holds_a_write_is_told_together(world: Guarded) -> None:
    world.reject(CLAIM)
    found = likely(world.parts, SCOPE, stated(AGAIN))
    policy = Hold(ReviewKind.PROPOSAL, ("the policy asks",), {"rule": "agents"})
    assert held([], None) is None
    assert held([], policy) is policy
    alone = held(found, None)
    assert alone is not None
    assert alone.kind is ReviewKind.RESTATEMENT
    both = held(found, policy)
    assert both is not None
    assert both.kind is ReviewKind.PROPOSAL
    assert both.reasons == ("the policy asks", *alone.reasons)
    assert both.detail == {"rule": "agents", **alone.detail}


@pytest.mark.guarantee("C2")
def test_another_number_or_another_word_is_another_statement(world: Guarded) -> None:
    world.reject("Every night 3 herons sleep on the wide old roof")
    assert world.suspects("On the wide old roof 3 herons sleep every night")
    assert not world.suspects("On the wide old roof 4 herons sleep every night")
    assert not world.suspects("On the wide old barn 3 herons sleep every night")
    assert world.suspects("On the wide old gable 3 herons sleep every night")


@pytest.mark.guarantee("C2")
def test_what_a_corrected_note_says_now_is_what_is_meant(
    world: Guarded, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = world.save("Bird", "Every single night the old grey heron sleeps on the tall roof.")
    world.correct(note, "Every single night the old grey heron sleeps under the tall roof.")
    assert world.suspects("On the tall roof the old grey heron sleeps every single night")
    now = "Under the tall roof the old grey heron sleeps every single night"
    assert not world.suspects(now)
    assert not world.suspects("Every single night the old grey heron sleeps under the tall roof.")
    monkeypatch.setattr(restated, "MOST_STATEMENTS", 2)
    assert not world.suspects(now)
    monkeypatch.setattr(restated, "MOST_STATEMENTS", 1)
    assert world.suspects(now), "it says more than is compared"
    monkeypatch.undo()
    assert not world.suspects(now)
    world.lose("DELETE FROM note_version WHERE version = 2")
    assert world.suspects(now), "nobody knows what it says"


@pytest.mark.guarantee("C1")
def test_a_note_that_left_or_goes_on_as_it_was_excuses_nothing(world: Guarded) -> None:
    note = world.save("Bird", "Every single night the old grey heron sleeps on the tall roof.")
    world.correct(note, "Every single night the old grey heron sleeps under the tall roof.")
    world.forget(note.id)
    now = stated("Under the tall roof the old grey heron sleeps every single night")
    assert {one.tombstone.version for one in likely(world.parts, SCOPE, now)} == {1, 2}
    world.reject(CLAIM)
    world.lose("UPDATE note SET status = 'active'")
    assert world.suspects(AGAIN)
    world.lose("PRAGMA defer_foreign_keys = ON")
    world.lose("DELETE FROM note")
    assert world.suspects(AGAIN)


@pytest.mark.guarantee("C1")
def test_a_passage_and_a_title_are_known_in_another_order(world: Guarded) -> None:
    note = world.save(
        "Bird 12 sleeps on the barn", f"Many people say: {CLAIM}, and more birds too."
    )
    world.forget(note.id, passage=CLAIM)
    assert world.suspects(AGAIN)
    assert not world.suspects("On the barn sleeps bird 12")
    world.forget(note.id)
    assert world.suspects("On the barn sleeps bird 12")
    world.write("heron/tea.md", f"Tea is hot.\n\n{NEIGHBOUR}")
    (last,) = (hit.id for hit in world.hits("osprey") if hit.path == "heron/tea.md")
    world.forget(last, passage=NEIGHBOUR)
    assert world.suspects("In the big garden the young osprey wakes every morning")


@pytest.mark.parametrize(
    "how", ["DELETE FROM note_version", "UPDATE note_version SET content = '', body_start = 0"]
)
def test_what_the_ledger_lost_is_suspected_no_more(world: Guarded, how: str) -> None:
    world.reject(CLAIM)
    assert world.suspects(AGAIN)
    world.lose(how)
    assert not world.suspects(AGAIN)
    with world.parts.database.write() as connection:
        connection.execute(delete(rejections))
    assert not world.suspects(AGAIN)
    assert set(world.kept()) == {b""}


@pytest.mark.guarantee("C5")
@pytest.mark.parametrize(
    "how", ["DELETE FROM note_version", "UPDATE note_version SET content = '', body_start = 0"]
)
def test_what_is_purged_while_it_is_read_leaves_no_vector(world: Guarded, how: str) -> None:
    world.reject(CLAIM)
    words(world).meanwhile = lambda: world.lose(how)
    remember(world.parts, SCOPE, limit=9)
    assert words(world).read == [f"{CLAIM}."]
    assert not any(world.kept())


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("abc defg где", True),
        ("a b c d ef где", False),
        ("ɐɐɐ ɐɐɐ ɐɐɐ ɐɐɐ", False),
        ("1234 5678", False),
        ("cигнал bird sleeps well", True),
    ],
)
def test_a_text_is_read_where_most_letters_are_latin(world: Guarded, text: str, read: bool) -> None:  # noqa: FBT001 - a parameter
    world.reject(CLAIM)
    assert world.suspects(AGAIN)
    words(world).read.clear()
    assert likely(world.parts, SCOPE, [Statement(text, "sentence", counts=True, text=text)]) == []
    assert (text in words(world).read) is read


def test_a_rejected_claim_in_another_script_is_known_to_have_no_vector(world: Guarded) -> None:
    world.reject("Каждую ночь старая цапля спит на крыше")
    assert remember(world.parts, SCOPE, limit=9) > 0
    assert set(world.kept()) == {b""}
    assert words(world).read == []
    world.reject(CLAIM)
    assert world.suspects(AGAIN)
