"""The official `openai` client as an adapter of limen, in a hundred lines: chat completions behind the boundary.

Needs `pip install openai limen`. docs/wrap-an-sdk.md goes through it; `make test-clients` judges it by limen's kit.
"""

import json
from collections.abc import AsyncIterator

import openai
from sdk_steps import ToldInBand, step

from limen import __version__
from limen.adapters.kit import (
    Blocks,
    BuildContext,
    Calls,
    Ending,
    Fragment,
    OpenText,
    PromptCounts,
    RequestWriter,
    UsageReports,
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
    ToolCallBlock,
    ToolResultBlock,
    ToolSpec,
    UsageChunk,
    check_request,
    encode,
)

HONOURS = ("system", "tools", "temperature", "top_p", "max_tokens", "stop", "seed", "extra")


class OpenAiSdkAdapter(LlmAdapter):
    """Text, tools and sampling through `AsyncOpenAI`; everything else that a request may hold is refused."""

    def __init__(self, base_url: str, api_key: str, timeout: float = 600.0) -> None:
        own = {"max_retries": 0, "timeout": timeout, "default_headers": {"User-Agent": f"limen/{__version__}"}}
        self._client = openai.AsyncOpenAI(base_url=base_url, api_key=api_key, **own)

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Make one attempt, and give out its chunks; the answer is closed however the stream is left."""
        check_request(options)
        opening = self._client.chat.completions.create(**request(options))
        answer = await step(openai, options.signal, opening, "headers")
        translator = Translator(options)

        async def following() -> list[StreamChunk]:
            part = await anext(answer, None)
            return translator.eof() if part is None else translator.feed(part)

        try:
            while not translator.ended:
                for chunk in await step(openai, options.signal, following(), translator.phase):
                    yield chunk
        except ToldInBand as told:
            yield Finish(FinishReason("error", told.failure))
        finally:
            await answer.close()

    async def aclose(self) -> None:
        """Close the client's connections."""
        await self._client.close()


def request(options: GenerateOptions) -> dict[str, object]:
    writer = RequestWriter(options, BuildContext(), wire="openai-chat", dialect="openai-sdk")
    writer.check_honoured(HONOURS)
    turns = [] if options.system is None else [{"role": "system", "content": options.system}]
    for index, message in enumerate(options.messages):
        turns += written(writer, index, message)
    writer.body |= {"model": options.model, "messages": turns, "stream": True}
    writer.body["stream_options"] = {"include_usage": True}
    writer.put("tools", tuple(writer.tools(lambda tool, _: {"type": "function", "function": function(tool)})))
    for name in ("temperature", "top_p", "max_tokens", "stop", "seed"):
        writer.put(name, getattr(options, name))
    own = set(writer.body)
    writer.merge_extra()
    body = json.loads(writer.encoded())
    return {**{name: body[name] for name in own}, "extra_body": {name: body[name] for name in body.keys() - own}}


def function(tool: ToolSpec) -> dict[str, object]:
    given = {"description": tool.description, "parameters": tool.parameters, "strict": tool.strict}
    return {"name": tool.name, **{name: value for name, value in given.items() if value is not None}}


def written(writer: RequestWriter, index: int, message: Message) -> list[dict[str, object]]:
    text, calls, results = "", [], []
    for position, block in enumerate(message.content):
        if isinstance(block, TextBlock):
            text += block.text
        elif isinstance(block, ToolCallBlock):
            named = {"name": block.name, "arguments": block.arguments or "{}"}
            calls.append({"id": block.id, "type": "function", "function": named})
        elif isinstance(block, ToolResultBlock) and isinstance(block.content, str):
            words = f"Error: {block.content}" if block.is_error else block.content
            results.append({"role": "tool", "tool_call_id": block.tool_call_id, "content": words})
        else:
            refuse_block(writer, f"messages[{index}].content[{position}]", f"no place for {block_words(block)}")
    turn = {"role": message.role, "content": text}
    return results or [turn | ({"tool_calls": calls} if calls else {})]


class Translator:
    """The client's chunks as limen's; the kit keeps the books."""

    def __init__(self, options: GenerateOptions) -> None:
        self.blocks = Blocks(lambda: encode(options.messages))
        self.blocks.careful, self.ended = True, False
        self.calls, self.ending, self.usage = Calls(self.blocks), Ending(), UsageReports()
        self.text, self.reasoning = OpenText("text"), OpenText("reasoning")

    @property
    def phase(self) -> str:
        return "mid-stream" if self.blocks.opened else "first-event"

    def feed(self, part: openai.types.chat.ChatCompletionChunk) -> list[StreamChunk]:
        out: list[StreamChunk] = []
        for choice in part.choices or ():
            if choice.index:
                continue
            self.blocks.add(self.reasoning, getattr(choice.delta, "reasoning_content", None) or "", out)
            self.blocks.add(self.text, choice.delta.content or "", out)
            for call in choice.delta.tool_calls or ():
                name, arguments = call.function.name or "", call.function.arguments or ""
                self.calls.take(Fragment(call.index, call.id or "", name, arguments), out)
            if choice.finish_reason:
                self.ending.add(choice.finish_reason)
        if (usage := part.usage) is not None:
            read, thought = usage.prompt_tokens_details, usage.completion_tokens_details
            counts = PromptCounts(usage.prompt_tokens, usage.completion_tokens, usage.total_tokens)
            counts.cached, counts.reasoning = read and read.cached_tokens, thought and thought.reasoning_tokens
            self.usage.add(counts, finished=self.ending.word is not None)
        return out

    def eof(self) -> list[StreamChunk]:
        if self.ending.word is None:
            raise LlmError("the answer ended before it was complete", "STREAM_CLOSED", phase=self.phase)
        self.ended, out = True, list[StreamChunk]()
        self.calls.open_waiting(out)
        answered = not (self.text.is_blank and self.reasoning.is_blank)
        reason = self.ending.outcome(calls=bool(self.calls.listed), answered=answered, stop_matched=False)
        if (failure := self.ending.failure() or reason.failure) is None:
            self.blocks.end_all(out, cut=self.ending.meaning == "max-tokens")
        if (usage := self.usage.total()) is not None:
            out.append(UsageChunk(usage))
        return [*out, Finish(FinishReason("error", failure) if failure else reason)]
