"""X1-X5, X8 against values that lie, never end, or are of the right class and wrong inside."""

import asyncio
import pickle
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import pydantic
import pytest

import limen
from limen.contract import TOOL_CALLS, FrozenDict, ToolResultBlock, remember_secret
from limen.tools import (
    Deny,
    Invalid,
    McpToolError,
    NonRecoverableToolError,
    Replace,
    Tool,
    ToolContext,
    ToolContractError,
    ToolRegistry,
    Valid,
    Verdict,
    converse,
    run_tool_calls,
    tool,
)
from tools._scripted import ask, call, error_of, scripted


async def echo(arguments: object, context: ToolContext) -> object:
    """Answer with the arguments."""
    return arguments


async def one(made: Tool, arguments: object = None) -> ToolResultBlock:
    """Run one call of one tool."""
    (result,) = await run_tool_calls([call(made.name, arguments)], ToolRegistry([made]))
    return result


class Silent(Exception):
    """An exception whose text cannot be had."""

    def __str__(self) -> str:
        raise RuntimeError("no")


class UnreadableMapping(Mapping[str, object]):
    """A mapping that raises such an exception."""

    def __getitem__(self, key: str) -> object:
        raise Silent

    def __iter__(self) -> Iterator[str]:
        raise Silent

    def __len__(self) -> int:
        return 1


class UnreadableSequence(Sequence[Tool]):
    """A sequence that raises such an exception."""

    def __getitem__(self, index: Any) -> Any:
        raise Silent

    def __len__(self) -> int:
        return 1


class Lookalike:
    """An object that says it is a tool."""

    __class__ = Tool  # type: ignore[assignment]


class Unmade(Tool):
    """A tool that was never made."""

    def __init__(self) -> None: ...


class Unnamed(Tool):
    """A tool whose name raises when it is read."""

    name = property(lambda self: 1 / 0)


def test_x1_a_schema_whose_error_has_no_text() -> None:
    """X1: a definition is refused by its code, whatever is raised while it is read."""
    with pytest.raises(ToolContractError) as caught:
        Tool("a", "b", UnreadableMapping(), echo)

    assert caught.value.code == "INVALID_TOOL_DEFINITION"
    assert caught.value.message.endswith("cannot be read: an exception whose text cannot be read")


def test_x1_a_timeout_beyond_every_float() -> None:
    """X1: a timeout that no float can hold is refused like an infinite one."""
    with pytest.raises(ToolContractError, match=r"INVALID_TOOL_DEFINITION: a tool's timeout is positive, finite"):
        Tool("a", "b", {}, echo, timeout=10**400)


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        (UnreadableSequence(), "the tools cannot be read: an exception whose text cannot be read"),
        ([Lookalike()], "tools[0] is a Lookalike, not a Tool"),
        ([Tool("a", "b", {}, echo), Unmade()], "tools[1] cannot be read: 'Unmade' object has no attribute 'name'"),
        ([object.__new__(Tool)], "tools[0] cannot be read: 'Tool' object has no attribute 'name'"),
        ([object.__new__(Unnamed)], "tools[0] cannot be read: division by zero"),
    ],
)
def test_x2_what_only_looks_like_a_tool(batch: Any, words: str) -> None:
    """X2: a look-alike, or a tool that was never made, is `INVALID_TOOL_BATCH`, and nothing is registered."""
    registry = ToolRegistry()
    with pytest.raises(ToolContractError) as caught:
        registry.register(batch)

    assert (caught.value.code, caught.value.message, registry.names) == ("INVALID_TOOL_BATCH", words, ())


def test_x2_a_subclass_with_a_wrong_definition() -> None:
    """X2, X1: a subclass is copied, so what it says is checked once more."""

    class Blank(Tool):
        name, description, execute, validate, parallel, timeout = "a", "  ", echo, None, True, None
        parameters: FrozenDict[object] = FrozenDict()

        def __init__(self) -> None: ...

    with pytest.raises(ToolContractError, match="INVALID_TOOL_DEFINITION: a tool's description"):
        ToolRegistry([Blank()])


