"""Conformance checks: every rule of the contract that an adapter can keep, tried on one adapter.

`check_adapter` takes a factory (endpoint → adapter) and a wire's description, drives the adapter against the mock
provider, and reports by rule number: pass, fail with the exact stream, or not applicable. It imports no adapter and no
pytest.
"""

from limen.testing.conformance._check import CHECKS, Check
from limen.testing.conformance._command import UsageError, run_check
from limen.testing.conformance._endpoint import API_KEY, Endpoint, Factory
from limen.testing.conformance._outcome import Broken, NotApplicable, Outcome
from limen.testing.conformance._report import Report, Result, page, table
from limen.testing.conformance._run import check_adapter, check_stream, rules
from limen.testing.wires import WIRES, Oddity, WireDescription, wire_named

__all__ = [
    "API_KEY",
    "CHECKS",
    "WIRES",
    "Broken",
    "Check",
    "Endpoint",
    "Factory",
    "NotApplicable",
    "Oddity",
    "Outcome",
    "Report",
    "Result",
    "UsageError",
    "WireDescription",
    "check_adapter",
    "check_stream",
    "page",
    "rules",
    "run_check",
    "table",
    "wire_named",
]
