"""Answers of Ollama's chat to chunks, by the contract's rules."""

import json

import pytest

from adapters.ollama._ollama_wire import COUNTS, call, last, line, read, read_all_ways
from limen.contract import (
    MAX_TOKENS,
    STOP,
    TOOL_CALLS,
    BlockEnd,
    BlockStart,
    Finish,
    Limits,
    ReasoningBlock,
    ReasoningDelta,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    UsageChunk,
    codes,
)

USAGE = UsageChunk(TokenUsage(input_tokens=5, output_tokens=7))
JSON = "application/json; charset=utf-8"


def test_text() -> None:
    """Text is one block, usage and finish come from the last line (C1, C5, C6)."""
    found = read_all_ways(line("Hé") + line("") + line("llo") + last())

    assert found.chunks == [
        BlockStart(0, "text"),
        TextDelta(0, "Hé"),
        TextDelta(0, "llo"),
        BlockEnd(0, TextBlock("Héllo")),
        USAGE,
        Finish(STOP),
    ]
    assert (found.facts.response_model, found.facts.provider_reason, found.facts.notes) == ("qwen3", "stop", [])


def test_thinking_and_text() -> None:
    """Thinking is a block of its own, before the text of the same line; all blocks end at the end in order (C18)."""
    found = read_all_ways(line("", thinking="Le") + line("Hi", thinking="t") + line("!", thinking="s") + last())

    assert found.chunks == [
        BlockStart(0, "reasoning"),
        ReasoningDelta(0, "Le"),
        ReasoningDelta(0, "t"),
        BlockStart(1, "text"),
        TextDelta(1, "Hi"),
        ReasoningDelta(0, "s"),
        TextDelta(1, "!"),
        BlockEnd(0, ReasoningBlock("Lets")),
        BlockEnd(1, TextBlock("Hi!")),
        USAGE,
        Finish(STOP),
    ]


def test_tool_calls() -> None:
    """Calls come whole; their bytes are kept, white space outside strings removed, digits and escapes as sent (C8)."""
    odd = '{ "b": 1.50, "a" :[1e2, "\\u00e9 \\"}{"], "n":12345678901234567890}'
    found = read_all_ways(line("On it.") + call("add", odd, id="call_1") + call("now", "{}", id="call_2") + last())
    kept = '{"b":1.50,"a":[1e2,"\\u00e9 \\"}{"],"n":12345678901234567890}'

    assert found.chunks[2:] == [
        BlockStart(1, "tool-call"),
        ToolCallDelta(1, "call_1", "add", kept),
        BlockStart(2, "tool-call"),
        ToolCallDelta(2, "call_2", "now", "{}"),
        BlockEnd(0, TextBlock("On it.")),
        BlockEnd(1, ToolCallBlock("call_1", "add", kept)),
        BlockEnd(2, ToolCallBlock("call_2", "now", "{}")),
        USAGE,
        Finish(TOOL_CALLS),
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("null", "{}"),
        ("[]", "{}"),
        ('""', "{}"),
        ('"  "', "{}"),
        ('"{\\"a\\": 1}"', '{"a": 1}'),
        ('"\\ud83d"', "\ufffd"),
        ('{"a":"\\ud83d"}', '{"a":"\\ufffd"}'),
        ('{"a":"\xe9"}', '{"a":"\xe9"}'),
    ],
)
def test_arguments_in_other_forms(arguments: str, expected: str) -> None:
    """Absent and empty arguments are `{}`; a string that a gateway sends stands as it came (C8, W2)."""
    found = read_all_ways(call("f", arguments, id="c") + last())

    assert [found.arguments for found in found.response.tool_calls] == [expected]


def test_arguments_that_are_no_utf8() -> None:
    """A byte that is no UTF-8 in arguments is U+FFFD, and costs nothing else (S5)."""
    body = call("f", '{"a":"X"}', id="c").replace(b"X", b"\xff") + last()

    assert [found.arguments for found in read_all_ways(body).response.tool_calls] == ['{"a":"\ufffd"}']


