"""Options to fields: spellings of the rows, refusals by name, efforts, cache and extra (Q1, Q8, Q9, R4)."""

from typing import Any

import pytest

from chat_requests import ADD, PNG, SCHEMA, attempt, body_of, refusal
from limen.adapters import BuildContext
from limen.adapters.openai_chat import WIRE
from limen.contract import (
    Effort,
    GenerateOptions,
    ImageBlock,
    JsonSchema,
    LlmError,
    Message,
    ModelInfo,
    TextBlock,
    ToolChoice,
    ToolSpec,
    assistant,
    codes,
    system,
    user,
)


def model(**facts: Any) -> ModelInfo:
    """Return facts about the model that the requests here name."""
    return ModelInfo("route", "m", "m", **facts)


class TestEfforts:
    """R4: the model's own list, else the row's, else the value as given; never invented, never clamped."""

    @pytest.mark.parametrize(
        ("dialect", "effort", "fields"),
        [
            ("openai", "xhigh", {"reasoning_effort": "xhigh"}),
            ("openai", "off", {"reasoning_effort": "none"}),
            ("deepseek", "max", {"thinking": {"type": "enabled"}, "reasoning_effort": "max"}),
            ("deepseek", "off", {"thinking": {"type": "disabled"}}),
            ("openrouter", "low", {"reasoning": {"effort": "low"}}),
            ("openrouter", "off", {"reasoning": {"effort": "none"}}),
            ("together", "off", {"reasoning": {"enabled": False}}),
            ("dashscope", "low", {"enable_thinking": True, "reasoning_effort": "low"}),
            ("llamacpp", "high", {"chat_template_kwargs": {"reasoning_effort": "high"}}),
            ("llamacpp", "off", {"chat_template_kwargs": {"enable_thinking": False}}),
            ("vllm", "off", {"chat_template_kwargs": {"enable_thinking": False}}),
            ("vllm", "max", {"reasoning_effort": "max"}),
            ("sglang", "off", {"chat_template_kwargs": {"enable_thinking": False}}),
            ("lmstudio", "off", {"reasoning_effort": "none"}),
            ("lmstudio", "xhigh", {"reasoning_effort": "xhigh"}),
            ("ollama", "max", {"reasoning_effort": "max"}),
            ("generic", "whatever", {"reasoning_effort": "whatever"}),
        ],
    )
    def test_spelling(self, dialect: str, effort: str, fields: dict[str, Any]) -> None:
        """An effort is written as the row spells it, and nothing else changes."""
        assert body_of(dialect, reasoning_effort=effort) == {**body_of(dialect), **fields}

    @pytest.mark.parametrize(
        ("dialect", "effort", "reason"),
        [
            ("deepseek", "medium", "the efforts are off, low, high, max"),
            ("openai", "max", "the efforts are off, minimal, low, medium, high, xhigh"),
            ("nvidia", "low", "it has no efforts to set"),
            ("ollama", "xhigh", "the efforts are off, low, medium, high, max"),
            ("ollama", "minimal", "the efforts are off, low, medium, high, max"),
            ("generic", "off", "this wire cannot turn reasoning off"),
            ("perplexity", "off", "the efforts are minimal, low, medium, high"),
        ],
    )
    def test_refusal(self, dialect: str, effort: str, reason: str) -> None:
        """Another one is `UNSUPPORTED_REASONING_EFFORT`, with the list."""
        error = refusal(dialect, reasoning_effort=effort)
        assert (error.code, str(error)) == (
            codes.UNSUPPORTED_REASONING_EFFORT,
            f"reasoning_effort '{effort}' cannot be sent to route/m (dialect {dialect}): {reason}",
        )

    def test_a_models_own_list_decides(self) -> None:
        """What is known of the exact model goes before the row's list; an empty list is known too."""
        own = model(efforts=(Effort("medium", "Medium"),))
        assert body_of("deepseek", model=own, reasoning_effort="medium")["reasoning_effort"] == "medium"
        assert refusal("deepseek", model=own, reasoning_effort="low").code == codes.UNSUPPORTED_REASONING_EFFORT
        assert "no efforts" in str(refusal("generic", model=model(efforts=()), reasoning_effort="low"))

    def test_a_model_cannot_bring_what_the_wire_has_no_word_for(self) -> None:
        """A listed effort, or `off`, is refused where the row cannot spell it."""
        own = model(efforts=(Effort("low", "low"), Effort("off", "off")))
        found = [str(refusal("nvidia", model=own, reasoning_effort=effort)) for effort in ("low", "off")]
        assert [text.rpartition(": ")[2] for text in found] == [
            "it has no such field",
            "this wire cannot turn reasoning off",
        ]


