"""Section 1: the JSON form, frozen as it was released; it round-trips without loss, and refuses unknown tags."""

import math
import pickle
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from limen.contract import (
    STOP,
    AbortController,
    BlockEnd,
    BlockStart,
    CallInfo,
    Failure,
    Finish,
    FinishReason,
    GenerateOptions,
    ImageBlock,
    JsonSchema,
    LlmError,
    Message,
    ModelSource,
    ReasoningBlock,
    ReasoningDelta,
    ReplayDrop,
    Response,
    StreamChunk,
    TextBlock,
    TextDelta,
    Timeouts,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    ToolChoice,
    ToolResultBlock,
    ToolSpec,
    UsageChunk,
    assistant,
    codes,
    decode,
    decode_chunk,
    decode_message,
    decode_options,
    decode_response,
    encode,
    user,
)

CHUNKS: list[tuple[StreamChunk, str]] = [
    (BlockStart(0, "text"), '{"type":"block-start","index":0,"blockType":"text"}'),
    (TextDelta(0, "…"), '{"type":"text-delta","index":0,"text":"…"}'),
    (ReasoningDelta(0, "hm"), '{"type":"reasoning-delta","index":0,"text":"hm"}'),
    (
        ToolCallDelta(1, "call_1", "add", '{"l'),
        '{"type":"tool-call-delta","index":1,"id":"call_1","name":"add","argumentsDelta":"{\\"l"}',
    ),
    (
        BlockEnd(1, ToolCallBlock("call_1", "add", "{}")),
        '{"type":"block-end","index":1,"block":{"type":"tool-call","id":"call_1","name":"add","arguments":"{}"}}',
    ),
    (BlockEnd(0, ReasoningBlock("hm")), '{"type":"block-end","index":0,"block":{"type":"reasoning","text":"hm"}}'),
    (
        BlockEnd(0, ImageBlock("image/png", b"x")),
        '{"type":"block-end","index":0,"block":{"type":"image","mediaType":"image/png","data":"eA=="}}',
    ),
    (
        UsageChunk(TokenUsage(1, 0, 2, 3, 0)),
        '{"type":"usage","usage":{"inputTokens":1,"outputTokens":0,"cacheReadTokens":2,"cacheWriteTokens":3,'
        '"reasoningTokens":0}}',
    ),
    (UsageChunk(TokenUsage()), '{"type":"usage","usage":{}}'),
    (Finish(STOP), '{"type":"finish","reason":{"kind":"stop"}}'),
    (
        Finish(STOP, {"v": 1, "wire": "w", "blocks": [None]}),
        '{"type":"finish","reason":{"kind":"stop"},"replayState":{"v":1,"wire":"w","blocks":[null]}}',
    ),
    (
        Finish(FinishReason("error", Failure("m", "SERVER", "headers", 500, "p", 7, "r", False))),
        '{"type":"finish","reason":{"kind":"error","failure":{"message":"m","code":"SERVER","phase":"headers",'
        '"status":500,"providerCode":"p","providerRetryAfterMs":7,"requestId":"r","shouldRetry":false}}}',
    ),
]


@pytest.mark.parametrize(("chunk", "text"), CHUNKS)
def test_chunks_have_their_form(chunk: StreamChunk, text: str) -> None:
    """Section 1: each chunk has the released JSON form, both ways."""
    assert encode(chunk).decode() == text
    assert decode_chunk(text) == chunk
    assert decode_chunk(text.encode()) == chunk


def test_a_fragment_without_arguments_reads_as_empty() -> None:
    """Section 1: a field that is absent has its default."""
    assert decode_chunk('{"type":"tool-call-delta","index":0,"id":"c"}') == ToolCallDelta(0, "c")


