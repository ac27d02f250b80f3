"""R3, R4, R10: what a call is bound to, what adapters declare, and what is refused before anything is asked."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from limen.contract import (
    AbortSignal,
    AdapterCall,
    Effort,
    GenerateOptions,
    LlmError,
    ModelInfo,
    Next,
    StreamChunk,
    codes,
    tool_result,
)
from limen.runtime import LlmRuntime
from runtime._adapters import ANSWER, Gate, Scripted, asking, chunks_of, outcome_of, serving

LOW, HIGH = Effort("low", "Low"), Effort("high", "High")
MODEL = ModelInfo("route", "model-1", "Model One", default_max_tokens=900, efforts=(LOW, HIGH), default_effort="high")
BARE = ModelInfo("route", "model-1", "model-1")


async def test_defaults_enter_the_options_and_are_reported() -> None:
    """R4, H38, H41: what the adapter declares is filled in where the caller said nothing, and named as its default."""
    adapter = Scripted(model=MODEL)
    runtime = serving(adapter)

    call = await runtime.prepare_call(asking())

    assert call.options == msgspec.structs.replace(asking(), max_tokens=900, reasoning_effort="high")
    assert call.adapter_defaults == {"max_tokens": 900, "reasoning_effort": "high"}
    assert call.model == MODEL
    await call.stream().response()
    await runtime.complete(asking())
    assert adapter.seen == [call.options, call.options]


async def test_what_the_caller_said_stays() -> None:
    """R4, H38: a call that names its own values comes back as the same object."""
    options = msgspec.structs.replace(asking(), max_tokens=5, reasoning_effort="low")
    call = await serving(Scripted(model=MODEL)).prepare_call(options)

    assert call.options is options
    assert call.adapter_defaults == {}


async def test_no_default_changes_nothing() -> None:
    """R4, H38: an adapter that declares nothing changes nothing."""
    options = asking()
    call = await serving(Scripted()).prepare_call(options)

    assert (call.options is options, call.adapter_defaults) == (True, {})
    assert call.model == BARE


async def test_an_unlisted_effort_is_refused_before_dispatch() -> None:
    """R4, H40: outside a known list nothing is clamped; the message names what there is."""
    adapter = Scripted(model=MODEL)
    options = msgspec.structs.replace(asking(), reasoning_effort="medium")

    failure = await outcome_of(serving(adapter).stream(options))

    assert failure.code == codes.UNSUPPORTED_REASONING_EFFORT
    assert failure.message == (
        "the model 'model-1' of the route 'route' does not offer the reasoning effort 'medium'; it offers: low, high"
    )
    assert adapter.seen == []


async def test_an_empty_list_of_efforts_offers_none() -> None:
    """R4: a list that is known and empty refuses every effort."""
    adapter = Scripted(model=msgspec.structs.replace(BARE, efforts=()))

    failure = await outcome_of(serving(adapter).stream(msgspec.structs.replace(asking(), reasoning_effort="low")))

    assert failure.code == codes.UNSUPPORTED_REASONING_EFFORT
    assert failure.message.endswith("it offers: none")


async def test_an_unknown_list_lets_the_effort_through() -> None:
    """R4: where nothing is known, the adapter judges."""
    adapter = Scripted()
    options = msgspec.structs.replace(asking(), reasoning_effort="whatever")

    await serving(adapter).complete(options)

    assert adapter.seen == [options]


async def test_a_bad_history_is_refused_before_the_adapter_is_asked() -> None:
    """N1, R3: `prepare_call` raises what the stream would end in."""
    broken = asking(messages=[tool_result("x", "orphan")])

    with pytest.raises(LlmError) as caught:
        await serving(Scripted()).prepare_call(broken)

    assert caught.value.code == codes.INVALID_OPTIONS
    assert "messages[0]" in caught.value.failure.message


async def test_preparing_for_no_route_raises() -> None:
    """R3: without a route there is nothing to bind."""
    with pytest.raises(LlmError) as caught:
        await LlmRuntime().prepare_call(asking())

    assert caught.value.code == codes.NO_ADAPTER


async def test_a_prepared_call_is_used_once() -> None:
    """R3, H45: a second stream of one call ends in `INVALID_PREPARED_CALL`."""
    adapter = Scripted()
    call = await serving(adapter).prepare_call(asking())

    assert await chunks_of(call.stream()) == list(ANSWER)
    assert (await outcome_of(call.stream())).code == codes.INVALID_PREPARED_CALL
    assert len(adapter.seen) == 1


async def test_options_that_an_interceptor_changes_are_refused() -> None:
    """R3, H45: what was proved is what is dispatched; equal options are the same options."""
    adapter = Scripted()
    runtime = serving(adapter)

    async def warmer(options: GenerateOptions, following: Next) -> AsyncIterator[StreamChunk]:
        async for chunk in following(msgspec.structs.replace(options, temperature=1.0)):
            yield chunk

    async def copying(options: GenerateOptions, following: Next) -> AsyncIterator[StreamChunk]:
        async for chunk in following(msgspec.structs.replace(options)):
            yield chunk

    remove = runtime.use(warmer)
    assert (await outcome_of((await runtime.prepare_call(asking())).stream())).code == codes.INVALID_PREPARED_CALL
    remove()
    runtime.use(copying)
    assert await chunks_of((await runtime.prepare_call(asking())).stream()) == list(ANSWER)


async def test_a_prepared_call_keeps_its_adapter() -> None:
    """R3, H4: it is dispatched to the adapter that it was prepared with, also when the route has another by now."""
    old, new = Scripted(), Scripted()
    runtime = LlmRuntime()
    with runtime.register(["route"], old):
        call = await runtime.prepare_call(asking())
    runtime.register(["route"], new)

    await call.stream().response()

    assert (len(old.seen), len(new.seen)) == (1, 0)


async def test_the_registration_before_a_look_up_is_dispatched_to() -> None:
    """R3, H44: a route that changes hands while its model is looked up still goes to the one that was asked."""
    gate = Gate()

    class Slow(Scripted):
        async def resolve_model(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> ModelInfo:
            await gate()
            return ModelInfo(provider, model, model)

    old, new = Slow(), Scripted()
    runtime = LlmRuntime()
    handle = runtime.register(["route"], old)
    reading = asyncio.create_task(chunks_of(runtime.stream(asking())))
    await gate.reached.wait()
    handle.dispose()
    runtime.register(["route"], new)
    gate.opened.set()

    assert await reading == list(ANSWER)
    assert (len(old.seen), len(new.seen)) == (1, 0)


async def test_model_and_dispatch_come_from_one_snapshot() -> None:
    """R3, H47, K2: the adapter's own `prepare_call` binds both, once."""

    class Snapshots(Scripted):
        generation = 0

        async def prepare_call(self, provider: str, model: str, *, signal: AbortSignal | None = None) -> AdapterCall:
            self.generation += 1
            mine = self.generation

            async def stream(options: GenerateOptions) -> AsyncIterator[StreamChunk]:
                self.served = mine
                async for chunk in self.stream(options):
                    yield chunk

            return AdapterCall(ModelInfo(provider, model, f"generation {mine}"), stream)

    adapter = Snapshots()
    runtime = serving(adapter)
    first = await runtime.prepare_call(asking())
    second = await runtime.prepare_call(asking())

    await first.stream().response()

    assert (first.model.name, second.model.name) == ("generation 1", "generation 2")
    assert adapter.served == 1


