"""Options to a request of Converse."""

import json

import pytest

from adapters.bedrock._converse_wire import ADD, CLAUDE, asking, body, refusal, request
from limen.adapters import BuildContext
from limen.adapters.bedrock import WIRE, BedrockOptions
from limen.adapters.bedrock._adapter import codec_of
from limen.contract import (
    MASK,
    ContentBlock,
    FileBlock,
    ImageBlock,
    JsonSchema,
    LlmError,
    Message,
    ReasoningBlock,
    ReplayDrop,
    TextBlock,
    ToolCallBlock,
    ToolChoice,
    ToolResultBlock,
    ToolSpec,
    WireRequest,
    assistant,
    codes,
    system,
    tool_result,
    user,
)

NOVA = "amazon.nova-lite-v1:0"
OPAQUE = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc123"
HI = [{"role": "user", "content": [{"text": "hi"}]}]
PNG = b"\x89PNG\r\n\x1a\n"
SPEC = {"toolSpec": {"name": "add", "description": "Adds.", "inputSchema": {"json": ADD.parameters}}}


def test_the_least_request() -> None:
    """Unset fields do not appear; the model is one segment of the path, byte for byte (Q2, Q3)."""
    found = request()
    assert found == WireRequest(
        "POST",
        "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream",
        {
            "content-type": "application/json",
            "accept": "application/vnd.amazon.eventstream",
            "user-agent": found.headers["user-agent"],
            "accept-encoding": "identity",
            "authorization": f"Bearer {MASK}",
        },
        b'{"messages":[{"role":"user","content":[{"text":"hi"}]}]}',
    )
    arn = (
        "/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A123456789012%3Aapplication-inference-profile%2Fabc123/converse-stream"
    )
    assert request(model=OPAQUE).path == arn
    assert request(model="ü~x_.-").path == "/model/%C3%BC~x_.-/converse-stream"


def test_every_field() -> None:
    """Each field that is honoured goes where the wire has it (Q1)."""
    assert body(
        system="Be brief.",
        tools=[ADD, ToolSpec("now", "", None, strict=True)],
        tool_choice="required",
        response_format=JsonSchema("out", {"type": "object"}),
        temperature=0.5,
        top_p=0.9,
        max_tokens=100,
        stop=["END"],
        extra={"bedrock-converse": {"inferenceConfig": {"x": 1}, "serviceTier": {"type": "flex"}}},
    ) == {
        "system": [{"text": "Be brief."}],
        "messages": HI,
        "toolConfig": {
            "tools": [SPEC, {"toolSpec": {"name": "now", "inputSchema": {"json": {"type": "object"}}, "strict": True}}],
            "toolChoice": {"any": {}},
        },
        "inferenceConfig": {"maxTokens": 100, "temperature": 0.5, "topP": 0.9, "stopSequences": ["END"], "x": 1},
        "additionalModelResponseFieldPaths": ["/stop_sequence"],
        "outputConfig": {
            "textFormat": {
                "type": "json_schema",
                "structure": {"jsonSchema": {"schema": '{"type":"object"}', "name": "out"}},
            }
        },
        "serviceTier": {"type": "flex"},
    }
    assert body(model=NOVA, stop=["END"]) == {"messages": HI, "inferenceConfig": {"stopSequences": ["END"]}}
    assert body(response_format="text", cache="none") == {"messages": HI}


def test_tool_choices() -> None:
    """A choice has the wire's own form; none is Claude's field, and refused for others."""

    def chosen(choice: object) -> object:
        found = body(tools=[ADD], tool_choice=choice)
        return found["toolConfig"], found.get("additionalModelRequestFields")

    assert chosen("auto") == ({"tools": [SPEC], "toolChoice": {"auto": {}}}, None)
    assert chosen(ToolChoice("add")) == ({"tools": [SPEC], "toolChoice": {"tool": {"name": "add"}}}, None)
    assert chosen("none") == ({"tools": [SPEC]}, {"tool_choice": {"type": "none"}})
    assert refusal(model=NOVA, tools=[ADD], tool_choice="none")[0] == codes.UNSUPPORTED


@pytest.mark.parametrize(
    ("model", "effort", "fields"),
    [
        (
            CLAUDE,
            "high",
            {"thinking": {"type": "adaptive", "display": "summarized"}, "output_config": {"effort": "high"}},
        ),
        ("us-gov.anthropic.claude-x", "low", {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}}),
        (CLAUDE, "off", {"thinking": {"type": "disabled"}}),
        ("openai.gpt-oss-120b-1:0", "low", {"reasoning_effort": "low"}),
        ("openai.gpt-5.6", "off", {"reasoning": {"effort": "none"}}),
        ("qwen.qwen3-32b-v1:0", "high", {"reasoning_config": "high"}),
        ("deepseek.v3.2", "off", {"reasoning_effort": "none"}),
        ("zai.glm-5.3", "max", {"reasoning_effort": "max"}),
        ("global.xai.grok-4", "xhigh", {"reasoning": {"effort": "xhigh"}}),
    ],
)
def test_efforts(model: str, effort: str, fields: object) -> None:
    """An effort goes out in the words of the model's family (R4)."""
    assert body(model=model, reasoning_effort=effort)["additionalModelRequestFields"] == fields


