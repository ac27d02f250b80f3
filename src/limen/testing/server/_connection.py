"""One connection: h11 reads requests, and answers are written byte by byte as their steps say."""

import asyncio
import itertools
import os
import socket
import struct
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Final, Protocol, assert_never, runtime_checkable

import h11

from limen.testing.scripts import Answer, BrokenFraming, HangUp, RepeatForever, Reset, Send, Stall, Step
from limen.testing.server._recorded import RecordedRequest

_NUMBERS: Final = itertools.count(1)

Respond = Callable[[RecordedRequest], Answer]


@runtime_checkable
class _Transport(Protocol):
    """The methods of a stream transport that are used here."""

    def write(self, data: bytes) -> None: ...
    def close(self) -> None: ...
    def abort(self) -> None: ...
    def is_closing(self) -> bool: ...
    def get_extra_info(self, name: str) -> object: ...
    def set_write_buffer_limits(self, high: int | None = None) -> None: ...


@runtime_checkable
class _Socket(Protocol):
    """The method of a transport's socket that is used here."""

    def setsockopt(self, level: int, option: int, value: bytes) -> None: ...


class _Gone(Exception):
    """The answer ended the connection; nothing more may be written."""


class Connection(asyncio.Protocol):
    """Reads requests one after the other and performs what `respond` returns for each."""

    def __init__(self, respond: Respond, open_connections: set["Connection"]) -> None:
        self._respond = respond
        self._number = next(_NUMBERS)
        self._all = open_connections
        self._transport: _Transport | None = None
        self._parser = h11.Connection(h11.SERVER)
        self._head: h11.Request | None = None
        self._body: list[bytes] = []
        self._record: RecordedRequest | None = None
        self._task: asyncio.Task[None] | None = None
        self._writable = asyncio.Event()
        self._writable.set()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin; every write is handed to the kernel before the next step."""
        # By its methods: uvloop's transport is no asyncio.Transport.
        assert isinstance(transport, _Transport)
        self._transport = transport
        if transport.get_extra_info("ssl_object") is None:
            # With a limit of 0 the standard library's TLS transport pauses and never resumes (3.11).
            transport.set_write_buffer_limits(high=0)
        self._all.add(self)

    def data_received(self, data: bytes) -> None:
        """Take bytes of a request."""
        try:
            self._parser.receive_data(data)
            self._read()
        except h11.RemoteProtocolError:
            # What a client sends that is no HTTP, a TLS greeting for one, gets an answer in plain HTTP.
            self._write(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
            self._close()

    def eof_received(self) -> None:
        """The client ended its side: it is gone, whatever remains to be written."""
        self._mark_closed()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is over; an answer that is under way ends with it."""
        self._all.discard(self)
        self._mark_closed()
        self._writable.set()
        if self._task is not None:
            self._task.cancel()

    def pause_writing(self) -> None:
        """The kernel takes no more for now."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Everything was handed to the kernel."""
        self._writable.set()

    async def aclose(self) -> None:
        """End the connection and the answer that is under way."""
        if self._transport is not None:
            self._transport.abort()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _mark_closed(self) -> None:
        if self._record is not None:
            self._record.closed.set()

    def _read(self) -> None:
        while self._task is None or self._task.done():
            event = self._parser.next_event()
            if isinstance(event, h11.Request):
                self._head, self._body = event, []
            elif isinstance(event, h11.Data):
                self._body.append(bytes(event.data))
            elif isinstance(event, h11.EndOfMessage) and self._head is not None:
                self._start(self._head)
                return
            else:
                return

    def _start(self, head: h11.Request) -> None:
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in head.headers]
        record = RecordedRequest(head.method.decode(), head.target.decode(), headers, b"".join(self._body))
        record.connection = self._number
        self._record = record
        answer = self._respond(record)
        self._task = asyncio.get_running_loop().create_task(self._answer(answer, record))

    async def _answer(self, answer: Answer, record: RecordedRequest) -> None:
        try:
            for step in answer.before_head:
                await self._perform(step, record, chunked=False)
            await self._send(_head(answer))
            for step in answer.steps:
                await self._perform(step, record, chunked=answer.framing == "chunked")
                if answer.delay_ms and isinstance(step, Send):
                    await asyncio.sleep(answer.delay_ms / 1000)
            if answer.framing == "chunked":
                await self._send(b"0\r\n\r\n")
        except _Gone:
            return
        record.finished.set()
        if answer.framing == "close" or record.header("connection") == "close":
            self._close()
            return
        rest, _ = self._parser.trailing_data
        self._parser = h11.Connection(h11.SERVER)
        self._task = None
        if rest:
            self.data_received(rest)

    async def _perform(self, step: Step, record: RecordedRequest, *, chunked: bool) -> None:
        match step:
            case Send(data=data):
                await self._send(_chunk(data) if chunked else data)
            case Stall():
                record.stalled.set()
                await record.released.wait()
            case RepeatForever(data=data, every_ms=pause):
                record.stalled.set()
                while not record.released:
                    await self._send(_chunk(data) if chunked else data)
                    await asyncio.sleep(pause / 1000)
            case Reset():
                self._reset()
                raise _Gone
            case HangUp():
                self._close()
                raise _Gone
            case BrokenFraming():
                await self._send(b"not-a-size\r\n")
                self._close()
                raise _Gone
            case _:
                assert_never(step)

    async def _send(self, data: bytes) -> None:
        if not data:
            return
        self._write(data)
        await self._writable.wait()
        # Two turns of the loop, so that a client on the same loop reads these bytes before the next ones come.
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    def _write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def _close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def _reset(self) -> None:
        if self._transport is None:
            return
        raw: object = self._transport.get_extra_info("socket")
        if isinstance(raw, _Socket):
            # On, 0 seconds: two shorts on Windows, two ints elsewhere.
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("hh" if os.name == "nt" else "ii", 1, 0))
        self._transport.abort()


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def _head(answer: Answer) -> bytes:
    headers = list(answer.headers)
    if answer.framing == "chunked":
        headers.append(("transfer-encoding", "chunked"))
    elif answer.framing == "length":
        headers.append(("content-length", str(len(answer.body()))))
    else:
        headers.append(("connection", "close"))
    return _lines(f"HTTP/1.1 {answer.status} {_reason(answer.status)}", headers)


def _lines(first: str, headers: Sequence[tuple[str, str]]) -> bytes:
    lines = [first, *(f"{name}: {value}" for name, value in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        # 529 is in no standard.
        return "Overloaded"
