"""One home, one build of the model: decided once, by any number of processes, and repaired."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from memsvc.embedding.choice import choose_model, decide, decided, model_folder, write_atomically
from memsvc.embedding.fused import RECIPE, write_fused
from memsvc.embedding.packaged import OnnxEmbedder
from memsvc.embedding.profile import MINILM, digest_of, packaged_model
from memsvc.embedding.rebuild import CHECKED, agreement, rebuild
from memsvc.errors import Misconfigured

MEMORIES = [
    *CHECKED,
    "heron ships late",
    "The on-call engineer acknowledges a page within ten minutes.",
    "Use tabs in Makefiles, spaces elsewhere.",
    "Budget for godwit: 40,000 euros, approved in January.",
    "Alice leads the migration; Bob reviews.",
    "feature flag checkout_v2 is on for 5 % of users",
    "why did we drop Redis",
]


def test_the_rebuilt_model_agrees_with_the_packaged_one(
    rebuilt: OnnxEmbedder, shipped: OnnxEmbedder
) -> None:
    cosines = (rebuilt.embed_passages(MEMORIES) * shipped.embed_passages(MEMORIES)).sum(axis=1)
    assert cosines.mean() >= 0.99
    assert cosines.min() >= 0.97
    assert rebuilt.model_id != shipped.model_id


def test_the_build_is_the_same_bytes_each_time(built_models: Path, tmp_path: Path) -> None:
    write_fused(packaged_model(), tmp_path / "again.onnx")
    assert digest_of(tmp_path / "again.onnx") == digest_of(choose_model(built_models).path)


@pytest.mark.slow
def test_three_processes_at_once_build_one_model_and_agree(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from memsvc.embedding.loader import *\n"
        "lazy = LazyEmbedder.from_setting('packaged', models=Path(sys.argv[1])); found = lazy.load_now()\n"
        "assert found, lazy.problem\n"
        "print(found.model_id, found.embed_query('heron').tobytes().hex())"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    outputs = [process.communicate(timeout=90)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len(set(outputs)) == 1
    assert outputs[0].startswith(f"{MINILM.model_id}.rebuilt-{RECIPE} ")
    names = sorted(path.name for path in model_folder(tmp_path).iterdir())
    assert names == ["build.lock", "model.json", "model.onnx"]


def test_a_second_choice_builds_nothing(built_models: Path) -> None:
    before = choose_model(built_models).path.stat()
    again = choose_model(built_models).path.stat()
    assert (again.st_ino, again.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_a_damaged_build_is_made_again(built_models: Path, tmp_path: Path) -> None:
    folder, good = model_folder(tmp_path), model_folder(built_models)
    folder.mkdir(parents=True)
    for name in ("model.json", "model.onnx"):
        (folder / name).write_bytes((good / name).read_bytes())
    assert decided(folder) is not None
    with (folder / "model.onnx").open("r+b") as file:
        file.write(b"damage")
    assert decided(folder) is None
    assert digest_of(choose_model(tmp_path).path) == digest_of(good / "model.onnx")


@pytest.mark.parametrize("content", [b"", b"[]", b'{"build": "rebuilt", "other": 1}', b"\xff"])
def test_a_damaged_decision_is_no_decision(
    built_models: Path, tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "model.json").write_bytes(content)
    assert decided(tmp_path) is None
    assert decided(model_folder(built_models)) is not None


def test_a_home_that_decided_for_the_packaged_file_keeps_it(tmp_path: Path) -> None:
    folder = model_folder(tmp_path)
    folder.mkdir(parents=True)
    decide(folder, "shipped", reason="the rebuilt model differs here")
    chosen = choose_model(tmp_path)
    assert chosen.path == packaged_model()
    assert chosen.model_id == f"{MINILM.model_id}.shipped"
    rebuild(folder)
    assert not (folder / "model.onnx").exists()


def test_a_decision_for_the_packaged_file_lapses_with_other_versions(tmp_path: Path) -> None:
    decide(tmp_path, "shipped", reason="no onnx")
    assert decided(tmp_path) is not None
    record = json.loads((tmp_path / "model.json").read_text())
    write_atomically(
        tmp_path / "model.json", json.dumps({**record, "versions": "no onnx"}).encode()
    )
    assert decided(tmp_path) is None


def test_a_failed_build_is_written_down_and_the_packaged_file_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shadow = tmp_path / "path"
    shadow.mkdir()
    (shadow / "onnx.py").write_text("raise ImportError('no onnx on this machine')\n")
    monkeypatch.setenv("PYTHONPATH", str(shadow))
    chosen = choose_model(tmp_path / "models")
    assert chosen.path == packaged_model()
    decision = decided(model_folder(tmp_path / "models"))
    assert decision is not None
    assert "no onnx on this machine" in decision.reason
    monkeypatch.delenv("PYTHONPATH")
    assert choose_model(tmp_path / "models") == chosen


def test_the_build_does_not_import_from_the_folder_a_server_runs_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "onnx.py").write_text("raise SystemExit('imported from the working folder')\n")
    monkeypatch.chdir(tmp_path)
    assert choose_model(tmp_path / "models").model_id.endswith(f".rebuilt-{RECIPE}")


def test_a_home_that_cannot_hold_the_model_gives_none(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("in the way")
    with pytest.raises(Misconfigured, match="cannot be built in the home") as caught:
        choose_model(tmp_path / "models")
    assert str(tmp_path) not in str(caught.value)


def test_a_build_that_differs_in_meaning_is_not_used(built_models: Path, tmp_path: Path) -> None:
    import onnx

    def write_wrongly(source: Path, target: Path) -> None:
        write_fused(source, target)
        model = onnx.load(str(target))
        for tensor in model.graph.initializer:
            if tensor.name == "l3_wide_scale":
                scale = onnx.numpy_helper.to_array(tensor)
                tensor.CopyFrom(onnx.numpy_helper.from_array(np.negative(scale), tensor.name))
        onnx.save(model, str(target))

    with pytest.raises(ValueError, match="differs from the packaged one"):
        rebuild(tmp_path, write=write_wrongly)
    assert [path.name for path in tmp_path.iterdir()] == ["build.lock"]
    assert agreement(packaged_model(), choose_model(built_models).path)[0] >= 0.99


def test_a_replaced_file_leaves_no_temporary_one(tmp_path: Path) -> None:
    write_atomically(tmp_path / "file", b"one")
    write_atomically(tmp_path / "file", b"two")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("file", b"two")]
