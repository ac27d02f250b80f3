"""HTTP requests and answers: the face of the transport for the rest of limen.

No connection limit, no cookies, no redirects, no environment (K6, K7, K8); streams ask for `identity`; whatever goes
wrong is an `LlmError` with its phase (E1, E6).
"""

import asyncio
import warnings
from collections.abc import Mapping
from time import monotonic

from msgspec.structs import replace

from limen.contract import WIRE_TAP, AbortSignal, Limits, LlmError, Timeouts, codes
from limen.transport._connect import connect, credential_of
from limen.transport._connection import Connection, HttpRequest, Target, head_of, target_of
from limen.transport._exchange import Exchange
from limen.transport._options import TransportOptions
from limen.transport._pool import Pool, Pools


class HttpAnswer:
    """An answer whose head has arrived; `headers` has lower-case names, repeated ones joined by a comma.

    Read it to its end, or `release` or `close` it: an answer that is merely dropped shuts its socket down and gives
    a `ResourceWarning` (R11). It belongs to the loop that it was opened on; another one gets `RuntimeError` (T2).
    """

    __slots__ = ("_error", "_exchange", "_limits", "headers", "status")

    def __init__(self, exchange: Exchange, limits: Limits) -> None:
        self.status: int = exchange.status
        self.headers: Mapping[str, str] = exchange.headers
        self._exchange = exchange
        self._limits = limits
        self._error: BaseException | None = None

    async def read(self) -> bytes:
        """Return what arrived, at least one byte and at most 64 KiB; `b""` is the clean end of the body.

        Every byte that arrived is handed over before a failure is raised (S4).
        """
        exchange = self._exchange
        if exchange.loop is not asyncio.get_running_loop():
            raise RuntimeError("a stream is read on the event loop that began it")
        if self._error is not None:
            raise self._error
        try:
            data = await exchange.read()
        except BaseException as error:
            if isinstance(error, LlmError):
                self._error = error
            exchange.kill(error)
            raise
        if data:
            exchange.received(data)
            return data
        self._error = exchange.ended()
        if self._error is not None:
            exchange.kill(self._error)
            raise self._error
        return data

    def event_arrived(self) -> None:
        """Say that a model event was among the bytes: the limit between two of them begins anew (T1)."""
        self._exchange.deadlines.event()

    def no_event(self) -> None:
        """Say that no model event was among the bytes: the time since they were handed over counts too (T1)."""
        self._exchange.no_event()

    def end_on_silence(self, seconds: float | None) -> None:
        """From now on so long without a model event is the clean end of the body, `None` takes that back (S6)."""
        self._exchange.deadlines.end_on_silence(seconds)

    @property
    def since_sent_ms(self) -> float:
        """Milliseconds since the request was sent."""
        sent = self._exchange.deadlines.sent_at
        return 0.0 if sent is None else (monotonic() - sent) * 1000

    async def error_body(self) -> bytes:
        """Return an error's body as far as it came, up to `limits.error_bytes`, and leave no connection open.

        A body that breaks, or takes too long, is as good as it came (K8); an abort is raised.
        """
        body = bytearray()
        limit = self._limits.error_bytes
        try:
            while len(body) < limit:
                data = await self.read()
                if not data:
                    break
                body += data
        except LlmError as failure:
            if failure.code == codes.ABORTED:
                # Of an answer, only its head has come (E6).
                raise LlmError.of(replace(failure.failure, phase="headers")) from failure
        finally:
            self._exchange.kill(None)
        return bytes(body[:limit])

    async def whole_body(self, limit: int) -> bytes:
        """Return the body, read to its clean end, or raise `LlmError`; more than `limit` is `MALFORMED_RESPONSE`."""
        body = bytearray()
        try:
            while data := await self.read():
                body += data
                if len(body) > limit:
                    raise LlmError(
                        f"the answer is larger than {limit} bytes", codes.MALFORMED_RESPONSE, phase="mid-stream"
                    )
        finally:
            self._exchange.kill(None)
        return bytes(body)

    @property
    def readable(self) -> bool:
        """Tell whether there may be more to read."""
        return not self._exchange.over

    def release(self) -> None:
        """Give the connection back if the body ends within 50 ms, else close it; does not wait for that (S6)."""
        self._exchange.release()

    async def close(self) -> None:
        """Close the connection before returning; a read under way ends as `ABORTED`. Idempotent."""
        if not self._exchange.over:
            self._exchange.kill(LlmError("the stream was left early", codes.ABORTED))
            # The loop closes an aborted socket in its next turn.
            await asyncio.sleep(0)

    def drop(self) -> None:
        """Close the connection at once; the socket is closed in the loop's next turn."""
        self._exchange.kill(None)

    def abandon(self) -> None:
        """Shut the connection down from a finalizer of the reader, who warns himself; touches no loop (T2)."""
        self._exchange.sever()

    def __del__(self) -> None:
        if self._exchange.sever():
            warnings.warn(
                "an answer was dropped without close(); its connection is shut down",
                ResourceWarning,
                source=self,
                stacklevel=2,
            )


