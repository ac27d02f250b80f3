"""Streams that are read in batches of chunks, and streams of others that are read like them."""

from abc import abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from inspect import iscoroutine
from typing import TypeAlias

from limen.contract import Finish, StreamChunk

BatchReader: TypeAlias = Callable[[], Awaitable[list[StreamChunk]]]
"""Function that returns the next chunks of a stream, at least one; an empty list is the end."""


class Source:
    """Stream of chunks in batches; the last batch ends in `Finish`.

    `done` is set when nothing is left to close. `delegate` is set once the source only passes on what another source
    gives, so that its reader can read that one directly. No ABC, whose `isinstance` is a call of Python code.
    """

    __slots__ = ("__weakref__", "_ready", "delegate", "done")

    def __init__(self) -> None:
        # Made by the first single step; most sources are read in batches only.
        self._ready: deque[StreamChunk] | None = None
        self.done = False
        self.delegate: Source | None = None

    @abstractmethod
    async def next_batch(self) -> list[StreamChunk]:
        """Return the next chunks, at least one; an empty list is the end."""

    def __aiter__(self) -> "Source":
        return self

    async def __anext__(self) -> StreamChunk:
        if self._ready is None:
            self._ready = deque()
        if not self._ready:
            self._ready.extend(await self.next_batch())
            if not self._ready:
                raise StopAsyncIteration
        return self._ready.popleft()


def reader(iterator: AsyncIterator[StreamChunk]) -> BatchReader:
    """Return the function that reads an iterator in batches: its own `next_batch`, or one that reads single chunks."""
    batches: object = getattr(type(iterator), "next_batch", None)
    if callable(batches):
        return iterator.next_batch  # type: ignore[attr-defined, no-any-return] # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    step = iterator.__anext__

    async def next_batch() -> list[StreamChunk]:
        try:
            return [await step()]
        except StopAsyncIteration:
            return []

    return next_batch


def ends(batch: list[StreamChunk]) -> Finish | None:
    """Return the terminal chunk of a batch, `None` without one."""
    last = batch[-1] if batch else None
    return last if type(last) is Finish else None


def own_iterator(made: object, maker: str) -> AsyncIterator[StreamChunk]:
    """Return what an adapter or interceptor made, as the iterator it must be; anything else is a `TypeError`."""
    if hasattr(type(made), "__aiter__"):
        return aiter(made)  # type: ignore[arg-type] # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType] - its chunks are checked one by one
    if iscoroutine(made):
        made.close()
        raise TypeError(f"{maker} is a coroutine; it returns an async iterator, or is one by having a `yield`")
    raise TypeError(f"{maker} returned a {type(made).__name__}, not an async iterator")


async def close_stream(stream: object) -> None:
    """Close a stream that was left early, if it has `aclose()` (R11); raises what that raises."""
    close: Callable[[], Awaitable[object]] | None = getattr(stream, "aclose", None)
    if close is not None:
        await close()
