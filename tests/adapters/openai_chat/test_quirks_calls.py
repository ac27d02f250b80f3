"""Public faults of servers that stream tool calls, one test each, named by its number in the list of reports."""

import pytest

from adapters.openai_chat._chat_wire import (
    DONE,
    calling,
    ended,
    event,
    fragment,
    opened,
    part,
    read,
    read_all_ways,
    said,
    stream,
)
from limen.contract import BlockEnd, Finish, FinishReason, TextBlock, ToolCallBlock, ToolCallDelta, codes


def test_Q001_parallel_calls_all_on_index_0() -> None:
    """A different id with a name is another call (W3): Ollama gave every parallel call the index 0."""
    body = stream(
        calling(fragment('{"city":"Oslo"}', id="call_1", name="weather")),
        calling(fragment('{"city":"Rome"}', id="call_2", name="weather")),
        ended("tool_calls"),
    )

    assert read_all_ways(body).calls == [
        ("call_1", "weather", '{"city":"Oslo"}'),
        ("call_2", "weather", '{"city":"Rome"}'),
    ]


def test_Q006_empty_ids_mean_absent() -> None:
    """An empty id or name on a later fragment changes nothing (W2): DashScope repeats both as ""."""
    body = stream(
        calling(fragment('{"n":', id="call_9", name="square")),
        calling(fragment("7", id="", name="")),
        calling(fragment("}", id=None)),
        ended("tool_calls"),
    )

    assert read_all_ways(body).calls == [("call_9", "square", '{"n":7}')]


def test_Q010_a_numeric_id_is_its_decimal_string() -> None:
    """An id that is a number is taken as text (W4)."""
    body = stream(calling(fragment("{}", id=90071992547409930, name="f")), ended("tool_calls"))

    assert read_all_ways(body).calls == [("90071992547409930", "f", "{}")]


def test_Q013_a_name_that_is_resent_is_not_appended() -> None:
    """The same name again is ignored, and the id may stand inside `function` (W4): llama.cpp, 2025."""
    first = {"index": 0, "function": {"id": "x1", "name": "look", "arguments": '{"at"'}}
    second = {"index": 0, "function": {"id": "x1", "name": "look", "arguments": ':"sky"}'}}

    assert read_all_ways(stream(calling(first), calling(second), ended("tool_calls"))).calls == [
        ("x1", "look", '{"at":"sky"}')
    ]


def test_Q014_a_private_marker_makes_no_phantom_call() -> None:
    """Unknown fields are ignored (C15); claimed calls without one are an in-band fault."""
    body = stream(event(choices=[{"index": 0, "delta": {}}], preparing_tool=True), ended("tool_calls"))

    outcome = read_all_ways(body)

    assert [type(chunk) for chunk in outcome.chunks] == [Finish]
    assert outcome.kind == codes.MALFORMED_RESPONSE


def test_Q032_a_clean_end_without_finish_is_no_answer() -> None:
    """What arrived is given, then STREAM_CLOSED (W6)."""
    outcome = read_all_ways(said("Once upon"))

    assert outcome.kind == "raised STREAM_CLOSED"
    assert len(outcome.chunks) == 2


def test_Q037_a_call_cut_in_its_arguments_is_never_complete() -> None:
    """Its block stays open, so nobody executes it (C7, W6)."""
    outcome = read_all_ways(calling(fragment('{"text":"half', id="c", name="save")))

    assert outcome.kind == "raised STREAM_CLOSED"
    assert outcome.chunks == opened(0, "c", "save", '{"text":"half')


def test_Q053_a_whole_call_beside_the_finish_word_counts() -> None:
    """The delta is read before the word (W5): LiteLLM sends both in one chunk."""
    body = stream(part("tool_calls", content="ok", tool_calls=[fragment("{}", id="c", name="f")]))

    outcome = read_all_ways(body)

    assert outcome.blocks == [TextBlock("ok"), ToolCallBlock("c", "f", "{}")]
    assert outcome.kind == "tool-calls"


def test_Q139_a_call_without_a_name_is_not_passed_on() -> None:
    """Stored, it would poison every later turn (W4)."""
    outcome = read_all_ways(stream(calling(fragment("{}", id="c", name="")), ended("tool_calls")))

    assert (outcome.kind, outcome.chunks) == ("raised MALFORMED_RESPONSE", [])


def test_Q144_arguments_resent_whole_are_counted_once() -> None:
    """A fragment equal to the complete text so far is a resend (W3): vLLM's last chunk."""
    body = stream(
        calling(fragment('{"to"', id="c", name="go")),
        calling(fragment(':"home"}')),
        calling(fragment('{"to":"home"}', id="c", name="go", type="function"), finish="tool_calls"),
    )

    assert read_all_ways(body).calls == [("c", "go", '{"to":"home"}')]


def test_Q145_arguments_that_lack_their_end_stay_raw() -> None:
    """They are not repaired and not replaced (C8)."""
    body = stream(calling(fragment('{"to":"home"', id="c", name="go"), finish="tool_calls"))

    assert read_all_ways(body).calls == [("c", "go", '{"to":"home"')]


@pytest.mark.parametrize("markup", ['<tool_call>{"name":"f"}</tool_call>', '[TOOL_CALLS][{"name":"f"}]'])
def test_Q146_tool_markup_in_text_is_text(markup: str) -> None:
    """Nothing is parsed in silence."""
    outcome = read_all_ways(stream(said(markup), ended()))

    assert (outcome.blocks, outcome.kind) == ([TextBlock(markup)], "stop")


