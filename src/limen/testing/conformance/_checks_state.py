"""Checks of replay state, of metadata, and of how the adapter sits in a runtime (R1, R2, R5, R6, R10)."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec

from limen.contract import (
    BlockEnd,
    GenerateOptions,
    LlmAdapter,
    LlmError,
    Message,
    ModelInfo,
    ModelSource,
    ToolCallBlock,
    aligned,
    decode_chunk,
    encode,
    tool_result,
    user,
)
from limen.runtime import LlmRuntime
from limen.testing.conformance._bench import MODEL, QUESTION, ROUTE, Bench, but
from limen.testing.conformance._check import check
from limen.testing.conformance._endpoint import API_KEY
from limen.testing.conformance._outcome import Broken, NotApplicable, Outcome, collect, require

_WITH_STATE: Final = ("reasoning-tools", "redacted", "tools", "reasoning", "text")


async def _turn_with_state(bench: Bench) -> tuple[Outcome, Mapping[str, object]]:
    """Return the first kind of answer for which the adapter keeps replay state."""
    for name in _WITH_STATE:
        outcome = await bench.outcome(name)
        state = None if outcome.finish is None else outcome.finish.replay_state
        if state is not None:
            return outcome, state
    raise NotApplicable("the adapter keeps no replay state for any answer that the kit can give")


def _message(outcome: Outcome, state: Mapping[str, object] | None) -> Message:
    blocks = [chunk.block for chunk in outcome.chunks if isinstance(chunk, BlockEnd)]
    return Message("assistant", tuple(blocks), source=ModelSource(ROUTE, MODEL), replay_state=state)


def _follow_up(bench: Bench, message: Message) -> GenerateOptions:
    calls = [block for block in message.content if isinstance(block, ToolCallBlock)]
    answers = [tool_result(call.id, "42") for call in calls] or [user("Go on.")]
    return bench.options(user(QUESTION), message, *answers)


@check("R5", "state-frame", "Replay state is a JSON object with v, wire and one entry for each block, and holds no key")
async def _state_frame(bench: Bench) -> None:
    outcome, state = await _turn_with_state(bench)
    finish = outcome.finish
    outcome.expect(type(state.get("v")) is int and type(state.get("wire")) is str, "the state lacks v or wire")
    count = len(_message(outcome, None).content)
    outcome.expect(aligned(state, count), f"the state's blocks do not match the answer's {count} blocks")
    outcome.expect(
        finish is not None and decode_chunk(encode(finish)) == finish, "the state changes on its way through JSON"
    )
    outcome.expect(API_KEY.encode() not in encode(finish), "the state holds the key")


@check("R5", "no-state-of-failures", "What failed leaves no replay state")
async def _no_state_of_failures(bench: Bench) -> None:
    for name in ("reasoning-tools+error-event", "refusal", "empty"):
        outcome = await bench.outcome(name)
        state = None if outcome.finish is None else outcome.finish.replay_state
        outcome.expect(state is None, "a failed answer has replay state")


_Change = Callable[[Mapping[str, object]], Mapping[str, object]]
_ABSENT: Final[Mapping[str, _Change]] = {
    "another version": lambda state: {**state, "v": 999},
    "another wire": lambda state: {**state, "wire": "telegraph"},
    "a wrong block count": lambda state: {**state, "blocks": (None,) * 9},
    "a version that is no number": lambda state: {**state, "v": "1"},
}


@check(
    "R5",
    "state-validated",
    "A follow-up uses valid state; another version, wire or block count counts as absent",
    basic=True,
)
async def _state_validated(bench: Bench) -> None:
    outcome, state = await _turn_with_state(bench)
    valid = await bench.call("text", _follow_up(bench, _message(outcome, state)), what="a follow-up with valid state")
    valid.expect_success("stop")
    plain = await bench.call("text", _follow_up(bench, _message(outcome, None)), what="a follow-up without state")
    plain.expect_success("stop")
    for what, change in _ABSENT.items():
        follow_up = _follow_up(bench, _message(outcome, change(state)))
        changed = await bench.call("text", follow_up, what=f"a follow-up with state of {what}")
        changed.expect_success("stop")
        changed.expect(
            changed.request.body == plain.request.body,
            f"state of {what} was used: the request differs from that without",
        )


@check("R5", "state-refused", "State of this version that does not validate is INVALID_REPLAY_STATE, before any I/O")
async def _state_refused(bench: Bench) -> None:
    outcome, state = await _turn_with_state(bench)
    count = len(_message(outcome, None).content)
    broken = {**state, "blocks": (7,) * count}
    if not count:
        raise NotApplicable("the adapter keeps state only for answers without blocks")
    result = await bench.call(
        "text", _follow_up(bench, _message(outcome, broken)), what="state with entries that are none"
    )
    result.expect_failure("INVALID_REPLAY_STATE", way="raised")
    result.expect(not result.requests, "a request was made")


@check("R5", "state-stays-home", "State reaches only the adapter that made it: a second one of the same kind gets none")
async def _state_stays_home(bench: Bench) -> None:
    outcome, state = await _turn_with_state(bench)
    plain = await bench.call("text", _follow_up(bench, _message(outcome, None)), what="a follow-up without state")
    async with LlmRuntime() as runtime:
        runtime.register([ROUTE], bench.make())
        runtime.register(["other"], bench.make())
        for route, made_by in (("other", ROUTE), (ROUTE, "other")):
            message = msgspec.structs.replace(_message(outcome, state), source=ModelSource(made_by, MODEL))
            options = but(_follow_up(bench, message), provider=route)
            foreign = await _through(bench, runtime, options, f"state of {made_by} at the route {route}")
            foreign.expect_success("stop")
            foreign.expect(
                foreign.request.body == plain.request.body, "the state was sent by an adapter that did not make it"
            )


async def _through(bench: Bench, runtime: LlmRuntime, options: GenerateOptions, what: str) -> Outcome:
    bench.mock.use("text")
    before = len(bench.mock.requests)
    stream = runtime.stream(options)
    chunks = tuple([chunk async for chunk in stream])
    return Outcome(what, chunks, None, tuple(bench.mock.requests[before:]))


@check(
    "R1", "registration", "Routes are taken whole or not at all, and a taken name refuses the registration", basic=True
)
async def _registration(bench: Bench) -> None:
    async with LlmRuntime() as runtime:
        _register(runtime, ["one"], bench.make())
        for routes in (["two", "one"], ["two", "two"], ["two", ""], []):
            _refuses(runtime, routes, bench.make())
            _expect_routes(runtime, ["one"], f"after {routes} was refused")
        handle = runtime.register(["two", "three"], bench.make())
        _expect_routes(runtime, ["one", "three", "two"], "after two routes were taken at once")
        handle.dispose()
        _expect_routes(runtime, ["one"], "after they were given up")


def _register(runtime: LlmRuntime, routes: list[str], adapter: LlmAdapter) -> None:
    code = _refusal(runtime, routes, adapter)
    require(code is None, f"the adapter could not be registered: {code}")


def _refuses(runtime: LlmRuntime, routes: list[str], adapter: LlmAdapter) -> None:
    code = _refusal(runtime, routes, adapter)
    require(code in ("DUPLICATE_ADAPTER", "INVALID_ADAPTER"), f"registering {routes} ended with {code}")


def _refusal(runtime: LlmRuntime, routes: list[str], adapter: LlmAdapter) -> str | None:
    try:
        runtime.register(routes, adapter)
    except LlmError as refused:
        return refused.code
    return None


def _expect_routes(runtime: LlmRuntime, expected: list[str], when: str) -> None:
    there = sorted(info.id for info in runtime.list_providers())
    require(there == expected, f"{when}, the routes are {there}, expected {expected}")


@check("R6", "under-the-guard", "Under the runtime every ending is one finish, and the guard finds nothing to say")
async def _under_the_guard(bench: Bench) -> None:
    cases = ("text", "reasoning-tools", "interleaved-tools", "text+cut", "text+500", "text+reset-mid-stream", "refusal")
    async with LlmRuntime() as runtime:
        _register(runtime, [ROUTE], bench.make())
        for name in cases:
            bare = await bench.outcome(name)
            bench.mock.use(name)
            chunks = tuple([chunk async for chunk in runtime.stream(bench.options())])
            outcome = Outcome(f"{name}, under the runtime", chunks, None, ())
            code = None if outcome.failure is None else outcome.failure.code
            outcome.expect(outcome.finish is not None, "the runtime's stream has no finish")
            expected = None if bare.failure is None else bare.failure.code
            outcome.expect(code == expected, f"ended with {code}, and the bare adapter with {expected}")


@check("E2", "raised-with-partial", "Under the runtime response() raises what failed, with what had arrived")
async def _raised_with_partial(bench: Bench) -> None:
    async with LlmRuntime() as runtime:
        _register(runtime, [ROUTE], bench.make())
        for name in ("text+error-event", "text+reset-mid-stream"):
            bare = await bench.outcome(name)
            bench.mock.use(name)
            error: LlmError | None = None
            try:
                await runtime.stream(bench.options()).response()
            except LlmError as raised:
                error = raised
            if error is None or bare.failure is None:
                raise Broken(f"{name}: response() returned an answer that had failed", bare)
            bare.expect(error.code == bare.failure.code, f"response() raised {error.code}")
            text = None if error.partial is None else error.partial.text
            bare.expect(text == "Hello from", f"the partial answer's text is {text!r}, expected 'Hello from'")


@check("R3", "prepared", "A prepared call knows its model and gives the stream that a plain call gives")
async def _prepared(bench: Bench) -> None:
    plain = await bench.outcome("text")
    call = await bench.adapter.prepare_call(ROUTE, MODEL)
    found = (call.model.provider, call.model.id)
    require(found == (ROUTE, MODEL), f"a call for {ROUTE}/{MODEL} was prepared for {'/'.join(found)}")
    bench.mock.use("text")
    outcome = await collect("a prepared call", call.stream(bench.options()))
    outcome.expect(outcome.chunks == plain.chunks, "the chunks differ from those of a plain call")


@check("R10", "one-model", "resolve_model answers for the exact model, also for one that is in no list (R2)")
async def _one_model(bench: Bench) -> None:
    for model in (MODEL, "limen/unlisted:model"):
        info: object = await bench.adapter.resolve_model(ROUTE, model)
        if not isinstance(info, ModelInfo):  # pyright: ignore[reportUnnecessaryIsInstance] - it is what is checked
            raise Broken(f"resolve_model returned a {type(info).__name__}, no ModelInfo")
        found = (info.provider, info.id)
        require(found == (ROUTE, model), f"asked for {ROUTE}/{model}, resolve_model answered for {'/'.join(found)}")


@check("R10", "model-list", "list_models returns models of the route that was asked for")
async def _model_list(bench: Bench) -> None:
    models: object = await bench.adapter.list_models(ROUTE)
    wrong = [model for model in _members(models) if not isinstance(model, ModelInfo) or model.provider != ROUTE]
    require(not wrong, f"list_models holds {wrong}")


def _members(models: object) -> Iterator[object]:
    if not isinstance(models, (list, tuple)):
        raise Broken(f"list_models returned a {type(models).__name__}, no sequence")
    yield from models  # pyright: ignore[reportUnknownVariableType] - an adapter under test may return anything
