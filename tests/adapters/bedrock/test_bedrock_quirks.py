"""Public reports of what this wire did to others, each as one test of the same bytes."""

import json

from adapters.bedrock._converse_wire import Outcome, event, read_all_ways
from limen.contract import Finish, FinishReason, TokenUsage, ToolCallBlock, UsageChunk, codes


def told(events: str) -> Outcome:
    """Read the events of a report, each an object of the event's name and its payload."""
    decoder, place, body = json.JSONDecoder(), 0, b""
    while place < len(events):
        found, place = decoder.raw_decode(events, place)
        place += len(events[place:]) - len(events[place:].lstrip())
        ((name, payload),) = found.items()
        body += event(name, **payload)
    return read_all_ways(body)


def failure(outcome: Outcome) -> str | None:
    """The code of an in-band failure."""
    found = outcome.finish.reason.failure
    return None if found is None else found.code


def test_Q016_calls_that_end_as_a_turn() -> None:
    """`end_turn` after a complete call is a turn of calls (C11)."""
    found = told(
        '{"contentBlockStart":{"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"t1","name":"f"}}}} '
        '{"contentBlockDelta":{"contentBlockIndex":0,"delta":{"toolUse":{"input":"{}"}}}} '
        '{"contentBlockStop":{"contentBlockIndex":0}} {"messageStop":{"stopReason":"end_turn"}}'
    )
    assert found.finish == Finish(FinishReason("tool-calls"))
    assert found.response.tool_calls == (ToolCallBlock("t1", "f", "{}"),)


def test_Q124_malformed_output_is_no_success() -> None:
    """`malformed_tool_use` and `malformed_model_output` are the provider's failure; a full window is a limit."""
    assert failure(told('{"messageStop":{"stopReason":"malformed_tool_use"}}')) == codes.SERVER
    assert failure(told('{"messageStop":{"stopReason":"malformed_model_output"}}')) == codes.SERVER
    full = told('{"messageStop":{"stopReason":"model_context_window_exceeded"}}')
    assert full.finish == Finish(FinishReason("max-tokens"))


def test_Q125_a_stream_without_content() -> None:
    """An empty completion is read to its end: counts, then `EMPTY_RESPONSE` as every stop without content (C12)."""
    found = told(
        '{"messageStart":{"role":"assistant"}} {"messageStop":{"stopReason":"end_turn"}} '
        '{"metadata":{"usage":{"inputTokens":5,"outputTokens":0,"totalTokens":5}}}'
    )
    assert found.chunks[0] == UsageChunk(TokenUsage(5, 0))
    assert (len(found.chunks), failure(found)) == (2, codes.EMPTY_RESPONSE)
