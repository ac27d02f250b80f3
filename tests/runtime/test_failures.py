"""E1-E6: whatever an adapter does wrong is one outcome; typed facts are kept, foreign and forged ones not believed."""

import asyncio
import inspect
import logging
import pickle
from collections.abc import AsyncIterator, Callable

import msgspec
import pytest

from limen.contract import (
    AbortController,
    AbortError,
    AbortSignal,
    Failure,
    Finish,
    FinishReason,
    ForeignError,
    GenerateOptions,
    LlmAdapter,
    LlmError,
    ModelInfo,
    ProviderInfo,
    StreamChunk,
    codes,
)
from runtime._adapters import OPEN, Scripted, Step, asking, call_failure, chunks_of, failed, outcome_of, serving

KEY = "sk-canary-0123456789abcdef"

FACTS = Failure(
    "slow down",
    codes.RATE_LIMIT,
    phase="headers",
    status=429,
    provider_code="rate_limited",
    provider_retry_after_ms=1500,
    request_id="req_9",
    should_retry=True,
    provider="route",
    model="model-1",
)


class Raising(LlmAdapter):
    """Raises at dispatch, before there is a stream."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        raise self.error


class Returning(LlmAdapter):
    """Returns something that is no stream."""

    def __init__(self, made: Callable[[], object]) -> None:
        self.made = made

    def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
        return self.made()  # type: ignore[return-value]  # on purpose


@pytest.mark.parametrize("script", [(LlmError.of(FACTS),), (*OPEN, LlmError.of(FACTS))])
async def test_a_typed_error_keeps_its_facts(script: tuple[Step, ...]) -> None:
    """E2, H52: code, status, retry hint, request id and phase come through unchanged."""
    assert await outcome_of(serving(Scripted(script)).stream(asking())) == FACTS


async def test_a_failure_at_dispatch_is_an_outcome() -> None:
    """E2, H51: `stream()` itself may fail, typed or not."""
    assert await outcome_of(serving(Raising(LlmError.of(FACTS))).stream(asking())) == FACTS
    assert await outcome_of(serving(Raising(KeyError("choices"))).stream(asking())) == call_failure(
        "'choices'", codes.UNKNOWN, "first-event"
    )


async def test_a_foreign_error_is_unknown_with_its_text() -> None:
    """E4, H53: another library's exception is `UNKNOWN`; its phase says how far the call had come."""
    first = await outcome_of(serving(Scripted((OSError("gone"),))).stream(asking()))
    later = await outcome_of(serving(Scripted((*OPEN, OSError("gone")))).stream(asking()))

    assert first == call_failure("gone", codes.UNKNOWN, "first-event")
    assert later == call_failure("gone", codes.UNKNOWN, "mid-stream")


async def a_coroutine() -> None:
    """What `async def stream` without a `yield` gives."""


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (
            a_coroutine,
            "the adapter's stream() is a coroutine; it returns an async iterator, or is one by having a `yield`",
        ),
        (lambda: None, "the adapter's stream() returned a NoneType, not an async iterator"),
        (lambda: [OPEN], "the adapter's stream() returned a list, not an async iterator"),
    ],
)
async def test_what_is_no_stream_says_so(made: Callable[[], object], words: str) -> None:
    """E4, H51: a `stream()` that returns no stream is a bug with a clear message."""
    assert await outcome_of(serving(Returning(made)).stream(asking())) == call_failure(
        words, codes.UNKNOWN, "first-event"
    )


class Broken:
    """An iterator that breaks when it is asked, and notes if it is closed all the same."""

    closed = 0

    def __aiter__(self) -> "Broken":
        return self

    async def __anext__(self) -> StreamChunk:
        raise OSError("no step")

    async def aclose(self) -> None:
        self.closed += 1


async def test_a_broken_iterator_is_not_closed() -> None:
    """H50: an iterator that raised is at its end; its clean-up is not called."""
    broken = Broken()

    failure = await outcome_of(serving(Returning(lambda: broken)).stream(asking()))

    assert (failure, broken.closed) == (call_failure("no step", codes.UNKNOWN, "first-event"), 0)


class Unreadable(Exception):
    """Its text cannot be read."""

    def __str__(self) -> str:
        raise ValueError("no text")


class Sly(str):
    """A text that is another when it is looked at twice."""

    def strip(self, characters: str | None = None) -> str:
        raise ValueError("no strip")


class Fatal(Exception):
    """Its text raises what is no `Exception`."""

    def __str__(self) -> str:
        raise SystemExit


class SlyText(Exception):
    """Its text is of a class of its own."""

    def __str__(self) -> str:
        return Sly("sly")


class Dressed(Exception):
    """Claims another class."""

    @property  # type: ignore[misc]  # on purpose
    def __class__(self) -> type:
        return LlmError


