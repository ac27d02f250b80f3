"""X1: a tool is checked and copied when it is made; X2: a batch of tools enters whole or not at all."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from limen.contract import ToolSpec
from limen.tools import Tool, ToolContext, ToolContractError, ToolRegistry, Valid

SCHEMA: dict[str, object] = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def execute(arguments: Mapping[str, object], context: ToolContext) -> object:
    """Answer with the arguments."""
    return arguments


def make(**fields: object) -> Tool:
    """Make a tool, good but for the fields that are given."""
    good: dict[str, Any] = {"name": "add", "description": "Add.", "parameters": SCHEMA, "execute": execute}
    return Tool(**{**good, **fields})


class Unreadable(Mapping[str, object]):
    """A mapping that raises when it is read."""

    def __getitem__(self, name: str) -> object:
        raise KeyError(name)

    def __len__(self) -> int:
        return 1

    def __iter__(self) -> Iterator[str]:
        raise RuntimeError("not today")


def nested(levels: int) -> dict[str, object]:
    """A schema that is this many levels deep."""
    schema: dict[str, object] = {}
    for _ in range(levels):
        schema = {"items": schema}
    return schema


CYCLE: dict[str, object] = {}
CYCLE["properties"] = {"a": CYCLE}


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("name", "", "a tool's name is"),
        ("name", "a" * 65, "a tool's name is"),
        ("name", "with space", "a tool's name is"),
        ("name", "line\n", "a tool's name is"),
        ("name", "né", "a tool's name is"),
        ("name", 7, "got a int"),
        ("description", "", "a tool's description is"),
        ("description", " \n", "a tool's description is"),
        ("description", None, "got a NoneType"),
        ("parameters", [], "JSON-schema object, got a list"),
        ("parameters", None, "JSON-schema object, got a NoneType"),
        ("parameters", {"type": "array"}, "parameters.type is 'array', and a tool's arguments are an object"),
        ("parameters", {"properties": []}, "parameters.properties is no object of schemas"),
        ("parameters", {"properties": {"a": 1}}, "parameters.properties.a is no schema"),
        ("parameters", {"properties": {"a": {"type": "text"}}}, "parameters.properties.a.type is no type"),
        ("parameters", {"properties": {"a": {"type": []}}}, "parameters.properties.a.type is no type"),
        ("parameters", {"required": "a"}, "parameters.required is no list of names"),
        ("parameters", {"required": [1]}, "parameters.required is no list of names"),
        ("parameters", {"properties": {"a": {"enum": "x"}}}, "parameters.properties.a.enum is no list of values"),
        ("parameters", {"anyOf": {}}, "parameters.anyOf is no list of schemas"),
        ("parameters", {"anyOf": [{}, 3]}, "parameters.anyOf[1] is no schema"),
        ("parameters", {"additionalProperties": 3}, "parameters.additionalProperties is no schema"),
        ("parameters", {"$ref": 3}, "parameters.$ref is no reference"),
        ("parameters", {"properties": {"a": {"minimum": "3"}}}, "parameters.properties.a.minimum is no number"),
        ("parameters", {"properties": {"a": {"maxLength": True}}}, "parameters.properties.a.maxLength is no number"),
        ("parameters", {"const": float("nan")}, "parameters.const is nan"),
        ("parameters", {"const": {1, 2}}, "parameters.const is a set"),
        ("parameters", {1: 2}, "cannot be read"),
        ("parameters", nested(500), "cannot be read"),
        ("parameters", CYCLE, "cannot be read"),
        ("parameters", Unreadable(), "not today"),
        ("execute", "add", "a tool's execute is a function, got a str"),
        ("execute", None, "a tool's execute is a function"),
        ("validate", 3, "a tool's validate is a function"),
        ("parallel", 1, "a tool's parallel is a bool"),
        ("timeout", 0, "a tool's timeout is positive"),
        ("timeout", -1.0, "a tool's timeout is positive"),
        ("timeout", float("inf"), "a tool's timeout is positive"),
        ("timeout", float("nan"), "a tool's timeout is positive"),
        ("timeout", True, "a tool's timeout is positive"),
        ("timeout", "3", "a tool's timeout is positive"),
    ],
)
def test_x1_what_is_no_tool_is_refused(field: str, value: object, words: str) -> None:
    """X1: a field that is not usable is `INVALID_TOOL_DEFINITION`, and the message says which and why."""
    with pytest.raises(ToolContractError) as caught:
        make(**{field: value})

    assert caught.value.code == "INVALID_TOOL_DEFINITION"
    assert words in str(caught.value)


def test_x1_the_source_may_change_afterwards() -> None:
    """X1: a tool is copied when it is made, down to the leaves of its schema."""
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    tool = make(parameters=schema)

    schema["properties"]["a"]["type"] = "string"
    schema["required"].append("b")

    assert tool.parameters == SCHEMA
    assert tool.spec == ToolSpec("add", "Add.", SCHEMA)


def test_x1_a_tool_is_immutable() -> None:
    """X1: neither a field nor the schema of a tool can be changed, by its own function either."""
    tool = make()

    with pytest.raises(AttributeError, match="immutable"):
        tool.name = "other"
    with pytest.raises(AttributeError, match="immutable"):
        del tool.name
    with pytest.raises(TypeError, match="immutable"):
        tool.parameters["type"] = "array"
    assert (tool.name, tool.description, tool.validate, tool.parallel, tool.timeout) == (
        "add",
        "Add.",
        None,
        True,
        None,
    )
    assert repr(tool) == "<Tool add>"


def test_x1_every_field_is_kept() -> None:
    """X1: what a tool is given is what it has; whole seconds are seconds."""
    tool = make(validate=Valid, parallel=False, timeout=3, parameters={})

    assert (tool.execute, tool.validate, tool.parallel, tool.timeout) == (execute, Valid, False, 3.0)
    assert tool.parameters == {}


class Endless(Sequence[Tool]):
    """A sequence that raises when it is read."""

    def __getitem__(self, index: object) -> Any:
        raise RuntimeError("not today")

    def __len__(self) -> int:
        return 3


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        (None, "a NoneType is no sequence of tools"),
        ("add", "a str is no sequence of tools"),
        ({make()}, "a set is no sequence of tools"),
        (make(), "a Tool is no sequence of tools"),
        (iter([make()]), "is no sequence of tools"),
        ([make(), "sub"], "tools[1] is a str, not a Tool"),
        ([execute], "tools[0] is a function, not a Tool"),
        (Endless(), "cannot be read: not today"),
    ],
)
def test_x2_what_is_no_batch_is_refused(batch: Any, words: str) -> None:
    """X2: what is no sequence of tools is `INVALID_TOOL_BATCH`, and nothing of it is registered."""
    registry = ToolRegistry()
    for take in (ToolRegistry, registry.register):
        with pytest.raises(ToolContractError) as caught:
            take(batch)
        assert (caught.value.code, words in caught.value.message) == ("INVALID_TOOL_BATCH", True)

    assert registry.names == ()


def test_x2_a_name_is_taken_once() -> None:
    """X2: a name twice within a batch, or against the registry, refuses the whole batch."""
    first = make()
    registry = ToolRegistry([first])
    for batch in ([make(name="b"), make(name="b")], [make(name="b"), make()]):
        with pytest.raises(ToolContractError) as caught:
            registry.register(batch)
        assert caught.value.code == "DUPLICATE_TOOL_NAME"

    assert registry.names == ("add",)
    assert registry.get("add") is first
    assert registry.get("b") is None


def test_x2_a_handle_disposes_its_batch() -> None:
    """X2: disposing takes the batch out and leaves the rest; twice is harmless, and the names are free again."""
    registry = ToolRegistry([make(name="a")])
    handle = registry.register([make(name="b"), make(name="c")])
    assert (handle.names, registry.names) == (("b", "c"), ("a", "b", "c"))

    handle.dispose()
    again = registry.register([make(name="b")])
    handle.dispose()
    assert registry.names == ("a", "b")
    with again:
        pass
    assert [spec.name for spec in registry.specs()] == ["a"]
    assert registry.register([]).names == ()


def test_x2_what_is_registered_cannot_change_its_mind() -> None:
    """X1, X2: of a subclass that says something else each time, the registry keeps a copy of what it said."""

    class Fickle(Tool):
        asked = 0

        @property
        def name(self) -> str:
            Fickle.asked += 1
            return f"name{Fickle.asked}"

        @name.setter
        def name(self, value: str) -> None: ...

    registry = ToolRegistry([Fickle("add", "Add.", {}, execute)])
    (name,) = registry.names
    kept = registry.get(name)

    assert kept is not None
    assert (type(kept), kept.name, registry.specs()[0].name) == (Tool, name, name)


def test_x2_threads_may_register_at_once() -> None:
    """X2: of many threads that register the same name, one gets it."""
    registry = ToolRegistry()
    taken: list[int] = []
    begin = threading.Barrier(8)

    def register(number: int) -> None:
        begin.wait()
        try:
            registry.register([make(), make(name=f"own{number}")])
        except ToolContractError:
            return
        taken.append(number)

    threads = [threading.Thread(target=register, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(taken) == 1
    assert registry.names == ("add", f"own{taken[0]}")


async def test_x2_a_registry_closes_what_it_was_given() -> None:
    """A registry closes in reverse order, all of it, raises the first failure afterwards, and closes once."""
    closed: list[str] = []

    async def good() -> None:
        closed.append("good")

    async def bad() -> None:
        closed.append("bad")
        raise OSError("cannot close")

    registry = ToolRegistry()
    registry.closing(good)
    registry.closing(bad)
    with pytest.raises(OSError, match="cannot close"):
        await registry.aclose()
    async with registry:
        pass

    assert closed == ["bad", "good"]
