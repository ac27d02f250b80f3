"""Short calls: `"ROUTE/MODEL"`, a text or messages, and the fields of `GenerateOptions` as keywords."""

from typing import get_args, get_type_hints

import pytest

import limen
from limen.contract import CODES, CallOptions, ErrorCode, GenerateOptions
from runtime._adapters import ANSWER, OPEN, USAGE, Scripted, Step, asking, failed, serving

HISTORY = [limen.user("Hi"), limen.assistant("Hello"), limen.user("Again")]


@pytest.mark.parametrize(
    ("prompt", "messages"),
    [("Hi", [limen.user("Hi")]), (limen.user("Hi"), [limen.user("Hi")]), (HISTORY, HISTORY), (tuple(HISTORY), HISTORY)],
    ids=["text", "message", "list", "tuple"],
)
async def test_a_short_call_is_the_long_one(prompt: object, messages: list[limen.Message]) -> None:
    """Route and model are split at the first slash, and the prompt becomes messages; stream and complete alike."""
    adapter = Scripted(ANSWER)
    async with serving(adapter) as llm:
        response = await llm.complete("route/a/b", prompt, max_tokens=7, stop=["x"])  # type: ignore[call-overload]  # each in turn
        async with llm.stream("route/a/b", prompt, max_tokens=7, stop=["x"]) as stream:  # type: ignore[call-overload]  # as above
            streamed = await stream.response()

    expected = GenerateOptions("route", "a/b", messages, max_tokens=7, stop=["x"])
    assert adapter.seen == [expected, expected]
    assert (response.text, streamed.text) == ("Hello", "Hello")


def test_a_short_call_without_async() -> None:
    """The synchronous runtime takes the same arguments, and its stream can be started too."""
    adapter = Scripted(ANSWER)
    with limen.sync.LlmRuntime() as llm:
        llm.register(["route"], adapter)
        response = llm.complete("route/m", "Hi", temperature=0.5)
        with llm.stream("route/m", "Hi") as stream:
            stream.started()
            text = stream.response().text

    assert (response.text, text) == ("Hello", "Hello")
    assert adapter.seen[0] == GenerateOptions("route", "m", [limen.user("Hi")], temperature=0.5)


@pytest.mark.parametrize("model", ["deepseek", "/m", "route/", ""])
async def test_a_model_without_its_route(model: str) -> None:
    """A model that is not written ROUTE/MODEL is `INVALID_OPTIONS`, with an example."""
    async with serving(Scripted(ANSWER)) as llm:
        with pytest.raises(limen.LlmError, match="is written 'ROUTE/MODEL', such as") as caught:
            await llm.complete(model, "Hi")

    assert caught.value.code == "INVALID_OPTIONS"


@pytest.mark.parametrize(
    ("arguments", "fields", "words"),
    [
        (("route/m", "x"), {"max_token": 3}, "'max_token' is no option of a call; did you mean 'max_tokens'?"),
        (("route/m", "x"), {"zzz": 3}, "'zzz' is no option of a call"),
        (("route/m",), {}, "a call of 'ROUTE/MODEL' needs a prompt"),
        ((asking(), "x"), {}, "a call is made of GenerateOptions alone"),
        ((3, "x"), {}, "not of a int"),
        (("route/m", 3), {}, "a prompt is a text, a message or messages, not a int"),
        (("route/m", [3]), {}, "messages[0] is a int, not a Message"),
        (("route/m", [{"role": "user", "content": "x"}]), {}, "limen.messages_from_openai(…) converts such"),
    ],
)
async def test_arguments_that_are_no_call(arguments: tuple[object, ...], fields: dict[str, object], words: str) -> None:
    """A mistake in the program is a `TypeError` that says what would do."""
    async with serving(Scripted(ANSWER)) as llm:
        with pytest.raises(TypeError) as caught:
            llm.stream(*arguments, **fields)  # type: ignore[call-overload]  # the mistakes are the cases

    assert words in str(caught.value)


@pytest.mark.parametrize("messages", ["Hi", limen.user("Hi")])
def test_one_message_in_place_of_a_list(messages: object) -> None:
    """The long form says what is wrong where a text or one message is given for the list."""
    with pytest.raises(TypeError, match=r"write messages=\[limen.user\(…\)\]"):
        GenerateOptions("route", "m", messages)  # type: ignore[arg-type]  # the mistake is the case


def test_every_option_is_a_keyword() -> None:
    """Each field of `GenerateOptions` beside the three of the short form is a keyword, of the same type."""
    hints = get_type_hints(GenerateOptions)
    expected = {name: hint for name, hint in hints.items() if name not in ("provider", "model", "messages")}

    assert get_type_hints(CallOptions) == expected


def test_the_literal_of_codes_is_the_table() -> None:
    """The words that a checker completes for `code` are those of the table, no more and no fewer."""
    assert sorted(get_args(ErrorCode)) == sorted(CODES)


async def test_started_waits_for_the_first_event_and_consumes_nothing() -> None:
    """After `started()` the whole stream is still to be iterated."""
    async with serving(Scripted(ANSWER)) as llm, llm.stream(asking()) as stream:
        await stream.started()
        await stream.started()
        chunks = [chunk async for chunk in stream]
        await stream.started()

    assert chunks == list(ANSWER)


async def test_a_failure_before_the_first_event_is_raised_by_started() -> None:
    """A failure that comes first, raised or in-band, after usage or not, is raised where the status can be chosen."""
    scripts: list[list[Step]] = [
        [failed("QUOTA")],
        [USAGE, failed("QUOTA")],
        [limen.LlmError("no", "QUOTA", status=402)],
    ]
    for script in scripts:
        async with serving(Scripted(script)) as llm, llm.stream(asking()) as stream:
            with pytest.raises(limen.LlmError) as caught:
                await stream.started()
            with pytest.raises(limen.LlmError) as again:
                await stream.response()

        assert caught.value.code == "QUOTA"
        assert again.value is caught.value


async def test_a_failure_after_the_first_event_is_the_streams() -> None:
    """Once something has come, `started()` returns, and the failure is the finish."""
    async with serving(Scripted([*OPEN, failed("SERVER")])) as llm, llm.stream(asking()) as stream:
        await stream.started()
        chunks = [chunk async for chunk in stream]

    assert chunks == [*OPEN, failed("SERVER")]
