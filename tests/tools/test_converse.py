"""X8: the loop between a model and tools; every event has a history that can be gone on with."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Any, get_args

import pytest

import limen
from limen.contract import ToolResultBlock, check_history
from limen.tools import (
    Allow,
    ChunkEvent,
    Deny,
    Ended,
    Event,
    NonRecoverableToolError,
    Replace,
    ResultEvent,
    ToolContext,
    ToolRegistry,
    converse,
    tool,
)
from limen.tools._conversation import Why
from tools._scripted import ScriptedAdapter, ask, call, error_of, scripted


@tool
async def add(left: int, right: int) -> int:
    """Add two integers."""
    return left + right


FIRST = [call("add", {"left": 20, "right": 22}, "call_1"), call("add", {"left": "x"}, "call_2")]
REGISTRY = ToolRegistry([add])


async def run(
    llm: limen.LlmRuntime,
    options: limen.GenerateOptions | None = None,
    registry: ToolRegistry = REGISTRY,
    **limits: Any,
) -> list[Event]:
    """Run a conversation to its end; its history passes N1 after every event."""
    events: list[Event] = []
    async with llm:
        async for event in converse(llm, options or ask(), registry, **limits):
            check_history(event.messages)
            events.append(event)
    return events


def end(events: Sequence[Event]) -> Ended:
    """The last event, which is the only one of its kind."""
    assert [type(event) for event in events].count(Ended) == 1
    last = events[-1]
    assert isinstance(last, Ended)
    return last


async def test_x8_a_round_trip() -> None:
    """X8: chunks, results in the order of the calls, and the end with the response, the history and the usage."""
    llm, adapter = scripted(FIRST, "The sum is 42.")
    events = await run(llm)

    results = [event for event in events if isinstance(event, ResultEvent)]
    assert results[0].result == ToolResultBlock("call_1", "42")
    assert error_of(results[1].result)[0] == "TOOL_ARGUMENTS_INVALID"
    last = end(events)
    assert (last.why, last.response and last.response.text) == ("answer", "The sum is 42.")
    assert last.usage == limen.TokenUsage(input_tokens=20, output_tokens=6)
    assert [message.role for message in last.messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert last.messages[1].content == tuple(FIRST)
    assert [request.tools for request in adapter.requests] == [REGISTRY.specs()] * 2
    assert adapter.requests[1].messages == last.messages[:4]


async def test_x8_the_chunks_are_the_streams_own() -> None:
    """X8: a conversation shows each chunk of each turn, once and in order."""
    from tools._scripted import chunks

    llm, _ = scripted(FIRST, "done")
    events = await run(llm)

    assert [event.chunk for event in events if isinstance(event, ChunkEvent)] == [*chunks(FIRST), *chunks("done")]


async def test_x8_a_turn_enters_the_history_with_its_last_result() -> None:
    """X8: until its last result a turn with calls is not in the history; an answer is from its finish on."""
    llm, _ = scripted(FIRST, "done")
    events = await run(llm)
    lengths = [len(event.messages) for event in events]

    assert lengths == [1] * 8 + [1, 4] + [4] * 4 + [5, 5]


async def test_x8_a_run_goes_on_from_any_event() -> None:
    """X8: stopped after any event, a run goes on from its history to the same end."""
    llm, _ = scripted(FIRST, "done")
    events = await run(llm)
    for event in events[:-2]:
        turns = ("done",) if len(event.messages) > 1 else (FIRST, "done")
        again, _ = scripted(*turns)
        assert end(await run(again, ask(messages=event.messages))).messages == end(events).messages


async def test_x8_max_turns() -> None:
    """X8: after `max_turns` turns the run ends as `max-turns`, the results of the last turn in its history."""
    llm, adapter = scripted(FIRST[:1], FIRST[:1], "never asked")
    last = end(await run(llm, max_turns=2))

    assert (last.why, len(adapter.requests)) == ("max-turns", 2)
    assert [message.role for message in last.messages] == ["user", "assistant", "tool", "assistant", "tool"]
    assert last.response is not None
    assert last.response.tool_calls == (FIRST[0],)


@pytest.mark.parametrize("limits", [{"max_turns": 0}, {"max_turns": True}, {"max_output": 3}, {"concurrency": 0}])
async def test_x8_limits_that_are_none(limits: dict[str, Any]) -> None:
    """X8: a limit that is no whole number above its least is a `ValueError`."""
    llm, _ = scripted(FIRST)
    with pytest.raises(ValueError, match="whole number"):
        await run(llm, **limits)


async def test_x8_a_failure_is_an_ending() -> None:
    """X8: a failure of the model ends the run as `failure`, with what had arrived and a history to go on with."""
    llm, _ = scripted(FIRST[:1], limen.Failure("boom", "SERVER", "mid-stream"))
    last = end(await run(llm))

    assert last.why == "failure"
    assert last.response is not None
    assert last.response.finish.failure is not None
    assert (last.response.finish.failure.code, last.response.text) == ("SERVER", "partly")
    assert [message.role for message in last.messages] == ["user", "assistant", "tool", "assistant"]
    assert last.usage == limen.TokenUsage(input_tokens=10, output_tokens=3)


async def test_x8_an_abort_while_the_model_answers() -> None:
    """X8: an abort during a turn is the ending `aborted`, and is not raised."""
    controller = limen.AbortController()
    llm, adapter = scripted(FIRST[:1], silent=True)
    running = asyncio.create_task(run(llm, ask(signal=controller.signal)))
    await asyncio.wait_for(adapter.asked.wait(), 10)
    controller.abort("enough")
    last = end(await running)

    assert (last.why, [message.role for message in last.messages]) == ("aborted", ["user", "assistant", "tool"])
    assert last.response is not None
    assert last.response.finish.kind == "aborted"


async def test_x8_an_abort_before_the_first_turn() -> None:
    """X8: a signal that is aborted already makes the ending `aborted`."""
    controller = limen.AbortController()
    controller.abort()
    llm, adapter = scripted("never asked")

    assert (end(await run(llm, ask(signal=controller.signal))).why, adapter.requests) == ("aborted", [])


async def test_x8_an_abort_while_a_tool_runs() -> None:
    """X8: an abort during a tool cancels it, ends as `aborted`, and leaves the turn out of the history."""
    controller = limen.AbortController()
    ended: list[str] = []

    @tool
    async def hang() -> None:
        """Hang."""
        controller.abort()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    llm, _ = scripted([call("hang")])
    last = end(await run(llm, ask(signal=controller.signal), ToolRegistry([hang])))

    assert (last.why, len(last.messages), ended) == ("aborted", 1, ["cancelled"])
    assert last.response is not None
    assert last.response.tool_calls == (call("hang"),)


async def test_x8_a_tool_may_abort() -> None:
    """X8: an `AbortError` of a tool's own is the ending `aborted` too."""

    @tool
    async def quit_now() -> None:
        """Quit."""
        raise limen.AbortError("enough")

    llm, _ = scripted([call("quit_now")])

    assert end(await run(llm, registry=ToolRegistry([quit_now]))).why == "aborted"


