"""Test bench of the checks: a mock provider, the adapter under test, and calls between them."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import ClassVar, Final

import msgspec

from limen.contract import (
    AbortSignal,
    GenerateOptions,
    Limits,
    LlmAdapter,
    Message,
    StreamChunk,
    Timeouts,
    ToolSpec,
    user,
)
from limen.testing.conformance._endpoint import API_KEY, Endpoint, Factory
from limen.testing.conformance._outcome import STEP_TIMEOUT_S, Broken, Outcome, collect
from limen.testing.server import MockProvider, RecordedRequest, Script
from limen.testing.wires import WireDescription

ROUTE: Final = "conformance"
MODEL: Final = "conformance-model"
QUESTION: Final = "What is 20 + 22?"
ADD: Final = ToolSpec(
    "add",
    "Adds two numbers",
    {"type": "object", "properties": {"left": {"type": "number"}, "right": {"type": "number"}}},
)
NOW: Final = ToolSpec("now", "Tells the time")
LIMITS: Final = Limits(event_bytes=200_000, error_bytes=10_000)


class Bench:
    """Makes calls and keeps their outcomes; `outcome` makes one call for each specification and caches it."""

    def __init__(self, factory: Factory, wire: WireDescription, mock: MockProvider) -> None:
        self.factory = factory
        self.wire = wire
        self.mock = mock
        self._adapter: LlmAdapter | None = None
        self._made: list[LlmAdapter] = []
        self._outcomes: dict[str, Outcome] = {}

    quick: ClassVar[Timeouts] = Timeouts(connect=1, first_event=0.4, idle_bytes=0.4, idle_event=0.4)
    wide: ClassVar[Limits] = Limits()

    @property
    def adapter(self) -> LlmAdapter:
        """The adapter that most calls go through."""
        if self._adapter is None:
            self._adapter = self.make()
        return self._adapter

    def make(
        self,
        *,
        base_url: str | None = None,
        timeouts: Timeouts | None = None,
        limits: Limits = LIMITS,
        api_key: str = API_KEY,
    ) -> LlmAdapter:
        """Make a further adapter, for an address, a key or limits of its own."""
        endpoint = Endpoint(
            base_url=base_url or self.mock.base_url(self.wire.name),
            api_key=api_key,
            timeouts=timeouts or Timeouts(),
            limits=limits,
        )
        adapter = self.factory(endpoint)
        self._made.append(adapter)
        return adapter

    def options(
        self, *messages: Message, signal: AbortSignal | None = None, tools: Sequence[ToolSpec] = (ADD, NOW)
    ) -> GenerateOptions:
        """Make a plain request, with tools where the provider takes any; `but` puts more into it."""
        history = messages or (user(QUESTION),)
        tools = tools if self.wire.tools else ()
        return GenerateOptions(ROUTE, MODEL, history, tools=tools or None, signal=signal)

    async def outcome(self, specification: str) -> Outcome:
        """Return the outcome of a plain request for a built-in scenario, such as `text+cut`."""
        if specification not in self._outcomes:
            self._outcomes[specification] = await self.call(specification)
        return self._outcomes[specification]

    async def call(
        self,
        script: Script | str,
        options: GenerateOptions | None = None,
        *,
        adapter: LlmAdapter | None = None,
        what: str | None = None,
        pause: int = 0,
    ) -> Outcome:
        """Make one call and read it to its end."""
        name = what or (script if isinstance(script, str) else "a script")
        self.mock.use(script)
        before = len(self.mock.requests)
        tested = adapter or self.adapter
        try:
            stream = tested.stream(options or self.options())
            outcome = await collect(name, stream, pause=pause)
        except (Broken, asyncio.CancelledError):
            raise
        except Exception as raised:  # noqa: BLE001 - stream() itself may refuse; that is a way to raise, too
            outcome = Outcome(name, (), raised, ())
        return outcome._replace(requests=tuple(self.mock.requests[before:]))

    async def closed(self, request: RecordedRequest, within: float, why: str, outcome: Outcome) -> None:
        """Expect the client's end of a connection to be gone within some seconds."""
        try:
            await request.closed.wait(within)
        except TimeoutError:
            raise Broken(
                f"{outcome.what}: {why}, and the connection was still open after {within:g} s", outcome
            ) from None

    async def aclose(self) -> None:
        """Close every adapter that was made; a check of its own looks at the result."""
        for adapter in self._made:
            with contextlib.suppress(Exception):
                async with asyncio.timeout(STEP_TIMEOUT_S):
                    await adapter.aclose()


@contextlib.asynccontextmanager
async def bench_for(factory: Factory, wire: WireDescription) -> AsyncGenerator[Bench]:
    """Set up a provider and take everything down again."""
    async with MockProvider(wires=(wire,)) as mock:
        bench = Bench(factory, wire, mock)
        try:
            yield bench
        finally:
            await bench.aclose()


def but(options: GenerateOptions, **changes: object) -> GenerateOptions:
    """Return the request with other fields."""
    return msgspec.structs.replace(options, **changes)


async def first_chunks(stream: AsyncIterator[StreamChunk], count: int) -> list[StreamChunk]:
    """Read so many chunks and no further."""
    chunks: list[StreamChunk] = []
    async with asyncio.timeout(STEP_TIMEOUT_S):
        while len(chunks) < count:
            chunks.append(await anext(stream))
    return chunks
