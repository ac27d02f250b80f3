"""Every field and every block, for every dialect: on the wire, or refused before any I/O (Q1)."""

import json
from collections.abc import Mapping

import msgspec
import pytest

from adapters.anthropic._messages_wire import asking, failure_of
from limen.adapters import BuildContext
from limen.adapters.anthropic import WIRE
from limen.adapters.kit import build
from limen.contract import (
    ContentBlock,
    FileBlock,
    GenerateOptions,
    ImageBlock,
    JsonSchema,
    LlmError,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolChoice,
    ToolResultBlock,
    ToolSpec,
    assistant,
    codes,
    tool_result,
    user,
)

TOOLS: Mapping[str, object] = {"tools": [ToolSpec("f")]}
FIELDS: Mapping[str, Mapping[str, object]] = {
    "system": {"system": "s"},
    "tools": {"tools": [ToolSpec("f", "d", {"type": "object"})]},
    "tools strict": {"tools": [ToolSpec("f", strict=True)]},
    "tools not strict": {"tools": [ToolSpec("f", strict=False)]},
    "tool_choice auto": {"tool_choice": "auto", **TOOLS},
    "tool_choice none": {"tool_choice": "none", **TOOLS},
    "tool_choice required": {"tool_choice": "required", **TOOLS},
    "tool_choice by name": {"tool_choice": ToolChoice("f"), **TOOLS},
    "parallel_tool_calls": {"parallel_tool_calls": True, **TOOLS},
    "one call at a time": {"parallel_tool_calls": False, **TOOLS},
    "response_format json": {"response_format": "json"},
    "response_format schema": {"response_format": JsonSchema("n", {"type": "object", "properties": {}})},
    "response_format not strict": {"response_format": JsonSchema("n", {"type": "object"}, strict=False)},
    "temperature": {"temperature": 0.0},
    "top_p": {"top_p": 0.5},
    "max_tokens": {"max_tokens": 5},
    "stop": {"stop": ["x"]},
    "seed": {"seed": 0},
    "reasoning_effort": {"reasoning_effort": "high"},
    "reasoning_effort off": {"reasoning_effort": "off"},
    "cache short": {"cache": "short"},
    "cache long": {"cache": "long"},
    "extra": {"extra": {"anthropic-messages": {"metadata": {"user_id": "u"}}}},
    "extra of another wire": {"extra": {"openai-chat": {"x": 1}}},
}
# What is set and needs no word on the wire, because the wire does it unasked.
DEFAULTS: Mapping[str, Mapping[str, object]] = {
    "response_format text": {"response_format": "text"},
    "cache none": {"cache": "none"},
    "session_id": {"session_id": "s"},
    "purpose": {"purpose": "p"},
}
BLOCKS: Mapping[str, tuple[Message, ...]] = {
    "text": (user("x"),),
    "image": (user([ImageBlock("image/png", b"ic")]),),
    "linked image": (user([ImageBlock("https://e.example/x")]),),
    "file": (user([FileBlock("application/pdf", b"%PDF-1.7", "a.pdf")]),),
    "linked file": (user([FileBlock(url="https://e.example/x.pdf")]),),
    "uploaded file": (user([FileBlock(file_id="file_1")]),),
    "file of an assistant": (assistant([FileBlock("application/pdf", b"%PDF-1.7")]),),
    "file of the system": (user("y"), Message("system", (FileBlock(file_id="file_1"),))),
    "image of an assistant": (assistant([ImageBlock("image/png", b"ic")]),),
    "tool call": (assistant([ToolCallBlock("t", "f", "{}")]), tool_result("t", "r")),
    "tool error": (assistant([ToolCallBlock("t", "f", "{}")]), tool_result("t", "r", is_error=True)),
    "image in a result": (
        assistant([ToolCallBlock("t", "f", "{}")]),
        tool_result("t", [ImageBlock("image/png", b"ic")]),
    ),
    "system": (user("y"), Message("system", (TextBlock("x"),))),
}


def built(options: GenerateOptions, dialect: str) -> bytes | str:
    """The body, or the code of the refusal."""
    try:
        return built_or_raise(options, dialect)
    except LlmError as error:
        return f"{error.code} {error.failure.phase}".removesuffix(" resolve")


@pytest.mark.parametrize("dialect", WIRE.dialects)
@pytest.mark.parametrize("name", FIELDS)
def test_every_field_on_every_dialect(name: str, dialect: str) -> None:
    """A field that is set changes the body, or is refused with a code that says so."""
    found = built(asking(**FIELDS[name]), dialect)

    refusals = {codes.UNSUPPORTED, codes.UNSUPPORTED_REASONING_EFFORT}
    without = asking(**(TOOLS if FIELDS[name].get("tools") is TOOLS["tools"] else {}))
    assert found in refusals if isinstance(found, str) else found != built(without, dialect)


