"""Claude by InvokeModelWithResponseStream: the row `bedrock` of `anthropic-messages`, in Amazon's frames."""

import json
from base64 import b64encode

import pytest

from adapters.bedrock._converse_wire import Outcome, event, exception, raw, read
from limen.adapters import BuildContext
from limen.adapters.anthropic import WIRE, AnthropicAdapter, AnthropicOptions
from limen.adapters.anthropic._adapter import codec_of
from limen.contract import (
    STOP,
    Finish,
    GenerateOptions,
    LlmError,
    TextDelta,
    TokenUsage,
    UsageChunk,
    assistant,
    codes,
    user,
)

CLAUDE = "us.anthropic.claude-opus-4-6-v1"
EVENTS = (
    {"type": "message_start", "message": {"id": "msg_bdrk_1", "content": [], "usage": {"input_tokens": 3}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hé"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
    {"type": "message_stop", "amazon-bedrock-invocationMetrics": {"inputTokenCount": 3}},
)


def chunk(inner: object) -> bytes:
    return event("chunk", bytes=b64encode(json.dumps(inner).encode()).decode())


BODY = b"".join(chunk(inner) for inner in EVENTS)


def invoked(body: bytes) -> Outcome:
    """Read a body whole, byte by byte and cut in two at every seventh place: all alike (C16)."""
    whole = read(body, wire=WIRE, dialect="bedrock")
    assert read((body[place : place + 1] for place in range(len(body))), wire=WIRE, dialect="bedrock") == whole
    for place in range(0, len(body), 7):
        assert read((body[:place], body[place:]), wire=WIRE, dialect="bedrock") == whole
    return whole


def test_the_same_events_in_frames() -> None:
    """Each frame holds one event of the Messages wire; frames of other names are passed over (C15)."""
    found = invoked(event("novelty") + BODY)
    assert TextDelta(0, "Hé") in found.chunks
    assert found.chunks[-2:] == [UsageChunk(TokenUsage(3, 7)), Finish(STOP)]


def test_failures() -> None:
    """Exceptions end in-band; cut and broken frames, and chunks that are none, are raised (E1, S4)."""
    failure = invoked(chunk(EVENTS[0]) + exception("throttlingException", "slow"))
    assert failure.finish.reason.failure is not None
    assert failure.finish.reason.failure.code == codes.RATE_LIMIT
    assert invoked(BODY[:-1]).code == codes.STREAM_CLOSED
    assert invoked(chunk(EVENTS[0])).code == codes.STREAM_CLOSED
    for payload in (b'{"bytes":7}', b'{"bytes":"!!"}', b"{oops"):
        found = invoked(chunk(EVENTS[0]) + raw("chunk", payload))
        assert found.code in (codes.MALFORMED_RESPONSE, codes.STREAM_CLOSED), payload
    refused = read(b'{"message":"Too many requests, please wait"}', wire=WIRE, dialect="bedrock")
    assert refused.code == codes.RATE_LIMIT
    assert read(b"{oops", wire=WIRE, dialect="bedrock").code == codes.MALFORMED_RESPONSE
    whole = b'{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"}'
    assert read(whole, wire=WIRE, dialect="bedrock").response.text == "a"
    page = read(
        b"<html><body>Please sign in here</body></html>", wire=WIRE, dialect="bedrock", content_type="text/html"
    )
    assert (page.code, "text/html" in page.message) == (codes.MALFORMED_RESPONSE, True)


def test_the_request() -> None:
    """The model is a segment of the path; version and betas stand in the body, which has no `model` and no `stream`."""
    codec = codec_of(AnthropicOptions(dialect="bedrock", region="us-east-1", api_key="k", betas=["beta-1"]))
    options = GenerateOptions("b", f"{CLAUDE}:0", [user("hi"), assistant("a")], max_tokens=10)
    built = codec.build(options, BuildContext())
    assert built.path == f"/model/{CLAUDE}%3A0/invoke-with-response-stream"
    assert built.headers == {"content-type": "application/json", "accept": "application/vnd.amazon.eventstream"}
    assert json.loads(built.body) == {
        "anthropic_version": "bedrock-2023-05-31",
        "anthropic_beta": ["beta-1"],
        "max_tokens": 10,
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "a"}]},
        ],
    }
    bare = codec_of(AnthropicOptions(dialect="bedrock", api_key="k")).build(options, BuildContext())
    assert "anthropic_beta" not in json.loads(bare.body)


def test_errors_and_models() -> None:
    """Errors have their type in a header; the list of models is Bedrock's."""
    codec = WIRE.codec("bedrock")
    throttled = codec.classify(
        429, {"x-amzn-errortype": "ThrottlingException:http://x"}, b'{"message":"Too many tokens"}'
    )
    assert (throttled.code, throttled.provider_code) == (codes.RATE_LIMIT, "ThrottlingException")
    listed = codec.parse_models("b", b'{"modelSummaries":[{"modelId":"anthropic.claude"}]}')
    assert [model.id for model in listed] == ["anthropic.claude"]


def test_amazons_options_are_of_this_row_alone() -> None:
    """`region` and `profile` of another row are `INVALID_CONFIG`; without a key this row signs."""
    for options in (AnthropicOptions(region="us-east-1"), AnthropicOptions(profile="dev")):
        with pytest.raises(LlmError) as caught:
            AnthropicAdapter(options)
        assert caught.value.code == codes.INVALID_CONFIG
    codec = codec_of(AnthropicOptions(dialect="bedrock", region="us-east-1"))
    assert (codec.credential_type.__name__, codec.requires_key) == ("AwsCredentials", False)
