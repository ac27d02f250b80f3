"""What a caller's checker sees: each line is a claim that mypy and pyright both hold (run by `make types`)."""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import assert_never, assert_type

import limen
from limen.contract import Code


async def call(llm: limen.LlmRuntime, options: limen.GenerateOptions) -> None:
    """Streams, responses and their parts are typed to the leaf."""
    async with llm.stream(options) as stream:
        async for chunk in stream:
            assert_type(chunk, limen.StreamChunk)
            print(describe(chunk))
        response = await stream.response()
    assert_type(response, limen.Response)
    assert_type(response.message, limen.Message | None)
    assert_type(response.tool_calls, Sequence[limen.ToolCallBlock])
    assert_type(response.usage, limen.TokenUsage | None)
    assert_type(response.info, limen.CallInfo | None)
    assert_type(stream.info, limen.CallInfo)
    assert_type(await llm.complete(options), limen.Response)
    assert_type(llm.stream(options).text(), AsyncIterator[str])
    assert_type(await llm.complete("route/model", "hi", max_tokens=5, cache="short"), limen.Response)
    async with llm.stream("route/model", [limen.user("hi")], tools=[limen.ToolSpec("now")]) as short:
        assert_type(await short.started(), None)


def describe(chunk: limen.StreamChunk) -> str:
    """The union of chunks is closed: a match over its members ends in `assert_never`."""
    match chunk:
        case limen.BlockStart(index=index, block_type=block_type):
            return f"{index} {block_type}"
        case limen.TextDelta(text=text) | limen.ReasoningDelta(text=text):
            return text
        case limen.ToolCallDelta(name=name, arguments_delta=fragment):
            return f"{name or ''}{fragment}"
        case limen.BlockEnd(block=block):
            return type(block).__name__
        case limen.UsageChunk(usage=usage):
            return str(usage.output_tokens)
        case limen.Finish(reason=reason):
            return reason.kind
        case _:
            assert_never(chunk)


def values() -> None:
    """Values take lists and plain dicts, and read back as what they are."""
    message = limen.user("hi")
    assert_type(message, limen.Message)
    tool = limen.ToolSpec("add", "Add.", {"type": "object"})
    options = limen.GenerateOptions(provider="p", model="m", messages=[message], tools=[tool], stop=["x"])
    assert_type(limen.encode(options), bytes)
    assert_type(limen.decode_options(b""), limen.GenerateOptions)
    assert_type(limen.decode_chunk(b""), limen.StreamChunk)
    assert_type(limen.decode(limen.TokenUsage, b""), limen.TokenUsage)
    assert_type(limen.iter_chunks("openai-chat", b""), Iterator[limen.StreamChunk])
    assert_type(limen.classify_error("openai-chat", 500, {}, b""), limen.Failure)
    assert_type(limen.wires(), Mapping[str, tuple[str, ...]])


def failures(error: limen.LlmError) -> None:
    """A failure's facts are typed, and what had arrived is a response."""
    assert_type(error.code, Code)
    assert_type(error.failure, limen.Failure)
    assert_type(error.partial, limen.Response | None)


class Echo(limen.LlmAdapter):
    """An adapter needs one method; an `async def` with `yield` fits the base's signature."""

    async def stream(self, options: limen.GenerateOptions) -> AsyncIterator[limen.StreamChunk]:
        """Answer nothing."""
        yield limen.Finish(limen.FinishReason("stop"))