@pytest.mark.parametrize(
    ("model", "effort"),
    [(NOVA, "low"), (OPAQUE, "low"), ("deepseek.r1-v1:0", "low"), ("openai.gpt-oss-20b-1:0", "max"), ("xai.x", "off")],
)
def test_efforts_that_a_family_does_not_know(model: str, effort: str) -> None:
    """An effort without a field, or outside the family's list, is refused (R4)."""
    assert refusal(model=model, reasoning_effort=effort)[0] == codes.UNSUPPORTED_REASONING_EFFORT


def test_cache_points() -> None:
    """Points stand behind system, tools and the last turn, where the family takes them."""
    point, hour = {"cachePoint": {"type": "default"}}, {"cachePoint": {"type": "default", "ttl": "1h"}}
    assert body(system="s", tools=[ADD], cache="short") == {
        "system": [{"text": "s"}, point],
        "messages": [{"role": "user", "content": [{"text": "hi"}, point]}],
        "toolConfig": {"tools": [SPEC, point]},
    }
    assert body(cache="long")["messages"] == [{"role": "user", "content": [{"text": "hi"}, hour]}]
    nova = body(model=NOVA, tools=[ADD], cache="short")
    assert nova["toolConfig"] == {"tools": [SPEC]}
    assert nova["messages"] == [{"role": "user", "content": [{"text": "hi"}, point]}]
    assert refusal(model=NOVA, cache="long")[0] == codes.UNSUPPORTED
    assert refusal(model="meta.llama3", cache="short")[0] == codes.UNSUPPORTED
    sheet = FileBlock("text/csv", b"a,b", name="t")
    mixed = body(Message("user", [TextBlock("see"), sheet]), cache="short")["messages"]
    document = {"document": {"format": "csv", "name": "t", "source": {"bytes": "YSxi"}}}
    assert mixed == [{"role": "user", "content": [{"text": "see"}, point, document]}]


def test_system_messages() -> None:
    """System messages before the first turn join the system text; later ones need a family that takes them (Q4)."""
    found = body(system("a"), user("b"), system("c"), user("d"), system=" ")
    assert found == {
        "system": [{"text": "a"}],
        "messages": [
            {"role": "user", "content": [{"text": "b"}]},
            {"role": "system", "content": [{"text": "c"}]},
            {"role": "user", "content": [{"text": "d"}]},
        ],
    }
    assert refusal(user("b"), system("c"), model=NOVA)[0] == codes.UNSUPPORTED_CONTENT
    assert refusal(Message("system", [ImageBlock("image/png", PNG)]), user("x"))[0] == codes.UNSUPPORTED_CONTENT


def test_images_and_documents() -> None:
    """Images and documents go as bytes; names are made sound and unique (Q1)."""
    found = body(
        Message(
            "user",
            [
                TextBlock("look"),
                ImageBlock("image/png", PNG),
                FileBlock("application/pdf", b"%PDF-1", name="My  file_(1).pdf"),
                FileBlock("application/pdf", b"%PDF-2", name="My  file_(1).pdf"),
                FileBlock("text/markdown", b"# a", name="ü"),
                FileBlock("text/plain", b"a"),
            ],
        )
    )["messages"]
    encoded = "iVBORw0KGgo="
    assert found == [
        {
            "role": "user",
            "content": [
                {"text": "look"},
                {"image": {"format": "png", "source": {"bytes": encoded}}},
                {"document": {"format": "pdf", "name": "My file-(1)-pdf", "source": {"bytes": "JVBERi0x"}}},
                {"document": {"format": "pdf", "name": "My file-(1)-pdf (2)", "source": {"bytes": "JVBERi0y"}}},
                {"document": {"format": "md", "name": "-", "source": {"bytes": "IyBh"}}},
                {"document": {"format": "txt", "name": "document", "source": {"bytes": "YQ=="}}},
            ],
        }
    ]


