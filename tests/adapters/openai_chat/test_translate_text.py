"""Text and reasoning to blocks (C13, C18, W8, W9, W10, S5); each body whole, byte by byte and at every cut."""

import json

import pytest

from adapters.openai_chat._chat_wire import DONE, ended, event, part, read, read_all_ways, said, stream
from limen.adapters.openai_chat._dialects import ReadingRules
from limen.contract import (
    MAX_TOKENS,
    STOP,
    BlockEnd,
    BlockStart,
    Finish,
    ImageBlock,
    ReasoningBlock,
    ReasoningDelta,
    TextBlock,
    TextDelta,
)


def test_text_is_one_block_that_opens_at_its_first_text() -> None:
    """An empty first delta opens nothing (C13); the block ends when the wire is complete (C18)."""
    body = stream(part(role="assistant", content="", refusal=None), said("Hel"), said(""), said("lo"), ended())

    assert read_all_ways(body).chunks == [
        BlockStart(0, "text"),
        TextDelta(0, "Hel"),
        TextDelta(0, "lo"),
        BlockEnd(0, TextBlock("Hello")),
        Finish(STOP),
    ]


def test_reasoning_and_text_are_two_blocks_that_end_in_index_order() -> None:
    """Reasoning is never mixed with text, and comes first where one delta has both (C18)."""
    body = stream(part(reasoning_content="hm", content="a"), part(content="b", reasoning_content="m"), ended())

    assert read_all_ways(body).chunks == [
        BlockStart(0, "reasoning"),
        ReasoningDelta(0, "hm"),
        BlockStart(1, "text"),
        TextDelta(1, "a"),
        ReasoningDelta(0, "m"),
        TextDelta(1, "b"),
        BlockEnd(0, ReasoningBlock("hmm")),
        BlockEnd(1, TextBlock("ab")),
        Finish(STOP, {"v": 1, "wire": "openai-chat", "blocks": [{"field": "reasoning_content"}, None]}),
    ]


def test_blocks_are_numbered_as_they_open() -> None:
    """Text that comes before any reasoning has index 0 (C2)."""
    body = stream(said("a"), part(reasoning="late"), ended())

    assert read(body).blocks == [TextBlock("a"), ReasoningBlock("late")]


def test_each_delta_has_its_reasoning_from_one_source() -> None:
    """A gateway that sends the same reasoning under two names says it once (W9)."""
    body = stream(part(reasoning="a", reasoning_content="a"), part(reasoning="b", reasoning_content=""), ended())

    outcome = read(body)

    assert outcome.blocks == [ReasoningBlock("ab")]
    assert outcome.finish.replay_state == {
        "v": 1,
        "wire": "openai-chat",
        "blocks": ({"field": "reasoning_content"},),
    }


def test_a_name_that_the_row_does_not_list_is_not_read() -> None:
    """Reasoning arrives under the row's names (W9); what is not read may be of any type (C15)."""
    rules = ReadingRules(reasoning_fields=("reasoning",))
    body = stream(part(reasoning_content={"odd": 1}, reasoning="hm", content="a"), ended())

    assert read(body, rules).blocks == [ReasoningBlock("hm"), TextBlock("a")]


@pytest.mark.parametrize("value", [1, ["hm"], {"text": "hm"}, True])
def test_reasoning_of_an_unknown_type_is_malformed(value: object) -> None:
    """A field that is read, with a type that nobody documented, is no silent nothing (C15)."""
    outcome = read(stream(said("a"), part(reasoning_content=value), ended()))

    assert outcome.kind == "raised MALFORMED_RESPONSE"
    assert outcome.raised is not None
    assert outcome.raised.message == (
        "an event of the stream is not what chat completions allow: reasoning_content is neither text nor null"
    )
    assert outcome.raised.phase == "mid-stream"


