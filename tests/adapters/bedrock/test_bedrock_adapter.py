"""The adapter over a real socket, against the mock provider."""

import json

import pytest

import limen
from adapters.bedrock._converse_wire import ADD, CLAUDE, asking
from limen._compose import known_providers
from limen.adapters.bedrock import WIRE as CONVERSE
from limen.adapters.bedrock import AwsCredentials, BedrockAdapter, BedrockOptions
from limen.config._environment import routes_from
from limen.contract import LlmError, ModelInfo, codes, tool_result, user
from limen.runtime import LlmRuntime
from limen.testing.scripts import Reasoning, Script, Text, ToolCall, Turn
from limen.testing.server import MockProvider

WIRE = "bedrock-converse"


class Source:
    """Credentials that a program keeps by itself."""

    reference = "the test's own vault"

    async def credential(self) -> AwsCredentials:
        return AwsCredentials(access_key="AKID", secret_key="secret-of-vault-1", region="eu-west-3")


async def test_a_signed_call() -> None:
    """A call with credentials is signed over the body as it is sent, in the profile's region."""
    pytest.importorskip("botocore")
    async with MockProvider("text") as mock:
        adapter = BedrockAdapter(BedrockOptions(base_url=mock.base_url(WIRE), api_key=Source()))
        chunks = [chunk async for chunk in adapter.stream(asking())]
        await adapter.aclose()
    (asked,) = mock.requests
    assert asked.path == f"/model/{CLAUDE.replace(':', '%3A')}/converse-stream"
    signed = asked.header("authorization") or ""
    assert signed.startswith("AWS4-HMAC-SHA256 Credential=AKID/")
    assert "/eu-west-3/bedrock/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=" in signed
    assert asked.header("x-amz-date") is not None
    assert asked.header("x-amz-security-token") is None
    assert isinstance(chunks[-1], limen.Finish)


async def test_a_refused_credential_names_its_source() -> None:
    """A 403 says which source the credentials came from; a plain key says nothing of the sort."""
    pytest.importorskip("botocore")
    async with MockProvider("text+403") as mock:
        adapter = BedrockAdapter(BedrockOptions(base_url=mock.base_url(WIRE), api_key=Source()))
        keyed = BedrockAdapter(BedrockOptions(base_url=mock.base_url(WIRE), api_key="abc"))
        with pytest.raises(LlmError) as signed:
            [chunk async for chunk in adapter.stream(asking())]
        with pytest.raises(LlmError) as plain:
            [chunk async for chunk in keyed.stream(asking())]
        await adapter.aclose()
        await keyed.aclose()
    assert signed.value.code == plain.value.code == codes.AUTH
    assert "(sent with the test's own vault)" in signed.value.failure.message
    assert "sent with" not in plain.value.failure.message


async def test_list_of_models() -> None:
    """The list comes from the control plane, with the kinds of input that a model takes (R10)."""
    async with MockProvider("text") as mock:
        adapter = BedrockAdapter(BedrockOptions(base_url=mock.base_url(WIRE), api_key="abc"))
        models = await adapter.list_models("bedrock")
        await adapter.aclose()
    assert models[0] == ModelInfo("bedrock", models[0].id, models[0].id, input_modalities=("text",))
    assert (mock.requests[0].method, mock.requests[0].path) == ("GET", "/foundation-models")
    assert mock.requests[0].header("authorization") == "Bearer abc"


def test_lists_that_are_none() -> None:
    """Models that answer in text are listed; another body is `INVALID_CATALOG`."""
    codec = CONVERSE.codec(None)
    rows = [
        {"modelId": "a", "modelName": "A", "inputModalities": ["TEXT", "IMAGE", "VIDEO"], "outputModalities": ["TEXT"]},
        {"modelId": "b", "outputModalities": ["IMAGE"]},
        {"modelId": "c"},
        {"modelName": "no id"},
    ]
    assert codec.parse_models("x", json.dumps({"modelSummaries": rows}).encode()) == (
        ModelInfo("x", "a", "A", input_modalities=("text", "image")),
        ModelInfo("x", "c", "c"),
    )
    for body in (b"{}", b"<html>", b'{"modelSummaries":7}'):
        with pytest.raises(LlmError) as caught:
            codec.parse_models("x", body)
        assert caught.value.code == codes.INVALID_CATALOG


async def test_two_turns_through_the_runtime() -> None:
    """The second request carries the signed reasoning, both calls and their results, in place (N4, Q4)."""
    turns = [
        Turn(
            [
                Reasoning(["think"], signature="sig-1"),
                ToolCall("t1", "add", ['{"left": 1}']),
                ToolCall("t2", "add", ['{"left":2}']),
            ]
        ),
        Turn([Text(["3"])]),
    ]
    async with MockProvider(Script(turns)) as mock, LlmRuntime() as llm:
        llm.register(["bedrock"], BedrockAdapter(BedrockOptions(base_url=mock.base_url(WIRE), api_key="abc")))
        first = await llm.complete(asking(user("go"), tools=[ADD]))
        assert first.message is not None
        history = (user("go"), first.message, tool_result("t1", "1"), tool_result("t2", "2"))
        second = await llm.complete(asking(*history, tools=[ADD]))
    assert second.text == "3"
    assert second.replay_dropped == ()
    sent = json.loads(mock.requests[1].body)["messages"]
    assert sent[1:] == [
        {
            "role": "assistant",
            "content": [
                {"reasoningContent": {"reasoningText": {"text": "think", "signature": "sig-1"}}},
                {"toolUse": {"toolUseId": "t1", "name": "add", "input": {"left": 1}}},
                {"toolUse": {"toolUseId": "t2", "name": "add", "input": {"left": 2}}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"toolResult": {"toolUseId": "t1", "content": [{"text": "1"}]}},
                {"toolResult": {"toolUseId": "t2", "content": [{"text": "2"}]}},
            ],
        },
    ]


async def test_an_answer_without_a_stream() -> None:
    """A whole answer in place of the stream reads alike (S3)."""
    async with MockProvider("text+whole") as mock, LlmRuntime() as llm:
        llm.register(["bedrock"], BedrockAdapter(BedrockOptions(base_url=mock.base_url(WIRE), api_key="abc")))
        response = await llm.complete(asking())
    assert response.text == "Hello from the mock provider."


async def test_a_call_without_a_region_says_so() -> None:
    """A key alone does not say where the model is: `INVALID_CONFIG` before any I/O, naming the option."""
    adapter = BedrockAdapter(BedrockOptions(api_key="abc"))
    with pytest.raises(LlmError) as caught:
        [chunk async for chunk in adapter.stream(asking())]
    assert (caught.value.code, caught.value.failure.phase) == (codes.INVALID_CONFIG, "resolve")
    assert "set region in [routes.x.options]" in caught.value.failure.message


def test_made_from_configuration() -> None:
    """`region` and `profile` are options of the route, for both wires."""
    options = {"region": "eu-west-1", "profile": "dev"}
    routes = {
        "b": {"adapter": "bedrock", "options": options},
        "c": {"adapter": "anthropic-messages", "dialect": "bedrock", "options": options},
    }
    with limen.sync.open_runtime({"routes": routes}) as llm:
        assert [one.id for one in llm.list_providers()] == ["b", "c"]


def test_a_route_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of Bedrock in the environment is a route on Converse, in the region that stands beside it."""
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "abc")
    monkeypatch.setenv("AWS_REGION", " ")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    routes = {route.name: route for route in routes_from(known_providers(), app=None)}
    assert (routes["bedrock"].adapter, routes["bedrock"].options) == ("bedrock", {"region": "eu-west-1"})
