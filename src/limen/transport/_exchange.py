"""One request and its answer, from the first byte sent to the last one read.

llhttp calls `on_…`; the connection calls `feed` and `lost`; the reader takes what arrived. One wake-up serves one
network read. What arrived is handed over before a failure is raised (S4). Abort, limits and leaving close the socket
itself, so nothing waits for a peer (Q6).
"""

import asyncio
import os
import zlib
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from time import monotonic
from typing import Final

import httptools

from limen.contract import AbortSignal, LlmError, Timeouts, WireTap, codes
from limen.transport import _exceptions as faults
from limen.transport._answer_head import HEAD_MAX, head_of, text_of
from limen.transport._coding import Inflater, inflater
from limen.transport._connection import Connection, State
from limen.transport._deadlines import Deadlines
from limen.transport._pool import Pool

# Seconds that a body may take to end after its end marker for the connection to be used again (S6).
LINGER: Final = 0.05
# Bytes that a slow consumer leaves in memory, one read more at most; past it the kernel holds the rest.
READ_BUFFER: Final = 2 * 1024 * 1024
# The most that is handed over at once, and the seconds after which a busy reader lets the loop turn (T1).
PIECE: Final = 32 * 1024
TURN_S: Final = 0.01


class Exchange:
    """The state of one call. Held by its pool while it is under way, so that a consumer that drops the answer does
    not take the connection with it.

    `status` is 0 until the head is here; `complete` says that the message ended as it announced; `failure` is why it
    never will, and is raised once the bytes before it were read; `over` says that the consumer is done with it.
    """

    # Defaults; without slots, a call sets only what it uses.
    status: int = 0
    complete: bool = False
    failure: BaseException | None = None
    silent_end: bool = False
    over: bool = False
    resend: bool = False  # whether the connection went before the server can have seen the request
    connection: Connection | None = None
    _parser: httptools.HttpResponseParser | None = None
    _fed_at = 0.0
    _rest = b""  # taken from the parser, and handed over up to `_taken`
    _taken = 0
    _received = 0  # bytes since the reader took some
    _head_size = 0
    _interim = False
    _framed = True
    _keep = 0.0  # seconds for which the connection may be idle afterwards
    _length = 0
    _surplus = False
    _tail = b""
    _paused = False
    _inflater: Inflater | None = None
    _waiter: "asyncio.Future[None] | None" = None
    _connecting: "asyncio.Task[Connection] | None" = None
    _forget_abort: Callable[[], None] | None = None
    _linger: asyncio.TimerHandle | None = None
    _severed = False

    def __init__(self, pool: Pool, timeouts: Timeouts, endpoint: str, tap: WireTap | None) -> None:
        self.pool = pool
        self.loop: asyncio.AbstractEventLoop = pool.loop
        self.endpoint = endpoint
        self.deadlines: Deadlines = Deadlines(pool.loop, timeouts, self.stop)
        self.headers: dict[str, str] = {}
        self._tap = tap
        self._fields: list[tuple[bytes, bytes]] = []
        self._chunks: list[bytes] = []
        # The parser calls this for each piece of the body; a bound method of the list costs no Python frame.
        self.on_body: Callable[[bytes], None] = self._chunks.append
        pool.live.add(self)

    # -- the request

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

    async def connect(self, opening: Coroutine[object, object, Connection], limit: float) -> Connection:
        """Wait for a new connection, for `limit` seconds; raise what made it impossible as `LlmError`."""
        task = self._connecting = self.loop.create_task(opening)
        task.add_done_callback(self._connected)
        late = LlmError(
            f"no connection within {limit:g} s (timeouts.connect) to {self.endpoint}", codes.TIMEOUT, phase="connect"
        )
        timer = self.loop.call_later(limit, self.stop, late)
        connection: Connection | None = None
        try:
            self.deadlines.wait()
            while not task.done() and self.failure is None:
                await self.wait()
            if self.failure is not None:
                raise self.failure
            error = task.exception()
            if error is not None:
                raise faults.translate(error, phase="connect", endpoint=self.endpoint) or error
            connection = task.result()
            return connection
        finally:
            self.deadlines.resume()
            timer.cancel()
            self._connecting = None
            if connection is None and not task.cancel() and not task.cancelled() and task.exception() is None:
                # Made in the same turn in which the call ended.
                task.result().abort()

    def send(self, connection: Connection, head: bytes, body: bytes) -> None:
        """Write the request."""
        self._parser = httptools.HttpResponseParser(self)
        self.resend = False
        self.deadlines.sent()
        self.connection = connection
        connection.send(self, head, body)

    async def head(self, *, last: bool) -> None:
        """Wait for the head of the answer; raise why there is none, unless the request can be sent again."""
        self.deadlines.wait()
        while not self.status and self.failure is None:
            await self.wait()
        self.deadlines.resume()
        if self.resend and not last:
            self.failure = None
        elif self.failure is not None and not self.status:
            raise self.failure

    async def wait(self) -> None:
        """Wait until something changed."""
        if self._waiter is not None:
            raise RuntimeError("another task is reading this answer")
        self._waiter = self.loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _connected(self, task: "asyncio.Task[Connection]") -> None:
        if not task.cancelled():
            task.exception()
        self._wake()

    # -- called by the parser

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header field, or a trailer field, which is left out."""
        if not self.status:
            self._head_size += len(name) + len(value) + 4
            self._fields.append((name, value))

    def on_headers_complete(self) -> None:
        """The head ends."""
        parser = self._parser
        if parser is None or self.complete:
            self._surplus = True
            return
        head = head_of(parser, self._fields, self._head_size)
        self._interim = head.status < 200
        if self._interim:
            self._fields = []
            self._head_size += 32  # its status line, so that interim answers without end meet the limit too
            return
        self.status, self.headers, self._framed, self._keep = head
        if self.connection is not None:
            self.connection.state = State.BODY
        self.deadlines.answered()

    def on_message_complete(self) -> None:
        """The message ends as it announced."""
        if self._interim:
            self._interim = False
        elif not self.complete:
            self.complete = True
            self._length = len(self._chunks)

    # -- called by the connection

    def feed(self, data: bytes) -> None:
        """Take a read."""
        parser = self._parser
        if parser is None:
            # After the end of the answer.
            self._cut()
            return
        self._fed_at = monotonic()
        error: Exception | None = None
        headless = not self.status
        try:
            parser.feed_data(data)
        except Exception as raised:  # noqa: BLE001 - llhttp's own, or what a callback of ours raised about the head
            error = raised
        if self.complete:
            self._completed(data, error)
        elif error is not None:
            self._broken(error)
        else:
            self._tail = data
            self._received += len(data)
            if not self.status and self._received > HEAD_MAX:
                self._broken(ValueError(f"the head is larger than {HEAD_MAX} bytes"))
            elif self._received + len(self._rest) > READ_BUFFER and not self._paused and self.connection is not None:
                self._paused = True
                self.connection.transport.pause_reading()
        if headless and self.status:
            self._received = 0
            self._show_head()
        if self.status or self.failure is not None:
            self._wake()

    def lost(self, error: Exception | None, *, accepted: bool) -> None:
        """The connection is gone, in order or by an error; `accepted`: the server may have seen the request."""
        self.connection = None
        self._parser = None
        self.deadlines.stop()
        if self.complete or self.failure is not None:
            if self._severed:
                self.kill(None)
            return
        self.resend = not accepted
        if error is not None:
            verdict = faults.verdict_of(error) or faults.RESET
            # A second connection would meet a TLS peer's refusal again.
            self.resend = not accepted and verdict.should_retry is not False
            self._fail(verdict, error)
        elif not self.status:
            self._fail(faults.CLOSED, None)
        elif self._framed:
            self._fail(faults.SHORT, None)
        else:
            self.complete = True
        if self._linger is not None or self._severed:
            self.kill(None)
        self._wake()

    def _completed(self, data: bytes, error: Exception | None) -> None:
        """The message ended: its connection waits for the reader, or is closed if anything came after it (S6)."""
        clean = error is None and not self._surplus and self._ends_with_message(data)
        self._parser = None
        del self._chunks[self._length :]
        self.deadlines.stop()
        connection = self.connection
        if connection is not None:
            if self._paused:
                self._paused = False
                connection.transport.resume_reading()
            if not clean or self._keep <= 0 or connection.unsent:
                self._cut()
        if self._linger is not None:
            self._finish(None)

    def _ends_with_message(self, data: bytes) -> bool:
        """Say whether a read ends where the message does. llhttp skips empty lines between messages silently."""
        if self._length and "content-length" in self.headers:
            before = len(data) - len(self._chunks[self._length - 1])
            return b"\r\n\r\n".endswith(data[max(0, before - 4) : before])
        end = data[-5:] if len(data) > 4 else (self._tail + data)[-5:]
        return end.endswith(b"\r\n\r\n") and end[0] not in b"\r\n"

    def _broken(self, error: Exception) -> None:
        """Fail, because the bytes are no HTTP or are framed wrongly."""
        if isinstance(error, httptools.HttpParserCallbackError) and isinstance(error.__context__, ValueError):
            error = error.__context__
        verdict = faults.BAD_FRAMING if self.status else faults.NO_HTTP
        self._fail(verdict, error)
        self._cut()
        if self._linger is not None:
            self.kill(None)

    def _show_head(self) -> None:
        coding = self.headers.get("content-encoding", "")
        try:
            self._inflater = inflater(coding)
        except LookupError:
            # Of a refusal the status is what counts; its page may stay unreadable.
            if self.status < 300 and self.failure is None:
                error = ValueError(f"content-encoding: {coding[:80]}")
                self.status = 0
                self.failure = faults.failure(faults.UNDECODABLE, error, phase="headers", endpoint=self.endpoint)
                self._cut()

    def answered(self) -> None:
        """Show the head to the tap."""
        if self._tap is not None:
            self._tap.answered(self.status, [(name.decode("latin-1"), text_of(value)) for name, value in self._fields])

    # -- reading

    async def read(self) -> bytes:
        """Return what arrived, `b""` at the end; raise the failure once the bytes before it were read."""
        deadlines = self.deadlines
        while True:
            if self._chunks or self._rest or (self._inflater is not None and self._inflater.pending):
                now = monotonic()
                if now - self._fed_at > TURN_S:
                    # A flood that never runs dry would keep the loop, its timers and the other calls waiting.
                    deadlines.wait()
                    await asyncio.sleep(0)
                    deadlines.resume()
                    self._fed_at = monotonic()
                data = self._decoded(self._take()) if self._inflater is not None else self._take()
                if data:
                    deadlines.handed_over()
                    return data
            elif self.failure is not None:
                raise self.failure
            elif self.complete or self.silent_end or self.over:
                return b""
            else:
                deadlines.wait()
                try:
                    await self.wait()
                finally:
                    deadlines.resume()

    def _take(self) -> bytes:
        if not self._rest:
            chunks = self._chunks
            data = chunks[0] if len(chunks) == 1 else b"".join(chunks)
            chunks.clear()
            self._received = 0
            if self._paused and self.connection is not None:
                self._paused = False
                self.connection.transport.resume_reading()
            if len(data) <= PIECE:
                return data
            self._rest, self._taken = data, 0
        piece = self._rest[self._taken : self._taken + PIECE]
        self._taken += PIECE
        if self._taken >= len(self._rest):
            self._rest = b""
        return piece

    def _decoded(self, data: bytes) -> bytes:
        assert self._inflater is not None
        try:
            return self._inflater.decode(data)
        except zlib.error as error:
            named = ValueError(f"content-encoding: {self.headers['content-encoding']}: {error}")
            self._chunks.clear()
            self._rest = self._inflater.pending = b""
            self._fail(faults.UNDECODABLE, named)
            return b""

    def received(self, data: bytes) -> None:
        """Show a read to the tap."""
        if self._tap is not None:
            try:
                self._tap.received(data)
            except BaseException:
                self.kill(None)
                raise

    def ended(self) -> LlmError | None:
        """The consumer came to the end of the body. Returns why it is none, if a coding was cut short."""
        if self._inflater is not None and not self._inflater.whole and not self.silent_end:
            return faults.failure(faults.SHORT, None, phase=self.deadlines.phase, endpoint=self.endpoint)
        if not self.over:
            self._finish(None)
        return None

    # -- the end

    def stop(self, error: LlmError | None) -> None:
        """End the exchange for a reason, what arrived may still be read; `None` is silence that counts as the end."""
        if self.over or self.complete or self.failure is not None:
            return
        self.failure = error
        self.silent_end = error is None
        self._cut()
        self._wake()

    def no_event(self) -> None:
        """Note that the last read held no model event. Where a limit has passed meanwhile, unread bytes are given up:
        a flood of keep-alives would otherwise be read on behind it (T1).
        """
        if self.complete or not self.deadlines.unproductive():
            return
        self.stop(self.deadlines.verdict())
        if self.silent_end or (isinstance(self.failure, LlmError) and self.failure.code == codes.TIMEOUT):
            self._chunks.clear()
            self._rest = b""

    def _aborted(self) -> None:
        self.stop(LlmError("the call was aborted", codes.ABORTED, phase=self.deadlines.phase))

    def kill(self, error: BaseException | None) -> None:
        """Close the connection at once; nothing is left to read. Idempotent."""
        if self.over:
            return
        if self.failure is None and not self.complete:
            left = LlmError("the answer was left before its end", codes.ABORTED, phase=self.deadlines.phase)
            self.failure = error if isinstance(error, LlmError) else left
        self._chunks.clear()
        self._rest = b""
        self._cut()
        self._finish(error)
        self._wake()

    def release(self) -> None:
        """Give the connection back once the body ends, if that is soon (S6)."""
        if self.over or self._linger is not None:
            return
        if self.complete:
            self._finish(None)
        elif self.failure is not None:
            self.kill(None)
        else:
            self.deadlines.stop()
            self._tell_tap(None)
            self._linger = self.loop.call_later(LINGER, self.kill, None)

    def sever(self) -> bool:
        """Shut the socket down, touching no loop: for finalizers (T2, R11). Says whether there was anything left."""
        if self.over or self._severed or self._linger is not None or self.pool.pid != os.getpid():
            return False
        self._severed = True
        self.pool.dropped.append(self)
        if self.connection is not None:
            self.connection.abandon()
        return self.failure is None

    def _fail(self, verdict: faults.Verdict, error: Exception | None) -> None:
        self.failure = faults.failure(verdict, error, phase=self.deadlines.phase, endpoint=self.endpoint)

    def _cut(self) -> None:
        """Close the connection, or stop making one."""
        self.deadlines.stop()
        self._parser = None
        if self._connecting is not None:
            self._connecting.cancel()
        if self.connection is not None:
            connection, self.connection = self.connection, None
            connection.abort()

    def _finish(self, error: BaseException | None) -> None:
        self.over = True
        self.deadlines.stop()
        if self.connection is not None:
            connection, self.connection = self.connection, None
            connection.release(self._keep)
        self.pool.live.discard(self)
        if self._linger is not None:
            self._linger.cancel()
            self._linger = None
        if self._forget_abort is not None:
            self._forget_abort()
            self._forget_abort = None
        self._tell_tap(error)

    def _tell_tap(self, error: BaseException | None) -> None:
        if self._tap is not None:
            tap, self._tap = self._tap, None
            tap.ended(error.code if isinstance(error, LlmError) else None)
