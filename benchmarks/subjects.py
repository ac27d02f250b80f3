"""What is measured: limen, the floor, the limit, and peers, each behind the same three methods.

`setup()` makes the client once; `open(case)` is a context around an async iterable of native items;
`count(item)` says how many characters of content an item carries. Nothing is imported until a subject is chosen.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterable, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

PORT = int(os.environ.get("BENCH_PORT", "8931"))
ROOT = f"http://127.0.0.1:{PORT}"
CHAT_MODEL, MESSAGES_MODEL = "gpt-4o-mini", "claude-sonnet-4-5"
GENERATE_MODEL = "gemini-3-flash-preview"
CONVERSE_MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
MODELS = {"messages": MESSAGES_MODEL, "generate": GENERATE_MODEL, "converse": CONVERSE_MODEL}
Messages = list[dict[str, str]]
PATHS = {"chat": "chat/completions", "messages": "messages", "responses": "responses"}
HELLO: Messages = [{"role": "user", "content": "hi"}]


class Subject:
    """A way to read one streamed answer."""

    wire = "chat"
    environment = "."

    async def setup(self) -> None: ...

    async def close(self) -> None: ...

    def history(self, messages: Messages) -> Any:
        return messages

    def open(self, case: str, messages: Any = None) -> AbstractAsyncContextManager[AsyncIterable[Any]]:
        raise NotImplementedError

    def count(self, item: Any) -> int:
        raise NotImplementedError


class Limen(Subject):
    """The public API: `LlmRuntime.stream()` with the guard on."""

    async def setup(self) -> None:
        import limen

        self.limen = limen
        self.runtime = limen.LlmRuntime()
        self.routes: set[str] = set()

    def adapter(self, case: str) -> Any:
        from limen.adapters.openai_chat import OpenAIChatAdapter, OpenAIChatOptions

        return OpenAIChatAdapter(OpenAIChatOptions(base_url=f"{ROOT}/{case}/v1", api_key="bench-key"))

    def history(self, messages: Messages) -> Any:
        make = {"user": self.limen.user, "assistant": self.limen.assistant}
        return [make[message["role"]](message["content"]) for message in messages]

    @asynccontextmanager
    async def open(self, case: str, messages: Any = None) -> AsyncIterator[AsyncIterable[Any]]:
        if case not in self.routes:
            self.routes.add(case)
            self.runtime.register([case], self.adapter(case))
        model = MODELS.get(self.wire, CHAT_MODEL)
        history = messages or [self.limen.user("hi")]
        options = self.limen.GenerateOptions(provider=case, model=model, messages=history, max_tokens=8192)
        async with self.runtime.stream(options) as stream:
            yield stream

    def count(self, item: Any) -> int:
        kind = type(item)
        if kind is self.limen.TextDelta:
            return len(item.text)
        return len(item.arguments_delta) if kind is self.limen.ToolCallDelta else 0

    async def close(self) -> None:
        await self.runtime.aclose()


class LimenMessages(Limen):
    """The same over the Messages wire."""

    wire = "messages"

    def adapter(self, case: str) -> Any:
        from limen.adapters.anthropic import AnthropicAdapter, AnthropicOptions

        return AnthropicAdapter(AnthropicOptions(base_url=f"{ROOT}/{case}", api_key="bench-key"))


class LimenGenerate(Limen):
    """The same over generateContent."""

    wire = "generate"

    def adapter(self, case: str) -> Any:
        from limen.adapters.gemini import GeminiAdapter, GeminiOptions

        return GeminiAdapter(GeminiOptions(base_url=f"{ROOT}/{case}/v1beta", api_key="bench-key"))


class LimenOllama(Limen):
    """The same over Ollama's chat."""

    wire = "ollama"

    def adapter(self, case: str) -> Any:
        from limen.adapters.ollama import OllamaAdapter, OllamaOptions

        return OllamaAdapter(OllamaOptions(base_url=f"{ROOT}/{case}"))