def test_Q184_the_legacy_function_call_is_a_call() -> None:
    """Name, fragments, and a finish word of its own; the id is made (C9)."""
    body = stream(
        part(role="assistant", content=None, function_call={"name": "f", "arguments": ""}),
        part(function_call={"arguments": '{"a"'}),
        part(function_call={"arguments": ":2}"}),
        ended("function_call"),
    )

    outcome = read_all_ways(body)

    [(call_id, name, arguments)] = outcome.calls
    assert (call_id.startswith("limen_"), name, arguments, outcome.kind) == (True, "f", '{"a":2}', "tool-calls")


def test_Q186_a_stop_with_calls_is_tool_calls_in_both_modes() -> None:
    """Streamed or whole, the same answer ends the same way (C11, S3)."""
    message = '{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"{}"}}]}'
    choice = '{"choices":[{"index":0,"%s":' + message + ',"finish_reason":"stop"}]}'

    streamed = read_all_ways(b"data: " + (choice % "delta").encode() + b"\n\n" + DONE)
    whole = read_all_ways((choice % "message").encode())

    assert streamed.chunks == whole.chunks
    assert streamed.kind == "tool-calls"


def test_Q195_interleaved_fragments_are_told_apart_by_index() -> None:
    """No call is over because another goes on (C3)."""
    body = stream(
        calling(fragment("", id="A", name="a"), fragment("", index=1, id="B", name="b")),
        calling(fragment("[1", index=1)),
        calling(fragment("[2")),
        calling(fragment("]", index=1), fragment("]")),
        ended("tool_calls"),
    )

    assert read_all_ways(body).calls == [("A", "a", "[2]"), ("B", "b", "[1]")]


def test_Q196_each_call_has_one_start_and_one_end() -> None:
    """Interleaved on the wire, yet every block is opened once and closed once (C1)."""
    body = stream(
        calling(fragment("[", id="A", name="a"), fragment("[", index=1, id="B", name="b")),
        calling(fragment("]"), fragment("]", index=1)),
        ended("tool_calls"),
    )

    assert read_all_ways(body).chunks == [
        *opened(0, "A", "a", "["),
        *opened(1, "B", "b", "["),
        ToolCallDelta(0, "A", None, "]"),
        ToolCallDelta(1, "B", None, "]"),
        BlockEnd(0, ToolCallBlock("A", "a", "[]")),
        BlockEnd(1, ToolCallBlock("B", "b", "[]")),
        Finish(FinishReason("tool-calls")),
    ]


def test_Q197_no_ids_and_every_call_on_index_0() -> None:
    """Another document after a complete one is another call, each under its own made id (W3, C9)."""
    body = stream(
        calling(fragment('{"k":1}', name="get")),
        calling(fragment('{"k":2}', name="get")),
        calling(fragment('{"k":', name="get")),
        calling(fragment("3}")),
        ended("tool_calls"),
    )

    calls = read_all_ways(body).calls

    assert [arguments for _, _, arguments in calls] == ['{"k":1}', '{"k":2}', '{"k":3}']
    assert len({call_id for call_id, _, _ in calls}) == 3


@pytest.mark.parametrize(
    "function", [{"name": "now"}, {"name": "now", "arguments": None}, {"name": "now", "arguments": ""}]
)
def test_Q199_a_call_without_arguments_is_a_call(function: dict[str, object]) -> None:
    """A complete call without any argument text is `{}` on every wire (C8)."""
    body = stream(calling({"index": 0, "id": "c", "function": function}, finish="tool_calls"))

    assert read_all_ways(body).calls == [("c", "now", "{}")]


def test_Q202_large_numbers_keep_their_digits() -> None:
    """Arguments are never parsed (C8)."""
    digits = "9" * 5000
    body = stream(calling(fragment('{"n": ' + digits + "}", id="c", name="f")), ended("tool_calls"))

    assert read(body).calls == [("c", "f", '{"n": ' + digits + "}")]


def test_Q211_a_finish_word_after_every_chunk_ends_nothing() -> None:
    """Calls are closed once, at the end of the wire (W5)."""
    body = stream(
        calling(fragment("", id="c", name="run")),
        ended("stop"),
        calling(fragment('{"do"')),
        ended("stop"),
        calling(fragment(':"it"}')),
        ended("stop"),
    )

    outcome = read_all_ways(body)

    assert (outcome.calls, outcome.kind) == ([("c", "run", '{"do":"it"}')], "tool-calls")


def test_Q212_a_call_cut_by_the_output_limit_is_not_for_execution() -> None:
    """The finish is max-tokens, and the response lists the call as incomplete (C17)."""
    body = stream(
        calling(fragment("{}", id="a", name="first")),
        calling(fragment('{"text":"unfin', index=1, id="b", name="second")),
        ended("length"),
    )

    response = read_all_ways(body).response

    assert response.tool_calls == ()
    assert response.incomplete_tool_calls == (
        ToolCallBlock("a", "first", "{}"),
        ToolCallBlock("b", "second", '{"text":"unfin'),
    )


def test_Q213_a_call_starts_when_its_name_is_known() -> None:
    """Until then its fragments wait (W4): an empty name first, the name later."""
    body = stream(
        calling(fragment("", id="c", name="")),
        calling(fragment('{"a"', name=None)),
        calling(fragment(":1", name="find")),
        calling(fragment("}")),
        ended("tool_calls"),
    )

    assert read_all_ways(body).chunks[:3] == [*opened(0, "c", "find", '{"a":1'), ToolCallDelta(0, "c", None, "}")]