@pytest.mark.parametrize("dialect", WIRE.dialects)
@pytest.mark.parametrize("name", DEFAULTS)
def test_fields_that_the_wire_honours_unasked(name: str, dialect: str) -> None:
    """Text answers and no caching are what the wire does; hints change no body."""
    assert built(asking(**DEFAULTS[name]), dialect) == built(asking(), dialect)


@pytest.mark.parametrize("dialect", WIRE.dialects)
@pytest.mark.parametrize("name", BLOCKS)
def test_every_block_on_every_dialect(name: str, dialect: str) -> None:
    """A content block is on the wire, or refused with UNSUPPORTED_CONTENT."""
    found = built(asking(user("q"), *BLOCKS[name]), dialect)

    if isinstance(found, str):
        assert found == codes.UNSUPPORTED_CONTENT
    else:
        assert len(found) > len(built(asking(user("q")), dialect))


def test_refused_table() -> None:
    """What each row refuses, in one place."""
    refused = {
        dialect: sorted(name for name in FIELDS if isinstance(built(asking(**FIELDS[name]), dialect), str))
        for dialect in WIRE.dialects
    }
    always = {"response_format json", "response_format not strict", "seed", "extra of another wire"}
    beside = {dialect: sorted(set(names) - always) for dialect, names in refused.items()}
    untyped = ["response_format schema", "tools not strict", "tools strict"]
    efforts = ["reasoning_effort", "reasoning_effort off"]

    assert all(always <= set(names) for names in refused.values())
    assert beside == {
        "anthropic": [],
        "vertex": [],
        "bedrock": [],
        "azure": [],
        "deepseek": sorted([*untyped, "cache long", "cache short", "one call at a time", "parallel_tool_calls"]),
        "moonshot": sorted([*untyped, "temperature", "top_p"]),
        "zai": untyped,
        "minimax": sorted([*untyped, *efforts, "stop"]),
        "openrouter": [],
        "vercel": [],
        "fireworks": sorted([*untyped, "cache long"]),
        "ollama": sorted(
            [
                *untyped,
                *efforts,
                "cache long",
                "cache short",
                "one call at a time",
                "parallel_tool_calls",
                *(f"tool_choice {kind}" for kind in ("auto", "by name", "none", "required")),
            ]
        ),
        "vllm": ["cache long", "cache short"],
        "llamacpp": sorted(
            [
                *untyped,
                *efforts,
                "cache long",
                "cache short",
                "one call at a time",
                "parallel_tool_calls",
                "tool_choice by name",
                "tool_choice none",
            ]
        ),
        "generic": [],
    }


def test_refusals_name_the_field_and_the_reason() -> None:
    """The message says what was asked, where it cannot be had, and why."""
    by_row = failure_of(lambda: built_or_raise(asking(stop=["x"]), "minimax"))
    by_wire = failure_of(lambda: built_or_raise(asking(seed=1), "generic"))
    none_parallel = failure_of(
        lambda: built_or_raise(asking(tool_choice="none", parallel_tool_calls=True, **TOOLS), "generic")
    )

    assert by_row.failure.message == "stop cannot be sent to p/claude-x (dialect minimax): it ignores stop_sequences"
    assert by_wire.failure.message == (
        "seed cannot be sent to p/claude-x (dialect generic): the wire anthropic-messages has no such field"
    )
    assert none_parallel.code == codes.UNSUPPORTED


def built_or_raise(options: GenerateOptions, dialect: str) -> bytes:
    """The body, or the refusal itself."""
    return build(WIRE.codec(dialect), options, BuildContext()).body


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"cache": "bogus"}, "cache is 'bogus'"),
        ({"tool_choice": "bogus", **TOOLS}, "tool_choice is 'bogus'"),
        ({"tool_choice": ToolChoice("g"), "tools": [ToolSpec("f")]}, "tool_choice names 'g'"),
        ({"response_format": "bogus"}, "response_format is 'bogus'"),
        ({"extra": {"anthropic-messages": "bogus"}}, "extra.anthropic-messages is not an object"),
        ({"messages": [Message("bogus", "hi")]}, "messages[0].role is 'bogus'"),  # type: ignore[arg-type] # so it is
    ],
)
def test_a_word_that_an_option_does_not_have_is_invalid(fields: dict[str, object], words: str) -> None:
    """A request that is wrong by itself is INVALID_OPTIONS; it is neither sent in another sense nor dropped (Q1)."""
    options = msgspec.structs.replace(asking(), **fields)

    error = failure_of(lambda: built_or_raise(options, "anthropic"))

    assert (error.code, error.failure.phase) == (codes.INVALID_OPTIONS, "resolve")
    assert error.failure.message.startswith(words)


