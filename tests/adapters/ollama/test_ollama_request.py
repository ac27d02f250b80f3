"""Options to the body of a request of Ollama's chat (Q1-Q10, C8, C9)."""

import base64
import json

import pytest

from adapters.ollama._ollama_wire import asking, body_of
from limen.adapters.kit import BuildContext, build
from limen.adapters.ollama import WIRE, OllamaOptions
from limen.adapters.ollama._adapter import codec_of
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

PNG = b"\x89PNG\r\n\x1a\nlimen"
IMAGE = ImageBlock("image/png", PNG)
PICTURE = base64.b64encode(PNG).decode()
ADD = ToolSpec("add", "Adds.", {"type": "object", "properties": {"left": {"type": "integer", "minimum": 0}}})


def refused(options: GenerateOptions, model: ModelInfo | None = None) -> LlmError:
    """The refusal of a request."""
    with pytest.raises(LlmError) as caught:
        build(WIRE.codec(None), options, BuildContext(model))
    return caught.value


def routed(asked: GenerateOptions, /, **fields: object) -> dict[str, object]:
    """The body that a route with these options sends."""
    codec = codec_of(OllamaOptions(**fields))  # type: ignore[arg-type]
    found: dict[str, object] = json.loads(build(codec, asked, BuildContext()).body)
    return found


def test_a_plain_question() -> None:
    """Only what is set is sent, to the wire's own path (Q2, Q3)."""
    request = WIRE.request(asking(user("hi"), model="hf.co/x/Y:Q4_ß"))

    assert (request.method, request.path) == ("POST", "/api/chat")
    assert (request.headers["content-type"], request.headers["accept"]) == ("application/json", "application/x-ndjson")
    assert json.loads(request.body) == {
        "model": "hf.co/x/Y:Q4_ß",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
    }


def test_every_field() -> None:
    """Every field that the wire has stands in its place (Q1)."""
    options = asking(
        system="Be brief.",
        tools=[ADD, ToolSpec("now")],
        tool_choice="auto",
        response_format=JsonSchema("answer", {"type": "object"}),
        temperature=0,
        top_p=0.5,
        max_tokens=64,
        stop=["END", "STOP"],
        seed=0,
        reasoning_effort="high",
        cache="none",
        session_id="s",
        purpose="p",
        extra={"ollama-chat": {"keep_alive": "10m", "truncate": False, "options": {"num_ctx": 8192}}},
    )

    assert body_of(options) == {
        "model": "qwen3",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}],
        "tools": [
            {"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": ADD.parameters}},
            {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}},
        ],
        "format": {"type": "object"},
        "think": "high",
        "options": {
            "temperature": 0,
            "top_p": 0.5,
            "num_predict": 64,
            "stop": ["END", "STOP"],
            "seed": 0,
            "num_ctx": 8192,
        },
        "stream": True,
        "keep_alive": "10m",
        "truncate": False,
    }


@pytest.mark.parametrize(
    ("effort", "think"), [("off", False), ("low", "low"), ("medium", "medium"), ("high", "high"), ("max", "max")]
)
def test_efforts(effort: str, think: object) -> None:
    """An effort is `think`, `off` is false (R4)."""
    assert body_of(asking(reasoning_effort=effort))["think"] == think


@pytest.mark.parametrize("effort", ["on", "xhigh", "none", "true"])
def test_efforts_that_the_wire_does_not_know(effort: str) -> None:
    """An effort that the server answers with an error is refused before any I/O (R4)."""
    assert refused(asking(reasoning_effort=effort)).code == codes.UNSUPPORTED_REASONING_EFFORT


def test_efforts_of_a_model() -> None:
    """A model's own efforts come before the row's; `on` among them is true, none are none (R4)."""
    switch = ModelInfo("p", "qwen3", "qwen3", efforts=(Effort("off", "off"), Effort("on", "on")))
    body = build(WIRE.codec(None), asking(reasoning_effort="on"), BuildContext(switch)).body

    assert json.loads(body)["think"] is True
    assert refused(asking(reasoning_effort="low"), switch).code == codes.UNSUPPORTED_REASONING_EFFORT
    dull = ModelInfo("p", "qwen3", "qwen3", efforts=())
    assert refused(asking(reasoning_effort="low"), dull).code == codes.UNSUPPORTED_REASONING_EFFORT