def test_only_choice_0_becomes_the_response() -> None:
    """Other choices are read over, by their index and not by their place (W8)."""
    choices = [
        {"index": 1, "delta": {"content": "no"}, "finish_reason": "length"},
        {"index": 0, "delta": {"content": "yes"}},
    ]
    body = stream(event(choices=choices), event(choices=[None, {"delta": {}, "finish_reason": "stop"}]))

    outcome = read(body)

    assert outcome.blocks == [TextBlock("yes")]
    assert outcome.kind == "stop"


def test_a_message_counts_where_no_delta_ever_came() -> None:
    """Some servers stream the whole message in one event (W8)."""
    message = {"role": "assistant", "content": "whole", "reasoning": "hm"}
    body = stream(event(choices=[{"index": 0, "message": message, "finish_reason": "stop"}]))

    assert read_all_ways(body).blocks == [ReasoningBlock("hm"), TextBlock("whole")]


@pytest.mark.parametrize("delta", [{}, {"role": "assistant", "content": ""}, {"content": None, "tool_calls": []}])
def test_a_message_beside_an_empty_delta_counts(delta: dict[str, object]) -> None:
    """An empty delta is an absent one (W2), so the message that stands beside it is not lost (W8)."""
    choice = {"index": 0, "delta": delta, "message": {"content": "whole"}, "finish_reason": "stop"}

    assert read_all_ways(stream(event(choices=[choice]))).blocks == [TextBlock("whole")]


def test_a_message_beside_a_delta_that_says_something_is_not_read() -> None:
    """It repeats the text so far (W8, Q166)."""
    first = {"index": 0, "delta": {"content": "Hi"}, "message": {"content": "Hi"}}
    last = {"index": 0, "delta": {}, "message": {"content": "Hi"}, "finish_reason": "stop"}

    assert read_all_ways(stream(event(choices=[first]), event(choices=[last]))).blocks == [TextBlock("Hi")]


def test_content_as_parts_is_text_thinking_and_refusal() -> None:
    """Mistral's arrays: thinking is reasoning, text is text, a citation makes no block (C14, Q115)."""
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "h"}, {"type": "text", "text": "m"}, {}]}
    parts = [thinking, {"type": "text", "text": "Hi"}, {"type": "reference", "reference_ids": [1]}]
    body = stream(part(content=parts), part(content=[{"type": "thinking", "thinking": "!"}]), said("."), ended())

    outcome = read_all_ways(body)

    assert outcome.blocks == [ReasoningBlock("hm!"), TextBlock("Hi.")]
    assert outcome.finish.replay_state == {"v": 1, "wire": "openai-chat", "blocks": ({"field": "content"}, None)}


def test_a_refusal_in_a_part_is_a_refusal() -> None:
    """A refusal's text is the failure's message, wherever it stands."""
    outcome = read(stream(part(content=[{"type": "refusal", "refusal": "No."}]), ended()))

    assert (outcome.kind, outcome.failure.message) == ("CONTENT_FILTER", "No.")


def test_content_that_is_an_object_is_its_bytes() -> None:
    """Cloudflare's JSON mode hands over an object: white space outside strings goes, digits stay (C8)."""
    body = (
        b'data: {"choices":[{"index":0,"delta":{"content":{"a b" : 1.50, "c":[ 1e3 ]}},"finish_reason":"stop"}]}\n\n'
        + DONE
    )

    assert read_all_ways(body).blocks == [TextBlock('{"a b":1.50,"c":[1e3]}')]


THINK = ReadingRules(think_tags=True)


