"""Public faults of HTTP stacks and client lifecycles, each by its own minimal input, through the public calls."""

import asyncio
import gc
import gzip
import json
import logging
import subprocess
import sys
import threading
import traceback
import warnings

import pytest

import limen
from limen import GenerateOptions, LlmError, LlmRuntime, Retry, RetryPolicy, TextDelta, Timeouts
from limen.adapters.deepseek import DeepSeekAdapter, DeepSeekOptions
from limen.testing.server import MockProvider
from transport._byte_server import CHUNKED, HEAD, LAST, ByteServer, Connection, chunk, sized

KEY = "sk-quirk-0a1b2c3d4e5f"
END = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


def said(text: str) -> bytes:
    """One event of a chat completion."""
    return b'data: {"choices":[{"index":0,"delta":{"content":%b}}]}\n\n' % json.dumps(text).encode()


def served(url: str, *, key: str = KEY, timeouts: Timeouts | None = None) -> tuple[LlmRuntime, DeepSeekAdapter]:
    """A runtime with one route to that address."""
    adapter = DeepSeekAdapter(DeepSeekOptions(base_url=url, api_key=key, timeouts=timeouts or Timeouts()))
    llm = LlmRuntime()
    llm.register(["main"], adapter)
    return llm, adapter


def hello(model: str = "m", *, signal: limen.AbortSignal | None = None) -> GenerateOptions:
    """A small request."""
    return GenerateOptions("main", model, [limen.user("hello")], signal=signal)


async def half_a_stream(connection: Connection) -> None:
    """One word, then silence with the socket open."""
    await connection.request()
    await connection.send(CHUNKED + chunk(said("a")))
    await connection.gone()


async def test_Q038_a_stall_after_the_headers_ends_by_the_limit_on_silence() -> None:
    """A provider silent in mid-stream is a `TIMEOUT` that may be retried, and its connection is closed (T1)."""
    async with ByteServer(half_a_stream) as server:
        llm, _ = served(server.url, timeouts=Timeouts(idle_bytes=0.1))
        async with llm:
            with pytest.raises(LlmError) as caught:
                await llm.stream(hello()).response()
            await asyncio.wait_for(server.client_gone.wait(), 1)
    assert (caught.value.code, caught.value.failure.phase) == ("TIMEOUT", "mid-stream")
    assert caught.value.partial is not None
    assert caught.value.partial.text == "a"
    assert caught.value.code in RetryPolicy().codes


async def test_Q086_a_cancelled_read_closes_its_connection_and_stays_a_cancellation() -> None:
    """`task.cancel()` while the next chunk is awaited: CancelledError as it was, and the socket is closed (Q6)."""
    async with ByteServer(half_a_stream) as server:
        llm, _ = served(server.url)
        async with llm:
            first = asyncio.Event()

            async def read() -> None:
                async for piece in llm.stream(hello()):
                    if isinstance(piece, TextDelta):
                        first.set()

            task = asyncio.create_task(read())
            await asyncio.wait_for(first.wait(), 5)
            task.cancel("enough")
            with pytest.raises(asyncio.CancelledError, match="enough"):
                await task
            await asyncio.wait_for(server.client_gone.wait(), 1)


def test_Q087_close_from_another_thread_ends_a_quiet_read() -> None:
    """A consumer that stops during a long silence does not pay for the rest: `close()` unblocks the read (Q6, R11)."""
    with MockProvider("text+stall-mid-stream") as mock:
        route = {"adapter": "openai-chat", "base_url": mock.base_url("openai-chat")}
        with limen.sync.open_runtime({"routes": {"main": route}}) as llm:
            stream = llm.stream(hello())
            kinds: list[str] = []

            def read() -> None:
                kinds.extend(piece.reason.kind for piece in stream if isinstance(piece, limen.Finish))

            reader = threading.Thread(target=read)
            reader.start()
            mock.request_blocking(1).stalled.wait_blocking(10)
            stream.close()
            reader.join(10)
        mock.requests[0].closed.wait_blocking(10)
        assert (kinds, mock.requests[0].closed_early) == (["aborted"], True)