class Raised(Exception):
    """Cannot even be asked for its class."""

    @property  # type: ignore[misc]  # on purpose
    def __class__(self) -> type:
        raise OSError("no class")


@pytest.mark.parametrize(
    ("kind", "given", "text"),
    [
        (Unreadable, "x", "an exception whose text cannot be read"),
        (Fatal, "x", "an exception whose text cannot be read"),
        (RuntimeError, "", "RuntimeError"),
        (RuntimeError, "  ", "RuntimeError"),
        (SlyText, "x", "sly"),
        (Dressed, "dressed", "dressed"),
        (Raised, "raised", "raised"),
        (RuntimeError, None, "None"),
    ],
)
async def test_hostile_errors_are_unknown(kind: type[Exception], given: object, text: str) -> None:
    """E4, H57: whatever a foreign exception does when it is read, the outcome is `UNKNOWN` with a text."""

    class Hostile(LlmAdapter):
        async def stream(self, options: GenerateOptions) -> AsyncIterator[StreamChunk]:
            for chunk in OPEN:
                yield chunk
            raise kind(given)

    stream = serving(Hostile()).stream(asking())

    assert await outcome_of(stream) == call_failure(text, codes.UNKNOWN, "mid-stream")


class ForgedProperty(LlmError):
    """A real subclass whose facts are what it likes."""

    @property
    def failure(self) -> Failure:
        return Failure("free of charge", codes.AUTH)


class ForgedCode(LlmError):
    """A real subclass whose code is another."""

    code = codes.AUTH


class Unmade(LlmError):
    """A real subclass that never became one."""

    def __init__(self) -> None:
        Exception.__init__(self, "unmade")


class Duck(Exception):
    """Looks like one."""

    code = codes.AUTH
    failure = Failure("quack", codes.AUTH)
    _failure = failure


def tampered(failure: object) -> LlmError:
    """A real one whose facts were exchanged afterwards."""
    error = LlmError("real", codes.SERVER)
    error._failure = failure  # type: ignore[assignment]
    return error


class Incomparable:
    """Facts that cannot be looked at."""

    def __eq__(self, other: object) -> bool:
        raise OSError("no comparing")

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    "error",
    [
        ForgedProperty("x", codes.SERVER),
        ForgedCode("x", codes.SERVER),
        Unmade(),
        Duck("quack"),
        tampered({"code": codes.AUTH}),
        tampered(Failure("x", codes.AUTH, status=42)),
        tampered(Failure("x", "auth")),
        tampered(Failure("x", codes.AUTH, phase=[])),  # type: ignore[arg-type]  # on purpose
    ],
)
async def test_a_forged_error_is_not_believed(error: Exception) -> None:
    """E4, H58: facts count where the constructor checked them, and nobody touched them since."""
    failure = await outcome_of(serving(Scripted((*OPEN, error))).stream(asking()))

    assert failure.code == codes.UNKNOWN


async def test_an_honest_subclass_is_believed() -> None:
    """E4: a class of one's own that changes nothing of the facts is an `LlmError`."""

    class Mine(LlmError):
        """Only a name."""

    failure = await outcome_of(serving(Scripted((Mine("mine", codes.QUOTA),))).stream(asking()))

    assert failure == call_failure("mine", codes.QUOTA, "first-event")


async def test_an_abort_error_is_an_abort() -> None:
    """E2: an adapter that raises `AbortError` was aborted, by whomever."""
    failure = await outcome_of(serving(Scripted((*OPEN, AbortError("why")))).stream(asking()))

    assert failure == call_failure("the call was aborted", codes.ABORTED, "mid-stream")


async def test_once_aborted_every_failure_is_aborted() -> None:
    """Q6, H54: what an adapter raises after the abort is `aborted`, and keeps its phase."""
    controller = AbortController()

    async def abort() -> None:
        controller.abort()

    runtime = serving(Scripted((*OPEN, abort, LlmError("late", codes.TIMEOUT, phase="headers"))))
    chunks = await chunks_of(runtime.stream(asking(signal=controller.signal)))

    assert chunks[-1] == Finish(FinishReason("aborted", call_failure("the call was aborted", codes.ABORTED, "headers")))


async def test_a_raised_abort_code_is_an_aborted_finish() -> None:
    """E2: a failure with the code `ABORTED` finishes as `aborted`, not as `error`."""
    chunks = await chunks_of(serving(Scripted((LlmError("bye", codes.ABORTED),))).stream(asking()))

    assert chunks == [Finish(FinishReason("aborted", call_failure("bye", codes.ABORTED, "first-event")))]


async def response_error(script: tuple[Step, ...]) -> LlmError:
    """What `response()` raises."""
    with pytest.raises(LlmError) as caught:
        await serving(Scripted(script)).complete(asking())
    return caught.value


