"""Requests: honoured fields, refusals that name the path, extra, names (Q1, Q3, Q8-Q10, R4)."""

import re
from typing import Any

import msgspec
import pytest

from limen.adapters.kit import NAME, BuildContext, ImageRules, RequestWriter, arguments_object, check_image, check_role
from limen.contract import (
    Effort,
    GenerateOptions,
    ImageBlock,
    JsonSchema,
    LlmError,
    ModelInfo,
    ToolCallBlock,
    ToolChoice,
    ToolSpec,
    codes,
    user,
)

SET: dict[str, Any] = {
    "system": "s",
    "tools": [ToolSpec("f", "d", {"type": "object"})],
    "tool_choice": "auto",
    "parallel_tool_calls": False,
    "response_format": "json",
    "temperature": 0.0,
    "top_p": 0.0,
    "max_tokens": 1,
    "stop": ["x"],
    "seed": 0,
    "reasoning_effort": "off",
    "cache": "short",
    "extra": {"toy": {"a": 1}},
}
HINTS = {"provider", "model", "messages", "session_id", "purpose", "signal", "timeouts"}


def writer(
    *, model: ModelInfo | None = None, cap: int | None = None, refuses: Any = None, **fields: Any
) -> RequestWriter:
    """Make a writer of a request with these fields."""
    options = GenerateOptions("r", "m", [user("hi")], **fields)
    return RequestWriter(options, BuildContext(model, cap), wire="toy", dialect="plain", refuses=refuses or {})


def refusal(action: Any) -> tuple[str, str]:
    """Return code and message of what an action raises."""
    with pytest.raises(LlmError) as caught:
        action()
    assert caught.value.failure.phase == "resolve"
    return caught.value.code, caught.value.failure.message


def test_every_optional_field_is_tried_here() -> None:
    """A field that is added to the options later must be added to these tests."""
    assert set(SET) | HINTS == set(GenerateOptions.__struct_fields__) | {"timeouts"}


@pytest.mark.parametrize("name", sorted(SET))
def test_a_field_that_is_not_honoured_is_refused(name: str) -> None:
    """Every field that is set goes on the wire or is refused, falsy values too (Q1)."""
    one = writer(**{name: SET[name]})
    code, message = refusal(lambda: one.check_honoured(()))
    one.check_honoured({name})

    assert code == (codes.UNSUPPORTED_REASONING_EFFORT if name == "reasoning_effort" else codes.UNSUPPORTED)
    assert message.startswith("reasoning_effort 'off' cannot" if name == "reasoning_effort" else f"{name} cannot")
    assert message.partition(": ")[0].endswith("be sent to r/m (dialect plain)")


@pytest.mark.parametrize(
    "fields", [{}, {"tools": []}, {"stop": []}, {"cache": "none"}, {"response_format": "text"}, {"session_id": "s"}]
)
def test_unset_fields_hints_and_what_holds_anyway(fields: dict[str, Any]) -> None:
    """Nothing set, hints, plain text and no caching need nothing of a wire."""
    writer(**fields).check_honoured(())


def test_put_writes_what_is_set() -> None:
    """Falsy values are values; unset ones do not appear (Q3)."""
    one = writer(temperature=0.0, seed=0)
    for name in ("temperature", "seed", "top_p"):
        one.put(name, getattr(one.options, name), field="random_seed" if name == "seed" else None)
    one.put("stop", ())

    assert one.body == {"temperature": 0.0, "random_seed": 0}


def test_put_refuses() -> None:
    """A row's refusal gives its reason; a number that is no JSON is INVALID_OPTIONS (Q8)."""
    one = writer(refuses={"seed": "it has none"})

    assert refusal(lambda: one.put("seed", 1)) == (
        codes.UNSUPPORTED,
        "seed cannot be sent to r/m (dialect plain): it has none",
    )
    assert refusal(lambda: one.put("top_p", float("nan"))) == (
        codes.INVALID_OPTIONS,
        "top_p is nan, which JSON has no word for (for r/m)",
    )


def test_stops() -> None:
    """A wire's limit of stop words is kept, and a row may refuse them."""
    assert (writer(stop=["a", "b"]).stops(2), writer().stops(1)) == (("a", "b"), ())
    assert refusal(lambda: writer(stop=["a", "b"]).stops(1))[1].endswith("it takes at most 1, and there are 2")
    assert refusal(lambda: writer(stop=["a"], refuses={"stop": "no"}).stops(None))[0] == codes.UNSUPPORTED


def test_max_tokens() -> None:
    """The call's own cap, else the model's, else the adapter's (R4)."""
    model = ModelInfo("r", "m", "m", default_max_tokens=7)

    assert writer(max_tokens=5, model=model, cap=9).max_tokens() == 5
    assert writer(model=model, cap=9).max_tokens() == 7
    assert writer(cap=9).max_tokens() == 9
    assert writer().max_tokens() is None


