"""Options to generateContent requests: what goes on the wire, field by field (Q rules, R4)."""

import json
from functools import partial

import pytest

from adapters.gemini._generate_wire import MODERN, asking, body_of, contents_of, failure_of
from limen.adapters import BuildContext
from limen.adapters.gemini import WIRE, GeminiOptions
from limen.adapters.gemini._adapter import codec_of
from limen.contract import (
    MASK,
    Effort,
    FileBlock,
    GenerateOptions,
    ImageBlock,
    JsonSchema,
    Message,
    ModelInfo,
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

PNG = b"\x89PNG\r\n\x1a\n" + bytes(9)
PNG64 = "iVBORw0KGgoAAAAAAAAAAAA="
ADD = ToolSpec("add", "Adds", {"type": "object", "properties": {"left": {"type": "integer"}}, "required": ["left"]})
NOW = ToolSpec("now", None, {"type": "object", "properties": {}})


def test_a_plain_request() -> None:
    """Model and method stand in the path, the rest in the body, and unset fields nowhere (Q2, Q3)."""
    request = WIRE.request(asking(user("hi"), system="Be brief."))

    assert (request.method, request.path) == ("POST", "/models/gemini-2.5-flash:streamGenerateContent?alt=sse")
    assert json.loads(request.body) == {
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [{"role": "user", "parts": [{"text": "hi"}]}],
    }
    assert request.headers["x-goog-api-key"] == MASK
    assert (request.headers["accept"], request.headers["content-type"]) == ("text/event-stream", "application/json")


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("models/gemini-x", "/models/gemini-x"),
        ("tunedModels/my tune", "/tunedModels/my%20tune"),
        ("gemini x/y", "/models/gemini%20x%2Fy"),
        ("gemini@001:b", "/models/gemini@001:b"),
    ],
)
def test_Q2_the_model_is_a_path(model: str, path: str) -> None:
    """A model's id goes into the path as it is, quoted; one with its collection is the path by itself."""
    assert WIRE.request(asking(model=model)).path == f"{path}:streamGenerateContent?alt=sse"


def test_every_option_has_its_field() -> None:
    """All generation options together, by the API's names."""
    found = body_of(
        asking(
            tools=[ADD, NOW],
            tool_choice="required",
            parallel_tool_calls=True,
            temperature=0.5,
            top_p=0.9,
            max_tokens=100,
            stop=["a", "b"],
            seed=7,
            reasoning_effort="low",
            response_format="json",
            cache="none",
            extra={"gemini-generate": {"cachedContent": "cachedContents/1", "generationConfig": {"topK": 3}}},
        )
    )
    del found["contents"]

    assert found == {
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "add", "description": "Adds", "parametersJsonSchema": ADD.parameters},
                    {"name": "now"},
                ]
            }
        ],
        "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
        "generationConfig": {
            "temperature": 0.5,
            "topP": 0.9,
            "maxOutputTokens": 100,
            "stopSequences": ["a", "b"],
            "seed": 7,
            "responseMimeType": "application/json",
            "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 1024},
            "topK": 3,
        },
        "cachedContent": "cachedContents/1",
    }


@pytest.mark.parametrize(
    ("choice", "config"),
    [
        ("auto", {"mode": "AUTO"}),
        ("none", {"mode": "NONE"}),
        (ToolChoice("add"), {"mode": "ANY", "allowedFunctionNames": ["add"]}),
    ],
)
def test_tool_choice(choice: object, config: object) -> None:
    """Each choice is a mode; a named one is the only function allowed."""
    found = body_of(asking(tools=[ADD], tool_choice=choice))

    assert found["toolConfig"] == {"functionCallingConfig": config}


def test_response_schemas() -> None:
    """A schema goes out in the form that can say it, text as nothing."""
    plain = {"type": "object", "properties": {"a": {"type": "string"}}}
    bounded = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}}

    def config(form: object) -> object:
        return body_of(asking(response_format=form)).get("generationConfig")

    assert config("text") is None
    assert config(JsonSchema("x", plain)) == {"responseMimeType": "application/json", "responseJsonSchema": plain}
    assert config(JsonSchema("x", bounded)) == {"responseMimeType": "application/json", "responseSchema": bounded}
    found = body_of(asking(tools=[ToolSpec("f", "F", bounded)]))
    assert found["tools"] == [{"functionDeclarations": [{"name": "f", "description": "F", "parameters": bounded}]}]


