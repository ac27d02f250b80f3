"""To look at how a try fails before anybody is shown anything of it (R9)."""

from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NamedTuple

from limen.contract import Failure, GenerateOptions, Next, StreamChunk, TokenUsage, UsageChunk
from limen.runtime._chain import Hop
from limen.runtime._source import Source, close_stream, ends, reader


class Held(NamedTuple):
    """The first that is known of a try: chunks to show, or a failure, withheld with its finish in `chunks`."""

    chunks: list[StreamChunk]
    failure: Failure | None = None
    usage: TokenUsage | None = None


class HeldStream(Source):
    """A stream that may begin again: `choose()` asks the rest of the chain until a try is to be shown.

    Nothing but a usage report and a failed finish can be taken back, since neither is content; where the call is
    collected, nothing is shown before the end, and everything can.
    """

    __slots__ = ("_collecting", "_following", "_read", "_shown", "_trying")

    def __init__(self, following: Next) -> None:
        super().__init__()
        self._following = following
        self._collecting = _collects(following)
        self._trying: AsyncIterator[StreamChunk] | None = None
        self._read: Callable[[], Awaitable[list[StreamChunk]]] | None = None
        self._shown = False

    @abstractmethod
    async def choose(self) -> list[StreamChunk]:
        """Return the first chunks to show, having read from the try that goes on."""

    async def next_batch(self) -> list[StreamChunk]:
        """Return the next chunks of the try that is shown."""
        if self._shown and self._read is not None:
            return await self._read()
        if self.done:
            return []
        chunks = await self.choose()
        self._shown = True
        self.through = self._trying if isinstance(self._trying, Source) else None
        return chunks

    async def ask(self, options: GenerateOptions) -> Held:
        """Begin a try, and read until it is known whether it failed before it showed anything."""
        self._trying = self._following(options)
        self._read = read = reader(self._trying)
        chunks: list[StreamChunk] = []
        while True:
            batch = await read()
            chunks += batch
            if ends(batch) is not None:
                return self._judged(chunks)
            if not batch or not (self._collecting or all(type(chunk) is UsageChunk for chunk in chunks)):
                return Held(chunks)

    def _judged(self, chunks: list[StreamChunk]) -> Held:
        last = ends(chunks)
        content = any(type(chunk) is not UsageChunk for chunk in chunks[:-1])
        if last is None or last.reason.kind != "error" or (content and not self._collecting):
            return Held(chunks)
        usage = next((chunk.usage for chunk in chunks if isinstance(chunk, UsageChunk)), None)
        return Held(chunks, last.reason.failure, usage)

    async def aclose(self) -> None:
        """Close the try that is being read; after it nothing more comes."""
        self.done = True
        await self.give_up()

    async def give_up(self) -> None:
        """Close the try that is being read; another may follow."""
        trying, self._trying, self._read = self._trying, None, None
        await close_stream(trying)


def _collects(following: object) -> bool:
    return isinstance(following, Hop) and following.collecting
