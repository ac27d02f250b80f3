"""Fallback: another route answers where one fails before anything was shown, and the response says which."""

from collections.abc import AsyncIterator

import pytest

from limen.contract import (
    AbortController,
    Finish,
    GenerateOptions,
    LlmError,
    ModelSource,
    Next,
    RetryPolicy,
    StreamChunk,
    codes,
)
from limen.runtime import Fallback, FallbackStep, LlmRuntime, Retry
from runtime._adapters import (
    ANSWER,
    OPEN,
    USAGE,
    Gate,
    Scripted,
    asking,
    call_failure,
    chunks_of,
    failed,
    outcome_of,
    serving,
)

DOWN = LlmError("down", codes.OVERLOADED)


def falling_back(*adapters: Scripted, to: tuple[str | ModelSource, ...] = ("route-2",)) -> LlmRuntime:
    """A runtime with these adapters and fallback."""
    runtime = serving(*adapters)
    runtime.use(Fallback(to))
    return runtime


async def test_the_next_route_answers() -> None:
    """A failed route is replaced by the next one, with the same options otherwise; the answer says who gave it."""
    first, second = Scripted((DOWN,)), Scripted()
    stream = falling_back(first, second).stream(asking())

    assert await chunks_of(stream) == list(ANSWER)
    response = await stream.response()
    assert response.info is not None
    assert (response.info.provider, response.info.model, response.info.attempts) == ("route-2", "model-1", 2)
    assert response.message is not None
    assert response.message.source == ModelSource("route-2", "model-1")
    assert second.seen == [asking("route-2")]


async def test_a_route_that_works_is_the_only_one_asked() -> None:
    """Nothing is asked of other routes where the call's own answers."""
    first, second = Scripted(), Scripted()

    response = await falling_back(first, second).complete(asking())

    assert response.info is not None
    assert (response.info.provider, second.seen) == ("route", [])


async def test_no_route_is_asked_twice() -> None:
    """One list serves the calls of all its routes: the call's own is in it, and is not asked again (R7)."""
    first, second = Scripted((DOWN,)), Scripted((DOWN,))
    stream = falling_back(first, second, to=("route", "route-2", "route-2")).stream(asking())

    assert (await outcome_of(stream)).code == codes.OVERLOADED
    assert (len(first.seen), len(second.seen)) == (1, 1)


async def test_another_model_for_another_route() -> None:
    """A `ModelSource` names the model that the other route knows."""
    third = Scripted()
    runtime = falling_back(Scripted((DOWN,)), Scripted((DOWN,)), third, to=("route-2", ModelSource("route-3", "big")))

    response = await runtime.complete(asking())

    assert response.message is not None
    assert response.message.source == ModelSource("route-3", "big")
    assert [options.model for options in third.seen] == ["big"]


async def test_a_route_that_is_not_there_is_passed() -> None:
    """`NO_ADAPTER` is a failure like another: the next route is asked."""
    assert (await falling_back(Scripted(), to=("nowhere", "route")).complete(asking("gone"))).text == "Hello"


async def test_the_last_failure_is_the_outcome() -> None:
    """Where every route fails, the call fails with the last one's code."""
    runtime = falling_back(Scripted((DOWN,)), Scripted((LlmError("no", codes.AUTH),)))
    stream = runtime.stream(asking())

    assert (await outcome_of(stream)).code == codes.AUTH
    assert stream.info.provider == "route-2"


async def test_what_was_shown_is_kept() -> None:
    """Once a chunk was shown, no other route is asked."""
    second = Scripted()
    stream = falling_back(Scripted((*OPEN, DOWN)), second).stream(asking())

    assert (await outcome_of(stream)).code == codes.OVERLOADED
    assert second.seen == []


async def test_complete_falls_back_from_the_middle() -> None:
    """`complete()` shows nothing before the end, so a failure in the middle falls back too."""
    response = await falling_back(Scripted((*OPEN, USAGE, failed(codes.SERVER))), Scripted()).complete(asking())

    assert response.text == "Hello"


async def test_an_abort_asks_nobody_else() -> None:
    """An aborted call is over."""
    controller = AbortController()

    async def abort() -> None:
        controller.abort()

    second = Scripted()
    runtime = falling_back(Scripted((abort, DOWN)), second)

    assert (await outcome_of(runtime.stream(asking(signal=controller.signal)))).code == codes.ABORTED
    assert second.seen == []


