"""HTTP requests and answers: what the rest of limen sees of the HTTP client.

No connection limit, no cookies, no redirects, no environment (K6, K7, K8); streams ask for `identity`; whatever the
client raises leaves as `LlmError` with its phase (E1, E6).
"""

import asyncio
import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache
from time import monotonic
from typing import NamedTuple
from urllib.parse import urlsplit

import aiohttp
from msgspec.structs import replace
from yarl import URL

from limen.contract import WIRE_TAP, AbortSignal, Limits, LlmError, Timeouts, codes
from limen.transport._exceptions import NetworkErrors
from limen.transport._exchange import Exchange, RequestBody, Target
from limen.transport._options import TransportOptions
from limen.transport._pool import Pools


class HttpRequest(NamedTuple):
    """One request, complete with its credentials; the repr shows none of them."""

    method: str
    url: str
    headers: Sequence[tuple[str, str]]
    body: bytes

    def __repr__(self) -> str:
        return f"HttpRequest({self.method}, {len(self.headers)} headers, {len(self.body)} bytes)"


class HttpAnswer:
    """An answer whose head has arrived; `headers` has lower-case names, repeated ones joined by a comma.

    Read it to its end, or `release` or `close` it: an answer that is merely dropped shuts its socket down and gives
    a `ResourceWarning` (R11). It belongs to the loop that it was opened on; another one gets `RuntimeError` (T2).
    """

    __slots__ = ("_error", "_exchange", "_limits", "headers", "status")

    def __init__(self, exchange: Exchange, response: aiohttp.ClientResponse, limits: Limits) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = _lower(response.headers)
        self._exchange = exchange
        self._limits = limits
        self._error: BaseException | None = None

    async def read(self) -> bytes:
        """Return what arrived, at least one byte; `b""` is the clean end of the body.

        Every byte that arrived is handed over before a failure is raised (S4).
        """
        exchange = self._exchange
        if exchange.loop is not asyncio.get_running_loop():
            raise RuntimeError("a stream is read on the event loop that began it")
        content = exchange.content
        if self._error is not None:
            raise self._error
        if content is None:
            return b""
        deadlines = exchange.deadlines
        failure: BaseException | None = None
        deadlines.wait()
        try:
            data = await content.readany()
        except Exception as error:  # noqa: BLE001 - judged there; what is no network's is raised as it is
            failure = exchange.diagnose(error)
            data = exchange.left_over()
        except BaseException:
            exchange.kill(None)
            raise
        finally:
            deadlines.resume()
        if not data:
            return self._end(failure)
        exchange.received(data)
        if failure is not None:
            self._fail(failure)
        return data

    def _end(self, failure: BaseException | None) -> bytes:
        failure = failure or self._exchange.ended()
        if failure is None:
            self._exchange.content = None
            return b""
        self._fail(failure)
        raise failure

    def _fail(self, failure: BaseException) -> None:
        self._error = failure
        self._exchange.kill(failure if isinstance(failure, LlmError) else None)

    def event_arrived(self) -> None:
        """Say that a model event was among the bytes: the limit between two of them begins anew (T1)."""
        self._exchange.deadlines.event()

    def end_on_silence(self, seconds: float | None) -> None:
        """From now on so long a silence is the clean end of the body, `None` takes that back (S6)."""
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
        """Whether the connection is still this answer's."""
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
        self._pools = Pools(self._options, timeouts)

    async def open(self, request: HttpRequest, *, signal: AbortSignal | None = None) -> HttpAnswer:
        """Send a request and wait for the answer's head, whatever its status.

        Raises `LlmError`: `TRANSPORT`, `TIMEOUT` or `ABORTED`, with the phase that the call had come to (E6).
        """
        if signal is not None and signal.aborted:
            raise LlmError("the call was aborted before it was sent", codes.ABORTED, phase="connect")
        target = self._target(request.url)
        pool = await self._pools.current()
        pool.sweep()
        make_tap = WIRE_TAP.get()
        exchange = Exchange(pool, self._timeouts, target.endpoint, None if make_tap is None else make_tap())
        try:
            exchange.started(request.method, request.url, request.headers, request.body)
            if signal is not None:
                exchange.watch(signal)
            response = await self._send(exchange, request, target)
            exchange.answered(response)
        except BaseException as error:
            exchange.kill(error if isinstance(error, LlmError) else None)
            raise
        return HttpAnswer(exchange, response, self._limits)

    async def _send(self, exchange: Exchange, request: HttpRequest, target: Target) -> aiohttp.ClientResponse:
        task = asyncio.current_task()
        cancelling = 0 if task is None else task.cancelling()
        errors = NetworkErrors(lambda: exchange.deadlines.phase, target.endpoint)
        exchange.begin(task)
        if not request.body:
            exchange.deadlines.sent()
        response: aiohttp.ClientResponse | None = None
        try:
            with errors:
                response = await exchange.pool.session.request(
                    request.method,
                    URL(target.url, encoded=True),
                    data=RequestBody(request.body, exchange.sending) if request.body else None,
                    headers=[*request.headers, ("Accept-Encoding", "identity")],
                    allow_redirects=False,
                    timeout=exchange.pool.timeout,
                    ssl=self._options.ssl or True,
                    proxy=target.proxy,
                )
        except asyncio.CancelledError:
            # Ours, to end the wait (as asyncio.timeout does it), or the caller's, which wins.
            if exchange.verdict is None or task is None or task.uncancel() > cancelling:
                raise
        finally:
            exchange.not_waiting()
        if exchange.verdict is not None:
            raise exchange.verdict
        if response is None:
            raise errors.failure or LlmError("the request gave no answer", codes.UNKNOWN, phase="headers")
        return response

    async def aclose(self) -> None:
        """Close the connections of the running loop; calls under way there end as `ABORTED`. Idempotent."""
        await self._pools.aclose()

    def _target(self, url: str) -> Target:
        host, endpoint = _address(url)
        return Target(url, endpoint, self._options.proxy_for(host))


@lru_cache(maxsize=256)
def _address(url: str) -> tuple[str, str]:
    """Return the host of a URL, and its endpoint as it may be shown."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
        parts = None
    if parts is None or parts.scheme not in ("http", "https") or not host:
        raise LlmError("a request's address is an http(s) URL with a host", codes.INVALID_CONFIG, phase="resolve")
    shown = f"[{host}]" if ":" in host else host
    return host, f"{parts.scheme}://{shown}" + (f":{port}" if port else "")


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    lowered: dict[str, str] = {}
    for name, value in headers.items():
        key = name.lower()
        lowered[key] = f"{lowered[key]}, {value}" if key in lowered else value
    return lowered
