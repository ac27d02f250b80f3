"""Recording real exchanges on a socket: what is kept, that it replays to the same chunks, and what is never kept."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import limen
from limen.adapters.kit.errors._headers import REQUEST_ID_HEADERS
from limen.contract import WIRE_TAP, Finish, LlmAdapter, StreamChunk
from limen.recording import Cassette, Recorder
from limen.recording._redact import REQUEST_IDS
from limen.runtime import LlmRuntime
from limen.testing.server import FAULTS, SCENARIOS, MockProvider
from recording._calls import CHAT, KEY, MESSAGES, ROUTES, adapter, asked, chunks_of, recorded, replayed, told

# These wait for a timeout or for the consumer; what they record is no more than a cut says.
SLOW = {name for name in FAULTS if "stall" in name} | {"keep-alives-forever", "keep-alives-mid-stream", "500-huge"}
QUICK = sorted(set(FAULTS) - SLOW)


@pytest.mark.parametrize("wire", [CHAT, MESSAGES])
async def test_every_scenario_replays_to_the_identical_chunks(wire: str, tmp_path: Path) -> None:
    """What a consumer saw of a call, its replay shows again, chunk for chunk (C16)."""
    calls = [asked(wire, f"mock-{scenario}") for scenario in SCENARIOS if scenario != "slow"]
    async with MockProvider() as mock:
        live = await recorded(mock, tmp_path / "calls.json", calls, wire)

    again = await replayed(tmp_path / "calls.json", calls)

    assert [told(chunks) for chunks in again] == [told(chunks) for chunks in live]
    assert len(Cassette.load(tmp_path / "calls.json").exchanges) == len(calls)


@pytest.mark.parametrize("wire", [CHAT, MESSAGES])
async def test_every_fault_replays_to_the_same_failure(wire: str, tmp_path: Path) -> None:
    """Refusals, cuts, resets and broken bytes are recorded too; chunks and the failure's facts come again."""
    calls = [asked(wire, f"mock-text+{fault}") for fault in QUICK]
    async with MockProvider() as mock:
        live = await recorded(mock, tmp_path, calls, wire)

    again = await replayed(tmp_path, calls)

    differing = {
        fault: (told(one), told(other))
        for fault, one, other in zip(QUICK, live, again, strict=True)
        if told(one) != told(other)
    }
    assert differing == {}


async def test_an_exchange_tells_what_was_sent_and_what_came(tmp_path: Path) -> None:
    """Route, wire, dialect, version; method, path, allowed headers and body; status, reads in order with times."""
    async with MockProvider() as mock:
        await recorded(mock, tmp_path / "calls.json", [asked(CHAT)], CHAT)

    (exchange,) = Cassette.load(tmp_path / "calls.json").exchanges
    response = exchange.response
    assert response is not None
    assert (exchange.limen, exchange.route, exchange.model, exchange.wire, exchange.dialect, exchange.failure) == (
        limen.__version__,
        "route",
        "mock-text",
        CHAT,
        "generic",
        None,
    )
    assert (exchange.request.method, exchange.request.path) == ("POST", "/v1/chat/completions")
    assert sorted(exchange.request.headers) == ["accept", "content-type", "user-agent"]
    built = limen.build_request(CHAT, asked(CHAT), dialect="generic")
    assert exchange.request.json == json.loads(built.body)
    assert response.status == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    assert b"".join(read.raw for read in response.reads) == response.body
    assert response.body.startswith(b"data: {")
    times = [response.at_ms, *(read.at_ms for read in response.reads), exchange.ended_ms]
    assert times == sorted(times)
    assert list(limen.iter_chunks(CHAT, response.body, dialect="generic"))[-1] == Finish(limen.FinishReason("stop"))


async def test_a_folder_gets_one_file_for_each_exchange(tmp_path: Path) -> None:
    """Files are numbered in the order of the exchanges, and those of an earlier run are kept."""
    folder = tmp_path / "calls"
    async with MockProvider() as mock:
        await recorded(mock, folder, [asked(CHAT), asked(CHAT, words="again")], CHAT)
        await recorded(mock, folder, [asked(CHAT, words="later")], CHAT)

    assert sorted(file.name for file in folder.iterdir()) == ["0001.json", "0002.json", "0003.json"]
    assert len(Cassette.load(folder).exchanges) == 3