class TestToolChoice:
    """Choices among tools, and what they need."""

    def test_by_name(self) -> None:
        """A named choice is the wire's object."""
        found = body_of(tools=[ADD], tool_choice=ToolChoice("add"), parallel_tool_calls=False)
        assert (found["tool_choice"], found["parallel_tool_calls"]) == (
            {"type": "function", "function": {"name": "add"}},
            False,
        )

    def test_by_a_name_that_is_no_tool(self) -> None:
        """A choice of a tool that is not there is wrong by itself."""
        error = refusal(tools=[ADD], tool_choice=ToolChoice("sub"))
        assert (error.code, "'sub'" in str(error)) == (codes.INVALID_OPTIONS, True)

    def test_a_word_that_is_none(self) -> None:
        """A word outside the vocabulary is wrong by itself."""
        word: Any = "any"
        assert refusal(tools=[ADD], tool_choice=word).code == codes.INVALID_OPTIONS

    @pytest.mark.parametrize("fields", [{"tool_choice": "auto"}, {"parallel_tool_calls": True}])
    def test_without_tools(self, fields: dict[str, Any]) -> None:
        """How to use tools is not said without tools: servers answer 400."""
        error = refusal(**fields)
        assert (error.code, str(error).partition(" ")[0]) == (codes.UNSUPPORTED, next(iter(fields)))

    @pytest.mark.parametrize(
        ("dialect", "choice", "reason"),
        [
            ("zai", "required", "of tool choices it honours auto, not required"),
            ("moonshot", ToolChoice("add"), "of tool choices it honours auto, none, required, not the tool 'add'"),
            ("lmstudio", ToolChoice("add"), "of tool choices it honours auto, none, required, not the tool 'add'"),
            ("minimax", "auto", "its documentation has no such parameter"),
        ],
    )
    def test_that_a_row_does_not_have(self, dialect: str, choice: Any, reason: str) -> None:
        """What a dialect ignores is refused instead of weakened."""
        assert str(refusal(dialect, tools=[ADD], tool_choice=choice)).endswith(reason)

    def test_deepseek_forces_no_tool_while_it_thinks(self) -> None:
        """400 "Thinking mode does not support this tool_choice" is known beforehand (recorded 2026-06)."""
        forced: dict[str, Any] = {"tools": [ADD], "tool_choice": "required"}
        assert "reasoning_effort" in str(refusal("deepseek", reasoning_effort="high", **forced))
        assert body_of("deepseek", reasoning_effort="off", **forced)["tool_choice"] == "required"
        assert body_of("deepseek", **forced)["tool_choice"] == "required"
        assert body_of("deepseek", tools=[ADD], tool_choice="auto", reasoning_effort="low")["tool_choice"] == "auto"