def test_efforts() -> None:
    """Efforts are the model's own where they are known, else the row's, else anything (R4)."""
    model = ModelInfo("r", "m", "m", efforts=(Effort("deep", "deep"),))

    assert writer().effort(("low",)) is None
    assert writer(reasoning_effort="deep", model=model).effort(("low",)) == "deep"
    assert writer(reasoning_effort="low").effort(("low",)) == "low"
    assert writer(reasoning_effort="any").effort(None) == "any"
    assert refusal(lambda: writer(reasoning_effort="low", model=model).effort(("low",))) == (
        codes.UNSUPPORTED_REASONING_EFFORT,
        "reasoning_effort 'low' cannot be sent to r/m (dialect plain): the efforts are deep",
    )
    assert refusal(lambda: writer(reasoning_effort="low").effort(()))[1].endswith("it has no efforts to set")


def test_cache() -> None:
    """Nothing is cached unless asked for; another word is INVALID_OPTIONS."""
    assert [writer(cache=hint).cache() for hint in (None, "none", "short", "long")] == [None, None, "short", "long"]
    assert refusal(lambda: writer(cache="forever").cache())[0] == codes.INVALID_OPTIONS


def test_response_formats() -> None:
    """A format is one of the three, offered by the row, and its schema is JSON."""
    schema = JsonSchema("n", {"type": "object"})

    assert writer().response_format(("text",)) is None
    assert writer(response_format="text", refuses={"response_format": "no"}).response_format(("text",)) == "text"
    assert writer(response_format=schema).response_format(("json-schema",)) == schema
    assert refusal(lambda: writer(response_format="yaml").response_format(("text",)))[0] == codes.INVALID_OPTIONS
    assert refusal(lambda: writer(response_format="json").response_format(("text",))) == (
        codes.UNSUPPORTED,
        "response_format cannot be sent to r/m (dialect plain): of answer formats it has text, not json",
    )
    bad = JsonSchema("n", {"x": float("inf")})
    assert refusal(lambda: writer(response_format=bad).response_format(("json-schema",)))[0] == codes.INVALID_OPTIONS


def test_tools() -> None:
    """Tools have names, each its own; there are no more than the wire takes; schemas are JSON (Q10)."""
    f, g = ToolSpec("f", None, None), ToolSpec("g", None, {"type": "object"})

    assert writer(tools=[f, g]).tools(lambda tool, path: (path, tool.name), limit=2) == [
        ("tools[0]", "f"),
        ("tools[1]", "g"),
    ]
    assert writer().tools(lambda tool, path: tool) == []
    assert (
        refusal(lambda: writer(tools=[f, f]).tools(lambda tool, path: path))[1]
        == "tools[1].name is 'f', which another tool has (for r/m)"
    )
    assert (
        refusal(lambda: writer(tools=[ToolSpec("", None, None)]).tools(lambda tool, path: path))[1]
        == "tools[0].name is empty (for r/m)"
    )
    assert refusal(lambda: writer(tools=[f, g]).tools(lambda tool, path: path, limit=1))[0] == codes.UNSUPPORTED
    assert (
        refusal(lambda: writer(tools=[f], refuses={"tools": "no"}).tools(lambda tool, path: path))[0]
        == codes.UNSUPPORTED
    )
    wrong = ToolSpec("f", None, {"x": float("nan")})
    assert refusal(lambda: writer(tools=[wrong]).tools(lambda tool, path: path))[1].startswith(
        "tools[0].parameters.x is nan"
    )


def test_names() -> None:
    """A name that the wire is known to refuse is refused before I/O (Q10)."""
    one = writer()
    one.check_name("a/b", "x", None)
    one.check_name("a_b", "x", NAME)

    assert refusal(lambda: one.check_name("a/b", "tools[0].name", NAME)) == (
        codes.UNSUPPORTED,
        "tools[0].name cannot be sent to r/m (dialect plain): 'a/b' does not match [A-Za-z0-9_-]{1,64}",
    )


def test_tool_choices() -> None:
    """A choice needs tools, is one that the row honours, and names one of them."""
    tools = [ToolSpec("f", None, None)]

    assert writer(tools=tools).tool_choice() is None
    assert writer(tools=tools, tool_choice="required").tool_choice() == "required"
    assert writer(tools=tools, tool_choice=ToolChoice("f")).tool_choice() == ToolChoice("f")
    for fields, offered, code in (
        ({"tool_choice": "auto"}, ("auto",), codes.UNSUPPORTED),
        ({"parallel_tool_calls": True}, ("auto",), codes.UNSUPPORTED),
        ({"tools": tools, "tool_choice": "maybe"}, ("auto",), codes.INVALID_OPTIONS),
        ({"tools": tools, "tool_choice": "required"}, ("auto",), codes.UNSUPPORTED),
        ({"tools": tools, "tool_choice": ToolChoice("f")}, ("auto",), codes.UNSUPPORTED),
        ({"tools": tools, "tool_choice": ToolChoice("g")}, ("auto", "tool"), codes.INVALID_OPTIONS),
        ({"tools": tools, "tool_choice": "auto", "refuses": {"tool_choice": "no"}}, ("auto",), codes.UNSUPPORTED),
    ):
        assert refusal(lambda fields=fields, offered=offered: writer(**fields).tool_choice(offered))[0] == code