async def test_x8_an_interceptor_may_abort() -> None:
    """X8, E2: an `AbortError` that an interceptor raises is the ending `aborted`, without a response."""

    async def interceptor(options: limen.GenerateOptions, following: Any) -> AsyncIterator[limen.StreamChunk]:
        if options.provider:
            raise limen.AbortError("enough")
        yield limen.BlockStart(0, "text")

    llm, _ = scripted("never asked")
    llm.use(interceptor)

    assert await run(llm) == [Ended("aborted", None, ask().messages)]


async def test_x8_what_stops_the_run_is_raised() -> None:
    """X4, X8: a `NonRecoverableToolError` leaves the conversation unchanged."""
    error = NonRecoverableToolError("disk on fire")

    @tool
    async def burn() -> None:
        """Burn."""
        raise error

    llm, _ = scripted([call("burn")])
    with pytest.raises(NonRecoverableToolError) as caught:
        await run(llm, registry=ToolRegistry([burn]))

    assert caught.value is error


async def test_x8_a_history_that_cannot_be_served_is_raised() -> None:
    """N1, X8: a history with an unanswered call is `INVALID_OPTIONS`, before any request."""
    llm, adapter = scripted("never asked")
    with pytest.raises(limen.LlmError) as caught:
        await run(llm, ask(messages=[limen.user("?"), limen.assistant([call("add")])]))

    assert (caught.value.code, adapter.requests) == ("INVALID_OPTIONS", [])


async def test_x8_only_offered_tools_are_executed() -> None:
    """X8: where the options name tools, a call of another one is `TOOL_NOT_FOUND`, registered or not."""
    effects: list[str] = []

    @tool
    async def delete() -> None:
        """Delete everything."""
        effects.append("deleted")

    llm, adapter = scripted([call("delete", id="1"), FIRST[0]], "done")
    events = await run(llm, ask(tools=[add.spec]), ToolRegistry([add, delete]))
    first, second = [event.result for event in events if isinstance(event, ResultEvent)]

    assert error_of(first) == ("TOOL_NOT_FOUND", "no tool is named 'delete'; the tools are add")
    assert (second.content, effects) == ("42", [])
    assert adapter.requests[0].tools == (add.spec,)