@pytest.mark.parametrize(
    ("model", "effort", "config"),
    [
        ("gemini-2.5-pro", "high", {"includeThoughts": True, "thinkingBudget": 24576}),
        ("gemini-2.5-flash", "medium", {"includeThoughts": True, "thinkingBudget": 8192}),
        ("gemini-2.5-flash-lite", "off", {"thinkingBudget": 0}),
        ("models/gemini-3-flash-preview", "minimal", {"includeThoughts": True, "thinkingLevel": "MINIMAL"}),
        ("gemini-3.8-flash", "low", {"includeThoughts": True, "thinkingLevel": "LOW"}),
        ("gemini-4-hydrogen", "xhigh", {"includeThoughts": True, "thinkingLevel": "XHIGH"}),
        ("gemma-4-27b", "high", {"includeThoughts": True, "thinkingLevel": "HIGH"}),
        ("gemini-9-new", "whatever", {"includeThoughts": True, "thinkingLevel": "WHATEVER"}),
        ("gemini-9-new", "off", {"thinkingBudget": 0}),
    ],
)
def test_R4_efforts(model: str, effort: str, config: object) -> None:
    """An effort is a budget or a level, by the model's family; of an unknown one it goes out as a level."""
    found = body_of(asking(model=model, reasoning_effort=effort))

    assert found["generationConfig"] == {"thinkingConfig": config}


@pytest.mark.parametrize(
    ("model", "effort"),
    [
        ("gemini-2.5-pro", "off"),
        ("gemini-2.5-flash", "minimal"),
        ("gemini-2.5-flash-image", "low"),
        ("gemini-2.0-flash", "low"),
        ("gemini-1.5-pro", "off"),
        ("gemma-3-27b-it", "low"),
        ("gemini-3-pro-preview", "medium"),
        ("gemini-3.1-pro-preview", "off"),
        ("gemini-3.7-flash", "minimal"),
        ("gemini-3.1-flash-image", "low"),
    ],
)
def test_R4_efforts_that_a_model_has_not(model: str, effort: str) -> None:
    """An effort outside the family's is refused, and so is `off` where thinking cannot be turned off."""
    error = failure_of(lambda: body_of(asking(model=model, reasoning_effort=effort)))

    assert error.code == codes.UNSUPPORTED_REASONING_EFFORT


def test_R4_configured_efforts_come_first() -> None:
    """Efforts configured for a model are in force; one that the family cannot say is refused all the same."""
    facts = ModelInfo("p", "gemini-2.5-flash", "x", efforts=(Effort("off", "off"), Effort("huge", "huge")))

    def config(effort: str) -> object:
        options = asking(reasoning_effort=effort)
        return json.loads(WIRE.codec(None).build(options, BuildContext(facts)).body)["generationConfig"]

    assert config("off") == {"thinkingConfig": {"thinkingBudget": 0}}
    for effort in ("huge", "low"):
        assert failure_of(partial(config, effort)).code == codes.UNSUPPORTED_REASONING_EFFORT


def test_Q4_messages() -> None:
    """System text joins, neighbours of the user are one content, results stand alone in the order of their calls."""
    calls = assistant([TextBlock("wait"), ToolCallBlock("c1", "add", '{"left": 1}'), ToolCallBlock("c2", "now", "")])
    found = body_of(
        asking(
            system("One."),
            system([TextBlock(""), TextBlock("Two.")]),
            user("a"),
            user([TextBlock(""), ImageBlock("image/png", PNG)]),
            calls,
            Message("tool", (ToolResultBlock("c2", "noon"),)),
            Message("user", (ToolResultBlock("c1", [TextBlock("4"), TextBlock("2")], is_error=True), TextBlock("so?"))),
            user(""),
            user("b"),
            system=None,
        )
    )

    assert found["systemInstruction"] == {"parts": [{"text": "One."}, {"text": "Two."}]}
    assert found["contents"] == [
        {"role": "user", "parts": [{"text": "a"}, {"inlineData": {"mimeType": "image/png", "data": PNG64}}]},
        {
            "role": "model",
            "parts": [
                {"text": "wait"},
                {"functionCall": {"name": "add", "args": {"left": 1}}},
                {"functionCall": {"name": "now", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "add", "response": {"error": "42"}}},
                {"functionResponse": {"name": "now", "response": {"output": "noon"}}},
            ],
        },
        {"role": "user", "parts": [{"text": "so?"}, {"text": "b"}]},
    ]


