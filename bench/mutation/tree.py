"""A copy of the repository in which code can be broken: its sources stay, its compiled files change."""

import ast
import importlib.util
import marshal
import shutil
import subprocess
from pathlib import Path
from types import CodeType

from bench.mutation.mutants import blocks

__all__ = ["PRODUCT", "instrument", "put", "restore", "take_copy"]

PRODUCT = "memsvc"
_UNCHECKED = (1).to_bytes(4, "little")


def take_copy(source: Path, target: Path) -> None:
    """The files that git knows or would add, at `target`, which is emptied first."""
    shutil.rmtree(target, ignore_errors=True)
    listed = subprocess.run(
        [shutil.which("git") or "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=source, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in listed.split("\0"):
        if name and (source / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source / name, target / name)
    for path in (target / PRODUCT).rglob("*.py"):
        restore(target, str(path.relative_to(target)))


def put(root: Path, file: str, code: CodeType) -> None:
    """Let every process that imports the file from now on run this code instead of its source."""
    path = root / file
    compiled = Path(importlib.util.cache_from_source(str(path)))
    compiled.parent.mkdir(exist_ok=True)
    stamp = importlib.util.source_hash(path.read_bytes())
    fresh = compiled.with_suffix(".new")
    fresh.write_bytes(importlib.util.MAGIC_NUMBER + _UNCHECKED + stamp + marshal.dumps(code))
    fresh.replace(compiled)


def restore(root: Path, file: str) -> None:
    """Let the file mean its source again."""
    path = root / file
    put(root, file, compile(path.read_text(encoding="utf-8"), str(path), "exec"))


def instrument(root: Path, folder: Path) -> None:
    """Let every block of the copied product call `bench.mutation.probe.Reached`, kept in `folder`."""
    for path in (root / PRODUCT).rglob("*.py"):
        file = str(path.relative_to(root))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for block in blocks(tree):
            call = f"__reached__({file + ':' + str(block[0].lineno)!r})"
            block.insert(0, ast.copy_location(ast.parse(call).body[0], block[0]))
        if file == f"{PRODUCT}/__init__.py":
            tree.body[1:1] = ast.parse(_PRELUDE.format(root=str(root), folder=str(folder))).body
        put(root, file, compile(ast.fix_missing_locations(tree), str(path), "exec"))


_PRELUDE = """
import builtins, runpy
if not hasattr(builtins, "__reached__"):
    builtins.__reached__ = runpy.run_path({root!r} + "/bench/mutation/probe.py")["Reached"]({folder!r})
"""
