"""For each check of the judge, an adapter that breaks exactly what it is about."""

import asyncio
import json
import os
import ssl
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import ClassVar
from urllib.parse import urlsplit

import msgspec

from limen.adapters.deepseek import DeepSeekAdapter, DeepSeekOptions
from limen.contract import (
    STOP,
    AbortSignal,
    AdapterCall,
    BlockEnd,
    Finish,
    FinishReason,
    GenerateOptions,
    LlmAdapter,
    LlmError,
    Message,
    ModelInfo,
    ProviderInfo,
    StreamChunk,
    TextBlock,
    TextDelta,
    Timeouts,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    UsageChunk,
)
from limen.testing.conformance import API_KEY, Endpoint, Factory
from limen.transport import TransportOptions
from testing._bent import (
    Bent,
    as_text,
    bent,
    call_id,
    closes_blocks,
    counting,
    end_block,
    failing,
    finish,
    forgives,
    gives_up,
    good,
    good_anthropic,
    holds_back,
    in_band,
    invents_reasoning,
    only,
    raises_all,
    renamed,
    shift,
)

replace = msgspec.structs.replace


def after_end(chunk: StreamChunk) -> Iterable[StreamChunk]:
    return (chunk, TextDelta(chunk.index, "!")) if isinstance(chunk, BlockEnd) else (chunk,)


def other_end(chunk: StreamChunk) -> Iterable[StreamChunk]:
    if isinstance(chunk, BlockEnd) and isinstance(chunk.block, TextBlock):
        return (BlockEnd(chunk.index, TextBlock(chunk.block.text + "!")),)
    return (chunk,)


def nothing(_: StreamChunk) -> Iterable[StreamChunk]:
    return ()


def twice(chunk: StreamChunk) -> Iterable[StreamChunk]:
    return (chunk, chunk)


def tidied(call: ToolCallBlock) -> ToolCallBlock:
    try:
        return replace(call, arguments=json.dumps(json.loads(call.arguments)))
    except ValueError:
        return replace(call, arguments=call.arguments + '"}')


def nameless(chunk: StreamChunk) -> Iterable[StreamChunk]:
    return (replace(chunk, name=None),) if isinstance(chunk, ToolCallDelta) else (chunk,)


def empty_too(chunk: StreamChunk) -> Iterable[StreamChunk]:
    return (chunk, TextDelta(chunk.index, "")) if isinstance(chunk, TextDelta) else (chunk,)


def usage(change: Callable[[TokenUsage], TokenUsage]) -> Factory:
    return bent(
        each=only(UsageChunk, lambda chunk: (UsageChunk(change(chunk.usage)),) if isinstance(chunk, UsageChunk) else ())
    )


def added(one: int | None, other: int | None) -> int | None:
    return (one or 0) + (other or 0)


def ends_as(kind: str, other: str) -> Factory:
    changed = {"stop": STOP, "max-tokens": FinishReason("max-tokens")}[other]
    return bent(each=finish(lambda reason: changed if reason.kind == kind else reason))


def in_band_failure(**changes: object) -> Factory:
    def change(reason: FinishReason) -> FinishReason:
        return reason if reason.failure is None else replace(reason, failure=replace(reason.failure, **changes))

    return bent(each=finish(change))


def plus_text(chunk: StreamChunk) -> Iterable[StreamChunk]:
    return (TextDelta(0, " And more."), chunk) if isinstance(chunk, BlockEnd) else (chunk,)


def less_text(chunk: StreamChunk) -> Iterable[StreamChunk]:
    if isinstance(chunk, TextDelta) and chunk.text in (" And more.", " provider.", "\U0001f600b", "\ufffdb"):
        return ()
    return (chunk,)


def refuses_whole(chunk: StreamChunk) -> Iterable[StreamChunk]:
    if isinstance(chunk, TextDelta) and chunk.text == "Hello from the mock provider.":
        raise LlmError("this is no stream", "MALFORMED_RESPONSE")
    return (chunk,)


def raise_at_end(chunk: StreamChunk) -> Iterable[StreamChunk]:
    if isinstance(chunk, Finish):
        raise LlmError("reset", "TRANSPORT", phase="mid-stream")
    return (chunk,)


async def late(inner: AsyncIterator[StreamChunk]) -> AsyncIterator[StreamChunk]:
    async for chunk in inner:
        if isinstance(chunk, Finish):
            await asyncio.sleep(3.1)
        yield chunk


