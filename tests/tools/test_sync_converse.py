"""X8: the same loop without async, on `limen.sync`."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

import limen
import limen.tools.sync
from limen.contract import check_history
from limen.tools import ChunkEvent, Deny, Ended, Event, ResultEvent, ToolContext, ToolRegistry, _run, converse, tool
from tools._scripted import ScriptedAdapter, Turn, ask, call, scripted


@tool
def add(left: int, right: int) -> int:
    """Add two integers."""
    return left + right


FIRST = [call("add", {"left": 20, "right": 22}, "call_1"), call("add", {"left": 1, "right": 2}, "call_2")]
REGISTRY = ToolRegistry([add])


def run(turns: list[Turn], registry: ToolRegistry = REGISTRY, **options: Any) -> list[Event]:
    """Run a conversation to its end; its history passes N1 after every event."""
    limits = {name: options.pop(name) for name in ("max_turns", "before_call") if name in options}
    events: list[Event] = []
    with limen.sync.LlmRuntime() as llm:
        llm.register(["model"], ScriptedAdapter(turns))
        for event in limen.tools.sync.converse(llm, ask(**options), registry, **limits):
            check_history(event.messages)
            events.append(event)
    return events


def test_x8_both_faces_give_the_same_events() -> None:
    """X8: without async the events are those of the async face, one by one."""

    async def other() -> list[Event]:
        llm, _ = scripted(FIRST, "done")
        async with llm:
            return [event async for event in converse(llm, ask(), REGISTRY)]

    found, expected = run([FIRST, "done"]), asyncio.run(other())

    assert found[:-1] == expected[:-1]
    assert isinstance(found[-1], Ended)
    assert (found[-1].why, found[-1].messages, found[-1].usage) == (
        "answer",
        expected[-1].messages,
        limen.TokenUsage(20, 6),
    )


def test_x8_max_turns_and_hook() -> None:
    """X8: the limits and the hook are those of the async face."""
    events = run([FIRST, "never asked"], max_turns=1, before_call=lambda found: Deny("no"))

    assert [event.result.is_error for event in events if isinstance(event, ResultEvent)] == [True, True]
    assert isinstance(events[-1], Ended)
    assert events[-1].why == "max-turns"


def test_x8_an_abort_while_a_tool_runs() -> None:
    """X6, X8: an abort from a tool cancels what runs, and is an ending."""
    controller = limen.AbortController()

    @tool
    async def hang() -> None:
        """Hang."""
        controller.abort()
        await asyncio.Event().wait()

    (*_, last) = run([[call("hang")]], ToolRegistry([hang]), signal=controller.signal)

    assert isinstance(last, Ended)
    assert (last.why, len(last.messages)) == ("aborted", 1)


def test_x8_a_failure_is_an_ending() -> None:
    """X8: a failure of the model is an ending with what had arrived."""
    (*_, last) = run([limen.Failure("boom", "SERVER", "mid-stream")])

    assert isinstance(last, Ended)
    assert (last.why, last.response and last.response.text) == ("failure", "partly")


def test_x8_an_interceptor_may_abort() -> None:
    """X8, E2: an `AbortError` that an interceptor raises is the ending `aborted`."""

    async def interceptor(options: limen.GenerateOptions, following: Any) -> Any:
        if options.provider:
            raise limen.AbortError("enough")
        yield limen.BlockStart(0, "text")

    with limen.sync.LlmRuntime() as llm:
        llm.register(["model"], ScriptedAdapter([]))
        llm.use(interceptor)
        assert list(limen.tools.sync.converse(llm, ask(), REGISTRY)) == [Ended("aborted", None, ask().messages)]


def test_x8_one_loop_for_the_whole_conversation() -> None:
    """X8: async tools of one conversation run on one loop, so that what they open stays usable."""
    loops: list[object] = []

    @tool
    async def where() -> None:
        """Say where."""
        loops.append(asyncio.get_running_loop())

    run([[call("where")], [call("where")], "done"], ToolRegistry([where]))

    assert len(loops) == 2
    assert loops[0] is loops[1]


def test_x8_not_in_a_running_loop() -> None:
    """X8: in a thread that runs a loop, a call of a tool is a `RuntimeError` that names the async face."""

    async def main() -> None:
        run([FIRST, "done"])

    with pytest.raises(RuntimeError, match=r"use limen\.tools\.converse there"):
        asyncio.run(main())


def test_x8_leaving_early_closes_the_stream() -> None:
    """X8: closing the generator closes the model's stream and the loop of the tools."""
    with limen.sync.LlmRuntime() as llm:
        llm.register(["model"], ScriptedAdapter([FIRST, "done"]))
        events = limen.tools.sync.converse(llm, ask(), REGISTRY)
        seen = [type(event) for _, event in zip(range(10), events, strict=False)]
        events.close()

    assert seen == [ChunkEvent] * 8 + [ResultEvent] * 2


def test_x6_a_tool_that_ignores_its_cancellation(monkeypatch: pytest.MonkeyPatch) -> None:
    """X6: a tool that ignores its cancellation is named in a warning, and does not keep the caller waiting."""
    monkeypatch.setattr(_run, "CANCEL_TIMEOUT_S", 0.02)
    controller = limen.AbortController()
    release: list[bool] = []

    @tool
    async def stubborn(context: ToolContext) -> None:
        """Hang."""
        controller.abort()
        while not release:
            with suppress(asyncio.CancelledError):
                await asyncio.Event().wait()

    with pytest.warns(ResourceWarning, match="still running: stubborn"):
        (*_, last) = run([[call("stubborn")]], ToolRegistry([stubborn]), signal=controller.signal)
    assert isinstance(last, Ended)
    assert last.why == "aborted"

    release.append(True)
    (task,) = set(_run._left_running)
    loop = task.get_loop()
    task.cancel()
    loop.run_until_complete(asyncio.wait([task]))
    loop.close()


class CutStream:
    """A stream that ends without a finish."""

    def __iter__(self) -> Iterator[limen.StreamChunk]:
        return iter(())

    def response(self) -> limen.Response:
        """Return nothing."""
        raise limen.LlmError("cut", "STREAM_CLOSED")

    def close(self) -> None:
        """Close nothing."""


class CutLlm:
    """An object with `stream`, and nothing of limen's runtime."""

    def stream(self, options: limen.GenerateOptions, /) -> CutStream:
        """Return it."""
        return CutStream()


def test_x8_any_object_with_stream_will_do() -> None:
    """X8: the model is whatever has `stream`; a stream without a finish is a failure."""
    assert list(limen.tools.sync.converse(CutLlm(), ask(), REGISTRY)) == [Ended("failure", None, ask().messages)]
