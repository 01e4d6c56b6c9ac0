"""Every example in config/ is read as its program reads it, and starts what it says."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from memsvc.interfaces.cli.app import build
from memsvc.settings import FILE_NAME, Settings, load_settings

CONFIG = Path(__file__).parents[2] / "config"
ROOTS = {
    "claude-code.mcp.json": "mcpServers",
    "codex.config.toml": "mcp_servers",
    "gemini-cli.settings.json": "mcpServers",
    "vscode.mcp.json": "servers",
    "cursor.mcp.json": "mcpServers",
    "zed.settings.json": "context_servers",
    "claude-desktop.config.json": "mcpServers",
}


def entry(name: str) -> dict[str, Any]:
    text = (CONFIG / "clients" / name).read_text(encoding="utf-8")
    data = tomllib.loads(text) if name.endswith(".toml") else json.loads(text)
    found: dict[str, Any] = data[ROOTS[name]]["memsvc"]
    return found


def test_every_client_example_is_tested() -> None:
    assert {path.name for path in (CONFIG / "clients").iterdir()} == set(ROOTS)


@pytest.mark.parametrize("name", sorted(ROOTS))
def test_a_client_example_starts_the_stdio_server(name: str) -> None:
    found = entry(name)
    assert found["command"] == "memsvc"
    assert found["args"][0] == "mcp"
    shown = CliRunner().invoke(build(), [*found["args"], "--help"])
    assert shown.exit_code == 0
    assert "standard input" in shown.output
    load_settings(found.get("env", {}))


def test_the_settings_example_names_every_key_and_changes_nothing(tmp_path: Path) -> None:
    text = (CONFIG / "memsvc.toml").read_text(encoding="utf-8")
    (tmp_path / FILE_NAME).write_text(text, encoding="utf-8")
    loaded = load_settings({"MEMSVC_HOME": str(tmp_path)})
    given = {"vault": "personal", "project": "auto"}
    assert loaded == Settings.model_validate({"home": tmp_path, **given})
    assert set(tomllib.loads(text)) == set(Settings.model_fields) - {"home"}