class TestTools:
    """Names and counts."""

    @pytest.mark.parametrize(
        ("dialect", "name"),
        [("openai", "a.b"), ("openai", "x" * 65), ("moonshot", "1abc"), ("moonshot", "ab"), ("mistral", "é")],
    )
    def test_a_name_over_a_limit_is_refused_with_its_path(self, dialect: str, name: str) -> None:
        """A name that the server would refuse is refused before I/O, naming `tools[i].name`."""
        error = refusal(dialect, tools=[ADD, ToolSpec(name)])
        assert (error.code, str(error).partition(" ")[0]) == (codes.UNSUPPORTED, "tools[1].name")

    def test_an_empty_or_repeated_name_is_wrong_by_itself(self) -> None:
        """No server can tell two tools of one name apart (Q139)."""
        found = [refusal(tools=tools) for tools in ([ToolSpec("")], [ADD, ADD])]
        assert [(error.code, str(error)) for error in found] == [
            (codes.INVALID_OPTIONS, "tools[0].name is empty (for route/m)"),
            (codes.INVALID_OPTIONS, "tools[1].name is 'add', which another tool has (for route/m)"),
        ]

    def test_too_many(self) -> None:
        """A count over the row's limit is refused."""
        many = [ToolSpec(f"t{index}") for index in range(129)]
        assert str(refusal("openai", tools=many)).endswith("it takes at most 128 tools, and there are 129")
        assert len(body_of("generic", tools=many)["tools"]) == 129

    def test_only_what_is_set(self) -> None:
        """Description, parameters and strict appear where they are set (Q3)."""
        found = body_of(tools=[ToolSpec("a"), ToolSpec("b", "B.", {}, strict=False)])["tools"]
        assert [tool["function"] for tool in found] == [
            {"name": "a"},
            {"name": "b", "description": "B.", "parameters": {}, "strict": False},
        ]

    def test_not_strict_says_nothing_where_strict_is_refused(self) -> None:
        """`strict=False` is what such a server does anyway, and some refuse the key (Q3)."""
        assert body_of("ollama", tools=[ToolSpec("a", strict=False)]) == body_of("ollama", tools=[ToolSpec("a")])


class TestResponseFormat:
    """Text, JSON, and JSON of a schema."""

    def test_spelling(self) -> None:
        """Each form is the wire's own object; strict only where asked for."""
        forms: tuple[Any, ...] = ("text", "json", JsonSchema("a", SCHEMA), JsonSchema("a", SCHEMA, strict=True))
        assert [body_of("openai", response_format=form)["response_format"] for form in forms] == [
            {"type": "text"},
            {"type": "json_object"},
            {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA}},
            {"type": "json_schema", "json_schema": {"name": "a", "schema": SCHEMA, "strict": True}},
        ]

    @pytest.mark.parametrize(
        ("dialect", "form", "words"),
        [
            ("deepseek", JsonSchema("a", SCHEMA), "of answer formats it has json, text, not json-schema"),
            ("lmstudio", "json", "of answer formats it has json-schema, text, not json"),
            ("openai", JsonSchema("a b", SCHEMA), "response_format.name cannot be sent"),
            ("ollama", JsonSchema("a", SCHEMA, strict=True), "response_format.strict cannot be sent"),
            ("zai", JsonSchema("a", SCHEMA), "of answer formats it has json, text, not json-schema"),
        ],
    )
    def test_refusal(self, dialect: str, form: Any, words: str) -> None:
        """A form that the row does not have, a name over its limits and strict where nothing holds it are refused."""
        error = refusal(dialect, response_format=form)
        assert (error.code, words in str(error)) == (codes.UNSUPPORTED, True)

    def test_a_word_that_is_none(self) -> None:
        """A word outside the vocabulary is wrong by itself."""
        assert refusal(response_format="xml").code == codes.INVALID_OPTIONS
        assert refusal("openai", cache="forever").code == codes.INVALID_OPTIONS


