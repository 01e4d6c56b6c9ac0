"""The process that starts commands, one for all tests of this folder."""

from collections.abc import Iterator

import pytest

from tests.invariants.home import Forker


@pytest.fixture(scope="session")
def forker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Forker]:
    made = Forker(tmp_path_factory.mktemp("streams"))
    yield made
    made.close()
