"""`limen.sync`: the same calls without async, from any thread, with Ctrl-C getting through."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import pytest

import limen
from limen import sync
from limen.contract import LlmAdapter, Next, StreamChunk, TextBlock
from limen.testing.server import MockProvider

TEXT = "Hello from the mock provider."


@pytest.fixture
def provider() -> Iterator[MockProvider]:
    """A provider on this machine, in a thread of its own."""
    with MockProvider() as running:
        yield running


@pytest.fixture
def llm(provider: MockProvider, monkeypatch: pytest.MonkeyPatch) -> Iterator[sync.LlmRuntime]:
    """A runtime with one route to the provider."""
    monkeypatch.setenv("LIMEN_TEST_KEY", "key-0123")
    route = {"adapter": "deepseek", "base_url": provider.base_url("openai-chat"), "api_key_env": "LIMEN_TEST_KEY"}
    with limen.sync.open_runtime({"routes": {"main": route}}) as opened:
        yield opened


def hello(model: str = "mock-text", *, signal: limen.AbortSignal | None = None) -> limen.GenerateOptions:
    """A small request."""
    return limen.GenerateOptions("main", model, [limen.user("hello")], signal=signal)


def threads() -> list[str]:
    """The threads of runtimes that are open."""
    return [thread.name for thread in threading.enumerate() if thread.name == "limen-sync"]


def test_iterating_a_stream(llm: sync.LlmRuntime) -> None:
    """A stream gives the chunks of the asynchronous one, and its response after it (R11)."""
    stream = llm.stream(hello())

    chunks = list(stream)

    assert [type(chunk).__name__ for chunk in chunks][:2] == ["BlockStart", "TextDelta"]
    assert chunks[-1] == limen.Finish(limen.FinishReason("stop"))
    assert stream.response().text == TEXT
    assert stream.response() is stream.response()
    assert (stream.info.provider, stream.info.attempts) == ("main", 1)


def test_a_stream_is_iterated_once(llm: sync.LlmRuntime) -> None:
    """A second iteration is `RuntimeError`; after `response()` alone one is allowed (R11)."""
    stream = llm.stream(hello())
    stream.response()
    assert list(stream)[-1] == limen.Finish(limen.FinishReason("stop"))

    with pytest.raises(RuntimeError, match="iterated once"):
        iter(stream)


def test_text_and_complete(llm: sync.LlmRuntime) -> None:
    """`text()` is the visible text alone, `complete()` the whole answer."""
    assert "".join(llm.stream(hello("mock-reasoning")).text()) == "Hello, after some thought."
    assert llm.complete(hello("mock-reasoning")).reasoning == "The user wants a greeting, so I greet."


def test_failures(llm: sync.LlmRuntime) -> None:
    """Iteration ends with the failure as its finish; `response()`, `text()` and `complete()` raise it (E2)."""
    last = list(llm.stream(hello("mock-text+cut")))[-1]
    assert isinstance(last, limen.Finish)
    assert last.reason.failure is not None
    assert last.reason.failure.code == "STREAM_CLOSED"

    pieces: list[str] = []
    with pytest.raises(limen.LlmError) as of_text:
        pieces.extend(llm.stream(hello("mock-text+cut")).text())
    with pytest.raises(limen.LlmError) as of_response:
        llm.stream(hello("mock-text+401")).response()
    with pytest.raises(limen.LlmError) as of_complete:
        llm.complete(hello("mock-text+401"))

    assert "".join(pieces) == "Hello from"
    assert [caught.value.code for caught in (of_text, of_response, of_complete)] == ["STREAM_CLOSED", "AUTH", "AUTH"]
    assert of_text.value.partial is not None
    assert of_text.value.partial.text == "Hello from"


def test_prepared_calls_and_models(llm: sync.LlmRuntime) -> None:
    """Preparing, listing and resolving are the asynchronous ones (R3, R10)."""
    call = llm.prepare_call(hello())

    assert (call.options.model, call.model.id, dict(call.adapter_defaults)) == ("mock-text", "mock-text", {})
    assert call.stream().response().text == TEXT
    assert [info.id for info in llm.list_providers()] == ["main"]
    assert "mock-text" in [model.id for model in llm.list_models("main")]
    assert llm.resolve_model("main", "anything").id == "anything"


class Echo(LlmAdapter):
    """Says one thing."""

    async def stream(self, options: limen.GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Say it."""
        yield limen.BlockStart(0, "text")
        yield limen.TextDelta(0, options.model)
        yield limen.BlockEnd(0, TextBlock(options.model))
        yield limen.Finish(limen.FinishReason("stop"))


