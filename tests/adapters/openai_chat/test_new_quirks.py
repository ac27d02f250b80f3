"""Public reports of the second collection, by their numbers: state that a gateway wants back, disorder, bad bytes."""

import json
from typing import Any

import pytest

from adapters.openai_chat._chat_wire import (
    calling,
    ended,
    event,
    fragment,
    part,
    read_all_ways,
    read_notes,
    said,
    stream,
)
from chat_requests import ADD, messages_of, refusal
from limen.adapters.openai_chat import OpenAIChatAdapter, OpenAIChatOptions
from limen.adapters.openai_chat._dialects import ReadingRules
from limen.contract import (
    GenerateOptions,
    ImageBlock,
    Message,
    ReasoningBlock,
    Response,
    TextBlock,
    TokenUsage,
    ToolCallBlock,
    UsageChunk,
    assistant,
    codes,
    decode_message,
    encode,
    tool_result,
    user,
)
from limen.runtime import LlmRuntime
from transport._byte_server import ByteServer, Connection, sized


async def two_turns(body: bytes, dialect: str = "generic") -> tuple[Response, dict[str, Any]]:
    """Return the first answer, and the assistant message that the second request sends back; state survives JSON."""
    requests: list[Any] = []

    async def serve(connection: Connection) -> None:
        for answer in (body, stream(said("done"), ended())):
            requests.append(json.loads((await connection.request()).body))
            await connection.send(sized(answer))

    async with ByteServer(serve) as server, LlmRuntime() as llm:
        options = OpenAIChatOptions(base_url=server.url, dialect=dialect, api_key="sk-test-0123456789")
        llm.register(["route"], OpenAIChatAdapter(options))
        first = await llm.complete(GenerateOptions("route", "m", [user("hi")]))
        assert first.message is not None
        message = decode_message(encode(first.message))
        results = [tool_result(call.id, "x") for call in first.tool_calls]
        await llm.complete(GenerateOptions("route", "m", [user("hi"), message, *results, user("go on")]))
    return first, requests[1]["messages"][1]


def delta(**fields: object) -> bytes:
    """One event of a delta with those fields."""
    return event(choices=[{"index": 0, "delta": fields, "finish_reason": None}])


async def test_NQ301_thinking_blocks_go_back_signed() -> None:
    """The signature that LiteLLM's proxy sends beside reasoning is joined to its block and sent back (N4)."""
    blocks = [{"type": "thinking", "thinking": "Add them.", "signature": ""}]
    signed = [{"type": "thinking", "thinking": "", "signature": "c2lnLWE="}]
    first, sent = await two_turns(
        stream(
            delta(content="", reasoning_content="Add them.", thinking_blocks=blocks),
            delta(content="", thinking_blocks=signed),
            calling(fragment('{"l":20}', id="call_a", name="add")),
            ended("tool_calls"),
        )
    )

    assert (first.reasoning, len(first.tool_calls)) == ("Add them.", 1)
    assert sent["thinking_blocks"] == [{"type": "thinking", "thinking": "Add them.", "signature": "c2lnLWE="}]
    assert sent["reasoning_content"] == "Add them."


async def test_NQ301_each_signed_block_is_one_block() -> None:
    """More thinking after a signature is a block of its own."""
    events = [
        delta(reasoning_content=text, thinking_blocks=[{"type": "thinking", "thinking": text, "signature": mark}])
        for text, mark in (("A", ""), ("", "one"), ("B", ""), ("", "two"))
    ]
    _, sent = await two_turns(stream(*events, said("x"), ended()))

    assert [(block["thinking"], block["signature"]) for block in sent["thinking_blocks"]] == [
        ("A", "one"),
        ("B", "two"),
    ]


