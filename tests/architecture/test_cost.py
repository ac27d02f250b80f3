"""The regression gate of speed, which is no timer: function calls per chunk on a fixed input.

Calls, into Python and into C, are the same on every machine and every run; a cost that creeps into the hot path shows
as a call. The bounds are what was counted when they were written, with a margin of 10 %: lower them when a change makes
the path shorter. Claims about time come from `benchmarks/` alone.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from types import FrameType

import pytest

import limen

COUNT = 2_000


def calls(work: Callable[[], object]) -> int:
    """How many calls the work makes, into Python and into C."""
    found = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal found
        found += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return found


def per_chunk(wire: str, make: Callable[[int], list[bytes]]) -> float:
    """Calls per chunk from bytes to chunks: the difference between two lengths, so that what is fixed drops out."""

    def read(count: int) -> Callable[[], object]:
        reads = make(count)
        return lambda: list(limen.iter_chunks(wire, reads))

    read(10)()
    return (calls(read(2 * COUNT)) - calls(read(COUNT))) / COUNT


def grouped(events: list[bytes]) -> list[bytes]:
    """Eight events in a read, as a busy provider sends them."""
    return [b"".join(events[start : start + 8]) for start in range(0, len(events), 8)]


def chat_event(delta: str, finish: str = "null") -> bytes:
    """One event with the fields that OpenAI sends."""
    head = '"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","service_tier":"default"'
    choice = f'{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{finish}}}'
    return f'data: {{{head},"choices":[{choice}],"usage":null,"obfuscation":"x"}}\n\n'.encode()


def chat_text(count: int) -> list[bytes]:
    """A text answer."""
    events = [chat_event('{"content":"the quick brown fox "}')] * count
    return grouped([*events, chat_event("{}", '"stop"'), b"data: [DONE]\n\n"])


def chat_tool(count: int) -> list[bytes]:
    """A tool call in fragments."""
    start = chat_event('{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{\\"a\\":\\""}}]}')
    part = chat_event('{"tool_calls":[{"index":0,"function":{"arguments":"the quick brown fox "}}]}')
    end = chat_event('{"tool_calls":[{"index":0,"function":{"arguments":"\\"}"}}]}')
    return grouped([start, *[part] * count, end, chat_event("{}", '"tool_calls"'), b"data: [DONE]\n\n"])


def messages_event(kind: str, fields: str) -> bytes:
    """One event of the Messages wire."""
    return f'event: {kind}\ndata: {{"type":"{kind}"{fields}}}\n\n'.encode()


def messages(block: str, delta: str, count: int) -> list[bytes]:
    """An answer of one block in the Messages wire."""
    usage = '"usage":{"input_tokens":1,"output_tokens":1}'
    start = messages_event(
        "message_start", f',"message":{{"id":"m","role":"assistant","model":"m","content":[],{usage}}}'
    )
    opened = messages_event("content_block_start", f',"index":0,"content_block":{block}')
    part = messages_event("content_block_delta", f',"index":0,"delta":{delta}')
    closed = messages_event("content_block_stop", ',"index":0')
    reason = messages_event("message_delta", ',"delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}')
    return grouped([start, opened, *[part] * count, closed, reason, messages_event("message_stop", "")])


def messages_text(count: int) -> list[bytes]:
    """A text answer."""
    return messages('{"type":"text","text":""}', '{"type":"text_delta","text":"the quick brown fox "}', count)


def messages_tool(count: int) -> list[bytes]:
    """A tool call in fragments; its arguments need not be JSON."""
    block = '{"type":"tool_use","id":"t","name":"f","input":{}}'
    return messages(block, '{"type":"input_json_delta","partial_json":"the quick brown fox "}', count)


# name, wire, input, calls per chunk at most
BOUNDS = [
    ("chat text", "openai-chat", chat_text, 9.4),
    ("chat tool", "openai-chat", chat_tool, 12.7),
    ("messages text", "anthropic-messages", messages_text, 14.9),
    ("messages tool", "anthropic-messages", messages_tool, 14.9),
]


@pytest.mark.parametrize(("name", "wire", "make", "bound"), BOUNDS, ids=[bound[0] for bound in BOUNDS])
def test_calls_per_chunk(name: str, wire: str, make: Callable[[int], list[bytes]], bound: float) -> None:
    """Reading costs a bounded number of calls for each chunk, whatever came before it."""
    found = per_chunk(wire, make)

    assert found <= bound, f"{name}: {found:.2f} calls a chunk"


def test_the_guard_costs_few_calls() -> None:
    """Checking a chunk against the grammar costs at most 3 calls (R6)."""
    from limen.contract import ChunkGrammar

    def check(count: int) -> Callable[[], object]:
        deltas: list[limen.StreamChunk] = [limen.TextDelta(0, "abc")] * count
        chunks: list[limen.StreamChunk] = [limen.BlockStart(0, "text"), *deltas]
        return lambda: ChunkGrammar().feed_all(chunks)

    found = (calls(check(2 * COUNT)) - calls(check(COUNT))) / COUNT

    assert found <= 3.0, f"{found:.2f} calls a chunk"


class Batches:
    """A stream of one text block that hands over eight chunks at once, as a network read does."""

    def __init__(self, count: int) -> None:
        delta: limen.StreamChunk = limen.TextDelta(0, "abc")
        end = limen.BlockEnd(0, limen.TextBlock("abc" * count))
        finish = limen.Finish(limen.FinishReason("stop"))
        chunks: list[limen.StreamChunk] = [limen.BlockStart(0, "text"), *[delta] * count, end, finish]
        self._batches = [chunks[start : start + 8] for start in range(0, len(chunks), 8)]

    def __aiter__(self) -> "Batches":
        return self

    async def __anext__(self) -> limen.StreamChunk:
        raise AssertionError("the runtime reads batches where it can")

    async def next_batch(self) -> list[limen.StreamChunk]:
        return self._batches.pop(0) if self._batches else []


class Ready(limen.LlmAdapter):
    """An adapter whose answer is there already: the model's name is its length."""

    def stream(self, options: limen.GenerateOptions) -> AsyncIterator[limen.StreamChunk]:
        return Batches(int(options.model))


def test_the_runtime_costs_few_calls() -> None:
    """From an adapter's read to the consumer's loop a chunk costs at most 10.5 calls, guard included (R6, R11)."""

    async def consume(count: int) -> None:
        async with limen.LlmRuntime() as runtime:
            runtime.register(["ready"], Ready())
            async for _ in runtime.stream(limen.GenerateOptions("ready", str(count), [limen.user("hi")])):
                pass

    def run(count: int) -> Callable[[], object]:
        return lambda: asyncio.run(consume(count))

    run(10)()
    found = (calls(run(2 * COUNT)) - calls(run(COUNT))) / COUNT

    assert found <= 10.5, f"{found:.2f} calls a chunk"


@pytest.mark.parametrize("wire", sorted(limen.wires()))
def test_a_request_costs_with_the_length_of_its_history(wire: str) -> None:
    """Twice the messages take twice the calls to serialize, also where all of one role become one turn."""

    def build(count: int) -> Callable[[], object]:
        history = [limen.user(f"turn {index}") for index in range(count)]
        options = limen.GenerateOptions(provider="p", model="m", messages=history, max_tokens=100)
        return lambda: limen.build_request(wire, options)

    build(2)()
    assert calls(build(800)) <= 2.1 * calls(build(400))
