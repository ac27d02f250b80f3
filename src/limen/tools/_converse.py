"""The loop between a model and tools, async (X8)."""

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Protocol

from limen.contract import (
    AbortError,
    AbortSignal,
    Finish,
    GenerateOptions,
    LlmError,
    Response,
    StreamChunk,
    ToolCallBlock,
    ToolResultBlock,
)
from limen.tools._conversation import (
    DEFAULT_MAX_TURNS,
    BeforeCall,
    ChunkEvent,
    Conversation,
    Event,
    judged,
    merged,
)
from limen.tools._output import DEFAULT_MAX_OUTPUT
from limen.tools._registry import ToolRegistry
from limen.tools._run import Limits, execute_calls


class AnswerStream(Protocol):
    """The stream of one call, as `limen.LlmRuntime.stream` returns it."""

    def __aiter__(self) -> AsyncIterator[StreamChunk]: ...

    async def response(self) -> Response:
        """Return the collected answer; a failure is `LlmError` with what had arrived as `.partial`."""
        ...

    async def aclose(self) -> None:
        """Close the connection."""
        ...


class Llm(Protocol):
    """The model of a conversation: a `limen.LlmRuntime`, or an object of yours with `stream`."""

    def stream(self, options: GenerateOptions, /) -> AnswerStream:
        """Begin a call."""
        ...


async def converse(
    llm: Llm,
    options: GenerateOptions,
    registry: ToolRegistry,
    *,
    max_turns: int = DEFAULT_MAX_TURNS,
    before_call: BeforeCall | None = None,
    concurrency: int = 8,
    max_output: int = DEFAULT_MAX_OUTPUT,
) -> AsyncGenerator[Event, None]:
    """Ask the model, execute the tools that it calls, and ask again, until it answers; iterate the events.

    `ChunkEvent` for each chunk, `ResultEvent` for each result of a turn in the order of the calls, `Ended` at last.
    Each has `messages`, the history so far: keep the last one, put it into the options, and the run goes on there.
    `options.signal` ends the run, which is `Ended("aborted")`; a failure of the model is `Ended("failure")`.
    `options.tools` unset means all of the registry; else only the tools named there are executed. `before_call` sees
    each call before any of its turn runs, and may return `Deny(reason)` or `Replace(arguments)`. Raised are a tool's
    `NonRecoverableToolError`, what `before_call` raises, and `INVALID_OPTIONS` for a history that cannot be served.
    Leave early with `contextlib.aclosing`, so that the connection is closed at once.
    """
    conversation = Conversation(options, registry, max_turns)
    limits = Limits(options.signal or AbortSignal(), concurrency, max_output, conversation.offered)
    limits.check()
    ended = None
    while ended is None:
        stream = llm.stream(conversation.request())
        conversation.response = None
        try:
            async for chunk in stream:
                if isinstance(chunk, Finish):
                    conversation.answered(await _settled(stream))
                yield ChunkEvent(chunk, conversation.messages)
            ended = conversation.outcome()
        except AbortError:
            # An interceptor's own, which a stream raises unchanged (E2).
            ended = conversation.ended("aborted")
        finally:
            await stream.aclose()
        if ended is None:
            try:
                results = await resolve(conversation, registry, before_call, limits)
            except AbortError:
                ended = conversation.ended("aborted")
            else:
                for event in conversation.resolved(results):
                    yield event
                if not conversation.may_go_on:
                    ended = conversation.ended("max-turns")
    yield ended


async def _settled(stream: AnswerStream) -> Response | None:
    try:
        return await stream.response()
    except LlmError as failure:
        return failure.partial


async def resolve(
    conversation: Conversation, registry: ToolRegistry, before_call: BeforeCall | None, limits: Limits
) -> list[ToolResultBlock]:
    """Return the results of the last answer's calls, executed or denied; `AbortError` on an abort."""
    if before_call is None:
        return await execute_calls(conversation.calls, registry, limits)
    judgements = [await _judge(call, before_call, limits.signal) for call in conversation.calls]
    allowed = [found for found in judgements if isinstance(found, ToolCallBlock)]
    return merged(judgements, await execute_calls(allowed, registry, limits))


async def _judge(call: ToolCallBlock, before_call: BeforeCall, signal: AbortSignal) -> ToolCallBlock | ToolResultBlock:
    signal.raise_if_aborted()
    verdict: object = before_call(call)
    if inspect.isawaitable(verdict):
        verdict = await _unless_aborted(verdict, signal)
    signal.raise_if_aborted()
    return judged(call, verdict)


async def _unless_aborted(work: Awaitable[object], signal: AbortSignal) -> object:
    """Await the hook; an abort cancels it and raises `AbortError`."""
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    remove = signal.on_abort(_cancel_from_anywhere(loop, task))
    try:
        return await task
    except asyncio.CancelledError:
        caller = asyncio.current_task()
        if caller is None or not caller.cancelling():
            signal.raise_if_aborted()
        raise
    finally:
        remove()


def _cancel_from_anywhere(loop: asyncio.AbstractEventLoop, task: "asyncio.Future[object]") -> Callable[[], None]:
    def cancel() -> None:
        with suppress(RuntimeError):  # the loop is closed, and the task with it
            loop.call_soon_threadsafe(task.cancel)

    return cancel