class LimenCohere(Limen):
    """The same over Cohere's wire; it runs where it is asked for by name."""

    wire = "cohere"

    def adapter(self, case: str) -> Any:
        from limen.adapters.cohere import CohereAdapter, CohereOptions

        return CohereAdapter(CohereOptions(base_url=f"{ROOT}/{case}", api_key="bench-key"))


class LimenConverse(Limen):
    """The same over Bedrock's Converse."""

    wire = "converse"

    def adapter(self, case: str) -> Any:
        from limen.adapters.bedrock import BedrockAdapter, BedrockOptions

        return BedrockAdapter(BedrockOptions(base_url=f"{ROOT}/{case}", api_key="bench-key"))


class LimenResponses(Limen):
    """The same over the Responses wire."""

    wire = "responses"

    def adapter(self, case: str) -> Any:
        from limen.adapters.openai_responses import OpenAIResponsesAdapter, OpenAIResponsesOptions

        return OpenAIResponsesAdapter(OpenAIResponsesOptions(base_url=f"{ROOT}/{case}/v1", api_key="bench-key"))


class Raw(asyncio.Protocol):
    """A connection that keeps the reads and wakes one waiter."""

    def __init__(self) -> None:
        self.reads: list[bytes] = []
        self.waiter: asyncio.Future[None] | None = None
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self.reads.append(data)
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)

    async def read(self) -> bytes:
        while not self.reads:
            self.waiter = asyncio.get_running_loop().create_future()
            await self.waiter
        data = b"".join(self.reads)
        self.reads.clear()
        return data


class Limit(Subject):
    """What sockets and the event loop alone cost: bytes are counted, nothing is looked at."""

    async def setup(self) -> None:
        self.idle: list[Raw] = []

    def request(self, case: str, messages: Any) -> bytes:
        path = PATHS[self.wire]
        body = {"model": CHAT_MODEL, "messages": messages or HELLO, "stream": True, "max_tokens": 8192}
        return self.framed(case, path, json.dumps(body, separators=(",", ":")).encode())

    def framed(self, case: str, path: str, body: bytes) -> bytes:
        head = f"POST /{case}/v1/{path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body

    async def connection(self) -> Raw:
        if self.idle:
            return self.idle.pop()
        _, connection = await asyncio.get_running_loop().create_connection(Raw, "127.0.0.1", PORT)
        return connection

    async def reads(self, case: str, messages: Any) -> AsyncIterator[bytes]:
        connection = await self.connection()
        connection.transport.write(self.request(case, messages))
        while True:
            data = await connection.read()
            yield data
            if data.endswith(b"\r\n0\r\n\r\n"):
                break
        self.idle.append(connection)

    @asynccontextmanager
    async def open(self, case: str, messages: Any = None) -> AsyncIterator[AsyncIterable[Any]]:
        yield self.items(case, messages)

    def items(self, case: str, messages: Any) -> AsyncIterator[Any]:
        return self.reads(case, messages)

    def count(self, item: Any) -> int:
        return len(item)

    async def close(self) -> None:
        for connection in self.idle:
            connection.transport.close()


class LimitMessages(Limit):
    """The limit for the Messages wire's bytes."""

    wire = "messages"


def generate_request(limit: Limit, case: str, messages: Any) -> bytes:
    """The request of generateContent, whose model stands in the path."""
    contents = [{"role": "user", "parts": [{"text": one["content"]}]} for one in messages or HELLO]
    body = json.dumps({"contents": contents}, separators=(",", ":")).encode()
    framed = limit.framed(case, f"models/{GENERATE_MODEL}:streamGenerateContent?alt=sse", body)
    return framed.replace(b"/v1/models", b"/v1beta/models", 1)


class LimitGenerate(Limit):
    """The limit for generateContent's bytes."""

    wire = "generate"

    def request(self, case: str, messages: Any) -> bytes:
        return generate_request(self, case, messages)