MESSAGE = Message(
    "assistant",
    (TextBlock("a"), ToolCallBlock("c", "f", "{}")),
    "m1",
    ModelSource("p", "m"),
    {"v": 1, "blocks": [{"s": "x"}, None]},
)
MESSAGE_TEXT = (
    '{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"tool-call","id":"c","name":"f",'
    '"arguments":"{}"}],"id":"m1","source":{"provider":"p","model":"m"},'
    '"replayState":{"v":1,"blocks":[{"s":"x"},null]}}'
)
RESULT = Message("tool", (ToolResultBlock("c", (TextBlock("42"), ImageBlock(url="https://e.test")), True),))
RESULT_TEXT = (
    '{"role":"tool","content":[{"type":"tool-result","toolCallId":"c","content":[{"type":"text","text":"42"},'
    '{"type":"image","url":"https://e.test"}],"isError":true}]}'
)
OPTIONS = GenerateOptions(
    "p",
    "m",
    [user("Hi")],
    system="s",
    tools=[ToolSpec("f", "d", {"type": "object"}, True)],
    tool_choice=ToolChoice("f"),
    parallel_tool_calls=False,
    response_format=JsonSchema("n", {"type": "object"}, False),
    temperature=0.5,
    top_p=1.0,
    max_tokens=5,
    stop=["x"],
    seed=7,
    reasoning_effort="low",
    cache="long",
    extra={"w": {"a": None}},
    session_id="s1",
    purpose="title",
)
OPTIONS_TEXT = (
    '{"provider":"p","model":"m","messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}],"system":"s",'
    '"tools":[{"name":"f","description":"d","parameters":{"type":"object"},"strict":true}],'
    '"toolChoice":{"type":"tool","name":"f"},"parallelToolCalls":false,'
    '"responseFormat":{"type":"json-schema","name":"n","schema":{"type":"object"},"strict":false},'
    '"temperature":0.5,"topP":1.0,"maxTokens":5,"stop":["x"],"seed":7,"reasoningEffort":"low","cache":"long",'
    '"extra":{"w":{"a":null}},"sessionId":"s1","purpose":"title"}'
)
RESPONSE = Response(
    assistant("a"),
    STOP,
    TokenUsage(1),
    "a",
    "r",
    [ToolCallBlock("c", "f", "{}")],
    [ToolCallBlock("d", "f", "{")],
    {"v": 1},
    [ReplayDrop("old", 3)],
    CallInfo("p", "m", "m-1", "id", "req", "stop", "###", 2, 1.5),
)
RESPONSE_TEXT = (
    '{"message":{"role":"assistant","content":[{"type":"text","text":"a"}]},"finish":{"kind":"stop"},'
    '"usage":{"inputTokens":1},"text":"a","reasoning":"r",'
    '"toolCalls":[{"type":"tool-call","id":"c","name":"f","arguments":"{}"}],'
    '"incompleteToolCalls":[{"type":"tool-call","id":"d","name":"f","arguments":"{"}],"replayState":{"v":1},'
    '"replayDropped":[{"reason":"old","messageIndex":3}],'
    '"info":{"provider":"p","model":"m","responseModel":"m-1","responseId":"id","requestId":"req",'
    '"providerReason":"stop","stopSequence":"###","attempts":2,"firstEventMs":1.5}}'
)


@pytest.mark.parametrize(
    ("read", "value", "text"),
    [
        (decode_message, MESSAGE, MESSAGE_TEXT),
        (decode_message, RESULT, RESULT_TEXT),
        (decode_options, OPTIONS, OPTIONS_TEXT),
        (decode_response, RESPONSE, RESPONSE_TEXT),
    ],
)
def test_values_have_their_form(read: Callable[[str], object], value: object, text: str) -> None:
    """Section 1: each value has the released JSON form, both ways; `decode` reads one class like its own function."""
    assert encode(value).decode() == text
    assert read(text) == value
    assert decode(type(value), text) == value


@pytest.mark.parametrize("word", ["auto", "none", "required"])
def test_words_stand_for_choices(word: str) -> None:
    """Section 1: tool choice and response format are words or objects."""
    options = decode_options(
        f'{{"provider":"p","model":"m","messages":[],"toolChoice":"{word}","responseFormat":"json"}}'
    )

    assert (options.tool_choice, options.response_format) == (word, "json")


def test_a_plain_request_is_short() -> None:
    """Section 1, Q3: what is unset has no place in the form."""
    assert encode(GenerateOptions("p", "m", [])) == b'{"provider":"p","model":"m","messages":[]}'


def test_a_signal_never_travels() -> None:
    """Section 1: a signal is left out, and a field of that name in foreign JSON is as good as unknown."""
    watched = msgspec.structs.replace(OPTIONS, signal=AbortController().signal)

    assert encode(watched).decode() == OPTIONS_TEXT
    assert decode_options(OPTIONS_TEXT[:-1] + ',"signal":{"aborted":true}}').signal is None


def test_unknown_fields_are_ignored_and_unknown_tags_refused() -> None:
    """Section 1, C15: forms may grow; what has an unknown tag is none of ours."""
    assert decode_chunk('{"type":"text-delta","index":0,"text":"a","colour":"red"}') == TextDelta(0, "a")
    with pytest.raises(LlmError, match="this is not the JSON of a chunk") as caught:
        decode_chunk('{"type":"audio-delta","index":0}')
    assert caught.value.code == codes.MALFORMED_RESPONSE


