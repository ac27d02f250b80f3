"""What every test needs of its process."""

import os
import signal
import traceback
from collections.abc import Callable

import pytest

# A shell without job control starts background commands with SIGINT ignored, and children inherit that: a test of
# Ctrl-C would then wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Keep coverage out of the children of tests; the workers themselves are measured, being children of coverage.

    Coverage loads modules of its own in a child, and some tests look at what a fresh process has loaded or writes.
    """
    starts_workers = bool(config.getoption("numprocesses", None)) and not hasattr(config, "workerinput")
    if not starts_workers:
        os.environ.pop("COVERAGE_PROCESS_CONFIG", None)


def _locals_of(error: BaseException) -> str:
    links, words = [error], list[str]()
    while links and len(words) < 50:
        link = links.pop()
        words += traceback.TracebackException.from_exception(link, capture_locals=True, compact=False).format()
        links += [found for found in (link.__cause__, link.__context__) if found is not None]
    return "\n".join(words)


@pytest.fixture
def locals_of() -> Callable[[BaseException], str]:
    """An exception and its whole chain with the local variables of every frame, as error trackers print them."""
    return _locals_of