@pytest.mark.parametrize("arguments", ["7", "[1]", "true"])
def test_arguments_that_are_no_object(arguments: str) -> None:
    """Arguments of a type that nobody documented are malformed (C15)."""
    found = read_all_ways(line("a") + call("f", arguments) + last())

    assert found.code == codes.MALFORMED_RESPONSE
    assert found.chunks == [BlockStart(0, "text"), TextDelta(0, "a")]


@pytest.mark.parametrize(
    "body",
    [
        call(""),
        call(None),
        line("", tool_calls=[{"id": "a"}]),
        line("", tool_calls=7),
        line("", tool_calls=["f"]),
        line("", tool_calls=[{"function": {"name": 7}}]),
        line("\\ud83d", tool_calls=[{"function": "f"}]).replace(b"\\\\", b"\\"),
    ],
)
def test_calls_without_a_name_or_shape(body: bytes) -> None:
    """A call that never gets a name, or is none, is malformed, as the first line and later (C10, W4)."""
    assert read_all_ways(body + last()).code == codes.MALFORMED_RESPONSE
    assert read_all_ways(line("a") + body + last()).code == codes.MALFORMED_RESPONSE


@pytest.mark.parametrize("before", [b"", line("a"), line("a") + line("b")])
def test_text_beside_a_broken_call(before: bytes) -> None:
    """The text of a line whose call cannot be read is delivered once (S4)."""
    found = read_all_ways(before + line("x", tool_calls=[{"function": {"name": 7}}]) + last())
    texts = [chunk.text for chunk in found.chunks if isinstance(chunk, TextDelta)]

    assert (found.code, "".join(texts).count("x")) == (codes.MALFORMED_RESPONSE, 1)


def test_made_ids() -> None:
    """A call without an id gets one from the seed and its ordinal, a repeated one keeps its place (C9, C10)."""
    body = call("f") + call("f", id="x") + call("g", id="x") + line("", tool_calls=[None]) + last()
    found = [read(body, id_seed=seed).response.tool_calls for seed in (b"a", b"a", b"b")]

    assert found[0] == found[1]
    assert [block.name for block in found[0]] == ["f", "f", "g"]
    assert found[0][1].id == "x"
    assert all(len(block.id) == 22 and block.id.startswith("limen_") for block in (found[0][0], found[0][2]))
    assert len({found[0][0].id, found[0][2].id, found[2][0].id, found[2][2].id}) == 4


def test_an_id_that_is_a_number() -> None:
    """A numeric id becomes its decimal string (W4)."""
    assert [block.id for block in read(call("f", id=12) + last()).response.tool_calls] == ["12"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (line("a") + last("length"), MAX_TOKENS),
        (last("length"), MAX_TOKENS),
        (call("f") + last("length"), MAX_TOKENS),
        (line("a") + last("STOP"), STOP),
        (line("", thinking="hm") + last(), STOP),
    ],
)
def test_finish_words(body: bytes, reason: object) -> None:
    """`length` is a token limit whatever came, `stop` a stop; words are compared without case (E3, C17)."""
    assert read_all_ways(body).finish == Finish(reason)  # type: ignore[arg-type]


@pytest.mark.parametrize("reason", [None, ""])
def test_a_last_line_without_a_word(reason: object) -> None:
    """`done` without a word is a stop with a note: old servers, and one whose client went away (W6)."""
    found = read_all_ways(line("a") + last(reason))

    assert found.finish == Finish(STOP)
    assert found.facts.notes == ["the answer ended without a done_reason, and counts as a stop"]
    assert found.facts.provider_reason is None