async def test_NQ302_reasoning_opaque_goes_back() -> None:
    """Copilot's opaque partner of the readable thinking is sent back byte for byte (N4)."""
    first, sent = await two_turns(
        stream(
            delta(content=None, reasoning_text="Look it up."),
            delta(
                content=None,
                reasoning_opaque="b3BxLWE=",
                tool_calls=[fragment("{}", id="call_b", name="find")],
            ),
            ended("tool_calls"),
        )
    )

    assert first.reasoning == "Look it up."
    assert (sent["reasoning_text"], sent["reasoning_opaque"]) == ("Look it up.", "b3BxLWE=")


@pytest.mark.parametrize("name", ["extra_content", "provider_specific_fields"])
async def test_NQ303_state_of_a_turn_goes_back(name: str) -> None:
    """State in a chunk of its own belongs to the turn, and its parts are merged (N4)."""
    first, sent = await two_turns(
        stream(
            said("Forty-two."),
            delta(**{name: {"google": {"thought_signature": "QVk4YQ=="}}}),
            part("stop", **{name: {"other": 1}}),
        )
    )

    assert (first.text, first.finish.kind) == ("Forty-two.", "stop")
    assert sent[name] == {"google": {"thought_signature": "QVk4YQ=="}, "other": 1}


async def test_NQ303_state_of_a_whole_answer_goes_back() -> None:
    """A whole answer's message holds it too."""
    message = {"role": "assistant", "content": "42", "extra_content": {"google": {"thought_signature": "QVk4YQ=="}}}
    body = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
    _, sent = await two_turns(body)

    assert sent["extra_content"] == {"google": {"thought_signature": "QVk4YQ=="}}


@pytest.mark.parametrize("whole", [False, True])
async def test_NQ304_reasoning_parts_go_back_signed(whole: bool) -> None:
    """Reasoning in content parts is reasoning, and its signature goes back in such a part (N4)."""
    piece = {"type": "summary_text", "text": "Sum first.", "signature": "c2lnLWI=" if whole else ""}
    parts: list[Any] = [{"type": "reasoning", "summary": [piece]}]
    if whole:
        message = {"role": "assistant", "content": [*parts, {"type": "text", "text": "42"}]}
        body = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).encode()
    else:
        signed = [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "", "signature": "c2lnLWI="}]}]
        body = stream(delta(content=parts), delta(content=signed), said("42"), ended())
    first, sent = await two_turns(body)

    assert first.message is not None
    assert first.message.content == (ReasoningBlock("Sum first."), TextBlock("42"))
    assert sent["content"] == [
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Sum first.", "signature": "c2lnLWI="}]},
        {"type": "text", "text": "42"},
    ]


@pytest.mark.parametrize("name", ["extra_content", "provider_specific_fields"])
async def test_NQ305_state_of_a_call_goes_back(name: str) -> None:
    """A thought signature on a call is sent back on the same call, wherever the gateway put it (N4)."""
    call = {**fragment("{}", id="call_c", name="find"), name: {"thought_signature": "QVk4Yg=="}}
    _, sent = await two_turns(stream(calling(call), ended("tool_calls")))

    assert sent["tool_calls"] == [
        {
            "id": "call_c",
            "type": "function",
            "function": {"name": "find", "arguments": "{}"},
            name: {"thought_signature": "QVk4Yg=="},
        }
    ]


async def test_NQ307_trailing_state_belongs_to_the_call_last_opened() -> None:
    """A fragment with neither index nor id nor text adds its state to the last call (W3)."""
    state = {"google": {"thought_signature": "QVk4ZA=="}}
    first, sent = await two_turns(
        stream(
            delta(tool_calls=[{"id": "call_d", "function": {"name": "find", "arguments": '{"q":1}'}}]),
            delta(tool_calls=[{"extra_content": state}]),
            ended("tool_calls"),
        )
    )

    assert [(call.id, call.arguments) for call in first.tool_calls] == [("call_d", '{"q":1}')]
    assert sent["tool_calls"][0]["extra_content"] == state


