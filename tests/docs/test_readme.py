"""README: its commands run, its links lead somewhere, and it stays short."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```shell\n(.*?)```", README, re.DOTALL)


def test_readme_is_short() -> None:
    assert len(README.splitlines()) <= 150


def test_links_of_the_readme_lead_to_files() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", README) if "://" not in link]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_first_line_installs_and_runs_the_demo_and_the_last_one_the_tests() -> None:
    assert "pip install" in BLOCKS[0]
    assert BLOCKS[0].rstrip().endswith("memsvc demo")
    assert "pip install" in BLOCKS[-1]
    assert BLOCKS[-1].rstrip().endswith("-m pytest -n auto")


@pytest.mark.slow
def test_the_shell_session_of_the_readme_runs(tmp_path: Path) -> None:
    (session,) = [block for block in BLOCKS if "memsvc save" in block]
    script = session.replace(".venv/bin/memsvc", f"{sys.executable} -m memsvc")
    script = re.sub(r"\$\(mktemp -d\)", str(tmp_path), script)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=ROOT,
        env={**os.environ, "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "The release moves to 12 March." in done.stdout
    assert "the chain holds" in done.stdout
