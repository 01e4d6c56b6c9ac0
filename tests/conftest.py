"""The process that starts commands, one for all tests that run many of them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.invariants.home import Forker


@pytest.fixture(scope="session")
def forker(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Forker"]:
    from tests.invariants.home import Forker  # pulls the MCP client in: only where it is wanted

    made = Forker(tmp_path_factory.mktemp("streams"))
    yield made
    made.close()
