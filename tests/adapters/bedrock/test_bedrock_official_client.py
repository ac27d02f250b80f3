"""botocore's own client and limen, pointed at the same mock provider, agree on every script."""

import json
from collections.abc import Mapping, Sequence
from typing import Protocol

import pytest

from adapters.bedrock._converse_wire import asking
from limen.adapters.bedrock import BedrockAdapter, BedrockOptions
from limen.contract import Assembler, Finish, Response, assemble
from limen.testing.server import SCENARIOS, MockProvider

botocore_session = pytest.importorskip("botocore.session")

WIRE = "bedrock-converse"
MEANINGS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool-calls",
    "max_tokens": "max-tokens",
    "content_filtered": "CONTENT_FILTER",
    "content_filter": "CONTENT_FILTER",
}
# A stop that says nothing is no answer here (C12), and a word that nobody documented is a failure; the client has no
# opinion of either.
OTHERS = {"empty": "EMPTY_RESPONSE", "blank": "EMPTY_RESPONSE", "unknown-finish": "UNKNOWN_FINISH"}


class Client(Protocol):
    """The one operation of the client that is used."""

    def converse_stream(self, *, modelId: str, messages: Sequence[object]) -> Mapping[str, object]:  # noqa: N803
        """Ask for a stream."""
        ...


Reading = tuple[str, str, list[tuple[str, str, object]], str, int | None, int | None]


def client(url: str) -> Client:
    session = botocore_session.Session()
    session.set_credentials("AKIDEXAMPLE", "secret-of-the-witness")
    made: Client = session.create_client("bedrock-runtime", region_name="us-east-1", endpoint_url=url)
    return made


def theirs(made: Client, model: str) -> Reading:
    """What the client reads of a stream, event by event."""
    text = reasoning = word = ""
    calls: dict[int, list[str]] = {}
    usage: Mapping[str, int] = {}
    answer = made.converse_stream(modelId=model, messages=[{"role": "user", "content": [{"text": "hi"}]}])
    stream: object = answer["stream"]
    for event in stream:  # type: ignore[attr-defined]
        if "contentBlockStart" in event:
            start = event["contentBlockStart"]
            call = start["start"]["toolUse"]
            calls[start["contentBlockIndex"]] = [call["toolUseId"], call["name"], ""]
        elif "contentBlockDelta" in event:
            found = event["contentBlockDelta"]["delta"]
            text += found.get("text", "")
            reasoning += found.get("reasoningContent", {}).get("text", "")
            if "toolUse" in found:
                calls[event["contentBlockDelta"]["contentBlockIndex"]][2] += found["toolUse"]["input"]
        elif "messageStop" in event:
            word = event["messageStop"]["stopReason"]
        elif "metadata" in event:
            usage = event["metadata"].get("usage", {})
    told = [(one, name, parsed(arguments)) for one, name, arguments in calls.values()]
    return text, reasoning, told, word, usage.get("inputTokens"), usage.get("outputTokens")


async def ours(url: str, model: str) -> Response:
    adapter = BedrockAdapter(BedrockOptions(base_url=url, api_key="witness-key"))
    assembler = Assembler()
    finish: Finish | None = None
    async for chunk in adapter.stream(asking(model=model)):
        assembler.feed(chunk)
        finish = chunk if isinstance(chunk, Finish) else finish
    await adapter.aclose()
    assert finish is not None
    return assemble(assembler.arrived(), finish.reason)


def parsed(arguments: str) -> object:
    try:
        value: object = json.loads(arguments or "{}")
    except ValueError:
        return arguments
    return value


async def test_the_client_agrees() -> None:
    """Text, reasoning, calls, ending and counts of every script, and of streams cut byte by byte (issue 17)."""
    import asyncio

    wrong: dict[str, object] = {}
    async with MockProvider() as mock:
        url = mock.base_url(WIRE)
        made = client(url)
        # Scenarios that take their time say nothing else than the others.
        quick = [name for name, script in SCENARIOS.items() if not script.delay_ms]
        for name in [*quick, "tools+byte-by-byte", "text+until-close"]:
            model = f"mock-{name}"
            read = await asyncio.to_thread(theirs, made, model)
            response = await ours(url, model)
            text, reasoning, calls, word, given, made_tokens = read
            usage, failure = response.usage, response.finish.failure
            mine = (
                response.text,
                response.reasoning,
                [
                    (call.id, call.name, parsed(call.arguments))
                    for call in (*response.tool_calls, *response.incomplete_tool_calls)
                ],
                response.finish.kind if failure is None else failure.code,
                None if usage is None else usage.input_tokens,
                None if usage is None else usage.output_tokens,
            )
            end = OTHERS.get(name) or ("tool-calls" if calls and word == "end_turn" else MEANINGS.get(word, word))
            if mine != (text, reasoning, calls, end, given, made_tokens):
                wrong[name] = (mine, read)
    assert wrong == {}
    assert len(SCENARIOS) > 10


async def test_the_client_reads_an_exception() -> None:
    """An exception of the stream is the client's own exception of that name, as it is our failure."""
    import asyncio

    async with MockProvider() as mock:
        made = client(mock.base_url(WIRE))
        with pytest.raises(Exception, match="serviceUnavailableException") as caught:
            await asyncio.to_thread(theirs, made, "mock-text+overloaded-event")
        response = await ours(mock.base_url(WIRE), "mock-text+overloaded-event")
    assert type(caught.value).__name__ in ("EventStreamError", "ServiceUnavailableException")
    assert response.finish.failure is not None
    assert response.finish.failure.code == "OVERLOADED"