async def test_each_try_is_an_exchange_of_its_own(tmp_path: Path) -> None:
    """A call that was retried leaves its failed tries, and its replay fails and is retried likewise."""
    options = asked(CHAT, "any-model")
    policy = limen.RetryPolicy(max_retries=1, initial_delay_ms=1)
    async with MockProvider(["text+503", "text"]) as mock, LlmRuntime() as runtime:
        runtime.register(["route"], adapter(mock, CHAT))
        runtime.use(Recorder(tmp_path / "calls.json", wires={"route": (CHAT, "generic")}))
        runtime.use(limen.Retry(policy))
        live = await chunks_of(runtime, options)

    exchanges = Cassette.load(tmp_path / "calls.json").exchanges
    assert [exchange.response and exchange.response.status for exchange in exchanges] == [503, 200]
    first, second = await replayed(tmp_path / "calls.json", [options, options])
    assert isinstance(first[-1], Finish)
    assert first[-1].reason.kind == "error"
    assert second == live


async def test_a_stream_that_is_left_is_recorded_as_far_as_it_came(tmp_path: Path) -> None:
    """Leaving early ends the exchange with ABORTED, and the reads up to there are kept."""
    async with MockProvider() as mock, LlmRuntime() as runtime:
        runtime.register(["route"], adapter(mock, CHAT))
        runtime.use(Recorder(tmp_path / "calls.json", wires={"route": (CHAT, "generic")}))
        async with runtime.stream(asked(CHAT, "mock-text+stall-mid-stream")) as stream:
            async for _ in stream:
                break

    (exchange,) = Cassette.load(tmp_path / "calls.json").exchanges
    assert exchange.failure == "ABORTED"
    assert exchange.response is not None
    assert exchange.response.body != b""


async def test_a_call_that_reaches_no_connection_is_recorded_without_an_answer(tmp_path: Path) -> None:
    """A refused connection leaves an exchange with its request and the failure; its replay fails the same way."""
    async with MockProvider(listen="refuse") as mock:
        live = await recorded(mock, tmp_path / "calls.json", [asked(CHAT)], CHAT)

    (exchange,) = Cassette.load(tmp_path / "calls.json").exchanges
    assert (exchange.response, exchange.failure) == (None, "TRANSPORT")
    assert [told(chunks) for chunks in await replayed(tmp_path / "calls.json", [asked(CHAT)])] == [
        told(chunks) for chunks in live
    ]


async def test_two_recorders_hear_the_same_call(tmp_path: Path) -> None:
    """A recorder inside another does not take its traffic away."""
    async with MockProvider() as mock, LlmRuntime() as runtime:
        runtime.register(["route"], adapter(mock, CHAT))
        runtime.use(Recorder(tmp_path / "outer.json"))
        runtime.use(Recorder(tmp_path / "inner.json"))
        await chunks_of(runtime, asked(CHAT))
        await chunks_of(runtime, asked(CHAT, "mock-text+503"))

    outer, inner = (Cassette.load(tmp_path / name).exchanges for name in ("outer.json", "inner.json"))
    assert [exchange.response and exchange.response.body for exchange in outer] == [
        exchange.response and exchange.response.body for exchange in inner
    ]
    assert [exchange.wire for exchange in outer] == [None, None]


class Offline(LlmAdapter):
    """Says whether a tap was there at the first and at a later step."""

    def __init__(self) -> None:
        self.taps: list[bool] = []

    async def stream(self, options: limen.GenerateOptions) -> AsyncIterator[StreamChunk]:
        for chunk in (limen.BlockStart(0, "text"), limen.TextDelta(0, "x"), limen.BlockEnd(0, limen.TextBlock("x"))):
            self.taps.append(WIRE_TAP.get() is not None)
            yield chunk
        yield Finish(limen.FinishReason("stop"))


async def test_the_tap_is_there_for_the_first_step_only(tmp_path: Path) -> None:
    """The transport is asked in the first step; afterwards, and outside the call, there is no tap."""
    offline = Offline()
    async with LlmRuntime() as runtime:
        runtime.register(["route"], offline)
        runtime.use(Recorder(tmp_path / "calls.json"))
        assert len(await chunks_of(runtime, asked(CHAT))) == 4

    assert offline.taps == [True, False, False]
    assert WIRE_TAP.get() is None
    assert not (tmp_path / "calls.json").exists()


