"""Checks of failure: codes, ways, phases and hints (E1, E3, E5, E6, K6, K8, S1-S3, W1)."""

import os
import time
import traceback
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from limen.contract import LlmError
from limen.testing.conformance._bench import Bench
from limen.testing.conformance._check import check
from limen.testing.conformance._endpoint import API_KEY
from limen.testing.conformance._outcome import NotApplicable, Outcome, require
from limen.testing.server import MockProvider


class Expected(NamedTuple):
    """Expected outcome of a fault: code, way (E1), phases (E6), and the text that had arrived."""

    code: str
    way: str
    phases: Sequence[str]
    text: str = ""


_HEADERS: Final = ("headers",)
_FIRST: Final = ("first-event",)
_MID: Final = ("mid-stream",)
_ARRIVED: Final = "Hello from"

STATUSES: Final[Mapping[str, str]] = {
    "400": "INVALID_REQUEST",
    "401": "AUTH",
    "402": "QUOTA",
    "403": "AUTH",
    "404": "HTTP_404",
    "408": "TIMEOUT",
    "409": "INVALID_REQUEST",
    "413": "INVALID_REQUEST",
    "418": "HTTP_418",
    "422": "INVALID_REQUEST",
    "429": "RATE_LIMIT",
    "quota": "QUOTA",
    "context-window": "CONTEXT_WINDOW_EXCEEDED",
    "model-not-found": "MODEL_NOT_FOUND",
    "500": "SERVER",
    "500-empty": "SERVER",
    "500-html": "SERVER",
    "503": "SERVER",
    "503-overloaded": "OVERLOADED",
    "504": "TIMEOUT",
    "529": "OVERLOADED",
    "redirect": "HTTP_307",
}
BODIES: Final[Mapping[str, Expected]] = {
    "html": Expected("MALFORMED_RESPONSE", "raised", _FIRST),
    "plain-text": Expected("MALFORMED_RESPONSE", "raised", _FIRST),
    "json-other": Expected("MALFORMED_RESPONSE", "raised", _FIRST),
    "json-error": Expected("SERVER", "raised", _FIRST),
    "broken-gzip": Expected("MALFORMED_RESPONSE", "raised", _FIRST),
    "whole-cut": Expected("STREAM_CLOSED", "raised", _FIRST),
    "malformed-json": Expected("MALFORMED_RESPONSE", "raised", _MID, _ARRIVED),
}
STREAMS: Final[Mapping[str, Expected]] = {
    "error-event": Expected("SERVER", "in-band", _MID, _ARRIVED),
    "error-event-then-end": Expected("SERVER", "in-band", _MID, _ARRIVED),
    "overloaded-event": Expected("OVERLOADED", "in-band", _MID, _ARRIVED),
    "error-first": Expected("OVERLOADED", "in-band", _FIRST),
}
ENDINGS: Final[Mapping[str, Expected]] = {
    "nothing": Expected("STREAM_CLOSED", "raised", _FIRST),
    "keep-alives-only": Expected("STREAM_CLOSED", "raised", _FIRST),
    "cut": Expected("STREAM_CLOSED", "raised", _MID, _ARRIVED),
    "hang-up-mid-stream": Expected("STREAM_CLOSED", "raised", _MID, _ARRIVED),
}
CONNECTIONS: Final[Mapping[str, Expected]] = {
    "reset-before-headers": Expected("TRANSPORT", "raised", _HEADERS),
    "close-before-headers": Expected("TRANSPORT", "raised", _HEADERS),
    "reset-first": Expected("TRANSPORT", "raised", _FIRST),
    "reset-mid-stream": Expected("TRANSPORT", "raised", _MID, _ARRIVED),
    "broken-framing": Expected("TRANSPORT", "raised", _MID, _ARRIVED),
}


async def _expect_all(bench: Bench, table: Mapping[str, Expected]) -> None:
    for fault, expected in table.items():
        outcome = await bench.outcome(f"text+{fault}")
        outcome.expect_failure(expected.code, way=expected.way, phases=expected.phases)
        outcome.expect(
            outcome.text == expected.text, f"the text that arrived is {outcome.text!r}, not {expected.text!r}"
        )


@check("E3", "statuses", "Every HTTP failure has its code")
async def _statuses(bench: Bench) -> None:
    for fault, code in {**STATUSES, **bench.wire.codes}.items():
        outcome = await bench.outcome(f"text+{fault}")
        outcome.expect_failure(code)


@check("E1", "status-raised", "A status of 300 and above is raised, with status and phase", basic=True)
async def _status_raised(bench: Bench) -> None:
    for fault, status in (("401", 401), ("429", 429), ("500", 500)):
        outcome = await bench.outcome(f"text+{fault}")
        failure = outcome.expect_failure(STATUSES[fault], way="raised", phases=_HEADERS)
        outcome.expect(failure.status == status, f"the status is {failure.status}, expected {status}")
        outcome.expect(not outcome.chunks, "chunks came before the failure")