def test_registering_by_hand() -> None:
    """A runtime without configuration serves adapters that are registered, listeners and interceptors included."""
    told: list[tuple[str, ...]] = []
    seen: list[str] = []

    async def interceptor(options: limen.GenerateOptions, following: Next) -> AsyncIterator[StreamChunk]:
        seen.append(options.model)
        async for chunk in following(options):
            yield chunk

    with sync.LlmRuntime() as llm:
        llm.on_topology(told.append)
        remove = llm.use(interceptor)
        with llm.register(["echo"], Echo()):
            first = llm.complete(limen.GenerateOptions("echo", "hi", [limen.user("x")])).text
            remove()
            second = llm.complete(limen.GenerateOptions("echo", "ho", [limen.user("x")])).text
        with pytest.raises(limen.LlmError, match="no configuration to read"):
            llm.reload()

    assert (first, second, seen, told) == ("hi", "ho", ["hi"], [("echo",), ()])


def test_reload(llm: sync.LlmRuntime) -> None:
    """`reload()` takes a configuration whole or not at all (K5)."""
    with pytest.raises(limen.LlmError, match="adapter is missing"):
        llm.reload({"routes": {"a": {}}})
    assert [info.id for info in llm.list_providers()] == ["main"]

    llm.reload({"routes": {"other": {"adapter": "deepseek"}}})
    assert [info.id for info in llm.list_providers()] == ["other"]


def test_leaving_closes_the_connection(llm: sync.LlmRuntime, provider: MockProvider) -> None:
    """Leaving the `with` closes the connection; `response()` then raises `ABORTED` with what had arrived (R11)."""
    with llm.stream(hello("mock-text+stall-mid-stream")) as stream:
        for chunk in stream:
            if chunk == limen.TextDelta(0, " from"):
                break

    provider.requests[0].closed.wait_blocking(10)
    with pytest.raises(limen.LlmError) as caught:
        stream.response()
    assert caught.value.code == "ABORTED"
    assert caught.value.partial is not None
    assert caught.value.partial.text == "Hello from"


def test_closing_from_another_thread_unblocks_a_read(llm: sync.LlmRuntime, provider: MockProvider) -> None:
    """A thread that waits for a silent provider gets the terminal chunk when another thread closes the stream."""
    stream = llm.stream(hello("mock-text+stall-mid-stream"))
    chunks: list[StreamChunk] = []
    reader = threading.Thread(target=lambda: chunks.extend(stream))
    reader.start()
    provider.request_blocking(1).stalled.wait_blocking(10)

    stream.close()

    reader.join(10)
    assert not reader.is_alive()
    last = chunks[-1]
    assert isinstance(last, limen.Finish)
    assert last.reason.kind == "aborted"
    provider.requests[0].closed.wait_blocking(10)


def test_the_callers_signal_from_another_thread(llm: sync.LlmRuntime, provider: MockProvider) -> None:
    """`abort()` in any thread ends a call that waits, also `complete()` (Q6)."""
    controller = limen.AbortController()

    def abort() -> None:
        provider.request_blocking(1).stalled.wait_blocking(10)
        controller.abort("enough")

    other = threading.Thread(target=abort)
    other.start()
    with pytest.raises(limen.LlmError) as caught:
        llm.complete(hello("mock-text+stall-mid-stream", signal=controller.signal))
    other.join(10)

    assert caught.value.code == "ABORTED"


