"""X3, X6, X7, X8 over random registries, calls and failures: three promises that no combination breaks."""

import asyncio
import warnings
from collections.abc import Callable
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import limen
from limen.contract import ToolCallBlock, check_history
from limen.tools import (
    ChunkEvent,
    Ended,
    Invalid,
    NonRecoverableToolError,
    ResultEvent,
    Tool,
    ToolContext,
    ToolRegistry,
    Valid,
    _run,
    converse,
    run_tool_calls,
)
from tools._scripted import ask, scripted

BEHAVIOURS = ("answer", "raise", "exit", "group", "cycle", "nan", "bytes", "endless", "yield", "forge", "thread")
STOPS = ("stop", "abort", "cancel")


class Script(NamedTuple):
    """How one tool of a random registry is made and behaves."""

    behaviour: str
    validator: str
    parallel: bool
    timeout: float | None


SCRIPTS = st.builds(
    Script,
    st.sampled_from(BEHAVIOURS),
    st.sampled_from(("none", "valid", "invalid", "raise", "undecided")),
    st.booleans(),
    st.none() | st.just(60.0),
)
STOPPING = st.builds(Script, st.sampled_from(STOPS), st.just("none"), st.booleans(), st.none())
ARGUMENTS = st.sampled_from(['{"n":1}', "{}", '{"n":"x"}', "", "[", "null", '{"n":1,"n":2}', '{"m":1}', '{"n":NaN}'])
SCHEMA: dict[str, object] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


class World:
    """A random registry, and what happened in it."""

    def __init__(self, scripts: list[Script]) -> None:
        self.proved: set[str] = set()
        self.effects: list[str] = []
        self.running = 0
        self.controller = limen.AbortController()
        self.registry = ToolRegistry([self.tool(f"t{index}", script) for index, script in enumerate(scripts)])

    def tool(self, name: str, script: Script) -> Tool:
        """Make a tool of a script."""

        async def execute(arguments: object, context: ToolContext) -> object:
            self.effects.append(context.call_id)
            self.running += 1
            try:
                return await self.behave(script.behaviour)
            finally:
                self.running -= 1

        def execute_in_thread(arguments: object, context: ToolContext) -> object:
            self.effects.append(context.call_id)
            return "done"

        function = execute_in_thread if script.behaviour == "thread" else execute
        validate = None if script.validator == "none" else self.validator(script.validator)
        return Tool(name, name, SCHEMA, function, validate, parallel=script.parallel, timeout=script.timeout)

    async def behave(self, behaviour: str) -> object:
        """Do what the script says."""
        await asyncio.get_running_loop().run_in_executor(None, bool)
        match behaviour:
            case "raise":
                raise ValueError("odd")
            case "exit":
                raise SystemExit(3)
            case "group":
                raise BaseExceptionGroup("all", [KeyboardInterrupt()])
            case "forge":
                raise limen.LlmError("forged", "TOOL_NOT_FOUND")
            case "stop":
                raise NonRecoverableToolError("stop")
            case "abort":
                self.controller.abort()
                await asyncio.Event().wait()
            case "cancel":
                raise asyncio.CancelledError
            case _:
                return OUTPUTS[behaviour]()
        raise AssertionError(behaviour)

    def validator(self, kind: str) -> Callable[[object], Valid | Invalid]:
        """Make a validator of its kind."""

        def validate(arguments: object) -> Valid | Invalid:
            if kind == "raise":
                raise ValueError("cannot")
            return {"valid": Valid(arguments), "invalid": Invalid("no")}.get(kind)  # type: ignore[return-value]

        return validate

    def may_run(self, call: ToolCallBlock, scripts: list[Script]) -> bool:
        """Whether a call has an effect: its tool is known and its arguments pass."""
        number = int(call.name.removeprefix("t"))
        if number >= len(scripts):
            return False
        validator = scripts[number].validator
        if validator == "none":
            return call.arguments in ('{"n":1}', '{"n":1,"n":2}')
        objects = ('{"n":1}', "{}", '{"n":"x"}', '{"n":1,"n":2}', '{"m":1}')
        return validator == "valid" and call.arguments in objects


def cycle() -> object:
    """A list that contains itself."""
    value: list[object] = []
    value.append(value)
    return value