class TestNumbers:
    """Caps, sampling, stops and seeds."""

    @pytest.mark.parametrize(
        ("dialect", "fields", "written"),
        [
            ("openai", {"max_tokens": 5}, {"max_completion_tokens": 5}),
            ("generic", {"max_tokens": 5}, {"max_tokens": 5}),
            ("mistral", {"seed": 5}, {"random_seed": 5}),
            ("openai", {"seed": 5}, {"seed": 5}),
            ("openai", {"stop": "END"}, {"stop": ["END"]}),
            ("generic", {"temperature": 0, "top_p": 1.0}, {"temperature": 0, "top_p": 1.0}),
        ],
    )
    def test_spelling(self, dialect: str, fields: dict[str, Any], written: dict[str, Any]) -> None:
        """A cap and a seed have the row's names (Q096)."""
        assert body_of(dialect, **fields) == {**body_of(dialect), **written}

    def test_too_many_stops(self) -> None:
        """A count of stops over the row's limit is refused, not cut."""
        error = refusal("openai", stop=list("abcde"))
        assert str(error).endswith("it takes at most 4, and there are 5")

    def test_default_caps(self) -> None:
        """A call's own cap goes before the model's, and the model's before the adapter's (R4)."""
        facts = model(default_max_tokens=2)
        chosen = [
            (BuildContext(facts, 3), 1, 1),
            (BuildContext(facts, 3), None, 2),
            (BuildContext(model(), 3), None, 3),
            (BuildContext(None, 3), None, 3),
        ]
        for context, asked, expected in chosen:
            options = GenerateOptions("route", "m", [user("q")], max_tokens=asked)
            assert f'"max_tokens":{expected}'.encode() in WIRE.codec("generic").build(options, context).body
        assert "max_tokens" not in body_of()

    @pytest.mark.parametrize(
        ("fields", "path"),
        [
            ({"temperature": float("nan")}, "temperature"),
            ({"top_p": float("inf")}, "top_p"),
            ({"max_tokens": float("nan")}, "max_tokens"),
            ({"seed": float("nan")}, "seed"),
            ({"tools": [ToolSpec("a", None, {"x": [1, {"y": float("nan")}]})]}, "tools[0].parameters.x[1].y"),
            ({"response_format": JsonSchema("a", {"x": float("inf")})}, "response_format.schema.x"),
            ({"extra": {"openai-chat": {"x": float("nan")}}}, "extra.openai-chat.x"),
            ({"extra": {"openai-chat": {"x": {1, 2}}}}, "extra.openai-chat.x"),
        ],
    )
    def test_Q8_what_is_no_json_is_refused_by_name(self, fields: dict[str, Any], path: str) -> None:
        """A NaN, an infinity or a foreign object is `INVALID_OPTIONS` naming its path (Q8)."""
        error = refusal(**fields)
        assert (error.code, str(error).partition(" ")[0]) == (codes.INVALID_OPTIONS, path)


class TestRows:
    """Facts of single rows."""

    def test_moonshot_holds_tools_and_answers_to_a_schema(self) -> None:
        """Moonshot takes strict tools, JSON schemas and `required`; images only as bytes."""
        body = body_of(
            "moonshot",
            tools=[ToolSpec("add", None, SCHEMA, strict=True)],
            tool_choice="required",
            response_format=JsonSchema("a", SCHEMA, strict=True),
        )
        assert (body["tools"][0]["function"]["strict"], body["tool_choice"]) == (True, "required")
        assert body["response_format"]["json_schema"] == {"name": "a", "schema": SCHEMA, "strict": True}
        error = refusal("moonshot", messages=[user([ImageBlock(url="https://x.test/a.png")])])
        assert str(error).endswith("it takes images as bytes only, not by address")

    def test_zai_takes_a_seed_and_no_strict_tool(self) -> None:
        """Z.ai documents `seed` and nothing that holds a tool to its schema."""
        error = refusal("zai", tools=[ToolSpec("add", None, SCHEMA, strict=True)])
        assert (body_of("zai", seed=7)["seed"], str(error).partition(" ")[0]) == (7, "tools[0].strict")

    def test_perplexity_takes_stops(self) -> None:
        """Perplexity documents `stop`."""
        assert body_of("perplexity", stop=["END"])["stop"] == ["END"]

    def test_fireworks_does_not_lower_a_cap(self) -> None:
        """Beside an output cap Fireworks is told to answer with an error; `extra` may ask for less (Q1)."""
        field = "context_length_exceeded_behavior"
        own = {"openai-chat": {field: "truncate"}}
        found = [
            body_of("fireworks"),
            body_of("fireworks", max_tokens=5),
            body_of("fireworks", max_tokens=5, extra=own),
        ]
        assert [body.get(field) for body in found] == [None, "error", "truncate"]