class Floor(Limit):
    """The best that plain Python can do with parsing: dechunk, split, one typed decode; no order, no meaning."""

    blank = b"\n\n"

    async def setup(self) -> None:
        import msgspec

        await super().setup()
        self.encode = msgspec.json.encode
        self.decode, self.text = DECODERS[self.wire]()

    def request(self, case: str, messages: Any) -> bytes:
        path = PATHS[self.wire]
        body = {"model": CHAT_MODEL, "messages": messages or HELLO, "stream": True, "max_tokens": 8192}
        return self.framed(case, path, self.encode(body))

    async def items(self, case: str, messages: Any) -> AsyncIterator[Any]:
        buffer = rest = b""
        head = False
        decode = self.decode
        async for data in self.reads(case, messages):
            buffer += data
            if not head:
                _, found, buffer = buffer.partition(b"\r\n\r\n")
                head = bool(found)
            body, buffer = dechunk(buffer)
            *events, rest = (rest + body).split(self.blank)
            for event in events:
                payload = event[6:] if event.startswith(b"data: ") else event[event.find(b"\ndata: ") + 7 :]
                if payload != b"[DONE]":
                    yield decode(payload)

    def count(self, item: Any) -> int:
        return self.text(item)


class FloorCohere(Floor):
    """The floor for Cohere's wire."""

    wire = "cohere"

    async def setup(self) -> None:
        await super().setup()
        self.decode, self.text = cohere_decoder()

    def request(self, case: str, messages: Any) -> bytes:
        body = {"model": CHAT_MODEL, "messages": messages or HELLO, "stream": True, "max_tokens": 8192}
        return self.framed(case, "", self.encode(body)).replace(b"/v1/ ", b"/v2/chat ", 1)


class FloorMessages(Floor):
    """The floor for the Messages wire."""

    wire = "messages"


class FloorGenerate(Floor):
    """The floor for generateContent, whose lines end with CR LF."""

    wire = "generate"
    blank = b"\r\n\r\n"

    def request(self, case: str, messages: Any) -> bytes:
        return generate_request(self, case, messages)


class FloorOllama(Floor):
    """The floor for Ollama's chat: dechunk, split into lines, one typed decode."""

    wire = "ollama"

    async def setup(self) -> None:
        await super().setup()
        self.decode, self.text = line_decoder()

    def request(self, case: str, messages: Any) -> bytes:
        body = {"model": "qwen3:4b", "messages": messages or HELLO, "stream": True, "options": {"num_predict": 8192}}
        return self.framed(case, "api/chat", self.encode(body))

    async def items(self, case: str, messages: Any) -> AsyncIterator[Any]:
        buffer = rest = b""
        head = False
        decode = self.decode
        async for data in self.reads(case, messages):
            buffer += data
            if not head:
                _, found, buffer = buffer.partition(b"\r\n\r\n")
                head = bool(found)
            body, buffer = dechunk(buffer)
            *lines, rest = (rest + body).split(b"\n")
            for line in lines:
                yield decode(line)


class FloorConverse(Floor):
    """The floor for Bedrock's Converse: dechunk, cut by the lengths, verify both checksums, one typed decode."""

    wire = "converse"

    async def setup(self) -> None:
        import struct
        import zlib

        await super().setup()
        self.prelude, self.crc, self.check = struct.Struct(">III"), struct.Struct(">I"), zlib.crc32

    def request(self, case: str, messages: Any) -> bytes:
        turns = [{"role": one["role"], "content": [{"text": one["content"]}]} for one in messages or HELLO]
        body = self.encode({"messages": turns, "inferenceConfig": {"maxTokens": 8192}})
        return self.framed(case, "", body).replace(b"/v1/ ", f"/model/{CONVERSE_MODEL}/converse-stream ".encode(), 1)

    async def items(self, case: str, messages: Any) -> AsyncIterator[Any]:
        buffer = rest = b""
        head = False
        decode, prelude, crc, check = self.decode, self.prelude, self.crc, self.check
        async for data in self.reads(case, messages):
            buffer += data
            if not head:
                _, found, buffer = buffer.partition(b"\r\n\r\n")
                head = bool(found)
            body, buffer = dechunk(buffer)
            rest += body
            place = 0
            while len(rest) - place >= 12:
                total, headers, first = prelude.unpack_from(rest, place)
                if len(rest) - place < total:
                    break
                last = place + total - 4
                if check(rest[place : place + 8]) != first or check(rest[place:last]) != crc.unpack_from(rest, last)[0]:
                    raise ValueError("checksum")
                yield decode(rest[place + 12 + headers : last])
                place += total
            rest = rest[place:]


