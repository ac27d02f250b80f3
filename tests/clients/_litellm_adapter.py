"""`litellm` behind limen's boundary, as well as its interface allows: an adapter in good faith, for the judge."""

import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence

# Else the library fetches its table of models when it is imported.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import litellm

from limen.contract import (
    BlockEnd,
    BlockStart,
    Finish,
    FinishReason,
    GenerateOptions,
    ImageBlock,
    JsonSchema,
    LlmAdapter,
    LlmError,
    Message,
    ReasoningBlock,
    ReasoningDelta,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    ToolChoice,
    ToolResultBlock,
    UsageChunk,
    check_history,
    http_code,
)
from limen.testing.conformance import Endpoint

litellm.suppress_debug_info = True
litellm.telemetry = False

CODES = {
    litellm.AuthenticationError: "AUTH",
    litellm.PermissionDeniedError: "AUTH",
    litellm.RateLimitError: "RATE_LIMIT",
    litellm.ContextWindowExceededError: "CONTEXT_WINDOW_EXCEEDED",
    litellm.ContentPolicyViolationError: "CONTENT_FILTER",
    litellm.Timeout: "TIMEOUT",
    litellm.ServiceUnavailableError: "OVERLOADED",
    litellm.UnsupportedParamsError: "UNSUPPORTED",
    litellm.BadRequestError: "INVALID_REQUEST",
    litellm.InternalServerError: "SERVER",
    litellm.APIConnectionError: "TRANSPORT",
}
FINISHES = {"stop": "stop", "tool_calls": "tool-calls", "length": "max-tokens"}