@pytest.mark.parametrize(
    ("body", "code", "word"),
    [
        (last(), codes.EMPTY_RESPONSE, "stop"),
        (line(" ") + line("\n") + last(), codes.EMPTY_RESPONSE, "stop"),
        (last("load"), codes.EMPTY_RESPONSE, "load"),
        (last("unload"), codes.EMPTY_RESPONSE, "unload"),
        (line("a") + last("solar_flare"), codes.UNKNOWN_FINISH, "solar_flare"),
        (line("a") + last("error"), codes.SERVER, "error"),
    ],
)
def test_failures_by_the_finish_word(body: bytes, code: str, word: str) -> None:
    """No answer, an unknown word and a word of failure are in-band, after the usage (C5, C12, E3)."""
    found = read_all_ways(body)
    failure = found.finish.reason.failure

    assert failure is not None
    assert (failure.code, failure.provider_code) == (code, word)
    assert found.chunks[-2] == USAGE


def test_a_filtered_answer() -> None:
    """What stands beside a filter's word is the failure's message and no block; text before it stays (C12)."""
    refused = {"role": "assistant", "content": "I cannot help."}
    found = read_all_ways(line("So") + last("content_filter", message=refused))
    plain = read_all_ways(line("So") + last("content_filter"))

    failures = [one.finish.reason.failure for one in (found, plain)]
    assert [failure and failure.code for failure in failures] == [codes.CONTENT_FILTER] * 2
    assert failures[0] is not None
    assert failures[0].message == "I cannot help."
    assert [len(one.chunks) for one in (found, plain)] == [4, 4]


@pytest.mark.parametrize(
    ("fields", "usage", "notes"),
    [
        ({}, TokenUsage(input_tokens=5, output_tokens=7), 0),
        ({"prompt_eval_count": None}, TokenUsage(output_tokens=7), 0),
        ({"prompt_eval_count": 0, "eval_count": 3.0}, TokenUsage(input_tokens=0, output_tokens=3), 0),
        ({"prompt_eval_count": "5"}, TokenUsage(output_tokens=7), 1),
        ({"prompt_eval_count": True}, TokenUsage(output_tokens=7), 1),
        ({"eval_count": 1.5}, TokenUsage(input_tokens=5), 1),
        ({"eval_count": -1, "prompt_eval_count": {}}, None, 1),
        (dict.fromkeys(COUNTS), None, 0),
    ],
)
def test_usage(fields: dict[str, object], usage: TokenUsage | None, notes: int) -> None:
    """Counts of the last line; one that cannot be read is unknown, costs nothing else and leaves a note (C15, W7)."""
    found = read_all_ways(line("a") + last(**fields))

    assert [chunk.usage for chunk in found.chunks if isinstance(chunk, UsageChunk)] == ([usage] if usage else [])
    assert (found.finish, len(found.facts.notes)) == (Finish(STOP), notes)


def test_fields_beside_the_answer() -> None:
    """Fields that are null, unknown, or of any type beside the answer cost nothing (C15, W2)."""
    odd = json.dumps({"model": 7, "created_at": [], "message": {"content": None, "images": None}, "done": None})
    body = (
        odd.encode() + b"\n" + b'{"forecast":1}\n' + line("a", tool_calls=None, thinking=None, logprobs=[{}]) + last()
    )
    found = read_all_ways(body)

    assert (found.response.text, found.finish, found.facts.response_model) == ("a", Finish(STOP), "qwen3")


@pytest.mark.parametrize("content", [7, ["a"], {"text": "a"}, True])
def test_content_of_another_type(content: object) -> None:
    """Text of a type that nobody documented is malformed, after what came before it (C15)."""
    found = read_all_ways(line("a") + line(content) + last())

    assert (found.code, found.chunks) == (codes.MALFORMED_RESPONSE, [BlockStart(0, "text"), TextDelta(0, "a")])


