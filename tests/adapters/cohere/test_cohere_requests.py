"""Options to Cohere's request: what is written, and what is refused before any I/O (Q1)."""

import json
from collections.abc import Mapping, Sequence

import pytest

from limen.adapters.cohere import WIRE, CohereAdapter, CohereOptions
from limen.adapters.kit import BuildContext, build
from limen.contract import (
    Effort,
    FileBlock,
    GenerateOptions,
    ImageBlock,
    JsonSchema,
    LlmError,
    Message,
    ModelInfo,
    ReasoningBlock,
    ReplayDrop,
    TextBlock,
    ToolCallBlock,
    ToolChoice,
    ToolResultBlock,
    ToolSpec,
    assistant,
    codes,
    system,
    tool_result,
    user,
)

ADD = ToolSpec("add", "Adds.", {"type": "object"})
PNG = ImageBlock("image/png", b"\x89PNG\r\n\x1a\n")


def written(*messages: Message, context: BuildContext | None = None, **fields: object) -> Mapping[str, object]:
    """The body of a request."""
    options = GenerateOptions("cohere", "command-a", messages or [user("Hi")], **fields)  # type: ignore[arg-type]
    request = build(WIRE.codec(None), options, context or BuildContext())
    assert (request.method, request.path) == ("POST", "/v2/chat")
    body: Mapping[str, object] = json.loads(request.body)
    return body


def messages_of(*messages: Message, context: BuildContext | None = None, **fields: object) -> object:
    """The messages of a request."""
    return written(*messages, context=context, **fields)["messages"]


def refused(*messages: Message, context: BuildContext | None = None, **fields: object) -> str:
    """The code and the words of a refusal."""
    with pytest.raises(LlmError) as caught:
        written(*messages, context=context, **fields)
    return f"{caught.value.code} {caught.value.failure.message}"


def test_Q3_a_plain_request_has_no_more_than_it_needs() -> None:
    """Unset fields do not appear."""
    assert written() == {"model": "command-a", "messages": [{"role": "user", "content": "Hi"}], "stream": True}


def test_Q1_every_field_that_is_honoured() -> None:
    """Under the wire's own names."""
    found = written(
        system="S", tools=[ADD, ToolSpec("now")], tool_choice="required", temperature=0.5, top_p=0.9, max_tokens=7,
        stop=["END"], seed=3, reasoning_effort="enabled",
        extra={"cohere": {"thinking": {"token_budget": 100}, "k": 5, "documents": ["d"]}},
    )  # fmt: skip
    assert found == {
        "model": "command-a",
        "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "Hi"}],
        "stream": True,
        "tools": [
            {"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": {"type": "object"}}},
            {"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}},
        ],
        "tool_choice": "REQUIRED",
        "temperature": 0.5,
        "p": 0.9,
        "max_tokens": 7,
        "stop_sequences": ["END"],
        "seed": 3,
        "thinking": {"type": "enabled", "token_budget": 100},
        "k": 5,
        "documents": ["d"],
    }


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"tools": [ADD], "tool_choice": "none"}, {"tool_choice": "NONE"}),
        ({"tools": [ADD], "tool_choice": "auto"}, {}),
        ({"tools": [ToolSpec("a", strict=True), ToolSpec("b", strict=True)]}, {"strict_tools": True}),
        ({"tools": [ToolSpec("a", strict=False), ADD]}, {"strict_tools": False}),
        ({"response_format": "text"}, {"response_format": {"type": "text"}}),
        ({"response_format": "json"}, {"response_format": {"type": "json_object"}}),
        (
            {"response_format": JsonSchema("x", {"type": "object"}, strict=True)},
            {"response_format": {"type": "json_object", "json_schema": {"type": "object"}}},
        ),
        ({"reasoning_effort": "off"}, {"thinking": {"type": "disabled"}}),
        ({"cache": "none"}, {}),
    ],
)
def test_Q1_values_in_the_wires_words(fields: dict[str, object], expected: dict[str, object]) -> None:
    """Choices, formats, efforts."""
    plain = {"model", "messages", "stream", "tools"}
    assert {
        name: value
        for name, value in written(**fields).items()  # type: ignore[arg-type]
        if name not in plain
    } == expected


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"parallel_tool_calls": True, "tools": [ADD]}, "UNSUPPORTED parallel_tool_calls"),
        ({"cache": "short"}, "UNSUPPORTED cache"),
        ({"tools": [ADD], "tool_choice": ToolChoice("add")}, "UNSUPPORTED tool_choice"),
        ({"tool_choice": "required"}, "UNSUPPORTED tool_choice"),
        ({"tools": [ToolSpec("a", strict=True), ADD]}, "UNSUPPORTED tools"),
        ({"tools": [ADD], "response_format": "json"}, "UNSUPPORTED response_format"),
        ({"response_format": JsonSchema("x", {}, strict=False)}, "UNSUPPORTED response_format.strict"),
        ({"reasoning_effort": "high"}, "UNSUPPORTED_REASONING_EFFORT reasoning_effort 'high'"),
        ({"stop": ["a", "b", "c", "d", "e", "f"]}, "UNSUPPORTED stop"),
        ({"extra": {"openai-chat": {}}}, "UNSUPPORTED extra.openai-chat"),
        ({"extra": {"cohere": {"stream": False}}}, "INVALID_OPTIONS extra.cohere.stream"),
        ({"tools": [ToolSpec("")]}, "INVALID_OPTIONS tools[0].name"),
        ({"temperature": float("nan")}, "INVALID_OPTIONS temperature"),
    ],
)
def test_Q1_what_cannot_be_honoured_is_refused(fields: dict[str, object], words: str) -> None:
    """With the code and the path of the field."""
    assert refused(**fields).startswith(words)  # type: ignore[arg-type]


