"""Encoder of the wire `anthropic-messages`.

Source: https://docs.claude.com/en/docs/build-with-claude/streaming and https://docs.claude.com/en/api/errors,
read 2026-11-30.
"""

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
    sse,
)

_SERVER: Final = (502, "api_error")
_INVALID: Final = (400, "invalid_request_error")
_ERRORS: Final[Mapping[str, tuple[int, str]]] = {
    codes.INVALID_REQUEST: _INVALID,
    codes.INVALID_OPTIONS: _INVALID,
    codes.INVALID_REPLAY_STATE: _INVALID,
    codes.UNSUPPORTED: _INVALID,
    codes.UNSUPPORTED_CONTENT: _INVALID,
    codes.UNSUPPORTED_REASONING_EFFORT: _INVALID,
    codes.CONTENT_FILTER: _INVALID,
    codes.CONTEXT_WINDOW_EXCEEDED: _INVALID,
    codes.MODEL_NOT_FOUND: (404, "not_found_error"),
    codes.NO_ADAPTER: (404, "not_found_error"),
    codes.QUOTA: (402, "billing_error"),
    codes.RATE_LIMIT: (429, "rate_limit_error"),
    codes.OVERLOADED: (529, "overloaded_error"),
    codes.TIMEOUT: (504, "timeout_error"),
    codes.ABORTED: (499, "api_error"),
    codes.PROTOCOL_VIOLATION: (500, "api_error"),
}
_TOO_LONG: Final = "prompt is too long"
_NO_COUNTS: Final = TokenUsage(input_tokens=0, output_tokens=0, cache_read_tokens=0, cache_write_tokens=0)


