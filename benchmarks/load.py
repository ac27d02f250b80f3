"""The load: a mock provider that costs little, on loopback only, with every answer made beforehand.

    POST /<case>/v1/chat/completions     the openai-chat wire
    POST /<case>/v1/responses            the openai-responses wire
    POST /<case>/v1/messages             the anthropic-messages wire
    POST /<case>/v1beta/models/…         the gemini-generate wire
    POST /<case>/api/chat                the ollama-chat wire
    POST /<case>/v2/chat                 the cohere wire
    POST /<case>/model/…/converse-stream the bedrock-converse wire
    GET  /stats/<id>                     {"closed": seconds since start, or null}, for the stream with that id

`<case>` is dash-joined settings: `n200` deltas, `g8` events in one write, `d5` milliseconds between writes, `tool`
for a tool call instead of text, `stall` to fall silent after the first write, `i7` an id for /stats.
Run as `python load.py PORT`.
"""

import asyncio
import json
import re
import struct
import sys
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

WORDS = "the quick brown fox jumps over a lazy dog while tokens stream by as plain text "


def texts(count: int) -> list[str]:
    """Pieces of 20 characters, no two neighbours alike: LiteLLM takes a model that repeats itself for a fault."""
    circle = WORDS * 2
    return [circle[index % len(WORDS) : index % len(WORDS) + 20] for index in range(count)]


HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\nx-request-id: req_bench\r\ntransfer-encoding: chunked\r\n\r\n"


@dataclass(frozen=True)
class Case:
    """What to answer."""

    count: int = 10
    group: int = 1
    delay: float = 0.0
    tool: bool = False
    stall: bool = False
    id: str = ""

    @classmethod
    def parse(cls, text: str) -> "Case":
        """Read the settings out of the path."""
        words = text.split("-")
        numbers = {word[0]: word[1:] for word in words if len(word) > 1 and word not in ("tool", "stall")}
        return cls(
            count=int(numbers.get("n", "10")),
            group=int(numbers.get("g", "1")),
            delay=float(numbers.get("d", "0")) / 1000,
            tool="tool" in words,
            stall="stall" in words,
            id=numbers.get("i", ""),
        )


