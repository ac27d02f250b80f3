"""What the mock provider says on each wire, byte for byte where it matters."""

import json

import pytest

from limen.testing.server import (
    SCENARIOS,
    MockProvider,
    Reasoning,
    Refusal,
    Script,
    Text,
    ToolCall,
    Turn,
    Usage,
    pieces,
)
from limen.testing.wires import WIRES
from testing._raw_client import CHAT, MESSAGES, PATHS, ask, chat_body

EVERYTHING = Turn(
    [Reasoning(["Hm", "m"], signature="c2ln"), Text(["a", "b"]), ToolCall("call_1", "f", ['{"x"', ":1}"])],
    usage=Usage(input=10, output=9, cache_read=5, cache_write=2, reasoning=3),
    model="resolved",
)


async def payloads(
    wire: str, script: Script | str, *, stream: bool = True, counted: bool = True
) -> list[dict[str, object]]:
    async with MockProvider(script) as mock:
        raw = await ask(
            "POST",
            mock.base_url(wire) + PATHS[wire],
            chat_body(stream=stream) | ({} if counted else {"stream_options": None}),
        )
    return raw.payloads or [json.loads(raw.body)]


def chunk(delta: dict[str, object], finish: str | None = None) -> dict[str, object]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {**HEAD, "choices": [choice], "usage": None}


HEAD: dict[str, object] = {
    "id": "chatcmpl-mock",
    "object": "chat.completion.chunk",
    "created": 1796000000,
    "model": "resolved",
    "system_fingerprint": "fp_mock",
}
CHAT_USAGE = {
    "prompt_tokens": 17,
    "completion_tokens": 9,
    "total_tokens": 26,
    "prompt_tokens_details": {"cached_tokens": 5, "cache_write_tokens": 2},
    "completion_tokens_details": {"reasoning_tokens": 3},
}