class LimitResponses(Limit):
    """The limit for the Responses wire's bytes."""

    wire = "responses"


class FloorResponses(Floor):
    """The floor for the Responses wire."""

    wire = "responses"


def dechunk(buffer: bytes) -> tuple[bytes, bytes]:
    """Split off the complete HTTP chunks of a buffer; return their bodies joined, and what is left."""
    parts: list[bytes] = []
    position = 0
    while (end := buffer.find(b"\r\n", position)) >= 0:
        size = int(buffer[position:end], 16)
        if len(buffer) < end + 4 + size:
            break
        parts.append(buffer[end + 2 : end + 2 + size])
        position = end + 4 + size
        if not size:
            break
    return b"".join(parts), buffer[position:]


def chat_decoder() -> tuple[Callable[[bytes], Any], Callable[[Any], int]]:
    """A typed decoder of the fields that matter, and the length of an event's content."""
    import msgspec

    function = msgspec.defstruct("Function", [("name", str | None, None), ("arguments", str | None, None)])
    call = msgspec.defstruct("Call", [("index", int, 0), ("id", str | None, None), ("function", function | None, None)])
    fields = [("role", str | None, None), ("content", str | None, None), ("tool_calls", list[call] | None, None)]  # type: ignore[valid-type]
    delta = msgspec.defstruct("Delta", fields)
    choice = msgspec.defstruct("Choice", [("index", int), ("delta", delta), ("finish_reason", str | None, None)])
    usage = msgspec.defstruct("Usage", [("prompt_tokens", int), ("completion_tokens", int)])
    chunk_fields = [("id", str), ("choices", list[choice]), ("model", str, ""), ("usage", usage | None, None)]  # type: ignore[valid-type]
    chunk = msgspec.defstruct("Chunk", chunk_fields)

    def text(event: Any) -> int:
        if not event.choices:
            return 0
        found = event.choices[0].delta
        if found.tool_calls:
            return len(found.tool_calls[0].function.arguments or "")
        return len(found.content or "")

    return msgspec.json.Decoder(chunk).decode, text


def message_decoder() -> tuple[Callable[[bytes], Any], Callable[[Any], int]]:
    """The same for the Messages wire."""
    import msgspec

    fields = [("type", str, ""), ("text", str | None, None), ("partial_json", str | None, None)]
    delta = msgspec.defstruct("Delta", [*fields, ("stop_reason", str | None, None)])
    usage = msgspec.defstruct("Usage", [("input_tokens", int | None, None), ("output_tokens", int | None, None)])
    event_fields = [("type", str), ("index", int | None, None), ("delta", delta | None, None)]
    event = msgspec.defstruct("Event", [*event_fields, ("usage", usage | None, None)])

    def text(found: Any) -> int:
        return 0 if found.delta is None else len(found.delta.text or found.delta.partial_json or "")

    return msgspec.json.Decoder(event).decode, text


