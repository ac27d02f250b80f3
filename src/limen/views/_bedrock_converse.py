"""Encoder of the wire `bedrock-converse`.

Source, read 2026-11-30: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html and
botocore's model of `bedrock-runtime` (1.44.8).
"""

import struct
import zlib
from base64 import b64encode
from collections.abc import Mapping
from typing import ClassVar, Final

import msgspec

from limen.contract import Failure, FinishKind, FinishReason, TokenUsage, codes
from limen.views._encoder import (
    EventKind,
    OutgoingBlock,
    WholeAnswer,
    WireEncoder,
    WireError,
    WireEvent,
    compact,
    json_object,
    prompt_tokens,
)

_SERVER: Final = (500, "InternalServerException")
_INVALID: Final = (400, "ValidationException")
_ERRORS: Final[Mapping[str, tuple[int, str]]] = {
    codes.INVALID_REQUEST: _INVALID,
    codes.INVALID_OPTIONS: _INVALID,
    codes.INVALID_REPLAY_STATE: _INVALID,
    codes.UNSUPPORTED: _INVALID,
    codes.UNSUPPORTED_CONTENT: _INVALID,
    codes.UNSUPPORTED_REASONING_EFFORT: _INVALID,
    codes.CONTENT_FILTER: _INVALID,
    codes.CONTEXT_WINDOW_EXCEEDED: _INVALID,
    codes.MODEL_NOT_FOUND: (404, "ResourceNotFoundException"),
    codes.NO_ADAPTER: (404, "ResourceNotFoundException"),
    codes.QUOTA: (400, "ServiceQuotaExceededException"),
    codes.RATE_LIMIT: (429, "ThrottlingException"),
    codes.OVERLOADED: (503, "ServiceUnavailableException"),
    codes.TIMEOUT: (408, "ModelTimeoutException"),
}
# The exceptions that a stream may hold; others are internal there.
_IN_STREAM: Final[Mapping[int, str]] = {
    400: "validationException",
    404: "validationException",
    424: "modelStreamErrorException",
    429: "throttlingException",
    503: "serviceUnavailableException",
    529: "serviceUnavailableException",
}
_TOO_LONG: Final = "Input is too long for requested model"
_UNKNOWN: Final = "The provided model identifier is invalid"
_NOTHING: Final[Mapping[str, object]] = {}