@pytest.mark.parametrize(
    "read", [decode_chunk, decode_message, decode_options, decode_response, lambda data: decode(TokenUsage, data)]
)
@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b'"x"', b"\xff", b"[" * 200, b"{" * 200, '{"type":"\\ud8"}', b"NaN", b'{"a":"\\ud800"']
)
def test_what_is_not_of_the_form(read: Callable[[bytes | str], object], data: bytes | str) -> None:
    """Section 1: anything else is `MALFORMED_RESPONSE`, with where and why."""
    with pytest.raises(LlmError, match="this is not the JSON of") as caught:
        read(data)

    assert caught.value.code == codes.MALFORMED_RESPONSE


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"temperature": math.nan}, "temperature is nan"),
        ({"top_p": math.inf}, "top_p is inf"),
        ({"extra": {"w": {"a": [1, -math.inf]}}}, "extra.w.a[1] is -inf"),
        ({"extra": {"w": {"a": {1, 2}}}}, "extra.w.a is a set, which is not JSON"),
        ({"tools": [ToolSpec("f", parameters={"a": math.nan})]}, "tools[0].parameters.a is nan"),
        ({"response_format": JsonSchema("n", {"a": math.nan})}, "response_format.schema.a is nan"),
        ({"messages": [Message("assistant", (), replay_state={"a": math.inf})]}, "messages[0].replay_state.a is inf"),
    ],
)
def test_numbers_that_are_not_json(change: dict[str, Any], where: str) -> None:
    """Q8: a request with a number that JSON has no word for is `INVALID_OPTIONS`, and says where."""
    with pytest.raises(LlmError) as caught:
        encode(msgspec.structs.replace(OPTIONS, **change))

    assert caught.value.code == codes.INVALID_OPTIONS
    assert caught.value.failure.message.startswith(where)


@pytest.mark.parametrize(
    "value",
    [
        Message("assistant", (), replay_state={"a": math.inf}),
        Finish(STOP, {"a": math.inf}),
        Response(None, STOP, replay_state={"a": math.inf}),
    ],
)
def test_state_that_is_not_json(value: object) -> None:
    """R5, Q8: state that JSON would change is refused, not changed."""
    with pytest.raises(
        LlmError, match=r"^INVALID_OPTIONS: replay_state\.a is inf, which JSON has no word for$"
    ) as caught:
        encode(value)

    assert caught.value.code == codes.INVALID_OPTIONS


def test_a_union_may_be_read_too() -> None:
    """`decode` takes the closed unions as it takes a class; what does not fit is refused in the same way."""
    union: Any = StreamChunk
    assert decode(union, encode(BlockStart(0, "text"))) == BlockStart(0, "text")
    with pytest.raises(LlmError) as caught:
        decode(union, "{}")
    assert caught.value.code == codes.MALFORMED_RESPONSE


def test_what_is_no_value() -> None:
    """Section 1: an object that has no JSON form is refused with its type."""
    with pytest.raises(LlmError, match="object is not a value of limen") as caught:
        encode(object())

    assert caught.value.code == codes.INVALID_OPTIONS
    with pytest.raises(NotImplementedError):
        decode(type(AbortController()), b"{}")


@pytest.mark.parametrize("text", ["\ud83d", "a\udc00b", "😀", "\ude00\ud83d", "\u2028", "\x00"])
def test_lone_surrogates_survive(text: str) -> None:
    """S5: text that is no UTF-8 goes through JSON as its escape, without loss."""
    for value in (TextDelta(0, text), BlockEnd(0, TextBlock(text))):
        assert decode_chunk(encode(value)) == value
    assert decode_message(encode(user(text))) == user(text)


JSON: st.SearchStrategy[object] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**53), 2**53),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_replay_state_is_unchanged_by_a_round_trip(state: dict[str, object]) -> None:
    """R5: whatever JSON a wire keeps, it gets back as it was."""
    message = Message("assistant", (), replay_state=state)

    assert decode_message(encode(message)) == message


# Lone surrogates, too; a pair of them is the character that it encodes, as in any JSON.
TEXT = st.text(st.characters(exclude_categories=()), max_size=5).map(
    lambda text: text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
)
CHUNK: st.SearchStrategy[StreamChunk] = st.one_of(
    st.builds(TextDelta, st.integers(0, 9), TEXT),
    st.builds(ReasoningDelta, st.integers(0, 9), TEXT),
    st.builds(ToolCallDelta, st.integers(0, 9), TEXT, st.one_of(st.none(), TEXT), TEXT),
    st.builds(BlockEnd, st.integers(0, 9), st.builds(ToolCallBlock, TEXT, TEXT, TEXT)),
    st.builds(UsageChunk, st.builds(TokenUsage, st.one_of(st.none(), st.integers(0)))),
)


@given(CHUNK)
def test_every_chunk_round_trips(chunk: StreamChunk) -> None:
    """Section 1: no text, id or count is lost on the way through JSON."""
    assert decode_chunk(encode(chunk)) == chunk


def test_limits_of_a_call_stay_in_its_process() -> None:
    """`timeouts` are outside the JSON form and outside equality, like the signal, and inside a pickle (section 1)."""
    plain = GenerateOptions("a", "m", [user("hi")])
    limited = GenerateOptions("a", "m", [user("hi")], timeouts=Timeouts(total=3))
    sent = encode(plain)[:-1] + b',"timeouts":{"total":3}}'

    assert (limited, hash(limited), encode(limited)) == (plain, hash(plain), encode(plain))
    assert decode_options(sent).timeouts is None
    assert pickle.loads(pickle.dumps(limited)).timeouts == Timeouts(total=3)