def test_x2_specs_are_strict_where_asked() -> None:
    """X2, X9: strict is never set unasked, and set on every tool where it is asked for."""
    registry = ToolRegistry([Tool("a", "b", {}, echo), Tool("c", "d", {}, echo)])

    assert [spec.strict for spec in registry.specs()] == [None, None]
    assert [spec.strict for spec in registry.specs(strict=True)] == [True, True]


class Judged(pydantic.BaseModel):
    """A model whose validator does what the number says."""

    number: int

    @pydantic.field_validator("number")
    @classmethod
    def judge(cls, value: int) -> int:
        """Raise, or accept."""
        found: dict[int, Exception] = {1: ValueError("odd"), 2: KeyError("lost"), 3: NonRecoverableToolError("stop")}
        found[5] = RecursionError("too deep")
        if value in found:
            raise found[value]
        return value


@tool
def judged(answer: Judged) -> int:
    """Answer."""
    return answer.number


class Struct(msgspec.Struct):
    """The same in a struct."""

    number: int

    def __post_init__(self) -> None:
        """Raise, or accept."""
        Judged(number=self.number) if self.number == 1 else Judged.judge(self.number)


@tool(name="judged")
def structured(answer: Struct) -> int:
    """Answer."""
    return answer.number


@pytest.mark.parametrize("made", [judged, structured])
async def test_x3_x4_a_types_own_code(made: Tool) -> None:
    """X3, X4: a type that refuses is a fault of the arguments, one that breaks a failed validation, one may stop."""
    refused, broken, accepted, deep = [await one(made, {"answer": {"number": number}}) for number in (1, 2, 4, 5)]

    assert error_of(refused)[0] == "TOOL_ARGUMENTS_INVALID"
    assert error_of(deep) == ("TOOL_ARGUMENTS_INVALID", "$: too deep")
    assert error_of(broken) == ("TOOL_VALIDATION_FAILED", "the validator raised KeyError: 'lost'")
    assert accepted.content == "4"
    with pytest.raises(NonRecoverableToolError, match=r"^stop$"):
        await one(made, {"answer": {"number": 3}})


async def test_x3_a_task_of_a_validator_is_cancelled() -> None:
    """X3, X6: a validator that returns a task has decided nothing, and the task does not run on."""
    began: list[asyncio.Task[None]] = []

    async def background() -> None:
        await asyncio.Event().wait()

    def validate(arguments: object) -> Any:
        began.append(asyncio.ensure_future(background()))
        return began[0]

    result = await one(Tool("a", "b", {}, echo, validate))

    assert error_of(result)[0] == "TOOL_VALIDATION_FAILED"
    await asyncio.wait(began)
    assert began[0].cancelled()


async def test_x4_a_long_text_is_bounded_before_it_is_searched() -> None:
    """X4, E5: megabytes of error cost no more than their beginning, and a key that the cut tears apart is not shown."""
    key = "qx7-" + "Z" * 60
    remember_secret(key)
    texts = iter(["a b=c: " * 2_000_000, (key + " ") * 251 + key[:40] + "…", "short"])

    async def fail(arguments: object, context: ToolContext) -> None:
        raise OSError(next(texts))

    made = Tool("a", "b", {}, fail)
    before = time.process_time()
    flood = error_of(await one(made))[1]
    assert time.process_time() - before < 2
    torn = error_of(await one(made))[1]

    assert (len(flood), flood[:20], flood[-1]) == (1_024, "OSError: a b=c: a b=", "…")
    assert ("[redacted]" in torn, "ZZZ" in torn) == (True, False)
    assert error_of(await one(made)) == ("TOOL_EXECUTION_FAILED", "OSError: short")


class Interrupting(Exception):
    """An exception whose text is interrupted while it is made."""

    def __str__(self) -> str:
        raise KeyboardInterrupt