@pytest.mark.parametrize(
    ("pieces", "reasoning", "text"),
    [
        (["<think>hm</think>\n\nHi"], "hm", "\n\nHi"),
        (["\n<th", "ink>", "h", "m</", "think", ">", "Hi"], "hm", "Hi"),
        (["<think>a < b</th</think>", "<think>x</think>"], "a < b</th", "<think>x</think>"),
        (["<think>", "cut"], "cut", None),
        (["<think>cut</thi"], "cut</thi", None),
        (["<thin"], None, "<thin"),
        (["<thin", " ice"], None, "<thin ice"),
        (["Hi <think>no</think>"], None, "Hi <think>no</think>"),
        ([" ", "Hi"], None, " Hi"),
    ],
)
def test_think_tags_are_reasoning_where_the_row_says_so(
    pieces: list[str], reasoning: str | None, text: str | None
) -> None:
    """`<think>` at the beginning, in whatever pieces, is reasoning; what only looks like it is text (W9)."""
    outcome = read(stream(*(said(piece) for piece in pieces), ended()), THINK)

    found = [(type(block), getattr(block, "text", None)) for block in outcome.blocks]
    expected: list[tuple[type, str | None]] = [] if reasoning is None else [(ReasoningBlock, reasoning)]
    assert found == expected + ([] if text is None else [(TextBlock, text)])
    assert (outcome.finish.replay_state is None) is (reasoning is None)


def test_a_tag_that_has_only_begun_is_text_when_the_stream_fails() -> None:
    """What had arrived stays (S4)."""
    body = said("<thi") + event(error={"message": "x"})

    assert read(body, THINK).chunks[:-1] == [BlockStart(0, "text"), TextDelta(0, "<thi")]


def test_think_tags_are_text_where_the_row_does_not_say_so() -> None:
    """Nothing is guessed (W9)."""
    assert read(stream(said("<think>hm</think>Hi"), ended())).blocks == [TextBlock("<think>hm</think>Hi")]


CUMULATIVE = ReadingRules(cumulative_text=True)


def test_cumulative_text_is_only_so_where_the_row_says_so() -> None:
    """Each delta repeats all text before it, so only what is new counts (W10, Q165)."""
    body = stream(
        said("He"), said("Hello"), said("Hello"), said("He"), part(reasoning="a"), part(reasoning="ab"), ended()
    )

    assert read_all_ways(body, CUMULATIVE).blocks == [TextBlock("Hello"), ReasoningBlock("ab")]
    assert read(body).blocks == [TextBlock("HeHelloHelloHe"), ReasoningBlock("aab")]


def test_cumulative_text_that_takes_back_what_it_said_is_malformed() -> None:
    """A text that does not go on from the one before cannot be a delta."""
    outcome = read(stream(said("Hello"), said("Goodbye"), ended()), CUMULATIVE)

    assert outcome.kind == "raised MALFORMED_RESPONSE"


def halves(*pieces: str) -> bytes:
    """Events whose texts are JSON as it stands, so that a surrogate pair may be cut in two."""
    events = (b'data: {"choices":[{"delta":{%s}}]}\n\n' % piece.encode() for piece in pieces)
    return b"".join((*events, ended(), DONE))


def test_halves_of_a_surrogate_pair_meet_in_the_next_delta_of_their_block() -> None:
    """An escaped half waits for the next delta of its own block (S5)."""
    body = halves(
        r'"content":"a\ud83d"',
        r'"reasoning":"x\ud83d"',
        r'"content":"\ude00b"',
        r'"reasoning":"\ude01"',
        '"content":"c"',
    )

    assert read_all_ways(body).chunks[:-3] == [
        BlockStart(0, "text"),
        TextDelta(0, "a"),
        BlockStart(1, "reasoning"),
        ReasoningDelta(1, "x"),
        TextDelta(0, "\U0001f600b"),
        ReasoningDelta(1, "\U0001f601"),
        TextDelta(0, "c"),
    ]