@pytest.mark.parametrize(
    "block",
    [
        ImageBlock(url="https://x.example/a.png"),
        ImageBlock("image/tiff", b"x"),
        FileBlock(url="https://x.example/a.pdf"),
        FileBlock("audio/wav", b"RIFF....WAVE"),
        FileBlock(file_id="f"),
        ReasoningBlock("x"),
        FileBlock("text/plain", b"no text beside it"),
    ],
)
def test_content_that_is_refused(block: ContentBlock) -> None:
    """Content that the wire has no place for is refused before any I/O, naming the message (Q1)."""
    code, message = refusal(Message("user", [block]))
    assert code == codes.UNSUPPORTED_CONTENT
    assert "messages[0]" in message


def test_fields_that_are_refused() -> None:
    """Fields without a place are refused by name (Q1, Q8-Q10)."""
    for fields, code in (
        ({"seed": 1}, codes.UNSUPPORTED),
        ({"tools": [ADD], "parallel_tool_calls": False}, codes.UNSUPPORTED),
        ({"response_format": "json"}, codes.UNSUPPORTED),
        ({"response_format": JsonSchema("a", {}, strict=False)}, codes.UNSUPPORTED),
        ({"tools": [ToolSpec("a.b", "x", None)]}, codes.UNSUPPORTED),
        ({"extra": {"openai-chat": {}}}, codes.UNSUPPORTED),
        ({"extra": {"bedrock-converse": {"messages": []}}}, codes.INVALID_OPTIONS),
        ({"temperature": float("nan")}, codes.INVALID_OPTIONS),
        ({"stop": [str(number) for number in range(2501)]}, codes.UNSUPPORTED),
    ):
        assert refusal(**fields)[0] == code, fields
    assert refusal(user(" "))[0] == codes.INVALID_OPTIONS


def test_calls_and_results() -> None:
    """Calls embed their arguments, results stand first and together; ids are rewritten alike (C8, C9, Q4)."""
    history = (
        user("go"),
        assistant([TextBlock("ok"), ToolCallBlock("bad id", "add", '{"a": 1.0}'), ToolCallBlock("t2", "add", "")]),
        tool_result("bad id", "3"),
        Message("tool", [ToolResultBlock("t2", [TextBlock("x"), ImageBlock("image/png", PNG)])]),
        user("and?"),
        assistant([ToolCallBlock("t2", "add", "{}")]),
        tool_result("t2", " ", is_error=True),
    )
    turns = json.loads(request(*history, tools=[ADD]).body)["messages"]
    made = turns[1]["content"][1]["toolUse"]["toolUseId"]
    again = turns[3]["content"][0]["toolUse"]["toolUseId"]
    image = {"image": {"format": "png", "source": {"bytes": "iVBORw0KGgo="}}}
    assert turns == [
        {"role": "user", "content": [{"text": "go"}]},
        {
            "role": "assistant",
            "content": [
                {"text": "ok"},
                {"toolUse": {"toolUseId": made, "name": "add", "input": {"a": 1.0}}},
                {"toolUse": {"toolUseId": "t2", "name": "add", "input": {}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": made, "content": [{"text": "3"}]}},
                {"toolResult": {"toolUseId": "t2", "content": [{"text": "x"}, image]}},
                {"text": "and?"},
            ],
        },
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": again, "name": "add", "input": {}}}]},
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": again, "content": [{"text": "."}], "status": "error"}}],
        },
    ]
    assert "bad id" not in made
    assert again != "t2"
    assert b'"input":{"a": 1.0}' in request(*history, tools=[ADD]).body


def test_histories_that_are_refused() -> None:
    """A history with calls needs tools; arguments are one object; other content has no place (C8, Q1)."""
    done = (user("go"), assistant([ToolCallBlock("t", "add", "{}")]), tool_result("t", "3"))
    assert refusal(*done)[0] == codes.UNSUPPORTED
    cut = (user("go"), assistant([ToolCallBlock("t", "add", "{")]), tool_result("t", "3"))
    assert refusal(*cut, tools=[ADD])[0] == codes.INVALID_OPTIONS
    pictured = ToolResultBlock("t", [ImageBlock("image/png", PNG)], is_error=True)
    failed = (*done[:2], Message("tool", [pictured]))
    assert refusal(*failed, tools=[ADD])[0] == codes.UNSUPPORTED_CONTENT
    shown = (user("go"), assistant([ImageBlock("image/png", PNG)]), user("x"))
    assert refusal(*shown)[0] == codes.UNSUPPORTED_CONTENT


def test_several_results_join_one_turn() -> None:
    """Neighbouring user messages are one turn with its results first; a lone user turn stays (Q4)."""
    history = (
        user("go"),
        user("now"),
        assistant([ToolCallBlock("t", "add", "{}")]),
        Message("user", [TextBlock("x"), ToolResultBlock("t", "3")]),
    )
    turns = json.loads(request(*history, tools=[ADD]).body)["messages"]
    assert turns[0]["content"] == [{"text": "go"}, {"text": "now"}]
    assert [next(iter(part)) for part in turns[2]["content"]] == ["toolResult", "text"]


def state(*blocks: object, **fields: object) -> dict[str, object]:
    return {"v": 1, "wire": "bedrock-converse", "blocks": list(blocks), **fields}


HIDDEN = '{"reasoningContent":{"redactedContent":"eA=="}}'
USE = '{"toolUse":{"toolUseId":"s","name":"web","input":{"q":1.0},"type":"server_tool_use"}}'
RESULT = '{"toolResult":{"toolUseId":"s","type":"r","content":[]}}'


def replayed(model: str, message: Message) -> tuple[object, list[ReplayDrop]]:
    context = BuildContext()
    built = WIRE.codec(None).build(asking(user("a"), message, user("b"), model=model), context)
    turns = json.loads(built.body)["messages"]
    return [turn["content"] for turn in turns if turn["role"] == "assistant"], context.replay_dropped


def test_replay_state_goes_back_in_place() -> None:
    """Signatures, hidden reasoning and server tools go back where they stood, byte for byte (N4, R5)."""
    message = Message(
        "assistant",
        [ReasoningBlock("hm"), TextBlock("so")],
        replay_state=state({"signature": "sig", "after": [USE, RESULT]}, {"after": [HIDDEN]}, before=[HIDDEN]),
    )
    parts = [
        json.loads(HIDDEN),
        {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "sig"}}},
        json.loads(USE),
        json.loads(RESULT),
        {"text": "so"},
        json.loads(HIDDEN),
    ]
    assert replayed(CLAUDE, message) == ([parts], [])
    assert replayed(OPAQUE, message) == ([parts], [])
    why = "that this model does not take back, or without the signature of this wire,"
    plain = [part for part in parts if "reasoningContent" not in part]
    assert replayed(NOVA, message) == ([plain], [ReplayDrop(f"3 pieces of reasoning {why} are not sent", 1)])


