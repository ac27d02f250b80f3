"""The pytest plugin of the kit, and the one file of limen that imports pytest.

Gives the fixture `mock_provider` to every test of a project that has limen installed.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from limen.testing.server import MockProvider


@pytest.fixture
def mock_provider() -> "Iterator[MockProvider]":
    """A mock provider in a thread of its own, for tests with and without a loop; `use()` chooses what it answers."""
    # Loaded when it is first asked for: a project that never does pays nothing and needs no h11.
    from limen.testing.server import MockProvider

    with MockProvider() as mock:
        yield mock
