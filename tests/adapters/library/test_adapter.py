"""The library behind the boundary: its errors, its limits, the signal, the key, and its absence."""

import asyncio
import importlib.util
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace

import pytest

from adapters.library._fake_litellm import Answer, Fake, install, part, raised
from limen.adapters.library import LiteLlmAdapter, LiteLlmOptions
from limen.contract import (
    AbortController,
    BlockStart,
    Finish,
    GenerateOptions,
    LlmError,
    ModelInfo,
    RetryPolicy,
    StreamChunk,
    TextDelta,
    Timeouts,
    UsageChunk,
    user,
)

KEY = "sk-fake-0123456789"
OPTIONS = GenerateOptions(provider="route", model="some/model", messages=[user("hi")])


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    return install(monkeypatch)


def adapter(**more: object) -> LiteLlmAdapter:
    return LiteLlmAdapter(LiteLlmOptions(**{"provider": "openai", "api_key": KEY, **more}))  # type: ignore[arg-type]


async def collect(options: GenerateOptions = OPTIONS, **more: object) -> list[StreamChunk]:
    return [chunk async for chunk in adapter(**more).stream(options)]


async def fails(options: GenerateOptions = OPTIONS, **more: object) -> LlmError:
    with pytest.raises(LlmError) as caught:
        await collect(options, **more)
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)
    return caught.value


def behind(error: Exception, cause: Exception) -> Exception:
    """An exception of the library's with what it was made of."""
    error.__context__ = cause
    return error


def wrapped(cause: Exception) -> Exception:
    return behind(raised("litellm.exceptions", "APIConnectionError", "litellm: wrapped", status_code=500), cause)


ANSWER = SimpleNamespace(
    status_code=429,
    headers={"Retry-After": "2", "x-request-id": "req-1"},
    _content=b'{"error":{"message":"slow down"}}',
)


@pytest.mark.parametrize(
    ("error", "code", "phase"),
    [
        (raised("openai", "APITimeoutError", "late"), "TIMEOUT", "headers"),
        (wrapped(raised("httpx", "ConnectError", "refused", OSError)), "TRANSPORT", "connect"),
        (wrapped(raised("httpx", "RemoteProtocolError", "closed")), "TRANSPORT", "headers"),
        (wrapped(raised("httpx2", "TimeoutException", "late")), "TIMEOUT", "headers"),
        (wrapped(raised("httpx", "ReadError", "Connection reset by peer")), "TRANSPORT", "headers"),
        (wrapped(raised("json", "JSONDecodeError", "no JSON", ValueError)), "MALFORMED_RESPONSE", "headers"),
        (raised("litellm.exceptions", "UnsupportedParamsError", "no"), "UNSUPPORTED", "resolve"),
        (KeyError("no model"), "UNKNOWN", "headers"),
        (raised("evil", "Claims", "I am AUTH", code="AUTH", status_code=401), "UNKNOWN", "headers"),
        (wrapped(raised("httpx", "HTTPStatusError", "429", response=ANSWER)), "RATE_LIMIT", "headers"),
    ],
)
async def test_what_the_library_raises(fake: Fake, error: Exception, code: str, phase: str) -> None:
    """An exception becomes a code by its real classes and the answer behind it, never by the code it claims (E4)."""
    fake.answer = error
    failure = await fails()

    assert (failure.code, failure.failure.phase) == (code, phase)


