"""Every fault that the mock provider knows, against every adapter: code, way, phase and what had arrived."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

import pytest

from conformance import factories
from limen.contract import Finish, GenerateOptions, LlmAdapter, LlmError, TextDelta, Timeouts, user
from limen.testing.conformance import Endpoint
from limen.testing.server import FAULTS, MockProvider

HALF = "Hello from"
ALL = "Hello from the mock provider."


class Ends(NamedTuple):
    """How a call ends: code (none for a success), raised or in-band, phase, and the text that had arrived."""

    code: str | None
    way: str | None
    phase: str | None
    text: str


def success(text: str = ALL) -> Ends:
    return Ends(None, None, None, text)


def raised(code: str, phase: str, text: str = "") -> Ends:
    return Ends(code, "raised", phase, text)


def in_band(code: str, phase: str, text: str = "") -> Ends:
    return Ends(code, "in-band", phase, text)


HEADERS, FIRST, MID = "headers", "first-event", "mid-stream"

ENDS: dict[str, Ends] = {
    "cut": raised("STREAM_CLOSED", MID, HALF),
    "nothing": raised("STREAM_CLOSED", FIRST),
    "keep-alives-only": raised("STREAM_CLOSED", FIRST),
    "keep-alives-between": success(),
    "error-event": in_band("SERVER", MID, HALF),
    "error-event-then-end": in_band("SERVER", MID, HALF),
    "overloaded-event": in_band("OVERLOADED", MID, HALF),
    "error-first": in_band("OVERLOADED", FIRST),
    "end-twice": success(),
    "finish-twice": success(),
    "usage-twice": success(),
    "content-after-finish": success(ALL + " And more."),
    "content-after-end": success(),
    "malformed-json": raised("MALFORMED_RESPONSE", MID, HALF),
    "wrong-shape": raised("MALFORMED_RESPONSE", MID, HALF),
    "unknown-event": success(),
    "huge-event": success(),
    "whole": success(),
    "whole-cut": raised("STREAM_CLOSED", FIRST),
    "json-error": raised("SERVER", FIRST),
    "json-other": raised("MALFORMED_RESPONSE", FIRST),
    "html": raised("MALFORMED_RESPONSE", FIRST),
    "plain-text": raised("MALFORMED_RESPONSE", FIRST),
    "400": raised("INVALID_REQUEST", HEADERS),
    "401": raised("AUTH", HEADERS),
    "401-echo": raised("AUTH", HEADERS),
    "402": raised("QUOTA", HEADERS),
    "403": raised("AUTH", HEADERS),
    "404": raised("HTTP_404", HEADERS),
    "408": raised("TIMEOUT", HEADERS),
    "409": raised("INVALID_REQUEST", HEADERS),
    "413": raised("INVALID_REQUEST", HEADERS),
    "418": raised("HTTP_418", HEADERS),
    "422": raised("INVALID_REQUEST", HEADERS),
    "429": raised("RATE_LIMIT", HEADERS),
    "429-fraction": raised("RATE_LIMIT", HEADERS),
    "429-ms": raised("RATE_LIMIT", HEADERS),
    "429-list": raised("RATE_LIMIT", HEADERS),
    "429-date": raised("RATE_LIMIT", HEADERS),
    "429-zero": raised("RATE_LIMIT", HEADERS),
    "429-no-hint": raised("RATE_LIMIT", HEADERS),
    "429-no-retry": raised("RATE_LIMIT", HEADERS),
    "quota": raised("QUOTA", HEADERS),
    "context-window": raised("CONTEXT_WINDOW_EXCEEDED", HEADERS),
    "model-not-found": raised("MODEL_NOT_FOUND", HEADERS),
    "500": raised("SERVER", HEADERS),
    "500-empty": raised("SERVER", HEADERS),
    "500-html": raised("SERVER", HEADERS),
    "500-huge": raised("SERVER", HEADERS),
    "500-stalled": raised("SERVER", HEADERS),
    "503": raised("SERVER", HEADERS),
    "503-overloaded": raised("OVERLOADED", HEADERS),
    "504": raised("TIMEOUT", HEADERS),
    "529": raised("OVERLOADED", HEADERS),
    "redirect": raised("HTTP_307", HEADERS),
    "reset-before-headers": raised("TRANSPORT", HEADERS),
    "close-before-headers": raised("TRANSPORT", HEADERS),
    "stall-before-headers": raised("TIMEOUT", HEADERS),
    "stall-before-first-event": raised("TIMEOUT", FIRST),
    "stall-mid-stream": raised("TIMEOUT", MID, HALF),
    "stall-at-end": success(),
    "keep-alives-forever": raised("TIMEOUT", FIRST),
    "keep-alives-mid-stream": raised("TIMEOUT", MID, HALF),
    "reset-first": raised("TRANSPORT", FIRST),
    "reset-mid-stream": raised("TRANSPORT", MID, HALF),
    "reset-at-end": success(),
    "hang-up-mid-stream": raised("STREAM_CLOSED", MID, HALF),
    "broken-framing": raised("TRANSPORT", MID, HALF),
    "until-close": success(),
    "wrong-content-type": success(),
    "broken-gzip": raised("MALFORMED_RESPONSE", FIRST),
    "bom": success(),
    "crlf": success(),
    "crlf-split": success(),
    "cr": success(),
    "utf8-split": success(),
    "byte-by-byte": success(),
}

# A row that always sends the end marker needs it; where the end of the body may be the end, so may silence (S6, W6).
ENDS_BY_ADAPTER: dict[tuple[str, str], Ends] = {
    ("no-finish", "deepseek"): raised("STREAM_CLOSED", MID, ALL),
    ("no-finish", "openai_chat"): success(),
    ("no-finish", "anthropic"): success(),
    ("no-end-marker", "deepseek"): raised("STREAM_CLOSED", MID, ALL),
    ("no-end-marker", "openai_chat"): success(),
    ("no-end-marker", "anthropic"): raised("STREAM_CLOSED", MID, ALL),
    ("stall-after-finish", "deepseek"): raised("TIMEOUT", MID, ALL),
    ("stall-after-finish", "openai_chat"): raised("TIMEOUT", MID, ALL),
    ("stall-after-finish", "anthropic"): raised("TIMEOUT", MID, ALL),
}

ADAPTERS: dict[str, tuple[Callable[[Endpoint], LlmAdapter], str]] = {
    "deepseek": (factories.deepseek, "openai-chat"),
    "openai_chat": (factories.openai_chat, "openai-chat"),
    "anthropic": (factories.anthropic, "anthropic-messages"),
}
QUICK = Timeouts(first_event=0.4, idle_bytes=0.4, idle_event=0.4)
SILENT = ("stall-before-headers", "stall-before-first-event", "stall-mid-stream", "stall-after-finish", "500-stalled")
CHATTY = ("keep-alives-forever", "keep-alives-mid-stream")


async def ends(name: str, specification: str) -> Ends:
    """How a call of the bare adapter ends."""
    factory, wire = ADAPTERS[name]
    async with MockProvider(specification) as mock:
        ends_by_time = any(fault in (*SILENT, *CHATTY) for fault in specification.split("+"))
        timeouts = QUICK if ends_by_time else Timeouts()
        adapter = factory(Endpoint(base_url=mock.base_url(wire), timeouts=timeouts))
        options = GenerateOptions("route", "some-model", [user("Hello")])
        text = ""
        finish: Finish | None = None
        try:
            async with asyncio.timeout(10):
                async for chunk in adapter.stream(options):
                    text += chunk.text if isinstance(chunk, TextDelta) else ""
                    finish = chunk if isinstance(chunk, Finish) else None
        except LlmError as error:
            return Ends(error.code, "raised", error.failure.phase, text)
        finally:
            await adapter.aclose()
    assert finish is not None
    failure = finish.reason.failure
    return success(text) if failure is None else in_band(failure.code, str(failure.phase), text)


@pytest.mark.parametrize("fault", sorted(ENDS))
@pytest.mark.parametrize("name", sorted(ADAPTERS))
async def test_fault(name: str, fault: str) -> None:
    """Each fault gives each adapter the contract's code, way (E1), phase (E6) and what had arrived (S4)."""
    assert await ends(name, f"text+{fault}") == ENDS[fault]


@pytest.mark.parametrize(("fault", "name"), sorted(ENDS_BY_ADAPTER))
async def test_fault_that_the_row_decides(fault: str, name: str) -> None:
    """What a missing end means is the dialect row's to say (W6)."""
    assert await ends(name, f"text+{fault}") == ENDS_BY_ADAPTER[fault, name]


@pytest.mark.parametrize("name", sorted(ADAPTERS))
async def test_faults_together(name: str) -> None:
    """Faults compose: a stream in single bytes, with CR LF and a byte order mark, that is reset."""
    assert await ends(name, "text+byte-by-byte+crlf+bom+reset-mid-stream") == raised("TRANSPORT", MID, HALF)


def test_no_fault_is_left_out() -> None:
    """Every fault of the mock provider is in these tables."""
    assert set(FAULTS) == {*ENDS, *(fault for fault, _ in ENDS_BY_ADAPTER)}