@pytest.mark.parametrize("model", [MODERN, "gemini-2.5-pro"])
def test_Q4_images_of_results(model: str) -> None:
    """From Gemini 3 on a result holds its images; before, they stand in a content after the results."""
    call = assistant([ToolCallBlock("c1", "look", "{}"), ToolCallBlock("c2", "look", "{}")])
    image = ToolResultBlock("c1", [TextBlock("see"), ImageBlock("image/png", PNG)])
    found = contents_of(asking(user("a"), call, Message("tool", (image,)), tool_result("c2", "none"), model=model))

    inline = {"inlineData": {"mimeType": "image/png", "data": PNG64}}
    first: dict[str, object] = {"name": "look", "response": {"output": "see"}}
    second = {"functionResponse": {"name": "look", "response": {"output": "none"}}}
    assert isinstance(found, list)
    if model == MODERN:
        first["parts"] = [inline]
        assert found[2:] == [{"role": "user", "parts": [{"functionResponse": first}, second]}]
    else:
        assert found[2:] == [
            {"role": "user", "parts": [{"functionResponse": first}, second]},
            {"role": "user", "parts": [inline]},
        ]


def test_Q4_files_and_addresses() -> None:
    """Bytes go inline, ids of uploaded files by their address; the hosts read addresses of their own kinds."""
    video = "https://youtu.be/x"
    parts = contents_of(
        asking(
            user(
                [
                    FileBlock("application/pdf", b"%PDF-1", "a.pdf"),
                    FileBlock("audio/mp3", b"ID3x"),
                    FileBlock("application/pdf", file_id="files/abc"),
                    FileBlock(file_id="https://generativelanguage.googleapis.com/v1beta/files/x"),
                    FileBlock("video/mp4", url=video),
                    FileBlock(url=video),
                ]
            )
        )
    )

    base = "https://generativelanguage.googleapis.com/v1beta/files"
    assert parts == [
        {
            "role": "user",
            "parts": [
                {"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0x"}},
                {"inlineData": {"mimeType": "audio/mpeg", "data": "SUQzeA=="}},
                {"fileData": {"mimeType": "application/pdf", "fileUri": f"{base}/abc"}},
                {"fileData": {"fileUri": f"{base}/x"}},
                {"fileData": {"mimeType": "video/mp4", "fileUri": video}},
                {"fileData": {"fileUri": video}},
            ],
        }
    ]
    vertex = contents_of(
        asking(user([ImageBlock(url="gs://b/i.png"), FileBlock("application/pdf", url="https://x.example/a.pdf")])),
        "vertex",
    )
    assert vertex == [
        {
            "role": "user",
            "parts": [
                {"fileData": {"fileUri": "gs://b/i.png"}},
                {"fileData": {"mimeType": "application/pdf", "fileUri": "https://x.example/a.pdf"}},
            ],
        }
    ]


def configured(**config: object) -> dict[str, object]:
    """Options whose extra sets these fields of generationConfig."""
    return {"extra": {"gemini-generate": {"generationConfig": config}}}


