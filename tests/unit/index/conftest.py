"""Fixtures of the tests of the index."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.index.place import Place


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path / "memsvc.db")
    yield made
    made.database.close()
