"""Mistral's own parts of chat completions: content parts, references, documents, prefix, the order of turns."""

import json
from collections.abc import Mapping

import pytest

import limen
from chat_requests import response_of
from limen.adapters.kit import BuildContext, build
from limen.adapters.mistral import WIRE, MistralAdapter, MistralOptions
from limen.contract import (
    ContentBlock,
    FileBlock,
    Finish,
    GenerateOptions,
    ImageBlock,
    LlmError,
    Message,
    ModelInfo,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolSpec,
    assistant,
    codes,
    system,
    tool_result,
    user,
)
from limen.testing.server import MockProvider, Reasoning, Script, Text, ToolCall, Turn

ADD = ToolSpec("add", "Adds.", {"type": "object"})


def written(*messages: Message, **fields: object) -> Mapping[str, object]:
    """The body of a request."""
    options = GenerateOptions("mistral", "mistral-small", messages or [user("Hi")], **fields)  # type: ignore[arg-type]
    request = build(WIRE.codec(None), options, BuildContext())
    assert (request.method, request.path) == ("POST", "/chat/completions")
    body: Mapping[str, object] = json.loads(request.body)
    return body


def messages_of(*messages: Message) -> list[object]:
    """The messages of a request."""
    found = written(*messages)["messages"]
    assert isinstance(found, list)
    return found


def chunk(delta: object, finish: str | None = None) -> bytes:
    """One event of the stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return f"data: {json.dumps({'id': 'm', 'model': 'x', 'choices': [choice]})}\n\n".encode()


def answer(*contents: object) -> tuple[list[ContentBlock], Mapping[str, object] | None]:
    """The blocks and the replay state of an answer whose deltas have these contents; cut anywhere it is the same."""
    body = b"".join(chunk({"content": content}) for content in contents) + chunk({}, "stop") + b"data: [DONE]\n\n"
    whole = list(limen.iter_chunks("mistral", body))
    assert list(limen.iter_chunks("mistral", [body[i : i + 1] for i in range(len(body))])) == whole
    last = whole[-1]
    assert isinstance(last, Finish)
    message = response_of(whole).message
    assert message is not None
    return list(message.content), last.replay_state


def thinking(text: str, **fields: object) -> dict[str, object]:
    """A thinking part."""
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}], **fields}


def test_Q1_the_names_of_fields() -> None:
    """`random_seed`, an effort, no `stream_options`; fields of the API alone come through `extra`."""
    found = written(
        seed=3, max_tokens=5, reasoning_effort="off", stop=["END"], tools=[ADD], tool_choice="required",
        parallel_tool_calls=False, extra={"mistral": {"safe_prompt": True}},
    )  # fmt: skip
    assert {name: value for name, value in found.items() if name not in ("messages", "tools")} == {
        "model": "mistral-small",
        "stream": True,
        "tool_choice": "required",
        "parallel_tool_calls": False,
        "stop": ["END"],
        "random_seed": 3,
        "max_tokens": 5,
        "reasoning_effort": "none",
        "safe_prompt": True,
    }


def test_extra_of_chat_completions_is_of_another_wire() -> None:
    """The wire's own name is `mistral` (Q9)."""
    with pytest.raises(LlmError) as caught:
        written(extra={"openai-chat": {}})
    assert caught.value.code == codes.UNSUPPORTED


def test_Q115_thinking_parts_and_text_in_arrays_and_strings() -> None:
    """Thinking of several deltas is one block; the signature is kept with it."""
    blocks, state = answer([thinking("h")], [thinking("m", signature="s1")], [{"type": "text", "text": "a"}], "b")
    assert blocks == [ReasoningBlock("hm"), TextBlock("ab")]
    assert state == {"v": 1, "wire": "mistral", "blocks": ({"field": "content", "signature": "s1"}, None)}


def test_N4_thinking_and_references_go_back_in_place() -> None:
    """One thinking part with its signature, then the text in parts around its references."""
    reference = {"type": "reference", "reference_ids": [1, "b"]}
    first, last = {"type": "reference", "reference_ids": [0]}, {"type": "reference", "reference_ids": [2]}
    texts = [{"type": "text", "text": text} for text in ("ab", "c")]
    blocks, state = answer([thinking("hm", signature="s1"), first], [texts[0], reference], "c", [last])
    assert state is not None
    assert state["blocks"] == (
        {"field": "content", "signature": "s1"},
        {"references": ((0, (0,)), (2, (1, "b")), (3, (2,)))},
    )
    turn = Message("assistant", tuple(blocks), replay_state=state)
    assert messages_of(user("a"), turn, user("b"))[1] == {
        "role": "assistant",
        "content": [thinking("hm", closed=True, signature="s1"), first, texts[0], reference, texts[1], last],
    }
    plain = Message("assistant", tuple(blocks))
    assert messages_of(user("a"), plain, user("b"))[1] == {
        "role": "assistant",
        "content": [thinking("hm", closed=True), {"type": "text", "text": "abc"}],
    }


