"""Rows as people write them: read whole, or a failed row that says where and why (B1)."""

import json

import pytest

from limen import Failure, GenerateOptions, JsonSchema, Message, TextBlock, ToolChoice, ToolSpec, user
from limen.batch import Row, read_row
from limen.batch._openai_body import EXTRA, FIXED, MAPPED, REFUSED

HI = [{"role": "user", "content": "hi"}]


def line(body: dict[str, object], **fields: object) -> str:
    """A line of OpenAI's batches."""
    whole = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": HI, **body}}
    return json.dumps({**whole, **fields})


def fault(given: object) -> str:
    """The message of the failure that a row is read as."""
    read = read_row(given if isinstance(given, str | bytes) else json.dumps(given), 7, "r/m")
    assert read.failure is not None, read
    assert (read.line, read.failure.code, read.failure.phase) == (7, "INVALID_OPTIONS", "resolve")
    return read.failure.message


def test_a_row_of_limens_own_form() -> None:
    """A row holds an id and the options of a request; the batch's model wins over the row's own."""
    options = {"provider": "r", "model": "own", "messages": [], "maxTokens": 5}
    assert read_row(json.dumps({"id": "a", "options": options}), 3) == Row(
        3, GenerateOptions("r", "own", [], max_tokens=5), "a"
    )
    assert read_row({"id": 4, "options": options}, 3, "other/x/y") == Row(
        3, GenerateOptions("other", "x/y", [], max_tokens=5), 4
    )


def test_values_are_rows_too() -> None:
    """`GenerateOptions` and a `Row` are taken as they are, with the batch's model in them."""
    options = GenerateOptions("r", "m", [user("hi")])
    aimed = GenerateOptions("o", "x", [user("hi")])
    broken = Row(2, failure=Failure("no", "INVALID_OPTIONS"))
    assert [read_row(one, 1) for one in (options, Row(9, options))] == [Row(1, options), Row(9, options)]
    assert [read_row(one, 1, "o/x") for one in (options, Row(9, options), broken)] == [
        Row(1, aimed),
        Row(9, aimed),
        broken,
    ]


def test_a_row_is_one_or_the_other() -> None:
    """A row without options and failure, or with both, is refused."""
    with pytest.raises(ValueError, match="either the options"):
        Row(1)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (b'{"id": \xff', "row: this is not JSON: "),
        ("[" * 200, "row: this is not JSON: "),
        ("[1]", "row: an object is expected"),
        ({"id": True, "options": {}}, "id: a text or a whole number is expected, not True"),
        ({"id": "a"}, "options: it is missing; "),
        ({"id": "a", "option": {}}, "option: there is no such field in a row; did you mean 'options'?"),
        ({"options": 5}, "options: an object is expected"),
        ({"options": {"messages": [], "maxTokns": 1}}, "options.maxTokns: there is no such field; did you mean 'max"),
        ({"options": {"messages": [{"role": "user", "content": [{"type": "text", "text": "a", "x": 1}]}]}},
         "options.messages[0].content[0].x: there is no such field"),
        ({"options": {"messages": [{"role": "user", "content": [{"type": "txt"}]}]}}, "options: this is not the JSON"),
        ({"options": {"messages": [], "temperature": "hot"}}, "options: this is not the JSON of a request: "),
        ({"options": {"messages": [], "timeouts": {}}}, "options.timeouts: it has no JSON form"),
    ],
)  # fmt: skip
def test_a_broken_row_says_where_and_why(given: object, words: str) -> None:
    """A fault in a row is a failure with the path, and an unknown field has the nearest known name."""
    assert fault(given).startswith(words)


def test_a_row_without_a_model() -> None:
    """A row that names no route and no model fails, and says how one is given."""
    for given, words in (
        ({"options": {"messages": [], "provider": "r"}}, "options.model: it is missing; "),
        (json.loads(line({"model": "gpt"})), "body.model: 'gpt' names no route; "),
        (json.loads(line({})), "body.model: None names no route; "),
        (json.loads(line({"model": "/m"})), "body.model: a model is written 'ROUTE/MODEL'"),
    ):
        failure = read_row(given, 1).failure
        assert failure is not None
        assert failure.message.startswith(words)


def test_a_mapping_with_what_is_no_json() -> None:
    """A number that JSON has no word for is refused in a mapping, too (Q8)."""
    failure = read_row({"options": {"messages": [], "temperature": float("nan")}}, 1, "r/m").failure
    assert failure == Failure(
        "row: row.options.temperature is nan, which JSON has no word for", "INVALID_OPTIONS", "resolve"
    )


def test_free_json_in_options_stays_free() -> None:
    """Inside schemas and `extra` any field may stand."""
    options: dict[str, object] = {
        "messages": [],
        "tools": [{"name": "f", "parameters": {"anything": [{"goes": 1}]}}],
        "toolChoice": {"type": "tool", "name": "f"},
        "extra": {"openai-chat": {"top_k": 3}},
    }
    read = read_row({"options": options}, 1, "r/m").options
    assert read == GenerateOptions(
        "r",
        "m",
        [],
        tools=[ToolSpec("f", None, {"anything": [{"goes": 1}]})],
        tool_choice=ToolChoice("f"),
        extra={"openai-chat": {"top_k": 3}},
    )