def test_R4_efforts_of_the_model_go_before_the_wires() -> None:
    """An effort that the model's facts list and the wire has no word for is refused all the same."""
    model = ModelInfo("cohere", "command-a", "A", efforts=(), default_max_tokens=9)
    assert refused(reasoning_effort="off", context=BuildContext(model)).startswith("UNSUPPORTED_REASONING_EFFORT")
    levels = ModelInfo("cohere", "command-a", "A", efforts=(Effort("high", "high"),))
    assert refused(reasoning_effort="high", context=BuildContext(levels)).startswith("UNSUPPORTED_REASONING_EFFORT")
    assert written(context=BuildContext(model))["max_tokens"] == 9


CALL = ToolCallBlock("add_1", "add", '{"a": 1.50}')


def test_Q4_messages_in_their_places() -> None:
    """System text in place, results before the rest of a user's message, an error marked, arguments as they came."""
    found = messages_of(
        user([TextBlock("a"), TextBlock("b")]),
        assistant([ReasoningBlock("hm"), TextBlock("t"), CALL, ToolCallBlock("now_1", "now", " ")]),
        Message("tool", (ToolResultBlock("add_1", "3"),)),
        user([TextBlock("and"), ToolResultBlock("now_1", (TextBlock("x"), TextBlock("y")), is_error=True), PNG]),
        system("later"),
        user([]),
    )
    calls = [
        {"id": "add_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1.50}'}},
        {"id": "now_1", "type": "function", "function": {"name": "now", "arguments": "{}"}},
    ]
    assert found == [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "t"}],
            "tool_calls": calls,
        },
        {"role": "tool", "tool_call_id": "add_1", "content": "3"},
        {"role": "tool", "tool_call_id": "now_1", "content": "Error: xy"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "and"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
            ],
        },
        {"role": "system", "content": "later"},
        {"role": "user", "content": ""},
    ]
    picture = messages_of(user([ImageBlock(url="https://x.example/a.png")]))
    assert picture == [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}]}
    ]
    assert messages_of(assistant("a"), user("b"))[0] == {"role": "assistant", "content": "a"}  # type: ignore[index]
    assert messages_of(Message("system", ()), system="s") == [
        {"role": "system", "content": "s"}, {"role": "system", "content": ""},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([user([FileBlock("application/pdf", b"%PDF-")])], "UNSUPPORTED_CONTENT messages[0].content[0]"),
        ([user([ImageBlock("image/bmp", b"BM")])], "UNSUPPORTED_CONTENT messages[0].content[0]"),
        ([Message("system", (PNG,))], "UNSUPPORTED_CONTENT messages[0].content[0]"),
        ([Message("user", (CALL,))], "UNSUPPORTED_CONTENT messages[0].content[0]"),
        ([Message("tool", (TextBlock("x"),))], "UNSUPPORTED_CONTENT messages[0].content[0]"),
        ([assistant([PNG])], "UNSUPPORTED_CONTENT messages[0].content[0]"),
        ([assistant([ToolCallBlock("x", "", "{}")])], "INVALID_OPTIONS messages[0].content[0]"),
        ([tool_result("x", [PNG])], "UNSUPPORTED_CONTENT messages[0].content[0].content[0]"),
        ([Message("critic", (TextBlock("x"), TextBlock("y")))], "INVALID_OPTIONS messages[0].role"),  # type: ignore[arg-type]
    ],
)
def test_Q1_blocks_without_a_place_are_refused(messages: Sequence[Message], words: str) -> None:
    """With the path of the block."""
    assert refused(*messages).startswith(words)