# -- errors inside the stream


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("an error was encountered while running the model: unexpected EOF", codes.SERVER),
        ("server busy, please try again.  maximum pending requests exceeded", codes.OVERLOADED),
        ("prompt too long; exceeded max context length by 12 tokens", codes.CONTEXT_WINDOW_EXCEEDED),
        ("model 'x' not found", codes.MODEL_NOT_FOUND),
        ({"message": "Overloaded"}, codes.OVERLOADED),
    ],
)
def test_an_error_in_a_line(error: object, code: str) -> None:
    """An error ends the stream in-band with its own words, as the first line too; open blocks stay open (W1, C7)."""
    told = json.dumps({"error": error}).encode() + b"\n"
    found, first = read_all_ways(line("a") + told + last()), read_all_ways(told)
    words = error if isinstance(error, str) else "Overloaded"

    assert found.chunks[:-1] == [BlockStart(0, "text"), TextDelta(0, "a")]
    for outcome, phase in ((found, "mid-stream"), (first, "first-event")):
        failure = outcome.finish.reason.failure
        assert failure is not None
        assert (failure.code, failure.phase) == (code, phase)
        assert failure.message.split() == words.split()


@pytest.mark.parametrize("error", [None, "", {}, False])
def test_an_error_that_is_absent(error: object) -> None:
    """A null or empty error is none (W1, W2)."""
    body = line("a").replace(b'"done"', b'"error": ' + json.dumps(error).encode() + b', "done"')

    assert read_all_ways(body + last()).finish == Finish(STOP)


def test_an_error_of_no_known_type() -> None:
    """An error that is neither text nor object is malformed: nobody knows what it says."""
    assert read_all_ways(line("a") + b'{"error":7}\n').code == codes.MALFORMED_RESPONSE


def test_an_error_in_place_of_an_answer() -> None:
    """An error that is the whole body is raised: no stream has begun (E1)."""
    found = read_all_ways(b'{"error":"model runner has unexpectedly stopped"}', content_type=JSON)

    assert found.failure is not None
    assert (found.code, found.failure.failure.phase, found.chunks) == (codes.SERVER, "first-event", [])


def test_an_error_in_a_stream_with_another_label() -> None:
    """After a line of an answer an error is in-band, whatever the content type says."""
    found = read_all_ways(line("a") + b'{"error":"x"}\n', content_type=JSON)

    assert (found.failure, found.code) == (None, codes.SERVER)


# -- bodies that are whole, cut or foreign (S3)

WHOLE = {
    "model": "qwen3",
    "message": {
        "role": "assistant",
        "content": "Hi",
        "thinking": "Hm",
        "tool_calls": [{"function": {"name": "f", "arguments": {"a": [1, 2]}}}],
    },
    "done_reason": "stop",
    "done": True,
    **COUNTS,
}


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("content_type", [None, JSON])
def test_a_whole_answer(indent: int | None, content_type: str | None) -> None:
    """One object, on one line or on several, is read as if it had been streamed (S3)."""
    body = json.dumps(WHOLE, indent=indent).encode()
    found = read_all_ways(body, content_type=content_type)

    assert (found.response.text, found.response.reasoning, found.finish) == ("Hi", "Hm", Finish(TOOL_CALLS))
    assert [block.arguments for block in found.response.tool_calls] == ['{"a":[1,2]}']
    assert read_all_ways(body + b"\r\n\n", content_type=content_type).chunks == found.chunks


def test_a_whole_answer_with_objects_on_lines_of_their_own() -> None:
    """An object inside a whole answer, alone on its line, is no line of a stream."""
    body = b'{"message":{"content":"","tool_calls":[\n{"function":{"name":"f"}}\n,\n{}\n]},\n"done":true}'
    named = body.replace(b",\n{}", b"")

    assert read_all_ways(body).code == codes.MALFORMED_RESPONSE
    assert [block.name for block in read_all_ways(named).response.tool_calls] == ["f"]