class Transport:
    """The connections of one adapter. They belong to the process and the running loop, so one transport may serve
    several loops, and a forked child opens its own (T2). Connections end with their loop at the latest.
    """

    def __init__(self, options: TransportOptions | None, timeouts: Timeouts, limits: Limits) -> None:
        self._options = options or TransportOptions()
        self._timeouts = timeouts
        self._limits = limits
        self._pools = Pools()

    async def open(
        self, request: HttpRequest, *, signal: AbortSignal | None = None, timeouts: Timeouts | None = None
    ) -> HttpAnswer:
        """Send a request and wait for the answer's head, whatever its status; `timeouts` are this call's own limits.

        Raises `LlmError`: `TRANSPORT`, `TIMEOUT` or `ABORTED`, with the phase that the call had come to (E6), and
        `INVALID_CONFIG` for an address or a header that cannot be sent.
        """
        if signal is not None and signal.aborted:
            raise LlmError("the call was aborted before it was sent", codes.ABORTED, phase="connect")
        target = target_of(request.url)
        pool = self._pools.current() or await self._pools.start()
        if pool.dropped:
            pool.sweep()
        make_tap = WIRE_TAP.get()
        limits = timeouts or self._timeouts
        exchange = Exchange(pool, limits, target.endpoint, None if make_tap is None else make_tap())
        try:
            exchange.started(request.method, request.url, request.headers, request.body)
            if signal is not None:
                exchange.watch(signal)
            await self._send(exchange, request, target, pool, limits.connect)
            exchange.answered()
        except BaseException as error:
            exchange.kill(error)
            raise
        return HttpAnswer(exchange, self._limits)

    async def _send(
        self, exchange: Exchange, request: HttpRequest, target: Target, pool: Pool, connect_s: float
    ) -> None:
        """Send the request and wait for the head; a request that the server cannot have seen goes out once more."""
        proxy = self._options.proxy_for(target.host) if self._options.proxy is not None else None
        absolute = proxy is not None and not target.tls and not proxy.startswith("socks")
        key = (target.tls, target.host, target.port, proxy)
        connection = pool.connections.take(key)
        if connection is not None and pool.connections.unsettled(connection):
            connection = await pool.connections.settle(connection)
        for last in (False, True):
            if connection is None:
                # What cannot be sent is refused before a connection is opened for it.
                head_of(request, target, absolute=absolute, proxy_credential=None)
                opening = connect(Connection(pool.connections, key), target, proxy, self._options)
                connection = await exchange.connect(opening, connect_s)
            if exchange.failure is not None:
                connection.abort()
                raise exchange.failure
            # No local holds a key while the connection is made: error trackers show the locals of a frame (E5).
            credential = credential_of(proxy) if absolute and proxy is not None else None
            head = head_of(request, target, absolute=absolute, proxy_credential=credential)
            exchange.send(connection, head, request.body)
            del head, credential
            await exchange.head(last=last)
            if exchange.status:
                return
            connection = None

    async def aclose(self) -> None:
        """Close the connections of the running loop; calls under way there end as `ABORTED`. Idempotent."""
        await self._pools.aclose()