def generate_decoder() -> tuple[Callable[[bytes], Any], Callable[[Any], int]]:
    """The same for generateContent."""
    import msgspec

    call = msgspec.defstruct("Call", [("name", str | None, None), ("args", msgspec.Raw, msgspec.Raw(b""))])
    fields = [("text", str | None, None), ("thought", bool, False), ("functionCall", call | None, None)]  # type: ignore[valid-type]
    part = msgspec.defstruct("Part", fields)
    content = msgspec.defstruct("Content", [("parts", list[part], [])])  # type: ignore[valid-type]
    candidate = msgspec.defstruct("Candidate", [("content", content | None, None), ("finishReason", str | None, None)])  # type: ignore[valid-type]
    usage = msgspec.defstruct("Usage", [("promptTokenCount", int, 0), ("candidatesTokenCount", int, 0)])
    event = msgspec.defstruct("Event", [("candidates", list[candidate], []), ("usageMetadata", usage | None, None)])  # type: ignore[valid-type]

    def text(found: Any) -> int:
        return sum(len(one.text or "") for one in found.candidates[0].content.parts) if found.candidates else 0

    return msgspec.json.Decoder(event).decode, text


def cohere_decoder() -> tuple[Callable[[bytes], Any], Callable[[Any], int]]:
    """The same for Cohere's wire."""
    import msgspec

    function = msgspec.defstruct("Function", [("arguments", str | None, None)])
    call = msgspec.defstruct("Call", [("function", function | None, None)])
    content = msgspec.defstruct("Content", [("text", str | None, None)])
    fields = [("content", content | list[Any] | None, None), ("tool_calls", call | list[Any] | None, None)]
    message = msgspec.defstruct("Message", fields)
    delta = msgspec.defstruct("Delta", [("message", message | None, None), ("finish_reason", str | None, None)])
    event = msgspec.defstruct("Event", [("type", str), ("index", int | None, None), ("delta", delta | None, None)])

    def text(found: Any) -> int:
        said = found.delta and found.delta.message
        if not said or isinstance(said.content, list):
            return 0
        return len(said.tool_calls.function.arguments or "") if said.tool_calls else len(said.content.text or "")

    return msgspec.json.Decoder(event).decode, text


def line_decoder() -> tuple[Callable[[bytes], Any], Callable[[Any], int]]:
    """The same for Ollama's chat."""
    import msgspec

    message = msgspec.defstruct("Message", [("content", str | None, None), ("thinking", str | None, None)])
    counts = [("prompt_eval_count", int | None, None), ("eval_count", int | None, None)]
    fields = [("message", message | None, None), ("done", bool, False), ("done_reason", str | None, None)]
    line = msgspec.defstruct("Line", [*fields, *counts])

    def text(found: Any) -> int:
        return 0 if found.message is None else len(found.message.content or "")

    return msgspec.json.Decoder(line).decode, text


def converse_decoder() -> tuple[Callable[[bytes], Any], Callable[[Any], int]]:
    """The same for Bedrock's Converse."""
    import msgspec

    call = msgspec.defstruct("Call", [("input", str, "")])
    delta = msgspec.defstruct("Delta", [("text", str | None, None), ("toolUse", call | None, None)])  # type: ignore[valid-type]
    usage = msgspec.defstruct("Usage", [("inputTokens", int, 0), ("outputTokens", int, 0)])
    fields = [("contentBlockIndex", int | None, None), ("delta", delta | None, None), ("stopReason", str | None, None)]
    event = msgspec.defstruct("Event", [*fields, ("usage", usage | None, None)])

    def text(found: Any) -> int:
        said = found.delta
        if said is None:
            return 0
        return len(said.toolUse.input) if said.toolUse else len(said.text or "")

    return msgspec.json.Decoder(event).decode, text


class OpenAI(Subject):
    """The OpenAI SDK."""

    environment = "openai"

    async def setup(self) -> None:
        from openai import AsyncOpenAI

        self.make = AsyncOpenAI
        self.clients: dict[str, Any] = {}

    @asynccontextmanager
    async def open(self, case: str, messages: Any = None) -> AsyncIterator[AsyncIterable[Any]]:
        if case not in self.clients:
            self.clients[case] = self.make(base_url=f"{ROOT}/{case}/v1", api_key="bench-key", max_retries=0)
        create = self.clients[case].chat.completions.create
        options = {"include_usage": True}
        async with await create(model=CHAT_MODEL, messages=messages or HELLO, stream=True, stream_options=options) as s:
            yield s

    def count(self, item: Any) -> int:
        if not item.choices:
            return 0
        delta = item.choices[0].delta
        if delta.tool_calls:
            return len(delta.tool_calls[0].function.arguments or "")
        return len(delta.content or "")


