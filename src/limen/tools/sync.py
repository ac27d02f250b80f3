"""`converse` without async, for a `limen.sync.LlmRuntime` (X8)."""

import asyncio
from collections.abc import Coroutine, Generator, Iterator
from typing import Protocol, TypeVar

from limen.contract import AbortError, AbortSignal, Finish, GenerateOptions, LlmError, Response, StreamChunk
from limen.tools._conversation import DEFAULT_MAX_TURNS, BeforeCall, ChunkEvent, Conversation, Event
from limen.tools._converse import resolve
from limen.tools._output import DEFAULT_MAX_OUTPUT
from limen.tools._registry import ToolRegistry
from limen.tools._run import Limits, has_left_running

__all__ = ["AnswerStream", "Llm", "converse"]

T = TypeVar("T")


class AnswerStream(Protocol):
    """The stream of one call, as `limen.sync.LlmRuntime.stream` returns it."""

    def __iter__(self) -> Iterator[StreamChunk]: ...

    def response(self) -> Response:
        """Return the collected answer; a failure is `LlmError` with what had arrived as `.partial`."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class Llm(Protocol):
    """The model of a conversation without async: a `limen.sync.LlmRuntime`, or an object of yours."""

    def stream(self, options: GenerateOptions, /) -> AnswerStream:
        """Begin a call."""
        ...


def converse(
    llm: Llm,
    options: GenerateOptions,
    registry: ToolRegistry,
    *,
    max_turns: int = DEFAULT_MAX_TURNS,
    before_call: BeforeCall | None = None,
    concurrency: int = 8,
    max_output: int = DEFAULT_MAX_OUTPUT,
) -> Generator[Event, None, None]:
    """Ask the model, execute the tools that it calls, and ask again, until it answers; iterate the events.

    The same as `limen.tools.converse`. Tools run on an event loop in the calling thread, one for the whole
    conversation, so a thread that runs a loop already is a `RuntimeError`: use `limen.tools.converse` there. Ctrl-C
    cancels the tools and is raised.
    """
    conversation = Conversation(options, registry, max_turns)
    limits = Limits(options.signal or AbortSignal(), concurrency, max_output, conversation.offered)
    limits.check()
    tools = _Loop()
    ended = None
    try:
        while ended is None:
            stream = llm.stream(conversation.request())
            conversation.response = None
            try:
                for chunk in stream:
                    if isinstance(chunk, Finish):
                        conversation.answered(_settled(stream))
                    yield ChunkEvent(chunk, conversation.messages)
                ended = conversation.outcome()
            except AbortError:
                ended = conversation.ended("aborted")
            finally:
                stream.close()
            if ended is None:
                try:
                    results = tools.run(resolve(conversation, registry, before_call, limits))
                except AbortError:
                    ended = conversation.ended("aborted")
                else:
                    yield from conversation.resolved(results)
                    if not conversation.may_go_on:
                        ended = conversation.ended("max-turns")
        yield ended
    finally:
        tools.close()


def _settled(stream: AnswerStream) -> Response | None:
    try:
        return stream.response()
    except LlmError as failure:
        return failure.partial


class _Loop:
    """The event loop of one conversation's tools; made when the first tool is called."""

    def __init__(self) -> None:
        self._runner: asyncio.Runner | None = None

    def run(self, work: Coroutine[object, object, T]) -> T:
        """Run a coroutine to its end."""
        if _is_running():
            work.close()
            raise RuntimeError("limen.tools.sync was called in a running event loop; use limen.tools.converse there")
        if self._runner is None:
            self._runner = asyncio.Runner()
        return self._runner.run(work)

    def close(self) -> None:
        """Close the loop, unless a tool that ignored its cancellation is on it: closing would wait for that one."""
        if self._runner is not None and not has_left_running(self._runner.get_loop()):
            self._runner.close()


def _is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