@check("E1", "error-in-stream", "An error inside a well-formed stream is in-band, as its first event too")
async def _error_in_stream(bench: Bench) -> None:
    await _expect_all(bench, STREAMS)


@check("W1", "error-then-end", "What failed is not a success because an end marker follows")
async def _error_then_end(bench: Bench) -> None:
    outcome = await bench.outcome("text+error-event-then-end")
    outcome.expect_failure("SERVER")
    outcome.expect(outcome.text == _ARRIVED, f"the text that arrived is {outcome.text!r}")


@check("S3", "no-stream", "A body that is not the wire's stream is raised, with what it was", basic=True)
async def _no_stream(bench: Bench) -> None:
    await _expect_all(bench, BODIES)


@check("E6", "truncation", "Truncation has one code, also with no event at all or keep-alives only")
async def _truncation(bench: Bench) -> None:
    await _expect_all(bench, ENDINGS)


@check("E6", "transport", "Trouble of the transport is raised as TRANSPORT, with its phase")
async def _transport(bench: Bench) -> None:
    await _expect_all(bench, CONNECTIONS)


@check("E6", "refused", "A refused connection is TRANSPORT in phase connect")
async def _refused(bench: Bench) -> None:
    outcome = await _unreachable(bench, MockProvider(wires=(bench.wire,), listen="refuse"), "refused")
    outcome.expect_failure("TRANSPORT", way="raised", phases=("connect",))


async def _unreachable(bench: Bench, mock: MockProvider, what: str) -> Outcome:
    async with mock:
        adapter = bench.make(base_url=mock.base_url(bench.wire.name))
        return await bench.call("text", adapter=adapter, what=what)


_HINTS: Final[Sequence[tuple[str, int, int]]] = (
    ("429", 2000, 2000),
    ("429-fraction", 1500, 1500),
    ("429-ms", 1500, 1500),
    ("429-list", 2000, 2000),
    ("429-date", 25_000, 30_000),
)


@check("E3", "retry-hints", "A retry hint is read in every form, and a useless one is none")
async def _retry_hints(bench: Bench) -> None:
    for fault, low, high in _HINTS:
        outcome = await bench.call(f"text+{fault}")
        failure = outcome.expect_failure("RATE_LIMIT")
        hint = failure.provider_retry_after_ms
        outcome.expect(hint is not None and low <= hint <= high, f"the hint is {hint} ms, expected {low} to {high}")
    for fault in ("429-zero", "429-no-hint"):
        outcome = await bench.outcome(f"text+{fault}")
        failure = outcome.expect_failure("RATE_LIMIT")
        outcome.expect(failure.provider_retry_after_ms is None, f"the hint is {failure.provider_retry_after_ms}")


@check("E3", "request-id", "A failed answer's request id is kept")
async def _request_id(bench: Bench) -> None:
    outcome = await bench.outcome("text+500")
    failure = outcome.expect_failure("SERVER")
    outcome.expect((failure.request_id or "").startswith("req-mock-"), f"the request id is {failure.request_id!r}")


@check("E5", "no-credentials", "No message, repr or traceback holds the key, also where the provider echoes it")
async def _no_credentials(bench: Bench) -> None:
    for fault in ("401-echo", "500", "reset-mid-stream", "html"):
        outcome = await bench.outcome(f"text+{fault}")
        shown = "\n".join(outcome.lines())
        if outcome.error is not None:
            shown += repr(outcome.error) + "".join(traceback.format_exception(outcome.error))
        outcome.expect(API_KEY not in shown, "the key can be read in what was raised")
    text = repr(bench.adapter) + repr(getattr(bench.adapter, "__dict__", ""))
    require(API_KEY not in text, "the key can be read in the adapter's repr or in that of a field")


@check("K6", "no-redirect", "Redirects are not followed")
async def _no_redirect(bench: Bench) -> None:
    before = len(bench.mock.strays)
    outcome = await bench.call("text+redirect")
    outcome.expect(len(bench.mock.strays) == before, "the other origin got a request")
    outcome.expect_failure("HTTP_307", way="raised", phases=_HEADERS)


@check("K6", "tls-verified", "A certificate that nobody vouches for is TRANSPORT, and so is no TLS at all")
async def _tls_verified(bench: Bench) -> None:
    plain = MockProvider(wires=(bench.wire,), listen="plain-on-tls")
    outcome = await _unreachable(bench, plain, "plain HTTP on an https URL")
    outcome.expect_failure("TRANSPORT", way="raised", phases=("connect",))
    signed = MockProvider(wires=(bench.wire,), listen="tls")
    try:
        outcome = await _unreachable(bench, signed, "a self-signed certificate")
    except RuntimeError as missing:
        raise NotApplicable(str(missing)) from None
    outcome.expect_failure("TRANSPORT", way="raised", phases=("connect",))