class Anthropic(Subject):
    """The Anthropic SDK."""

    wire, environment = "messages", "anthropic"

    async def setup(self) -> None:
        from anthropic import AsyncAnthropic

        self.make = AsyncAnthropic
        self.clients: dict[str, Any] = {}

    @asynccontextmanager
    async def open(self, case: str, messages: Any = None) -> AsyncIterator[AsyncIterable[Any]]:
        if case not in self.clients:
            self.clients[case] = self.make(base_url=f"{ROOT}/{case}", api_key="bench-key", max_retries=0)
        create = self.clients[case].messages.create
        async with await create(model=MESSAGES_MODEL, messages=messages or HELLO, stream=True, max_tokens=8192) as s:
            yield s

    def count(self, item: Any) -> int:
        if item.type != "content_block_delta":
            return 0
        return len(getattr(item.delta, "text", None) or getattr(item.delta, "partial_json", None) or "")


class LiteLLM(OpenAI):
    """LiteLLM's `acompletion`."""

    environment = "litellm"

    async def setup(self) -> None:
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
        import litellm

        self.call = litellm.acompletion

    @asynccontextmanager
    async def open(self, case: str, messages: Any = None) -> AsyncIterator[AsyncIterable[Any]]:
        yield await self.call(
            model=f"openai/{CHAT_MODEL}",
            api_base=f"{ROOT}/{case}/v1",
            api_key="bench-key",
            messages=messages or HELLO,
            stream=True,
            stream_options={"include_usage": True},
        )


class LiteLLMMessages(LiteLLM):
    """LiteLLM over the Messages wire."""

    wire = "messages"

    @asynccontextmanager
    async def open(self, case: str, messages: Any = None) -> AsyncIterator[AsyncIterable[Any]]:
        model, base = f"anthropic/{MESSAGES_MODEL}", f"{ROOT}/{case}"
        yield await self.call(model=model, api_base=base, api_key="bench-key", messages=messages or HELLO, stream=True)


def response_decoder() -> tuple[Callable[[bytes], Any], Callable[[Any], int]]:
    """The same for the Responses wire."""
    import msgspec

    fields = [("type", str), ("output_index", int | None, None), ("content_index", int | None, None)]
    event = msgspec.defstruct("Event", [*fields, ("delta", str | None, None)])

    def text(found: Any) -> int:
        return len(found.delta or "")

    return msgspec.json.Decoder(event).decode, text


DECODERS = {
    "chat": chat_decoder,
    "messages": message_decoder,
    "responses": response_decoder,
    "generate": generate_decoder,
    "ollama": line_decoder,
    "cohere": cohere_decoder,
    "converse": converse_decoder,
}


SUBJECTS: dict[str, type[Subject]] = {
    "limit": Limit,
    "floor": Floor,
    "limen": Limen,
    "openai": OpenAI,
    "litellm": LiteLLM,
    "limit-messages": LimitMessages,
    "floor-messages": FloorMessages,
    "limen-messages": LimenMessages,
    "limit-generate": LimitGenerate,
    "floor-generate": FloorGenerate,
    "limen-generate": LimenGenerate,
    "anthropic": Anthropic,
    "floor-cohere": FloorCohere,
    "limen-cohere": LimenCohere,
    "litellm-messages": LiteLLMMessages,
    "floor-ollama": FloorOllama,
    "limen-ollama": LimenOllama,
    "floor-converse": FloorConverse,
    "limen-converse": LimenConverse,
    "limit-responses": LimitResponses,
    "floor-responses": FloorResponses,
    "limen-responses": LimenResponses,
}
