"""Options to an Anthropic Messages request: what goes where, and what a history becomes (Q1-Q9)."""

import hashlib
import json
from types import SimpleNamespace

import pytest

from adapters.anthropic._messages_wire import asking, body_of, failure_of
from limen.adapters import BuildContext
from limen.adapters.anthropic import WIRE
from limen.contract import (
    Effort,
    GenerateOptions,
    ImageBlock,
    JsonSchema,
    Message,
    ModelInfo,
    TextBlock,
    ToolCallBlock,
    ToolChoice,
    ToolResultBlock,
    ToolSpec,
    assistant,
    codes,
    system,
    tool_result,
    user,
)

PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aWM="}}
IMAGE = ImageBlock("image/png", b"ic")


def words(text: str) -> dict[str, object]:
    """A text part."""
    return {"type": "text", "text": text}


def turn(role: str, *parts: object) -> dict[str, object]:
    """A turn on the wire."""
    return {"role": role, "content": list(parts)}


def use(call_id: str, arguments: object) -> dict[str, object]:
    """A call on the wire."""
    return {"type": "tool_use", "id": call_id, "name": "f", "input": arguments}


def result(call_id: str, content: object, **fields: object) -> dict[str, object]:
    """A result on the wire."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def called(*ids: str, arguments: str = "") -> Message:
    """An assistant's turn of calls."""
    return assistant([ToolCallBlock(call_id, "f", arguments) for call_id in ids])


def turns(*messages: Message, dialect: str | None = None) -> object:
    """What these messages are on the wire."""
    return body_of(asking(*messages), dialect)["messages"]


def test_plain_question() -> None:
    """Unset fields do not appear (Q3); the model goes out byte for byte (Q2); a cap is always there."""
    request = WIRE.request(asking())

    assert (request.method, request.path) == ("POST", "/v1/messages")
    assert request.body == (
        b'{"model":"claude-x","max_tokens":8192,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}],'
        b'"stream":true}'
    )
    assert WIRE.codec(None).build(asking(), BuildContext()).headers == {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "anthropic-version": "2023-06-01",
    }


def test_everything_that_can_be_set() -> None:
    """Each field has its place on the wire (Q1)."""
    schema = {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}]}}, "additionalProperties": False}
    options = asking(
        user("q"),
        system="Be brief.",
        tools=[ToolSpec("f", "Does f", schema, strict=True), ToolSpec("g")],
        tool_choice="required",
        parallel_tool_calls=False,
        response_format=JsonSchema("answer", schema, strict=True),
        temperature=0.5,
        top_p=1,
        max_tokens=100,
        stop=["###", "END"],
        reasoning_effort="high",
        cache="none",
        extra={"anthropic-messages": {"metadata": {"user_id": "u"}, "top_k": 5}},
        session_id="s",
        purpose="p",
    )

    assert body_of(options) == {
        "model": "claude-x",
        "max_tokens": 100,
        "system": [words("Be brief.")],
        "messages": [turn("user", words("q"))],
        "tools": [
            {"name": "f", "description": "Does f", "input_schema": schema, "strict": True},
            {"name": "g", "input_schema": {"type": "object"}},
        ],
        "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
        "temperature": 0.5,
        "top_p": 1,
        "stop_sequences": ["###", "END"],
        "thinking": {"type": "adaptive", "display": "summarized"},
        "output_config": {"effort": "high", "format": {"type": "json_schema", "schema": schema}},
        "metadata": {"user_id": "u"},
        "top_k": 5,
        "stream": True,
    }


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"tool_choice": "auto"}, {"type": "auto"}),
        ({"tool_choice": "none"}, {"type": "none"}),
        ({"tool_choice": ToolChoice("f")}, {"type": "tool", "name": "f"}),
        ({"parallel_tool_calls": True}, {"type": "auto", "disable_parallel_tool_use": False}),
        (
            {"tool_choice": ToolChoice("f"), "parallel_tool_calls": False},
            {"type": "tool", "name": "f", "disable_parallel_tool_use": True},
        ),
    ],
)
def test_tool_choice(fields: dict[str, object], expected: object) -> None:
    """How the model may choose, one call at a time or many."""
    assert body_of(asking(tools=[ToolSpec("f")], **fields))["tool_choice"] == expected


