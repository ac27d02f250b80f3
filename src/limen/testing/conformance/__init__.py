"""The judge: tries every promise of the contract on an adapter that it is given the means to make.

It takes a factory (endpoint → adapter) and a wire's description, drives the adapter against the mock provider, and says
by rule number what is kept, what is not, with the exact stream, and what does not apply. It imports no adapter and no
pytest.
"""

from limen.testing.conformance._check import CHECKS, Check
from limen.testing.conformance._command import UsageError, run_check
from limen.testing.conformance._endpoint import API_KEY, Endpoint, Factory
from limen.testing.conformance._judge import check_adapter, check_stream, rules
from limen.testing.conformance._outcome import Broken, NotApplicable, Outcome
from limen.testing.conformance._report import Report, Result, page, table
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
