"""The fakes keep the promises that other tests lean on."""

from datetime import UTC, datetime

import numpy as np
import pytest

from memsvc.clock import Clock
from memsvc.embedding.protocol import Embedder
from memsvc.ids import NewId, is_ulid
from tests.fakes import FakeEmbedder, FixedClock, SequentialIds


def test_fakes_satisfy_the_protocols() -> None:
    embedder: Embedder = FakeEmbedder()
    clock: Clock = FixedClock()
    new_id: NewId = SequentialIds()
    assert embedder.embed_query("x").shape == (embedder.dimension,)
    assert is_ulid(new_id(clock.now()))


def test_texts_that_share_words_are_closer_than_texts_that_share_none() -> None:
    embedder = FakeEmbedder()
    near = embedder.embed_query("the heron deadline") @ embedder.embed_query("heron deadline moved")
    far = embedder.embed_query("the heron deadline") @ embedder.embed_query("lunch menu today")
    assert near > 0.5 > 0.3 > far


def test_synonyms_are_the_same_word_to_the_fake() -> None:
    embedder = FakeEmbedder(synonyms=[("broker", "agent")])
    assert embedder.embed_query("customs broker") @ embedder.embed_query(
        "customs agent"
    ) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("text", ["", "\0", "\ud800", "…", "x " * 50_000])
def test_any_text_gets_a_unit_vector(text: str) -> None:
    vectors = FakeEmbedder().embed_passages([text, "plain"])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1], abs=1e-5)


def test_the_clock_moves_only_when_told() -> None:
    clock = FixedClock()
    before = clock.now()
    assert clock.now() == before
    assert clock.advance(hours=2) == clock.now() > before
    clock.set(datetime(2030, 1, 1, tzinfo=UTC))
    assert clock.now().year == 2030


def test_ids_count_up() -> None:
    new_id, now = SequentialIds(), FixedClock().now()
    first, second = new_id(now), new_id(now)
    assert first < second
    assert is_ulid(first)
    assert is_ulid(second)