async def swallows(inner: AsyncIterator[StreamChunk]) -> AsyncIterator[StreamChunk]:
    try:
        async for chunk in inner:
            yield chunk
    except asyncio.CancelledError:
        yield Finish(FinishReason("aborted"))


class Clinging:
    """A stream that cannot be left."""

    kept: ClassVar[list[AsyncIterator[StreamChunk]]] = []

    def __init__(self, inner: AsyncIterator[StreamChunk]) -> None:
        self.inner = inner
        self.kept.append(inner)

    def __aiter__(self) -> "Clinging":
        return self

    async def __anext__(self) -> StreamChunk:
        return await anext(self.inner)


async def counts_consumer(inner: AsyncIterator[StreamChunk]) -> AsyncIterator[StreamChunk]:
    async for chunk in inner:
        started = time.monotonic()
        yield chunk
        if time.monotonic() - started > 0.8:
            raise LlmError("too slow", "TIMEOUT", phase="mid-stream")


async def hides_loops(inner: AsyncIterator[StreamChunk]) -> AsyncIterator[StreamChunk]:
    Clinging.kept.append(inner)
    try:
        async for chunk in inner:
            yield chunk
    except RuntimeError:
        yield Finish(STOP)


class StaysOpen(Bent):
    """Holds on to what it has."""

    async def aclose(self) -> None:
        return None


class Forgets(Bent):
    """Begins anew for every call."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(good(endpoint))
        self.endpoint = endpoint
        self.made: list[LlmAdapter] = []

    def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        self.made.append(good(self.endpoint))
        return self.made[-1].stream(options)

    async def aclose(self) -> None:
        for adapter in self.made:
            await adapter.aclose()


class OneLoop(Bent):
    """Belongs to the loop that it saw first."""

    loop: asyncio.AbstractEventLoop | None = None

    def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        self.loop = self.loop or asyncio.get_running_loop()
        if self.loop is not asyncio.get_running_loop():
            raise RuntimeError("attached to a different loop")
        return super().stream(options)


def asked(**changes: object) -> Factory:
    return bent(options=lambda options: replace(options, **changes))


def history(change: Callable[[Message], Message], base: Factory = good) -> Factory:
    return bent(options=lambda options: replace(options, messages=tuple(map(change, options.messages))), base=base)


def without_images(message: Message) -> Message:
    return replace(
        message, content=tuple(block for block in message.content if isinstance(block, TextBlock)) or message.content
    )


def tidied_history(message: Message) -> Message:
    return replace(
        message, content=tuple(tidied(one) if isinstance(one, ToolCallBlock) else one for one in message.content)
    )


def without_surrogates(message: Message) -> Message:
    blocks = [
        TextBlock(one.text.replace("\ud800", "?")) if isinstance(one, TextBlock) else one for one in message.content
    ]
    return replace(message, content=tuple(blocks))


def numbered(message: Message) -> Message:
    state = message.replay_state
    return message if state is None else replace(message, replay_state={**state, "v": 1})


class Retries(Bent):
    """Tries a second time."""

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        for attempt in (1, 2):
            try:
                async for chunk in self.inner.stream(options):
                    yield chunk
                return
            except LlmError:
                if attempt == 2:
                    raise


class Nameless(LlmAdapter):
    """Says nothing of who it is."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        parts = urlsplit(self.endpoint.base_url)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        body = b'{"model":"m","stream":true,"messages":[]}'
        head = f"POST {parts.path}/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        await reader.readuntil(b"[DONE]")
        writer.close()
        yield Finish(STOP)


class Remembers(Bent):
    """Keeps the state of every answer and puts it into any history of another route."""

    last: Mapping[str, object] | None = None

    def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        state = type(self).last
        if state is not None and options.provider == "other":
            messages = [
                replace(one, replay_state=state) if one.role == "assistant" else one for one in options.messages
            ]
            options = replace(options, messages=messages)
        return self._kept(self.inner.stream(options))

    async def _kept(self, inner: AsyncIterator[StreamChunk]) -> AsyncIterator[StreamChunk]:
        async for chunk in inner:
            if isinstance(chunk, Finish) and chunk.replay_state is not None:
                type(self).last = chunk.replay_state
            yield chunk


