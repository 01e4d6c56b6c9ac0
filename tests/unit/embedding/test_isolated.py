"""A model's process may crash, hang or talk nonsense: its parent lives, and it never outlives it."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from memsvc.embedding.isolated import IsolatedEmbedder, Limits, worker_command
from memsvc.embedding.loader import LazyEmbedder, LoadState
from memsvc.embedding.packaged import OnnxEmbedder
from memsvc.embedding.protocol import Embedder
from memsvc.errors import Misconfigured, ModelUnavailable
from tests.fakes import FakeEmbedder
from tests.unit.embedding.test_tokens import ODD_TEXTS

FRAGILE = [sys.executable, "-m", "tests.unit.embedding.fragile"]
ROOT = Path(__file__).parents[3]
LIMITS = Limits(pauses=(0.0, 0.0, 0.0, 0.0))


def child(*arguments: str, limits: Limits = LIMITS) -> IsolatedEmbedder:
    return IsolatedEmbedder([*FRAGILE, *arguments], folder=ROOT, limits=limits)


@pytest.fixture
def isolated() -> Iterator[IsolatedEmbedder]:
    embedder = child()
    yield embedder
    embedder.close()


def gone(process_id: int, seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":  # dead, and only its parent has not looked
            return True
        threading.Event().wait(0.01)
    return False


def test_vectors_are_the_same_from_a_process_and_from_within(isolated: IsolatedEmbedder) -> None:
    embedder: Embedder = isolated
    inside = FakeEmbedder()
    texts = [*ODD_TEXTS, *(f"heron {number}" for number in range(40))]
    assert np.array_equal(embedder.embed_passages(texts), inside.embed_passages(texts))
    assert embedder.embed_passages([]).shape == (0, 384)
    for text in ODD_TEXTS:
        assert np.array_equal(embedder.embed_query(text), inside.embed_query(text))
        assert embedder.count_tokens(text) == inside.count_tokens(text)
    for ours, theirs in zip(
        embedder.read_passages(texts), inside.read_passages(texts), strict=True
    ):
        assert ours.spans == theirs.spans
        assert np.array_equal(ours.states, theirs.states)
        assert np.array_equal(ours.vector, theirs.vector)
    assert embedder.read_query("the heron").spans == ((0, 3), (4, 9))
    assert (embedder.model_id, embedder.dimension, embedder.max_tokens) == ("fake@1", 384, 254)


@pytest.mark.slow
def test_the_packaged_model_gives_the_same_in_a_process_of_its_own(
    built_models: Path, rebuilt: OnnxEmbedder
) -> None:
    lazy = LazyEmbedder.from_setting("packaged", models=built_models)
    lazy.start()
    found = lazy.wait(60)
    assert isinstance(found, IsolatedEmbedder)
    assert found.model_id == rebuilt.model_id
    texts = ["The heron ships on 12 March.", *ODD_TEXTS]
    assert np.array_equal(found.embed_passages(texts), rebuilt.embed_passages(texts))
    ours, theirs = found.read_query(texts[0]), rebuilt.read_query(texts[0])
    assert np.array_equal(ours.states, theirs.states)
    assert ours.spans == theirs.spans
    lazy.close()
    assert lazy.ready() is None


def test_a_killed_process_is_replaced_and_the_call_is_answered(isolated: IsolatedEmbedder) -> None:
    first = isolated.child_id
    os.kill(first, signal.SIGKILL)
    assert isolated.embed_query("heron").shape == (384,)
    assert isolated.child_id not in (0, first)
    assert gone(first)


def test_a_crash_in_the_middle_of_a_call_costs_a_second_try(
    isolated: IsolatedEmbedder, tmp_path: Path
) -> None:
    first = isolated.child_id
    text = f"die once {tmp_path / 'mark'}"
    assert np.array_equal(isolated.embed_query(text), FakeEmbedder().embed_query(text))
    assert isolated.child_id != first


def test_a_text_that_kills_every_process_is_an_error_and_the_next_text_is_read(
    isolated: IsolatedEmbedder,
) -> None:
    with pytest.raises(ModelUnavailable, match="ended twice at the same text"):
        isolated.embed_query("die")
    assert isolated.up
    assert isolated.embed_query("heron").shape == (384,)


def test_processes_that_keep_dying_are_started_no_more_and_words_go_on() -> None:
    lazy = LazyEmbedder(FakeEmbedder, serve=child)
    lazy.start()
    isolated = lazy.wait(60)
    assert isinstance(isolated, IsolatedEmbedder)
    assert (lazy.state, lazy.ready()) == (LoadState.READY, isolated)
    for _ in range(2):
        with pytest.raises(ModelUnavailable):
            isolated.embed_query("die")
    assert isolated.embed_query("heron").shape == (384,)
    with pytest.raises(ModelUnavailable, match="ended 5 times"):
        isolated.embed_query("die")
    assert (lazy.state, lazy.ready(), isolated.child_id) == (LoadState.MISSING, None, 0)
    assert "ended 5 times; start memsvc again" in lazy.problem
    with pytest.raises(ModelUnavailable, match="ended 5 times"):
        isolated.embed_query("heron")


def test_a_process_waits_before_it_is_started_again_and_nobody_waits_for_it() -> None:
    lazy = LazyEmbedder(
        FakeEmbedder, serve=lambda: child(limits=replace(LIMITS, pauses=(0.0, 3600.0)))
    )
    lazy.start()
    isolated = lazy.wait(60)
    assert isinstance(isolated, IsolatedEmbedder)
    with pytest.raises(ModelUnavailable):
        isolated.embed_query("die")
    assert (lazy.state, lazy.ready(), lazy.problem) == (LoadState.LOADING, None, "")
    with pytest.raises(ModelUnavailable, match="started again in a moment"):
        isolated.embed_query("heron")
    lazy.close()


def test_a_process_that_hangs_is_killed_and_replaced() -> None:
    isolated = child(limits=replace(LIMITS, answer=0.3))
    first = isolated.child_id
    with pytest.raises(ModelUnavailable):
        isolated.embed_query("sleep")
    assert gone(first)
    assert isolated.embed_query("heron").shape == (384,)
    isolated.close()


def test_a_question_need_not_wait_for_a_batch(isolated: IsolatedEmbedder) -> None:
    failures: list[str] = []

    def batch() -> None:
        try:
            isolated.embed_passages(["slow"])
        except ModelUnavailable as error:
            failures.append(error.message)

    thread = threading.Thread(target=batch)
    thread.start()
    for _ in range(3):
        assert isolated.embed_query("heron").shape == (384,)
    assert thread.is_alive()
    isolated.close()
    thread.join(30)
    assert len(failures) == 1


def test_what_the_model_fails_at_is_said_and_costs_no_process(isolated: IsolatedEmbedder) -> None:
    first = isolated.child_id
    with pytest.raises(ModelUnavailable, match="failed on a text"):
        isolated.embed_query("fail")
    assert isolated.child_id == first
    with pytest.raises(ModelUnavailable, match="ended twice"):
        isolated.embed_query("fault")
    assert isolated.embed_query("heron").shape == (384,)


def test_what_native_code_prints_does_not_come_between_the_answers(
    isolated: IsolatedEmbedder,
) -> None:
    first = isolated.child_id
    assert np.array_equal(isolated.embed_query("print"), FakeEmbedder().embed_query("print"))
    assert isolated.child_id == first


@pytest.mark.parametrize(
    ("before", "said"),
    [("die", r"ended while it loaded \(signal 11\)"), ("missing", "not there"), ("sleep", "too long")],
)  # fmt: skip
def test_a_model_that_does_not_load_is_misconfigured(before: str, said: str) -> None:
    limits = replace(LIMITS, first_start=2.0 if before == "sleep" else 60.0)
    with pytest.raises(Misconfigured, match=said):
        child(before, limits=limits)


def test_a_new_process_with_another_model_is_not_used(tmp_path: Path) -> None:
    isolated = child(str(tmp_path / "mark"))
    (tmp_path / "mark").touch()
    os.kill(isolated.child_id, signal.SIGKILL)
    with pytest.raises(ModelUnavailable, match="changed while in use"):
        isolated.embed_query("heron")
    assert not isolated.up


def test_a_closed_one_is_gone_and_stays_away(isolated: IsolatedEmbedder) -> None:
    process_id = isolated.child_id
    assert process_id
    isolated.close()
    assert gone(process_id)
    with pytest.raises(ModelUnavailable):
        isolated.embed_query("heron")
    assert isolated.child_id == 0


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("busy", [False, True])
def test_the_process_ends_with_its_parent_and_holds_none_of_its_pipes(
    how: signal.Signals,
    busy: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    ask = "threading.Thread(target=e.embed_query, args=('sleep',), daemon=True).start()"
    script = (
        "import threading, time\n"
        "from pathlib import Path\n"
        "from memsvc.embedding.isolated import IsolatedEmbedder\n"
        f"e = IsolatedEmbedder({FRAGILE!r}, folder=Path({str(ROOT)!r}))\n"
        f"{ask if busy else ''}\n"
        "print(e.child_id, flush=True); threading.Event().wait()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    )
    assert parent.stdout is not None
    process_id = int(parent.stdout.readline())
    assert not gone(process_id, seconds=0.05)
    parent.send_signal(how)
    parent.communicate(timeout=20)  # returns when both pipes are closed by everybody
    assert gone(process_id)


def test_where_no_process_can_be_started_the_model_is_loaded_inside(
    built_models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")
    assert worker_command("packaged", built_models)[0] == "/no/such/python"
    lazy = LazyEmbedder.from_setting("packaged", models=built_models)
    lazy.start()
    assert isinstance(lazy.wait(60), OnnxEmbedder)