@pytest.mark.parametrize("fields", [{}, {"message": None}, {"message": {}}])
def test_a_last_line_without_a_message(fields: dict[str, object]) -> None:
    """The last line needs no message."""
    end = json.dumps({"done": True, "done_reason": "stop", **COUNTS, **fields}).encode()
    found = read_all_ways(line("a") + b'{"message":null,"done":false}\n' + end)

    assert found.chunks[-2:] == [USAGE, Finish(STOP)]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_whole_answer_cut_off(indent: int | None) -> None:
    """A whole answer that ends in the middle is STREAM_CLOSED, wherever it ends (S3, E6)."""
    body = json.dumps(WHOLE, indent=indent).encode()
    for cut in range(1, len(body)):
        assert read(body[:cut]).code == codes.STREAM_CLOSED, body[:cut]


def test_a_stream_cut_off() -> None:
    """Without `done` an answer is truncated, wherever it ends; what had arrived is delivered (E6, S4)."""
    body = line("a") + line("b", thinking="c") + call("f")
    end = last()
    for cut in range(len(body) + len(end) - 1):
        found = read((body + end)[:cut])
        assert found.code == codes.STREAM_CLOSED
    assert read(body).chunks[:2] == [BlockStart(0, "text"), TextDelta(0, "a")]
    # The object is whole without its line end.
    assert read(body + end[:-1]).finish == Finish(TOOL_CALLS)


@pytest.mark.parametrize(
    "body",
    [
        b"<!DOCTYPE html><html><body>Please sign in.</body></html>",
        b"upstream connect error",
        b'{"status":"queued","position":3}',
        b'{\n  "status": "queued"\n}',
        b'{\n  "status": "queued"\n} {}',
        b'{\n  "message": 7\n}',
        b"[1,2]",
        b'"text"\n',
        b'{"message":"text"}\n',
        b"{'a':1}\n",
        b'{\n"a": x\n',
        b'{"mess\n' + line("a") + last(),
    ],
)
def test_a_body_of_something_else(body: bytes) -> None:
    """A page, a text, other JSON and what only begins like JSON are malformed, with their first words (S3)."""
    found = read_all_ways(body, content_type="text/html")

    assert (found.code, found.chunks) == (codes.MALFORMED_RESPONSE, [])
    assert "content type: text/html" in str(found.failure)


@pytest.mark.parametrize("body", [b"", b"\n", b" ", b"\r\n \n\n", b"\xef\xbb\xbf"])
def test_a_body_of_nothing(body: bytes) -> None:
    """No line at all, or blank ones alone, is STREAM_CLOSED in phase first-event (E6)."""
    found = read_all_ways(body)

    assert found.failure is not None
    assert (found.code, found.failure.failure.phase) == (codes.STREAM_CLOSED, "first-event")


@pytest.mark.parametrize("broken", [b'{"model":"qwen3","mess\n', b"<html>\n", b"[]\n", b"x\n"])
def test_a_broken_line_inside(broken: bytes) -> None:
    """A line that is no JSON object is malformed, after what came before it (S4)."""
    found = read_all_ways(line("a") + broken + line("b") + last())

    assert (found.code, found.chunks) == (codes.MALFORMED_RESPONSE, [BlockStart(0, "text"), TextDelta(0, "a")])


def test_line_ends_and_blanks() -> None:
    """CRLF, blank lines, spaces between lines and a byte order mark change nothing."""
    plain = line("a") + line("b") + last()
    odd = b"\xef\xbb\xbf\r\n" + plain.replace(b"\n", b"\r\n\r\n \n ") + b" "

    assert read_all_ways(odd).chunks == read(plain).chunks


def test_what_follows_the_end() -> None:
    """After `done` nothing counts, not even an error (W6)."""
    assert read(line("a") + last() + line("b") + b'{"error":"x"}\n').response.text == "a"


# -- bytes that are almost right, and limits