async def test_x8_no_tools() -> None:
    """X8: an empty registry offers nothing, and the answer is the end."""
    llm, adapter = scripted("done")

    assert (end(await run(llm, registry=ToolRegistry())).why, adapter.requests[0].tools) == ("answer", None)


Hook = Callable[[limen.ToolCallBlock], object]


async def seen_by(hook: Hook, **options: Any) -> tuple[list[ToolResultBlock], Ended]:
    """Run both calls under a hook; return their results and the end."""
    llm, _ = scripted(FIRST, "done")
    events = await run(llm, ask(**options), before_call=hook)
    return [event.result for event in events if isinstance(event, ResultEvent)], end(events)


@pytest.mark.parametrize("verdict", [None, Allow()])
async def test_x8_the_hook_allows(verdict: object) -> None:
    """X8: `before_call` sees each call in order; `Allow()`, or nothing, lets it run."""
    seen: list[limen.ToolCallBlock] = []

    def hook(found: limen.ToolCallBlock) -> object:
        seen.append(found)
        return verdict

    results, _ = await seen_by(hook)

    assert (seen, results[0].content) == (FIRST, "42")


async def test_x8_the_hook_denies() -> None:
    """X8: `Deny(reason)` is an error result with the reason; the other calls of the turn run."""
    results, last = await seen_by(lambda found: Deny("not on a Sunday") if found.id == "call_2" else None)

    assert results[0].content == "42"
    assert error_of(results[1]) == ("TOOL_CALL_DENIED", "not on a Sunday")
    assert last.why == "answer"


@pytest.mark.parametrize(
    ("arguments", "content"),
    [({"left": 1, "right": 2}, "3"), ('{"left": 2, "right": 2}', "4")],
)
async def test_x8_the_hook_replaces_arguments(arguments: Any, content: str) -> None:
    """X8: `Replace(arguments)` runs the call with others, as data or text; the history keeps the model's own."""
    results, last = await seen_by(lambda found: Replace(arguments))

    assert [result.content for result in results] == [content, content]
    assert last.messages[1].content == tuple(FIRST)


async def test_x8_replaced_arguments_are_validated() -> None:
    """X8: what the hook puts in the place of arguments is validated like the model's own."""
    results, _ = await seen_by(lambda found: Replace({"left": 1}))

    assert error_of(results[0]) == ("TOOL_ARGUMENTS_INVALID", "$.right: is required")


async def test_x8_an_async_hook() -> None:
    """X8: the hook may be async, such as one that asks a person."""

    async def hook(found: limen.ToolCallBlock) -> object:
        await asyncio.get_running_loop().run_in_executor(None, bool)
        return Deny("no")

    results, _ = await seen_by(hook)

    assert [error_of(result) for result in results] == [("TOOL_CALL_DENIED", "no")] * 2


@pytest.mark.parametrize(("verdict", "error"), [(True, TypeError), (ValueError("mine"), ValueError)])
async def test_x8_a_hook_that_fails(verdict: object, error: type[Exception]) -> None:
    """X8: what the hook raises is raised unchanged, no verdict is a `TypeError`, and no call of the turn has run."""
    effects: list[str] = []

    @tool
    async def effect() -> None:
        """Have an effect."""
        effects.append("done")

    def hook(found: limen.ToolCallBlock) -> object:
        if found.id == "1":
            return Allow()
        if isinstance(verdict, Exception):
            raise verdict
        return verdict

    llm, _ = scripted([call("effect", id="1"), call("effect", id="2")])
    with pytest.raises(error):
        await run(llm, registry=ToolRegistry([effect]), before_call=hook)

    assert effects == []


async def test_x8_an_abort_while_the_hook_waits() -> None:
    """X6, X8: an abort does not wait for a hook that waits for a person, and no call runs."""
    controller, asked, ended = limen.AbortController(), asyncio.Event(), asyncio.Event()

    async def hook(found: limen.ToolCallBlock) -> object:
        asked.set()
        try:
            return await asyncio.Event().wait()
        finally:
            ended.set()

    running = asyncio.create_task(seen_by(hook, signal=controller.signal))
    await asyncio.wait_for(asked.wait(), 10)
    controller.abort()
    results, last = await running

    assert (results, last.why, ended.is_set()) == ([], "aborted", True)


async def test_x8_a_cancellation_while_the_hook_waits() -> None:
    """Q6, X8: cancelling the task is raised as such also where the signal is aborted at the same time."""
    controller, asked = limen.AbortController(), asyncio.Event()

    async def hook(found: limen.ToolCallBlock) -> object:
        asked.set()
        return await asyncio.Event().wait()

    running = asyncio.create_task(seen_by(hook, signal=controller.signal))
    await asyncio.wait_for(asked.wait(), 10)
    running.cancel()
    controller.abort()
    with pytest.raises(asyncio.CancelledError):
        await running


