"""What every test needs of its process."""

import os
import signal

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
