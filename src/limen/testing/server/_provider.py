"""Mock provider: a real server on loopback, in the test's own loop or in a thread of its own."""

import asyncio
import asyncio.trsock
import socket
import ssl
import threading
from collections.abc import Callable, Coroutine, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, TypeAlias

from limen.testing.scripts import Answer
from limen.testing.server._choice import PATH_PREFIX, Choice, Source, script_of
from limen.testing.server._recorded import RecordedRequest
from limen.testing.server._respond import Responder, stray
from limen.testing.server._threadsafe_event import ThreadsafeEvent
from limen.testing.server._tls import self_signed
from limen.testing.wires import WIRES, WireDescription

if TYPE_CHECKING:
    from limen.testing.server._connection import Connection, Respond

Listen: TypeAlias = Literal["http", "refuse", "tls", "plain-on-tls"]
"""Behaviour of the port: see `MockProvider`."""


class MockProvider:
    """Provider on loopback that answers what a script says and misbehaves on command.

    `async with MockProvider("tools") as mock` runs it on the current loop, `with MockProvider() as mock` in a thread
    of its own. What it answers is a `Script`, a specification such as `"text+cut"`, a list of either to answer one
    request each, or a function of the request; a client may also choose by the model `mock-<specification>` or by
    `base_url(wire, specification)`. `faults` are added to whatever is chosen. `wires` describes further wires, which
    are asked before limen's own. Starting it needs h11; without it that is a `ModuleNotFoundError`.

    `listen` is `http`; `refuse` holds a port where nobody listens; `tls` speaks TLS with a self-signed certificate;
    `plain-on-tls` gives out an `https` URL and speaks plain HTTP there.
    """

    def __init__(
        self,
        script: Source | None = None,
        *,
        faults: Sequence[str] = (),
        wires: Sequence[WireDescription] = (),
        host: str = "127.0.0.1",
        port: int = 0,
        listen: Listen = "http",
    ) -> None:
        self._wires = tuple(description.mock for description in (*wires, *WIRES.values()))
        self._responder = Responder(self._wires, Choice(script, faults))
        self._host = host
        self._port = port
        self._listen = listen
        self._connections: set[Connection] = set()
        self._servers: list[asyncio.Server] = []
        self._held: socket.socket | None = None
        self._waiting: list[tuple[int, ThreadsafeEvent]] = []
        self._thread: _LoopThread | None = None
        self.requests: list[RecordedRequest] = []
        """Every request in the order of arrival."""
        self.on_request: Callable[[RecordedRequest], object] | None = None
        """Called with each request once it has arrived, in the provider's own loop."""
        self.strays: list[RecordedRequest] = []
        """Requests to the origin that the fault `redirect` points to; a client that is right makes none."""

    @property
    def url(self) -> str:
        """The server's origin as a client on this machine reaches it, such as `http://127.0.0.1:49152`."""
        scheme = "https" if self._listen in ("tls", "plain-on-tls") else "http"
        # A server on every address is reached on loopback; an IPv6 address stands in brackets.
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self._host, self._host)
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self._port}"

    @property
    def wires(self) -> Sequence[str]:
        """The names of the wires that are served."""
        return tuple(one.name for one in self._wires)

    def base_url(self, wire: str, specification: str | None = None) -> str:
        """Return the base URL for a client of that wire; a specification chooses what is answered there."""
        served = next((one for one in self._wires if one.name == wire), None)
        if served is None:
            raise ValueError(f"the mock provider speaks {', '.join(one.name for one in self._wires)}, not {wire!r}")
        if specification is None:
            return self.url + served.base_path
        script_of(specification)
        return f"{self.url}{PATH_PREFIX}{specification}{served.base_path}"

    def use(self, script: Source, *faults: str) -> None:
        """Answer with this from now on."""
        self._responder.choice = Choice(script, faults)

    async def request(self, number: int = 1, *, timeout: float | None = 10) -> RecordedRequest:
        """Wait until that many requests have arrived, and return that one."""
        await self._arrival(number).wait(timeout)
        return self.requests[number - 1]

    def request_blocking(self, number: int = 1, *, timeout: float | None = 10) -> RecordedRequest:
        """Block the thread until that many requests have arrived, and return that one."""
        self._arrival(number).wait_blocking(timeout)
        return self.requests[number - 1]

    async def start(self) -> None:
        """Listen; `async with` does it."""
        context: ssl.SSLContext | None = None
        if self._listen == "refuse":
            # Bound and not listening: the port stays ours, and a connection to it is refused.
            self._held = socket.socket()
            self._held.bind((self._host, self._port))
            self._port = _port(self._held)
            return
        if self._listen == "tls":
            context = self_signed(self._host)
        self._port = await self._serve(self._record, self._port, context)
        elsewhere = await self._serve(stray(self.strays.append), 0, None)
        self._responder.elsewhere = f"http://{self._host}:{elsewhere}/elsewhere"

    async def aclose(self) -> None:
        """Stop listening and end every connection; `async with` does it."""
        for server in self._servers:
            server.close()
        self._servers.clear()
        await asyncio.gather(*(connection.aclose() for connection in list(self._connections)))
        # A loop's turn for the transports to close their sockets.
        await asyncio.sleep(0)
        if self._held is not None:
            self._held.close()
            self._held = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        thread = _LoopThread()
        try:
            thread.run(self.start())
        except BaseException:
            thread.stop()
            raise
        self._thread = thread
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._thread is not None:
            self._thread.run(self.aclose())
            self._thread.stop()
            self._thread = None

    async def _serve(self, respond: "Respond", port: int, context: ssl.SSLContext | None) -> int:
        connection = _connection()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: connection(respond, self._connections), self._host, port, ssl=context, backlog=4096
        )
        self._servers.append(server)
        return _port(server.sockets[0])

    def _record(self, request: RecordedRequest) -> Answer:
        answer = self._responder.answer(request)
        self.requests.append(request)
        if self.on_request is not None:
            self.on_request(request)
        for number, event in self._waiting:
            if number <= len(self.requests):
                event.set()
        return answer

    def _arrival(self, number: int) -> ThreadsafeEvent:
        event = ThreadsafeEvent()
        self._waiting.append((number, event))
        if number <= len(self.requests):
            event.set()
        return event


class _LoopThread:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="limen-mock", daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[object, object, None]) -> None:
        """Run one coroutine there and wait for it."""
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def stop(self) -> None:
        """End the loop and the thread."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


def _connection() -> "type[Connection]":
    """Load the one module that needs h11: scripts, descriptions and `check_stream` do without."""
    try:
        from limen.testing.server._connection import Connection
    except ModuleNotFoundError as missing:
        if missing.name != "h11":
            raise
        raise ModuleNotFoundError("the mock provider needs h11: pip install 'limen[mock]'", name="h11") from None
    return Connection


def _port(bound: socket.socket | asyncio.trsock.TransportSocket) -> int:
    address: tuple[object, ...] = bound.getsockname()
    port = address[1]
    assert isinstance(port, int)
    return port
