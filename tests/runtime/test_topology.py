"""R8: listeners are told after each commit, and one that fails harms nobody."""

import asyncio
import logging

import pytest

from limen.contract import LlmError
from limen.runtime import LlmRuntime
from runtime._adapters import Scripted


def test_each_commit_is_told_once_and_shows_the_new_state() -> None:
    """R8: one notice for register, replace and dispose each; the registry already shows what it tells."""
    runtime = LlmRuntime()
    seen: list[tuple[tuple[str, ...], list[str]]] = []
    runtime.on_topology(lambda names: seen.append((names, [info.id for info in runtime.list_providers()])))

    handle = runtime.register(["a", "b"], Scripted())
    handle.replace(["c"])
    handle.dispose()
    handle.dispose()

    assert seen == [(("a", "b"), ["a", "b"]), (("c",), ["c"]), ((), [])]


def test_a_listener_may_take_nothing() -> None:
    """R8: a listener without parameters is called without arguments, a builtin with the names."""
    runtime = LlmRuntime()
    told: list[str] = []
    names: list[tuple[str, ...]] = []
    runtime.on_topology(lambda: told.append("told"))
    runtime.on_topology(names.append)
    runtime.on_topology(dict)

    runtime.register(["a"], Scripted())

    assert (told, names) == (["told"], [("a",)])


def test_a_refused_change_is_no_commit() -> None:
    """R8: what did not happen is not told."""
    runtime = LlmRuntime()
    handle = runtime.register(["a"], Scripted())
    handle.dispose()
    told: list[object] = []
    runtime.on_topology(told.append)

    for change in (lambda: runtime.register([], Scripted()), lambda: handle.replace(["b"])):
        with pytest.raises(LlmError):
            change()

    assert told == []


def test_a_listener_that_was_taken_back_hears_nothing() -> None:
    """R8: the returned function removes the listener; twice is harmless."""
    runtime = LlmRuntime()
    told: list[object] = []
    remove = runtime.on_topology(told.append)

    remove()
    remove()
    runtime.register(["a"], Scripted())

    assert told == []


def test_a_listener_that_fails_is_contained(caplog: pytest.LogCaptureFixture) -> None:
    """R8, E5: a failing listener vetoes nothing and starves nobody; it is logged at DEBUG, scrubbed."""
    runtime = LlmRuntime()
    told: list[object] = []

    def fail() -> None:
        raise RuntimeError("no: Bearer abcdefghijklmnop")

    runtime.on_topology(fail)
    runtime.on_topology(told.append)
    with caplog.at_level(logging.DEBUG, "limen"):
        runtime.register(["a"], Scripted())

    assert told == [("a",)]
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("DEBUG", "a topology listener failed: no: Bearer [redacted]")
    ]


async def test_a_listener_that_fails_later_is_contained_too(caplog: pytest.LogCaptureFixture) -> None:
    """R8, H19: an asynchronous listener is run, and its failure never surfaces elsewhere."""
    runtime = LlmRuntime()
    ran = asyncio.Event()

    async def fail(names: tuple[str, ...]) -> None:
        ran.set()
        raise RuntimeError("later")

    runtime.on_topology(fail)
    with caplog.at_level(logging.DEBUG, "limen"):
        runtime.register(["a"], Scripted())
        await ran.wait()
        await asyncio.sleep(0)

    assert [record.getMessage() for record in caplog.records] == ["a topology listener failed later: later"]


class Base(BaseException):
    """Derives from no `Exception`, and ends no process."""


async def test_a_listener_that_raises_no_exception_is_contained_too() -> None:
    """R8: whatever a listener raises, at once or later, it vetoes nothing and starves nobody."""
    runtime = LlmRuntime()
    told: list[object] = []
    ran = asyncio.Event()

    def fail() -> None:
        raise Base

    async def fail_later() -> None:
        ran.set()
        raise Base

    for listener in (fail, fail_later, told.append):
        runtime.on_topology(listener)
    runtime.register(["a"], Scripted())
    await ran.wait()
    await asyncio.sleep(0)

    assert told == [("a",)]


@pytest.mark.parametrize("fatal", [SystemExit, KeyboardInterrupt])
def test_what_ends_the_process_passes_through_a_listener(fatal: type[BaseException]) -> None:
    """R8: Ctrl-C in a listener is not swallowed; the registration stands."""
    runtime = LlmRuntime()

    def fail() -> None:
        raise fatal

    runtime.on_topology(fail)
    with pytest.raises(fatal):
        runtime.register(["a"], Scripted())

    assert [info.id for info in runtime.list_providers()] == ["a"]


async def test_a_listener_that_is_cancelled_later_is_cancelled() -> None:
    """R8, Q6: a cancellation of an asynchronous listener is one."""
    runtime = LlmRuntime()
    waiting = asyncio.Event()
    tasks: list[asyncio.Task[object] | None] = []

    async def listen() -> None:
        tasks.append(asyncio.current_task())
        waiting.set()
        await asyncio.Event().wait()

    runtime.on_topology(listen)
    runtime.register(["a"], Scripted())
    await waiting.wait()
    [task] = tasks
    assert task is not None

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


def test_an_asynchronous_listener_needs_a_loop(caplog: pytest.LogCaptureFixture) -> None:
    """R8: where no loop runs, an asynchronous listener cannot; that is its failure, and contained."""
    runtime = LlmRuntime()

    async def listen() -> None:
        raise AssertionError("never run")

    runtime.on_topology(listen)
    with caplog.at_level(logging.DEBUG, "limen"):
        runtime.register(["a"], Scripted())

    assert [record.getMessage() for record in caplog.records] == ["a topology listener failed: no running event loop"]
