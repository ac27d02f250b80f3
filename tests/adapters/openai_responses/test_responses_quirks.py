"""Public reports about OpenAI Responses, each by its number: what was sent, and what it means here."""

import asyncio

import pytest

from adapters.openai_responses._responses_wire import asking, body_of, ended, event, read, read_all_ways, text
from limen.adapters.openai_responses import WIRE, OpenAIResponsesAdapter, OpenAIResponsesOptions
from limen.contract import MAX_TOKENS, STOP, BlockEnd, Finish, TokenUsage, ToolCallBlock, codes, system, user


def test_q003_calls_are_keyed_by_their_output_index() -> None:
    """[Q003] Fragments of two calls that interleave stay apart, and the blocks are numbered without a gap."""
    call = {"type": "function_call", "name": "add_task", "arguments": ""}
    kind = "response.function_call_arguments.delta"
    body = (
        event("response.output_item.added", output_index=1, item={**call, "id": "fc_1", "call_id": "call_A"})
        + event("response.output_item.added", output_index=2, item={**call, "id": "fc_2", "call_id": "call_B"})
        + event(kind, output_index=2, item_id="fc_2", delta='{"t":2}')
        + event(kind, output_index=1, item_id="fc_1", delta='{"t":1}')
    )

    outcome = read_all_ways(body + ended())

    assert {chunk.index: chunk.block for chunk in outcome.chunks if isinstance(chunk, BlockEnd)} == {
        0: ToolCallBlock("call_A", "add_task", '{"t":1}'),
        1: ToolCallBlock("call_B", "add_task", '{"t":2}'),
    }


def test_q069_sealed_content_of_another_organization() -> None:
    """[Q069] Sealed reasoning that cannot be verified is the request's fault, and the code says so."""
    body = (
        b'{"error":{"code":"invalid_encrypted_content","message":"The encrypted content could not be verified.",'
        b'"type":"invalid_request_error","param":null}}'
    )

    failure = WIRE.classify(400, {}, body)

    assert (failure.code, failure.provider_code) == (codes.INVALID_REQUEST, "invalid_encrypted_content")


@pytest.mark.parametrize(
    ("word", "code"),
    [
        ("server_error", codes.SERVER),
        ("rate_limit_exceeded", codes.RATE_LIMIT),
        ("context_length_exceeded", codes.CONTEXT_WINDOW_EXCEEDED),
    ],
)
def test_q071_the_error_stands_inside_the_response(word: str, code: str) -> None:
    """[Q071] A failed response is a failure with the code of its error, and no short success."""
    failed = ended("failed", error={"code": word, "message": "Internal error"})

    failure = read(text(0, "a") + failed).failure

    assert (failure.code, failure.provider_code, failure.message) == (code, word, "Internal error")


@pytest.mark.parametrize(("reason", "kind"), [("max_output_tokens", MAX_TOKENS), ("content_filter", None)])
def test_q072_incomplete_is_an_end(reason: str, kind: object) -> None:
    """[Q072] `response.incomplete` ends the answer with its reason and its counts."""
    usage = {"input_tokens": 5, "output_tokens": 16, "total_tokens": 21}
    outcome = read(text(0, "a") + ended("incomplete", incomplete_details={"reason": reason}, usage=usage))

    assert outcome.response.usage == TokenUsage(input_tokens=5, output_tokens=16)
    assert outcome.finish.reason == kind if kind is not None else outcome.failure.code == codes.CONTENT_FILTER


def test_q074_an_error_after_the_end() -> None:
    """[Q074] The first terminal event wins; what follows is not read."""
    late = event("error", code="server_error", message="late")

    assert read(text(0, "a") + ended() + late).finish.reason == STOP


def test_q158_a_developer_message_may_be_ignored() -> None:
    """[Q158] A host that nobody knows gets system text as instructions and as `system`, never as `developer`."""
    body = body_of(asking(system("be brief"), user("hi"), system="top"), "generic")

    assert body["instructions"] == "top"
    assert body["input"] == [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hi"}]


async def test_q170_a_failure_before_an_open_socket() -> None:
    """[Q170] A failed response is told at once, though the connection stays open."""
    stay = asyncio.Event()
    failed = ended("failed", error={"code": "rate_limit_exceeded", "message": "slow down"})

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        writer.write(head + b"%x\r\n%b\r\n" % (len(failed), failed))
        await stay.wait()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        options = OpenAIResponsesOptions(base_url=f"http://127.0.0.1:{port}/v1")
        adapter = OpenAIResponsesAdapter(options)
        async with asyncio.timeout(10):
            chunks = [chunk async for chunk in adapter.stream(asking())]
        stay.set()
        await adapter.aclose()

    last = chunks[-1]
    assert isinstance(last, Finish)
    assert last.reason.failure is not None
    assert last.reason.failure.code == codes.RATE_LIMIT