async def test_facts_of_a_refused_request(fake: Fake) -> None:
    """Status, delay and request id come from the answer that the exception keeps (E3)."""
    fake.answer = wrapped(raised("httpx", "HTTPStatusError", "429", response=ANSWER))
    failure = (await fails()).failure

    assert (failure.status, failure.provider_retry_after_ms, failure.request_id, failure.message) == (
        429,
        2000,
        "req-1",
        "slow down",
    )


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (
            raised(
                "httpx",
                "HTTPStatusError",
                'AnthropicException - b\'{"error":{"type":"authentication_error"}}\'',
                status_code=401,
            ),
            "AUTH",
        ),
        (raised("httpx", "HTTPStatusError", "503", status_code=503, body="the server is overloaded"), "OVERLOADED"),
        (
            raised(
                "httpx", "HTTPStatusError", "418", status_code=418, body=object(), response=SimpleNamespace(headers=7)
            ),
            "HTTP_418",
        ),
    ],
)
async def test_answers_of_which_little_is_left(fake: Fake, error: Exception, code: str) -> None:
    """Where the answer is gone its status and what the message quotes of the body still tell the code."""
    fake.answer = error

    assert (await fails()).code == code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (
            wrapped(
                raised("openai", "APIError", "Overloaded", body={"message": "Overloaded", "type": "overloaded_error"})
            ),
            "OVERLOADED",
        ),
        (raised("litellm.exceptions", "InternalServerError", "The server had an error", status_code=500), "SERVER"),
    ],
)
async def test_an_error_in_the_stream(fake: Fake, error: Exception, code: str) -> None:
    """What the provider told of inside its stream ends in-band, after the usage, and closes the answer (E1, C5)."""
    counts = SimpleNamespace(prompt_tokens=3, completion_tokens=1)
    answer = fake.answer = Answer([part(content="a"), part(finish="stop", usage=counts), error])
    *chunks, last = await collect()

    assert [type(chunk) for chunk in chunks] == [BlockStart, TextDelta, UsageChunk]
    assert isinstance(last, Finish)
    assert last.reason.failure is not None
    assert (last.reason.failure.code, last.reason.failure.phase, answer.closed) == (code, "mid-stream", 1)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (
            wrapped(raised("builtins", "StopAsyncIteration", "Stream ended before a finish_reason was received")),
            "STREAM_CLOSED",
        ),
        (wrapped(raised("aiohttp", "ClientPayloadError", "Not enough data")), "STREAM_CLOSED"),
        (wrapped(raised("aiohttp", "ClientPayloadError", "ConnectionResetError(104)")), "TRANSPORT"),
        (wrapped(KeyError(0)), "MALFORMED_RESPONSE"),
        (RuntimeError("a bug"), "UNKNOWN"),
    ],
)
async def test_a_stream_that_breaks(fake: Fake, error: Exception, code: str) -> None:
    """A stream that was cut, reset or tripped the library over is raised by its code, after what had arrived (S4)."""
    answer = fake.answer = Answer([part(content="a"), error])
    found: list[StreamChunk] = []

    async def read() -> None:
        async for chunk in adapter().stream(OPTIONS):
            found.append(chunk)

    with pytest.raises(LlmError) as caught:
        await read()

    assert found == [BlockStart(0, "text"), TextDelta(0, "a")]
    assert (caught.value.code, caught.value.failure.phase, answer.closed) == (code, "mid-stream", 1)


def endless() -> tuple[Callable[[], object], asyncio.Event, asyncio.Event]:
    """A step that never ends, with an event for its begin and one for its cancellation."""
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def step() -> object:
        begun.set()
        try:
            return await asyncio.Event().wait()
        finally:
            cancelled.set()

    return step, begun, cancelled


@pytest.mark.parametrize("where", ["request", "stream"])
async def test_the_signal_reaches_the_library(fake: Fake, where: str) -> None:
    """An abort cancels what the library is waiting for, and the call ends as ABORTED (Q6)."""
    step, begun, cancelled = endless()
    fake.answer = step if where == "request" else Answer([part(content="a"), step])
    controller = AbortController()
    options = GenerateOptions(provider="r", model="m", messages=[user("hi")], signal=controller.signal)
    task = asyncio.ensure_future(fails(options))
    await begun.wait()
    controller.abort()

    assert (await task).code == "ABORTED"
    assert cancelled.is_set()


async def test_a_signal_that_was_aborted_before(fake: Fake) -> None:
    """A call whose signal is aborted already asks nothing; an abort after the end changes nothing."""
    controller = AbortController()
    options = GenerateOptions(provider="r", model="m", messages=[user("hi")], signal=controller.signal)
    fake.answer = Answer([part(content="a", finish="stop")])
    assert isinstance((await collect(options))[-1], Finish)
    controller.abort()
    await asyncio.sleep(0)

    assert (await fails(options)).code == "ABORTED"
    assert len(fake.calls) == 1


@pytest.mark.parametrize(
    ("limits", "steps", "phase"),
    [
        (Timeouts(first_event=0.05), None, "headers"),
        (Timeouts(first_event=0.05), [], "first-event"),
        (Timeouts(idle_event=0.05), [part(content="a")], "mid-stream"),
        (Timeouts(total=0.05), [part(content="a")], "mid-stream"),
    ],
)
async def test_limits_of_time(fake: Fake, limits: Timeouts, steps: list[object] | None, phase: str) -> None:
    """`first_event`, `idle_event` and `total` end a silent call, of the route or of the call itself (T1)."""
    step, _, cancelled = endless()
    fake.answer = step if steps is None else Answer([*steps, step])
    options = GenerateOptions(provider="r", model="m", messages=[user("hi")], timeouts=limits)
    failure = await fails(options)

    assert (failure.code, failure.failure.phase, cancelled.is_set()) == ("TIMEOUT", phase, True)