def test_references_alone_keep_their_place() -> None:
    """A text without thinking; references of no known type, and those of other rows, are left out (C14)."""
    part = {"type": "reference", "reference_ids": [7]}
    blocks, state = answer("ab", [part, {"type": "reference", "reference_ids": {"a": 1}}], "c")
    turn = Message("assistant", tuple(blocks), replay_state=state)
    assert messages_of(user("a"), turn, user("b"))[1] == {
        "role": "assistant",
        "content": [{"type": "text", "text": "ab"}, part, {"type": "text", "text": "c"}],
    }
    body = chunk({"content": [{"type": "text", "text": "a"}, part]}, "stop")
    last = list(limen.iter_chunks("openai-chat", body, dialect="mistral"))[-1]
    assert isinstance(last, Finish)
    assert last.replay_state is None


@pytest.mark.parametrize("place", [-1, 3])
def test_R5_a_reference_outside_its_text_is_refused(place: int) -> None:
    """State that was changed on its way."""
    state = {"v": 1, "wire": "mistral", "blocks": ({"references": ((place, (1,)),)},)}
    with pytest.raises(LlmError) as caught:
        messages_of(user("a"), Message("assistant", (TextBlock("ab"),), replay_state=state), user("b"))
    assert caught.value.code == codes.INVALID_REPLAY_STATE


def test_the_servers_order_of_turns() -> None:
    """A user's turn right behind a result has an assistant's between them; other turns stand as they are."""
    call = ToolCallBlock("a1B2c3D4e", "add", "{}")
    found = messages_of(system("s"), user("a"), assistant([call]), tool_result("a1B2c3D4e", "3"), user("b"))
    assert found[2:] == [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "a1B2c3D4e", "type": "function", "function": {"name": "add", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "a1B2c3D4e", "name": "add", "content": "3"},
        {"role": "assistant", "content": "OK"},
        {"role": "user", "content": "b"},
    ]


def test_a_last_assistant_turn_is_a_prefix() -> None:
    """It is to be continued; one that is not the last is none."""
    assert messages_of(user("a"), assistant("b"), user("c"), assistant("d"))[1:] == [
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
        {"role": "assistant", "content": "d", "prefix": True},
    ]


def test_documents_and_sounds() -> None:
    """PDFs as `document_url`, an uploaded file by its id, sounds as `input_audio`; others are refused."""
    files = [
        FileBlock("application/pdf", b"%PDF-", "a.pdf"),
        FileBlock(url="https://x.example/b.pdf"),
        FileBlock(file_id="f1"),
        FileBlock("audio/wav", b"RIFF0000WAVE"),
    ]
    assert messages_of(user([TextBlock("a"), *files]))[0] == {
        "role": "user",
        "content": [
            {"type": "text", "text": "a"},
            {
                "type": "document_url",
                "document_url": "data:application/pdf;base64,JVBERi0=",
                "document_name": "a.pdf",
            },
            {"type": "document_url", "document_url": "https://x.example/b.pdf"},
            {"type": "file", "file_id": "f1"},
            {"type": "input_audio", "input_audio": {"data": "UklGRjAwMDBXQVZF", "format": "wav"}},
        ],
    }
    with pytest.raises(LlmError) as caught:
        messages_of(user([FileBlock("text/plain", b"x")]))
    assert caught.value.code == codes.UNSUPPORTED_CONTENT