async def test_each_route_is_retried_by_its_own_policy() -> None:
    """R9, H286: retry is inside of fallback: each route has its own policy and its own budget."""
    first = Scripted((DOWN,), policy=RetryPolicy(max_retries=1))
    second = Scripted((DOWN,), (DOWN,), ANSWER, policy=RetryPolicy(max_retries=2))
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    runtime = serving(first, second)
    runtime.use(Retry(sleep=sleep, sample=lambda: 0.5))
    runtime.use(Fallback(["route-2"]))

    response = await runtime.complete(asking())

    assert response.info is not None
    assert (len(first.seen), len(second.seen), response.info.attempts) == (2, 3, 5)
    assert waits == [0.5, 0.5, 1.0]


async def test_interceptors_inside_of_it() -> None:
    """R7: an interceptor that was installed later wraps each route's stream."""
    seen: list[str] = []

    async def observe(options: GenerateOptions, following: Next) -> AsyncIterator[StreamChunk]:
        seen.append(options.provider)
        async for chunk in following(options):
            yield chunk

    runtime = falling_back(Scripted((DOWN,)), Scripted())
    runtime.use(observe)

    assert (await runtime.complete(asking())).text == "Hello"
    assert (await runtime.stream(asking()).response()).text == "Hello"
    assert seen == ["route", "route-2"] * 2


async def test_leaving_closes_the_route_that_answers() -> None:
    """R11: the stream that is shown is closed when it is left."""
    second = Scripted((*OPEN, Gate()))

    async with falling_back(Scripted((DOWN,)), second).stream(asking()) as stream:
        await anext(stream)

    assert second.left == 1
    assert isinstance((await outcome_of(stream)).message, str)
    assert Finish is not None


@pytest.mark.parametrize("routes", [[], "route-2"])
def test_a_fallback_is_a_list(routes: object) -> None:
    """A fallback without routes, or with a string for a list, is a mistake of the caller's."""
    with pytest.raises(ValueError, match="a list of at least one route"):
        Fallback(routes)  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize("target", ["route-2/big/er", ("route-2", "big/er"), ModelSource("route-2", "big/er")])
async def test_a_target_names_its_model(target: str | tuple[str, str] | ModelSource) -> None:
    """R9: each target has its own model, written `route/model`, as a pair, or as a `ModelSource`."""
    runtime = serving(Scripted((DOWN,)), second := Scripted())
    runtime.use(Fallback([target]))

    response = await runtime.complete(asking())

    assert [(options.provider, options.model) for options in second.seen] == [("route-2", "big/er")]
    assert response.info is not None
    assert (response.info.provider, response.info.model) == ("route-2", "big/er")


FALLS = (*RetryPolicy().codes, codes.QUOTA, codes.AUTH, codes.MODEL_NOT_FOUND, codes.MISSING_CREDENTIAL)


@pytest.mark.parametrize("code", FALLS)
async def test_the_default_codes_fall_back(code: str) -> None:
    """R9: by default the codes that are retried are passed over, and those that another route may not have."""
    assert (await falling_back(Scripted((LlmError("no", code),)), Scripted()).complete(asking())).text == "Hello"


@pytest.mark.parametrize(
    "code", [codes.CONTENT_FILTER, codes.INVALID_REQUEST, codes.INVALID_OPTIONS, codes.CONTEXT_WINDOW_EXCEEDED]
)
async def test_other_codes_do_not(code: str) -> None:
    """R9: a refusal, a wrong request and whatever is not named is the outcome, as it is."""
    second = Scripted()
    stream = falling_back(Scripted((LlmError("no", code),)), second).stream(asking())

    assert await outcome_of(stream) == call_failure("no", code, "first-event")
    assert second.seen == []


async def test_codes_may_be_named() -> None:
    """R9: `codes` takes the place of the default ones."""
    second = Scripted()
    runtime = serving(Scripted((LlmError("no", codes.UNKNOWN_FINISH),), (DOWN,)), second)
    runtime.use(Fallback(["route-2"], codes=[codes.UNKNOWN_FINISH]))

    assert (await runtime.complete(asking())).text == "Hello"
    assert (await outcome_of(runtime.stream(asking()))).code == codes.OVERLOADED
    assert len(second.seen) == 1


@pytest.mark.parametrize("code", [codes.ABORTED, codes.CONTENT_FILTER, codes.INVALID_REQUEST])
def test_some_codes_may_not_be_named(code: str) -> None:
    """R9: after an abort, a refusal or a wrong request no other route is asked, so naming the code is a mistake."""
    with pytest.raises(ValueError, match=f"a fallback after {code}"):
        Fallback(["route-2"], codes=[codes.SERVER, code])