def test_Q089_a_client_dropped_after_its_loop_makes_no_noise() -> None:
    """The last reference to a client of a finished loop goes: `ResourceWarning` at most, no loop touched (T2)."""
    noise: list[object] = []
    kept: list[object] = []

    async def once() -> None:
        async with ByteServer(half_a_stream) as server:
            llm, adapter = served(server.url)
            stream = llm.stream(hello())
            await anext(aiter(stream))
            kept.extend((llm, adapter, stream))

    async def later() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: noise.append(context))
        kept.clear()
        gc.collect()
        await asyncio.sleep(0)

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        asyncio.run(once())
        asyncio.run(later())
    assert {warning.category for warning in seen} <= {ResourceWarning}
    assert noise == []


async def test_Q091_twenty_refused_streams_at_once_leave_the_client_fit() -> None:
    """A burst of 429 answers leaks no connection: bodies are read, connections closed, later calls served (K8)."""

    closed: list[Connection] = []

    async def script(connection: Connection) -> None:
        received = await connection.request()
        if b'"refuse"' in received.body:
            await connection.send(sized(b"slow down", status=b"429 Too Many Requests"))
            await connection.gone()
            closed.append(connection)
            if len(closed) == 20:
                all_closed.set()
        else:
            await connection.send(CHUNKED + chunk(said("a") + END) + LAST)
            await connection.gone()

    all_closed = asyncio.Event()
    async with ByteServer(script) as server:
        llm, _ = served(server.url)
        async with llm:
            burst = (llm.stream(hello("refuse")).response() for _ in range(20))
            refused = await asyncio.gather(*burst, return_exceptions=True)
            await asyncio.wait_for(all_closed.wait(), 5)
            assert server.connections == 20
            served_after = await asyncio.gather(*(llm.stream(hello()).response() for _ in range(20)))
            assert server.connections == 40
    assert [error.code for error in refused if isinstance(error, LlmError)] == ["RATE_LIMIT"] * 20
    assert {response.text for response in served_after} == {"a"}


async def test_Q095_a_key_in_an_address_is_in_no_text_of_the_error(caplog: pytest.LogCaptureFixture) -> None:
    """A 404 that quotes a URL with `?key=…` shows the key in no message, repr, traceback, chain or log record (E5)."""
    caplog.set_level(logging.DEBUG)

    async def script(connection: Connection) -> None:
        received = await connection.request()
        assert KEY not in received.line
        where = f"https://user:{KEY}@h.example/v1beta/models/m:generateContent?key={KEY}"
        body = json.dumps({"error": {"message": f"Client error 404 for url {where}", "code": 404}}).encode()
        await connection.send(sized(body, status=b"404 Not Found", more=b"content-type: application/json\r\n"))
        await connection.gone()

    async with ByteServer(script) as server:
        llm, adapter = served(server.url)
        async with llm:
            with pytest.raises(LlmError) as caught:
                await llm.stream(hello()).response()
        told = "".join(traceback.format_exception(caught.value))
    assert caught.value.code == "HTTP_404"
    links: list[BaseException | None] = [caught.value]
    while links:
        link = links.pop()
        if link is not None:
            told += str(link) + repr(link) + repr(link.args)
            links += [link.__cause__, link.__context__]
    assert KEY not in told + caplog.text + repr(caught.value.failure) + repr(adapter)
    assert "Client error 404 for url" in told


async def test_Q153_a_stream_compressed_unasked_arrives_event_by_event() -> None:
    """No coding is asked for; gzip that comes all the same is undone as each event is flushed (K8)."""
    go_on = asyncio.Event()

    async def script(connection: Connection) -> None:
        received = await connection.request()
        assert received.headers["accept-encoding"] == "identity"
        await connection.send(HEAD + b"content-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n")
        await connection.send(chunk(gzip.compress(said("a"))[:-8]))
        await go_on.wait()
        await connection.send(chunk(gzip.compress(said("a"))[-8:] + gzip.compress(END)) + LAST)
        await connection.gone()

    async with ByteServer(script) as server:
        llm, _ = served(server.url)
        async with llm:
            texts: list[str] = []
            async with llm.stream(hello()) as stream:
                async for piece in stream:
                    if isinstance(piece, TextDelta):
                        texts.append(piece.text)
                        go_on.set()
                response = await stream.response()
    assert (texts, response.finish.kind) == (["a"], "stop")


async def test_Q153_a_coding_nobody_can_undo_is_named() -> None:
    """Bytes in a coding that is unknown are `MALFORMED_RESPONSE` naming it, never an answer without text (S3)."""

    async def script(connection: Connection) -> None:
        await connection.request()
        await connection.send(sized(b"\x28\xb5\x2f\xfd", more=b"content-encoding: zstd\r\n"))
        await connection.gone()

    async with ByteServer(script) as server:
        llm, _ = served(server.url)
        async with llm:
            with pytest.raises(LlmError, match="zstd") as caught:
                await llm.stream(hello()).response()
    assert caught.value.code == "MALFORMED_RESPONSE"