async def test_NQ308_a_detail_without_text_joins_its_item() -> None:
    """Fragments of one item of reasoning_details are one item, with text and signature (N4)."""
    own = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
    first, sent = await two_turns(
        stream(
            delta(content="", reasoning="Hm", reasoning_details=[{**own, "text": "Hm"}]),
            delta(content="", reasoning_details=[own]),
            delta(content="", reasoning_details=[{**own, "signature": "c2lnLWM="}]),
            said("42"),
            ended(),
        )
    )

    assert (first.reasoning, first.text) == ("Hm", "42")
    assert sent["reasoning_details"] == [{**own, "text": "Hm", "signature": "c2lnLWM="}]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_NQ324_a_number_that_is_none_costs_nothing(number: str) -> None:
    """A number that is none, in a field that nobody reads, is ignored (S5)."""
    odd = b'data: {"choices":[{"index":0,"delta":{"content":"42"}}],"reference":{"similarity":%b}}\n\n'
    outcome = read_all_ways(stream(odd % number.encode(), ended()))

    assert (outcome.text, outcome.kind) == ("42", "stop")


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"a\tb\x01c", "a\tb\x01c"),
        (b"a\xffb", "a\ufffdb"),
        (b"a\xed\xa0\xbdb", "a\ufffd\ufffd\ufffdb"),
        (b"NaN, Infinity", "NaN, Infinity"),
        (rb"\ud83d", "\ufffd"),
        (b"a\x00b\\n", "a\x00b\n"),
    ],
)
def test_one_bad_byte_costs_nothing(raw: bytes, text: str) -> None:
    """Raw control characters stand for themselves, bytes that are no UTF-8 and lone halves are U+FFFD (S5)."""
    odd = b'data: {"choices":[{"index":0,"delta":{"content":"' + raw + b'"}}],"x":NaN}\n\n'
    outcome = read_all_ways(stream(said("<"), odd, said(">"), ended()))

    assert (outcome.text, outcome.kind) == (f"<{text}>", "stop")


@pytest.mark.parametrize(
    "odd",
    [
        b'{"choices":[{"index":"0","delta":{"content":"b"}}]}',
        b'{"choices":[{"index":0,"delta":{"content":"b","tool_calls":{}}}]}',
        b'{"choices":[{"index":0,"delta":{"content":"b","tool_calls":""}}]}',
        b'{"choices":[{"index":0,"delta":{"content":"b","function_call":[]}}]}',
        b'{"choices":[{"index":0,"delta":{"content":"b","images":""}}]}',
        b'{"id":{},"model":7,"choices":[{"index":0,"delta":{"content":"b"}}]}',
        b'{"choices":[{"index":0,"delta":{"content":"b"}}],"usage":""}',
        b'{"choices":[{"index":0,"delta":{"content":"b"},"usage":[]}]}',
        b'{"choices":[{"index":0,"delta":{"content":"b"}}],"x_groq":[]}',
    ],
)
def test_a_side_field_of_another_type_costs_nothing(odd: bytes) -> None:
    """An empty field of a wrong type is absent, an unreadable one beside the answer is unknown (C15, W2)."""
    outcome = read_all_ways(stream(said("a"), b"data: " + odd + b"\n\n", ended()))

    assert (outcome.text, outcome.kind) == ("ab", "stop")


@pytest.mark.parametrize(
    "odd",
    [
        b'{"choices":[{"index":0,"delta":{"content":7}}]}',
        b'{"choices":[{"index":0,"delta":{"tool_calls":[7]}}]}',
        b'{"choices":[{"index":0,"delta":{},"finish_reason":7}]}',
        b'{"choices":7}',
    ],
)
def test_the_answer_of_another_type_is_malformed(odd: bytes) -> None:
    """A field that carries the answer, with a type that no variant has, is MALFORMED_RESPONSE (C15)."""
    assert read_all_ways(stream(said("a"), b"data: " + odd + b"\n\n", ended())).kind == "raised MALFORMED_RESPONSE"


def test_unreadable_side_fields_are_noted() -> None:
    """Each leaves a sentence about it (C15)."""
    odd = b'data: {"choices":[{"index":0,"delta":{"content":"b"}}],"usage":{"prompt_tokens":"12","total_tokens":3}}\n\n'

    assert read_notes(stream(odd, ended())) == ["usage.prompt_tokens could not be read and counts as unknown"]