class AnthropicMessagesEncoder(WireEncoder):
    """Anthropic messages: named events from `message_start` to `message_stop`, blocks with indexes of their own.

    - text, `thinking` and `tool_use` blocks, each from its start to its stop; a call's arguments only as
      `input_json_delta`; blocks that interleave stay interleaved under their indexes
    - counts are zero in `message_start` and whole in `message_delta`; with `start_usage` the input counts stand in
      the first and not in the second, as at Anthropic
    - `CONTENT_FILTER` is the stop reason `refusal`, its message in `stop_details`; any other failure is an `error`
      event

    Not carried: counts that are unknown (0, where an answer without any usage has only zeros); the arguments of a
    call's first delta, which read back as a delta of their own; images; phase, status and retry hint of a failure. A
    whole answer has no place for arguments that are not one JSON object: cut by `max_tokens`, the call is left out;
    otherwise the answer is the failure `MALFORMED_RESPONSE`.
    """

    wire: ClassVar[str] = "anthropic-messages"
    words: ClassVar[Mapping[FinishKind, str]] = {
        "stop": "end_turn",
        "tool-calls": "tool_use",
        "max-tokens": "max_tokens",
    }
    refusal_word: ClassVar[str] = "refusal"

    def signature(self, index: int, text: str) -> list[WireEvent]:
        """Return a `signature_delta` of the reasoning block with that chunk index."""
        block = self._blocks[index]
        block.signature += text
        return [self._delta(block, {"type": "signature_delta", "signature": text})]

    def opaque(self, data: str) -> list[WireEvent]:
        """Return a `redacted_thinking` block."""
        opening = self.begin()
        block = OutgoingBlock("opaque")
        block.parts.append(data)
        self._place(block)
        return [*opening, self._block_start(block), *self._close_block(block)]

    def early_usage(self, usage: TokenUsage) -> list[WireEvent]:
        """Return a `message_delta` without a stop reason."""
        delta = {"stop_reason": None, "stop_sequence": None}
        return [_event("usage", "message_delta", delta=delta, usage=self._last_counts(usage))]

    def error(self, failure: Failure) -> WireError:
        """Return status and type as Anthropic names them."""
        status, kind = _ERRORS.get(failure.code, _SERVER)
        message = failure.message
        if failure.code == codes.CONTEXT_WINDOW_EXCEEDED and _TOO_LONG not in message:
            # Claude Code compacts its history only on these words (recorded 2026-11-30).
            message = f"{_TOO_LONG}: {message}"
        if kind == "not_found_error" and not message.startswith("model:"):
            # Only these words tell a client that it is the model that does not exist, and not the path.
            message = f"model: {self.model}: {message}"
        return WireError(status, message, kind)

    def error_body(self, error: WireError) -> bytes:
        """Return `{"type": "error", "error": {type, message}, "request_id"}`."""
        body: dict[str, object] = {"type": "error", "error": _error(error)}
        if self.options.request_id is not None:
            body["request_id"] = self.options.request_id
        return compact(body)

    def error_event(self, error: WireError) -> bytes:
        """Return an `error` event."""
        return _event("error", "error", error=_error(error)).data

    def keep_alive(self) -> bytes:
        """Return a `ping` event."""
        return _event("noise", "ping").data

    def _opening(self, *, call: bool) -> list[WireEvent]:
        message = {**self._head(), "content": (), "usage": self._first_usage()}
        return [_event("open", "message_start", message=message)]

    def _open_block(self, block: OutgoingBlock) -> list[WireEvent]:
        return [self._block_start(block)]

    def _text(self, block: OutgoingBlock, text: str) -> list[WireEvent]:
        if block.kind == "text":
            return [self._delta(block, {"type": "text_delta", "text": text})]
        return [self._delta(block, {"type": "thinking_delta", "thinking": text})]

    def _call(self, block: OutgoingBlock, arguments: str, *, first: bool) -> list[WireEvent]:
        delta = self._delta(block, {"type": "input_json_delta", "partial_json": arguments})
        # Arguments never stand in the start: Claude Code ignores them there and runs the tool with {}.
        return [self._block_start(block), delta] if first else [delta]

    def _close_block(self, block: OutgoingBlock) -> list[WireEvent]:
        block.ended = True
        return [_event("noise", "content_block_stop", index=block.place)]

    def _closing(self, word: str) -> list[WireEvent]:
        # A refusal may come while a block is open; without its stop clients lose the block.
        stops = [event for block in self._sent if not block.ended for event in self._close_block(block)]
        delta = self._ending(word)
        return [
            *stops,
            _event("finish", "message_delta", delta=delta, usage=self._last_usage()),
            _event("end", "message_stop"),
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
        body = {
            **self._head(),
            "content": content,
            **self._ending(self._word),
            "usage": {**self._first_usage(), **self._last_usage()},
        }
        return WholeAnswer(compact(body))

    def _head(self) -> dict[str, object]:
        return {
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "stop_reason": None,
            "stop_sequence": None,
        }

    def _ending(self, word: str) -> dict[str, object]:
        ending: dict[str, object] = {"stop_reason": word, "stop_sequence": self.stop_sequence}
        if self._refusal:
            explanation = "".join(self._refusal)
            ending["stop_details"] = {"type": "refusal", "category": None, "explanation": explanation}
        return ending

    def _first_usage(self) -> dict[str, object]:
        if self.options.start_usage is None:
            return _counts(_NO_COUNTS)
        # Anthropic's count of output is 1 there; the last report replaces it.
        return _counts(msgspec.structs.replace(self.options.start_usage, output_tokens=1, reasoning_tokens=None))

    def _last_usage(self) -> dict[str, object]:
        return self._last_counts(self._usage or TokenUsage(output_tokens=0))

    def _last_counts(self, usage: TokenUsage) -> dict[str, object]:
        if self.options.start_usage is None:
            return _counts(usage)
        return _counts(TokenUsage(output_tokens=usage.output_tokens or 0, reasoning_tokens=usage.reasoning_tokens))

    def _block_start(self, block: OutgoingBlock) -> WireEvent:
        return _event("open", "content_block_start", index=block.place, content_block=_started(block))

    def _delta(self, block: OutgoingBlock, delta: Mapping[str, object]) -> WireEvent:
        return _event("content", "content_block_delta", index=block.place, delta=delta)


def _event(kind: EventKind, name: str, **fields: object) -> WireEvent:
    return WireEvent(kind, sse(compact({"type": name, **fields}), event=name))


def _counts(usage: TokenUsage) -> dict[str, object]:
    counts = {
        "input_tokens": usage.input_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "output_tokens": usage.output_tokens,
    }
    body: dict[str, object] = {name: count for name, count in counts.items() if count is not None}
    if usage.reasoning_tokens is not None:
        body["output_tokens_details"] = {"thinking_tokens": usage.reasoning_tokens}
    return body


def _error(error: WireError) -> Mapping[str, object]:
    return {"type": error.type, "message": error.message}


def _started(block: OutgoingBlock) -> Mapping[str, object]:
    if block.kind == "tool-call":
        nothing: Mapping[str, object] = {}
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": nothing}
    if block.kind == "opaque":
        return {"type": "redacted_thinking", "data": block.text}
    if block.kind == "reasoning":
        return {"type": "thinking", "thinking": "", "signature": ""}
    return {"type": "text", "text": ""}


def _whole_block(block: OutgoingBlock, given: msgspec.Raw | None) -> Mapping[str, object]:
    if block.kind == "tool-call":
        return {"type": "tool_use", "id": block.id, "name": block.name, "input": given}
    if block.kind == "reasoning":
        return {"type": "thinking", "thinking": block.text, "signature": block.signature}
    if block.kind == "opaque":
        return {"type": "redacted_thinking", "data": block.text}
    return {"type": "text", "text": block.text}


ENCODER: Final = AnthropicMessagesEncoder
