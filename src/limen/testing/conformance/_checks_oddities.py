"""Checks of what a wire's hosts send beside its documentation, as its description knows it (W2-W4, W8)."""

from limen.testing.conformance._bench import Bench
from limen.testing.conformance._check import check
from limen.testing.conformance._outcome import NotApplicable
from limen.testing.server import Script


async def _read(bench: Bench, rule: str) -> None:
    oddities = [oddity for oddity in bench.wire.oddities if oddity.rule == rule]
    if not oddities:
        raise NotApplicable("the wire's description knows nothing of the kind")
    for oddity in oddities:
        outcome = await bench.call(Script([oddity.turn]), what=oddity.what)
        outcome.expect_success("tool-calls" if oddity.calls else "stop")
        outcome.expect(outcome.text == oddity.text, f"the text is {outcome.text!r}, expected {oddity.text!r}")
        calls = [(call.id, call.name, call.arguments) for call in outcome.calls]
        outcome.expect(calls == list(oddity.calls), f"the calls are {calls}, expected {list(oddity.calls)}")


@check("W2", "nulls", "Null, absent and empty are one thing for every optional field")
async def _nulls(bench: Bench) -> None:
    await _read(bench, "W2")


@check("W3", "call-of-a-fragment", "A fragment finds its call by index, id or place; a resend is ignored")
async def _call_of_a_fragment(bench: Bench) -> None:
    await _read(bench, "W3")


@check("W4", "late-identity", "A call waits for its id and its name, and takes each of them whole and once")
async def _late_identity(bench: Bench) -> None:
    await _read(bench, "W4")


@check("W8", "first-choice", "Only the first choice becomes the response")
async def _first_choice(bench: Bench) -> None:
    await _read(bench, "W8")