@pytest.mark.parametrize("answer", [None, BARE, ("route", "stream")])
async def test_an_adapters_call_is_checked(answer: object) -> None:
    """R3: a `prepare_call` that returns anything else is the adapter's bug."""

    class Odd(Scripted):
        async def prepare_call(self, provider: str, model: str, **_: object) -> AdapterCall:
            return answer  # type: ignore[return-value]  # on purpose

    failure = await outcome_of(serving(Odd()).stream(asking()))

    assert failure.code == codes.INVALID_MODEL_INFO
    assert "prepare_call() of the route 'route' returned a" in failure.message


@pytest.mark.parametrize(
    "change",
    [
        {"provider": "other"},
        {"provider": 5},
        {"id": "model-2"},
        {"id": ""},
        {"name": " "},
        {"name": None},
        {"description": 5},
        {"context_window": 0},
        {"context_window": -1},
        {"context_window": 1.5},
        {"context_window": float("nan")},
        {"context_window": True},
        {"default_max_tokens": 0},
        {"default_max_tokens": 2**53},
        {"input_modalities": ()},
        {"input_modalities": ("text", "text")},
        {"input_modalities": ("smell",)},
        {"efforts": ("low",)},
        {"efforts": (Effort("", "Low"),)},
        {"efforts": (Effort("low", ""),)},
        {"efforts": (Effort("low", "Low", 5),)},  # type: ignore[arg-type]  # on purpose
        {"efforts": (LOW, LOW)},
        {"efforts": (LOW,), "default_effort": "high"},
        {"default_effort": ""},
    ],
)
async def test_malformed_facts_of_a_model(change: dict[str, object]) -> None:
    """R10, H34, H37, H39, H42: facts that no model can have are `INVALID_MODEL_INFO`, in a list `INVALID_CATALOG`."""
    model = msgspec.structs.replace(BARE, **change)

    class Lists(Scripted):
        async def list_models(self, provider: str) -> list[ModelInfo]:
            return [model]

    runtime = serving(Lists(model=model))

    for question in (runtime.resolve_model("route", "model-1"), runtime.prepare_call(asking())):
        with pytest.raises(LlmError) as caught:
            await question
        assert caught.value.code == codes.INVALID_MODEL_INFO
        assert "'route'" in caught.value.failure.message
    if "model-2" not in change.values():
        with pytest.raises(LlmError) as caught:
            await runtime.list_models("route")
        assert caught.value.code == codes.INVALID_CATALOG


