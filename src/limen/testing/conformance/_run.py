"""Run of the checks against one adapter, one after the other."""

import asyncio
import traceback
from collections.abc import Sequence

from limen.contract import GrammarError, StreamChunk, scrub
from limen.testing.conformance import (
    _checks_blocks,
    _checks_ends,
    _checks_failures,
    _checks_leaving,
    _checks_oddities,
    _checks_request,
    _checks_state,
)
from limen.testing.conformance._bench import Bench, bench_for
from limen.testing.conformance._check import CHECKS, Check
from limen.testing.conformance._checks_blocks import first_fault
from limen.testing.conformance._endpoint import Factory
from limen.testing.conformance._outcome import Broken, NotApplicable, Outcome
from limen.testing.conformance._report import Report, Result, Verdict
from limen.testing.wires import WireDescription, wire_named

# Importing these files fills the table of checks.
_FILES = (
    _checks_blocks,
    _checks_ends,
    _checks_failures,
    _checks_leaving,
    _checks_oddities,
    _checks_request,
    _checks_state,
)


def rules() -> list[str]:
    """Return the rules that have a check, in the order of the contract's letters and numbers."""
    return sorted({check.rule for check in CHECKS.values()}, key=lambda rule: (rule[0], int(rule[1:])))


async def check_adapter(
    factory: Factory,
    wire: WireDescription | str,
    *,
    rules: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    basics: bool = False,
) -> Report:
    """Run the checks on adapters that the factory makes, and return the report.

    `rules` and `names` choose some of the checks, `basics` only those that a new adapter must pass first. Nothing is
    raised for what the adapter does; a factory that fails fails every check.
    """
    description = wire_named(wire) if isinstance(wire, str) else wire
    chosen = [
        check
        for check in CHECKS.values()
        if (rules is None or check.rule in rules)
        and (names is None or check.name in names)
        and (check.basic or not basics)
    ]
    async with bench_for(factory, description) as bench:
        results = [await _checked(check, bench) for check in chosen]
    return Report(_name(factory), description.name, tuple(results))


def check_stream(chunks: Sequence[StreamChunk]) -> Result:
    """Check one finished stream from anywhere against the chunk grammar (C1-C7, C10, C11, C13).

    A pass has rule `C`; a failure names the rule that the first wrong chunk breaks.
    """
    outcome = Outcome("the stream", tuple(chunks), None, ())
    fault: GrammarError | None = first_fault(outcome.chunks, raised=False)
    promise = "The stream keeps the chunk grammar"
    if fault is None:
        return Result("C", "stream", promise, basic=False, verdict="pass")
    return Result(fault.rule, "stream", promise, basic=False, verdict="fail", detail=str(fault), stream=outcome.lines())


async def _checked(check: Check, bench: Bench) -> Result:
    verdict: Verdict = "pass"
    detail = ""
    stream: Sequence[str] = ()
    try:
        await check.run(bench)
    except NotApplicable as reason:
        verdict, detail = "n/a", str(reason)
    except Broken as broken:
        verdict, detail = "fail", str(broken)
        stream = broken.outcome.lines() if broken.outcome is not None else ()
    except asyncio.CancelledError:
        raise
    except Exception as crash:  # noqa: BLE001 - whatever an adapter or its factory raises is a finding, not a crash
        verdict, detail = "fail", f"{type(crash).__name__}: {crash}"
        stream = "".join(traceback.format_exception(crash)).splitlines()
    return Result(
        check.rule, check.name, check.promise, check.basic, verdict, scrub(detail), [scrub(line) for line in stream]
    )


def _name(factory: Factory) -> str:
    return getattr(factory, "__name__", type(factory).__name__)