async def test_a_recording_that_cannot_be_written_fails_the_call(tmp_path: Path) -> None:
    """Nothing is lost in silence: the call ends as a failure where its record cannot be kept."""
    (tmp_path / "folder").write_text("a file stands in the way", encoding="utf-8")
    async with MockProvider() as mock:
        (chunks,) = await recorded(mock, tmp_path / "folder" / "calls.json", [asked(CHAT)], CHAT)

    last = chunks[-1]
    assert isinstance(last, Finish)
    assert last.reason.kind == "error"


@pytest.mark.parametrize("wire", [CHAT, MESSAGES])
async def test_no_recording_holds_a_credential(wire: str, tmp_path: Path) -> None:
    """Keys, cookies, organizations and bearer tokens, sent or echoed, are in no file of a cassette (E5)."""
    canaries = {
        KEY,
        "sk-other-0123456789abcdef",
        "org-CANARY0123456789",
        "cookie-canary-1",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
        "patient-canary",
    }
    words = (
        "my key is sk-other-0123456789abcdef of org-CANARY0123456789, Authorization: Bearer "
        'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl {"cookie": "cookie-canary-1", "name": "patient-canary"}'
    )
    calls = [asked(wire, model, words) for model in ("mock-text", "mock-text+401-echo", "mock-text+400", "mock-tools")]
    async with MockProvider() as mock:
        await recorded(mock, tmp_path, calls, wire, redact=["name"])

    written = contents(tmp_path)
    assert {canary for canary in canaries if any(canary in text for text in written)} == set()
    assert ["[redacted]" in text for text in written] == [True] * len(calls)


def contents(folder: Path) -> list[str]:
    return [file.read_text(encoding="utf-8") for file in sorted(folder.iterdir())]


def test_a_replay_looks_for_the_request_id_where_a_call_does() -> None:
    """The names of the request-id headers are those of the transport, in its order."""
    assert REQUEST_IDS == REQUEST_ID_HEADERS


async def test_recorded_calls_may_run_at_once(tmp_path: Path) -> None:
    """Exchanges of concurrent calls do not mix, and none is lost."""
    calls = [asked(CHAT, words=f"number {number}") for number in range(12)]
    async with MockProvider() as mock, LlmRuntime() as runtime:
        runtime.register(["route"], adapter(mock, CHAT))
        runtime.use(Recorder(tmp_path, wires={"route": (CHAT, "generic")}))
        live = await asyncio.gather(*(chunks_of(runtime, options) for options in calls))

    assert await replayed(tmp_path, calls) == live
    assert len(Cassette.load(tmp_path).exchanges) == 12
    assert ROUTES[CHAT] == "route"


class Bare:
    """A stream that is nothing but an iterator; its first step sends two requests, one without a JSON body."""

    def __init__(self) -> None:
        self.steps = 0

    def __aiter__(self) -> "Bare":
        return self

    async def __anext__(self) -> StreamChunk:
        make = WIRE_TAP.get()
        self.steps += 1
        if self.steps == 1 and make is not None:
            for body in (b"no json: \xff", b""):
                tap = make()
                tap.started("POST", "https://host/x?key=secret", [("Content-Type", "text/plain")], body)
                tap.answered(200, [])
                tap.ended(None)
        if self.steps > 2:
            raise StopAsyncIteration
        return limen.BlockStart(0, "text")


async def test_whatever_stream_is_wrapped_passes_as_it_is(tmp_path: Path) -> None:
    """A stream without `aclose` is wrapped too; a body that is no JSON is kept as text, an empty one not at all."""
    recorder = Recorder(tmp_path / "calls.json", clock=iter(range(100)).__next__)
    assert len([chunk async for chunk in recorder(asked(CHAT), lambda _: Bare())]) == 2

    text, empty = (exchange.request for exchange in Cassette.load(tmp_path / "calls.json").exchanges)
    assert (text.path, text.headers, text.json, text.text) == (
        "/x?key=[redacted]",
        {"content-type": "text/plain"},
        None,
        "no json: \udcff",
    )
    assert (empty.json, empty.text) == (None, None)
