"""Adapters with one fault each, made by bending a good one: what the judge must catch."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence

import msgspec

from limen.adapters.anthropic import AnthropicAdapter, AnthropicOptions
from limen.adapters.deepseek import DeepSeekAdapter, DeepSeekOptions
from limen.contract import (
    AbortSignal,
    AdapterCall,
    BlockEnd,
    BlockStart,
    Finish,
    FinishReason,
    GenerateOptions,
    LlmAdapter,
    LlmError,
    ModelInfo,
    ProviderInfo,
    ReasoningBlock,
    ReasoningDelta,
    StreamChunk,
    TextBlock,
    TextDelta,
    ToolCallBlock,
    ToolCallDelta,
)
from limen.testing.conformance import Endpoint, Factory

Each = Callable[[StreamChunk], Iterable[StreamChunk]]
Around = Callable[[AsyncIterator[StreamChunk]], AsyncIterator[StreamChunk]]


def good(endpoint: Endpoint) -> LlmAdapter:
    return DeepSeekAdapter(
        DeepSeekOptions(
            base_url=endpoint.base_url, api_key=endpoint.api_key, timeouts=endpoint.timeouts, limits=endpoint.limits
        )
    )


def good_anthropic(endpoint: Endpoint) -> LlmAdapter:
    return AnthropicAdapter(
        AnthropicOptions(
            base_url=endpoint.base_url, api_key=endpoint.api_key, timeouts=endpoint.timeouts, limits=endpoint.limits
        )
    )


class Bent(LlmAdapter):
    """A good adapter behind hooks."""

    def __init__(
        self,
        inner: LlmAdapter,
        *,
        each: Each | None = None,
        options: Callable[[GenerateOptions], GenerateOptions] | None = None,
        error: Callable[[LlmError], BaseException] | None = None,
        around: Around | None = None,
    ) -> None:
        self.inner = inner
        self.each = each
        self.options = options
        self.error = error
        self.around = around

    def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        inner = self.inner.stream(self.options(options) if self.options else options)
        bent = self._bent(inner) if self.each or self.error else inner
        return self.around(bent) if self.around else bent

    async def _bent(self, inner: AsyncIterator[StreamChunk]) -> AsyncIterator[StreamChunk]:
        try:
            async for chunk in inner:
                for one in self.each(chunk) if self.each else (chunk,):
                    yield one
        except LlmError as raised:
            raise (self.error(raised) if self.error else raised) from None
        finally:
            closing = getattr(inner, "aclose", None)
            if closing:
                await closing()

    def provider_info(self, provider: str) -> ProviderInfo:
        return self.inner.provider_info(provider)

    async def list_models(self, provider: str) -> Sequence[ModelInfo]:
        return await self.inner.list_models(provider)

    async def resolve_model(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> ModelInfo:
        return await self.inner.resolve_model(provider, model, signal=signal)

    async def prepare_call(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> AdapterCall:
        return AdapterCall(await self.resolve_model(provider, model, signal=signal), self.stream)

    async def aclose(self) -> None:
        await self.inner.aclose()


def bent(
    *,
    each: Each | None = None,
    options: Callable[[GenerateOptions], GenerateOptions] | None = None,
    error: Callable[[LlmError], BaseException] | None = None,
    around: Around | None = None,
    base: Factory = good,
) -> Factory:
    """A factory of bent adapters."""
    return lambda endpoint: Bent(base(endpoint), each=each, options=options, error=error, around=around)


def only(kind: type[StreamChunk], change: Callable[[StreamChunk], Iterable[StreamChunk]]) -> Each:
    """Change the chunks of one kind."""
    return lambda chunk: change(chunk) if isinstance(chunk, kind) else (chunk,)


def shift(chunk: StreamChunk, by: int = 1) -> StreamChunk:
    return msgspec.structs.replace(chunk, index=chunk.index + by) if hasattr(chunk, "index") else chunk


def end_block(change: Callable[[ToolCallBlock], ToolCallBlock]) -> Each:
    """Change the tool calls that are closed."""

    def each(chunk: StreamChunk) -> Iterable[StreamChunk]:
        if isinstance(chunk, BlockEnd) and isinstance(chunk.block, ToolCallBlock):
            return (BlockEnd(chunk.index, change(chunk.block)),)
        return (chunk,)

    return each


def call_id(change: Callable[[str], str]) -> Each:
    """Change every id of a tool call, delta and end alike."""

    def each(chunk: StreamChunk) -> Iterable[StreamChunk]:
        if isinstance(chunk, ToolCallDelta):
            return (msgspec.structs.replace(chunk, id=change(chunk.id)),)
        if isinstance(chunk, BlockEnd) and isinstance(chunk.block, ToolCallBlock):
            return (BlockEnd(chunk.index, msgspec.structs.replace(chunk.block, id=change(chunk.block.id))),)
        return (chunk,)

    return each


def finish(change: Callable[[FinishReason], FinishReason]) -> Each:
    """Change how the stream ends."""
    return only(
        Finish, lambda chunk: (Finish(change(chunk.reason), chunk.replay_state),) if isinstance(chunk, Finish) else ()
    )


def failing(**changes: object) -> Callable[[LlmError], LlmError]:
    """Change facts of what is raised."""
    return lambda error: LlmError.of(msgspec.structs.replace(error.failure, **changes))


def renamed(code: str, other: str) -> Callable[[LlmError], LlmError]:
    return lambda error: failing(code=other)(error) if error.code == code else error


def forgives(*codes: str) -> Around:
    """End with a plain stop where there was such a failure, raised or in-band."""

    async def around(inner: AsyncIterator[StreamChunk]) -> AsyncIterator[StreamChunk]:
        try:
            async for chunk in inner:
                failure = chunk.reason.failure if isinstance(chunk, Finish) else None
                yield Finish(FinishReason("stop")) if failure is not None and failure.code in codes else chunk
        except LlmError as raised:
            if raised.code not in codes:
                raise
            yield Finish(FinishReason("stop"))

    return around


async def in_band(inner: AsyncIterator[StreamChunk]) -> AsyncIterator[StreamChunk]:
    """Finish in-band where the good one raises."""
    try:
        async for chunk in inner:
            yield chunk
    except LlmError as raised:
        yield Finish(FinishReason("error", raised.failure))


async def raises_all(inner: AsyncIterator[StreamChunk]) -> AsyncIterator[StreamChunk]:
    """Raise where the good one finishes in-band."""
    async for chunk in inner:
        if isinstance(chunk, Finish) and chunk.reason.failure is not None:
            raise LlmError.of(chunk.reason.failure)
        yield chunk


async def closes_blocks(inner: AsyncIterator[StreamChunk]) -> AsyncIterator[StreamChunk]:
    """End the open block when the call fails."""
    texts: list[str] = []
    try:
        async for chunk in inner:
            if isinstance(chunk, TextDelta):
                texts.append(chunk.text)
            if isinstance(chunk, Finish) and chunk.reason.failure is not None and texts:
                yield BlockEnd(0, TextBlock("".join(texts)))
            yield chunk
    except LlmError:
        if texts:
            yield BlockEnd(0, TextBlock("".join(texts)))
        raise


async def holds_back(inner: AsyncIterator[StreamChunk]) -> AsyncIterator[StreamChunk]:
    """Hand over everything at the end; what failed hands over nothing."""
    for chunk in [chunk async for chunk in inner]:
        yield chunk


async def gives_up(inner: AsyncIterator[StreamChunk]) -> AsyncIterator[StreamChunk]:
    """Call a good stream malformed after its second text."""
    texts = 0
    async for chunk in inner:
        texts += isinstance(chunk, TextDelta)
        if texts == 3:
            raise LlmError("I give up", "MALFORMED_RESPONSE", phase="mid-stream")
        yield chunk


def counting() -> Each:
    """Make every stream of the adapter different."""
    count = 0

    def each(chunk: StreamChunk) -> Iterable[StreamChunk]:
        nonlocal count
        count += isinstance(chunk, BlockStart)
        if isinstance(chunk, (TextDelta, ReasoningDelta)):
            return (msgspec.structs.replace(chunk, text=f"{chunk.text}{count}"),)
        if isinstance(chunk, ToolCallDelta):
            return (msgspec.structs.replace(chunk, arguments_delta=f"{chunk.arguments_delta}{count}"),)
        return (chunk,)

    return each


def as_text(chunk: StreamChunk) -> Iterable[StreamChunk]:
    """Pass reasoning off as text."""
    if isinstance(chunk, BlockStart) and chunk.block_type == "reasoning":
        return (BlockStart(chunk.index, "text"),)
    if isinstance(chunk, ReasoningDelta):
        return (TextDelta(chunk.index, chunk.text),)
    if isinstance(chunk, BlockEnd) and isinstance(chunk.block, ReasoningBlock):
        return (BlockEnd(chunk.index, TextBlock(chunk.block.text)),)
    return (chunk,)


def invents_reasoning(chunk: StreamChunk) -> Iterable[StreamChunk]:
    """Open every answer with a thought that nobody had."""
    if isinstance(chunk, BlockStart) and chunk.index == 0:
        thought = (BlockStart(0, "reasoning"), ReasoningDelta(0, "…"), BlockEnd(0, ReasoningBlock("…")))
        return (*thought, shift(chunk))
    return (shift(chunk),)