def refused(options: GenerateOptions, dialect: str | None = None) -> tuple[str, str]:
    """The code and the field of a refusal."""
    error = failure_of(lambda: body_of(options, dialect))
    return error.code, error.failure.message.partition(" ")[0]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"cache": "short"}, "cache"),
        ({"tools": [ADD], "parallel_tool_calls": False}, "parallel_tool_calls"),
        ({"tool_choice": "auto"}, "tool_choice"),
        ({"tools": [ToolSpec("add", None, None, strict=True)]}, "tools[0].strict"),
        ({"tools": [ToolSpec("a b", None, None)]}, "tools[0].name"),
        ({"tools": [ToolSpec("1a", None, None)]}, "tools[0].name"),
        ({"tools": [ToolSpec("f", None, {"not": {"type": "null"}})]}, "tools[0].parameters.not"),
        ({"response_format": JsonSchema("x", {"if": {}})}, "response_format.schema.if"),
        ({"response_format": JsonSchema("x", {"type": "object"}, strict=False)}, "response_format.strict"),
        ({"stop": list("abcdef")}, "stop"),
        ({"temperature": 1.0, "model": "gemini-3.8-flash"}, "temperature"),
        ({"top_p": 0.5, "model": "gemini-3.5-flash-lite"}, "top_p"),
        ({"extra": {"openai-chat": {}}}, "extra.openai-chat"),
        (configured(responseModalities=["Audio"]), "extra.gemini-generate.generationConfig"),
        (configured(speechConfig={}), "extra.gemini-generate.generationConfig"),
        (configured(candidateCount=2), "extra.gemini-generate.generationConfig"),
    ],
)  # fmt: skip
def test_Q1_options_that_the_wire_cannot_honour(fields: dict[str, object], field: str) -> None:
    """Each is refused before any I/O, naming the field."""
    assert refused(asking(**fields)) == (codes.UNSUPPORTED, field)  # type: ignore[arg-type]


def test_Q1_audio_is_refused_beside_a_written_config_too() -> None:
    """A request that writes generationConfig itself takes no audio by extra either."""
    extra = {"gemini-generate": {"generationConfig": {"responseModalities": ["AUDIO"]}}}

    assert refused(asking(max_tokens=5, extra=extra)) == (codes.UNSUPPORTED, "extra.gemini-generate.generationConfig")


@pytest.mark.parametrize(
    ("messages", "field"),
    [
        ([user("a"), system("late")], "messages[1]"),
        ([system([ImageBlock("image/png", PNG)])], "messages[0].content[0]"),
        ([user([ImageBlock(url="https://x.example/a.png")])], "messages[0].content[0]"),
        ([user([FileBlock("application/zip", b"PK")])], "messages[0].content[0]"),
        ([user([FileBlock(url="https://x.example/a.pdf")])], "messages[0].content[0]"),
        ([user([ToolCallBlock("c", "f", "{}")])], "messages[0].content[0]"),
        ([user("a"), assistant([FileBlock("application/pdf", b"%PDF-")])], "messages[1].content[0]"),
    ],
)
def test_Q1_content_that_the_wire_cannot_hold(messages: list[Message], field: str) -> None:
    """Each block is refused before any I/O, naming its place."""
    options = asking(*messages)
    error = failure_of(lambda: WIRE.codec(None).build(options, BuildContext()))

    assert (error.code, error.failure.message.partition(" ")[0]) == (codes.UNSUPPORTED_CONTENT, field)


def test_Q1_a_dialect_without_files_by_id() -> None:
    """Vertex has no Files API: an id is refused."""
    assert refused(asking(user([FileBlock(file_id="files/a")])), "vertex")[0] == codes.UNSUPPORTED_CONTENT


@pytest.mark.parametrize(
    "messages",
    [
        [user("")],
        [user("a"), Message("tool", (ToolResultBlock("c9", "x"),))],
        [user("a"), assistant([ToolCallBlock("c", "f", "[1]")])],
        [user("a"), assistant([ToolCallBlock("c", "", "{}")])],
        [Message("robot", (TextBlock("a"),))],  # type: ignore[arg-type]
    ],
)
def test_wrong_by_itself(messages: list[Message]) -> None:
    """What no wire could send is INVALID_OPTIONS."""
    options = asking(*messages)
    error = failure_of(lambda: WIRE.codec(None).build(options, BuildContext()))

    assert error.code == codes.INVALID_OPTIONS


def test_Q9_a_key_of_ours_is_refused() -> None:
    """Extra may not write what the request writes, at the top or one level below."""
    extras: list[dict[str, object]] = [{"contents": []}, {"generationConfig": {"maxOutputTokens": 1}}]
    for extra in extras:
        error = failure_of(partial(body_of, asking(max_tokens=5, extra={"gemini-generate": extra})))
        assert error.code == codes.INVALID_OPTIONS


def test_safety_settings_go_with_every_request() -> None:
    """Thresholds of the options are the API's list."""
    codec = codec_of(GeminiOptions(safety_settings={"HARM_CATEGORY_HARASSMENT": "BLOCK_NONE"}))
    body = json.loads(codec.build(asking(), BuildContext()).body)

    assert body["safetySettings"] == [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]