async def test_x4_an_interrupt_while_an_error_is_read() -> None:
    """X4: Ctrl-C is raised unchanged, also while the text of another error is made."""

    async def fail(arguments: object, context: ToolContext) -> None:
        raise Interrupting

    with pytest.raises(KeyboardInterrupt):
        await one(Tool("a", "b", {}, fail))


class Cat(msgspec.Struct, tag="cat"):
    """One of several kinds."""

    lives: int


class EndlessBlocks(list[object]):
    """A list that never comes to its last block."""

    def __init__(self, block: object) -> None:
        super().__init__([block])
        self.block = block

    def __iter__(self) -> Iterator[object]:
        while True:
            yield self.block


IMAGE = limen.ImageBlock(url="https://example.org/a.png")
MARK = limen.TextBlock("\n[Tool output truncated]")


@pytest.mark.parametrize("block", [limen.TextBlock(""), IMAGE])
async def test_x5_blocks_are_counted(block: limen.TextBlock | limen.ImageBlock) -> None:
    """X5: more than a thousand blocks are cut at the mark, and a list of them that never ends is no hang."""
    outputs: list[object] = [[block] * 1_000, [block] * 1_001, EndlessBlocks(block)]

    async def answer(arguments: object, context: ToolContext) -> object:
        return outputs.pop(0)

    whole, cut, endless = [(await one(Tool("a", "b", {}, answer))).content for _ in range(3)]

    assert whole == (block,) * 1_000
    assert cut == endless == (*(block,) * 999, MARK)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (limen.ImageBlock(media_type=5, data=b"x"), "an image block whose media_type is a int"),  # type: ignore[arg-type]
        (limen.ImageBlock("image/png", data="x"), "an image block whose data is a str"),  # type: ignore[arg-type]
        ([limen.ImageBlock(url=b"x")], "an image block whose url is a bytes"),  # type: ignore[arg-type]
    ],
)
async def test_x5_a_block_that_is_wrong_inside(output: object, words: str) -> None:
    """X5: a block that could not be sent is a failure of the tool, not of the next request."""

    async def answer(arguments: object, context: ToolContext) -> object:
        return output

    result = error_of(await one(Tool("a", "b", {}, answer)))
    assert result == ("TOOL_OUTPUT_SERIALIZATION_FAILED", f"the output holds {words}")


async def test_x5_a_tagged_struct_keeps_its_tag() -> None:
    """X5: the tag that tells a struct from its siblings is written, as msgspec writes it."""

    async def answer(arguments: object, context: ToolContext) -> object:
        return Cat(9)

    assert (await one(Tool("a", "b", {}, answer))).content == '{"lives":9,"type":"cat"}'


async def test_x7_a_tool_that_takes_a_name_meanwhile_runs_alone() -> None:
    """X7: where a tool that runs alone takes a name while calls wait, its call waits for all that run."""
    running: list[str] = []
    opened = asyncio.Event()
    registry = ToolRegistry()

    async def slow(arguments: object, context: ToolContext) -> list[str]:
        running.append(context.call_id)
        await opened.wait()
        running.remove(context.call_id)
        return list(running)

    async def quick(arguments: object, context: ToolContext) -> list[str]:
        handle.dispose()
        registry.register([Tool("b", "x", {}, alone, parallel=False)])
        opened.set()
        return []

    async def alone(arguments: object, context: ToolContext) -> list[str]:
        return list(running)

    registry.register([Tool("a", "x", {}, slow), Tool("q", "x", {}, quick)])
    handle = registry.register([Tool("b", "x", {}, slow)])
    calls = [call("a", id="1"), call("q", id="2"), call("b", id="3")]
    results = await run_tool_calls(calls, registry, concurrency=2)

    assert [result.content for result in results] == ["[]", "[]", "[]"]


