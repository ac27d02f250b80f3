"""`limen mock` under load: many slow streams at once."""

import asyncio
import time

import pytest

from limen.testing.server import MockProvider, Script, Text, Turn
from testing._raw_client import CHAT, PATHS, chat_body, request_bytes

STREAMS = 1000
EVENTS = 10
DELAY_MS = 500


@pytest.mark.slow
async def test_a_thousand_slow_streams() -> None:
    """1,000 streams of ten events, half a second apart, are open at once, and each is served whole."""
    script = Script([Turn([Text([f"{number} " for number in range(EVENTS)])])], delay_ms=DELAY_MS)
    async with MockProvider(script) as mock:
        url = mock.base_url(CHAT) + PATHS[CHAT]
        request = request_bytes("POST", url, chat_body())
        host, port = mock.url.removeprefix("http://").split(":")
        answered = 0
        all_answered = asyncio.Event()

        async def stream() -> int:
            nonlocal answered
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(request)
            await reader.readuntil(b"\r\n\r\n")
            answered += 1
            if answered == STREAMS:
                all_answered.set()
            body = await reader.read()
            writer.close()
            return body.count(b'"content":"')

        started = time.monotonic()
        streams = [asyncio.create_task(stream()) for _ in range(STREAMS)]
        await all_answered.wait()
        assert not any(task.done() for task in streams)
        counts = await asyncio.gather(*streams)
        took = time.monotonic() - started

    # The role chunk, the fragments, the finish, usage and the marker: each is followed by the delay.
    ideal = (EVENTS + 4) * DELAY_MS / 1000
    print(f"{STREAMS} streams, {EVENTS} events each, {DELAY_MS} ms apart: {took:.1f} s, {ideal:.1f} s would be ideal")
    assert counts == [EVENTS + 1] * STREAMS
