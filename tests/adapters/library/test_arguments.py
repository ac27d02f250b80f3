"""Options as the arguments of the library's call: written or refused before any I/O."""

from collections.abc import Mapping

import pytest

from adapters.library._fake_litellm import Answer, Fake, install, part
from limen.adapters.library import LiteLlmAdapter, LiteLlmOptions
from limen.contract import (
    FileBlock,
    GenerateOptions,
    ImageBlock,
    JsonSchema,
    LlmError,
    Message,
    ModelInfo,
    ModelSource,
    ReasoningBlock,
    ReportsCall,
    TextBlock,
    ToolCallBlock,
    ToolChoice,
    ToolSpec,
    assistant,
    system,
    tool_result,
    user,
)

KEY = "sk-fake-0123456789"
PNG = b"\x89PNG\r\n\x1a\nx"
ADD = ToolSpec("add", "Adds", {"type": "object"}, strict=True)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Fake:
    return install(monkeypatch)


def asked(*messages: Message, **more: object) -> GenerateOptions:
    return GenerateOptions(provider="route", model="some/model", messages=messages or (user("hi"),), **more)  # type: ignore[arg-type]


async def sent(
    fake: Fake, options: GenerateOptions, adapter_options: LiteLlmOptions | None = None
) -> Mapping[str, object]:
    """The arguments of the library's one call."""
    fake.answer = Answer([part(content="a", finish="stop")])
    adapter = LiteLlmAdapter(adapter_options or LiteLlmOptions(provider="openai", api_key=KEY))
    stream = adapter.stream(options)
    async for _ in stream:
        pass
    (arguments,) = fake.calls
    assert isinstance(stream, ReportsCall)
    return {**arguments, "dropped": [drop.reason for drop in stream.call_facts.replay_dropped]}


async def refused(fake: Fake, options: GenerateOptions) -> LlmError:
    with pytest.raises(LlmError) as caught:
        await sent(fake, options)
    assert fake.calls == []
    return caught.value


async def test_every_option(fake: Fake) -> None:
    """Every field that is set is an argument; the route's own facts and limen's rules stand beside (Q1, Q2, Q5, Q7)."""
    options = asked(
        system="be brief",
        tools=[ADD, ToolSpec("now")],
        tool_choice=ToolChoice("add"),
        parallel_tool_calls=True,
        response_format=JsonSchema("answer", {"type": "object"}, strict=True),
        temperature=0.5,
        top_p=0.25,
        max_tokens=9,
        stop=["END"],
        seed=7,
        reasoning_effort="high",
        extra={"litellm": {"user": "somebody"}},
    )
    own = LiteLlmOptions(
        provider="openai", base_url="https://api.example.test/v1", api_key=KEY, headers={"X-A": "b"}, app="mine/1.0"
    )
    arguments = dict(await sent(fake, options, own))
    agent = arguments.pop("extra_headers")

    assert arguments == {
        "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "add",
                    "description": "Adds",
                    "parameters": {"type": "object"},
                    "strict": True,
                },
            },
            {"type": "function", "function": {"name": "now"}},
        ],
        "tool_choice": {"type": "function", "function": {"name": "add"}},
        "parallel_tool_calls": True,
        "temperature": 0.5,
        "top_p": 0.25,
        "seed": 7,
        "stop": ["END"],
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": {"type": "object"}, "strict": True},
        },
        "max_tokens": 9,
        "reasoning_effort": "high",
        "user": "somebody",
        "custom_llm_provider": "openai",
        "api_base": "https://api.example.test/v1",
        "api_key": KEY,
        "model": "some/model",
        "stream": True,
        "stream_options": {"include_usage": True},
        "num_retries": 0,
        "max_retries": 0,
        "drop_params": False,
        "dropped": [],
    }
    assert isinstance(agent, dict)
    assert (agent["X-A"], agent["User-Agent"].startswith("mine/1.0 limen/")) == ("b", True)


async def test_what_is_not_set_is_no_argument(fake: Fake) -> None:
    """Unset fields do not appear (Q3); a plain format is no field, a JSON one is; the model's cap holds (R4)."""
    plain = await sent(fake, asked(response_format="text", tool_choice=None))
    fake.calls.clear()
    model = ModelInfo("route", "some/model", "some/model", default_max_tokens=77)
    capped = await sent(
        fake,
        asked(response_format="json", tools=[ADD], tool_choice="auto"),
        LiteLlmOptions(api_key=KEY, models=[model], provider="openai"),
    )

    assert set(plain) == {
        "messages", "model", "custom_llm_provider", "api_key", "stream", "stream_options", "extra_headers",
        "num_retries", "max_retries", "drop_params", "dropped",
    }  # fmt: skip
    assert (capped["response_format"], capped["tool_choice"], capped["max_tokens"]) == (
        {"type": "json_object"},
        "auto",
        77,
    )
    fake.calls.clear()
    loose = await sent(fake, asked(response_format=JsonSchema("answer", {})))
    assert loose["response_format"] == {"type": "json_schema", "json_schema": {"name": "answer", "schema": {}}}


async def test_a_provider_in_the_models_id(fake: Fake) -> None:
    """Without a named provider the library reads it from the model's id; fields of an unknown one go as they are."""
    fake.supported = None
    arguments = await sent(fake, asked(seed=7, reasoning_effort="high"), LiteLlmOptions(api_key=KEY))

    assert ("custom_llm_provider" in arguments, arguments["seed"], arguments["model"]) == (False, 7, "some/model")
    fake.calls.clear()
    fake.get_llm_provider = lambda model, custom_llm_provider: None  # type: ignore[method-assign]
    assert (await sent(fake, asked(seed=7), LiteLlmOptions(api_key=KEY)))["seed"] == 7


