"""Every field and every content block against every dialect: on the wire, or refused before any I/O (Q1)."""

from typing import Any

import pytest

from chat_requests import ADD, DIALECTS, PNG, attempt, body_of, refusal
from limen.adapters import BuildContext
from limen.adapters.openai_chat import ROWS, WIRE
from limen.contract import (
    GenerateOptions,
    ImageBlock,
    JsonSchema,
    LlmError,
    Message,
    ReasoningBlock,
    TextBlock,
    ToolCallBlock,
    ToolChoice,
    ToolResultBlock,
    ToolSpec,
    codes,
    system,
    tool_result,
    user,
)

SCHEMA = ADD.parameters or {}
TOOLS = {"tools": [ADD]}

# the field, what to set, and what the request has beside it
CASES: list[tuple[str, Any, dict[str, Any]]] = [
    ("system", "be brief", {}),
    ("tools", [ADD], {}),
    ("tools", [ToolSpec("add", None, SCHEMA, strict=True)], {}),
    ("tool_choice", "auto", TOOLS),
    ("tool_choice", "none", TOOLS),
    ("tool_choice", "required", TOOLS),
    ("tool_choice", ToolChoice("add"), TOOLS),
    ("tool_choice", "auto", {}),
    ("parallel_tool_calls", True, TOOLS),
    ("parallel_tool_calls", False, TOOLS),
    ("parallel_tool_calls", False, {}),
    ("response_format", "text", {}),
    ("response_format", "json", {}),
    ("response_format", JsonSchema("answer", SCHEMA), {}),
    ("response_format", JsonSchema("answer", SCHEMA, strict=True), {}),
    ("temperature", 0.0, {}),
    ("top_p", 0.5, {}),
    ("max_tokens", 7, {}),
    ("stop", ["END"], {}),
    ("stop", [str(index) for index in range(20)], {}),
    ("seed", 7, {}),
    *(("reasoning_effort", effort, {}) for effort in ("off", "minimal", "low", "medium", "high", "max", "odd")),
    ("cache", "short", {}),
    ("cache", "long", {}),
    ("extra", {"openai-chat": {"top_k": 3}}, {}),
    ("extra", {"anthropic-messages": {"top_k": 3}}, {}),
]

# not about the wire's body: the route, hints that this wire does not use, and what ends the call
BESIDE = {"provider", "model", "messages", "session_id", "purpose", "signal"}


def test_no_field_is_forgotten_here() -> None:
    """The list below covers every field of `GenerateOptions` (Q1)."""
    assert {name for name, _, _ in CASES} | BESIDE == set(GenerateOptions.__struct_fields__)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_field_is_written_or_refused(dialect: str) -> None:
    """What is set changes the body, or the refusal names it; nothing is dropped, clamped or weakened (Q1)."""
    for name, value, beside in CASES:
        without = attempt(dialect, **beside)
        found = attempt(dialect, **beside, **{name: value})
        if not isinstance(found, LlmError):
            assert found != without, (name, value)
            assert "None" not in str(found), (name, value)
        elif not isinstance(without, LlmError):
            assert found.code in (codes.UNSUPPORTED, codes.UNSUPPORTED_REASONING_EFFORT), (name, value)
            assert name in str(found) or "strict" in str(found), (name, str(found))
            assert (f"dialect {dialect}" in str(found), found.failure.phase) == (True, "resolve")
        else:
            assert without.code == codes.UNSUPPORTED, (name, value)


def test_what_each_dialect_refuses_is_what_its_row_says() -> None:
    """Only fields that a row names are refused; every other one is served (Q1)."""
    refused = {
        (dialect, name)
        for dialect in DIALECTS
        for name, value, beside in CASES
        if name in ("system", "temperature", "top_p", "max_tokens", "seed") or (name == "stop" and len(value) == 1)
        if name not in ROWS[dialect].refuses and isinstance(attempt(dialect, **beside, **{name: value}), LlmError)
    }
    assert refused == set()


CALL = ToolCallBlock("call_1", "add", '{"l":1}')
ROLES: dict[str, tuple[Any, ...]] = {
    "system": (TextBlock("a"), PNG, ReasoningBlock("r"), CALL, ToolResultBlock("call_1", "x")),
    "user": (TextBlock("a"), PNG, ImageBlock(url="https://x.test/a.png"), ReasoningBlock("r"), CALL),
    "assistant": (TextBlock("a"), PNG, ReasoningBlock("r"), ToolResultBlock("call_1", "x")),
    "tool": (TextBlock("a"), PNG, ReasoningBlock("r"), CALL),
}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("role", ROLES)
def test_every_block_in_every_role_is_written_refused_or_reported(dialect: str, role: Any) -> None:
    """A block goes on the wire, or `UNSUPPORTED_CONTENT` names it, or its loss is reported (Q1, N4)."""
    for block in ROLES[role]:
        history = (user("q"), Message(role, (TextBlock("x"), block)))
        found = attempt(dialect, messages=history)
        if isinstance(found, LlmError):
            place = 0 if role == "tool" else 1
            assert found.code == codes.UNSUPPORTED_CONTENT
            assert f"messages[1].content[{place}] cannot be sent to route/m (dialect {dialect}): " in str(found)
        else:
            without = body_of(dialect, messages=(user("q"), Message(role, (TextBlock("x"),))))
            lost = type(block) is ReasoningBlock and ROWS[dialect].reasoning_back is None
            assert (found == without) is lost


@pytest.mark.parametrize("dialect", DIALECTS)
def test_tool_calls_and_results_are_served_by_every_dialect(dialect: str) -> None:
    """A tool round trip is in every dialect's history, with raw arguments and matching ids (Q4, C8, C9)."""
    history = (user("q"), Message("assistant", (CALL,)), tool_result("call_1", "42"))
    asked, called, answered = body_of(dialect, messages=history)["messages"]
    (call,) = called["tool_calls"]
    assert asked == {"role": "user", "content": "q"}
    assert call["function"] == {"name": "add", "arguments": '{"l":1}'}
    assert (answered["role"], answered["tool_call_id"], answered["content"]) == ("tool", call["id"], "42")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_Q2_the_model_id_is_sent_byte_for_byte(dialect: str) -> None:
    """Nobody rewrites, trims or looks into a model's id (Q2)."""
    odd = "  Org/Model:free@é "
    request = WIRE.codec(dialect).build(GenerateOptions("p", odd, [user("q")]), BuildContext())
    assert f'"model":"{odd}"'.encode() in request.body


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_request_streams_and_asks_for_usage_where_it_may(dialect: str) -> None:
    """`stream` is always true; `stream_options` goes only to rows that may have it (Q207)."""
    body = body_of(dialect, messages=[system("s"), user("q")])
    assert body["stream"] is True
    assert body.get("stream_options") == ({"include_usage": True} if ROWS[dialect].stream_usage else None)


def test_hints_change_nothing() -> None:
    """`session_id`, `purpose` and `cache="none"` write nothing on this wire (Q1)."""
    assert body_of(session_id="s", purpose="title", cache="none") == body_of()


def test_empty_lists_are_as_good_as_unset() -> None:
    """An empty list of tools or stops is left out, because servers refuse it (Q3)."""
    assert body_of(tools=[], stop=[]) == body_of()


def test_a_refusal_says_where_why_and_for_whom() -> None:
    """A refusal names the field, route, model, dialect and reason, so that whoever reads it can act."""
    error = refusal("moonshot", seed=1)
    assert str(error) == ("seed cannot be sent to route/m (dialect moonshot): its documentation has no such parameter")
