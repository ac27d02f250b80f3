"""Small adapters for the runtime's tests: real `LlmAdapter`s that say what they are told and remember what they saw."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import pytest

from limen.contract import (
    STOP,
    TOOL_CALLS,
    AbortSignal,
    BlockEnd,
    BlockStart,
    CallFacts,
    Failure,
    Finish,
    FinishReason,
    GenerateOptions,
    LlmAdapter,
    LlmError,
    Message,
    ModelInfo,
    Phase,
    RetryPolicy,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    UsageChunk,
    user,
)
from limen.runtime import LlmRuntime, ModelStream

USAGE = UsageChunk(TokenUsage(input_tokens=3, output_tokens=2))
OPEN = (BlockStart(0, "text"), TextDelta(0, "Hel"))
ANSWER = (*OPEN, TextDelta(0, "lo"), BlockEnd(0, TextBlock("Hello")), USAGE, Finish(STOP))
CALL = ToolCallBlock("call_1", "add", '{"a":1}')
CALLING = (
    BlockStart(0, "tool-call"),
    ToolCallDelta(0, "call_1", "add", '{"a"'),
    ToolCallDelta(0, "call_1", None, ":1}"),
    BlockEnd(0, CALL),
    USAGE,
    Finish(TOOL_CALLS),
)

Step = StreamChunk | Exception | Callable[[], Awaitable[object]]


def call_failure(
    message: str,
    code: str,
    phase: Phase | None = None,
    status: int | None = None,
    *,
    provider: str = "route",
    provider_retry_after_ms: int | None = None,
) -> Failure:
    """The failure of a call of `asking()`: the runtime names its route and its model."""
    delay = provider_retry_after_ms
    return Failure(message, code, phase, status, None, delay, provider=provider, model="model-1")


def failed(code: str, message: str = "it failed", **facts: object) -> Finish:
    """An in-band failure, with the route and the model of `asking()`, which the runtime sets."""
    named = {"provider": "route", "model": "model-1", **facts}
    return Finish(FinishReason("error", Failure(message, code, **named)))  # type: ignore[arg-type]  # facts by name


def asking(
    provider: str = "route", messages: Sequence[Message] = (user("Hi"),), *, signal: AbortSignal | None = None
) -> GenerateOptions:
    """Options for the route of the test."""
    return GenerateOptions(provider, "model-1", messages, signal=signal)


class Scripted(LlmAdapter):
    """Plays one script per call, the last one again and again: chunks are yielded, exceptions raised, the rest awaited.

    `seen` are the options of each call; `closed` counts streams that ended in any way, `left` those that were left.
    """

    def __init__(
        self, *scripts: Sequence[Step], model: ModelInfo | None = None, policy: RetryPolicy | None = None
    ) -> None:
        self.scripts = list(scripts) or [ANSWER]
        self.model = model
        self.policy = policy
        self.seen: list[GenerateOptions] = []
        self.closed = 0
        self.left = 0

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Play the next script."""
        self.seen.append(options)
        script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
        ended = False
        try:
            for step in script:
                if isinstance(step, Exception):
                    ended = True
                    raise step
                if callable(step):
                    await step()
                else:
                    yield step
            ended = True
        finally:
            self.closed += 1
            self.left += not ended

    def retry_policy(self, provider: str) -> RetryPolicy | None:
        """The policy that was given."""
        return self.policy

    async def resolve_model(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> ModelInfo:
        """The model that was given, else identity only."""
        return self.model or ModelInfo(provider, model, model)


class BatchStream:
    """An iterator that hands over batches, counts how it is read and closed, and tells facts."""

    def __init__(self, batches: Sequence[Sequence[Step]]) -> None:
        self.call_facts = CallFacts()
        self.batches = [list(batch) for batch in batches]
        self.closed = 0

    def __aiter__(self) -> "BatchStream":
        return self

    async def __anext__(self) -> StreamChunk:
        raise AssertionError("a stream that has batches is read in batches")

    async def next_batch(self) -> list[StreamChunk]:
        """The next batch, whole."""
        chunks: list[StreamChunk] = []
        for step in self.batches.pop(0) if self.batches else ():
            if isinstance(step, Exception):
                raise step
            if callable(step):
                await step()
            else:
                chunks.append(step)
        return chunks

    async def aclose(self) -> None:
        """Count it."""
        self.closed += 1


class Batched(LlmAdapter):
    """Gives one `BatchStream` per call; `streams` keeps them."""

    def __init__(self, *batches: Sequence[Step]) -> None:
        self.batches = batches
        self.streams: list[BatchStream] = []

    def stream(self, options: GenerateOptions) -> BatchStream:
        """A new stream over the same batches."""
        made = BatchStream(self.batches)
        self.streams.append(made)
        return made


class Gate:
    """Where an adapter waits until the test lets it on; `reached` tells the test that it waits."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.opened = asyncio.Event()

    async def __call__(self) -> None:
        """Wait here."""
        self.reached.set()
        await self.opened.wait()


def serving(*adapters: LlmAdapter) -> LlmRuntime:
    """A runtime whose routes are `route`, `route-2`, `route-3` … of these adapters."""
    runtime = LlmRuntime()
    for number, adapter in enumerate(adapters, start=1):
        runtime.register(["route" if number == 1 else f"route-{number}"], adapter)
    return runtime


async def chunks_of(stream: ModelStream) -> list[StreamChunk]:
    """Every chunk that the consumer sees."""
    return [chunk async for chunk in stream]


async def outcome_of(stream: ModelStream) -> Failure:
    """The failure in which a stream ends, seen both ways: by iteration, and raised by `response()`."""
    *_, last = await chunks_of(stream)
    assert isinstance(last, Finish)
    failure = last.reason.failure
    assert failure is not None
    with pytest.raises(LlmError) as caught:
        await stream.response()
    assert caught.value.failure == failure
    return failure