def test_caching_marks_what_there_is_or_is_refused() -> None:
    """A last turn of the provider's own items only leaves the mark to the turn before it, or refuses (Q1)."""
    item = '{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}'
    state = {"v": 1, "wire": "anthropic-messages", "blocks": [], "before": [item]}
    paused = Message("assistant", (), replay_state=state)

    both = json.loads(built_or_raise(asking(user("hi"), paused, cache="short"), "anthropic"))
    error = failure_of(lambda: built_or_raise(asking(paused, cache="short"), "anthropic"))

    assert both["messages"][0]["content"] == [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]
    assert error.code == codes.UNSUPPORTED


@pytest.mark.parametrize("word", ["oneOf", "anyOf", "allOf"])
def test_root_combinators(word: str) -> None:
    """A schema with a combinator at its root is refused where Anthropic itself serves, and passed on elsewhere."""
    options = asking(tools=[ToolSpec("f", parameters={"type": "object", word: [{"required": ["a"]}]})])

    for dialect in ("anthropic", "vertex", "azure"):
        error = failure_of(lambda dialect=dialect: built_or_raise(options, dialect))  # type: ignore[misc]
        assert error.code == codes.UNSUPPORTED
        assert error.failure.message == (
            f"tools[0] (f) cannot be sent to p/claude-x (dialect {dialect}): "
            f"the wire takes no {word} at the root of a schema; put it into a property"
        )
    assert word.encode() in built_or_raise(options, "openrouter")


@pytest.mark.parametrize("name", ["", "a/b", "a.b", "\u00e9", "x" * 129, "f\n"])
@pytest.mark.parametrize("dialect", ["anthropic", "generic"])
def test_names_that_the_wire_refuses(name: str, dialect: str) -> None:
    """A tool name outside the wire's pattern is refused in tools and in calls of the history, with its place (Q10)."""
    called = (user("q"), assistant([ToolCallBlock("t", name, "{}")]), tool_result("t", "r"))

    tools = failure_of(lambda: built_or_raise(asking(tools=[ToolSpec(name)]), dialect))
    history = failure_of(lambda: built_or_raise(asking(*called), dialect))

    expected = codes.UNSUPPORTED if name else codes.INVALID_OPTIONS
    assert (tools.code, history.code) == (expected, expected)
    assert tools.failure.message.startswith("tools[0].name ")
    assert history.failure.message.startswith("messages[1].content[0]")


def test_names_that_the_wire_takes() -> None:
    """A name of up to 128 letters, digits, underscores and hyphens goes out as it is (Q10)."""
    name = "aZ09_-" + "x" * 122

    body = json.loads(built_or_raise(asking(tools=[ToolSpec(name)], tool_choice=ToolChoice(name)), "anthropic"))

    assert (body["tools"][0]["name"], body["tool_choice"]) == (name, {"type": "tool", "name": name})


def test_choices_that_have_no_tool() -> None:
    """A tool choice without tools, a repeated name and a choice of no tool of the request are refused (Q10)."""
    refused = {
        codes.UNSUPPORTED: [asking(tool_choice="auto"), asking(tool_choice=ToolChoice("f"))],
        codes.INVALID_OPTIONS: [
            asking(tools=[ToolSpec("f"), ToolSpec("f")]),
            asking(tool_choice=ToolChoice("g"), **TOOLS),
        ],
    }

    for code, several in refused.items():
        for options in several:
            assert failure_of(lambda options=options: built_or_raise(options, "generic")).code == code  # type: ignore[misc]


def test_every_kind_of_block_is_covered() -> None:
    """The tables above know every block of the vocabulary; reasoning is the one that replay decides (N4)."""
    known = {type(block) for messages in BLOCKS.values() for message in messages for block in message.content}

    assert known == set(ContentBlock.__args__) - {ReasoningBlock}
    assert ToolResultBlock in known


def test_every_field_is_covered() -> None:
    """The tables above know every field of the request."""
    covered = {field for table in (FIELDS, DEFAULTS) for fields in table.values() for field in fields}

    assert covered == set(GenerateOptions.__struct_fields__) - {"provider", "model", "messages", "timeouts", "signal"}
    assert json.loads(built_or_raise(asking(), "anthropic"))["model"] == "claude-x"