def test_reasoning_without_a_signature() -> None:
    """Unsigned reasoning goes back to models that take it plain; foreign reasoning is never sent (N4)."""
    own = Message("assistant", [ReasoningBlock("hm"), TextBlock("so")], replay_state=state({"signature": ""}, None))
    said = {"reasoningContent": {"reasoningText": {"text": "hm"}}}
    assert replayed("us.deepseek.r1-v1:0", own) == ([[said, {"text": "so"}]], [])
    assert replayed(CLAUDE, own)[0] == [[{"text": "so"}]]
    foreign = Message("assistant", [ReasoningBlock("hm"), TextBlock("so")])
    content, dropped = replayed("us.deepseek.r1-v1:0", foreign)
    assert (content, len(dropped)) == ([[{"text": "so"}]], 1)
    alone = Message("assistant", [ReasoningBlock("hm")], replay_state=state({"signature": "s"}))
    content, dropped = replayed(CLAUDE, alone)
    assert content == []
    assert dropped == [ReplayDrop("a turn that holds nothing but reasoning is not sent", 1)]


@pytest.mark.parametrize(
    "given",
    [
        state({"signature": "s"}),
        state({"after": ["[]"]}),
        state({"after": ['{"text":"x"}']}),
        state({"after": ['{"toolUse":{},"text":1}']}),
        state({"after": ["{}"]}),
        state({"unknown": 1}),
    ],
)
def test_replay_state_that_was_changed(given: dict[str, object]) -> None:
    """State of this version that does not fit its blocks is `INVALID_REPLAY_STATE` (R5)."""
    message = Message("assistant", [TextBlock("a")], replay_state=given)
    with pytest.raises(LlmError) as caught:
        request(user("a"), message, user("b"))
    assert caught.value.code == codes.INVALID_REPLAY_STATE


def test_cache_points_behind_replayed_parts() -> None:
    """A cache point stands behind the last part that may have one: not behind reasoning."""
    message = Message(
        "assistant",
        [TextBlock("so"), ReasoningBlock("hm")],
        replay_state=state(None, {"signature": "s", "after": [HIDDEN]}),
    )
    turns = json.loads(request(user("a"), message, cache="short").body)["messages"]
    assert [next(iter(part)) for part in turns[1]["content"]] == [
        "text",
        "cachePoint",
        "reasoningContent",
        "reasoningContent",
    ]


def test_honoured_limits_of_the_route() -> None:
    """The cap of a model's facts or of the route goes out where the call sets none (R4)."""
    built = codec_of(BedrockOptions(api_key="k")).build(asking(), BuildContext(default_max_tokens=77))
    assert json.loads(built.body)["inferenceConfig"] == {"maxTokens": 77}
