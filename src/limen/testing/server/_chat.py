"""The wire `openai-chat`, spoken from its documentation.

Source: https://platform.openai.com/docs/api-reference/chat/streaming and the object pages beside it, read 2026-11-30;
`reasoning_content` from https://api-docs.deepseek.com/guides/thinking_mode, read 2026-11-30.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final

import msgspec

from limen.testing.server._answer import Ask, Kind, ProviderError, Send
from limen.testing.server._script import Part, Raw, Reasoning, Refusal, Text, ToolCall, Turn, Usage, pieces
from limen.testing.server._speaker import ask_of, compact

_WORDS: Final[Mapping[str, str]] = {
    "stop": "stop",
    "stop-sequence": "stop",
    "tool-calls": "tool_calls",
    "max-tokens": "length",
    "refusal": "stop",
}


class ChatSpeaker:
    """Chat completions: `data:` lines without event names, `[DONE]` at the end.

    `counts_unasked` is a host that reports usage whether or not `stream_options.include_usage` asks for it.
    """

    name = "openai-chat"
    base_path = "/v1"
    path = "/chat/completions"
    stream_type = "text/event-stream; charset=utf-8"

    def __init__(self, *, counts_unasked: bool = False) -> None:
        self._counts_unasked = counts_unasked

    def ask(self, body: Mapping[str, object]) -> Ask:
        """Read model, `stream`, the history's length and `stream_options.include_usage`."""
        asked = ask_of(body)
        return asked._replace(include_usage=asked.include_usage or self._counts_unasked)

    def events(self, turn: Turn, ask: Ask) -> Sequence[Send]:
        """Return the role chunk, the fragments, the finish chunk, usage and `[DONE]`."""
        model = turn.model or ask.model
        trailing = turn.usage is not None and turn.usage_at == "trailing" and ask.include_usage
        repeated = turn.usage is not None and turn.usage_at == "repeated"
        only_calls = bool(turn.parts) and all(isinstance(part, ToolCall) for part in turn.parts)
        first = {"role": "assistant", "content": None if only_calls else "", "refusal": None}
        sends = [_chunk("open", model, first, trailing=trailing)]
        if repeated and turn.usage is not None:
            # Some hosts count along: every report is the whole count so far, and the last one stands.
            early = msgspec.structs.replace(turn.usage, output=1, reasoning=None)
            sends.append(_counted(model, early))
        for delta in _deltas(turn):
            if isinstance(delta, Raw):
                sends.append(Send("noise", delta.data.encode()))
            else:
                sends.append(_chunk("content", model, delta, trailing=trailing))
        attached = usage_json(turn.usage) if turn.usage is not None and turn.usage_at != "trailing" else None
        word = _WORDS.get(turn.finish_kind, turn.finish_kind)
        sends.append(_chunk("finish", model, {}, finish=word, trailing=trailing, usage=attached))
        if trailing and turn.usage is not None:
            sends.append(_counted(model, turn.usage))
        sends.append(_data("end", "[DONE]"))
        return sends

    def whole(self, turn: Turn, ask: Ask) -> bytes:
        """Return a `chat.completion` object."""
        text = _joined(turn, Text)
        reasoning = _joined(turn, Reasoning)
        refusal = _joined(turn, Refusal)
        calls = [part for part in turn.parts if isinstance(part, ToolCall)]
        message: dict[str, object] = {"role": "assistant", "content": text or None, "refusal": refusal or None}
        if reasoning:
            message["reasoning_content"] = reasoning
        if calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": "".join(pieces(call.arguments))},
                }
                for call in calls
            ]
        word = _WORDS.get(turn.finish_kind, turn.finish_kind)
        body: dict[str, object] = {
            **_head(turn.model or ask.model),
            "object": "chat.completion",
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": word}],
        }
        if turn.usage is not None:
            body["usage"] = usage_json(turn.usage)
        return compact(body).encode()

    def error_body(self, error: ProviderError) -> bytes:
        """Return `{"error": {message, type, param, code}}`."""
        return compact({"error": _error(error)}).encode()

    def error_event(self, error: ProviderError) -> Send:
        """Return a `data:` line whose JSON has a top-level `error`."""
        return _data("error", compact({"error": _error(error)}))

    def keep_alive(self) -> bytes:
        """Return an SSE comment."""
        return b": keep-alive\n\n"

    def broken(self, shape: str) -> Send:
        """Return JSON cut short, `choices` that is no list, or an object nobody documented."""
        payload = {
            "malformed": '{"id":"chatcmpl-mock","choices":[{"ind',
            "wrong-shape": '{"id":"chatcmpl-mock","object":"chat.completion.chunk","choices":{"delta":"text"}}',
            "unknown": '{"object":"chat.completion.annotation","note":"nobody documented this"}',
        }[shape]
        return _data("noise", payload)

    def more_text(self, text: str, index: int) -> Sequence[Send]:
        """Return one content chunk; this wire has one text and no block indexes."""
        return (_chunk("content", "mock", {"content": text}, trailing=False),)

    def padded(self, size: int) -> Send:
        """Return an empty delta with padding in `obfuscation`."""
        return _data("noise", compact({**_head("mock"), "choices": (), "obfuscation": "x" * size}))