async def test_each_step_is_logged_and_heard(caplog: pytest.LogCaptureFixture) -> None:
    """R9: a step is one WARNING line, and `on_fallback`, awaited, gets its record before the next route is asked."""
    second = Scripted((USAGE, failed(codes.EMPTY_RESPONSE)))
    heard: list[FallbackStep] = []

    async def hear(step: FallbackStep) -> None:
        heard.append(step)
        assert len(second.seen) == len(heard) - 1

    runtime = serving(Scripted((DOWN,)), second, Scripted())
    runtime.use(Fallback(["route-2", "route-3/big"], on_fallback=hear))
    await runtime.complete(asking())

    down = call_failure("down", codes.OVERLOADED, "first-event")
    empty = call_failure("it failed", codes.EMPTY_RESPONSE, provider="route-2")
    assert heard == [
        FallbackStep("route", "model-1", down, ModelSource("route-2", "model-1")),
        FallbackStep("route-2", "model-1", empty, ModelSource("route-3", "big"), USAGE.usage),
    ]
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "route/model-1: falling back to route-2/model-1 after OVERLOADED"),
        ("WARNING", "route-2/model-1: falling back to route-3/big after EMPTY_RESPONSE"),
    ]


async def test_the_error_names_every_attempt() -> None:
    """R9: where every route fails, the message names each attempt, the first failure first; the cause is the last's."""
    original = OSError("gone")
    last = LlmError("no", codes.AUTH, status=401)
    last.__cause__ = original
    runtime = falling_back(Scripted((DOWN,)), Scripted((last,)))

    with pytest.raises(LlmError) as caught:
        await runtime.complete(asking())

    message = "2 routes failed. route/model-1: OVERLOADED: down; route-2/model-1: AUTH: no"
    assert caught.value.failure == call_failure(message, codes.AUTH, "first-event", 401, provider="route-2")
    assert caught.value.__cause__ is original


async def test_a_failure_in_the_stream_is_named_too() -> None:
    """R9: a failure inside of a stream is named like a raised one, and a plain function may hear of the step."""
    heard: list[FallbackStep] = []
    runtime = serving(Scripted((failed(codes.SERVER, "first"),)), Scripted((failed(codes.SERVER, "second"),)))
    runtime.use(Fallback(["route-2"], on_fallback=heard.append))

    failure = await outcome_of(runtime.stream(asking()))

    message = "2 routes failed. route/model-1: SERVER: first; route-2/model-1: SERVER: second"
    assert failure == call_failure(message, codes.SERVER, provider="route-2")
    assert [step.failure.message for step in heard] == ["first"]


async def test_a_prepared_call_keeps_its_failure() -> None:
    """R3, R9: a prepared call is bound to one adapter, so its own failure is the outcome, and nobody else is asked."""
    second = Scripted()
    runtime = falling_back(Scripted((DOWN,)), second)
    call = await runtime.prepare_call(asking())

    assert await outcome_of(call.stream()) == call_failure("down", codes.OVERLOADED, "first-event")
    assert second.seen == []


async def test_an_abort_while_a_step_is_heard() -> None:
    """Q6: an abort while `on_fallback` runs is the outcome, and the next route is not asked."""
    controller = AbortController()

    async def hear(step: FallbackStep) -> None:
        controller.abort()
        await Gate()()

    second = Scripted()
    runtime = serving(Scripted((DOWN,)), second)
    runtime.use(Fallback(["route-2"], on_fallback=hear))

    failure = await outcome_of(runtime.stream(asking(signal=controller.signal)))

    assert failure == call_failure("the call was aborted", codes.ABORTED, "first-event")
    assert second.seen == []


@pytest.mark.parametrize("route", ["route-2/", "/big", ("route-2",), ("route-2", ""), ("a", "b", "c")])
def test_a_target_without_a_route_or_a_model(route: object) -> None:
    """R9: half a target is refused when the fallback is made."""
    with pytest.raises(ValueError, match=r"routes\[1\]"):
        Fallback(["route-2", route])  # type: ignore[list-item]  # on purpose


@pytest.mark.parametrize("route", ["", 5, None])
def test_a_fallback_is_a_route(route: object) -> None:
    """What is no route is refused when the fallback is made, not when a call fails."""
    with pytest.raises(ValueError, match=r"routes\[1\]"):
        Fallback(["route-2", route])  # type: ignore[list-item]  # on purpose