def dump(value: object) -> str:
    """Compact JSON, as providers send it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def chat_events(case: Case) -> list[str]:
    """A chat-completions stream with the fields that OpenAI sends on every chunk."""
    frame = {"id": "chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG", "object": "chat.completion.chunk", "created": 1741570283}
    frame |= {"model": "gpt-4o-mini-2024-07-18", "service_tier": "default", "system_fingerprint": "fp_06737a9306"}

    def event(delta: dict[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return f"data: {dump({**frame, 'choices': [choice], 'usage': None, 'obfuscation': 'aB3dE6'})}\n\n"

    events = [event({"role": "assistant", "content": None if case.tool else "", "refusal": None})]
    if case.tool:
        call = {"index": 0, "id": "call_DdmO9pD3xa9XTPNJ", "type": "function"}
        events[0] = event({"role": "assistant", "tool_calls": [{**call, "function": {"name": "f", "arguments": ""}}]})
        parts = arguments(case.count)
        events += [event({"tool_calls": [{"index": 0, "function": {"arguments": part}}]}) for part in parts]
    else:
        events += [event({"content": text}) for text in texts(case.count)]
    events.append(event({}, "tool_calls" if case.tool else "stop"))
    usage = {"prompt_tokens": 19, "completion_tokens": case.count, "total_tokens": 19 + case.count}
    events.append(f"data: {dump({**frame, 'choices': [], 'usage': usage})}\n\n")
    return [*events, "data: [DONE]\n\n"]


def message_events(case: Case) -> list[str]:
    """The same answer in the Messages wire."""

    def event(name: str, **fields: object) -> str:
        return f"event: {name}\ndata: {dump({'type': name, **fields})}\n\n"

    usage = {"input_tokens": 19, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1}
    message = {"id": "msg_01XFDUDYJgAACzvn", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5"}
    message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    block = {"type": "tool_use", "id": "toolu_01T1x1fJ34qA", "name": "f", "input": {}}
    start = block if case.tool else {"type": "text", "text": ""}
    events = [event("message_start", message=message), event("content_block_start", index=0, content_block=start)]
    events.append(event("ping"))
    if case.tool:
        deltas = [{"type": "input_json_delta", "partial_json": part} for part in arguments(case.count)]
        events += [event("content_block_delta", index=0, delta=delta) for delta in deltas]
    else:
        deltas = [{"type": "text_delta", "text": text} for text in texts(case.count)]
        events += [event("content_block_delta", index=0, delta=delta) for delta in deltas]
    events.append(event("content_block_stop", index=0))
    reason = {"stop_reason": "tool_use" if case.tool else "end_turn", "stop_sequence": None}
    events.append(event("message_delta", delta=reason, usage={"output_tokens": case.count}))
    return [*events, event("message_stop")]


def generate_events(case: Case) -> list[str]:
    """The same answer of generateContent, with the counts that Gemini sends on every chunk; a call is one part."""

    def event(*parts: object, **fields: object) -> str:
        candidate = {"content": {"parts": parts, "role": "model"}, **fields, "index": 0}
        details = [{"modality": "TEXT", "tokenCount": 19}]
        usage = {
            "promptTokenCount": 19,
            "candidatesTokenCount": 7,
            "totalTokenCount": 26,
            "promptTokensDetails": details,
        }
        facts = {"modelVersion": "gemini-3-flash-preview", "responseId": "dqHOab6xGLzWodAPkPuViA4"}
        return f"data: {dump({'candidates': [candidate], 'usageMetadata': usage, **facts})}\r\n\r\n"

    if case.tool:
        whole = json.loads("".join(arguments(case.count)))
        return [event({"functionCall": {"name": "f", "args": whole}}), event({"text": ""}, finishReason="STOP")]
    return [*(event({"text": text}) for text in texts(case.count)), event({"text": ""}, finishReason="STOP")]


def ollama_events(case: Case) -> list[str]:
    """The same answer in Ollama's chat, whose calls are whole."""
    head = {"model": "qwen3:4b", "created_at": "2026-11-30T10:00:00.123456789Z"}

    def line(content: str = "", **message: object) -> str:
        return f"{dump({**head, 'message': {'role': 'assistant', 'content': content, **message}, 'done': False})}\n"

    if case.tool:
        function = {"index": 0, "name": "f", "arguments": json.loads("".join(arguments(case.count)))}
        events = [line(tool_calls=[{"id": "call_ab12cd34", "function": function}])]
    else:
        events = [line(text) for text in texts(case.count)]
    counts = {"total_duration": 182242375, "prompt_eval_count": 19, "eval_count": case.count}
    last = {**head, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop", **counts}
    return [*events, f"{dump(last)}\n"]


def cohere_events(case: Case) -> list[str]:
    """The same answer in Cohere's wire."""

    def event(name: str, **fields: object) -> str:
        return f"event: {name}\ndata: {dump({'type': name, **fields})}\n\n"

    def delta(name: str, **message: object) -> str:
        return event(name, index=0, delta={"message": message})

    start = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    events = [event("message-start", id="29f14a5a-11de-4cae-9800-25e4747408ea", delta={"message": start})]
    if case.tool:
        call = {"id": "f_y46ar19t5gvw", "type": "function", "function": {"name": "f", "arguments": ""}}
        events.append(delta("tool-call-start", tool_calls=call))
        parts = [{"function": {"arguments": part}} for part in arguments(case.count)]
        events += [delta("tool-call-delta", tool_calls=part) for part in parts]
        events.append(event("tool-call-end", index=0))
    else:
        events.append(delta("content-start", content={"type": "text", "text": ""}))
        events += [delta("content-delta", content={"text": text}) for text in texts(case.count)]
        events.append(event("content-end", index=0))
    usage = {"tokens": {"input_tokens": 19, "output_tokens": case.count}}
    reason = {"finish_reason": "TOOL_CALL" if case.tool else "COMPLETE", "usage": usage}
    return [*events, event("message-end", delta=reason), "data: [DONE]\n\n"]


def frame(name: str, payload: dict[str, Any]) -> bytes:
    """One message of Amazon's event stream, with the headers that Bedrock sends."""
    headers = b"".join(
        bytes([len(key)]) + key.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for key, value in ((":event-type", name), (":content-type", "application/json"), (":message-type", "event"))
    )
    body = dump(payload).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + body
    return message + struct.pack(">I", zlib.crc32(message))


def converse_events(case: Case) -> list[bytes]:
    """The same answer of Bedrock's Converse, padded as Bedrock pads its events."""

    def delta(**content: object) -> bytes:
        return frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": content, "p": "abcdefghijklmnop"})

    events = [frame("messageStart", {"role": "assistant", "p": "abcdefghij"})]
    if case.tool:
        start = {"toolUse": {"toolUseId": "tooluse_kZJMlvQmRJ6eAyJE5GIl7Q", "name": "f"}}
        events.append(frame("contentBlockStart", {"contentBlockIndex": 0, "start": start, "p": "abcdef"}))
        events += [delta(toolUse={"input": part}) for part in arguments(case.count)]
    else:
        events += [delta(text=text) for text in texts(case.count)]
    events.append(frame("contentBlockStop", {"contentBlockIndex": 0, "p": "abcdefgh"}))
    events.append(frame("messageStop", {"stopReason": "tool_use" if case.tool else "end_turn", "p": "abcd"}))
    usage = {"inputTokens": 19, "outputTokens": case.count, "totalTokens": 19 + case.count}
    return [*events, frame("metadata", {"metrics": {"latencyMs": 551}, "usage": usage, "p": "abcdefghijk"})]


def response_events(case: Case) -> list[str]:
    """The same answer in the Responses wire, with the fields that OpenAI sends on every event."""
    numbers = iter(range(case.count + 20))

    def event(name: str, **fields: object) -> str:
        return f"event: {name}\ndata: {dump({'type': name, 'sequence_number': next(numbers), **fields})}\n\n"

    response = {"id": "resp_68a1b2c3d4e5f60718293a4b5c6d7e8f", "object": "response", "model": "gpt-4o-mini-2024-07-18"}
    call = {"id": "fc_68a1b2c3", "type": "function_call", "call_id": "call_DdmO9pD3xa9XTPNJ", "name": "f"}
    message = {"id": "msg_68a1b2c3", "type": "message", "role": "assistant", "status": "completed"}
    place = {"item_id": (call if case.tool else message)["id"], "output_index": 0}
    events = [event("response.created", response={**response, "status": "in_progress", "output": []})]
    if case.tool:
        events.append(event("response.output_item.added", output_index=0, item={**call, "arguments": ""}))
        parts = arguments(case.count)
        kind, item = "response.function_call_arguments.delta", {**call, "arguments": "".join(parts)}
        extra: dict[str, object] = {}
    else:
        events.append(event("response.output_item.added", output_index=0, item={**message, "content": []}))
        parts = texts(case.count)
        kind, extra = "response.output_text.delta", {"content_index": 0, "logprobs": []}
        item = {**message, "content": [{"type": "output_text", "text": "".join(parts), "annotations": []}]}
    events += [event(kind, **place, **extra, delta=part, obfuscation="aB3dE6") for part in parts]
    events.append(event("response.output_item.done", output_index=0, item=item))
    usage = {"input_tokens": 19, "output_tokens": case.count, "total_tokens": 19 + case.count}
    last = {**response, "status": "completed", "output": [item], "usage": usage}
    return [*events, event("response.completed", response=last)]


# The wire's events for the part of a request's path that names the wire.
WIRES: dict[str, Callable[[Case], list[str] | list[bytes]]] = {
    "/chat/completions": chat_events,
    "/v1/messages": message_events,
    "/responses": response_events,
    "/models/": generate_events,
    "/api/chat": ollama_events,
    "/v2/chat": cohere_events,
    "/converse-stream": converse_events,
}


def arguments(count: int) -> list[str]:
    """One valid JSON object in `count` fragments of 20 characters."""
    text = '{"lines":["' + "print(42)\\n" * (count * 2)
    text = text[: count * 20 - 3].rstrip("\\") + '"]}'
    text = text.ljust(count * 20)
    return [text[start : start + 20] for start in range(0, count * 20, 20)]


def writes(path: str, case: Case) -> list[bytes]:
    """The answer as the writes that it is sent in."""
    events = [event.encode() if isinstance(event, str) else event for event in WIRES[path](case)]
    groups = [b"".join(events[start : start + case.group]) for start in range(0, len(events), case.group)]
    framed = [b"%x\r\n%b\r\n" % (len(group), group) for group in groups]
    framed[-1] += b"0\r\n\r\n"
    kind = b"application/vnd.amazon.eventstream" if path == "/converse-stream" else b"text/event-stream; charset=utf-8"
    return [HEAD % kind + framed[0], *framed[1:]]


@dataclass
class State:
    """What the server remembers between requests."""

    started: float = field(default_factory=time.monotonic)
    answers: dict[tuple[str, Case], list[bytes]] = field(default_factory=dict)
    closed: dict[str, float] = field(default_factory=dict)


class Connection(asyncio.Protocol):
    """One client: reads a request, sends its writes, one after another or all at once."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.buffer = b""
        self.case: Case | None = None
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self.case is not None and self.case.id:
            self.state.closed[self.case.id] = time.monotonic() - self.state.started
        self.case = None

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, found, rest = self.buffer.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        if not found or len(rest) < (size := int(length[1]) if length else 0):
            return
        self.buffer = rest[size:]
        path = head.split(b" ", 2)[1].decode()
        if path.startswith("/stats/"):
            body = dump({"closed": self.state.closed.get(path.rpartition("/")[2])}).encode()
            self.transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
            return
        self.case = Case.parse(path.split("/")[1])
        key = (next(part for part in WIRES if part in path), self.case)
        if key not in self.state.answers:
            self.state.answers[key] = writes(*key)
        self.send(self.state.answers[key], 0, self.case)

    def send(self, answer: list[bytes], index: int, case: Case) -> None:
        if self.case is not case:
            return
        if not case.delay and not case.stall:
            self.transport.writelines(answer) if case.group == 0 else [self.transport.write(part) for part in answer]
            self.case = None
            return
        self.transport.write(answer[index])
        if case.stall:
            return
        if index + 1 < len(answer):
            asyncio.get_running_loop().call_later(case.delay, self.send, answer, index + 1, case)
        else:
            self.case = None


async def main(port: int) -> None:
    """Serve until killed."""
    state = State()
    server = await asyncio.get_running_loop().create_server(lambda: Connection(state), "127.0.0.1", port, backlog=4096)
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
