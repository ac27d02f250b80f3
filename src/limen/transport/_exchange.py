"""One request and its answer on one connection, from the first byte sent to the last one read.

Reading costs one wake-up per network read: the consumer's own task waits on the HTTP client's reader. What that
reader still holds when the connection breaks is handed over before the failure (S4). Abort, deadlines and leaving
abort the socket itself, so nothing waits for a peer (Q6).
"""

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

import aiohttp
from aiohttp import http_exceptions
from aiohttp.abc import AbstractStreamWriter

from limen.contract import AbortSignal, LlmError, Timeouts, WireTap, codes
from limen.transport._deadlines import Deadlines
from limen.transport._exceptions import Verdict, failure, translate
from limen.transport._pool import Pool

# How long a body may take to end after its end marker for the connection to be used again (S6).
LINGER: Final = 0.05

_INVALID: Final = Verdict(codes.TRANSPORT, None, "invalid transfer encoding from")
_RESET: Final = Verdict(codes.TRANSPORT, None, "the connection was reset by")


class Target(NamedTuple):
    """Where an exchange goes; `endpoint` is the address without path, query and user, fit to be shown."""

    url: str
    endpoint: str
    proxy: str | None


class RequestBody(aiohttp.Payload):
    """The body of a request; tells when it begins to be written, which is when a connection is there."""

    _autoclose = True

    def __init__(self, value: bytes, started: Callable[[AbstractStreamWriter], None]) -> None:
        super().__init__(value, content_type=None)
        self._size = len(value)
        self._bytes = value
        self._started = started

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        """Return the body as text; the client asks for it in no case of ours."""
        return self._bytes.decode(encoding, errors)

    async def write(self, writer: AbstractStreamWriter) -> None:
        """Write the body."""
        self._started(writer)
        await writer.write(self._bytes)

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        """Write the body; its length is the one announced."""
        await self.write(writer)