def test_x8_an_abort_after_the_loop_has_closed() -> None:
    """X8: a signal that outlives the loop of a waiting hook may be aborted in peace."""
    from limen.tools._converse import _cancel_from_anywhere

    loop = asyncio.new_event_loop()
    waiting: asyncio.Future[object] = loop.create_future()
    loop.close()

    _cancel_from_anywhere(loop, waiting)()

    assert not waiting.cancelled()


async def test_x8_leaving_early_closes_the_stream() -> None:
    """X8: a consumer that leaves closes the model's stream before it goes on."""
    closed: list[str] = []

    class Slow(ScriptedAdapter):
        async def stream(self, options: limen.GenerateOptions) -> AsyncIterator[limen.StreamChunk]:
            try:
                yield limen.BlockStart(0, "text")
                yield limen.TextDelta(0, "a")
                await asyncio.Event().wait()
            finally:
                closed.append("closed")

    async with limen.LlmRuntime() as llm:
        llm.register(["model"], Slow([]))
        async with aclosing(converse(llm, ask(), REGISTRY)) as events:
            async for event in events:
                assert isinstance(event, ChunkEvent)
                break
        assert closed == ["closed"]


async def test_x8_a_registry_that_grows() -> None:
    """X8: unset tools are those of the registry at each turn, so a tool may bring others."""
    registry = ToolRegistry()

    @tool
    async def load(context: ToolContext) -> str:
        """Load more tools."""
        registry.register([add])
        return context.name

    registry.register([load])
    llm, adapter = scripted([call("load")], [FIRST[0]], "done")
    last = end(await run(llm, registry=registry))

    assert [len(request.tools or ()) for request in adapter.requests] == [1, 2, 2]
    assert last.messages[4].content == (ToolResultBlock("call_1", "42"),)


class OwnStream:
    """A stream of an object that is no runtime: nothing but a response, which has calls and no message."""

    def __init__(self, response: limen.Response | limen.LlmError) -> None:
        self.answer = response

    async def __aiter__(self) -> AsyncIterator[limen.StreamChunk]:
        yield limen.Finish(limen.FinishReason("stop"))

    async def response(self) -> limen.Response:
        """Return it."""
        if isinstance(self.answer, limen.LlmError):
            raise self.answer
        return self.answer

    async def aclose(self) -> None:
        """Close nothing."""


class OwnLlm:
    """An object with `stream`, and nothing of limen's runtime."""

    def __init__(self, *answers: limen.Response | limen.LlmError) -> None:
        self.answers = list(answers)

    def stream(self, options: limen.GenerateOptions, /) -> OwnStream:
        """Return the next."""
        return OwnStream(self.answers.pop(0))


async def test_x8_any_object_with_stream_will_do() -> None:
    """X8: the model is whatever has `stream`; a response without message, usage or at all is lived with."""
    asking = limen.Response(None, limen.FinishReason("tool-calls"), tool_calls=(FIRST[0],))
    usage = limen.TokenUsage(input_tokens=1)
    answer = limen.Response(limen.assistant("42"), limen.FinishReason("stop"), usage, "42")
    more = limen.Response(None, limen.FinishReason("tool-calls"), limen.TokenUsage(2, 3), tool_calls=(FIRST[0],))

    *_, last = [event async for event in converse(OwnLlm(asking, more, answer), ask(), REGISTRY)]
    assert isinstance(last, Ended)
    assert (last.why, last.usage) == ("answer", limen.TokenUsage(3, 3))
    check_history(last.messages)

    *_, last = [event async for event in converse(OwnLlm(limen.LlmError("gone", "TRANSPORT")), ask(), REGISTRY)]
    assert last == Ended("failure", None, ask().messages)


async def test_x8_a_stream_without_a_finish_is_a_failure() -> None:
    """X8: a stream of an object that breaks the protocol and never finishes is a failure, not an answer."""

    class Cut(OwnStream):
        async def __aiter__(self) -> AsyncIterator[limen.StreamChunk]:
            return
            yield

    class CutLlm:
        def stream(self, options: limen.GenerateOptions, /) -> OwnStream:
            return Cut(limen.LlmError("cut", "STREAM_CLOSED"))

    assert [event async for event in converse(CutLlm(), ask(), REGISTRY)] == [Ended("failure", None, ask().messages)]


def test_x8_the_four_endings() -> None:
    """X8: there are four ways to end."""
    assert get_args(Why) == ("answer", "max-turns", "aborted", "failure")