async def test_chat_stream() -> None:
    """Chat completions: role, fragments, finish, then usage in a chunk of its own; cached input inside the prompt."""
    opening = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}}
    expected = [
        chunk({"role": "assistant", "content": "", "refusal": None}),
        chunk({"content": None, "reasoning_content": "Hm"}),
        chunk({"content": None, "reasoning_content": "m"}),
        chunk({"content": "a"}),
        chunk({"content": "b"}),
        chunk({"tool_calls": [opening]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"x"'}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]}),
        chunk({}, "tool_calls"),
        {**HEAD, "choices": [], "usage": CHAT_USAGE},
    ]

    assert await payloads(CHAT, Script([EVERYTHING])) == expected


async def test_chat_whole() -> None:
    """The same answer as one object, for a request that asked for no stream."""
    function = {"name": "f", "arguments": '{"x":1}'}
    message = {
        "role": "assistant",
        "content": "ab",
        "refusal": None,
        "reasoning_content": "Hmm",
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
    }
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "tool_calls"}
    expected = {**HEAD, "object": "chat.completion", "choices": [choice], "usage": CHAT_USAGE}

    assert await payloads(CHAT, Script([EVERYTHING]), stream=False) == [expected]


def started(index: int, block: dict[str, object], *deltas: dict[str, object]) -> list[dict[str, object]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": block},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


MESSAGE: dict[str, object] = {
    "id": "msg_mock",
    "type": "message",
    "role": "assistant",
    "model": "resolved",
    "stop_reason": None,
    "stop_sequence": None,
}
FIRST_USAGE = {"input_tokens": 10, "output_tokens": 1, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 5}
LAST_USAGE = {"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 3}}


async def test_messages_stream() -> None:
    """Anthropic messages: named events, blocks with their indexes, a signature, usage at both ends."""
    blocks = [
        *started(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "Hm"},
            {"type": "thinking_delta", "thinking": "m"},
            {"type": "signature_delta", "signature": "c2ln"},
        ),
        *started(
            1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "a"}, {"type": "text_delta", "text": "b"}
        ),
        *started(
            2,
            {"type": "tool_use", "id": "call_1", "name": "f", "input": {}},
            {"type": "input_json_delta", "partial_json": ""},
            {"type": "input_json_delta", "partial_json": '{"x"'},
            {"type": "input_json_delta", "partial_json": ":1}"},
        ),
    ]
    expected = [
        {"type": "message_start", "message": {**MESSAGE, "content": [], "usage": FIRST_USAGE}},
        blocks[0],
        {"type": "ping"},
        *blocks[1:],
        {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": LAST_USAGE},
        {"type": "message_stop"},
    ]

    assert await payloads(MESSAGES, Script([EVERYTHING])) == expected


async def test_messages_whole() -> None:
    """The same answer as one object, the arguments as an object."""
    expected = {
        **MESSAGE,
        "content": [
            {"type": "thinking", "thinking": "Hmm", "signature": "c2ln"},
            {"type": "text", "text": "ab"},
            {"type": "tool_use", "id": "call_1", "name": "f", "input": {"x": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {**FIRST_USAGE, **LAST_USAGE},
    }

    assert await payloads(MESSAGES, Script([EVERYTHING]), stream=False) == [expected]


async def test_messages_events_are_named() -> None:
    """Each event has an `event:` line with the name that its JSON repeats."""
    async with MockProvider("tools") as mock:
        raw = await ask("POST", mock.base_url(MESSAGES) + PATHS[MESSAGES], chat_body())
    lines = raw.body.decode().split("\n")
    names = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]

    assert names == [payload["type"] for payload in raw.payloads]


async def test_interleaving() -> None:
    """Fragments of parallel calls alternate, each under its own index."""
    chat = await payloads(CHAT, "interleaved-tools")
    messages = await payloads(MESSAGES, "interleaved-tools")
    calls = [call["index"] for one in json.loads(json.dumps(chat)) for call in tool_calls(one)]
    indexes = [payload["index"] for payload in messages if payload["type"] == "content_block_delta"]

    assert calls == [0, 1, 0, 1, 0, 1, 0]
    assert indexes == [0, 1, 0, 1, 0, 1, 0]


def tool_calls(payload: dict[str, list[dict[str, dict[str, list[dict[str, int]]]]]]) -> list[dict[str, int]]:
    return [call for choice in payload["choices"] for call in choice["delta"].get("tool_calls", [])]


async def test_usage_only_where_it_was_asked_for() -> None:
    """Chat completions send a trailing usage chunk only with `stream_options.include_usage`."""
    without = await payloads(CHAT, "text", counted=False)

    assert [payload for payload in without if "usage" in payload] == []


async def test_usage_repeated() -> None:
    """Usage that is counted along is reported early and again with the finish."""
    chat = [payload["usage"] for payload in await payloads(CHAT, "usage-repeated") if payload.get("usage")]
    messages = [payload["usage"] for payload in await payloads(MESSAGES, "usage-repeated") if "usage" in payload]

    assert [json.loads(json.dumps(usage))["completion_tokens"] for usage in chat] == [1, 7]
    assert [json.loads(json.dumps(usage))["output_tokens"] for usage in messages] == [1, 7]


async def test_refusals() -> None:
    """A refusal speaks in `refusal` on one wire and in `stop_details` on the other."""
    script = Script([Turn([Refusal(["I ", "cannot."])])])
    chat = json.loads(json.dumps(await payloads(CHAT, script)))
    (whole,) = json.loads(json.dumps(await payloads(CHAT, script, stream=False)))
    messages = json.loads(json.dumps(await payloads(MESSAGES, script)))
    (message,) = await payloads(MESSAGES, script, stream=False)
    details = {"type": "refusal", "category": None, "explanation": "I cannot."}

    assert [one["choices"][0]["delta"].get("refusal") for one in chat[1:3]] == ["I ", "cannot."]
    assert whole["choices"][0]["message"]["refusal"] == "I cannot."
    assert messages[1]["delta"] == {"stop_reason": "refusal", "stop_sequence": None, "stop_details": details}
    assert message["stop_details"] == details


async def test_hidden_reasoning() -> None:
    """Reasoning that is redacted is one block without deltas."""
    block = {"type": "redacted_thinking", "data": "b3BhcXVl"}

    assert (await payloads(MESSAGES, "redacted"))[1] == {
        "type": "content_block_start",
        "index": 0,
        "content_block": block,
    }
    assert json.loads(json.dumps(await payloads(MESSAGES, "redacted", stream=False)))[0]["content"][0] == block


@pytest.mark.parametrize("wire", [CHAT, MESSAGES])
@pytest.mark.parametrize("scenario", sorted(set(SCENARIOS) - {"slow", "max-tokens-tool"}))
@pytest.mark.parametrize("stream", [True, False])
async def test_every_scenario_is_json_on_every_wire(wire: str, scenario: str, *, stream: bool) -> None:
    """Every built-in script can be said on every wire, streamed and whole."""
    for assistants in range(len(SCENARIOS[scenario].turns)):
        async with MockProvider(scenario) as mock:
            body = chat_body("m", assistants) | {"stream": stream}
            raw = await ask("POST", mock.base_url(wire) + PATHS[wire], body)
        assert raw.status == 200
        assert raw.payloads if stream else json.loads(raw.body)


@pytest.mark.parametrize("text", ["", "a", "a b", " a  b \n", "\n"])
def test_pieces_join_to_the_text(text: str) -> None:
    """However a text is cut into words, the pieces are the text and none is empty."""
    assert ("".join(pieces(text)), "" in pieces(text)) == (text, False)


def test_wires_have_distinct_names_and_paths() -> None:
    """The path of a request tells its wire."""
    mocks = [wire.mock for wire in WIRES.values()]

    assert len({mock.name for mock in mocks}) == len({mock.path for mock in mocks}) == len(mocks) == len(WIRES)