def _counted(model: str, usage: Usage) -> Send:
    return _data("usage", compact({**_head(model), "choices": (), "usage": usage_json(usage)}))


def usage_json(usage: Usage) -> Mapping[str, object]:
    """Add up: cached input is inside `prompt_tokens`, reasoning inside `completion_tokens`."""
    prompt = usage.input + (usage.cache_read or 0) + (usage.cache_write or 0)
    body: dict[str, object] = {
        "prompt_tokens": prompt,
        "completion_tokens": usage.output,
        "total_tokens": prompt + usage.output,
    }
    cached = {"cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write}
    details = {name: count for name, count in cached.items() if count is not None}
    if details:
        body["prompt_tokens_details"] = details
    if usage.reasoning is not None:
        body["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning}
    return body


def _head(model: str) -> dict[str, object]:
    return {
        "id": "chatcmpl-mock",
        "object": "chat.completion.chunk",
        "created": 1796000000,
        "model": model,
        "system_fingerprint": "fp_mock",
    }


def _chunk(
    kind: Kind,
    model: str,
    delta: Mapping[str, object],
    *,
    trailing: bool,
    finish: str | None = None,
    usage: Mapping[str, object] | None = None,
) -> Send:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    body: dict[str, object] = {**_head(model), "choices": [choice]}
    # With include_usage every chunk but the last carries `usage: null`.
    if trailing or usage is not None:
        body["usage"] = usage
    return _data(kind, compact(body))


def _data(kind: Kind, payload: str) -> Send:
    return Send(kind, f"data: {payload}\n\n".encode())


def _error(error: ProviderError) -> Mapping[str, object]:
    return {"message": error.message, "type": error.type, "param": None, "code": error.code}


def _joined(turn: Turn, kind: type[Text | Reasoning | Refusal]) -> str:
    return "".join("".join(pieces(part.text)) for part in turn.parts if isinstance(part, kind))


def _deltas(turn: Turn) -> Iterator[Mapping[str, object] | Raw]:
    lists: list[list[Mapping[str, object] | Raw]] = []
    calls = 0
    for part in turn.parts:
        lists.append(list(_part(part, calls)))
        calls += isinstance(part, ToolCall)
    if not turn.interleave:
        for one in lists:
            yield from one
        return
    for row in zip_longest(*lists):
        yield from (delta for delta in row if delta is not None)


def _part(part: Part, call: int) -> Iterator[Mapping[str, object] | Raw]:
    match part:
        case Text():
            yield from ({"content": piece} for piece in pieces(part.text))
        case Reasoning():
            # DeepSeek sends the other field as null beside the one that speaks.
            yield from ({"content": None, "reasoning_content": piece} for piece in pieces(part.text))
        case Refusal():
            yield from ({"refusal": piece} for piece in pieces(part.text))
        case ToolCall():
            opening = {"name": part.name, "arguments": ""}
            yield {"tool_calls": [{"index": call, "id": part.id, "type": "function", "function": opening}]}
            for piece in pieces(part.arguments):
                yield {"tool_calls": [{"index": call, "function": {"arguments": piece}}]}
        case Raw():
            yield part
