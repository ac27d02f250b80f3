"""The wire `anthropic-messages`, spoken from its documentation.

Source: https://docs.claude.com/en/docs/build-with-claude/streaming and https://docs.claude.com/en/api/errors,
read 2026-11-30.
"""

import json
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Final

from limen.testing.server._answer import Ask, Kind, ProviderError, Send
from limen.testing.server._script import Part, Raw, Reasoning, Refusal, Text, ToolCall, Turn, Usage, pieces
from limen.testing.server._speaker import ask_of, compact

_WORDS: Final[Mapping[str, str]] = {
    "stop": "end_turn",
    "stop-sequence": "stop_sequence",
    "tool-calls": "tool_use",
    "max-tokens": "max_tokens",
    "refusal": "refusal",
}


class MessagesSpeaker:
    """Anthropic messages: named events from `message_start` to `message_stop`, blocks with indexes of their own.

    `path` is another one where a cloud serves the same wire under its own, such as `:streamRawPredict`.
    """

    name = "anthropic-messages"
    base_path = ""
    stream_type = "text/event-stream; charset=utf-8"

    def __init__(self, *, path: str = "/v1/messages") -> None:
        self.path = path

    def ask(self, body: Mapping[str, object]) -> Ask:
        """Read model, `stream` and the history's length."""
        return ask_of(body)

    def events(self, turn: Turn, ask: Ask) -> Sequence[Send]:
        """Return `message_start`, the blocks with a ping after the first start, `message_delta`, `message_stop`."""
        model = turn.model or ask.model
        message = {**_message(model), "content": (), "usage": _first_usage(turn.usage)}
        sends = [_event("open", "message_start", message=message)]
        blocks = [part for part in turn.parts if not isinstance(part, Refusal)]
        lists = [_block(part, index) for index, part in enumerate(blocks)]
        if turn.interleave:
            lists = [[send for row in zip_longest(*lists) for send in row if send is not None]]
        for one in lists:
            sends += one
        if lists:
            sends.insert(2, _event("noise", "ping"))
        if turn.usage_at == "repeated":
            # An early report with a provisional count; the later one replaces it.
            early = {"stop_reason": None, "stop_sequence": None}
            sends.append(_event("usage", "message_delta", delta=early, usage={"output_tokens": 1}))
        delta: dict[str, object] = {
            "stop_reason": _WORDS.get(turn.finish_kind, turn.finish_kind),
            "stop_sequence": turn.stop_sequence,
        }
        refusal = _refusal(turn)
        if refusal:
            delta["stop_details"] = {"type": "refusal", "category": None, "explanation": refusal}
        sends.append(_event("finish", "message_delta", delta=delta, usage=_last_usage(turn.usage)))
        sends.append(_event("end", "message_stop"))
        return sends

    def whole(self, turn: Turn, ask: Ask) -> bytes:
        """Return a `message` object."""
        body: dict[str, object] = {
            **_message(turn.model or ask.model),
            "content": [_whole_block(part) for part in turn.parts if not isinstance(part, (Refusal, Raw))],
            "stop_reason": _WORDS.get(turn.finish_kind, turn.finish_kind),
            "stop_sequence": turn.stop_sequence,
            "usage": {**_first_usage(turn.usage), **_last_usage(turn.usage)},
        }
        refusal = _refusal(turn)
        if refusal:
            body["stop_details"] = {"type": "refusal", "category": None, "explanation": refusal}
        return compact(body).encode()

    def error_body(self, error: ProviderError) -> bytes:
        """Return `{"type": "error", "error": {type, message}, "request_id"}`."""
        return compact({"type": "error", "error": _error(error), "request_id": "req_mock"}).encode()

    def error_event(self, error: ProviderError) -> Send:
        """Return an `error` event."""
        return _event("error", "error", error=_error(error))

    def keep_alive(self) -> bytes:
        """Return a ping event."""
        return b'event: ping\ndata: {"type": "ping"}\n\n'

    def broken(self, shape: str) -> Send:
        """Return JSON cut short, a delta that is no object, or an event nobody documented."""
        return {
            "malformed": Send("noise", b'event: content_block_delta\ndata: {"type":"content_block_delta","ind\n\n'),
            "wrong-shape": _event("noise", "content_block_delta", index=0, delta="text"),
            "unknown": _event("noise", "weather_report", forecast="nobody documented this"),
        }[shape]

    def more_text(self, text: str, index: int) -> Sequence[Send]:
        """Return a whole text block of that index."""
        return _block(Text([text]), index)

    def padded(self, size: int) -> Send:
        """Return a ping with a long unknown field."""
        return _event("noise", "ping", padding="x" * size)


def _event(kind: Kind, name: str, **fields: object) -> Send:
    return Send(kind, f"event: {name}\ndata: {compact({'type': name, **fields})}\n\n".encode())


def _message(model: str) -> dict[str, object]:
    return {
        "id": "msg_mock",
        "type": "message",
        "role": "assistant",
        "model": model,
        "stop_reason": None,
        "stop_sequence": None,
    }


def _first_usage(usage: Usage | None) -> dict[str, object]:
    counted = usage or Usage()
    body: dict[str, object] = {"input_tokens": counted.input, "output_tokens": 1}
    if counted.cache_write is not None:
        body["cache_creation_input_tokens"] = counted.cache_write
    if counted.cache_read is not None:
        body["cache_read_input_tokens"] = counted.cache_read
    return body


def _last_usage(usage: Usage | None) -> dict[str, object]:
    counted = usage or Usage()
    body: dict[str, object] = {"output_tokens": counted.output}
    if counted.reasoning is not None:
        body["output_tokens_details"] = {"thinking_tokens": counted.reasoning}
    return body


def _error(error: ProviderError) -> Mapping[str, object]:
    return {"type": error.type, "message": error.message}


def _refusal(turn: Turn) -> str:
    return "".join("".join(pieces(part.text)) for part in turn.parts if isinstance(part, Refusal))


def _block(part: Part, index: int) -> list[Send]:
    start, deltas = _opened(part)
    if start is None:
        return [Send("noise", part.data.encode())] if isinstance(part, Raw) else []
    return [
        _event("open", "content_block_start", index=index, content_block=start),
        *(_event("content", "content_block_delta", index=index, delta=delta) for delta in deltas),
        _event("noise", "content_block_stop", index=index),
    ]


def _opened(part: Part) -> tuple[Mapping[str, object] | None, Sequence[Mapping[str, object]]]:
    match part:
        case Text():
            return {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces(part.text)]
        case Reasoning(redacted=str()):
            return {"type": "redacted_thinking", "data": part.redacted}, ()
        case Reasoning():
            thoughts = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(part.text)]
            signed = {"type": "signature_delta", "signature": part.signature}
            return {"type": "thinking", "thinking": "", "signature": ""}, [*thoughts, signed]
        case ToolCall():
            fragments = pieces(part.arguments)
            nothing: Mapping[str, object] = {}
            start = {"type": "tool_use", "id": part.id, "name": part.name, "input": nothing}
            return start, [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *fragments)]
        case Refusal() | Raw():
            return None, ()


def _whole_block(part: Part) -> Mapping[str, object]:
    match part:
        case ToolCall():
            given: object = json.loads("".join(pieces(part.arguments)) or "{}")
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": given}
        case Reasoning(redacted=str()):
            return {"type": "redacted_thinking", "data": part.redacted}
        case Reasoning():
            return {"type": "thinking", "thinking": "".join(pieces(part.text)), "signature": part.signature}
        case Text() | Refusal():
            return {"type": "text", "text": "".join(pieces(part.text))}
        case Raw():
            return {"type": "text", "text": part.data}
