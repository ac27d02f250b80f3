"""A cassette as a route: the real parser, the nearest request where none fits."""

import json

import pytest

import limen
from limen import GenerateOptions, LlmError, ModelInfo
from limen._compose import wire_of
from limen.contract import ReportsCall, StreamChunk
from limen.recording import (
    Cassette,
    CassetteAdapter,
    Difference,
    Exchange,
    Read,
    RecordedRequest,
    RecordedResponse,
    Replay,
    differences,
)
from recording._captures import FOLDER

CHAT = wire_of("openai-chat")
TEXT = (FOLDER / "openai-chat" / "text.sse").read_bytes().decode()


def asked(words: str = "hi", **more: object) -> GenerateOptions:
    return GenerateOptions("route", "model-1", [limen.user(words)], **more)  # type: ignore[arg-type]  # by the test


def exchange(options: GenerateOptions, text: str = TEXT, **more: object) -> Exchange:
    """The exchange of a request that was answered with a stream."""
    built = CHAT.request(options, dialect="generic")
    known: dict[str, object] = {
        "limen": "0.1.0",
        "route": "route",
        "model": "model-1",
        "wire": "openai-chat",
        "dialect": "generic",
        "request": RecordedRequest("POST", f"/v1{built.path}", json=json.loads(built.body)),
        "response": RecordedResponse(200, 1.0, {"x-request-id": "req-1"}, [Read(2.0, text[:40]), Read(7.0, text[40:])]),
        "ended_ms": 9.0,
    }
    return Exchange(**{**known, **more})  # type: ignore[arg-type]  # by the test


def adapter(*exchanges: Exchange, **more: object) -> CassetteAdapter:
    return CassetteAdapter(Cassette(exchanges), [CHAT], **more)  # type: ignore[arg-type]  # by the test


async def chunks(route: CassetteAdapter, options: GenerateOptions) -> list[StreamChunk]:
    return [chunk async for chunk in route.stream(options)]


async def failure(route: CassetteAdapter, options: GenerateOptions) -> LlmError:
    with pytest.raises(LlmError) as raised:
        await chunks(route, options)
    return raised.value


def said(text: str) -> str:
    """A stream that says a text."""
    piece = {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]}
    return f"data: {json.dumps(piece)}\n\ndata: [DONE]\n\n"


async def test_a_recorded_request_is_answered_through_the_parser() -> None:
    """The chunks are those of the recorded bytes, and the call's facts those of the recorded answer."""
    stream = adapter(exchange(asked())).stream(asked())
    assert isinstance(stream, ReportsCall)
    assert [chunk async for chunk in stream] == list(limen.iter_chunks("openai-chat", TEXT.encode(), dialect="generic"))
    facts = stream.call_facts
    assert (facts.request_id, facts.response_id, facts.response_model, facts.first_event_ms) == (
        "req-1",
        "chatcmpl-1",
        "model-1",
        7.0,
    )


async def test_a_request_that_was_recorded_several_times_is_answered_in_order() -> None:
    """Each recording is used once, then the last one again and again; other requests do not disturb."""
    route = adapter(exchange(asked(), said("one")), exchange(asked("other"), said("x")), exchange(asked(), said("two")))
    found = [(await chunks(route, options))[1] for options in (asked(), asked("other"), asked(), asked(), asked())]
    assert found == [limen.TextDelta(0, text) for text in ("one", "x", "two", "two", "two")]


async def test_an_unrecorded_request_shows_the_nearest_and_the_difference() -> None:
    """The message names the exchange and every place that differs, as recorded and as asked."""
    route = adapter(exchange(asked("hello", temperature=0.5)), exchange(asked("something else", seed=1, top_p=0.1)))
    error = await failure(route, asked("hullo", max_tokens=5))
    assert error.code == "INVALID_OPTIONS"
    assert error.failure.message == (
        "this request was not recorded; the nearest is exchange 0 (route, POST /v1/chat/completions), which differs in "
        'body.messages[0].content: recorded "hello", asked "hullo"; body.temperature: recorded 0.5, asked nothing; '
        "body.max_tokens: recorded nothing, asked 5"
    )
    assert "the cassette is empty" in str(await failure(adapter(), asked()))


async def test_a_long_difference_is_cut() -> None:
    """Five places are shown and the rest counted; long values are cut."""
    tools = [limen.ToolSpec(f"tool{number}", "x" * 100, {}) for number in range(9)]
    error = await failure(
        adapter(exchange(asked())), asked("y" * 100, tools=tools, stop=["a"], seed=1, top_p=0.5, temperature=1.0)
    )
    assert "…" in error.failure.message
    assert error.failure.message.endswith("; and 1 more")


async def test_method_and_path_count_as_differences() -> None:
    """A recorded request to another place is another request."""
    elsewhere = RecordedRequest("GET", "/v1/models", json=json.loads(CHAT.request(asked(), dialect="generic").body))
    error = await failure(adapter(exchange(asked(), request=elsewhere)), asked())
    assert (
        "method: recorded GET, asked POST; path: recorded /v1/models, asked /chat/completions" in error.failure.message
    )


async def test_a_body_that_is_no_json_is_compared_as_text() -> None:
    """A recorded body that was no JSON is not this request."""
    odd = RecordedRequest("POST", "/v1/chat/completions", text="hello")
    assert 'body: recorded "hello", asked {' in str(await failure(adapter(exchange(asked(), request=odd)), asked()))


