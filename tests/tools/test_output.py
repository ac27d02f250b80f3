"""X5: a tool's output becomes text, bounded in depth, nodes and characters; what is no data is a failure."""

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import limen
from limen.contract import ToolResultBlock
from limen.tools import Tool, ToolRegistry, run_tool_calls
from tools._scripted import call, error_of

MARK = "\n[Tool output truncated]"


async def result(output: object, **options: Any) -> ToolResultBlock:
    """Return the result of a tool with this output."""

    async def execute(arguments: object, context: object) -> object:
        return output

    (found,) = await run_tool_calls([call("do")], ToolRegistry([Tool("do", "Do.", {}, execute)]), **options)
    return found


class Colour(Enum):
    """An enum."""

    RED = "red"


class Level(IntEnum):
    """An enum that is a number."""

    HIGH = 3


class Text(str):
    """A string that says something else of itself."""

    def __str__(self) -> str:
        return "lie"


class Weather(msgspec.Struct, rename="camel"):
    """A struct."""

    city_name: str
    wind: float | msgspec.UnsetType = msgspec.UNSET


@dataclasses.dataclass
class Point:
    """A dataclass."""

    y: int
    x: object = 0


class Pair(NamedTuple):
    """A named tuple."""

    left: int
    right: int


class Model(pydantic.BaseModel):
    """A pydantic model."""

    when: date


class Plain(Mapping[str, object]):
    """A mapping that is no dict."""

    def __getitem__(self, name: str) -> object:
        return 1

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[str]:
        return iter(["one"])


IMAGE = limen.ImageBlock("image/png", b"png")


@pytest.mark.parametrize(
    ("output", "content"),
    [
        ("", ""),
        ('{"as": "it is"}', '{"as": "it is"}'),
        ("\ud800", "\ud800"),
        (Text("truth"), "truth"),
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (-0.0, "-0.0"),
        (1e300, "1e+300"),
        (2**70, "1180591620717411303424"),
        ([], "[]"),
        ({}, "{}"),
        ((1, "é", [None]), '[1,"é",[null]]'),
        ({"b": 1, "a": {"d": 2, "c": "\n"}}, '{"a":{"c":"\\n","d":2},"b":1}'),
        ({"a": "\ud800"}, '{"a":"\ufffd"}'),
        ({Text("key"): Text("truth")}, '{"key":"truth"}'),
        (Colour.RED, '"red"'),
        ([Level.HIGH], "[3]"),
        (Weather("Oslo"), '{"cityName":"Oslo"}'),
        (Weather("Oslo", 3.5), '{"cityName":"Oslo","wind":3.5}'),
        (Point(1, [Point(2)]), '{"x":[{"x":0,"y":2}],"y":1}'),
        (Pair(1, 2), "[1,2]"),
        (Plain(), '{"one":1}'),
        (Model(when=date(2026, 1, 2)), '{"when":"2026-01-02"}'),
        (datetime(2026, 1, 2, 3, 4, tzinfo=UTC), '"2026-01-02T03:04:00+00:00"'),
        ([time(3, 4), Decimal("1.50"), UUID(int=1)], '["03:04:00","1.50","00000000-0000-0000-0000-000000000001"]'),
        (limen.TextBlock("seen"), (limen.TextBlock("seen"),)),
        ([limen.TextBlock("seen"), IMAGE], (limen.TextBlock("seen"), IMAGE)),
    ],
)
async def test_x5_output_becomes_content(output: object, content: object) -> None:
    """X5: a string and blocks stay as they are, and other data becomes JSON with sorted keys."""
    assert await result(output) == ToolResultBlock("call_1", content)  # type: ignore[arg-type]


def cyclic(links: int) -> object:
    """A list that contains itself, by way of this many others."""
    first: list[object] = []
    last = first
    for _ in range(links):
        last.append([])
        last = last[0]  # type: ignore[assignment]
    last.append(first)
    return first


def knot() -> object:
    """A dataclass that contains itself."""
    point = Point(1)
    point.x = point
    return point


