"""Web chat's view: the parts of a UI message stream."""

import json

import pytest
from hypothesis import given, settings

import limen
from limen.contract import (
    MAX_TOKENS,
    STOP,
    TOOL_CALLS,
    BlockEnd,
    BlockStart,
    Failure,
    Finish,
    FinishReason,
    ImageBlock,
    ReasoningBlock,
    ReasoningDelta,
    StreamChunk,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    UsageChunk,
)
from limen.views import ui_messages
from views._streams import Shape, content, streams

START = [{"type": "start", "messageId": "msg_1"}, {"type": "start-step"}]
CALL: list[StreamChunk] = [
    BlockStart(0, "reasoning"),
    ReasoningDelta(0, "Hm"),
    BlockStart(1, "tool-call"),
    BlockEnd(0, ReasoningBlock("Hm")),
    ToolCallDelta(1, "call_1", "f", '{"x"'),
    BlockStart(2, "text"),
    TextDelta(2, "a"),
    ToolCallDelta(1, "call_1", None, ":1.50}"),
    BlockEnd(1, ToolCallBlock("call_1", "f", '{"x":1.50}')),
    BlockEnd(2, TextBlock("a")),
    UsageChunk(TokenUsage(output_tokens=5)),
    Finish(TOOL_CALLS),
]


def parts(chunks: list[StreamChunk]) -> list[ui_messages.Part]:
    view = ui_messages.View(message_id="msg_1")
    return [part for chunk in chunks for part in view.feed(chunk)] + view.eof()


def read(chunks: list[StreamChunk]) -> list[dict[str, object]]:
    return [json.loads(part.to_json()) for part in parts(chunks)]


def test_the_parts_of_an_answer() -> None:
    """Blocks stream under their own ids, and a call is available when the answer has finished with it (V1)."""
    assert read(CALL) == [
        *START,
        {"type": "reasoning-start", "id": "reasoning-0"},
        {"type": "reasoning-delta", "id": "reasoning-0", "delta": "Hm"},
        {"type": "reasoning-end", "id": "reasoning-0"},
        {"type": "tool-input-start", "toolCallId": "call_1", "toolName": "f"},
        {"type": "tool-input-delta", "toolCallId": "call_1", "inputTextDelta": '{"x"'},
        {"type": "text-start", "id": "text-2"},
        {"type": "text-delta", "id": "text-2", "delta": "a"},
        {"type": "tool-input-delta", "toolCallId": "call_1", "inputTextDelta": ":1.50}"},
        {"type": "text-end", "id": "text-2"},
        {"type": "tool-input-available", "toolCallId": "call_1", "toolName": "f", "input": {"x": 1.5}},
        {"type": "finish-step"},
        {"type": "finish", "finishReason": "tool-calls"},
    ]


def test_parts_are_values() -> None:
    """Parts are immutable and hashable, `limen.encode` writes them as JSON, and `sse` as the event on the wire."""
    available = parts(CALL)[-3]

    assert b'"input":{"x":1.50}' in available.to_json()
    assert limen.encode(available) == available.to_json()
    assert available.sse() == b"data: " + available.to_json() + b"\n\n"
    assert (parts(CALL) == parts(CALL), len(set(parts(CALL)))) == (True, len(parts(CALL)))
    with pytest.raises(AttributeError):
        available.type = "finish"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("arguments", "finish", "fault"),
    [
        ('{"x":1}', MAX_TOKENS, "the answer reached its token limit, and the call may be cut short"),
        ("[1]", TOOL_CALLS, "the arguments are not one JSON object"),
    ],
)
def test_a_call_that_nobody_may_run(arguments: str, finish: FinishReason, fault: str) -> None:
    """A call that may be cut, or whose arguments are no object, is an input error with its raw text (C17)."""
    chunks: list[StreamChunk] = [
        BlockStart(0, "tool-call"),
        ToolCallDelta(0, "call_1", "f", arguments),
        BlockEnd(0, ToolCallBlock("call_1", "f", arguments)),
        Finish(finish),
    ]
    error = {
        "type": "tool-input-error",
        "toolCallId": "call_1",
        "toolName": "f",
        "input": arguments,
        "errorText": fault,
    }

    assert read(chunks)[4] == error


def test_images() -> None:
    """An image is a file, by its address or by its bytes."""
    chunks: list[StreamChunk] = [
        BlockStart(0, "image"),
        BlockEnd(0, ImageBlock(url="https://example.test/a.png")),
        BlockStart(1, "image"),
        BlockEnd(1, ImageBlock("image/png", b"\x89PNG")),
        Finish(STOP),
    ]

    assert read(chunks)[2:4] == [
        {"type": "file", "url": "https://example.test/a.png", "mediaType": "image/*"},
        {"type": "file", "url": "data:image/png;base64,iVBORw==", "mediaType": "image/png"},
    ]


def test_endings() -> None:
    """A failure is one `error`, an abort one `abort`, a missing finish one `error`; nothing follows (V2)."""
    failed = Finish(FinishReason("error", Failure("gone", "TRANSPORT")))
    aborted = Finish(FinishReason("aborted", Failure("stopped", "ABORTED")))

    assert read([*CALL[:2], failed, *CALL])[4:] == [{"type": "error", "errorText": "TRANSPORT: gone"}]
    assert read([*CALL[:2], aborted])[4:] == [{"type": "abort", "reason": "stopped"}]
    assert read([aborted]) == [*START, {"type": "abort", "reason": "stopped"}]
    assert read([]) == [{"type": "error", "errorText": "STREAM_CLOSED: the stream ended without a finish"}]
    assert read([Finish(MAX_TOKENS)]) == [*START, {"type": "finish-step"}, {"type": "finish", "finishReason": "length"}]


@settings(deadline=None)
@given(chunks=streams(Shape()))
def test_random_streams(chunks: list[StreamChunk]) -> None:
    """A grammatical stream of any shape keeps text, reasoning and calls, and has one terminal part, its last."""
    found = parts(chunks)
    expected = content(chunks)
    calls = tuple(
        (part.tool_call_id, part.tool_name, part.input) for part in found if part.type.startswith("tool-input-")
    )

    assert [part.type for part in found].count("finish") == 1
    assert found[-1].type == "finish"
    for kind, said in (("text", expected.text), ("reasoning", expected.reasoning)):
        # Blocks of one kind are told apart by their ids; the content joins them in their order.
        deltas = [(part.id or "", part.delta or "") for part in found if part.type == f"{kind}-delta"]
        ids = sorted({id_ for id_, _ in deltas}, key=lambda id_: int(id_.rpartition("-")[2]))
        assert "".join(delta for id_ in ids for one, delta in deltas if one == id_) == said
    assert sorted(call for call in calls if call[2] is not None) == sorted(expected.calls)