def test_halves_meet_in_an_ordinary_stream_too() -> None:
    """Where every event has id and model, and so is read the quick way until one holds half a pair (S5)."""
    pieces = (r'"a"', r'"b\ud83d"', r'"\ude00c"', r'"d"')
    events = (
        b'data: {"id":"x","model":"m","choices":[{"delta":{"content":%s}}]}\n\n' % piece.encode() for piece in pieces
    )

    assert read_all_ways(stream(*events, ended())).blocks == [TextBlock("ab\U0001f600cd")]


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        ((r'"content":"a\ud83d"', r'"content":"b"'), "a\ufffdb"),
        ((r'"content":"a\ud83d"',), "a\ufffd"),
        ((r'"content":"\ud83d"', r'"content":"\ud83d"'), "\ufffd\ufffd"),
        ((r'"content":"\ude00a"',), "\ufffda"),
        ((r'"content":"\ud83d\ude00"',), "\U0001f600"),
    ],
)
def test_a_half_that_meets_no_other_is_a_replacement_character(pieces: tuple[str, ...], text: str) -> None:
    """What cannot be joined is U+FFFD, so every text is valid (S5)."""
    assert read_all_ways(halves(*pieces)).blocks == [TextBlock(text)]


def test_a_half_is_flushed_before_a_failure() -> None:
    """What had arrived stays, whatever ends the stream (S4)."""
    body = b'data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\n'

    assert read_all_ways(body).chunks == [BlockStart(0, "text"), TextDelta(0, "a"), TextDelta(0, "\ufffd")]
    failed = read_all_ways(body + event(error={"message": "x"}))
    assert failed.chunks[:-1] == [BlockStart(0, "text"), TextDelta(0, "a"), TextDelta(0, "\ufffd")]


def test_a_half_inside_an_object_is_a_replacement_character() -> None:
    """An object is whole, so nothing will join its halves; escapes that are none stay (S5, C8)."""
    raw = r'{"a":"\ud83d", "b":"\\ud83d", "c":"\ud83d\ude00"}'
    body = b'data: {"choices":[{"delta":{"content":%s}}]}\n\n' % raw.encode()

    outcome = read(body + ended() + DONE)

    assert outcome.blocks == [TextBlock(r'{"a":"\ufffd","b":"\\ud83d","c":"\ud83d\ude00"}')]


def detail(**fields: object) -> bytes:
    """One event with one item of `reasoning_details`."""
    return part(reasoning_details=[fields])


def test_reasoning_details_are_text_and_are_kept_for_the_replay() -> None:
    """Fragments of one item are joined, a late signature joins its item, encrypted items stay whole (N4, Q061)."""
    body = stream(
        detail(type="reasoning.text", text="h", index=0, format="f", signature=None),
        detail(type="reasoning.text", text="m", index=0),
        detail(type="reasoning.text", signature="sig", index=0),
        detail(type="reasoning.summary", summary="short", index=1),
        detail(type="reasoning.encrypted", data="x", index=1, unknown=[1.5]),
        detail(type="reasoning.encrypted", data="y", index=1),
        part(reasoning_details=[], content="a"),
        ended(),
    )

    outcome = read_all_ways(body)

    assert outcome.blocks == [ReasoningBlock("hmshort"), TextBlock("a")]
    assert outcome.finish.replay_state == {
        "v": 1,
        "wire": "openai-chat",
        "blocks": ({"field": "reasoning_details"}, None),
        "reasoning_details": (
            {"type": "reasoning.text", "text": "hm", "index": 0, "format": "f", "signature": "sig"},
            {"type": "reasoning.summary", "summary": "short", "index": 1},
            {"type": "reasoning.encrypted", "data": "x", "index": 1, "unknown": (1.5,)},
            {"type": "reasoning.encrypted", "data": "y", "index": 1},
        ),
    }


def test_details_beside_a_reasoning_text_are_kept_and_not_said_twice() -> None:
    """The text comes from the first source, the items are kept all the same (W9)."""
    body = stream(part(reasoning="hm", reasoning_details=[{"text": "hm"}]), said("a"), ended())

    outcome = read(body)

    assert outcome.blocks == [ReasoningBlock("hm"), TextBlock("a")]
    assert outcome.finish.replay_state is not None
    assert outcome.finish.replay_state["reasoning_details"] == ({"text": "hm"},)