def test_max_tokens_by_who_says_it() -> None:
    """The caller's cap, else the model's, else the route's, else the wire's own default (R4)."""
    model = ModelInfo("p", "claude-x", "X", default_max_tokens=300)

    def cap(context: BuildContext, **fields: object) -> object:
        return json.loads(WIRE.codec(None).build(asking(**fields), context).body)["max_tokens"]

    assert cap(BuildContext(model, 200), max_tokens=0) == 0
    assert cap(BuildContext(model, 200)) == 300
    assert cap(BuildContext(ModelInfo("p", "claude-x", "X"), 200)) == 200
    assert cap(BuildContext(model)) == 300
    assert cap(BuildContext(ModelInfo("p", "claude-x", "X"))) == 8192
    assert WIRE.codec(None).default_max_tokens == 8192


def test_neighbours_of_one_role_are_one_turn() -> None:
    """Roles alternate on the wire; results stand first and together in the turn after their calls."""
    assert turns(
        user("a"),
        user("b"),
        assistant("and"),
        called("t", "u"),
        tool_result("t", "1"),
        tool_result("u", [TextBlock("2"), TextBlock(" "), IMAGE]),
        user([TextBlock("so?"), IMAGE]),
    ) == [
        turn("user", words("a"), words("b")),
        turn("assistant", words("and"), use("t", {}), use("u", {})),
        turn("user", result("t", "1"), result("u", [words("2"), PNG]), words("so?"), PNG),
    ]


def test_results_move_before_text_of_their_turn() -> None:
    """Text of the same user turn comes after the results, in its own order."""
    mixed = user([TextBlock("x"), ToolResultBlock("t", "1"), TextBlock("y"), ToolResultBlock("u", "2")])

    assert turns(user("q"), called("t", "u"), mixed) == [
        turn("user", words("q")),
        turn("assistant", use("t", {}), use("u", {})),
        turn("user", result("t", "1"), result("u", "2"), words("x"), words("y")),
    ]


def test_results_that_are_errors_hold_text_only() -> None:
    """Images of a failed call stand behind its result, which may hold text only; an empty list is no content."""
    assert turns(
        user("q"),
        called("t", "u", "v"),
        tool_result("t", [TextBlock("boom"), IMAGE], is_error=True),
        tool_result("u", "", is_error=True),
        tool_result("v", [TextBlock("")]),
    ) == [
        turn("user", words("q")),
        turn("assistant", use("t", {}), use("u", {}), use("v", {})),
        turn(
            "user",
            result("t", [words("boom")], is_error=True),
            result("u", "", is_error=True),
            {"type": "tool_result", "tool_use_id": "v"},
            PNG,
        ),
    ]


def test_system_text() -> None:
    """System text before the first turn joins `system`; later it stands in its place, where the host knows that."""
    messages = [system("b"), user("q"), assistant("a"), user("r"), system("c"), system([TextBlock(" ")])]
    first = {"system": [words("a"), words("b")]}

    body = body_of(asking(*messages, system="a"))
    error = failure_of(lambda: body_of(asking(*messages), "azure"))

    assert {"system": body["system"]} == first
    assert body["messages"] == [
        turn("user", words("q")),
        turn("assistant", words("a")),
        turn("user", words("r")),
        turn("system", words("c")),
    ]
    assert error.code == codes.UNSUPPORTED_CONTENT
    assert error.failure.message == (
        "messages[4] cannot be sent to p/claude-x (dialect azure): it takes system messages before the first turn only"
    )
    assert "system" not in body_of(asking(user("q"), system=" "))


def test_blank_text_says_nothing() -> None:
    """The wire refuses blank text, so it is left out, and a message that says nothing with it."""
    assert turns(user([TextBlock(""), TextBlock("a")]), assistant(" \n"), user("b")) == [
        turn("user", words("a"), words("b"))
    ]
    assert failure_of(lambda: turns(user(" "))).code == codes.INVALID_OPTIONS