async def test_leaving_the_stream(fake: Fake) -> None:
    """A stream that is left early closes the library's answer before it returns, and a failing clean-up is nothing."""
    answer = fake.answer = Answer([part(content="a"), part(content="b")])
    stream = adapter().stream(OPTIONS)
    first = await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]

    async def broken() -> None:
        raise OSError("gone")

    other = Answer([part(content="a", finish="stop")])
    other.aclose = broken  # type: ignore[method-assign]
    fake.answer = other
    assert (first, answer.closed) == (BlockStart(0, "text"), 1)
    assert isinstance((await collect())[-1], Finish)


async def test_an_answer_that_is_no_stream(fake: Fake) -> None:
    """Whatever the library gives out in the place of a stream is MALFORMED_RESPONSE."""
    fake.answer = SimpleNamespace(choices=[])

    assert (await fails()).code == "MALFORMED_RESPONSE"


def test_a_stream_belongs_to_its_loop(fake: Fake) -> None:
    """A stream that goes on in another loop raises RuntimeError (T2)."""
    fake.answer = Answer([part(content="a"), part(finish="stop")])
    stream = adapter().stream(OPTIONS)

    async def step() -> StreamChunk:
        return await anext(stream)

    with asyncio.Runner() as runner:
        runner.run(step())
        with pytest.raises(RuntimeError, match="belongs to another event loop"), asyncio.Runner() as other:
            other.run(step())
        runner.run(stream.aclose())  # type: ignore[attr-defined]


class Source:
    """A place for a key."""

    reference = "the variable A_KEY"

    def __init__(self, key: str | None) -> None:
        self.key = key

    async def api_key(self) -> str | None:
        return self.key


async def test_the_key(fake: Fake) -> None:
    """A key is asked for once per call and checked; without one only the library's own rules may help (K3, K4)."""
    fake.answer = Answer([part(content="a", finish="stop")])
    await collect(api_key=Source("sk-source-0123456789"))
    fake.answer = Answer([part(content="a", finish="stop")])
    await collect(api_key=None, library_credentials=True)

    assert [arguments["api_key"] for arguments in fake.calls] == ["sk-source-0123456789", None]
    assert (await fails(api_key=None)).code == "MISSING_CREDENTIAL"
    assert (await fails(api_key=Source(None))).code == "MISSING_CREDENTIAL"
    assert (await fails(api_key="not a key")).code == "INVALID_CREDENTIAL"
    assert KEY not in repr(LiteLlmOptions(api_key=KEY))


@pytest.mark.usefixtures("fake")
async def test_models_and_policy() -> None:
    """Configured models answer, an unlisted one is its id (R2, R10), and the route's policy is given out."""
    policy = RetryPolicy(max_retries=1)
    made = adapter(models=[ModelInfo("", "known", "Known", context_window=8)], retry=policy)

    assert await made.list_models("route") == (ModelInfo("route", "known", "Known", context_window=8),)
    assert await made.resolve_model("route", "known") == ModelInfo("route", "known", "Known", context_window=8)
    assert await made.resolve_model("route", "other") == ModelInfo("route", "other", "other")
    assert made.retry_policy("route") is policy


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"base_url": "ftp://example.test"}, "base_url: it is no http(s) address"),
        ({"base_url": "http://example.test/v1"}, "base_url is plain http to another machine"),
    ],
)
@pytest.mark.usefixtures("fake")
def test_addresses(more: dict[str, object], words: str) -> None:
    """An address that is none, or that would show the key on its way, is INVALID_CONFIG (K6)."""
    with pytest.raises(LlmError) as caught:
        adapter(**more)

    assert (caught.value.code, words in caught.value.failure.message) == ("INVALID_CONFIG", True)
    assert adapter(base_url="http://example.test/v1", allow_plain_http=True) is not None


def test_a_missing_library(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the library the route is INVALID_CONFIG, with the command that installs it."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr("limen.adapters.library._adapter.find_spec", lambda name: None)
    with pytest.raises(LlmError, match=r"pip install 'limen\[litellm\]'"):
        adapter()


@pytest.mark.usefixtures("fake")
async def test_a_module_that_is_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of that name without the functions that are called is INVALID_CONFIG."""
    other = ModuleType("litellm")
    other.__spec__ = ModuleSpec("litellm", None)
    monkeypatch.setitem(sys.modules, "litellm", other)

    assert (await fails()).code == "INVALID_CONFIG"


async def test_a_field_that_the_library_refuses(fake: Fake) -> None:
    """What the library raises while it writes the request is a failure before any I/O."""

    def refuse(**_: object) -> object:
        raise raised("litellm", "UnsupportedParamsError", "not for this model")

    fake.get_optional_params = refuse  # type: ignore[method-assign]
    failure = await fails(GenerateOptions(provider="r", model="m", messages=[user("hi")], seed=7))

    assert (failure.code, fake.calls) == ("UNSUPPORTED", [])
