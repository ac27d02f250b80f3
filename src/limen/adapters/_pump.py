"""Bytes to chunks over a live connection, once for every wire."""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from limen.contract import AbortSignal, CallFacts, Failure, StreamChunk, WireReader
from limen.transport import HttpAnswer


class WireCall(NamedTuple):
    """What a call needs beside its connection: how to begin it, read it and judge a refusal."""

    begin: Callable[[CallFacts], Awaitable[HttpAnswer]]
    reader: Callable[[str | None], WireReader]
    classify: Callable[[int, Mapping[str, str], bytes], Failure]
    signal: AbortSignal | None = None


class WireStream:
    """The stream of one call."""

    def __init__(self, call: WireCall) -> None:
        self.call_facts = CallFacts()
        self._call = call

    def __aiter__(self) -> "WireStream":
        return self

    async def __anext__(self) -> StreamChunk:
        raise NotImplementedError

    async def next_batch(self) -> list[StreamChunk]:
        """Return the chunks of the next network read that had any; an empty list is the end."""
        raise NotImplementedError

    async def aclose(self) -> None:
        """Close the connection before returning; harmless after the end."""
        raise NotImplementedError
