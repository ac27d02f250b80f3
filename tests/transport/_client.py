"""The client side of transport tests: an answer of a scripted server, read to its end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from limen.contract import AbortSignal, Limits, LlmError, Timeouts
from limen.transport import HttpAnswer, HttpRequest, Transport, TransportOptions
from transport._byte_server import ByteServer, Connection, Script

QUICK = Timeouts(connect=5, first_event=5, idle_bytes=5, idle_event=5)


def post(url: str, body: bytes = b"{}") -> HttpRequest:
    """A small request."""
    return HttpRequest("POST", f"{url}/v1/x", [("content-type", "application/json")], body)


@asynccontextmanager
async def transport(
    timeouts: Timeouts = QUICK, options: TransportOptions | None = None, limits: Limits | None = None
) -> AsyncIterator[Transport]:
    """A transport that is closed after."""
    made = Transport(options, timeouts, limits or Limits())
    try:
        yield made
    finally:
        await made.aclose()


@asynccontextmanager
async def opened(
    script: Script, timeouts: Timeouts = QUICK, *, signal: AbortSignal | None = None, limits: Limits | None = None
) -> AsyncIterator[tuple[HttpAnswer, ByteServer]]:
    """An answer of a scripted server; everything is closed after."""
    async with ByteServer(script) as server, transport(timeouts, limits=limits) as client:
        answer = await client.open(post(server.url), signal=signal)
        try:
            yield answer, server
        finally:
            await answer.close()


async def drained(answer: HttpAnswer) -> tuple[bytes, LlmError | None]:
    """Read to the end: what arrived, and the failure if it was none."""
    body = b""
    try:
        while data := await answer.read():
            body += data
    except LlmError as failure:
        return body, failure
    return body, None


def facts(failure: LlmError | None) -> tuple[str, str | None] | None:
    """A failure's code and phase."""
    return None if failure is None else (failure.code, failure.failure.phase)


async def failure_of(client: Transport, request: HttpRequest, *, signal: AbortSignal | None = None) -> LlmError:
    """The failure of a request that gets no answer."""
    try:
        answer = await asyncio.wait_for(client.open(request, signal=signal), 5)
    except LlmError as failure:
        return failure
    await answer.close()
    raise AssertionError(f"answered with {answer.status}")


async def stay(connection: Connection) -> None:
    """Keep the connection until the client closes it."""
    await connection.gone()