class TestCache:
    """`cache` asks where the wire has something to ask with (Q1)."""

    def test_fields(self) -> None:
        """OpenAI takes a long retention; no field asks every model for a short one ("in_memory" is a 400 of late)."""
        assert body_of("openai", cache="long") == {**body_of("openai"), "prompt_cache_retention": "24h"}
        assert str(refusal("openai", cache="short")).endswith("nothing on this wire asks for short prompt caching")

    def test_Q142_marks_only_where_the_row_takes_them(self) -> None:
        """`cache_control` stands on the system text and the last message, and on no other dialect's."""
        history = [user("a"), assistant("b"), user("c")]
        found = body_of("openrouter", messages=history, system="s", cache="long")["messages"]
        mark = {"type": "ephemeral", "ttl": "1h"}
        assert found == [
            {"role": "system", "content": [{"type": "text", "text": "s", "cache_control": mark}]},
            {"role": "user", "content": "a"},
            {"role": "assistant", "content": "b"},
            {"role": "user", "content": [{"type": "text", "text": "c", "cache_control": mark}]},
        ]
        assert refusal("generic", cache="short").code == codes.UNSUPPORTED

    def test_marks_in_parts(self) -> None:
        """In a list of parts the last text is marked; a message without text stays as it is."""
        history = [user([TextBlock("a"), TextBlock("b"), PNG])]
        parts = body_of("openrouter", messages=history, cache="short")["messages"][0]["content"]
        empty = body_of("openrouter", messages=[system("s"), user("")], cache="short")["messages"][1]["content"]
        assert [one.get("cache_control") for one in parts] == [None, {"type": "ephemeral"}, None]
        assert empty == ""

    @pytest.mark.parametrize("message", [user([PNG]), user("")])
    def test_nothing_to_mark(self, message: Message) -> None:
        """A request for caching that finds no text to mark is refused, not forgotten (Q1)."""
        error = refusal("openrouter", messages=[message], cache="short")
        assert str(error).endswith("neither the system text nor the last message has a text to mark")

    def test_only_short_where_there_is_no_long(self) -> None:
        """A row that has one of the two refuses the other."""
        assert str(refusal("dashscope", cache="long")).endswith("nothing on this wire asks for long prompt caching")


class TestExtra:
    """Q9: merged last, at the top level, never over a field that the serializer wrote."""

    def test_merged(self) -> None:
        """Fields go out as they are, `null` included, since the caller wrote it."""
        extra = {"openai-chat": {"top_k": 3, "x": {"y": [None]}, "n": 1, "modalities": ["text"]}}
        assert body_of(extra=extra) == {**body_of(), **extra["openai-chat"]}

    @pytest.mark.parametrize(
        ("extra", "code", "path"),
        [
            ({"openai-chat": {"model": "x"}}, codes.INVALID_OPTIONS, "extra.openai-chat.model"),
            ({"openai-chat": {"stream": False}}, codes.INVALID_OPTIONS, "extra.openai-chat.stream"),
            ({"openai-chat": {"temperature": 1}}, codes.INVALID_OPTIONS, "extra.openai-chat.temperature"),
            ({"openai-chat": 3}, codes.INVALID_OPTIONS, "extra.openai-chat"),
            ({"gemini-generate": {"x": 1}}, codes.UNSUPPORTED, "extra.gemini-generate"),
            ({"openai-chat": {"n": 2}}, codes.UNSUPPORTED, "extra.openai-chat.n"),
            ({"openai-chat": {"audio": {"voice": "a"}}}, codes.UNSUPPORTED, "extra.openai-chat.audio"),
            ({"openai-chat": {"modalities": ["text", "audio"]}}, codes.UNSUPPORTED, "extra.openai-chat.modalities"),
            ({"openai-chat": {"modalities": "audio"}}, codes.UNSUPPORTED, "extra.openai-chat.modalities"),
        ],
    )
    def test_refusal(self, extra: dict[str, Any], code: str, path: str) -> None:
        """A written key is `INVALID_OPTIONS`; what belongs elsewhere, or is not offered, `UNSUPPORTED` (C14)."""
        error = refusal(extra=extra, temperature=0.5)
        assert (error.code, str(error).partition(" ")[0]) == (code, path)

    def test_a_key_that_this_request_did_not_write_is_free(self) -> None:
        """Only what the serializer wrote itself is taken."""
        assert attempt("openai", extra={"openai-chat": {"max_tokens": 3}}, max_tokens=5)["max_tokens"] == 3


def test_an_llm_error_is_what_is_raised() -> None:
    """Every refusal is an `LlmError` that says it happened before any request (E6)."""
    error = refusal(tools=[ToolSpec("")])
    assert (type(error), error.failure.phase, error.failure.status) == (LlmError, "resolve", None)