async def test_redacted_fields_do_not_differ() -> None:
    """A request is compared as it would have been recorded."""
    options = asked("my key is sk-0123456789abcdefXYZ", extra={"openai-chat": {"patient": "x"}})
    recorded = json.loads(CHAT.request(options, dialect="generic").body)
    recorded["messages"][0]["content"] = "my key is [redacted]"
    recorded["patient"] = "[redacted]"
    request = RecordedRequest("POST", "/v1/chat/completions", json=recorded)
    route = adapter(exchange(asked(), request=request), redact=["patient"])
    assert len(await chunks(route, options)) == 6


async def test_a_wire_that_was_not_recorded_can_be_named() -> None:
    """Exchanges of a recorder that was told no wire are read on the one that is given; an unknown one is refused."""
    bare = exchange(asked(), wire=None, dialect=None)
    assert len(await chunks(adapter(bare, wire="openai-chat", dialect="generic"), asked())) == 6
    error = await failure(adapter(bare), asked())
    assert (error.code, error.failure.message) == (
        "UNSUPPORTED",
        "an exchange of route was recorded on the wire None; given are openai-chat",
    )


async def test_models_are_facts_that_the_route_had() -> None:
    """What was configured for the recorded route is answered again; other models are known by name (R10)."""
    route = adapter(models=[ModelInfo("other", "model-1", "Model One", default_max_tokens=99)])
    known = ModelInfo("route", "model-1", "Model One", default_max_tokens=99)
    assert await route.list_models("route") == (known,)
    assert await route.resolve_model("route", "model-1") == known
    assert await route.resolve_model("route", "x") == ModelInfo("route", "x", "x")


async def test_a_recorded_refusal_is_raised_with_its_facts() -> None:
    """Status, code and request id are those of the recorded answer."""
    body = Read(3.0, '{"error":{"message":"no such key","type":"invalid_request_error","code":"invalid_api_key"}}')
    refused = RecordedResponse(401, 1.0, {"x-request-id": "req-9"}, [body])
    error = await failure(adapter(exchange(asked(), response=refused)), asked())
    facts = error.failure
    assert (facts.code, facts.status, facts.phase, facts.request_id, facts.message) == (
        "AUTH",
        401,
        "headers",
        "req-9",
        "no such key",
    )


async def test_a_recorded_break_is_raised_after_its_chunks() -> None:
    """What had arrived is delivered, then the recorded failure; without an end and a failure the stream was cut."""
    first = TEXT.split("\n\n")[1] + "\n\n"
    reset = exchange(asked(), first, failure="TRANSPORT")
    seen: list[StreamChunk] = []

    async def consume(one: Exchange) -> None:
        async for chunk in adapter(one).stream(asked()):
            seen.append(chunk)

    with pytest.raises(LlmError, match="the recorded call ended here with TRANSPORT") as broken:
        await consume(reset)
    assert (broken.value.code, broken.value.failure.phase, len(seen)) == ("TRANSPORT", "mid-stream", 2)
    with pytest.raises(LlmError) as closed:
        await consume(exchange(asked(), first))
    assert (closed.value.code, closed.value.failure.request_id) == ("STREAM_CLOSED", "req-1")


async def test_an_aborted_call_gives_nothing_more() -> None:
    """The caller's signal ends a replay between two chunks (Q6); leaving it is harmless."""
    controller = limen.AbortController()
    route = adapter(exchange(asked()))
    stream = route.stream(asked(signal=controller.signal))
    assert await anext(aiter(stream)) == limen.BlockStart(0, "text")
    controller.abort()
    with pytest.raises(LlmError) as aborted:
        await anext(aiter(stream))
    assert aborted.value.code == "ABORTED"
    left = route.stream(asked())
    await anext(aiter(left))
    await left.aclose()  # type: ignore[attr-defined]  # offered by this adapter's streams, not by the port


def test_an_exchange_can_be_read_by_itself() -> None:
    """`Replay` reads one exchange without a route, each chunk with its time."""
    replay = Replay(exchange(asked()), CHAT)
    timed = list(replay.timed())
    assert [one.chunk for one in timed] == list(limen.iter_chunks("openai-chat", TEXT.encode(), dialect="generic"))
    assert {one.at_ms for one in timed} == {7.0}
    assert list(Replay(exchange(asked()), CHAT)) == [one.chunk for one in timed]


@pytest.mark.parametrize(
    ("recorded", "asked_", "found"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]}, []),
        ({"a": 1}, {"a": 1.0}, [Difference("body.a", "1", "1.0")]),
        ({"a": True}, {"a": 1}, [Difference("body.a", "true", "1")]),
        ([1, 2], [1], [Difference("body[1]", "2", None)]),
        ([1], [1, 2], [Difference("body[1]", None, "2")]),
        ({"a": []}, {"a": {}}, [Difference("body.a", "[]", "{}")]),
        ("x", None, [Difference("body", '"x"', "null")]),
    ],
)
def test_differences_are_places(recorded: object, asked_: object, found: list[Difference]) -> None:
    """Two JSON values differ at paths; numbers and booleans are told apart as JSON tells them apart."""
    assert list(differences(recorded, asked_)) == found