def test_Q181_two_adapters_from_two_threads_keep_their_own_keys() -> None:
    """A hundred calls of each at once, from two threads: every request carries the key of its own adapter (K2)."""
    with MockProvider("text") as mock:

        async def many(number: int) -> None:
            llm, _ = served(mock.base_url("openai-chat"), key=f"sk-thread-{number}-0123456789")
            async with llm:
                calls = (llm.stream(hello(f"model-{number}")).response() for _ in range(100))
                await asyncio.gather(*calls)

        threads = [threading.Thread(target=asyncio.run, args=(many(number),)) for number in (1, 2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        sent = [(request.at("model"), request.header("authorization")) for request in mock.requests]
    assert sorted(sent) == sorted(
        (f"model-{n}", f"Bearer sk-thread-{n}-0123456789") for n in (1, 2) for _ in range(100)
    )


COLD = """
import threading
import limen

gate, failures = threading.Barrier(16), []

def first_use(number):
    gate.wait()
    try:
        wires = limen.wires()
        assert "openai-chat" in wires and "anthropic-messages" in wires
        body = b'data: {"choices":[{"delta":{"content":"a"}}]}\\n\\ndata: [DONE]\\n\\n'
        chunks = list(limen.iter_chunks("openai-chat", body))
        assert len(chunks) == 4
        limen.sync.open_runtime({"routes": {"main": {"adapter": "deepseek"}}}).close()
        limen.adapters.anthropic.AnthropicAdapter
    except BaseException as failure:
        failures.append(repr(failure))

threads = [threading.Thread(target=first_use, args=(number,)) for number in range(16)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failures, failures
"""


def test_Q183_sixteen_threads_may_be_the_first_to_use_it() -> None:
    """In a cold process, sixteen threads that load wires, adapters and runtimes at the same time all succeed."""
    done = subprocess.run([sys.executable, "-c", COLD], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


async def test_Q203_what_was_shown_is_never_followed_by_a_second_attempt() -> None:
    """Words, then a reset: no retry begins on the same stream; the failure brings what had arrived (R9)."""
    attempts: list[str] = []

    async def script(connection: Connection) -> None:
        await connection.request()
        attempts.append("asked")
        if len(attempts) == 1:
            await connection.send(CHUNKED + chunk(said("Hello")))
            await connection.delivered()
            connection.reset()
        else:
            await connection.send(CHUNKED + chunk(said("Hello world") + END) + LAST)
            await connection.gone()

    async with ByteServer(script) as server:
        llm, _ = served(server.url)
        llm.use(Retry(RetryPolicy(initial_delay_ms=1)))
        async with llm:
            stream = llm.stream(hello())
            chunks = [piece async for piece in stream]
            with pytest.raises(LlmError) as caught:
                await stream.response()
    assert chunks[:-1] == [limen.BlockStart(0, "text"), TextDelta(0, "Hello")]
    assert (caught.value.code, attempts) == ("TRANSPORT", ["asked"])
    assert caught.value.partial is not None
    assert caught.value.partial.text == "Hello"


async def test_Q203_an_attempt_that_showed_nothing_is_begun_again() -> None:
    """Headers, comments and a role are no output: the attempt after them is the one that the caller sees (R9)."""
    attempts: list[str] = []

    async def script(connection: Connection) -> None:
        await connection.request()
        attempts.append("asked")
        if len(attempts) == 1:
            role = b': queued\n\ndata: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'
            await connection.send(CHUNKED + chunk(role))
            await connection.delivered()
            connection.reset()
        else:
            await connection.send(CHUNKED + chunk(said("Hello world") + END) + LAST)
            await connection.gone()

    async with ByteServer(script) as server:
        llm, _ = served(server.url)
        llm.use(Retry(RetryPolicy(initial_delay_ms=1)))
        async with llm:
            chunks = [piece async for piece in llm.stream(hello())]
    assert chunks == [
        limen.BlockStart(0, "text"),
        TextDelta(0, "Hello world"),
        limen.BlockEnd(0, limen.TextBlock("Hello world")),
        limen.Finish(limen.FinishReason("stop")),
    ]
    assert attempts == ["asked", "asked"]