def test_arguments_are_embedded_as_they_are() -> None:
    """A call's arguments go out verbatim, digits and white space included; empty ones are {} (C8)."""
    arguments = '{"a": 1.10, "b":\n[12345678901234567890123, 1e400], "c": "\\ud83d"}'
    request = WIRE.request(asking(user("q"), called("t", arguments=arguments), tool_result("t", "")))

    assert f'"input":{arguments}}}'.encode() in request.body


@pytest.mark.parametrize(
    "arguments", ["[1]", "5", '"{}"', '{"a":', "{} {}", "nothing", '{"a": NaN}', '{"\\u0041": NaN}', "{" * 200]
)
def test_arguments_that_are_no_object(arguments: str) -> None:
    """What is not one JSON object is refused, naming the call (C8)."""
    options = asking(user("q"), called("t", arguments=arguments), tool_result("t", ""))

    error = failure_of(lambda: body_of(options))

    assert error.code == codes.INVALID_OPTIONS
    assert error.failure.message.startswith(
        "messages[1].content[0]: the arguments of the call 't' of 'f' are not one JSON object"
    )


def test_a_rewritten_id_is_never_an_id_that_stands_in_the_history() -> None:
    """A native id that looks like the rewriting of a foreign one is not met by it, in either order (C9)."""

    def ids(*call_ids: str) -> list[str]:
        history = [message for call_id in call_ids for message in (called(call_id), tool_result(call_id, "r"))]
        sent = turns(user("q"), *history)
        assert isinstance(sent, list)
        return [part["id"] for turn in sent for part in turn["content"] if part["type"] == "tool_use"]

    (rewritten,) = ids("call|x")

    for order in (("call|x", rewritten), (rewritten, "call|x"), (rewritten, "call|x", "call|x")):
        assert len(set(ids(*order))) == len(order)


def test_a_call_without_a_name_is_refused() -> None:
    """No server takes it (Q139)."""
    nameless = assistant([ToolCallBlock("c", "", "{}")])

    error = failure_of(lambda: body_of(asking(user("q"), nameless, tool_result("c", "r"))))

    assert (error.code, error.failure.message[:22]) == (codes.INVALID_OPTIONS, "messages[1].content[0]")


def test_ids_that_the_wire_refuses() -> None:
    """Foreign ids are rewritten in the request only, injectively, call and result alike (C9)."""
    ids = ["call|1", "call_1", "call/1", "x" * 65, "é", "a" * 64, "\ud800"]

    sent = turns(user("q"), called(*ids), *(tool_result(call_id, "r") for call_id in ids))

    assert isinstance(sent, list)
    calls = [part["id"] for part in sent[1]["content"]]
    assert calls == [part["tool_use_id"] for part in sent[2]["content"]]
    assert len(set(calls)) == len(ids)
    assert (calls[1], calls[5]) == ("call_1", "a" * 64)
    assert all(len(call_id) <= 64 and call_id.replace("_", "").isalnum() and call_id.isascii() for call_id in calls)


def test_ids_that_come_again_in_a_later_turn() -> None:
    """Ids are unique in a request: one that an earlier turn used is rewritten, and the earlier one never changes."""
    history = [user("q"), called("t"), tool_result("t", "1"), called("t"), tool_result("t", "2")]

    shorter, longer = turns(*history), turns(*history, called("t"), tool_result("t", "3"))

    assert isinstance(shorter, list)
    assert isinstance(longer, list)
    used = [part["content"][0]["id"] for part in longer if part["role"] == "assistant"]
    answered = [part["content"][0]["tool_use_id"] for part in longer[2::2]]
    assert longer[:5] == shorter
    assert used == answered
    assert (used[0], len(set(used))) == ("t", 3)