class BedrockConverseEncoder(WireEncoder):
    """Converse: frames from `messageStart` to `messageStop` and `metadata`, blocks with indexes of their own.

    - text and reasoning begin with their first delta, calls with `contentBlockStart`; blocks that interleave stay
      interleaved under their indexes
    - counts stand in `metadata`, disjoint as in limen; their total is added up
    - `CONTENT_FILTER` is the stop reason `content_filtered`; any other failure is an exception of the stream

    Not carried: the words of a refusal, the reasoning part of the output, images. A whole answer has no place for
    arguments that are not one JSON object: cut by `max_tokens`, the call is left out; otherwise the answer is the
    failure `MALFORMED_RESPONSE`.
    """

    wire: ClassVar[str] = "bedrock-converse"
    content_type: ClassVar[str] = "application/vnd.amazon.eventstream"
    words: ClassVar[Mapping[FinishKind, str]] = {
        "stop": "end_turn",
        "tool-calls": "tool_use",
        "max-tokens": "max_tokens",
    }
    refusal_word: ClassVar[str] = "content_filtered"

    def signature(self, index: int, text: str) -> list[WireEvent]:
        """Return a `signature` delta of the reasoning block with that chunk index."""
        block = self._blocks[index]
        block.signature += text
        return [_delta(block, {"reasoningContent": {"signature": text}})]

    def opaque(self, data: str) -> list[WireEvent]:
        """Return a block of hidden reasoning, whose bytes are the text's."""
        opening = self.begin()
        block = OutgoingBlock("opaque")
        block.parts.append(data)
        self._place(block)
        return [*opening, _delta(block, {"reasoningContent": _hidden(data)}), *self._close_block(block)]

    def early_usage(self, usage: TokenUsage) -> list[WireEvent]:
        """Return a `metadata` event, which each later one replaces."""
        return [_event("noise", "metadata", usage=_counts(usage), metrics=_metrics())]

    def error(self, failure: Failure) -> WireError:
        """Return status and type as Bedrock names them."""
        status, kind = _ERRORS.get(failure.code, _SERVER)
        message = failure.message
        if failure.code == codes.CONTEXT_WINDOW_EXCEEDED and _TOO_LONG not in message:
            # Clients compact their history only on these words.
            message = f"{_TOO_LONG}: {message}"
        if status == 404 and _UNKNOWN not in message:
            message = f"{_UNKNOWN}: {message}"
        return WireError(status, message, kind)

    def error_body(self, error: WireError) -> bytes:
        """Return `{"message", "__type"}`; where headers can be set, the type is `x-amzn-errortype` too."""
        return compact({"message": error.message, "__type": error.type})

    def error_event(self, error: WireError) -> bytes:
        """Return an exception of the stream."""
        kind = _IN_STREAM.get(error.status, "internalServerException")
        headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
        return frame(headers, compact({"message": error.message}))

    def keep_alive(self) -> bytes:
        """Return an event of a name that clients pass over; the wire has none of its own."""
        return _event("noise", "keepAlive").data

    def _opening(self, *, call: bool) -> list[WireEvent]:
        return [_event("open", "messageStart", role="assistant")]

    def _open_block(self, block: OutgoingBlock) -> list[WireEvent]:
        return []

    def _text(self, block: OutgoingBlock, text: str) -> list[WireEvent]:
        delta: Mapping[str, object] = {"text": text}
        return [_delta(block, delta if block.kind == "text" else {"reasoningContent": delta})]

    def _call(self, block: OutgoingBlock, arguments: str, *, first: bool) -> list[WireEvent]:
        delta = _delta(block, {"toolUse": {"input": arguments}})
        if not first:
            return [delta]
        start = {"toolUse": {"toolUseId": block.id, "name": block.name}}
        return [_event("open", "contentBlockStart", contentBlockIndex=block.place, start=start), delta]

    def _close_block(self, block: OutgoingBlock) -> list[WireEvent]:
        block.ended = True
        return [_event("noise", "contentBlockStop", contentBlockIndex=block.place)]

    def _closing(self, word: str) -> list[WireEvent]:
        # A refusal may come while a block is open; without its stop clients lose the block.
        stops = [event for block in self._sent if not block.ended for event in self._close_block(block)]
        counts = {} if self._usage is None else {"usage": _counts(self._usage)}
        return [
            *stops,
            _event("finish", "messageStop", stopReason=word, **self._matched()),
            _event("usage" if counts else "noise", "metadata", **counts, metrics=_metrics()),
        ]

    def _finish_word(self, reason: FinishReason) -> str:
        if reason.kind == "stop" and self.stop_sequence is not None:
            return "stop_sequence"
        return self.words[reason.kind]

    def _document(self) -> WholeAnswer:
        content: list[Mapping[str, object]] = []
        for block in self._sent:
            given = json_object(block.text) if block.kind == "tool-call" else None
            if block.kind != "tool-call" or given is not None:
                content.append(_whole_block(block, given))
            elif self._word != "max_tokens":
                what = f"the arguments of the call {block.id!r} are no JSON object"
                return self._failed(what, codes.MALFORMED_RESPONSE)
        body: dict[str, object] = {
            "output": {"message": {"role": "assistant", "content": content}},
            "stopReason": self._word,
            **self._matched(),
            "metrics": _metrics(),
        }
        if self._usage is not None:
            body["usage"] = _counts(self._usage)
        return WholeAnswer(compact(body))

    def _matched(self) -> dict[str, object]:
        if self.stop_sequence is None:
            return {}
        return {"additionalModelResponseFields": {"stop_sequence": self.stop_sequence}}


def frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    """Return one message of Amazon's event stream: lengths, headers that are strings, payload, both checksums."""
    block = b"".join(
        bytes((len(name),)) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in headers.items()
    )
    lengths = struct.pack(">II", 16 + len(block) + len(payload), len(block))
    message = lengths + struct.pack(">I", zlib.crc32(lengths)) + block + payload
    return message + struct.pack(">I", zlib.crc32(message))


def _event(kind: EventKind, name: str, **fields: object) -> WireEvent:
    headers = {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
    return WireEvent(kind, frame(headers, compact(fields)))


def _delta(block: OutgoingBlock, delta: Mapping[str, object]) -> WireEvent:
    return _event("content", "contentBlockDelta", contentBlockIndex=block.place, delta=delta)


def _metrics() -> Mapping[str, object]:
    return {"latencyMs": 0}


def _hidden(data: str) -> Mapping[str, object]:
    return {"redactedContent": b64encode(data.encode()).decode()}


def _counts(usage: TokenUsage) -> dict[str, object]:
    counts = {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "totalTokens": prompt_tokens(usage) + (usage.output_tokens or 0),
        "cacheReadInputTokens": usage.cache_read_tokens,
        "cacheWriteInputTokens": usage.cache_write_tokens,
    }
    return {name: count for name, count in counts.items() if count is not None}


def _whole_block(block: OutgoingBlock, given: msgspec.Raw | None) -> Mapping[str, object]:
    if block.kind == "tool-call":
        return {"toolUse": {"toolUseId": block.id, "name": block.name, "input": given}}
    if block.kind == "reasoning":
        signed = {"signature": block.signature} if block.signature else _NOTHING
        return {"reasoningContent": {"reasoningText": {"text": block.text, **signed}}}
    if block.kind == "opaque":
        return {"reasoningContent": _hidden(block.text)}
    return {"text": block.text}


ENCODER: Final = BedrockConverseEncoder
