"""Abort, cancellation and leaving through the runtime: the socket is closed within a second, also in silence (Q6)."""

import asyncio
from collections.abc import Callable

import pytest

from conformance import factories
from limen.contract import AbortController, Finish, GenerateOptions, LlmAdapter, LlmError, StreamChunk, user
from limen.runtime import LlmRuntime, ModelStream
from limen.testing.conformance import Endpoint
from limen.testing.server import MockProvider, RecordedRequest

ADAPTERS: dict[str, tuple[Callable[[Endpoint], LlmAdapter], str]] = {
    "deepseek": (factories.deepseek, "openai-chat"),
    "openai_chat": (factories.openai_chat, "openai-chat"),
    "anthropic": (factories.anthropic, "anthropic-messages"),
    "ollama": (factories.ollama, "ollama-chat"),
}
SILENCES = ["stall-before-headers", "stall-before-first-event", "stall-mid-stream", "keep-alives-forever"]
SECOND = 1.0


class Scene:
    """A runtime with one adapter, a provider that falls silent, and a call in that silence."""

    def __init__(self, mock: MockProvider, runtime: LlmRuntime) -> None:
        self.mock = mock
        self.runtime = runtime
        self.controller = AbortController()

    def stream(self) -> ModelStream:
        return self.runtime.stream(GenerateOptions("route", "m", [user("Hello")], signal=self.controller.signal))

    async def silent(self) -> RecordedRequest:
        request = await self.mock.request()
        await request.stalled.wait(5)
        return request


async def all_chunks(stream: ModelStream) -> list[StreamChunk]:
    return [chunk async for chunk in stream]


async def within_a_second(request: RecordedRequest, since: float) -> None:
    await request.closed.wait(SECOND)
    assert request.closed.at is not None
    assert request.closed.at - since < SECOND


@pytest.mark.parametrize("silence", SILENCES)
@pytest.mark.parametrize("name", sorted(ADAPTERS))
class TestSilence:
    """Each adapter in each kind of silence."""

    async def test_abort(self, name: str, silence: str) -> None:
        """The signal ends the call as `aborted` and closes the socket."""
        factory, wire = ADAPTERS[name]
        async with MockProvider(f"text+{silence}") as mock, LlmRuntime() as runtime:
            runtime.register(["route"], factory(Endpoint(base_url=mock.base_url(wire))))
            scene = Scene(mock, runtime)
            call = asyncio.create_task(all_chunks(scene.stream()))
            request = await scene.silent()
            since = asyncio.get_running_loop().time()
            scene.controller.abort("enough")
            await within_a_second(request, since)
            last = (await call)[-1]

        assert isinstance(last, Finish)
        assert (last.reason.kind, last.reason.failure and last.reason.failure.code) == ("aborted", "ABORTED")

    async def test_cancel(self, name: str, silence: str) -> None:
        """Cancelling the task closes the socket, and the task is cancelled."""
        factory, wire = ADAPTERS[name]
        async with MockProvider(f"text+{silence}") as mock, LlmRuntime() as runtime:
            runtime.register(["route"], factory(Endpoint(base_url=mock.base_url(wire))))
            scene = Scene(mock, runtime)
            call = asyncio.create_task(all_chunks(scene.stream()))
            request = await scene.silent()
            since = asyncio.get_running_loop().time()
            call.cancel()
            await within_a_second(request, since)
            await asyncio.wait({call})

        assert call.cancelled()

    async def test_leave(self, name: str, silence: str) -> None:
        """Leaving the stream's context, by whatever exception, closes the socket before it returns."""
        factory, wire = ADAPTERS[name]
        async with MockProvider(f"text+{silence}") as mock, LlmRuntime() as runtime:
            runtime.register(["route"], factory(Endpoint(base_url=mock.base_url(wire))))
            scene = Scene(mock, runtime)
            stream = scene.stream()
            with pytest.raises(TimeoutError):
                async with stream, asyncio.timeout(0.1):
                    await all_chunks(stream)
            since = asyncio.get_running_loop().time()
            await within_a_second(await scene.silent(), since)
            with pytest.raises(LlmError) as caught:
                await stream.response()

        assert caught.value.code == "ABORTED"
