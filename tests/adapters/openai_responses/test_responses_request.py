"""Options to a Responses request: what goes where, what is refused, and what a history becomes (Q1-Q10)."""

import hashlib
import json

import pytest

from adapters.openai_responses._responses_wire import asking, body_of, failure_of
from limen.adapters import BuildContext
from limen.adapters.openai_responses import WIRE, OpenAIResponsesOptions
from limen.adapters.openai_responses._adapter import codec_of
from limen.contract import (
    Effort,
    FileBlock,
    GenerateOptions,
    ImageBlock,
    JsonSchema,
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

SEALED = ["reasoning.encrypted_content"]
PNG = b"\x89PNG\r\n\x1a\n"
IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
CLOSED = {**SCHEMA, "required": ["a"], "additionalProperties": False}


def items(*messages: Message, dialect: str | None = None) -> object:
    """What these messages are on the wire."""
    return body_of(asking(*messages), dialect)["input"]


def build(options: GenerateOptions, model: ModelInfo | None = None, **given: object) -> dict[str, object]:
    """The body that a row with these options, or a model with known facts, makes."""
    codec = codec_of(OpenAIResponsesOptions(**given))  # type: ignore[arg-type]
    found: dict[str, object] = json.loads(codec.build(options, BuildContext(model)).body)
    return found


def test_plain_question() -> None:
    """Unset fields do not appear (Q3); nothing is kept at the provider, and reasoning comes sealed."""
    request = WIRE.request(asking())

    assert (request.method, request.path) == ("POST", "/responses")
    assert request.body == (
        b'{"model":"gpt-x","input":[{"role":"user","content":"hi"}],"stream":true,"store":false,'
        b'"include":["reasoning.encrypted_content"]}'
    )


def test_everything_that_can_be_set() -> None:
    """Each field has its place on the wire (Q1)."""
    options = asking(
        system="Be brief.",
        tools=[ToolSpec("f", "Does f", SCHEMA, strict=True), ToolSpec("g", None, SCHEMA, strict=False), ToolSpec("h")],
        tool_choice=ToolChoice("f"),
        parallel_tool_calls=False,
        response_format=JsonSchema("answer", SCHEMA, strict=True),
        temperature=0.5,
        top_p=0.9,
        max_tokens=100,
        reasoning_effort="off",
        cache="long",
        session_id="s1",
        purpose="title",
        extra={"openai-responses": {"reasoning": {"summary": "auto"}, "truncation": "disabled"}},
    )

    assert body_of(options) == {
        "model": "gpt-x",
        "instructions": "Be brief.",
        "input": [{"role": "user", "content": "hi"}],
        "tools": [
            {"type": "function", "name": "f", "description": "Does f", "parameters": CLOSED, "strict": True},
            {"type": "function", "name": "g", "parameters": SCHEMA, "strict": False},
            {"type": "function", "name": "h", "parameters": {"type": "object", "properties": {}}},
        ],
        "parallel_tool_calls": False,
        "tool_choice": {"type": "function", "name": "f"},
        "text": {"format": {"type": "json_schema", "name": "answer", "schema": CLOSED, "strict": True}},
        "temperature": 0.5,
        "top_p": 0.9,
        "max_output_tokens": 100,
        "reasoning": {"effort": "none", "summary": "auto"},
        "prompt_cache_retention": "24h",
        "prompt_cache_key": "s1",
        "stream": True,
        "truncation": "disabled",
        "store": False,
        "include": SEALED,
    }


def test_formats_and_choices() -> None:
    """Words of formats and choices are the wire's own; a long session id becomes a digest that fits."""
    tools = [ToolSpec("f")]
    digest = hashlib.sha256(b"x" * 65).hexdigest()

    assert body_of(asking(response_format="json"))["text"] == {"format": {"type": "json_object"}}
    assert body_of(asking(response_format="text"))["text"] == {"format": {"type": "text"}}
    assert body_of(asking(tools=tools, tool_choice="required"))["tool_choice"] == "required"
    assert body_of(asking(session_id="x" * 65))["prompt_cache_key"] == digest
    assert body_of(asking(response_format=JsonSchema("n", SCHEMA)))["text"] == {
        "format": {"type": "json_schema", "name": "n", "schema": SCHEMA}
    }
    assert body_of(asking(reasoning_effort="xhigh"))["reasoning"] == {"effort": "xhigh"}


def test_state_at_the_provider_only_by_extra() -> None:
    """`extra` may keep the state at the provider; then nothing of ours stands against it (Q9)."""
    extra = {"store": True, "previous_response_id": "resp_1", "include": ["web_search_call.results"]}

    body = body_of(asking(extra={"openai-responses": extra}))

    assert {name: body[name] for name in extra} == extra


def test_options_of_a_route() -> None:
    """The options say what goes out in place of the row's word."""
    assert "store" not in build(asking(), stateless=False)
    assert "include" not in build(asking(), encrypted_reasoning=False)
    assert build(asking(), reasoning_summary="auto")["reasoning"] == {"summary": "auto"}
    assert build(asking(), base_url="http://localhost:1/v1", encrypted_reasoning=True)["include"] == SEALED
    assert codec_of(OpenAIResponsesOptions(base_url="http://localhost:1/v1")).dialect == "generic"
    assert codec_of(OpenAIResponsesOptions()).dialect == "openai"
    assert codec_of(OpenAIResponsesOptions(dialect="vllm")).dialect == "vllm"


def test_models_that_do_not_reason() -> None:
    """A model that is known to have no efforts is not asked for sealed reasoning."""
    plain = ModelInfo("p", "gpt-x", "gpt-x", efforts=())

    assert "include" not in build(asking(), plain)
    assert build(asking(), ModelInfo("p", "gpt-x", "gpt-x"))["include"] == SEALED


@pytest.mark.parametrize(
    ("fields", "dialect", "named", "code"),
    [
        ({"stop": ["x"]}, None, "stop cannot", codes.UNSUPPORTED),
        ({"seed": 1}, None, "seed cannot", codes.UNSUPPORTED),
        ({"cache": "short"}, None, "cache cannot", codes.UNSUPPORTED),
        ({"cache": "long"}, "azure", "cache cannot", codes.UNSUPPORTED),
        ({"reasoning_effort": "ultra"}, None, "reasoning_effort 'ultra'", codes.UNSUPPORTED_REASONING_EFFORT),
        ({"tool_choice": "auto"}, None, "tool_choice cannot", codes.UNSUPPORTED),
        ({"tools": [ToolSpec("f")], "tool_choice": "required"}, "ollama", "tool_choice cannot", codes.UNSUPPORTED),
        ({"tools": [ToolSpec("f")], "parallel_tool_calls": True}, "ollama", "parallel_tool", codes.UNSUPPORTED),
        ({"tools": [ToolSpec("f", None, SCHEMA, strict=True)]}, "ollama", "tools[0].strict", codes.UNSUPPORTED),
        ({"tools": [ToolSpec("f g")]}, None, "tools[0].name", codes.UNSUPPORTED),
        ({"tools": [ToolSpec("f", None, {"type": "object"}, strict=True)]}, None, "tools[0].strict", codes.UNSUPPORTED),
        ({"tools": [ToolSpec(f"f{n}") for n in range(129)]}, None, "tools cannot", codes.UNSUPPORTED),
        ({"response_format": JsonSchema("a b", SCHEMA)}, None, "response_format.name", codes.UNSUPPORTED),
        ({"response_format": JsonSchema("a", {"type": "object", "additionalProperties": True}, strict=True)}, None,
         "response_format.strict", codes.UNSUPPORTED),
        ({"extra": {"openai-chat": {"n": 1}}}, None, "extra.openai-chat", codes.UNSUPPORTED),
        ({"extra": {"openai-responses": {"modalities": ["audio"]}}}, None, "modalities", codes.UNSUPPORTED),
        ({"extra": {"openai-responses": {"audio": {"voice": "x"}}}}, None, "audio", codes.UNSUPPORTED),
        ({"extra": {"openai-responses": {"stream": False}}}, None, "stream", codes.INVALID_OPTIONS),
    ],
)  # fmt: skip
def test_refusals(fields: dict[str, object], dialect: str | None, named: str, code: str) -> None:
    """What wire, row or model cannot honour is refused before any I/O, naming the field (Q1)."""
    failure = failure_of(lambda: body_of(asking(**fields), dialect))

    assert failure.code == code
    assert named in str(failure)


def test_unchecked_strict_and_harmless_extra() -> None:
    """A row that knows nothing of schemas sends them as they are; text as the one modality is harmless."""
    open_schema = {"type": "object", "additionalProperties": True}

    body = body_of(
        asking(
            tools=[ToolSpec("f", None, open_schema, strict=True), ToolSpec("g", None, None, strict=True)],
            extra={"openai-responses": {"modalities": ["text"]}},
        ),
        "generic",
    )

    assert body["tools"] == [
        {"type": "function", "name": "f", "parameters": open_schema, "strict": True},
        {"type": "function", "name": "g", "parameters": {"type": "object"}, "strict": True},
    ]
    assert body["modalities"] == ["text"]
    assert "strict" not in json.dumps(body_of(asking(tools=[ToolSpec("f", None, SCHEMA, strict=False)]), "ollama"))


class TestHistory:
    """Messages as input items (Q4)."""

    def test_roles(self) -> None:
        """System messages stand in their place under the row's role; unknown hosts get `system` (Q158)."""
        history = (
            system("a"),
            user("b"),
            assistant("c"),
            Message("system", (TextBlock("d"), TextBlock("e"))),
            user("f"),
        )

        def expected(role: str) -> object:
            said = [(role, "a"), ("user", "b"), ("assistant", "c"), (role, "de"), ("user", "f")]
            return [{"role": who, "content": words} for who, words in said]

        assert items(*history) == expected("developer")
        assert items(*history, dialect="generic") == expected("system")

    def test_system_alone_and_nothing(self) -> None:
        """System text alone is a request; no text at all is none (N1)."""
        body = body_of(GenerateOptions(provider="p", model="m", messages=(), system="Go."))
        context = BuildContext()

        assert (body["instructions"], body["input"]) == ("Go.", [])
        empty = GenerateOptions(provider="p", model="m", messages=())
        assert failure_of(lambda: WIRE.codec(None).build(empty, context)).code == codes.INVALID_OPTIONS

    def test_images_and_files(self) -> None:
        """Images and files stand in their place among the texts."""
        pdf = FileBlock("application/pdf", b"%PDF-1", name="a.pdf")

        found = items(
            user([TextBlock("look"), ImageBlock("image/png", PNG), ImageBlock(url="https://x.example/i.png")]),
            user([pdf, FileBlock("application/pdf", b"%PDF-1"), FileBlock(url="https://x.example/a.pdf"),
                  FileBlock(file_id="file_1"), TextBlock("read")]),
        )  # fmt: skip

        url = "data:application/pdf;base64,JVBERi0x"
        assert found == [
            {
                "role": "user",
                "content": [
                    {"type": "input_text", "text": "look"},
                    IMAGE,
                    {"type": "input_image", "image_url": "https://x.example/i.png", "detail": "auto"},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "input_file", "filename": "a.pdf", "file_data": url},
                    {"type": "input_file", "filename": "document.pdf", "file_data": url},
                    {"type": "input_file", "file_url": "https://x.example/a.pdf"},
                    {"type": "input_file", "file_id": "file_1"},
                    {"type": "input_text", "text": "read"},
                ],
            },
        ]

    def test_calls_and_results(self) -> None:
        """Calls have no ids of their own without state; results name the call; an error is marked in words."""
        calls = [ToolCallBlock("a", "f", '{"x": 1}'), ToolCallBlock("b", "g", " ")]
        pictures: list[TextBlock | ImageBlock] = [TextBlock("see"), ImageBlock("image/png", PNG)]
        results: list[ToolResultBlock | TextBlock] = [
            ToolResultBlock("a", "42", is_error=True),
            ToolResultBlock("b", pictures, is_error=True),
            TextBlock("and?"),
        ]

        found = items(user("q"), assistant([TextBlock("a"), TextBlock("b"), *calls]), Message("user", tuple(results)))

        assert found == [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": "ab"},
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": '{"x": 1}'},
            {"type": "function_call", "call_id": "b", "name": "g", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "Error: 42"},
            {
                "type": "function_call_output",
                "call_id": "b",
                "output": [{"type": "input_text", "text": "Error:"}, {"type": "input_text", "text": "see"}, IMAGE],
            },
            {"role": "user", "content": "and?"},
        ]

    def test_results_of_text_parts(self) -> None:
        """Text parts of a result join into one string; images alone stay a list."""
        call = assistant([ToolCallBlock("a", "f", "{}")])
        texts = Message("tool", (ToolResultBlock("a", (TextBlock("x"), TextBlock("y"))),))
        image = Message("tool", (ToolResultBlock("a", (ImageBlock("image/png", PNG),)),))

        assert items(user("q"), call, texts)[-1]["output"] == "xy"  # type: ignore[index]
        assert items(user("q"), call, image)[-1]["output"] == [IMAGE]  # type: ignore[index]

    def test_ids_that_the_wire_refuses(self) -> None:
        """An id of more than 64 characters is rewritten, call and result alike (C9)."""
        long = "x" * 65
        found = items(user("q"), assistant([ToolCallBlock(long, "f", "{}")]), tool_result(long, "r"))
        kept = items(user("q"), assistant([ToolCallBlock("a/b:c|", "f", "{}")]), tool_result("a/b:c|", "r"))

        assert found[1]["call_id"] == found[2]["call_id"] != long  # type: ignore[index]
        assert kept[1]["call_id"] == kept[2]["call_id"] == "a/b:c|"  # type: ignore[index]

    def test_foreign_reasoning_is_not_sent(self) -> None:
        """Reasoning of another wire is left out and reported (N4)."""
        context = BuildContext()
        turn = assistant([ReasoningBlock("hm"), TextBlock("a"), ReasoningBlock("so")])

        body = json.loads(WIRE.codec(None).build(asking(user("q"), turn, user("and?")), context).body)

        assert body["input"][1] == {"role": "assistant", "content": "a"}
        assert [drop.reason for drop in context.replay_dropped] == [
            "reasoning without the items of this wire is not sent"
        ]

    @pytest.mark.parametrize(
        ("message", "named", "code"),
        [
            (Message("tool", (TextBlock("x"),)), "messages[0].content[0]", codes.UNSUPPORTED_CONTENT),
            (Message("system", (ImageBlock("image/png", PNG),)), "messages[0].content[0]", codes.UNSUPPORTED_CONTENT),
            (user([ReasoningBlock("x")]), "messages[0].content[0]", codes.UNSUPPORTED_CONTENT),
            (assistant([ImageBlock("image/png", PNG)]), "messages[0].content[0]", codes.UNSUPPORTED_CONTENT),
            (user([FileBlock("audio/wav", b"RIFF0000WAVE")]), "messages[0].content[0]", codes.UNSUPPORTED_CONTENT),
            (user([ImageBlock("image/png", b"\xff\xd8\xff")]), "image/jpeg", codes.UNSUPPORTED_CONTENT),
        ],
    )
    def test_refused_content(self, message: Message, named: str, code: str) -> None:
        """A block that the wire has no place for is refused, naming it (Q1)."""
        failure = failure_of(lambda: WIRE.codec(None).build(asking(message), BuildContext()))

        assert failure.code == code
        assert named in str(failure)

    def test_empty_user_message_and_unknown_role(self) -> None:
        """A message without blocks goes out empty; a role that nobody has is INVALID_OPTIONS."""
        odd = asking(Message("narrator", (TextBlock("x"),)))  # type: ignore[arg-type]

        assert items(Message("user", ()), dialect="generic") == [{"role": "user", "content": ""}]
        assert failure_of(lambda: WIRE.codec(None).build(odd, BuildContext())).code == codes.INVALID_OPTIONS


def test_efforts_of_a_known_model() -> None:
    """The model's own list decides, where it is known (R4)."""
    known = ModelInfo("p", "gpt-x", "gpt-x", efforts=(Effort("low", "Low"),))

    assert build(asking(reasoning_effort="low"), known)["reasoning"] == {"effort": "low"}
    assert failure_of(lambda: build(asking(reasoning_effort="off"), known)).code == codes.UNSUPPORTED_REASONING_EFFORT


def test_model_list() -> None:
    """Models are read in OpenAI's shape; OpenRouter's list has efforts and modalities (R10)."""
    body = json.dumps({"data": [{"id": "gpt-x", "context_length": 10}]}).encode()

    assert WIRE.codec(None).parse_models("r", body) == (ModelInfo("r", "gpt-x", "gpt-x", context_window=10),)
    assert WIRE.codec("openrouter").parse_models("r", body)[0].efforts == ()
    assert WIRE.codec("azure").auth_headers == frozenset({"api-key"})
