"""`memsvc model`: what there is, what is fetched, put to use, read and dropped; on a real home."""

import json
from pathlib import Path

import pytest

from memsvc.embedding.catalogue import HUB
from memsvc.settings import FILE_NAME
from tests.interfaces.test_cli import Shell
from tests.invariants.home import Forker
from tests.unit.embedding.hub import serving
from tests.unit.embedding.tiny import (
    DIMENSION,
    bert_tokenizer,
    describe,
    write_encoder,
    write_ranker,
)


@pytest.fixture
def shell(tmp_path: Path, forker: Forker) -> Shell:
    made = Shell(tmp_path, forker)
    del made.environ["MEMSVC_EMBEDDER"]
    made.home.mkdir()
    (made.home / FILE_NAME).write_text('# mine\nembedder = "none"  # for now\n')
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "Local Model"
    write_encoder(place / "model.onnx")
    (place / "tokenizer.json").write_text(bert_tokenizer())
    describe(place, dimension=DIMENSION)
    return place


def settings_file(shell: Shell) -> str:
    return (shell.home / FILE_NAME).read_text()


def test_the_list_shows_every_model_and_which_is_in_use(shell: Shell) -> None:
    found = {one["name"]: one for one in shell.json("model", "list")}
    assert list(found) == ["packaged", *(model.name for model in HUB)]
    assert not any(one["in_use"] for one in found.values())
    assert {found[model.name]["state"] for model in HUB} == {"not fetched"}
    part = shell.home / "models" / f"{HUB[1].name}.part"
    part.mkdir(parents=True)
    (part / "model.onnx.part").write_bytes(bytes(3 * 2**20))
    shell.environ["MEMSVC_EMBEDDER"] = "packaged"
    lines = shell.run("model", "list").stdout.splitlines()
    assert len(lines) == 4
    assert [line for line in lines if line.startswith("*")] == [lines[0]]
    assert "3 MiB of it fetched" in lines[2]


def test_a_local_folder_is_put_to_use_read_and_the_vectors_before_it_are_dropped(
    shell: Shell, folder: Path
) -> None:
    shell.json("save", "Release", "--body", "The heron ships late.")
    used = shell.run("model", "use", f"folder:{folder}")
    assert used.returncode == 0, used.stderr
    assert "1 passages wait for it; run `memsvc model embed`" in used.stdout
    assert settings_file(shell) == f'# mine\nembedder = "folder:{folder}"  # for now\n'
    embedded = shell.json("model", "embed")
    assert (embedded["given"], embedded["without_vector"]) == (1, 0)
    assert embedded["model_id"].startswith("folder@")
    assert shell.json("scopes")["index"]["vectors"] == 1
    describe(folder, dimension=DIMENSION, pooling="cls")
    assert shell.json("model", "embed")["other_vectors"] == 1
    assert any("model prune" in problem for problem in shell.json("scopes")["problems"])
    pruned = shell.json("model", "prune")
    assert (pruned["removed"], pruned["models"]) == (1, [embedded["model_id"]])
    assert shell.json("scopes")["problems"] == []
    listed = {one["name"]: one for one in shell.json("model", "list")}
    assert listed[f"folder:{folder}"]["in_use"]
    states = {item["check"]: item["detail"] for item in shell.json("doctor")}
    assert states["model"] == "a local model's folder is there"


def test_a_model_that_cannot_be_used_changes_no_setting(shell: Shell, folder: Path) -> None:
    before = settings_file(shell)
    name = HUB[0].name
    assert f"run `memsvc model fetch {name}`" in shell.fails("model", "use", name)
    assert "no model is called 'gpt'" in shell.fails("model", "use", "gpt")
    describe(folder, dimension=DIMENSION + 1)
    assert "not of 9" in shell.fails("model", "use", f"folder:{folder}")
    (folder / "tokenizer.json").unlink()
    assert "lacks tokenizer.json" in shell.fails("model", "use", f"folder:{folder}")
    assert settings_file(shell) == before
    assert shell.run("model", "use", "none").returncode == 0
    assert settings_file(shell) == '# mine\nembedder = "none"  # for now\n'


def test_a_reranker_has_a_setting_of_its_own(shell: Shell, tmp_path: Path) -> None:
    place = tmp_path / "ranker"
    write_ranker(place / "model.onnx", {4: 1.0})
    (place / "tokenizer.json").write_text(bert_tokenizer())
    describe(place, kind="reranker")
    assert shell.json("model", "use", f"folder:{place}")["setting"] == "reranker"
    assert f'\nreranker = "folder:{place}"\n' in settings_file(shell)
    assert "is a reranker" in shell.fails("model", "use", f"folder:{place}", "--as", "embedder")
    assert "--as takes" in shell.fails("model", "use", "none", "--as", "other")
    assert shell.json("model", "use", "none", "--as", "reranker")["value"] == "none"
    assert '\nreranker = "none"\n' in settings_file(shell)
    assert 'embedder = "none"  # for now' in settings_file(shell)


def test_a_variable_that_overrides_the_setting_is_named(shell: Shell, folder: Path) -> None:
    shell.environ["MEMSVC_EMBEDDER"] = "none"
    done = shell.run("model", "use", f"folder:{folder}")
    assert "but MEMSVC_EMBEDDER=none overrides it" in done.stdout
    assert f"folder:{folder}" in settings_file(shell)
    assert "off by setting" in shell.fails("model", "embed")


def test_a_fetch_that_fails_is_one_line_and_leaves_no_model(shell: Shell, tmp_path: Path) -> None:
    name = HUB[1].name
    path = f"/{HUB[1].repository}/resolve/{HUB[1].profile.revision}/onnx/model_quantized.onnx"
    with serving({}) as hub:
        assert "(HTTP 404)" in shell.fails("model", "fetch", name, "--from", hub.address)
        assert hub.asked == [(path, "")]
        hub.files[path] = b"another model"
        assert "not the file that is pinned" in shell.fails("model", "fetch", name, "--from", hub.address)  # fmt: skip
    assert "cannot be reached" in shell.fails("model", "fetch", name, "--from", hub.address)
    assert "holds no onnx/model_quantized.onnx" in shell.fails("model", "fetch", name, "--from", str(tmp_path))  # fmt: skip
    assert "no model is called" in shell.fails("model", "fetch", "gpt")
    assert not (shell.home / "models" / name).exists()
    failed = shell.run("model", "fetch", "gpt", "--json")
    assert json.loads(failed.stdout)["error"]["code"] == "misconfigured"
