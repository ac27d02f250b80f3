"""What a stream is read from: batches of chunks, or one chunk after another, of the same order."""

import inspect
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable

from limen.contract import Finish, StreamChunk


class Source(ABC, AsyncIterator[StreamChunk]):
    """A stream of ours: `next_batch()` returns the next chunks, and nothing after the one that ends in `Finish`.

    `done` says that nothing is left to close. Where from now on it only passes on what another source gives, that one
    is `through`.
    """

    __slots__ = ("__weakref__", "_ready", "done", "through")

    def __init__(self) -> None:
        self._ready: deque[StreamChunk] = deque()
        self.done = False
        self.through: Source | None = None

    @abstractmethod
    async def next_batch(self) -> list[StreamChunk]:
        """Return the next chunks; an empty list is the end."""

    def __aiter__(self) -> "Source":
        return self

    async def __anext__(self) -> StreamChunk:
        if not self._ready:
            self._ready.extend(await self.next_batch())
            if not self._ready:
                raise StopAsyncIteration
        return self._ready.popleft()


def reader(iterator: AsyncIterator[StreamChunk]) -> Callable[[], Awaitable[list[StreamChunk]]]:
    """Return the way to read an iterator in batches: its own where it has one, else one chunk at a time."""
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
    """Return the terminal chunk, if this batch holds it."""
    last = batch[-1] if batch else None
    return last if type(last) is Finish else None


def own_iterator(made: object, maker: str) -> AsyncIterator[StreamChunk]:
    """Return what an adapter or interceptor made, as the iterator it must be; anything else is a `TypeError`."""
    if inspect.iscoroutine(made):
        made.close()
        raise TypeError(f"{maker} is a coroutine; it returns an async iterator, or is one by having a `yield`")
    if not isinstance(made, AsyncIterable):
        raise TypeError(f"{maker} returned a {type(made).__name__}, not an async iterator")
    return aiter(made)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - what it yields is judged chunk by chunk


async def close_stream(stream: object) -> None:
    """Close what a stream was read from, where it can be closed (R11); raises what that raises."""
    close: Callable[[], Awaitable[object]] | None = getattr(stream, "aclose", None)
    if close is not None:
        await close()