def test_an_id_that_comes_again_each_turn_costs_the_same_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rewriting an id that every turn of a long history uses anew takes work in proportion to its turns (C9, S2)."""
    hashed: list[bytes] = []

    def counting(data: bytes) -> object:
        hashed.append(data)
        return hashlib.new("sha256", data)

    monkeypatch.setattr("limen.adapters.kit._ids.hashlib", SimpleNamespace(sha256=counting))
    history = [message for _ in range(200) for message in (called("call_0"), tool_result("call_0", "r"))]

    sent = turns(user("q"), *history)

    assert isinstance(sent, list)
    assert len({turn["content"][0]["id"] for turn in sent if turn["role"] == "assistant"}) == 200
    assert len(hashed) <= 400


def test_results_without_their_call_keep_an_id() -> None:
    """The history check refuses them before; the serializer itself only keeps ids that the wire takes."""
    codec = WIRE.codec(None)
    built = codec.build(asking(user("q"), tool_result("t", "1"), tool_result("a|b", "2")), BuildContext())

    (only,) = json.loads(built.body)["messages"]
    first, second = (part["tool_use_id"] for part in only["content"] if part["type"] == "tool_result")
    assert first == "t"
    assert second.isalnum()
    assert 1 <= len(second) <= 64


def test_images() -> None:
    """Images go out as base64 or as a link."""
    assert turns(user([IMAGE, ImageBlock("https://e.example/a.png")])) == [
        turn("user", PNG, {"type": "image", "source": {"type": "url", "url": "https://e.example/a.png"}})
    ]


TEXT_ONLY = ModelInfo("p", "claude-x", "X", input_modalities=["text"])


@pytest.mark.parametrize(
    ("image", "dialect", "model", "words_of_error"),
    [
        (ImageBlock("image/tiff", b"x"), None, None, "image/tiff is none of image/gif, image/jpeg"),
        (ImageBlock("data:image/png;base64,aWM="), None, None, "an image's URL is http or https"),
        (IMAGE, "deepseek", None, "it takes no images"),
        (ImageBlock("https://e.example"), "ollama", None, "it takes images as bytes only, not by address"),
        (IMAGE, None, TEXT_ONLY, "it takes no images"),
    ],
)
def test_images_that_cannot_go_out(
    image: ImageBlock, dialect: str | None, model: ModelInfo | None, words_of_error: str
) -> None:
    """An image that wire, host or model does not take is UNSUPPORTED_CONTENT and names its place (Q1)."""
    history = [user("q"), called("t"), tool_result("t", [TextBlock("a"), image])]
    codec = WIRE.codec(dialect)

    direct = failure_of(lambda: codec.build(asking(user([image])), BuildContext(model)))
    inside = failure_of(lambda: codec.build(asking(*history), BuildContext(model)))

    assert (direct.code, inside.code) == (codes.UNSUPPORTED_CONTENT, codes.UNSUPPORTED_CONTENT)
    reason = f" cannot be sent to p/claude-x (dialect {codec.dialect}): {words_of_error}"
    assert direct.failure.message.startswith(f"messages[0].content[0]{reason}")
    assert inside.failure.message.startswith(f"messages[2].content[0].content[1]{reason}")


@pytest.mark.parametrize(
    ("message", "where"),
    [
        (assistant([TextBlock("a"), IMAGE]), "messages[0].content[1]"),
        (Message("assistant", (ToolResultBlock("t", "r"),)), "messages[0].content[0]"),
        (Message("user", (ToolCallBlock("t", "f", "{}"),)), "messages[0].content[0]"),
        (Message("system", (IMAGE,)), "messages[0].content[0]"),
    ],
)
def test_blocks_in_roles_that_cannot_hold_them(message: Message, where: str) -> None:
    """A block that a role has no place for is refused, not moved (Q1)."""
    error = failure_of(lambda: WIRE.codec(None).build(asking(message), BuildContext()))

    assert error.code == codes.UNSUPPORTED_CONTENT
    assert error.failure.message.startswith(
        f"{where} cannot be sent to p/claude-x (dialect anthropic): this wire has no place for a"
    )


@pytest.mark.parametrize(
    ("cache", "mark"), [("short", {"type": "ephemeral"}), ("long", {"type": "ephemeral", "ttl": "1h"})]
)
def test_cache_marks_system_tools_and_the_last_turn(cache: str, mark: object) -> None:
    """Breakpoints stand behind system, tools and the last turn, never over four (Q215)."""
    history = [user("q"), called("t"), tool_result("t", "r"), user([TextBlock("a"), IMAGE])]
    options = asking(*history, system="s", tools=[ToolSpec("f"), ToolSpec("g")], cache=cache)

    body = body_of(options)

    assert body["system"] == [{**words("s"), "cache_control": mark}]
    assert body["tools"] == [
        {"name": "f", "input_schema": {"type": "object"}},
        {"name": "g", "input_schema": {"type": "object"}, "cache_control": mark},
    ]
    assert json.dumps(body["messages"]).count("cache_control") == 1
    assert body["messages"][-1]["content"][-1] == {**PNG, "cache_control": mark}  # type: ignore[index]


def test_cache_with_little_to_mark() -> None:
    """Where there is no system text and no tool, the last turn alone is marked; none asks for no mark."""
    assert json.dumps(body_of(asking(cache="short"))).count("cache_control") == 1
    assert "cache_control" not in json.dumps(body_of(asking(cache="none")))


def test_cache_by_host() -> None:
    """A host that marks no tools gets none on them; one without the long cache refuses it (Q1)."""
    options = asking(tools=[ToolSpec("f")], system="s", cache="short")

    error = failure_of(lambda: body_of(asking(cache="long"), "fireworks"))

    assert body_of(options, "fireworks")["tools"] == [{"name": "f", "input_schema": {"type": "object"}}]
    assert error.code == codes.UNSUPPORTED
    assert error.failure.message == (
        "cache cannot be sent to p/claude-x (dialect fireworks): it caches for five minutes only; ask for short"
    )


def test_thinking_in_the_last_turn_carries_no_mark() -> None:
    """A breakpoint goes on the last part that may have one."""
    state = {"v": 1, "wire": "anthropic-messages", "blocks": [{"after": ['{"type":"container_upload"}']}]}
    message = Message("assistant", (TextBlock("a"),), replay_state=state)

    body = body_of(asking(user("q"), message, cache="short"))

    assert body["messages"][-1]["content"] == [  # type: ignore[index]
        {**words("a"), "cache_control": {"type": "ephemeral"}},
        {"type": "container_upload"},
    ]


KNOWN = ModelInfo("p", "claude-x", "X", efforts=[Effort("off", "Off"), Effort("max", "Max")])


@pytest.mark.parametrize(
    ("effort", "dialect", "expected"),
    [
        ("max", None, ({"type": "adaptive", "display": "summarized"}, {"effort": "max"})),
        ("max", "openrouter", ({"type": "adaptive"}, {"effort": "max"})),
        ("max", "deepseek", (None, {"effort": "max"})),
        ("max", "minimax", ({"type": "adaptive"}, {"effort": "max"})),
        ("off", None, ({"type": "disabled"}, None)),
        ("off", "moonshot", ({"type": "disabled"}, None)),
    ],
)
def test_efforts_that_are_configured(effort: str, dialect: str | None, expected: object) -> None:
    """An effort is output_config.effort, with adaptive thinking where the host has it; off switches thinking off."""
    built = WIRE.codec(dialect).build(asking(reasoning_effort=effort), BuildContext(KNOWN))

    body = json.loads(built.body)
    assert (body.get("thinking"), body.get("output_config")) == expected


def test_efforts_outside_a_known_list() -> None:
    """An effort that the model, or the row, is known not to have is refused; an unknown list lets it through (R4)."""
    refused = failure_of(lambda: WIRE.codec(None).build(asking(reasoning_effort="low"), BuildContext(KNOWN)))
    by_row = failure_of(lambda: body_of(asking(reasoning_effort="low"), "ollama"))

    assert refused.code == by_row.code == codes.UNSUPPORTED_REASONING_EFFORT
    assert "(dialect anthropic): the efforts are off, max" in str(refused)
    assert "(dialect ollama): it has no efforts to set" in by_row.failure.message
    assert body_of(asking(reasoning_effort="any"))["output_config"] == {"effort": "any"}


@pytest.mark.parametrize(
    "fields",
    [
        {"temperature": float("nan")},
        {"top_p": float("inf")},
        {"extra": {"anthropic-messages": {"x": float("nan")}}},
        {"extra": {"anthropic-messages": {"model": "other"}}},
        {"extra": {"anthropic-messages": {"stream": False}}},
        {"tools": [ToolSpec("f", parameters={"x": float("nan")})]},
        {"response_format": JsonSchema("a", {"x": float("nan")})},
    ],
)
def test_requests_that_are_wrong_by_themselves(fields: dict[str, object]) -> None:
    """Numbers that are not JSON, and extra fields that the request sets itself, are INVALID_OPTIONS (Q8, Q9)."""
    assert failure_of(lambda: WIRE.codec(None).build(asking(**fields), BuildContext())).code == codes.INVALID_OPTIONS


def test_extra_is_merged_last() -> None:
    """Extra fields of this wire go to the top level as they are, also in place of what is not set (Q9)."""
    budget = {"type": "enabled", "budget_tokens": 2048}

    assert body_of(asking(extra={"anthropic-messages": {"thinking": budget}}))["thinking"] == budget


def test_lone_surrogates_become_u_fffd() -> None:
    """A half of a pair anywhere in the request goes out as U+FFFD; embedded arguments stay as they are (Q8)."""
    options = asking(
        user("a\ud83d"),
        called("t", arguments='{"\ud83d": 1.0}'),
        tool_result("t", "\ude00"),
        tools=[ToolSpec("f", parameters={"\ud83d": ["\ud83d"]})],
    )

    request = WIRE.request(options)

    assert '{"\ufffd": 1.0}'.encode() in request.body
    assert body_of(options)["tools"] == [{"name": "f", "input_schema": {"\ufffd": ["\ufffd"]}}]


def test_beginning_of_an_answer_is_trimmed() -> None:
    """A last assistant text, to be continued, loses trailing white space; earlier ones keep theirs (Q112)."""
    assert turns(user("q"), assistant("one "), user("r"), assistant("The answer is \n")) == [
        turn("user", words("q")),
        turn("assistant", words("one ")),
        turn("user", words("r")),
        turn("assistant", words("The answer is")),
    ]


def test_vertex_has_the_model_in_its_path() -> None:
    """Vertex takes model and version elsewhere: path and body (wire notes, section 10)."""
    options = GenerateOptions(provider="p", model="claude-haiku-4-5@20251001", messages=[user("hi")])

    request = WIRE.codec("vertex").build(options, BuildContext())

    assert request.path == "/publishers/anthropic/models/claude-haiku-4-5@20251001:streamRawPredict"
    assert "anthropic-version" not in request.headers
    assert json.loads(request.body) == {
        "anthropic_version": "vertex-2023-10-16",
        "max_tokens": 8192,
        "messages": [turn("user", words("hi"))],
        "stream": True,
    }
    odd = WIRE.codec("vertex").build(
        GenerateOptions(provider="p", model="a/../b?", messages=[user("hi")]), BuildContext()
    )
    assert odd.path == "/publishers/anthropic/models/a%2F..%2Fb%3F:streamRawPredict"


def test_half_a_pair_in_model_and_session() -> None:
    """A lone surrogate in the model or the session goes out as U+FFFD, in body, path and header alike (Q8)."""
    options = GenerateOptions(provider="p", model="\ud800", messages=[user("hi")], session_id="\udc00")

    built = {name: WIRE.codec(name).build(options, BuildContext()) for name in ("anthropic", "vertex", "openrouter")}

    assert json.loads(built["anthropic"].body)["model"] == "\ufffd"
    assert built["vertex"].path == "/publishers/anthropic/models/%EF%BF%BD:streamRawPredict"
    assert built["openrouter"].headers["x-session-id"] == "%EF%BF%BD"


def test_session_is_a_header_where_the_host_reads_it() -> None:
    """OpenRouter keeps a session at one cache by x-session-id; elsewhere the hint is not used."""
    built = [
        WIRE.codec(dialect).build(asking(session_id="a b"), BuildContext()).headers.get("x-session-id")
        for dialect in ("openrouter", "anthropic")
    ]

    assert built == ["a%20b", None]
    assert "x-session-id" not in WIRE.codec("openrouter").build(asking(), BuildContext()).headers


def test_long_histories_are_quick() -> None:
    """A request of 2,000 messages costs milliseconds, not seconds."""
    messages = [user("question") if number % 2 == 0 else assistant("answer") for number in range(2_001)]

    sent = turns(*messages)

    assert isinstance(sent, list)
    assert len(sent) == 2_001