@pytest.mark.parametrize("answer", [None, "model-1", {"id": "model-1"}])
async def test_an_answer_that_is_no_model(answer: object) -> None:
    """R10: anything but a `ModelInfo` is `INVALID_MODEL_INFO`."""

    class Odd(Scripted):
        async def resolve_model(self, provider: str, model: str, **_: object) -> ModelInfo:
            return answer  # type: ignore[return-value]  # on purpose

    with pytest.raises(LlmError) as caught:
        await serving(Odd()).resolve_model("route", "model-1")

    assert caught.value.code == codes.INVALID_MODEL_INFO


async def test_facts_that_are_known_survive() -> None:
    """R10, H35, H36: everything that an adapter knows of a model comes through, listed or not."""
    full = msgspec.structs.replace(
        MODEL, description="words", input_modalities=("text", "image"), context_window=2**53 - 1
    )
    runtime = serving(Scripted(model=full))

    assert await runtime.resolve_model("route", "model-1") == full
    assert await runtime.list_models("route") == []


async def test_a_default_effort_without_a_known_list_is_a_fact() -> None:
    """R4: efforts that are unknown do not contradict a default."""
    model = msgspec.structs.replace(BARE, default_effort="high")

    assert await serving(Scripted(model=model)).resolve_model("route", "model-1") == model


@pytest.mark.parametrize(
    ("models", "fault"),
    [
        (None, "it is a NoneType, not a list"),
        ("model-1", "it is a str, not a list"),
        (["model-1"], "entry 0 is a str, not a ModelInfo"),
        ([BARE, BARE], "the id 'model-1' is listed twice"),
        ([BARE, msgspec.structs.replace(BARE, id="")], "of entry 1, the id is ''"),
    ],
)
async def test_a_malformed_list(models: object, fault: str) -> None:
    """R10, H14: a list that no list can be is `INVALID_CATALOG`, and says where."""

    class Lists(Scripted):
        async def list_models(self, provider: str) -> list[ModelInfo]:
            return models  # type: ignore[return-value]  # on purpose

    with pytest.raises(LlmError) as caught:
        await serving(Lists()).list_models("route")

    assert caught.value.code == codes.INVALID_CATALOG
    assert caught.value.failure.message == f"the model list of the route 'route' is malformed: {fault}"


async def test_a_list_is_read_anew_and_is_the_callers_own() -> None:
    """R10, H7: each listing asks the adapter, and changing it changes nothing."""

    class Lists(Scripted):
        models: tuple[ModelInfo, ...] = (BARE,)

        async def list_models(self, provider: str) -> tuple[ModelInfo, ...]:
            return self.models

    adapter = Lists()
    runtime = serving(adapter)
    (await runtime.list_models("route")).clear()
    assert await runtime.list_models("route") == [BARE]
    adapter.models = ()
    assert await runtime.list_models("route") == []


async def test_an_unlisted_model_is_never_refused() -> None:
    """R2, H8: an id that no list knows goes through as it is, with identity only."""
    adapter = Scripted()
    runtime = serving(adapter)
    options = msgspec.structs.replace(asking(), model="Ünlisted/Mödel:7 ")

    await runtime.complete(options)

    assert adapter.seen[0].model == "Ünlisted/Mödel:7 "
    assert await runtime.resolve_model("route", "any") == ModelInfo("route", "any", "any")


@pytest.mark.parametrize("question", ["list_models", "resolve_model"])
async def test_asking_a_route_that_is_not_there(question: str) -> None:
    """R1, H9: questions about an unknown route raise `NO_ADAPTER`."""
    runtime = LlmRuntime()
    asked = runtime.list_models("x") if question == "list_models" else runtime.resolve_model("x", "m")

    with pytest.raises(LlmError) as caught:
        await asked

    assert caught.value.code == codes.NO_ADAPTER


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (None, "a call is made of GenerateOptions, not of a NoneType"),
        ({"provider": "route"}, "a call is made of GenerateOptions, not of a dict"),
        (asking(signal=5), "the signal of a call is an AbortSignal, not a int"),  # type: ignore[arg-type]  # on purpose
    ],
)
async def test_what_is_no_call_is_a_mistake_of_the_program(options: GenerateOptions, words: str) -> None:
    """E2: what cannot be read as a call at all is a `TypeError` of whoever makes it, at once."""
    runtime = serving(Scripted())

    with pytest.raises(TypeError) as streaming:
        runtime.stream(options)
    with pytest.raises(TypeError) as completing:
        await runtime.complete(options)
    with pytest.raises(TypeError) as preparing:
        await runtime.prepare_call(options)

    assert str(streaming.value) == str(completing.value) == str(preparing.value) == words