def test_NQ325_arguments_at_an_index_of_their_own() -> None:
    """A fragment without id and name at a new index goes to the call that is still without arguments (W3)."""
    body = stream(
        calling(fragment("", id="call_e", name="add")),
        calling(fragment('{"l":1}')),
        calling(fragment("", id="call_f", name="mul")),
        calling(fragment('{"r":', index=1)),
        calling(fragment("2}", index=1)),
        ended("tool_calls"),
    )

    assert read_all_ways(body).calls == [("call_e", "add", '{"l":1}'), ("call_f", "mul", '{"r":2}')]


@pytest.mark.parametrize("index", [0, 1, 7])
def test_NQ326_a_known_id_names_its_call(index: int) -> None:
    """An id that was seen, without a name, names its call whatever the index says (W3)."""
    body = stream(
        calling(fragment('{"l":', id="call_g", name="add")),
        calling(fragment("1}", index=index, id="call_g")),
        ended("tool_calls"),
    )

    assert read_all_ways(body).calls == [("call_g", "add", '{"l":1}')]


def test_two_ids_interleaved_at_one_index() -> None:
    """Fragments that carry their ids are told apart by them, named or not (W3)."""
    body = stream(
        calling(fragment('{"a":', id="one", name="f")),
        calling(fragment('{"b":', id="two", name="g")),
        calling(fragment("1}", id="one", name="f")),
        calling(fragment("2}", id="two")),
        ended("tool_calls"),
    )

    assert read_all_ways(body).calls == [("one", "f", '{"a":1}'), ("two", "g", '{"b":2}')]


def test_NQ327_fragments_at_mistral() -> None:
    """Mistral's row reads calls in fragments too."""
    body = stream(
        calling(fragment("", id="c1x", name="find")),
        calling(fragment('{"q":')),
        calling(fragment("1}")),
        ended("tool_calls"),
    )

    assert read_all_ways(body, "mistral").calls == [("c1x", "find", '{"q":1}')]


def test_NQ329_repetition_is_a_cut() -> None:
    """vLLM's word for a looping answer is documented: the answer was cut."""
    outcome = read_all_ways(stream(said("and and and"), ended("repetition")), "vllm")

    assert (outcome.kind, outcome.facts[2]) == ("max-tokens", "repetition")


@pytest.mark.parametrize("word", ["function_call_filter: MALFORMED_FUNCTION_CALL", "MALFORMED_FUNCTION_CALL"])
def test_NQ330_a_malformed_call_is_the_servers_failure(word: str) -> None:
    """It is SERVER, so the default policy tries again; the whole word is the provider's code."""
    outcome = read_all_ways(stream(delta(content=None), ended(word)))

    assert (outcome.failure.code, outcome.failure.provider_code) == (codes.SERVER, word)


def test_NQ331_a_network_error_is_the_servers_failure() -> None:
    """The text that came before is kept."""
    outcome = read_all_ways(stream(said("Hi"), ended("network_error")))

    assert (outcome.text, outcome.failure.code, outcome.failure.provider_code) == ("Hi", codes.SERVER, "network_error")


def test_NQ332_a_failed_whole_answer_is_no_success() -> None:
    """The finish reason of a whole answer counts, and null counts are unknown."""
    answer = {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": '{"a'}, "finish_reason": "error"}],
        "usage": {"prompt_tokens": None, "completion_tokens": None, "total_tokens": 0},
    }
    outcome = read_all_ways(json.dumps(answer).encode())

    assert (outcome.text, outcome.failure.code, outcome.failure.provider_code) == ('{"a', codes.SERVER, "error")
    assert outcome.usage in (None, TokenUsage())


def test_a_finish_reason_beside_the_choices_counts() -> None:
    """Where no choice ever has one, a finish reason at the top level is the answer's (finding E)."""
    body = stream(said("a"), event(choices=[{"index": 0, "delta": {}}], finish_reason="length"))

    assert read_all_ways(body).kind == "max-tokens"