@pytest.mark.parametrize(
    ("extra", "body"),
    [
        (None, {"own": 1, "config": {"a": 1}}),
        ({"toy": {"x": None}}, {"own": 1, "config": {"a": 1}, "x": None}),
        ({"toy": {"config": {"b": 2}}}, {"own": 1, "config": {"a": 1, "b": 2}}),
    ],
)
def test_extra_is_merged_last(extra: Any, body: dict[str, object]) -> None:
    """Fields are added, and two objects merge one level deep (Q9)."""
    one = writer(extra=extra)
    one.body.update({"own": 1, "config": {"a": 1}})
    one.merge_extra()

    assert one.body == body
    assert msgspec.json.decode(one.encoded()) == body


@pytest.mark.parametrize(
    ("extra", "code", "words"),
    [
        ({"other": {"x": 1}}, codes.UNSUPPORTED, "extra.other cannot be sent"),
        ({"toy": 7}, codes.INVALID_OPTIONS, "extra.toy is not an object of fields"),
        ({"toy": {"own": 2}}, codes.INVALID_OPTIONS, "extra.toy.own is a field that the request's own options write"),
        ({"toy": {"config": {"a": 2}}}, codes.INVALID_OPTIONS, "extra.toy.config.a is a field"),
        ({"toy": {"config": 2}}, codes.INVALID_OPTIONS, "extra.toy.config is a field"),
        ({"toy": {"x": float("nan")}}, codes.INVALID_OPTIONS, "extra.toy.x is nan"),
        ({"toy": {"n": 2}}, codes.UNSUPPORTED, "extra.toy.n cannot be sent"),
    ],
)
def test_extra_that_cannot_be_merged(extra: Any, code: str, words: str) -> None:
    """What is written already, what is another wire's, and what may not be sent is refused by its path (Q9)."""
    one = writer(extra=extra)
    one.body.update({"own": 1, "config": {"a": 1}})
    found, message = refusal(lambda: one.merge_extra(lambda name, value: "one answer" if name == "n" else None))

    assert found == code
    assert re.match(re.escape(words), message)


IMAGE = ImageBlock("image/png", b"x")
LINK = ImageBlock(url="https://a.example/x.png")


@pytest.mark.parametrize(
    ("rules", "block", "modalities", "reason"),
    [
        (ImageRules(), IMAGE, None, None),
        (ImageRules(), LINK, None, None),
        (ImageRules(taken="no"), IMAGE, None, "it takes no images"),
        (ImageRules(), IMAGE, ("text",), "it takes no images"),
        (ImageRules(taken="listed"), IMAGE, ("text", "image"), None),
        (ImageRules(taken="listed"), IMAGE, None, "only some of its models take images"),
        (ImageRules(urls=False), LINK, None, "it takes images as bytes only"),
        (ImageRules(types=frozenset({"image/gif"})), IMAGE, None, "image/png is none of image/gif"),
        (ImageRules(types=frozenset({"image/png"})), IMAGE, None, None),
    ],
)
def test_images(rules: ImageRules, block: ImageBlock, modalities: Any, reason: str | None) -> None:
    """An image goes out where host and model are known to take it, else it is UNSUPPORTED_CONTENT (Q1)."""
    model = None if modalities is None else ModelInfo("r", "m", "m", input_modalities=modalities)
    one = writer(model=model)
    if reason is None:
        check_image(one, block, "messages[0].content[0]", rules)
        return
    code, message = refusal(lambda: check_image(one, block, "messages[0].content[0]", rules))

    assert code == codes.UNSUPPORTED_CONTENT
    assert message.startswith(f"messages[0].content[0] cannot be sent to r/m (dialect plain): {reason}")


@pytest.mark.parametrize(("text", "raw"), [("", b"{}"), (" \n", b"{}"), ('{"a": 1.0}', b'{"a": 1.0}')])
def test_arguments_become_an_object(text: str, raw: bytes) -> None:
    """A wire that embeds arguments gets their own bytes, empty ones as `{}` (C8)."""
    assert bytes(arguments_object(writer(), ToolCallBlock("c", "f", text), "messages[1].content[0]")) == raw


@pytest.mark.parametrize("text", ["[]", "7", "{", '{"a":1} x', '{"a":' * 200])
def test_arguments_that_are_no_object(text: str) -> None:
    """Anything but one JSON object is INVALID_OPTIONS and names the call (C8)."""
    code, message = refusal(lambda: arguments_object(writer(), ToolCallBlock("c", "f", text), "messages[1].content[0]"))

    assert code == codes.INVALID_OPTIONS
    assert message.startswith("messages[1].content[0]: the arguments of the call 'c' of 'f' are not one JSON object")


def test_roles() -> None:
    """A role that no message has is INVALID_OPTIONS."""
    check_role(writer(), 0, "tool")

    assert refusal(lambda: check_role(writer(), 3, "robot"))[1].startswith("messages[3].role is 'robot'")
