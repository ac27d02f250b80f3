"""The limits of T1 on real connections: which one passes, in which phase, and what is not counted."""

import asyncio

import msgspec
import pytest

from limen.contract import LlmError, Timeouts, codes
from limen.transport._deadlines import Deadlines
from transport._byte_server import CHUNKED, LAST, Connection, chunk
from transport._client import drained, facts, opened, stay


async def keep_alives_only(connection: Connection) -> None:
    """Answer with a keep-alive every 10 ms, for ever."""
    await connection.request()
    await connection.send(CHUNKED)
    while True:
        await connection.send(chunk(b": keep-alive\n\n"))
        await asyncio.sleep(0.01)


async def head_only(connection: Connection) -> None:
    """Answer with a head, then silence."""
    await connection.request()
    await connection.send(CHUNKED)
    await stay(connection)


async def test_silence_after_the_head() -> None:
    """Not a byte for `idle_bytes`: TIMEOUT in phase first-event, and the connection is closed (T1, E6)."""
    async with opened(head_only, Timeouts(idle_bytes=0.05)) as (answer, server):
        body, failure = await drained(answer)
        assert (body, facts(failure)) == (b"", (codes.TIMEOUT, "first-event"))
        assert "timeouts.idle_bytes" in str(failure)
        await asyncio.wait_for(server.client_gone.wait(), 1)


async def test_keep_alives_do_not_stand_for_the_first_event() -> None:
    """Keep-alives hold `idle_bytes` off, and `first_event` not (T1, Q162)."""
    async with opened(keep_alives_only, Timeouts(idle_bytes=1, first_event=0.1)) as (answer, _):
        body, failure = await drained(answer)
        assert body.startswith(b": keep-alive")
        assert facts(failure) == (codes.TIMEOUT, "first-event")
        assert "timeouts.first_event" in str(failure)


async def test_keep_alives_do_not_stand_for_the_next_event() -> None:
    """After a model event `idle_event` counts, and keep-alives do not re-arm it (T1)."""
    async with opened(keep_alives_only, Timeouts(idle_bytes=1, first_event=5, idle_event=0.1)) as (answer, _):
        await answer.read()
        answer.event_arrived()
        _, failure = await drained(answer)
        assert facts(failure) == (codes.TIMEOUT, "mid-stream")
        assert "timeouts.idle_event" in str(failure)


async def test_each_event_begins_the_limit_anew() -> None:
    """A stream of events slower than `first_event` in sum, but each in time, meets no limit (T1)."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(CHUNKED)
        for _ in range(8):
            await asyncio.sleep(0.02)
            await connection.send(chunk(b"event"))
        await connection.send(LAST)
        await stay(connection)

    async with opened(script, Timeouts(first_event=0.1, idle_event=0.1, idle_bytes=0.1)) as (answer, _):
        count = 0
        while await answer.read():
            count += 1
            answer.event_arrived()
        assert count == 8


async def test_the_total_limit() -> None:
    """`total` ends a stream that flows (T1)."""
    async with opened(keep_alives_only, Timeouts(total=0.1)) as (answer, _):
        answer.event_arrived()
        _, failure = await drained(answer)
        assert facts(failure) == (codes.TIMEOUT, "mid-stream")
        assert "timeouts.total" in str(failure)


async def test_the_consumers_time_is_never_counted() -> None:
    """A consumer that takes far longer than every limit between reads meets none of them (T1)."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(CHUNKED)
        for _ in range(3):
            await connection.send(chunk(b"event"))
            await asyncio.sleep(0.01)
        await go.wait()
        await connection.send(LAST)
        await stay(connection)

    go = asyncio.Event()
    limits = Timeouts(first_event=0.08, idle_bytes=0.08, idle_event=0.08, total=0.15)
    async with opened(script, limits) as (answer, _):
        assert await answer.read() == b"event"
        answer.event_arrived()
        await asyncio.sleep(0.2)
        assert await answer.read() == b"eventevent"
        await asyncio.sleep(0.2)
        asyncio.get_running_loop().call_later(0.03, go.set)
        assert await drained(answer) == (b"", None)


async def test_silence_that_is_the_end() -> None:
    """Where silence counts as the end, so long a wait is the clean end of the body, and closes it (S6)."""
    async with opened(head_only, Timeouts()) as (answer, server):
        answer.end_on_silence(0.03)
        assert await drained(answer) == (b"", None)
        await asyncio.wait_for(server.client_gone.wait(), 1)
        assert await answer.read() == b""


async def test_silence_may_be_taken_back() -> None:
    """Silence counts only while a finish word stands last (S6)."""
    async with opened(head_only, Timeouts(idle_bytes=0.1)) as (answer, _):
        answer.end_on_silence(0.03)
        answer.end_on_silence(None)
        _, failure = await drained(answer)
        assert failure is not None
        assert "timeouts.idle_bytes" in str(failure)


async def test_one_timer_serves_many_reads() -> None:
    """A wait that begins while the timer is armed arms no other one; it moves only to come sooner (T1)."""
    loop = asyncio.get_running_loop()
    expired: list[LlmError | None] = []
    clock = Deadlines(loop, Timeouts(idle_bytes=30, total=0.2), expired.append)
    clock.sent()
    clock.answered()
    clock.wait()
    armed = clock._handle
    for _ in range(5):
        clock.resume()
        clock.wait()
    assert clock._handle is armed
    await asyncio.sleep(0.05)
    clock.resume()
    clock.end_on_silence(0.01)
    clock.wait()
    assert clock._handle is not armed
    clock.stop()
    clock.resume()
    await asyncio.sleep(0.02)
    assert expired == []


async def test_a_timer_that_fires_while_nobody_waits_says_nothing() -> None:
    """A timer left over from an earlier wait is re-armed for the wait under way, or rests (T1)."""
    expired: list[LlmError | None] = []
    clock = Deadlines(asyncio.get_running_loop(), Timeouts(idle_bytes=0.05), expired.append)
    clock.sent()
    clock.sent()
    clock.answered()
    clock.wait()
    clock.resume()
    await asyncio.sleep(0.08)
    assert (expired, clock._handle) == ([], None)
    clock.wait()
    await asyncio.sleep(0.03)
    clock.resume()
    clock.wait()
    await asyncio.sleep(0.03)
    assert expired == []
    await asyncio.sleep(0.05)
    assert [None if error is None else error.code for error in expired] == [codes.TIMEOUT]


@pytest.mark.parametrize("field", ["connect", "first_event", "idle_bytes", "idle_event", "total"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), "1"])
def test_limits_are_positive_and_finite(field: str, value: object) -> None:
    """No limit is zero, negative, endless or a string (T1)."""
    with pytest.raises(ValueError, match=field):
        msgspec.structs.replace(Timeouts(), **{field: value})


async def test_limits_that_shrink_move_the_timer() -> None:
    """An `idle_event` shorter than what was left of `first_event` is met in time (T1)."""
    expired: list[LlmError | None] = []
    clock = Deadlines(asyncio.get_running_loop(), Timeouts(first_event=30, idle_event=0.05), expired.append)
    clock.sent()
    clock.answered()
    clock.wait()
    clock.resume()
    clock.event()
    clock.wait()
    await asyncio.sleep(0.1)
    assert [None if error is None else error.failure.phase for error in expired] == ["mid-stream"]