def test_a_choices_own_finish_reason_comes_first() -> None:
    """The word beside the choices only stands in."""
    body = stream(
        said("a"), event(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}], finish_reason="length")
    )

    assert read_all_ways(body).kind == "stop"


@pytest.mark.parametrize("required", [False, True])
def test_a_marker_without_a_finish_reason(required: bool) -> None:
    """It is a stop with a note, and STREAM_CLOSED where the server always names a reason (W6)."""
    rules = ReadingRules(finish_required=required)
    body = stream(said("a"))

    assert read_all_ways(body, rules).kind == ("raised STREAM_CLOSED" if required else "stop")
    assert read_notes(body, rules) == (
        [] if required else ["the stream ended with its marker and without a finish reason"]
    )


def test_NQ337_reasoning_beside_a_completion_of_zero() -> None:
    """Completion plus reasoning is the output."""
    usage = {
        "prompt_tokens": 21,
        "completion_tokens": 0,
        "total_tokens": 81,
        "completion_tokens_details": {"reasoning_tokens": 60},
    }
    outcome = read_all_ways(stream(said("42"), ended(), event(choices=[], usage=usage)))

    assert outcome.chunks[-2] == UsageChunk(TokenUsage(21, 60, reasoning_tokens=60))


def test_counts_by_the_names_of_other_wires() -> None:
    """Hosts that name their counts input and output are read (finding F)."""
    usage = {"input_tokens": 3, "output_tokens": 2}
    outcome = read_all_ways(stream(said("42"), ended(), event(choices=[], usage=usage)))

    assert outcome.chunks[-2] == UsageChunk(TokenUsage(3, 2))


def test_NQ340_an_empty_turn_does_not_reach_moonshot() -> None:
    """A turn without text and calls is left out, and said to be."""
    history = [user("hi"), Message("assistant", (ReasoningBlock("hm"),)), user("go on")]

    assert [one["role"] for one in messages_of("moonshot", *history)] == ["user", "user"]
    assert [one["role"] for one in messages_of("generic", *history)] == ["user", "assistant", "user"]


def test_NQ341_a_turn_with_calls_has_reasoning_at_moonshot() -> None:
    """Moonshot refuses a call turn without reasoning, and an empty text counts as none there."""
    call = Message("assistant", (ToolCallBlock("c1", "add", "{}"),))
    sent = messages_of("moonshot", user("hi"), call, tool_result("c1", "x"), tools=[ADD])

    assert sent[1]["reasoning_content"] == " "
    assert messages_of("deepseek", user("hi"), call, tool_result("c1", "x"), tools=[ADD])[1]["reasoning_content"] == ""


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"%PDF-1.7", "application/pdf"),
    ],
)
def test_NQ344_a_mislabelled_image_is_refused(data: bytes, kind: str) -> None:
    """An image whose first bytes are of another type is refused before any I/O, naming both."""
    error = refusal(messages=[Message("user", (TextBlock("a"), ImageBlock("image/png", data)))])

    assert error.code == codes.UNSUPPORTED_CONTENT
    assert error.failure.message.startswith("messages[0].content[1] cannot be sent")
    assert f"image/png, and its bytes are {kind}" in error.failure.message


def test_a_request_without_messages_is_refused() -> None:
    """There is at least one message, or system text (N1)."""
    assert refusal(messages=[]).code == codes.INVALID_OPTIONS
    assert messages_of("generic", system="s") == [{"role": "system", "content": "s"}]


def test_names_in_the_history_are_checked() -> None:
    """A name that the wire refuses is refused in the calls of the history too (Q10)."""
    call = Message("assistant", (ToolCallBlock("c1", "a.b", "{}"),))
    error = refusal("openai", messages=[user("hi"), call, tool_result("c1", "x")])

    assert error.code == codes.UNSUPPORTED
    assert error.failure.message.startswith("messages[1].content[0].name cannot be sent")
    assert assistant("x").role == "assistant"