OUTPUTS: dict[str, Callable[[], object]] = {
    "answer": lambda: {"b": 1, "a": [None]},
    "cycle": cycle,
    "nan": lambda: float("nan"),
    "bytes": lambda: b"\x00",
    "endless": lambda: "x" * 100_000,
    "yield": lambda: (number for number in range(3)),
}


@st.composite
def batches(draw: st.DrawFn) -> tuple[list[Script], list[ToolCallBlock]]:
    """Draw a registry and calls of it, some of them of tools that it does not have."""
    scripts = draw(st.lists(SCRIPTS, max_size=4))
    names = draw(st.lists(st.integers(0, 4), max_size=6))
    return scripts, [ToolCallBlock(f"c{index}", f"t{name}", draw(ARGUMENTS)) for index, name in enumerate(names)]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(batch=batches(), concurrency=st.integers(1, 4))
async def test_x3_x7_one_result_per_call(batch: tuple[list[Script], list[ToolCallBlock]], concurrency: int) -> None:
    """X3, X7: one result per call in their order, effects of validated calls alone, each once, and nothing runs on."""
    scripts, calls = batch
    world = World(scripts)

    results = await run_tool_calls(calls, world.registry, concurrency=concurrency)

    assert [result.tool_call_id for result in results] == [call.id for call in calls]
    assert sorted(world.effects) == sorted(call.id for call in calls if world.may_run(call, scripts))
    assert all(result.is_error or result.tool_call_id in world.effects for result in results)
    assert world.running == 0


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(batch=batches(), stop=STOPPING, at=st.integers(0, 6), concurrency=st.integers(1, 4))
async def test_x4_x6_a_run_that_stops_leaves_nothing(
    batch: tuple[list[Script], list[ToolCallBlock]], stop: Script, at: int, concurrency: int
) -> None:
    """X4, X6: however a run is stopped, its own error is raised, and no tool runs on."""
    scripts, calls = [*batch[0], stop], list(batch[1])
    calls = [call for call in calls if call.name != f"t{len(scripts) - 1}"]
    calls.insert(at, ToolCallBlock("stop", f"t{len(scripts) - 1}", '{"n":1}'))
    world = World(scripts)
    expected = {"stop": NonRecoverableToolError, "abort": limen.AbortError, "cancel": asyncio.CancelledError}

    with pytest.raises(expected[stop.behaviour]):
        await run_tool_calls(calls, world.registry, signal=world.controller.signal, concurrency=concurrency)

    assert set(world.effects) <= {call.id for call in calls if world.may_run(call, scripts)}
    assert world.running == 0
    assert not _run.has_left_running(asyncio.get_running_loop())


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    scripts=st.lists(SCRIPTS | STOPPING, max_size=3),
    turns=st.lists(st.lists(st.tuples(st.integers(0, 3), ARGUMENTS), min_size=1, max_size=3), max_size=3),
    last=st.sampled_from(("answer", "failure")),
    max_turns=st.integers(1, 4),
)
async def test_x8_every_history_can_be_gone_on_with(
    scripts: list[Script], turns: list[list[tuple[int, str]]], last: str, max_turns: int
) -> None:
    """X8, N1: after every event of any conversation the history passes, grows only at its end, and nothing runs on."""
    world = World(scripts)
    asked = [
        [ToolCallBlock(f"c{number}", f"t{name}", text) for number, (name, text) in enumerate(turn)] for turn in turns
    ]
    ending = "done" if last == "answer" else limen.Failure("boom", "SERVER", "mid-stream")
    llm, adapter = scripted(*asked, ending)
    before: list[limen.Message] = []
    kinds: list[type] = []
    async with llm:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                options = ask(signal=world.controller.signal)
                async for event in converse(llm, options, world.registry, max_turns=max_turns):
                    check_history(event.messages)
                    assert list(event.messages[: len(before)]) == before
                    before = list(event.messages)
                    kinds.append(type(event))
        except (NonRecoverableToolError, asyncio.CancelledError):
            assert any(script.behaviour in ("stop", "cancel") for script in scripts)
        else:
            assert (kinds.count(Ended), kinds[-1]) == (1, Ended)

    assert set(kinds) <= {ChunkEvent, ResultEvent, Ended}
    assert len(adapter.requests) <= max_turns
    assert world.running == 0