def test_Q1_a_request_says_something() -> None:
    """Neither message nor system text: nothing to ask."""
    with pytest.raises(LlmError, match="no message"):
        build(WIRE.codec(None), GenerateOptions("cohere", "m", []), BuildContext())


def state(blocks: object, **fields: object) -> dict[str, object]:
    return {"v": 1, "wire": "cohere", "blocks": blocks, **fields}


def test_N4_a_plan_and_citations_go_back() -> None:
    """The plan as `tool_plan`, citations byte for byte; other state is absent and reported."""
    citation = '{"start":0,"end":1.50}'
    turn = Message(
        "assistant",
        (ReasoningBlock("plan"), TextBlock("t"), CALL),
        replay_state=state(({"plan": True}, None, None), citations=(citation,)),
    )
    raw = build(WIRE.codec(None), GenerateOptions("cohere", "m", [turn]), BuildContext()).body
    assert b'"tool_plan":"plan"' in raw
    assert b'"citations":[' + citation.encode() + b"]" in raw
    assert b'"content":"t"' in raw
    context = BuildContext()
    other = Message("assistant", (ReasoningBlock("p"), CALL), replay_state={"v": 2, "wire": "cohere", "blocks": ()})
    messages_of(other, context=context)
    assert len(context.replay_dropped) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        state(({"plan": True},)),
        state((7,)),
        state((None,), citations=("7",)),
        state((None,), citations=("{",)),
    ],
)
def test_R5_state_that_does_not_validate(wrong: dict[str, object]) -> None:
    """State of this version that was changed on its way is refused."""
    turn = Message("assistant", (TextBlock("t"),), replay_state=wrong)
    assert refused(turn).startswith(codes.INVALID_REPLAY_STATE)


def test_a_turn_without_content_and_calls_is_not_sent() -> None:
    """The plan of a turn whose calls a limit cut off would be refused with its whole request."""
    context = BuildContext()
    turn = Message("assistant", (ReasoningBlock("p"),), replay_state=state(({"plan": True},)))
    assert messages_of(user("a"), turn, user("b"), context=context) == [
        {"role": "user", "content": "a"}, {"role": "user", "content": "b"},
    ]  # fmt: skip
    reason = "the wire takes no assistant turn without content and calls: it is not sent"
    assert context.replay_dropped == [ReplayDrop(reason, 1)]


def test_Q8_lone_surrogates_become_a_replacement() -> None:
    """In every text that goes out."""
    assert messages_of(user("a\ud800")) == [{"role": "user", "content": "a\ufffd"}]


def test_the_options_of_the_adapter() -> None:
    """A row that does not exist is refused; without options the address is Cohere's."""
    with pytest.raises(LlmError, match="dialect"):
        CohereAdapter(CohereOptions(dialect="other"))
    assert WIRE.codec(None).base_url == "https://api.cohere.com"