class Hostile(Mapping[str, object]):
    """A mapping that raises when it is read."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __getitem__(self, name: str) -> object:
        raise self.error

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[str]:
        raise self.error


class EndlessKeys(Plain):
    """A mapping that never comes to its last key."""

    def __iter__(self) -> Iterator[str]:
        number = 0
        while True:
            number += 1
            yield str(number)


class EndlessItems(list[object]):
    """A list that never comes to its last item."""

    def __iter__(self) -> Iterator[object]:
        while True:
            yield 1


class Deeper(Plain):
    """A mapping whose value is another of its kind, each time anew."""

    def __getitem__(self, name: str) -> object:
        return Deeper()


async def never_awaited() -> None:
    """A coroutine."""


async def unawaited() -> object:
    """A coroutine that returns a coroutine."""
    return never_awaited()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: cyclic(0), "the output holds a value that contains itself"),
        (lambda: {"a": [cyclic(1)]}, "the output holds a value that contains itself"),
        (lambda: cyclic(200), "the output holds a value that contains itself"),
        (knot, "the output holds a value that contains itself"),
        (lambda: [float("nan")], "the output holds nan, which JSON has no word for"),
        (lambda: float("-inf"), "the output holds -inf, which JSON has no word for"),
        (lambda: ["x" * 40_000, float("nan")], "the output holds nan, which JSON has no word for"),
        (lambda: b"bytes", "the output holds a bytes, which is not data"),
        (lambda: {"a": bytearray(1)}, "the output holds a bytearray, which is not data"),
        (lambda: {1, 2}, "the output holds a set, which is not data"),
        (lambda: {1: 2}, "the output holds a key that is a int, not a string"),
        (lambda: {"a": 1, None: 2}, "the output holds a key that is a NoneType, not a string"),
        (object, "the output holds a object, which is not data"),
        (lambda: Point, "the output holds a type, which is not data"),
        (lambda: [limen.TextBlock("a"), IMAGE, 3, b""], "the output holds a bytes, which is not data"),
        (lambda: limen.TextBlock(3), "the output holds a text block whose text is no string"),  # type: ignore[arg-type]
        (never_awaited, "the output holds a coroutine, which is not data"),
        (EndlessKeys, "the output holds an object of more than 100000 keys"),
        (lambda: 10**5_000, "the output cannot be read: ValueError: Exceeds the limit"),
        (lambda: Hostile(RuntimeError("no")), "the output cannot be read: RuntimeError: no"),
        (lambda: Hostile(SystemExit(3)), "the output cannot be read: SystemExit: 3"),
    ],
)
async def test_x5_what_is_no_data_is_a_failure(make: Callable[[], object], words: str) -> None:
    """X5: cycles, NaN, bytes, sets, keys that are no strings and foreign objects are a serialization failure."""
    code, message = error_of(await result(make()))

    assert code == "TOOL_OUTPUT_SERIALIZATION_FAILED"
    assert message.startswith(words)


@pytest.mark.parametrize("error", [KeyboardInterrupt()])
async def test_x4_an_interrupt_while_output_is_read(error: BaseException) -> None:
    """X4: an interrupt stops the run also while an output is read."""
    with pytest.raises(KeyboardInterrupt):
        await result(Hostile(error))


def deep(levels: int) -> object:
    """A list in a list, this many times."""
    value: object = []
    for _ in range(levels - 1):
        value = [value]
    return value


def shared(times: int) -> object:
    """A small value that is endless to walk: each level holds the one below ten times."""
    value: object = "x"
    for _ in range(times):
        value = [value] * 10
    return value


async def test_x5_characters_are_bounded() -> None:
    """X5: at most 32,768 code points, the mark included; what fits exactly is not cut."""
    whole, over = await result("é" * 32_768), await result("é" * 32_769)
    quoted = await result(["é" * 32_764]), await result(["é" * 32_765])

    assert whole.content == "é" * 32_768
    assert over.content == "é" * (32_768 - len(MARK)) + MARK
    assert quoted[0].content == '["' + "é" * 32_764 + '"]'
    assert quoted[1].content == '["' + "é" * (32_766 - len(MARK)) + MARK


async def test_x5_depth_is_bounded() -> None:
    """X5: 32 levels are written; at the 33rd the output is cut."""
    assert (await result(deep(32))).content == "[" * 32 + "]" * 32
    assert (await result(deep(33))).content == "[" * 32 + MARK
    assert (await result(deep(100_000))).content == "[" * 32 + MARK


@pytest.mark.parametrize("make", [EndlessItems, Deeper, lambda: shared(40), lambda: "x" * 10_000_000])
async def test_x5_endless_output_is_cut(make: Callable[[], object]) -> None:
    """X5: a value without an end, or with one that nobody lives to see, is cut, and never a hang."""
    content = (await result(make(), max_output=1_000)).content

    assert isinstance(content, str)
    assert len(content) <= 1_000
    assert content.endswith(MARK)


async def test_x5_the_text_of_blocks_is_bounded_together() -> None:
    """X5: the texts of blocks share the bound; the block at the cut is the last, and images before it stay."""
    blocks = [limen.TextBlock("a" * 60), IMAGE, limen.TextBlock("b" * 60), IMAGE]

    whole = await result(blocks, max_output=120)
    cut = await result(blocks, max_output=119)
    late = await result([limen.TextBlock("a" * 95), IMAGE, limen.TextBlock("b" * 25), IMAGE], max_output=119)

    assert whole.content == tuple(blocks)
    assert cut.content == (limen.TextBlock("a" * 60), IMAGE, limen.TextBlock("b" * (59 - len(MARK)) + MARK))
    assert late.content == (limen.TextBlock("a" * 95 + MARK),)


@pytest.mark.parametrize("max_output", [24, 0, -1, True, 1e3, "many"])
async def test_x5_a_bound_that_the_mark_does_not_fit_into(max_output: object) -> None:
    """X5: a bound that is no whole number above the mark's own length is a `ValueError`."""
    with pytest.raises(ValueError, match="max_output is a whole number of code points above 24"):
        await result("x", max_output=max_output)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=30,
)


@given(value=JSON, max_output=st.integers(25, 200))
async def test_x5_any_json_is_written_or_cut(value: object, max_output: int) -> None:
    """X5: any JSON value reads back equal where it fits, and is a prefix with the mark where it does not."""
    whole = await result([value])
    cut = await result([value], max_output=max_output)

    assert isinstance(whole.content, str)
    assert isinstance(cut.content, str)
    assert json.loads(whole.content) == json.loads(json.dumps([value]).encode())
    if len(whole.content) <= max_output:
        assert cut.content == whole.content
    else:
        assert cut.content == whole.content[: max_output - len(MARK)] + MARK
