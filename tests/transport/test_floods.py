"""Bytes without end that hold no model event: limits pass on time, and the loop is never held (T1, O2)."""

import asyncio
import time

import pytest

from limen import GenerateOptions, LlmError, LlmRuntime, Timeouts, user
from limen.adapters.openai_chat import OpenAIChatAdapter, OpenAIChatOptions
from limen.contract import codes
from limen.transport import HttpAnswer
from transport._byte_server import CHUNKED, ByteServer, Connection, chunk
from transport._client import opened

PINGS = chunk(b": ping\n\n" * 500)
EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'


async def flood(connection: Connection) -> None:
    """Answer with keep-alives as fast as they are taken, for ever."""
    await connection.request()
    await connection.send(CHUNKED)
    while True:
        await connection.send(PINGS)


async def one_event_and_a_flood(connection: Connection) -> None:
    """Answer with one event, then with keep-alives for ever."""
    await connection.request()
    await connection.send(CHUNKED + chunk(EVENT))
    while True:
        await connection.send(PINGS)


class Lag:
    """The longest time in seconds for which the loop did not turn."""

    def __init__(self) -> None:
        self.worst = 0.0

    async def __aenter__(self) -> "Lag":
        self._task = asyncio.ensure_future(self._watch())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()

    async def _watch(self) -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0)
            # This thread's own time: what other processes of a busy machine take is not the loop's doing.
            self.worst = max(self.worst, time.thread_time() - before)


async def read_slowly(answer: HttpAnswer) -> None:
    """Read what holds no event, 5 ms for each read."""
    while await answer.read():
        time.sleep(0.005)  # noqa: ASYNC251 - a decoder at work
        answer.no_event()


@pytest.mark.parametrize(
    ("timeouts", "says"),
    [
        (Timeouts(first_event=0.3), "timeouts.first_event"),
        (Timeouts(total=0.3), "timeouts.total"),
    ],
)
async def test_a_flood_before_the_first_event(timeouts: Timeouts, says: str) -> None:
    """`first_event` and `total` pass on time though bytes never stop, and come faster than they are read."""
    async with opened(flood, timeouts) as (answer, _):
        began = time.monotonic()
        with pytest.raises(LlmError) as caught:
            await read_slowly(answer)
        assert caught.value.code == codes.TIMEOUT
        assert says in str(caught.value)
        assert time.monotonic() - began < 1


@pytest.mark.parametrize("script", [flood, one_event_and_a_flood])
async def test_a_flood_through_an_adapter(script: object) -> None:
    """Through the public call: TIMEOUT in its phase and in time; the loop is held for no longer than 50 ms."""
    assert callable(script)
    limits = Timeouts(first_event=0.5, idle_event=0.5)
    async with ByteServer(script) as server:
        llm = LlmRuntime()
        adapter = OpenAIChatAdapter(OpenAIChatOptions(base_url=server.url, api_key="sk-flood", timeouts=limits))
        llm.register(["main"], adapter)
        async with llm, Lag() as lag:
            began = time.monotonic()
            with pytest.raises(LlmError) as caught:
                await llm.stream(GenerateOptions("main", "m", [user("hello")])).response()
            took = time.monotonic() - began
    phase = "first-event" if script is flood else "mid-stream"
    assert (caught.value.code, caught.value.failure.phase) == (codes.TIMEOUT, phase)
    assert took < 1.5
    assert lag.worst < 0.05


async def test_silence_with_keep_alives_is_the_end_too() -> None:
    """Where so long without a model event is the end of the body, keep-alives do not lengthen it (S6)."""
    async with opened(flood) as (answer, _):
        answer.end_on_silence(0.1)
        began = time.monotonic()
        while await answer.read():
            answer.no_event()
        assert time.monotonic() - began < 1


async def test_the_consumers_time_in_a_flood_is_not_counted() -> None:
    """A consumer that takes its time over events meets no limit, whatever is in flight behind them (T1)."""

    async def events(connection: Connection) -> None:
        await connection.request()
        await connection.send(CHUNKED)
        while True:
            await connection.send(chunk(EVENT * 100))

    async with opened(events, Timeouts(first_event=0.2, idle_event=0.2, total=0.2)) as (answer, _):
        for _ in range(5):
            assert await answer.read()
            answer.event_arrived()
            await asyncio.sleep(0.1)


async def test_what_is_handed_over_at_once_is_bounded() -> None:
    """However much has arrived, a read gives 32 KiB at most (T1)."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(CHUNKED + chunk(b"x" * 3_000_000) + b"0\r\n\r\n")
        await connection.gone()

    async with opened(script) as (answer, _):
        sizes: list[int] = []
        while data := await answer.read():
            sizes.append(len(data))
        assert (max(sizes), sum(sizes)) == (32768, 3_000_000)
