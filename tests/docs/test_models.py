"""The page on models says what the catalogue says, names commands that exist, and its example works."""

import json
import re
from pathlib import Path

import typer.main

from memsvc.embedding.catalogue import HUB
from memsvc.embedding.folder import read_folder
from memsvc.interfaces.cli.app import build
from tests.unit.embedding.tiny import bert_tokenizer, write_encoder

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text("utf-8")


def test_the_page_names_every_pin_and_no_other() -> None:
    for model in HUB:
        for word in (model.name, model.repository, model.profile.revision, model.licence):
            assert word in PAGE
        for file in model.files:
            assert f"| {model.name} | `{file.source}` | {file.size:,} | `{file.sha256}` |" in PAGE
        assert not model.profile.query_prefix or repr(model.profile.query_prefix) in PAGE
    pinned = {file.sha256 for model in HUB for file in model.files}
    assert set(re.findall(r"\b[0-9a-f]{64}\b", PAGE)) == pinned
    revisions = {model.profile.revision for model in HUB}
    assert set(re.findall(r"\b[0-9a-f]{40}\b", PAGE)) == revisions


def test_the_commands_of_the_page_exist() -> None:
    group = typer.main.get_command(build()).commands["model"].commands  # type: ignore[attr-defined] # a click group
    named = re.findall(r"memsvc model ([a-z]+)", PAGE)
    assert set(named) == set(group)


def test_the_description_on_the_page_is_one_that_is_understood(tmp_path: Path) -> None:
    (example,) = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    write_encoder(tmp_path / "model.onnx")
    (tmp_path / "tokenizer.json").write_text(bert_tokenizer())
    (tmp_path / "memsvc-model.json").write_text(example)
    found = read_folder(tmp_path).profile
    told = json.loads(example)
    assert {key: getattr(found, key) for key in told} == told