class Twice:
    """A model of one's own that answers with one id for two calls."""

    def __init__(self) -> None:
        self.calls = (call("a", id="x"), call("a", id="x"))

    def stream(self, options: limen.GenerateOptions, /) -> "Twice":
        """Begin."""
        return self

    async def __aiter__(self) -> Any:
        yield limen.Finish(TOOL_CALLS)

    async def response(self) -> limen.Response:
        """Return both calls."""
        return limen.Response(limen.Message("assistant", self.calls), TOOL_CALLS, tool_calls=self.calls)

    async def aclose(self) -> None:
        """Do nothing."""


async def test_x8_calls_that_no_history_can_hold() -> None:
    """X8, N1: calls whose results could not stand in a history are raised before any of them has an effect."""
    effects: list[object] = []

    async def act(arguments: object, context: ToolContext) -> None:
        effects.append(arguments)

    with pytest.raises(limen.LlmError, match="holds two tool calls with the id 'x'"):
        async for _ in converse(Twice(), ask(), ToolRegistry([Tool("a", "b", {}, act)])):
            pass
    assert effects == []


@pytest.mark.parametrize(
    ("verdict", "error", "words"),
    [
        (Replace({"n": float("nan")}), limen.LlmError, "before_call replaced arguments by no JSON: "),
        (Replace({"n": object()}), limen.LlmError, "is not a value of limen"),
        (Deny(3), TypeError, "the reason of a Deny is a text, not a int"),  # type: ignore[arg-type]
    ],
)
async def test_x8_a_verdict_that_is_wrong_inside(verdict: Verdict, error: type[Exception], words: str) -> None:
    """X8: a hook's mistake is raised before any call runs; NaN does not become null on the way."""
    effects: list[object] = []

    async def act(arguments: object, context: ToolContext) -> None:
        effects.append(arguments)

    llm, _ = scripted([call("a", {})], "never")
    with pytest.raises(error, match=words):
        async for _ in converse(llm, ask(), ToolRegistry([Tool("a", "b", {}, act)]), before_call=lambda _: verdict):
            pass
    assert effects == []


class Measures(msgspec.Struct):
    """Numbers of several types."""

    count: int
    ratio: float
    either: int | str


@tool
def measured(measures: Measures) -> object:
    """Answer with the numbers and their types."""
    return [[type(number).__name__, number] for number in (measures.count, measures.ratio, measures.either)]


async def test_x3_a_whole_number_is_an_integer() -> None:
    """X3: 1.0 is an integer to JSON schema, so a function gets 1; 1.5 is none."""
    whole = await one(measured, '{"measures":{"count":1.0,"ratio":2.0,"either":3.0}}')
    half = await one(measured, '{"measures":{"count":1.5,"ratio":2,"either":3}}')

    assert whole.content == '[["int",1],["float",2.0],["int",3]]'
    assert error_of(half) == ("TOOL_ARGUMENTS_INVALID", "$.measures.count: expected integer, got number")
    numbers = limen.Response(None, limen.FinishReason("stop"), text='{"count":1.0,"ratio":1,"either":"x"}')
    assert numbers.parse(Measures) == Measures(1, 1.0, "x")


async def test_x3_valid_and_invalid_by_hand() -> None:
    """X3: a validator's own value is what the tool is executed with, its message what the model reads."""

    def validate(arguments: object) -> Valid | Invalid:
        return Invalid("$.n: is missing") if arguments == {} else Valid([1])

    made = Tool("a", "b", {}, echo, validate)
    assert (await one(made, {"n": 1})).content == "[1]"
    assert error_of(await one(made, {})) == ("TOOL_ARGUMENTS_INVALID", "$.n: is missing")


def test_e3_errors_are_named_as_they_are_imported() -> None:
    """E3: tracebacks and logs name the errors by the module that a program imports them from."""
    raised = (ToolContractError, NonRecoverableToolError, McpToolError)

    assert {error.__module__ for error in raised} == {"limen.tools"}
    assert isinstance(pickle.loads(pickle.dumps(NonRecoverableToolError("stop"))), NonRecoverableToolError)