class Exchange:
    """The connection side of an answer. Held by its pool while it is under way, so that a consumer that drops the
    answer does not take the connection with it.
    """

    __slots__ = (
        "__weakref__",
        "_closed",
        "_fault",
        "_forget_abort",
        "_framed",
        "_linger",
        "_over",
        "_severed",
        "_socket",
        "_tap",
        "_task",
        "_transport",
        "content",
        "deadlines",
        "endpoint",
        "loop",
        "pool",
        "response",
        "silent_end",
        "verdict",
    )

    def __init__(self, pool: Pool, timeouts: Timeouts, endpoint: str, tap: WireTap | None) -> None:
        self.pool = pool
        self.loop = pool.loop
        self.endpoint = endpoint
        self.deadlines = Deadlines(pool.loop, timeouts, self._expired)
        self.verdict: LlmError | None = None  # why we ended it ourselves
        self.silent_end = False
        self.response: aiohttp.ClientResponse | None = None
        self.content: aiohttp.StreamReader | None = None
        self._tap = tap
        self._task: asyncio.Task[object] | None = None
        self._transport: asyncio.WriteTransport | None = None
        self._socket: socket.socket | None = None
        self._closed: asyncio.Future[None] | None = None
        self._fault: BaseException | None = None
        self._forget_abort: Callable[[], None] | None = None
        self._linger: asyncio.TimerHandle | None = None
        self._framed = True
        self._over = False
        self._severed = False
        pool.live.add(self)

    @property
    def over(self) -> bool:
        """Whether the connection is no longer this exchange's."""
        return self._over

    def watch(self, signal: AbortSignal) -> None:
        """End the exchange when the caller aborts, from whatever thread (Q6)."""
        loop, abort = self.loop, self._aborted

        def wake() -> None:
            # A closed loop has no connection left to end.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(abort)

        self._forget_abort = signal.on_abort(wake)

    def started(self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes) -> None:
        """Show the request to the tap."""
        if self._tap is not None:
            self._tap.started(method, url, headers, body)

    def begin(self, task: "asyncio.Task[object] | None") -> None:
        """The head is waited for in this task, which `end_early` interrupts."""
        self._task = task
        self.deadlines.wait()

    def sending(self, writer: AbstractStreamWriter) -> None:
        """The body begins to be written: the connection is there."""
        self._use(writer.transport)
        self.deadlines.sent()

    def answered(self, response: aiohttp.ClientResponse) -> None:
        """The head is here."""
        self.response = response
        self.content = response.content
        self.deadlines.sent()
        self.deadlines.answered()
        connection = response.connection
        protocol = None if connection is None else connection.protocol
        if protocol is not None:
            self._use(protocol.transport)
            self._closed = protocol.closed
        headers = response.headers
        self._framed = "content-length" in headers or "transfer-encoding" in headers
        if self._closed is not None:
            # Whatever becomes of the connection after us, its error has been seen.
            self._closed.remove_done_callback(_seen)
            self._closed.add_done_callback(_seen)
            self._closed.add_done_callback(self._lost)
        if self._tap is not None:
            raw = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in response.raw_headers]
            self._tap.answered(response.status, raw)

    def not_waiting(self) -> None:
        """The wait for the head is over, either way."""
        self._task = None
        self.deadlines.resume()

    def end_early(self, error: LlmError | None) -> None:
        """End the exchange for a reason; `None` is silence that counts as the end of the body."""
        if self._over:
            return
        if self.verdict is None:
            self.verdict = error
        self.silent_end = error is None
        if self._task is not None:
            self._task.cancel()
            self._abort_transport()
        else:
            self._close_connection()

    def kill(self, error: LlmError | None) -> None:
        """Close the connection at once. Idempotent."""
        if not self._over:
            if self.verdict is None:
                self.verdict = error
            self._finish(error or self.verdict, complete=False)

    def release(self) -> None:
        """Give the connection back once the body ends, if that is soon (S6)."""
        content = self.content
        if self._over or content is None:
            return
        if content.is_eof():
            self._finish(None, complete=True)
            return
        self.deadlines.stop()
        self._tell_tap(None)
        self._linger = self.loop.call_later(LINGER, self._lingered)
        content.on_eof(self._body_ended)

    def sever(self) -> bool:
        """Shut the socket down, touching no loop: for finalizers (T2, R11). Says whether there was anything left."""
        if self._over or self._severed or self._linger is not None or self.pool.pid != os.getpid():
            return False
        self._severed = True
        self.pool.dropped.append(self)
        self._shut_socket()
        return self.verdict is None

    def _shut_socket(self) -> None:
        raw = self._socket
        if raw is not None:
            # A twin of the descriptor, because not every loop's socket object may be shut down (uvloop's may not).
            with suppress(OSError, ValueError), socket.fromfd(raw.fileno(), raw.family, raw.type) as twin:
                twin.shutdown(socket.SHUT_RDWR)

    def received(self, data: bytes) -> None:
        """Show a read to the tap."""
        if self._tap is not None:
            try:
                self._tap.received(data)
            except BaseException:
                self.kill(None)
                raise

    def diagnose(self, error: BaseException) -> BaseException | None:
        """Return what a read's exception means: an `LlmError`, the exception itself where it is a bug, `None` where
        silence is the end.
        """
        if self.silent_end:
            return None
        if self.verdict is not None:
            return self.verdict
        phase = self.deadlines.phase
        fault = self._fault or self.connection_fault()
        if isinstance(fault, http_exceptions.HttpProcessingError):
            return failure(_INVALID, fault, phase=phase, endpoint=self.endpoint)
        if fault is not None:
            return failure(_RESET, fault, phase=phase, endpoint=self.endpoint)
        return translate(error, phase=phase, endpoint=self.endpoint) or error

    def connection_fault(self) -> BaseException | None:
        """Return what broke the connection; `None` while it stands, and where the peer closed it in order.

        aiohttp tells a reset from an early end in its message's text only; its `closed` future tells it as an object.
        A reset in a body that runs to the end of the connection even looks like a clean end to its reader.
        """
        response = self.response
        connection = None if response is None else response.connection
        protocol = None if connection is None else connection.protocol
        if protocol is not None:
            fault = protocol.exception()
            if isinstance(fault, http_exceptions.HttpProcessingError):
                return fault
        closed = self._closed
        if closed is None or not closed.done() or closed.cancelled():
            return None
        fault = closed.exception()
        return None if fault is None else fault.__cause__ or fault

    def left_over(self) -> bytes:
        """Return what the reader still holds of a body that broke."""
        content = self.content
        if content is None:
            return b""
        # The reader refuses to hand anything over while it knows of an exception, though it holds the bytes (3.14).
        content.set_exception(None)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType] - see above
        return content.read_nowait()

    def ended(self) -> LlmError | None:
        """The body was read to its end: give the connection back, or return why the end is none."""
        if self._over:
            return None
        if self.silent_end:
            self.kill(None)
            return None
        # A body that runs to the end of the connection has only the connection to say that it is whole.
        fault = None if self._framed else self.connection_fault()
        if fault is None:
            self._finish(None, complete=True)
            return None
        return failure(_RESET, fault, phase=self.deadlines.phase, endpoint=self.endpoint)

    # -- called by the loop

    def _expired(self, error: LlmError | None) -> None:
        self.end_early(error)

    def _aborted(self) -> None:
        self.end_early(LlmError("the call was aborted", codes.ABORTED, phase=self.deadlines.phase))

    def _lost(self, _closed: "asyncio.Future[None]") -> None:
        """The connection is gone: wake a reader that the HTTP client forgot (an invalid chunk size, aiohttp 3.14)."""
        if self._over:
            return
        self._fault = self.connection_fault()
        content = self.content
        if content is not None and not content.is_eof() and content.exception() is None:
            content.set_exception(aiohttp.ClientPayloadError("the connection was lost"))
        if self._linger is not None or self in self.pool.dropped:
            self.kill(None)

    def _lingered(self) -> None:
        self._linger = None
        self.kill(None)

    def _body_ended(self) -> None:
        if not self._over:
            self._finish(None, complete=True)

    def _use(self, transport: asyncio.WriteTransport | None) -> None:
        if transport is not self._transport:
            self._transport = transport
            self._socket = None if transport is None else transport.get_extra_info("socket")

    # -- the end

    def _close_connection(self) -> None:
        """Close without ending: a reader may still be handed what arrived."""
        self.deadlines.stop()
        self._abort_transport()
        if self.response is not None:
            self.response.close()

    def _abort_transport(self) -> None:
        transport = self._transport
        # close() would wait for unsent bytes, and for a TLS peer's goodbye; abort() does not.
        if transport is not None:
            try:
                transport.abort()
            except AttributeError:
                # CPython 3.11.2's TLS transport forgets its protocol at a second close(), and that is what it aborts.
                self._shut_socket()

    def _finish(self, error: LlmError | None, *, complete: bool) -> None:
        self._over = True
        self.deadlines.stop()
        self.pool.live.discard(self)
        if self._linger is not None:
            self._linger.cancel()
            self._linger = None
        if self._forget_abort is not None:
            self._forget_abort()
            self._forget_abort = None
        if self._closed is not None:
            self._closed.remove_done_callback(self._lost)
        if not complete:
            self._abort_transport()
            if self.response is not None:
                self.response.close()
        self._transport = self._socket = None
        self._tell_tap(error)

    def _tell_tap(self, error: LlmError | None) -> None:
        if self._tap is not None:
            tap, self._tap = self._tap, None
            tap.ended(None if error is None else error.code)


def _seen(closed: "asyncio.Future[None]") -> None:
    if not closed.cancelled():
        closed.exception()
