"""The shape of the package: import contracts, module size, declared names."""

import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import memsvc

PACKAGE = Path(memsvc.__file__).parent
MODULES = sorted(
    path
    for path in PACKAGE.rglob("*.py")
    if "_migrations" not in path.parts and path.name != "__main__.py"
)
MOST_LINES = 500


def test_imports_point_down() -> None:
    # in a process of its own: it disables every logger that exists
    check = "import sys; from importlinter import cli; sys.exit(cli.lint_imports())"
    ran = subprocess.run(
        [sys.executable, "-c", check], cwd=PACKAGE.parent, check=False, capture_output=True
    )
    assert ran.returncode == 0, ran.stdout.decode()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_is_short_says_its_job_and_names_what_it_offers(path: Path) -> None:
    source = path.read_text("utf-8")
    tree = ast.parse(source)
    assert len(source.splitlines()) <= MOST_LINES
    assert ast.get_docstring(tree)
    names = {
        node.targets[0].id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    if path.name != "__init__.py" or path.parent == PACKAGE:
        assert "__all__" in names


def test_every_module_imports_and_its_declared_names_exist() -> None:
    found = 0
    for info in pkgutil.walk_packages([str(PACKAGE)], prefix="memsvc."):
        if "_migrations" in info.name or info.name.endswith("__main__"):
            continue
        module = importlib.import_module(info.name)
        for name in getattr(module, "__all__", ()):
            assert hasattr(module, name), f"{info.name} has no {name}"
        found += 1
    assert found > 40


def test_alembic_folder_never_shadows_the_library() -> None:
    folder = PACKAGE.parent / "alembic"
    assert folder.is_dir()
    assert not (folder / "__init__.py").exists()


def test_no_module_catches_everything_outside_the_outermost_handlers() -> None:
    allowed = {"background.py", "desk.py", "session.py"}
    found = []
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ExceptHandler) and node.type is not None:
                if isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None:
                    continue  # cleans up and lets it through
                found += [path] if ast.unparse(node.type) in ("Exception", "BaseException") else []
    outside = {
        path for path in found if path.name not in allowed and "interfaces" not in path.parts
    }
    assert found
    assert not outside