@pytest.mark.parametrize(
    ("more", "supported", "code", "words"),
    [
        ({"cache": "short"}, ["cache"], "UNSUPPORTED", "the wire litellm has no such field"),
        ({"seed": 7}, ["stop"], "UNSUPPORTED", "litellm does not send this field to this provider and model"),
        ({"reasoning_effort": "high"}, ["stop"], "UNSUPPORTED_REASONING_EFFORT", "litellm knows no efforts"),
        ({"temperature": 0.5}, ["temperature"], "UNSUPPORTED", "litellm drops it for this provider"),
        ({"extra": {"litellm": {"num_retries": 3}}}, [], "UNSUPPORTED", "it is the route's or limen's own to say"),
        ({"extra": {"openai-chat": {"a": 1}}}, [], "UNSUPPORTED", "the wire of this route is litellm"),
        ({"messages": ()}, [], "INVALID_OPTIONS", "message"),
    ],
)
async def test_fields_that_are_refused(
    fake: Fake, more: dict[str, object], supported: list[str], code: str, words: str
) -> None:
    """A field that the library would drop, refuse or that is not the caller's is refused before any I/O (Q1, Q9)."""
    fake.supported = supported
    fake.dropped = {"temperature"}
    fields = {"provider": "route", "model": "some/model", "messages": (user("hi"),), **more}
    failure = await refused(fake, GenerateOptions(**fields))  # type: ignore[arg-type]

    assert (failure.code, words in failure.failure.message) == (code, True)


async def test_a_history(fake: Fake) -> None:
    """System, user, images, calls, results and errors keep their order; reasoning without state is reported (Q4)."""
    arguments = await sent(
        fake,
        asked(
            system("middle"),
            user([TextBlock("look"), ImageBlock("image/png", PNG), ImageBlock(url="https://example.test/a.png")]),
            assistant(
                [
                    ReasoningBlock("Hm"),
                    TextBlock("a"),
                    ToolCallBlock("c1", "f", ""),
                    ToolCallBlock("c2", "g", '{"x": 1.50}'),
                ]
            ),
            tool_result("c1", "one"),
            tool_result("c2", [TextBlock("t"), TextBlock("wo")], is_error=True),
            user("hi"),
        ),
    )

    assert arguments["messages"] == [
        {"role": "system", "content": "middle"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "look"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgp4"}},
                {"type": "image_url", "image_url": {"url": "https://example.test/a.png"}},
            ],
        },
        {
            "role": "assistant",
            "content": "a",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}},
                {"id": "c2", "type": "function", "function": {"name": "g", "arguments": '{"x": 1.50}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": "Error: two"},
        {"role": "user", "content": "hi"},
    ]
    assert arguments["dropped"] == ["litellm has no field for reasoning of earlier turns that every provider takes"]


async def test_replay_state_goes_back(fake: Fake) -> None:
    """Thinking blocks of an earlier turn go back as they came; state that was changed is refused (N4, R5)."""
    thinking = {"type": "thinking", "thinking": "Hm", "signature": "c2ln"}
    state = {"v": 1, "wire": "litellm", "blocks": [None, None], "thinking": [thinking]}
    turn = Message(
        "assistant",
        (ReasoningBlock("Hm"), TextBlock("a")),
        source=ModelSource("route", "some/model"),
        replay_state=state,
    )
    arguments = await sent(fake, asked(user("hi"), turn, user("on")))
    fake.calls.clear()
    changed = Message("assistant", turn.content, source=turn.source, replay_state={**state, "thinking": "no"})

    assert arguments["messages"][1] == {"role": "assistant", "content": "a", "thinking_blocks": [thinking]}  # type: ignore[index]
    assert (await refused(fake, asked(user("hi"), changed, user("on")))).code == "INVALID_REPLAY_STATE"


CALL = ToolCallBlock("c1", "f", "{}")


@pytest.mark.parametrize(
    ("messages", "code", "place"),
    [
        ([user([FileBlock("application/pdf", b"%PDF-")])], "UNSUPPORTED_CONTENT", "messages[0].content[0]"),
        ([Message("system", (ImageBlock(url="https://a.test/b"),)), user("a")], "UNSUPPORTED_CONTENT", "messages[0]"),
        (
            [user("a"), Message("assistant", (ImageBlock(url="https://a.test/b"),))],
            "UNSUPPORTED_CONTENT",
            "messages[1]",
        ),
        (
            [user("a"), assistant([CALL]), tool_result("c1", [ImageBlock(url="https://a.test/b")])],
            "UNSUPPORTED_CONTENT",
            "messages[2].content[0].content[0]",
        ),
        (
            [user("a"), assistant([CALL]), Message("tool", (*tool_result("c1", "b").content, TextBlock("c")))],
            "UNSUPPORTED_CONTENT",
            "messages[2].content[1]",
        ),
        (
            [user("a"), assistant([ToolCallBlock("c1", "f", "[1]")]), tool_result("c1", "b")],
            "INVALID_OPTIONS",
            "messages[1].content[0]",
        ),
        ([Message("user", ())], "INVALID_OPTIONS", "there is no message"),
    ],
)
async def test_content_that_has_no_place(fake: Fake, messages: list[Message], code: str, place: str) -> None:
    """Content that the library does not carry everywhere is refused by its place, before any I/O (Q1, C8)."""
    failure = await refused(fake, asked(*messages))

    assert (failure.code, place in failure.failure.message) == (code, True)