def test_details_of_a_whole_answer_are_kept_as_they_are() -> None:
    """Nothing is a fragment there, so nothing is joined."""
    items = [
        {"type": "reasoning.text", "text": "a", "index": 0, "id": None},
        {"type": "reasoning.text", "text": "b", "index": 0},
    ]
    choice = {"message": {"content": "x", "reasoning_details": items}, "finish_reason": "stop"}

    outcome = read(json.dumps({"choices": [choice]}).encode())

    assert outcome.blocks == [ReasoningBlock("ab"), TextBlock("x")]
    assert outcome.finish.replay_state is not None
    assert outcome.finish.replay_state["reasoning_details"] == tuple(items)


@pytest.mark.parametrize(("word", "kept"), [("length", ["a"]), ("tool_calls", ["a", "c"])])
def test_details_of_a_call_that_was_cut_short_go_with_it(word: str, kept: list[str]) -> None:
    """A turn that hit its limit keeps no call, and no replay entry of one (C17)."""
    sealed = [{"type": "reasoning.encrypted", "data": "x", "id": one, "index": place} for place, one in enumerate("ac")]
    called = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{"}}

    outcome = read_all_ways(stream(said("a"), part(reasoning_details=sealed, tool_calls=[called]), ended(word)))

    state = outcome.finish.replay_state
    assert state is not None
    assert [item["id"] for item in state["reasoning_details"]] == kept  # type: ignore[attr-defined]


def test_cumulative_details_repeat_themselves() -> None:
    """The item is its last text (W10)."""
    body = stream(detail(text="a", index=0), detail(text="ab", index=0), detail(signature="s", index=0), ended())

    outcome = read(body, CUMULATIVE)

    assert outcome.blocks == [ReasoningBlock("ab")]
    assert outcome.finish.replay_state is not None
    assert outcome.finish.replay_state["reasoning_details"] == ({"text": "ab", "index": 0, "signature": "s"},)


@pytest.mark.parametrize("value", ["text", [1], [{"text": 1}]])
def test_details_of_an_unknown_type_are_malformed(value: object) -> None:
    """A list of objects with texts is all that was documented (C15)."""
    assert read(stream(part(reasoning_details=value), ended())).kind == "raised MALFORMED_RESPONSE"


def picture(url: object) -> bytes:
    """One event with one image."""
    return part(images=[None, {"type": "image_url", "image_url": {"url": url}}])


def test_images_of_the_answer_are_blocks_without_deltas() -> None:
    """OpenRouter's image output, as bytes or as an address (C1); they close with the rest (C18)."""
    body = stream(
        said("a"), picture("data:image/png;base64,AAEC"), picture("https://x.test/i.png"), picture(None), ended()
    )

    assert read_all_ways(body).chunks == [
        BlockStart(0, "text"),
        TextDelta(0, "a"),
        BlockStart(1, "image"),
        BlockStart(2, "image"),
        BlockEnd(0, TextBlock("a")),
        BlockEnd(1, ImageBlock("image/png", b"\x00\x01\x02")),
        BlockEnd(2, ImageBlock(url="https://x.test/i.png")),
        Finish(STOP),
    ]


def test_an_image_alone_is_an_answer() -> None:
    """It says something (C12)."""
    assert read(stream(picture("https://x.test/i.png"), ended())).kind == "stop"


def test_an_image_that_is_no_base64_is_malformed() -> None:
    """Half an image is none (C15)."""
    assert read(stream(picture("data:image/png;base64,A!"), ended())).kind == "raised MALFORMED_RESPONSE"


def test_reasoning_that_has_no_text_makes_no_block() -> None:
    """Its state is kept for the replay all the same (C1, R5)."""
    body = stream(detail(type="reasoning.encrypted", data="x"), said("a"), ended("length"))

    outcome = read(body)

    assert outcome.blocks == [TextBlock("a")]
    assert outcome.finish == Finish(
        MAX_TOKENS,
        {
            "v": 1,
            "wire": "openai-chat",
            "blocks": [None],
            "reasoning_details": [{"type": "reasoning.encrypted", "data": "x"}],
        },
    )
