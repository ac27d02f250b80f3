"""A server that sends exactly the bytes a test wants, and breaks the connection exactly where it wants."""

import asyncio
import socket
import ssl
import struct
import time
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import NamedTuple

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"
TO_THE_END = HEAD + b"\r\n"
LAST = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """One chunk of a chunked body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def sized(body: bytes, *, announced: int | None = None, status: bytes = b"200 OK", more: bytes = b"") -> bytes:
    """A whole answer with a content-length, which may lie."""
    length = len(body) if announced is None else announced
    return b"HTTP/1.1 %b\r\ncontent-length: %d\r\n%b\r\n%b" % (status, length, more, body)


class Received(NamedTuple):
    """A request as it came in."""

    line: str
    headers: dict[str, str]
    body: bytes


class Connection:
    """One connection, seen from the server."""

    def __init__(self, server: "ByteServer", reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._server = server

    async def request(self) -> Received:
        """Read one request whole."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *fields = head.strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
        body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        received = Received(line, headers, body)
        self._server.requests.append(received)
        self._server.asked.set()
        return received

    async def send(self, data: bytes) -> None:
        """Send bytes, as one write."""
        self.writer.write(data)
        await self.writer.drain()

    async def delivered(self) -> None:
        """Wait until the client's machine has taken every byte (Linux); a reset would throw the rest away."""
        import fcntl
        import termios

        raw: socket.socket = self.writer.get_extra_info("socket")
        while True:
            (left,) = struct.unpack("i", fcntl.ioctl(raw.fileno(), termios.TIOCOUTQ, b"    "))
            if not left and not self.writer.transport.get_write_buffer_size():
                return
            await asyncio.sleep(0.005)

    def reset(self) -> None:
        """Break the connection with RST."""
        raw: socket.socket = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def gone(self) -> None:
        """Wait until the client has closed its side; note when."""
        try:
            while await self.reader.read(65536):
                pass
        except ConnectionError:
            # A client that closes with unread bytes resets; that too is closed.
            pass
        self._server.gone_at.append(time.monotonic())
        self._server.client_gone.set()


Script = Callable[[Connection], Awaitable[None]]


class ByteServer:
    """Runs a script for each connection; a script that fails fails the test when the server is left."""

    def __init__(self, script: Script, *, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Received] = []
        self.connections = 0
        self.asked = asyncio.Event()
        self.client_gone = asyncio.Event()
        self.gone_at: list[float] = []
        self._script = script
        self._tls = tls
        self._tasks: list[asyncio.Task[None]] = []
        self._server: asyncio.Server | None = None
        self.port = 0

    @property
    def url(self) -> str:
        """Its address."""
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    async def __aenter__(self) -> "ByteServer":
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._tls, backlog=1000)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        for result in await asyncio.gather(*self._tasks, return_exceptions=True):
            if isinstance(result, Exception) and error is None:
                raise result
        await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._tasks.append(asyncio.ensure_future(self._run(Connection(self, reader, writer))))

    async def _run(self, connection: Connection) -> None:
        try:
            await self._script(connection)
        except (asyncio.IncompleteReadError, ConnectionError):
            # The client left while the script was reading or writing; tests look at `client_gone`.
            pass
        finally:
            connection.writer.close()
