"""Test kit: a provider that misbehaves on command (`MockProvider`), and conformance checks for any adapter.

`limen.testing.server` is the provider, `limen.testing.conformance` the checks, `limen.testing.wires` the descriptions
of wires; `limen.testing.pytest_plugin` brings them to pytest. Starting a server needs h11
(`pip install 'limen[mock]'`). Names load when they are first used: the pytest plugin is imported by every pytest run
that finds limen installed, and must not cost a project that uses none of this.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limen.testing.conformance import Endpoint, Report, check_adapter, check_stream
    from limen.testing.server import FAULTS, SCENARIOS, MockProvider, RecordedRequest, Script

__all__ = [
    "FAULTS",
    "SCENARIOS",
    "Endpoint",
    "MockProvider",
    "RecordedRequest",
    "Report",
    "Script",
    "check_adapter",
    "check_stream",
]

if not TYPE_CHECKING:  # pragma: no branch
    # A checker reads the imports above; a `__getattr__` that it could see would hide misspelt names from it.

    def __getattr__(name: str) -> object:
        import importlib

        if name not in __all__:
            raise AttributeError(f"module 'limen.testing' has no attribute {name!r}; it has {', '.join(__all__)}")
        home = "conformance" if name in ("Endpoint", "Report", "check_adapter", "check_stream") else "server"
        return getattr(importlib.import_module(f"limen.testing.{home}"), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