def test_NQ327_calls_in_fragments() -> None:
    """A hosted model's call comes in pieces with an empty name; it is one call."""
    function = {"name": "find", "arguments": ""}
    body = (
        chunk({"tool_calls": [{"index": 0, "id": "c1x", "function": function}]})
        + chunk({"tool_calls": [{"index": 0, "function": {"name": "", "arguments": '{"q":'}}]})
        + chunk({"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]})
        + chunk({}, "tool_calls")
        + b"data: [DONE]\n\n"
    )
    message = response_of(list(limen.iter_chunks("mistral", body))).message
    assert message is not None
    assert message.content == (ToolCallBlock("c1x", "find", '{"q":1}'),)


def test_Q053_a_call_beside_the_finish_reason() -> None:
    """Whole calls without index, their arguments a string or an object, in the event of the finish reason."""
    calls = [
        {"id": "a1B2c3D4e", "function": {"name": "add", "arguments": '{"a": 1}'}},
        {"id": "null", "function": {"name": "now", "arguments": {"b": 1.5}}},
    ]
    body = chunk({"content": "!", "tool_calls": calls}, "tool_calls") + b"data: [DONE]\n\n"
    message = response_of(list(limen.iter_chunks("mistral", body))).message
    assert message is not None
    assert message.content == (
        TextBlock("!"), ToolCallBlock("a1B2c3D4e", "add", '{"a": 1}'), ToolCallBlock("null", "now", '{"b":1.5}'),
    )  # fmt: skip


def test_R10_facts_of_the_list_of_models() -> None:
    """Windows and images as the list states them; capabilities that cannot be read say nothing."""
    rows = [
        {"id": "a", "name": "a", "max_context_length": 131072, "capabilities": {"vision": True}},
        {"id": "b", "capabilities": {"vision": False}},
        {"id": "c", "capabilities": {"vision": None}},
        {"id": "d", "capabilities": ["x"]},
    ]
    assert WIRE.codec(None).parse_models("m", json.dumps({"data": rows}).encode()) == (
        ModelInfo("m", "a", "a", input_modalities=("text", "image"), context_window=131072),
        ModelInfo("m", "b", "b", input_modalities=("text",)),
        ModelInfo("m", "c", "c"),
        ModelInfo("m", "d", "d"),
    )


TOO_LONG = "Prompt contains 9 tokens and 0 draft tokens, too large for model with 8 maximum context length"


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (400, {"object": "error", "message": "Invalid model: x", "code": "1500"}, "MODEL_NOT_FOUND"),
        (400, {"message": TOO_LONG, "code": "3051"}, "CONTEXT_WINDOW_EXCEEDED"),
        (400, {"message": "Logprobs are not enabled for this model", "code": "3051"}, "INVALID_REQUEST"),
        (401, {"detail": "Invalid API Key"}, "AUTH"),
        (422, {"detail": [{"loc": ["body", "user"], "msg": "Extra inputs are not permitted"}]}, "INVALID_REQUEST"),
        (429, {"message": "Requests rate limit exceeded", "code": "1300"}, "RATE_LIMIT"),
        (429, {"message": "Service tier capacity exceeded", "code": "3505"}, "OVERLOADED"),
    ],
)  # fmt: skip
def test_E3_errors_of_the_vendor(status: int, body: object, code: str) -> None:
    """The vendor's rows hold on its own wire too."""
    assert limen.classify_error("mistral", status, {}, json.dumps(body).encode()).code == code


async def test_two_turns_over_http(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thinking, calls with rewritten ids and results go back from the first turn's own message (N4, C9)."""
    script = Script([Turn([Reasoning(["h", "m"]), ToolCall("call_1", "add", ['{"l":', "1}"])]), Turn([Text(["42"])])])
    monkeypatch.setenv("MY_MISTRAL_KEY", "test-key-1")
    async with MockProvider(script) as mock:
        table = {"adapter": "mistral", "base_url": mock.base_url("mistral"), "api_key_env": "MY_MISTRAL_KEY"}
        async with limen.open_runtime({"routes": {"m": table}}) as llm:
            first = await llm.complete(GenerateOptions("m", "x", [user("Add")], tools=[ADD]))
            assert first.message is not None
            result = tool_result("call_1", [TextBlock("3"), ImageBlock(url="https://x.example/a.png")])
            history = [user("Add"), first.message, result]
            second = await llm.complete(GenerateOptions("m", "x", history, tools=[ADD]))
            models = await llm.list_models("m")
    assert first.message.content == (ReasoningBlock("hm"), ToolCallBlock("call_1", "add", '{"l":1}'))
    assert (second.text, models[0].input_modalities) == ("42", ("text", "image"))
    sent = mock.requests[1].json["messages"]
    assert isinstance(sent, list)
    made = sent[1]["tool_calls"][0]["id"]
    assert len(made) == 9
    assert made.isalnum()
    assert sent[1:] == [
        {
            "role": "assistant",
            "content": [thinking("hm", closed=True)],
            "tool_calls": [{"id": made, "type": "function", "function": {"name": "add", "arguments": '{"l":1}'}}],
        },
        {
            "role": "tool",
            "tool_call_id": made,
            "name": "add",
            "content": [
                {"type": "text", "text": "3"}, {"type": "image_url", "image_url": {"url": "https://x.example/a.png"}},
            ],
        },
    ]  # fmt: skip


def test_the_options_of_the_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another row is refused; in the environment the key stands for this adapter, not for a row of another wire."""
    with pytest.raises(LlmError, match="dialect"):
        MistralAdapter(MistralOptions(dialect="openai"))
    assert MistralAdapter() is not None
    from limen._compose import known_providers

    known = {one.route: one.adapter for one in known_providers()}
    assert (known["mistral"], known["cohere"], known["deepseek"]) == ("mistral", "cohere", "deepseek")