def test_formats() -> None:
    """`json` is the word, a schema is the schema itself, text is nothing."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}

    assert body_of(asking(response_format="json"))["format"] == "json"
    assert body_of(asking(response_format=JsonSchema("a", schema, strict=True)))["format"] == schema
    assert "format" not in body_of(asking(response_format="text"))


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"tools": [ADD], "tool_choice": "none"}, "tool_choice"),
        ({"tools": [ADD], "tool_choice": "required"}, "tool_choice"),
        ({"tools": [ADD], "tool_choice": ToolChoice("add")}, "tool_choice"),
        ({"tool_choice": "auto"}, "tool_choice"),
        ({"tools": [ADD], "parallel_tool_calls": True}, "parallel_tool_calls"),
        ({"tools": [ToolSpec("a", strict=False)]}, "tools[0].strict"),
        ({"cache": "short"}, "cache"),
        ({"response_format": JsonSchema("a", {}, strict=False)}, "response_format.strict"),
        ({"extra": {"openai-chat": {"n": 1}}}, "extra.openai-chat"),
    ],
)
def test_what_the_wire_has_no_field_for(fields: dict[str, object], path: str) -> None:
    """What is set and has no field is refused, naming it; nothing is dropped (Q1)."""
    refusal = refused(asking(**fields))

    assert (refusal.code, path in refusal.failure.message) == (codes.UNSUPPORTED, True)


@pytest.mark.parametrize(
    "fields",
    [
        {"extra": {"ollama-chat": {"model": "other"}}},
        {"extra": {"ollama-chat": {"stream": False}}},
        {"temperature": 1, "extra": {"ollama-chat": {"options": {"temperature": 0}}}},
        {"temperature": 1, "extra": {"ollama-chat": {"options": "hot"}}},
        {"temperature": float("nan")},
        {"tools": [ADD, ADD]},
        {"tools": [ToolSpec("")]},
    ],
)
def test_what_is_wrong_by_itself(fields: dict[str, object]) -> None:
    """A field that the request writes itself, numbers that are no JSON and repeated names are refused (Q8-Q10)."""
    assert refused(asking(**fields)).code == codes.INVALID_OPTIONS


def test_no_message_at_all() -> None:
    """A request without messages, which would load the model, is refused; system text alone is a message."""
    empty = GenerateOptions("p", "m", [Message("user", ())])

    assert refused(empty).code == codes.INVALID_OPTIONS
    assert body_of(GenerateOptions("p", "m", [], system="Say something."))["messages"] == [
        {"role": "system", "content": "Say something."}
    ]


def test_history() -> None:
    """Messages stand in their order: texts joined, images beside them, thinking, calls as objects, results named."""
    raw = '{"right": 2.50, "left":[1, 2]}'
    call, other = ToolCallBlock("call_1", "add", raw), ToolCallBlock("limen_0123", "now", " ")
    options = asking(
        system("First."),
        user([TextBlock("What "), IMAGE, TextBlock("is it?"), IMAGE]),
        assistant([ReasoningBlock("Hm"), ReasoningBlock("m"), TextBlock("A sum. "), TextBlock("So:"), call, other]),
        tool_result("limen_0123", [TextBlock("It is "), TextBlock("noon.")]),
        tool_result("call_1", "overflow", is_error=True),
        Message("system", (TextBlock("Go "), TextBlock("on."))),
        assistant("Done."),
        user("Thanks"),
    )

    assert body_of(options)["messages"] == [
        {"role": "system", "content": "First."},
        {"role": "user", "content": "What is it?", "images": [PICTURE, PICTURE]},
        {
            "role": "assistant",
            "content": "A sum. So:",
            "thinking": "Hmm",
            "tool_calls": [
                {"id": "call_1", "function": {"name": "add", "arguments": {"right": 2.50, "left": [1, 2]}}},
                {"id": "limen_0123", "function": {"name": "now", "arguments": {}}},
            ],
        },
        {"role": "tool", "content": "It is noon.", "tool_name": "now", "tool_call_id": "limen_0123"},
        {"role": "tool", "content": "Error: overflow", "tool_name": "add", "tool_call_id": "call_1"},
        {"role": "system", "content": "Go on."},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "Thanks"},
    ]
    assert raw.encode() in WIRE.request(options).body


def test_images_of_results() -> None:
    """Images of results follow all of them in one user message, before what comes next (Q4)."""
    calls = [ToolCallBlock(name, "look", "{}") for name in "ab"]
    results = [tool_result("a", [IMAGE]), tool_result("b", [TextBlock("Two."), IMAGE, IMAGE])]
    shown = {
        "role": "user",
        "content": "Images that the tool call a returned: 1\nImages that the tool call b returned: 2",
        "images": [PICTURE] * 3,
    }
    texts = ["The result is the images in the next user message.", "Two."]
    for more in ([], [user("And?")], [assistant("Nice.")]):
        messages = body_of(asking(user("look"), assistant(calls), *results, *more))["messages"]
        assert isinstance(messages, list)
        assert [message["content"] for message in messages[2:4]] == texts
        assert messages[4] == shown
        assert len(messages) == 5 + len(more)


def test_results_in_a_user_message() -> None:
    """Results that stand in a user message go before its text."""
    both = Message("user", (ToolResultBlock("a", "42"), TextBlock("And now?")))
    messages = body_of(asking(user("q"), assistant([ToolCallBlock("a", "f", "{}")]), both))["messages"]

    assert isinstance(messages, list)
    assert messages[2:] == [
        {"role": "tool", "content": "42", "tool_name": "f", "tool_call_id": "a"},
        {"role": "user", "content": "And now?"},
    ]


@pytest.mark.parametrize(
    ("message", "path"),
    [
        (user([ImageBlock(url="https://example.test/a.png")]), "messages[0].content[0]"),
        (user([ImageBlock("image/jpeg", PNG)]), "messages[0].content[0]"),
        (user([TextBlock("a"), FileBlock("application/pdf", b"%PDF-1")]), "messages[0].content[1]"),
        (user([ReasoningBlock("a")]), "messages[0].content[0]"),
        (Message("system", (IMAGE,)), "messages[0].content[0]"),
        (Message("system", (FileBlock("application/pdf", b"%PDF-1"),)), "messages[0].content[0]"),
        (assistant([TextBlock("a"), IMAGE]), "messages[0].content[1]"),
        (Message("tool", (TextBlock("a"),)), "messages[0].content[0]"),
    ],
)
def test_content_without_a_place(message: Message, path: str) -> None:
    """Content that the wire has no place for is refused, naming the block (Q1)."""
    refusal = refused(asking(message))

    assert (refusal.code, path in refusal.failure.message) == (codes.UNSUPPORTED_CONTENT, True)


def test_images_that_the_model_does_not_take() -> None:
    """A model whose known facts have no images is not sent one."""
    facts = ModelInfo("p", "qwen3", "qwen3", input_modalities=("text",))

    assert refused(asking(user([IMAGE])), facts).code == codes.UNSUPPORTED_CONTENT


@pytest.mark.parametrize("arguments", ["[1]", '{"a":1', "7", '{"a":1}{"b":2}'])
def test_arguments_that_are_no_object(arguments: str) -> None:
    """Arguments that cannot be embedded are refused, naming the call (C8)."""
    refusal = refused(
        asking(user("q"), assistant([ToolCallBlock("call_9", "f", arguments)]), tool_result("call_9", ""))
    )

    assert (refusal.code, "call_9" in refusal.failure.message) == (codes.INVALID_OPTIONS, True)


def test_calls_without_a_name_and_unknown_roles() -> None:
    """A nameless call and a role that no message has are refused (Q10)."""
    nameless = asking(user("q"), assistant([ToolCallBlock("a", "", "{}")]), tool_result("a", ""))

    assert refused(nameless).code == codes.INVALID_OPTIONS
    assert refused(asking(Message("developer", (TextBlock("a"),)))).code == codes.INVALID_OPTIONS  # type: ignore[arg-type]


def test_foreign_state_is_reported() -> None:
    """The wire keeps no replay state, so any that comes is left out and reported (R5)."""
    context = BuildContext()
    turn = Message("assistant", (TextBlock("a"),), replay_state={"v": 1, "wire": "openai-chat", "blocks": [None]})
    body = build(WIRE.codec(None), asking(user("q"), turn, user("r")), context).body

    assert json.loads(body)["messages"][1] == {"role": "assistant", "content": "a"}
    assert [dropped.message_index for dropped in context.replay_dropped] == [1]


def test_a_lone_surrogate() -> None:
    """Half a surrogate pair goes out as U+FFFD, in texts and in arguments (Q8)."""
    call = ToolCallBlock("a", "f", '{"x":"\ud800"}')
    body = body_of(asking(user("a \ud800 b"), assistant([call]), tool_result("a", "")))
    messages = body["messages"]

    assert isinstance(messages, list)
    assert messages[0]["content"] == "a \ufffd b"
    assert messages[1]["tool_calls"][0]["function"]["arguments"] == {"x": "\ufffd"}


# -- options of a route


def test_defaults_of_a_route() -> None:
    """A route's `keep_alive` and `options` go with every call (ARCHITECTURE, options of routes)."""
    body = routed(asking(), keep_alive=-1, options={"num_ctx": 8192, "top_k": 20})

    assert (body["keep_alive"], body["options"]) == (-1, {"num_ctx": 8192, "top_k": 20})


def test_a_call_comes_before_its_route() -> None:
    """What a call sets, by its fields or by `extra`, comes before the route's defaults, key by key."""
    extra = {"ollama-chat": {"keep_alive": 0, "options": {"num_ctx": 4096}}}
    defaults = {"keep_alive": "10m", "options": {"num_ctx": 8192, "temperature": 1, "top_k": 20}}
    body = routed(asking(temperature=0, extra=extra), **defaults)

    assert body["keep_alive"] == 0
    assert body["options"] == {"num_ctx": 4096, "temperature": 0, "top_k": 20}
    odd = routed(asking(extra={"ollama-chat": {"options": None}}), **defaults)
    assert odd["options"] is None


def test_defaults_that_are_no_json() -> None:
    """A default that is no JSON is refused, naming it (Q8)."""
    for fields in ({"keep_alive": float("inf")}, {"options": {"a": float("nan")}}):
        with pytest.raises(LlmError, match="of the route") as caught:
            routed(asking(), **fields)
        assert caught.value.code == codes.INVALID_OPTIONS