def test_halves_of_characters() -> None:
    """Half a surrogate pair joins with the next delta of its block, else it is U+FFFD (S5)."""
    one, other = line("a\\ud83d"), line("\\ude00b")
    body = (one + other).replace(b"\\\\u", b"\\u")
    lone = one.replace(b"\\\\u", b"\\u")

    assert read_all_ways(body + last()).response.text == "a\U0001f600b"
    assert read_all_ways(lone + line("b") + last()).response.text == "a\ufffdb"
    assert read_all_ways(lone + last()).response.text == "a\ufffd"
    # A failure gives up waiting for the other half too.
    assert [read_all_ways(lone + end).chunks[2] for end in (b"", b'{"error":"x"}\n')] == [TextDelta(0, "\ufffd")] * 2


def test_bytes_that_are_no_json() -> None:
    """Raw control characters stand for themselves, bytes that are no UTF-8 are U+FFFD, `NaN` elsewhere is nothing."""
    body = line("aTb").replace(b"T", b"\t") + line("Xc").replace(b"X", b"\xff")
    odd = last().replace(b'"total_duration": 1', b'"total_duration": NaN')

    assert read_all_ways(body + odd).response.text == "a\tb\ufffdc"


def test_depth() -> None:
    """A line nested past the limit is malformed; many brackets that nest no deeper are not (S2)."""
    limits = Limits(depth=16)
    deep = line("a", x=json.loads("[" * 20 + "]" * 20))
    wide = line("a", x=[[] for _ in range(40)])

    assert read_all_ways(line("b") + deep + last(), limits=limits).code == codes.MALFORMED_RESPONSE
    assert read_all_ways(wide + last(), limits=limits).response.text == "a"
    assert read(line("b") + line("a", x=1).replace(b'"x": 1', b'"x": ' + b"[" * 200_000) + last()).code == (
        codes.MALFORMED_RESPONSE
    )


def test_size() -> None:
    """A line over the limit is malformed, after what came before it; so is an object on several lines (S2)."""
    limits = Limits(event_bytes=300)
    pretty = json.dumps({"x": ["y" * 40] * 10}, indent=1).encode()

    assert read_all_ways(line("a") + line("b" * 300) + last(), limits=limits).code == codes.MALFORMED_RESPONSE
    found = read(pretty, limits=limits)
    assert (found.code, "300 bytes" in str(found.failure)) == (codes.MALFORMED_RESPONSE, True)


def test_quirk_q120_calls_on_the_last_line() -> None:
    """Q120: a call may ride on the `done` line, with empty arguments and the word `stop`."""
    body = (
        b'{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_s8","function":{"index":0,'
        b'"name":"f","arguments":{}}}]},"done":true,"done_reason":"stop","prompt_eval_count":5,"eval_count":7}\n'
    )
    found = read_all_ways(body)

    assert found.response.tool_calls == (ToolCallBlock("call_s8", "f", "{}"),)
    assert found.chunks[-2:] == [USAGE, Finish(TOOL_CALLS)]


def test_quirk_q122_a_call_inside_the_text() -> None:
    """Q122: JSON of a call in `content`, as servers before 0.4.6 sent it, is text; nothing is guessed."""
    text = '{"name": "get", "parameters": {}}'
    found = read_all_ways(
        json.dumps({"message": {"role": "assistant", "content": text}, "done": True}).encode() + b"\n"
    )

    assert (found.response.text, found.response.tool_calls, found.finish) == (text, (), Finish(STOP))


def test_quirk_q001_every_call_with_index_zero() -> None:
    """Q001: parallel calls that all have the index 0 stay calls of their own, within one line and across lines."""
    both = [
        {"id": name, "function": {"index": 0, "name": "read", "arguments": {"path": f"{name}.rs"}}} for name in "ab"
    ]
    expected = (ToolCallBlock("a", "read", '{"path":"a.rs"}'), ToolCallBlock("b", "read", '{"path":"b.rs"}'))

    assert read_all_ways(line("", tool_calls=both) + last()).response.tool_calls == expected
    apart = line("", tool_calls=both[:1]) + line("", tool_calls=both[1:])
    assert read_all_ways(apart + last()).response.tool_calls == expected