def test_closing_the_runtime_ends_what_runs(provider: MockProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    """Closing ends open streams as aborted, in whatever thread they are read, and the thread of the loop (R11)."""
    monkeypatch.setenv("LIMEN_TEST_KEY", "key-0123")
    route = {"adapter": "deepseek", "base_url": provider.base_url("openai-chat"), "api_key_env": "LIMEN_TEST_KEY"}
    llm = sync.open_runtime({"routes": {"main": route}})
    stream = llm.stream(hello("mock-text+stall-mid-stream"))
    chunks: list[StreamChunk] = []
    reader = threading.Thread(target=lambda: chunks.extend(stream))
    reader.start()
    provider.request_blocking(1).stalled.wait_blocking(10)

    llm.close()
    reader.join(10)
    llm.close()
    stream.close()

    last = chunks[-1]
    assert isinstance(last, limen.Finish)
    assert last.reason.kind == "aborted"
    assert threads() == []
    with pytest.raises(limen.LlmError) as caught:
        stream.response()
    assert caught.value.code == "ABORTED"
    for call in (lambda: llm.complete(hello()), lambda: llm.stream(hello())):
        with pytest.raises(RuntimeError, match="this runtime is closed"):
            call()


def test_what_was_read_is_kept_after_the_runtime(provider: MockProvider) -> None:
    """The response of a stream that ended, or was left, is there also when its runtime is not; others are aborted."""
    route = {"adapter": "openai-chat", "base_url": provider.base_url("openai-chat")}
    with sync.open_runtime({"routes": {"main": route}}) as opened:
        whole, unread = opened.stream(hello()), opened.stream(hello())
        left, begun = (opened.stream(hello("mock-text+stall-mid-stream")) for _ in range(2))
        list(whole)
        next(iter(left))
        left.close()
        rest = iter(begun)
        first = next(rest)

    assert whole.response().text == TEXT
    assert whole.response() is whole.response()
    for stream in (left, unread):
        with pytest.raises(limen.LlmError) as caught:
            stream.response()
        assert caught.value.code == "ABORTED"
    last = list(rest)[-1]
    assert first == limen.BlockStart(0, "text")
    assert isinstance(last, limen.Finish)
    assert last.reason.kind == "aborted"
    assert list(unread)[-1] == last


class Hanging(LlmAdapter):
    """An adapter that answers nothing, and says when it was asked and when it was cancelled."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.cancelled = threading.Event()

    def stream(self, options: limen.GenerateOptions) -> AsyncIterator[StreamChunk]:
        """Refuse."""
        raise limen.LlmError("only models are asked of this adapter", "UNSUPPORTED")

    async def list_models(self, provider: str) -> Sequence[limen.ModelInfo]:
        """Wait without end."""
        self.asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return ()


def test_closing_ends_every_call() -> None:
    """A call that waits in another thread when the runtime closes ends as on a runtime that is closed."""
    adapter = Hanging()
    opened = sync.LlmRuntime()
    opened.register(["slow"], adapter)
    faults: list[str] = []

    def ask() -> None:
        try:
            opened.list_models("slow")
        except RuntimeError as fault:
            faults.append(str(fault))

    asking = threading.Thread(target=ask)
    asking.start()
    adapter.asked.wait(10)
    opened.close()
    asking.join(10)

    assert adapter.cancelled.is_set()
    assert faults == ["this runtime is closed"]


@pytest.mark.skipif(sys.platform == "win32", reason="a signal cannot be sent to one process there")
def test_ctrl_c_cancels_what_the_main_thread_waits_for() -> None:
    """Ctrl-C cancels the work on the loop, also of calls that make no stream."""
    adapter = Hanging()

    def interrupt() -> None:
        adapter.asked.wait(10)
        os.kill(os.getpid(), signal.SIGINT)

    other = threading.Thread(target=interrupt)
    with sync.LlmRuntime() as opened:
        opened.register(["slow"], adapter)
        other.start()
        with pytest.raises(KeyboardInterrupt):
            opened.list_models("slow")
        assert adapter.cancelled.wait(10)
    other.join(10)


def test_a_configuration_that_does_not_validate() -> None:
    """A runtime that cannot be opened raises why, and leaves no thread behind (K5)."""
    with pytest.raises(limen.LlmError) as caught:
        sync.open_runtime({"routes": {"a": {}}})

    assert caught.value.code == "INVALID_CONFIG"
    assert threads() == []


class Unclosable(Echo):
    """An adapter whose clean-up fails."""

    async def aclose(self) -> None:
        """Fail."""
        raise OSError("the clean-up failed")


def test_a_clean_up_that_fails_is_raised() -> None:
    """What closing an adapter raises comes out of `close()`, once, with the thread ended."""
    llm = sync.LlmRuntime()
    llm.register(["echo"], Unclosable())

    with pytest.raises(OSError, match="the clean-up failed"):
        llm.close()
    llm.close()

    assert threads() == []


def test_a_dropped_stream_warns_and_closes(llm: sync.LlmRuntime, provider: MockProvider) -> None:
    """A stream that is dropped unfinished gives its connection up and warns; a finished or unread one does not."""
    list(llm.stream(hello()))
    llm.stream(hello())
    held = [iter(llm.stream(hello("mock-text+stall-mid-stream")))]
    next(held[0])

    with pytest.warns(ResourceWarning, match="a stream was dropped before its end"):
        held.clear()

    provider.request_blocking(2).closed.wait_blocking(10)


def test_a_dropped_runtime_warns_and_ends() -> None:
    """A runtime that is dropped open warns, and its thread ends."""
    held = [sync.LlmRuntime()]
    (thread,) = (one for one in threading.enumerate() if one.name == "limen-sync")

    with pytest.warns(ResourceWarning, match="dropped without close"):
        held.clear()

    thread.join(10)
    assert not thread.is_alive()


def test_calling_from_the_loops_own_thread() -> None:
    """A synchronous call on the runtime's own loop would wait for itself: it is `RuntimeError`."""
    faults: list[str] = []

    async def interceptor(options: limen.GenerateOptions, following: Next) -> AsyncIterator[StreamChunk]:
        try:
            opened.complete(options)
        except RuntimeError as fault:
            faults.append(str(fault))
        async for chunk in following(options):
            yield chunk

    with sync.LlmRuntime() as opened:
        opened.use(interceptor)
        opened.register(["echo"], Echo())
        opened.complete(limen.GenerateOptions("echo", "hi", [limen.user("x")]))

    assert faults == ["limen.sync was called on its own loop; use the async calls there"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_is_told(llm: sync.LlmRuntime) -> None:
    """A child process has no thread of the parent's: a call there is `RuntimeError`, not a wait without end (T2)."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of forking beside threads
        child = os.fork()
    if child == 0:
        try:
            llm.list_models("main")
            said = "no error"
        except RuntimeError as fault:
            said = str(fault)
        os.write(write, said.encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read) as words:
        assert words.read() == "this runtime was opened in another process; open one here"


INTERRUPTED = """
import sys, limen
url, what = sys.argv[1:]
route = {"adapter": "deepseek", "base_url": url, "api_key_env": "LIMEN_TEST_KEY"}
options = limen.GenerateOptions("main", "mock-text+stall-mid-stream", [limen.user("hello")])
with limen.sync.open_runtime({"routes": {"main": route}}) as llm:
    try:
        if what == "iterate":
            with llm.stream(options) as stream:
                for chunk in stream:
                    if isinstance(chunk, limen.TextDelta):
                        print(chunk.text, flush=True)
        else:
            llm.complete(options)
    except KeyboardInterrupt:
        if what == "iterate":
            try:
                stream.response()
            except limen.LlmError as error:
                print(error.code, repr(error.partial.text))
        print("interrupted")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a signal cannot be sent to one process there")
@pytest.mark.parametrize(
    ("what", "shown", "output"),
    [
        ("iterate", ["Hello\n", " from\n"], "ABORTED 'Hello from'\ninterrupted\n"),
        ("complete", [], "interrupted\n"),
    ],
)
def test_ctrl_c_aborts_the_call(
    provider: MockProvider, tmp_path: Path, what: str, shown: list[str], output: str
) -> None:
    """Ctrl-C while the main thread waits is `KeyboardInterrupt` there, and the call is aborted (Q6)."""
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, str(script), provider.base_url("openai-chat"), what],
        env={**os.environ, "LIMEN_TEST_KEY": "key-0123"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        provider.request_blocking(1).stalled.wait_blocking(10)
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in shown] == shown

        process.send_signal(signal.SIGINT)

        assert process.communicate(timeout=10)[0] == output
    assert process.returncode == 0
    provider.requests[0].closed.wait_blocking(10)


def test_many_threads_share_a_runtime(llm: sync.LlmRuntime) -> None:
    """Any thread may call: forty at once each get their own whole answer, and nothing is left running."""
    answers: list[str] = []

    def ask(number: int) -> None:
        if number % 2:
            answers.append(llm.complete(hello()).text)
        else:
            answers.append("".join(llm.stream(hello()).text()))

    asking = [threading.Thread(target=ask, args=(number,)) for number in range(40)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join(30)

    assert answers == [TEXT] * 40
    llm.close()
    assert threads() == []


def test_the_same_error_keeps_its_length() -> None:
    """R11, E2: `response()` raises one error again and again, and its traceback does not grow."""
    lengths: list[int] = []
    with sync.LlmRuntime() as llm:
        stream = llm.stream(limen.GenerateOptions("nowhere", "m", [limen.user("hi")]))
        for _ in range(5):
            with pytest.raises(limen.LlmError) as caught:
                stream.response()
            lengths.append(len(traceback.extract_tb(caught.value.__traceback__)))

    assert lengths[1:] == lengths[1:2] * 4