@check("K6", "no-key-over-http", "A key does not go over plain http to another machine")
async def _no_key_over_http(bench: Bench) -> None:
    # 192.0.2.0/24 is for documentation: nothing there ever answers, so an adapter that tries does not return at once.
    address = bench.mock.base_url(bench.wire.name).replace("127.0.0.1", "192.0.2.1")
    what = "a key, and an http address elsewhere"
    try:
        adapter = bench.make(base_url=address)
    except LlmError as refused:
        outcome = Outcome(what, (), refused, ())
    else:
        outcome = await bench.call("text", adapter=adapter, what=what)
    outcome.expect_failure("INVALID_CONFIG", way="raised")


@check("K8", "error-bodies", "An error's body is read within bounds, though it is huge or never ends")
async def _error_bodies(bench: Bench) -> None:
    for fault in ("500-huge", "500-stalled"):
        started = time.monotonic()
        outcome = await bench.call(f"text+{fault}", adapter=bench.make(timeouts=bench.quick))
        took = time.monotonic() - started
        failure = outcome.expect_failure("SERVER", way="raised")
        outcome.expect(len(failure.message) < 10_000, f"the message has {len(failure.message)} characters")
        outcome.expect(took < 4, f"the failure took {took:.1f} s")
        await bench.closed(outcome.request, 1, "the call has failed", outcome)


@check("K2", "key-sent", "The key that was given is the one that is sent")
async def _key_sent(bench: Bench) -> None:
    outcome = await bench.outcome("text")
    values = [value for _, value in outcome.request.headers]
    outcome.expect(any(API_KEY in value for value in values), "no header holds the key that the adapter was given")


_UNUSABLE: Final = "sk-limen conformance\u00e9-key"


@check("K3", "unusable-key", "A key that no header can carry is INVALID_CREDENTIAL, and no part of it is shown")
async def _unusable_key(bench: Bench) -> None:
    outcome = await _with_key(bench, _UNUSABLE, "a key with a space in it")
    failure = outcome.expect_failure("INVALID_CREDENTIAL", way="raised")
    outcome.expect(not outcome.requests, "a request was made")
    outcome.expect("conformance" not in failure.message, "a part of the key is in the message")


@check("K4", "blank-key", "A key that is blank is MISSING_CREDENTIAL, before any I/O")
async def _blank_key(bench: Bench) -> None:
    outcome = await _with_key(bench, "  ", "a blank key")
    outcome.expect_failure("MISSING_CREDENTIAL", way="raised")
    outcome.expect(not outcome.requests, "a request was made")


async def _with_key(bench: Bench, key: str, what: str) -> Outcome:
    try:
        adapter = bench.make(api_key=key)
    except LlmError as refused:
        return Outcome(what, (), refused, ())
    return await bench.call("text", adapter=adapter, what=what)


_ELSEWHERE: Final = "http://127.0.0.1:9"
_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


@check("K7", "no-environment", "The environment is not read: a proxy named there changes nothing")
async def _no_environment(bench: Bench) -> None:
    kept = {name: os.environ.get(name) for name in (*_PROXIES, "NO_PROXY", "no_proxy")}
    try:
        os.environ.update(dict.fromkeys(_PROXIES, _ELSEWHERE))
        os.environ.pop("NO_PROXY", None)
        os.environ.pop("no_proxy", None)
        outcome = await bench.call("text", adapter=bench.make(), what="with a proxy in the environment")
    finally:
        for name, value in kept.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
    outcome.expect_success("stop")


_FORMS: Final = ("bom", "crlf", "cr", "keep-alives-between", "wrong-content-type", "until-close", "huge-event")


@check("S1", "sse-forms", "Server-sent events are read in every legal form")
async def _sse_forms(bench: Bench) -> None:
    if not bench.wire.sse:
        raise NotApplicable("this wire is not framed as server-sent events")
    adapter = bench.make(limits=bench.wide)
    for fault in _FORMS:
        outcome = await bench.call(f"text+{fault}", adapter=adapter)
        outcome.expect_success("stop")
        outcome.expect(outcome.text == "Hello from the mock provider.", f"the text is {outcome.text!r}")


@check("S2", "event-limit", "An event over the limit is MALFORMED_RESPONSE, after what came before it")
async def _event_limit(bench: Bench) -> None:
    outcome = await bench.outcome("text+huge-event")
    outcome.expect_failure("MALFORMED_RESPONSE", way="raised")
    outcome.expect(outcome.text == _ARRIVED, f"the text that arrived is {outcome.text!r}")
