"""The pytest plugin of the kit, and the one file of limen that imports pytest.

Two fixtures for every project that has limen installed: `mock_provider`, and `conformance_rule` for a test that is
marked with the adapter it is about:

    @pytest.mark.limen_adapter(make_my_adapter, wire="openai-chat")
    def test_my_adapter(conformance_rule):
        conformance_rule()

That is one test a rule. A broken rule fails with the exact stream; one that does not apply is skipped, with why.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from limen.testing.conformance import Factory, WireDescription
    from limen.testing.server import MockProvider

_MARK = "limen_adapter"
_FIXTURE = "conformance_rule"


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line(
        "markers",
        f"{_MARK}(factory, wire): what `{_FIXTURE}` checks: makes an adapter for an endpoint; its wire",
    )


@pytest.fixture
def mock_provider() -> "Iterator[MockProvider]":
    """A mock provider in a thread of its own, for tests with and without a loop; `use()` chooses what it answers."""
    # Loaded when it is first asked for: a project that never does pays nothing and needs no h11.
    from limen.testing.server import MockProvider

    with MockProvider() as mock:
        yield mock


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test for each rule."""
    if _FIXTURE not in metafunc.fixturenames:
        return
    mark = metafunc.definition.get_closest_marker(_MARK)
    if mark is None:
        raise pytest.UsageError(
            f"{metafunc.definition.nodeid} uses {_FIXTURE} and has no mark {_MARK}(factory, wire=…)"
        )
    from limen.testing.conformance import rules

    factory, wire = _marked(*mark.args, **mark.kwargs)
    metafunc.parametrize(_FIXTURE, [_checking(factory, wire, rule) for rule in rules()], ids=rules())


def _marked(factory: "Factory", wire: "WireDescription | str") -> "tuple[Factory, WireDescription | str]":
    return factory, wire


def _checking(factory: "Factory", wire: "WireDescription | str", rule: str) -> Callable[[], None]:
    def run() -> None:
        from limen.testing.conformance import check_adapter, table

        report = asyncio.run(check_adapter(factory, wire, rules=[rule]))
        if not report.passed:
            pytest.fail(table(report), pytrace=False)
        if all(result.verdict == "n/a" for result in report.results):
            pytest.skip("; ".join(result.detail for result in report.results))

    return run
