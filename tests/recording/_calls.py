"""Calls against the mock provider that are recorded, shared by the tests of recordings."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import limen
from limen import LlmAdapter
from limen._compose import wire_of
from limen.adapters.anthropic import AnthropicAdapter, AnthropicOptions
from limen.adapters.openai_chat import OpenAIChatAdapter, OpenAIChatOptions
from limen.contract import Finish, StreamChunk
from limen.recording import Cassette, CassetteAdapter, Recorder
from limen.runtime import LlmRuntime
from limen.testing.server import MockProvider

CHAT, MESSAGES = "openai-chat", "anthropic-messages"
WIRES = {"route": (CHAT, "generic"), "claude": (MESSAGES, "anthropic")}
ROUTES = {CHAT: "route", MESSAGES: "claude"}
KEY = "sk-canary-5f1c2a9be07d4836"


def adapter(mock: MockProvider, wire: str) -> LlmAdapter:
    """A real adapter that talks to the mock provider."""
    url = mock.base_url(wire)
    timeouts = limen.Timeouts(first_event=5, idle_bytes=5, idle_event=5)
    if wire == CHAT:
        return OpenAIChatAdapter(OpenAIChatOptions(base_url=url, api_key=KEY, timeouts=timeouts))
    return AnthropicAdapter(AnthropicOptions(base_url=url, api_key=KEY, timeouts=timeouts))


def asked(wire: str, model: str = "mock-text", words: str = "hi") -> limen.GenerateOptions:
    return limen.GenerateOptions(ROUTES[wire], model, [limen.user(words)])


async def chunks_of(runtime: LlmRuntime, options: limen.GenerateOptions) -> list[StreamChunk]:
    async with runtime.stream(options) as stream:
        return [chunk async for chunk in stream]


async def recorded(
    mock: MockProvider, path: Path, calls: Sequence[limen.GenerateOptions], wire: str, redact: Sequence[str] = ()
) -> list[list[StreamChunk]]:
    """Make the calls one after another, all recorded; return what each consumer saw."""
    async with LlmRuntime() as runtime:
        runtime.register([ROUTES[wire]], adapter(mock, wire))
        runtime.use(Recorder(path, wires=WIRES, redact=redact))
        seen = [await chunks_of(runtime, options) for options in calls]
    # A connection that was closed early is told of in the loop's next turns.
    for _ in range(3):
        await asyncio.sleep(0)
    return seen


async def replayed(path: Path, calls: Sequence[limen.GenerateOptions]) -> list[list[StreamChunk]]:
    """Make the same calls against the cassette."""
    async with LlmRuntime() as runtime:
        cassette = CassetteAdapter(Cassette.load(path), [wire_of(CHAT), wire_of(MESSAGES)])
        runtime.register(list(WIRES), cassette)
        return [await chunks_of(runtime, options) for options in calls]


def told(chunks: list[StreamChunk]) -> list[object]:
    """What a stream says; of a failure that was raised the facts, not the words of the connection."""
    said: list[object] = list(chunks)
    last = chunks[-1]
    if isinstance(last, Finish) and last.reason.failure is not None:
        facts = last.reason.failure
        # A recording does not tell whether a connection without an answer ever came about.
        phase = "headers" if facts.phase == "connect" else facts.phase
        said[-1] = (last.reason.kind, facts.code, phase, facts.status, facts.provider_code, facts.request_id)
    return said