class LitellmAdapter(LlmAdapter):
    """Chat completions through `litellm.acompletion`."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint

    async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        check_history(options.messages)
        if options.signal is not None and options.signal.aborted:
            raise LlmError("aborted", "ABORTED")
        try:
            answer = await litellm.acompletion(**self.request(options))
            translator = Translator()
            async for part in answer:
                for chunk in translator.feed(part):
                    yield chunk
            for chunk in translator.eof():
                yield chunk
        except LlmError:
            raise
        except Exception as error:  # whatever the library raises; its own classes have no base in common
            raise failure(error) from None

    def request(self, options: GenerateOptions) -> dict[str, object]:
        wanted: dict[str, object] = {
            "temperature": options.temperature,
            "top_p": options.top_p,
            "max_tokens": options.max_tokens,
            "stop": None if options.stop is None else list(options.stop),
            "seed": options.seed,
            "parallel_tool_calls": options.parallel_tool_calls,
            "reasoning_effort": options.reasoning_effort,
            "tool_choice": tool_choice(options.tool_choice),
            "response_format": response_format(options.response_format),
            "tools": [tool(one.name, one.description, one.parameters) for one in options.tools or ()] or None,
            "extra_body": None if options.extra is None else dict(options.extra.get("openai-chat", {})),
        }
        system = [] if options.system is None else [{"role": "system", "content": options.system}]
        return {
            "model": f"openai/{options.model}",
            "api_base": self.endpoint.base_url,
            "api_key": self.endpoint.api_key,
            "messages": [*system, *(turn for message in options.messages for turn in turns(message))],
            "stream": True,
            "stream_options": {"include_usage": True},
            "num_retries": 0,
            "max_retries": 0,
            "timeout": self.endpoint.timeouts.first_event,
            **{name: value for name, value in wanted.items() if value is not None},
        }


class Translator:
    """litellm's chunk objects to limen's chunks."""

    def __init__(self) -> None:
        self.blocks: list[list[object]] = []
        self.calls: dict[int, int] = {}
        self.finish = "stop"
        self.usage: TokenUsage | None = None

    def feed(self, part: object) -> list[StreamChunk]:
        chunks: list[StreamChunk] = []
        if getattr(part, "usage", None) is not None:
            self.usage = counted(part.usage)
        for choice in part.choices:
            delta = choice.delta
            if getattr(delta, "reasoning_content", None):
                chunks += self.text("reasoning", delta.reasoning_content)
            if delta.content:
                chunks += self.text("text", delta.content)
            for call in delta.tool_calls or []:
                chunks += self.call(call)
            self.finish = choice.finish_reason or self.finish
        return chunks

    def text(self, kind: str, text: str) -> list[StreamChunk]:
        chunks: list[StreamChunk] = []
        index = next((index for index, block in enumerate(self.blocks) if block[0] == kind), None)
        if index is None:
            index = len(self.blocks)
            self.blocks.append([kind, "", "", ""])
            chunks.append(BlockStart(index, kind))
        self.blocks[index][3] += text
        return [*chunks, TextDelta(index, text) if kind == "text" else ReasoningDelta(index, text)]

    def call(self, call: object) -> list[StreamChunk]:
        chunks: list[StreamChunk] = []
        first = call.index not in self.calls
        if first:
            self.calls[call.index] = len(self.blocks)
            self.blocks.append(["tool-call", call.id, call.function.name, ""])
            chunks.append(BlockStart(self.calls[call.index], "tool-call"))
        index = self.calls[call.index]
        fragment = call.function.arguments or ""
        self.blocks[index][3] += fragment
        _, native, name, _ = self.blocks[index]
        return [*chunks, ToolCallDelta(index, native, name if first else None, fragment)]

    def eof(self) -> list[StreamChunk]:
        ends = [BlockEnd(index, value(*block)) for index, block in enumerate(self.blocks)]
        usage = [] if self.usage is None else [UsageChunk(self.usage)]
        if self.finish == "content_filter":
            failed = LlmError("filtered", "CONTENT_FILTER").failure
            return [*usage, Finish(FinishReason("error", failed))]
        kind = "tool-calls" if self.calls and self.finish == "stop" else FINISHES.get(self.finish, "stop")
        return [*ends, *usage, Finish(FinishReason(kind))]


def value(kind: str, native: str, name: str, text: str) -> TextBlock | ReasoningBlock | ToolCallBlock:
    if kind == "text":
        return TextBlock(text)
    return ReasoningBlock(text) if kind == "reasoning" else ToolCallBlock(native, name, text)


def counted(usage: object) -> TokenUsage:
    prompt, output = usage.prompt_tokens_details, usage.completion_tokens_details
    cached = None if prompt is None else prompt.cached_tokens
    return TokenUsage(
        input_tokens=usage.prompt_tokens - (cached or 0),
        output_tokens=usage.completion_tokens,
        cache_read_tokens=cached,
        reasoning_tokens=None if output is None else output.reasoning_tokens,
    )


def failure(error: Exception) -> LlmError:
    status = getattr(error, "status_code", None)
    known = next((code for kind, code in CODES.items() if isinstance(error, kind)), None)
    real = status if isinstance(status, int) and 100 <= status <= 599 else None
    return LlmError(str(error), known or (http_code(real) if real else "UNKNOWN"), phase="headers", status=real)


def tool(name: str, description: str | None, parameters: Mapping[str, object] | None) -> dict[str, object]:
    return {
        "type": "function",
        "function": {"name": name, "description": description or "", "parameters": parameters or {}},
    }


def tool_choice(choice: object) -> object:
    return {"type": "function", "function": {"name": choice.name}} if isinstance(choice, ToolChoice) else choice


def response_format(wanted: object) -> object:
    if isinstance(wanted, JsonSchema):
        return {
            "type": "json_schema",
            "json_schema": {"name": wanted.name, "schema": json.loads(json.dumps(wanted.schema))},
        }
    return {"type": "json_object"} if wanted == "json" else None


def turns(message: Message) -> Sequence[dict[str, object]]:
    results = [block for block in message.content if isinstance(block, ToolResultBlock)]
    if results:
        return [{"role": "tool", "tool_call_id": one.tool_call_id, "content": words(one.content)} for one in results]
    calls = [
        {"id": one.id, "type": "function", "function": {"name": one.name, "arguments": one.arguments or "{}"}}
        for one in message.content
        if isinstance(one, ToolCallBlock)
    ]
    images = [one for one in message.content if isinstance(one, ImageBlock)]
    if images:
        raise LlmError("this adapter sends text only", "UNSUPPORTED_CONTENT")
    turn: dict[str, object] = {"role": message.role, "content": words(message.content)}
    return [turn | ({"tool_calls": calls} if calls else {})]


def words(content: object) -> str:
    if isinstance(content, str):
        return content
    if any(isinstance(block, ImageBlock) for block in content):
        raise LlmError("this adapter sends text only", "UNSUPPORTED_CONTENT")
    return "".join(block.text for block in content if isinstance(block, TextBlock))


def make(endpoint: Endpoint) -> LitellmAdapter:
    """What the judge asks for."""
    return LitellmAdapter(endpoint)