async def test_a_foreign_cause_is_chained() -> None:
    """E2: who debugs sees the exception that the adapter raised, with its traceback."""
    original = OSError("gone")

    error = await response_error((*OPEN, original))

    assert error.__cause__ is original


async def test_a_typed_errors_own_cause_is_chained() -> None:
    """E2: an `LlmError` that is made anew passes on what led to the first."""
    original = LlmError("unreachable", codes.TRANSPORT)
    original.__cause__ = OSError("refused")

    error = await response_error((original,))

    assert error is not original
    assert error.__cause__ is original.__cause__
    assert (await response_error((LlmError("x", codes.SERVER),))).__cause__ is None


async def test_a_violation_names_its_rule_in_the_cause() -> None:
    """R6: the grammar's own error is the cause of a `PROTOCOL_VIOLATION`."""
    error = await response_error(OPEN)

    assert str(error.__cause__) == "C6: the stream ended without a finish"


async def test_an_in_band_failure_has_no_cause() -> None:
    """E1: what a provider said inside its stream was not raised by anybody."""
    assert (await response_error((failed(codes.SERVER),))).__cause__ is None


async def test_a_response_error_pickles_with_what_had_arrived() -> None:
    """E2: the error of a call travels between processes."""
    error = await response_error((*OPEN, failed(codes.SERVER)))

    copy = pickle.loads(pickle.dumps(error))

    assert (copy.failure, copy.partial) == (error.failure, error.partial)


@pytest.mark.parametrize("fatal", [SystemExit, GeneratorExit])
async def test_what_ends_the_process_is_not_caught(fatal: type[BaseException]) -> None:
    """E4: what ends the process passes through, as `KeyboardInterrupt` does; the stream can still be left."""
    stream = serving(Raising(fatal())).stream(asking())

    with pytest.raises(fatal):
        await anext(stream)
    await stream.aclose()


class Base(BaseException):
    """Derives from no `Exception`, and ends no process."""


@pytest.mark.parametrize("error", [Base("base"), BaseExceptionGroup("base", [Base("inner")])])
async def test_what_derives_from_no_exception_is_an_outcome_too(error: BaseException) -> None:
    """E2, E4: whatever an adapter raises becomes the finish, also what no `except Exception` sees."""
    failure = await outcome_of(serving(Raising(error)).stream(asking()))

    assert failure == call_failure(str(error), codes.UNKNOWN, "first-event")


async def test_a_question_that_raises_no_exception_is_answered_too() -> None:
    """E4: an adapter's answer for its models that fails with a `BaseException` is `UNKNOWN`."""

    class Asked(Scripted):
        async def list_models(self, provider: str) -> list[ModelInfo]:
            raise Base("base")

    with pytest.raises(LlmError) as caught:
        await serving(Asked()).list_models("route")

    assert caught.value.failure == Failure("base", codes.UNKNOWN, "resolve")


@pytest.mark.parametrize(
    "script",
    [
        (LlmError(f"denied: {KEY}", codes.AUTH, provider_code=f"x {KEY}", request_id=f"r-{KEY}"),),
        (RuntimeError(f"denied: {KEY}"),),
        (failed(codes.AUTH, f"denied: {KEY}", provider_code=f"x {KEY}"),),
        (f"chunk {KEY}",),
    ],
)
async def test_a_key_is_never_seen(script: tuple[Step, ...], caplog: pytest.LogCaptureFixture) -> None:
    """E5: not in chunks, messages, reprs, causes, tracebacks or logs, whichever way it came."""
    import traceback

    with caplog.at_level(logging.DEBUG):
        stream = serving(Scripted(script)).stream(asking())
        chunks = await chunks_of(stream)
        with pytest.raises(LlmError) as caught:
            await stream.response()

    shown = [repr(chunks), repr(caught.value.partial), *traceback.format_exception(caught.value), caplog.text]
    assert KEY not in "".join(shown)


async def test_a_cause_that_holds_a_key_has_a_stand_in() -> None:
    """E5: where scrubbing changes a foreign exception's text, a stand-in with its type name is chained."""
    error = await response_error((RuntimeError(f"denied: {KEY}"),))

    assert isinstance(error.__cause__, ForeignError)
    assert str(error.__cause__) == "RuntimeError: denied: [redacted]"