def test_every_mapped_field_of_a_batch_line() -> None:
    """Each mapped field of OpenAI's body has its place in the request."""
    schema = {"name": "s", "schema": {"type": "object"}, "strict": True}
    body = {
        "model": "gpt",
        "tools": [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {}}}],
        "tool_choice": {"type": "function", "function": {"name": "f"}},
        "parallel_tool_calls": False,
        "response_format": {"type": "json_schema", "json_schema": schema},
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 5,
        "max_completion_tokens": 5,
        "stop": "x",
        "seed": 3,
        "reasoning_effort": "low",
    }  # fmt: skip
    assert set(body) == {*MAPPED, "model"}
    assert read_row(line(body), 1, "r/m") == Row(
        1,
        GenerateOptions(
            "r",
            "m",
            [Message("user", [TextBlock("hi")])],
            tools=[ToolSpec("f", "d", {})],
            tool_choice=ToolChoice("f"),
            parallel_tool_calls=False,
            response_format=JsonSchema("s", {"type": "object"}, True),
            temperature=0.5,
            top_p=0.9,
            max_tokens=5,
            stop=["x"],
            seed=3,
            reasoning_effort="low",
        ),
        "a",
    )


def test_simple_forms_of_mapped_fields() -> None:
    """Words and lists that limen has too are taken as they are, and the body's own model may name the route."""
    for written, meant in (({"type": "text"}, "text"), ({"type": "json_object"}, "json")):
        read = read_row(line({"model": "r/a/b", "response_format": written, "tool_choice": "none", "stop": ["x"]}), 1)
        assert read.options == GenerateOptions(
            "r", "a/b", [user("hi")], response_format=meant, tool_choice="none", stop=["x"]  # type: ignore[arg-type]
        )  # fmt: skip


@pytest.mark.parametrize("field", sorted(EXTRA))
def test_extra_fields_go_on_the_wire(field: str) -> None:
    """A field that limen has no place for, and the wire has, stands in `extra`."""
    read = read_row(line({field: {"a": 1}}), 1, "r/m").options
    assert read is not None
    assert read.extra == {"openai-chat": {field: {"a": 1}}}


@pytest.mark.parametrize("field", sorted(FIXED))
def test_fixed_fields(field: str) -> None:
    """A field that a batch cannot vary may hold the value that changes nothing, and no other."""
    assert read_row(line({field: FIXED[field]}), 1, "r/m").options == GenerateOptions("r", "m", [user("hi")])
    assert read_row(line({field: None}), 1, "r/m").options == GenerateOptions("r", "m", [user("hi")])
    assert fault(line({field: 2})).startswith(f"body.{field}: a batch has {FIXED[field]!r} here alone, not 2")
    assert fault(line({"n": True})) == "body.n: a batch has 1 here alone, not True"


@pytest.mark.parametrize(("field", "words"), sorted(REFUSED.items()))
def test_refused_fields(field: str, words: str) -> None:
    """A field without any place is refused, with what to do."""
    assert fault(line({field: {}})) == f"body.{field}: {words}"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (line({"max_token": 1}), "body.max_token: there is no such field; did you mean 'max_tokens'?; a provider"),
        (line({"max_tokens": 1, "max_completion_tokens": 2}), "body.max_completion_tokens: another field says other"),
        (line({"messages": "hi"}), "body.messages: a list of messages is expected"),
        (line({"messages": [{"role": "user", "content": "x", "name": "n"}]}),
         "body.messages[0].name: limen has no place for this field"),
        (line({"temperature": "hot"}), "body: this is not the JSON of a request: "),
        (line({"tools": {}}), "body.tools: a list of tools is expected"),
        (line({"tools": [{"type": "custom"}]}), 'body.tools[0]: {"type": "function", "function": …} is expected'),
        (line({"tools": [{"type": "function", "function": {}, "x": 1}]}), "body.tools[0].x: there is no such field"),
        (line({"tools": [{"type": "function", "function": 1}]}), "body.tools[0].function: an object is expected"),
        (line({"response_format": {"type": "json_schema", "json_schema": {"description": "d"}}}),
         "body.response_format.json_schema.description: limen has no place for this field"),
        (line({}, url="/v1/embeddings"), "url: a batch asks /v1/chat/completions alone, not '/v1/embeddings'"),
        (line({}, method="GET"), "method: a batch asks POST alone, not 'GET'"),
        (line({}, options={}), "options: there is no such field in a row"),
        ('{"custom_id": "a", "body": 3}', "body: an object is expected"),
    ],
)  # fmt: skip
def test_what_has_no_place_in_a_batch_line(given: str, words: str) -> None:
    """Nothing of a line is dropped: what has no place is a failure with its path."""
    assert fault(given).startswith(words)
