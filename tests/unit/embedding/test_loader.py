"""A lazy embedder never makes a caller wait, loads once, and says why it is missing."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from memsvc.embedding.loader import LazyEmbedder, LoadState
from memsvc.embedding.protocol import Embedder
from memsvc.errors import Misconfigured
from tests.fakes import FakeEmbedder


def test_loading_in_the_background_blocks_nobody() -> None:
    gate, fake = threading.Event(), FakeEmbedder()

    def load() -> Embedder:
        assert gate.wait(30)
        return fake

    lazy = LazyEmbedder(load)
    assert (lazy.state, lazy.ready()) == (LoadState.IDLE, None)
    lazy.start()
    assert (lazy.state, lazy.ready(), lazy.wait(0.01)) == (LoadState.LOADING, None, None)
    gate.set()
    assert lazy.wait(30) is fake
    assert (lazy.state, lazy.ready(), lazy.problem) == (LoadState.READY, fake, "")


def test_the_model_is_loaded_once_however_often_it_is_asked_for() -> None:
    calls: list[int] = []

    def load() -> Embedder:
        calls.append(1)
        return FakeEmbedder()

    lazy = LazyEmbedder(load)
    asking = [threading.Thread(target=lazy.load_now) for _ in range(4)]
    for thread in asking:
        thread.start()
    lazy.start()
    for thread in asking:
        thread.join(30)
    assert lazy.load_now() is lazy.ready() is not None
    assert calls == [1]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Misconfigured("the model is not installed"), "the model is not installed"),
        (ImportError("x", name="onnxruntime"), "onnxruntime cannot be imported"),
        (OSError(5, "Input/output error"), "cannot be read: Input/output error"),
    ],
)
def test_a_model_that_does_not_load_is_missing_with_the_reason(error: Exception, said: str) -> None:
    def load() -> Embedder:
        raise error

    lazy = LazyEmbedder(load)
    assert lazy.load_now() is None
    assert lazy.state is LoadState.MISSING
    assert said in lazy.problem
    assert lazy.wait(0) is None
    assert lazy.count_tokens("the heron deadline") == 3


def test_an_unforeseen_error_reaches_the_caller_and_leaves_nobody_waiting() -> None:
    def load() -> Embedder:
        raise ZeroDivisionError

    lazy = LazyEmbedder(load)
    with pytest.raises(ZeroDivisionError):
        lazy.load_now()
    assert lazy.wait(30) is None
    assert (lazy.state, lazy.problem) == (
        LoadState.MISSING,
        "the model did not load; see the log",
    )


def test_the_setting_none_is_missing_at_once_and_touches_no_file(tmp_path: Path) -> None:
    lazy = LazyEmbedder.from_setting("none", models=tmp_path)
    assert (lazy.state, lazy.load_now()) == (LoadState.MISSING, None)
    assert "off by setting" in lazy.problem
    assert list(tmp_path.iterdir()) == []
    assert lazy.count_tokens("two words") == 2


def test_a_home_loads_its_packaged_model(built_models: Path) -> None:
    lazy = LazyEmbedder.from_setting("packaged", models=built_models)
    assert lazy.state is LoadState.IDLE
    found = lazy.load_now()
    assert found is not None
    assert found.embed_query("heron").shape == (384,)
    assert LazyEmbedder.of(found).ready() is found


def test_importing_the_loader_imports_nothing_heavy() -> None:
    script = (
        "import sys, memsvc.embedding.loader\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    loaded = set(done.stdout.split())
    assert "memsvc" in loaded
    heavy = {"numpy", "onnx", "onnxruntime", "tokenizers", "structlog", "pydantic", "sqlalchemy"}
    assert loaded & heavy == set()