class WrongMetadata(Bent):
    """Answers questions about itself and its models wrongly."""

    def provider_info(self, provider: str) -> ProviderInfo:
        return ProviderInfo("", "")

    async def list_models(self, provider: str) -> list[ModelInfo]:
        return [ModelInfo("another", "m", "m")]

    async def resolve_model(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> ModelInfo:
        return ModelInfo(provider, "another-model", "Another")

    async def prepare_call(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> AdapterCall:
        return AdapterCall(ModelInfo(provider, "another-model", "Another"), self.stream)


def unstated(chunk: StreamChunk) -> Iterable[StreamChunk]:
    if isinstance(chunk, Finish) and chunk.replay_state is not None:
        return (Finish(chunk.reason, {"v": 1, "blocks": ()}),)
    return (chunk,)


def stated(chunk: StreamChunk) -> Iterable[StreamChunk]:
    return (Finish(chunk.reason, {"v": 1, "wire": "w", "blocks": ()}),) if isinstance(chunk, Finish) else (chunk,)


def with_options(**more: object) -> Factory:
    """A factory of a good adapter with options that it should not have, or without what it was given."""

    def factory(endpoint: Endpoint) -> LlmAdapter:
        given: dict[str, object] = {
            "base_url": endpoint.base_url,
            "api_key": endpoint.api_key,
            "timeouts": endpoint.timeouts,
            "limits": endpoint.limits,
        }
        chosen = {name: value for name, value in {**given, **more}.items() if value is not None}
        return DeepSeekAdapter(replace(DeepSeekOptions(), **chosen))

    return factory


def trusting() -> TransportOptions:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return TransportOptions(ssl=context)


def environmental(endpoint: Endpoint) -> LlmAdapter:
    if os.environ.get("HTTP_PROXY"):
        return good(Endpoint(base_url="http://127.0.0.1:9/v1"))
    return good(endpoint)


SEEDS: dict[str, Factory] = {
    "block-shape": bent(each=only(TextDelta, nothing)),
    "text-reply": bent(each=only(UsageChunk, nothing)),
    "hidden-reasoning": bent(each=invents_reasoning),
    "indexes": bent(each=lambda chunk: (shift(chunk),)),
    "nothing-after-end": bent(each=after_end),
    "interleaved": bent(each=end_block(lambda call: replace(call, arguments=call.arguments[::-1]))),
    "assembly": bent(each=other_end),
    "usage-place": bent(each=only(UsageChunk, twice)),
    "one-finish": bent(each=only(Finish, twice)),
    "closed-before-success": bent(each=only(BlockEnd, nothing)),
    "open-after-failure": bent(around=closes_blocks),
    "raw-arguments": bent(each=end_block(tidied)),
    "split-call": bent(each=end_block(lambda call: replace(call, id="another"))),
    "no-arguments": bent(
        each=end_block(lambda call: replace(call, arguments="" if call.arguments == "{}" else call.arguments))
    ),
    "ids-verbatim": bent(each=call_id(lambda text: text.replace(":", "_"))),
    "made-ids": bent(each=call_id(lambda _: "limen_" + uuid.uuid4().hex[:16])),
    "call-identity": bent(each=nameless),
    "repeated-id": bent(each=call_id(lambda _: "call_1")),
    "nameless-call": bent(around=forgives("MALFORMED_RESPONSE")),
    "no-empty-deltas": bent(each=empty_too),
    "empty-fragments": bent(each=empty_too),
    "any-cut": bent(each=counting()),
    "slow-consumer": bent(each=counting()),
    "surrogate-halves": bent(each=less_text),
    "cut-call": bent(each=end_block(tidied)),
    "order-of-ends": bent(each=as_text),
    "trailing-usage": bent(each=only(UsageChunk, nothing)),
    "usage-counts": usage(lambda one: replace(one, input_tokens=added(one.input_tokens, one.cache_read_tokens))),
    "usage-before-failure": bent(each=only(UsageChunk, nothing)),
    "usage-repeated": usage(lambda one: replace(one, output_tokens=added(one.output_tokens, 1))),
    "stop-after-calls": ends_as("tool-calls", "stop"),
    "claimed-calls": bent(around=forgives("MALFORMED_RESPONSE")),
    "finish-rule": ends_as("max-tokens", "stop"),
    "empty-answer": bent(around=forgives("EMPTY_RESPONSE")),
    "refusal": in_band_failure(message="the provider refused"),
    "limit-without-content": ends_as("max-tokens", "stop"),
    "stop-sequence": ends_as("stop", "max-tokens"),
    "unknown-finish": in_band_failure(provider_code=None),
    "unknown-event": bent(around=gives_up),
    "wrong-shape": bent(around=forgives("MALFORMED_RESPONSE")),
    "content-after-finish": bent(each=less_text),
    "after-the-end": bent(each=plus_text),
    "end-without-finish": bent(around=gives_up),
    "nulls": bent(each=plus_text),
    "call-of-a-fragment": bent(each=end_block(lambda call: replace(call, arguments=call.arguments * 2))),
    "late-identity": bent(each=call_id(lambda _: "limen_0123456789abcdef")),
    "first-choice": bent(each=plus_text),
    "no-end-marker": bent(each=less_text),
    "whole-answer": bent(each=only(TextDelta, refuses_whole)),
    "arrived-before-reset": bent(around=holds_back),
    "reset-after-end": bent(each=raise_at_end),
    "end-without-eof": bent(around=late),
    "statuses": bent(error=renamed("AUTH", "SERVER")),
    "status-raised": bent(around=in_band),
    "error-in-stream": bent(around=raises_all),
    "error-then-end": bent(around=forgives("SERVER")),
    "no-stream": bent(error=renamed("MALFORMED_RESPONSE", "STREAM_CLOSED")),
    "truncation": bent(error=renamed("STREAM_CLOSED", "TRANSPORT")),
    "transport": bent(error=failing(phase="connect")),
    "refused": bent(error=failing(phase="headers")),
    "retry-hints": bent(error=failing(provider_retry_after_ms=None)),
    "request-id": bent(error=failing(request_id=None)),
    "no-credentials": bent(error=lambda error: failing(message=f"sent {API_KEY}")(error)),
    "no-redirect": bent(around=forgives("HTTP_307")),
    "tls-verified": with_options(transport=trusting()),
    "no-key-over-http": with_options(allow_plain_http=True, timeouts=Timeouts(connect=0.2)),
    "error-bodies": bent(error=lambda error: failing(message="x" * 20_000)(error)),
    "unusable-key": with_options(api_key="sk-another-key"),
    "blank-key": with_options(api_key="sk-another-key"),
    "key-sent": with_options(api_key="sk-another-key"),
    "no-environment": environmental,
    "sse-forms": bent(around=gives_up),
    "event-limit": with_options(limits=None),
    "abort": asked(signal=None),
    "abort-from-thread": asked(signal=None),
    "aborted-before": asked(signal=None),
    "cancel": bent(around=swallows),
    "leave": bent(around=Clinging),
    "first-event": with_options(timeouts=None),
    "idle": with_options(timeouts=None),
    "total": with_options(timeouts=None),
    "stream-of-another-loop": bent(around=hides_loops),
    "reuse": Forgets,
    "aclose": lambda endpoint: StaysOpen(good(endpoint)),
    "consumer-time": bent(around=counts_consumer),
    "other-loop": lambda endpoint: OneLoop(good(endpoint)),
    "many-at-once": bent(each=counting()),
    "every-field": asked(temperature=None),
    "every-content": history(without_images, good_anthropic),
    "model-verbatim": bent(options=lambda options: replace(options, model=options.model.lower())),
    "no-nulls": asked(temperature=1.0),
    "history-order": bent(options=lambda options: replace(options, messages=options.messages[1:] or options.messages)),
    "arguments-back": history(tidied_history),
    "one-attempt": lambda endpoint: Retries(good(endpoint)),
    "user-agent": Nameless,
    "surrogates": history(without_surrogates),
    "extra": asked(extra=None),
    "efforts": asked(reasoning_effort=None),
    "history-check": bent(around=forgives("INVALID_OPTIONS")),
    "state-frame": bent(each=unstated, base=good_anthropic),
    "no-state-of-failures": bent(each=stated),
    "state-validated": history(numbered, good_anthropic),
    "state-refused": history(lambda message: replace(message, replay_state=None), good_anthropic),
    "state-stays-home": lambda endpoint: Remembers(good_anthropic(endpoint)),
    "registration": lambda endpoint: WrongMetadata(good(endpoint)),
    "under-the-guard": bent(each=only(Finish, twice)),
    "raised-with-partial": bent(around=holds_back),
    "prepared": lambda endpoint: WrongMetadata(good(endpoint)),
    "one-model": lambda endpoint: WrongMetadata(good(endpoint)),
    "model-list": lambda endpoint: WrongMetadata(good(endpoint)),
}
"""By the name of the check."""

ON_ANTHROPIC = {"every-content", "state-frame", "state-validated", "state-refused", "state-stays-home"}
SLOW = {"end-without-eof", "abort", "abort-from-thread", "first-event", "idle", "no-key-over-http", "total"}
"""Checks that find what they look for only by losing patience."""