async def test_models_and_preparation_scrub_too() -> None:
    """E4, E5: questions about models fail as `LlmError`, foreign ones as `UNKNOWN` without a secret."""

    class Failing(Scripted):
        async def list_models(self, provider: str) -> list[object]:  # type: ignore[override]
            raise RuntimeError(f"denied: {KEY}")

        async def resolve_model(self, provider: str, model: str, **_: object) -> object:  # type: ignore[override]
            raise RuntimeError(f"denied: {KEY}")

    runtime = serving(Failing())
    for question in (
        lambda: runtime.list_models("route"),
        lambda: runtime.resolve_model("route", "m"),
        lambda: runtime.prepare_call(asking()),
    ):
        with pytest.raises(LlmError) as caught:
            await question()
        assert caught.value.failure == Failure("denied: [redacted]", codes.UNKNOWN, "resolve")
        assert str(caught.value.__cause__) == "RuntimeError: denied: [redacted]"


def chain_of(error: BaseException | None) -> str:
    """All that hangs on an error, by cause and by context, as text."""
    if error is None:
        return ""
    return f"{error!r} {error} {chain_of(error.__cause__)} {chain_of(error.__context__)}"


async def test_nothing_that_hangs_on_the_answer_to_a_question_holds_a_key() -> None:
    """E5: neither cause nor context of what list_models() and resolve_model() raise holds a credential."""

    class Failing(Scripted):
        error: Exception

        async def list_models(self, provider: str) -> list[object]:  # type: ignore[override]
            raise self.error

        async def resolve_model(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> ModelInfo:
            raise self.error

    typed = LlmError(f"denied {KEY}", codes.AUTH, provider_code=KEY)
    caused = LlmError("denied", codes.AUTH)
    caused.__cause__ = ValueError(KEY)
    adapter = Failing()
    runtime = serving(adapter)
    for error, code in ((RuntimeError(KEY), codes.UNKNOWN), (typed, codes.AUTH), (caused, codes.AUTH)):
        adapter.error = error
        for question in (
            runtime.list_models("route"),
            runtime.resolve_model("route", "m"),
            runtime.prepare_call(asking()),
        ):
            with pytest.raises(LlmError) as caught:
                await question
            assert caught.value.code == code
            assert KEY not in chain_of(caught.value) + repr(caught.value.failure)


@pytest.mark.parametrize("kind", [RuntimeError, Base])
def test_nothing_that_hangs_on_a_refused_registration_holds_a_key(kind: type[BaseException]) -> None:
    """E5, R1: an adapter that fails to describe its route is `INVALID_ADAPTER`, whatever it raises."""

    class Failing(Scripted):
        def provider_info(self, provider: str) -> ProviderInfo:
            raise kind(KEY)

    with pytest.raises(LlmError) as caught:
        serving(Failing())

    assert caught.value.code == codes.INVALID_ADAPTER
    assert KEY not in chain_of(caught.value)


@pytest.mark.parametrize("fatal", [SystemExit, KeyboardInterrupt])
def test_what_ends_the_process_passes_through_a_registration(fatal: type[BaseException]) -> None:
    """E4: Ctrl-C while an adapter describes its route is not swallowed."""

    class Failing(Scripted):
        def provider_info(self, provider: str) -> ProviderInfo:
            raise fatal

    with pytest.raises(fatal):
        serving(Failing())


async def test_typed_failures_of_questions_pass_as_they_are() -> None:
    """E4: an adapter's own `LlmError` is raised unchanged, and so is an `AbortError`."""

    class Failing(Scripted):
        error: Exception

        async def list_models(self, provider: str) -> list[object]:  # type: ignore[override]
            raise self.error

    adapter = Failing()
    for error in (LlmError.of(FACTS), AbortError("why")):
        adapter.error = error
        with pytest.raises(type(error)) as caught:
            await serving(adapter).list_models("route")
        assert caught.value is error


async def test_no_task_is_left() -> None:
    """E2: an outcome leaves nothing running."""
    await response_error((*OPEN, OSError("gone")))

    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert inspect.iscoroutinefunction(response_error)


async def test_a_failure_names_its_call_whatever_the_adapter_says() -> None:
    """Route and model of a failure are the call's, also where an adapter put others, in finish and error alike (E3)."""
    elsewhere = Failure("m", codes.SERVER, "headers", provider="upstream", model="other")
    for script in ((LlmError.of(elsewhere),), (Finish(FinishReason("error", elsewhere)),)):
        stream = serving(Scripted(script)).stream(asking())
        failure = await outcome_of(stream)
        with pytest.raises(LlmError) as caught:
            await stream.response()
        assert failure == caught.value.failure == call_failure("m", codes.SERVER, "headers")
        assert str(caught.value) == "SERVER: m [route/model-1]"


async def test_a_model_that_is_no_unicode_is_named_all_the_same() -> None:
    """Every text of a failure is valid Unicode: half a surrogate in a model's name becomes U+FFFD (E4)."""
    options = msgspec.structs.replace(asking(), model="m\udc80")
    failure = await outcome_of(serving(Raising(OSError("gone"))).stream(options))

    assert (failure.provider, failure.model) == ("route", "m\N{REPLACEMENT CHARACTER}")
