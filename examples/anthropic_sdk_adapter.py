"""The official `anthropic` client as an adapter of limen, in a hundred lines: the Messages wire behind the boundary.

Needs `pip install anthropic limen`. docs/wrap-an-sdk.md goes through it; `make test-clients` judges it by limen's kit.
"""

import json
from collections.abc import AsyncIterator

import anthropic
from sdk_steps import ToldInBand, step

from limen import __version__
from limen.adapters.kit import (
    Blocks,
    BuildContext,
    Calls,
    Ending,
    Fragment,
    OpenText,
    RequestWriter,
    arguments_object,
    block_words,
    refuse_block,
)
from limen.contract import (
    Finish,
    FinishReason,
    GenerateOptions,
    LlmAdapter,
    LlmError,
    Message,
    StreamChunk,
    TextBlock,
    TokenUsage,
    ToolCallBlock,
    ToolResultBlock,
    ToolSpec,
    UsageChunk,
    check_request,
    encode,
)

HONOURS = ("system", "tools", "temperature", "top_p", "max_tokens", "stop", "extra")

COUNTS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class AnthropicSdkAdapter(LlmAdapter):
    """Text, tools and sampling through `AsyncAnthropic`; everything else that a request may hold is refused."""

    def __init__(self, base_url: str, api_key: str, timeout: float = 600.0) -> None:
        own = {"max_retries": 0, "timeout": timeout, "default_headers": {"User-Agent": f"limen/{__version__}"}}
        self._client = anthropic.AsyncAnthropic(base_url=base_url, api_key=api_key, **own)

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Make one attempt, and give out its chunks; the answer is closed however the stream is left."""
        check_request(options)
        opening = self._client.messages.create(**request(options))
        answer = await step(anthropic, options.signal, opening, "headers")
        translator = Translator(options)

        async def following() -> list[StreamChunk]:
            event = None if translator.done else await anext(answer, None)
            return translator.eof() if event is None else translator.feed(event)

        try:
            while not translator.ended:
                for chunk in await step(anthropic, options.signal, following(), translator.phase):
                    yield chunk
        except ToldInBand as told:
            yield Finish(FinishReason("error", told.failure))
        finally:
            await answer.close()

    async def aclose(self) -> None:
        """Close the client's connections."""
        await self._client.close()


def request(options: GenerateOptions) -> dict[str, object]:
    writer = RequestWriter(options, BuildContext(default_max_tokens=4096), wire="anthropic-messages", dialect="sdk")
    writer.check_honoured(HONOURS)
    turns = [written(writer, index, message) for index, message in enumerate(options.messages)]
    writer.body |= {"model": options.model, "messages": turns, "max_tokens": writer.max_tokens(), "stream": True}
    writer.put("tools", tuple(writer.tools(tool)))
    for name in ("system", "temperature", "top_p"):
        writer.put(name, getattr(options, name))
    writer.put("stop", options.stop, field="stop_sequences")
    writer.merge_extra()
    body = json.loads(writer.encoded())
    # The client of 2.x takes no temperature; what it has no argument for goes beside its arguments.
    own = ("model", "messages", "max_tokens", "stream")
    return {**{name: body.pop(name) for name in own}, "extra_body": body}


def tool(given: ToolSpec, path: str) -> dict[str, object]:
    optional = {"description": given.description, "strict": given.strict}
    fields = {name: value for name, value in optional.items() if value is not None}
    return {"name": given.name, "input_schema": given.parameters or {"type": "object"}, **fields}


def written(writer: RequestWriter, index: int, message: Message) -> dict[str, object]:
    parts: list[dict[str, object]] = []
    for position, block in enumerate(message.content):
        path = f"messages[{index}].content[{position}]"
        if isinstance(block, TextBlock) and message.role != "system":
            parts.append({"type": "text", "text": block.text})
        elif isinstance(block, ToolCallBlock):
            given = json.loads(bytes(arguments_object(writer, block, path)))
            parts.append({"type": "tool_use", "id": block.id, "name": block.name, "input": given})
        elif isinstance(block, ToolResultBlock) and isinstance(block.content, str):
            result = {"type": "tool_result", "tool_use_id": block.tool_call_id, "content": block.content}
            parts.append(result | ({"is_error": True} if block.is_error else {}))
        else:
            refuse_block(writer, path, f"no place for {block_words(block)} here")
    return {"role": "assistant" if message.role == "assistant" else "user", "content": parts}


class Translator:
    """The client's events as limen's chunks; the wire has blocks of its own, and the kit keeps the books."""

    def __init__(self, options: GenerateOptions) -> None:
        self.blocks, self.ending = Blocks(lambda: encode(options.messages)), Ending()
        self.blocks.careful, self.ended = True, False
        self.calls = Calls(self.blocks)
        self.texts: dict[int, OpenText] = {}
        self.counts: dict[str, int] = {}
        self.done = False

    @property
    def phase(self) -> str:
        return "mid-stream" if self.blocks.opened else "first-event"

    def feed(self, event: anthropic.types.RawMessageStreamEvent) -> list[StreamChunk]:
        out: list[StreamChunk] = []
        if event.type == "message_start":
            self.count(event.message.usage)
        elif event.type == "content_block_start" and event.content_block.type == "tool_use":
            self.calls.take(Fragment(event.index, event.content_block.id, event.content_block.name, ""), out)
        elif event.type == "content_block_start":
            self.texts[event.index] = OpenText("reasoning" if event.content_block.type == "thinking" else "text")
        elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
            self.calls.take(Fragment(event.index, "", "", event.delta.partial_json), out)
        elif event.type == "content_block_delta":
            words = getattr(event.delta, "text", "") or getattr(event.delta, "thinking", "")
            self.blocks.add(self.texts[event.index], words, out)
        elif event.type == "content_block_stop" and (block := self.texts.get(event.index)) and block.index >= 0:
            self.blocks.end(block, out)
        elif event.type == "message_delta":
            self.count(event.usage)
            if event.delta.stop_reason:
                self.ending.add(event.delta.stop_reason)
        self.done = event.type == "message_stop"
        return out

    def count(self, usage: object) -> None:
        self.counts |= {name: count for name in COUNTS if (count := getattr(usage, name, None)) is not None}

    def eof(self) -> list[StreamChunk]:
        if not self.done or self.ending.word is None:
            raise LlmError("the answer ended before it was complete", "STREAM_CLOSED", phase=self.phase)
        self.ended, out = True, list[StreamChunk]()
        self.calls.open_waiting(out)
        answered = not all(block.is_blank for block in self.texts.values())
        reason = self.ending.outcome(calls=bool(self.calls.listed), answered=answered, stop_matched=False)
        if (failure := self.ending.failure() or reason.failure) is None:
            self.blocks.end_all(out, cut=self.ending.meaning == "max-tokens")
        out.append(UsageChunk(TokenUsage(*(self.counts.get(name) for name in COUNTS))))
        return [*out, Finish(FinishReason("error", failure) if failure else reason)]
