"""The official `anthropic` client, unmodified, as a reader of what the mock provider says."""

import anthropic
from _compare import NUMBERS, QUESTION, Reading

TOOLS = [{"name": "add", "input_schema": NUMBERS}, {"name": "now", "input_schema": {"type": "object"}}]
STATUSES = {
    "400": anthropic.BadRequestError,
    "401": anthropic.AuthenticationError,
    "403": anthropic.PermissionDeniedError,
    "404": anthropic.NotFoundError,
    "409": anthropic.ConflictError,
    "422": anthropic.UnprocessableEntityError,
    "429-no-hint": anthropic.RateLimitError,
    "500": anthropic.InternalServerError,
    "529": anthropic.InternalServerError,
}


def client(base_url: str) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=base_url, api_key="sk-ant-witness-0123456789", max_retries=0, timeout=20)


def streamed(base_url: str, model: str, messages: list | None = None) -> Reading:
    """Read a stream, event by event."""
    reading = Reading()
    calls: dict[int, list[str]] = {}
    with client(base_url).messages.create(
        model=model,
        max_tokens=1024,
        messages=messages or [{"role": "user", "content": QUESTION}],
        tools=TOOLS,
        stream=True,
    ) as stream:
        for event in stream:
            if event.type == "message_start":
                _count(reading, event.message.usage)
            elif event.type == "content_block_start" and event.content_block.type == "tool_use":
                calls[event.index] = [event.content_block.id, event.content_block.name, ""]
            elif event.type == "content_block_delta":
                delta = event.delta
                reading.text += delta.text if delta.type == "text_delta" else ""
                reading.reasoning += delta.thinking if delta.type == "thinking_delta" else ""
                if delta.type == "input_json_delta":
                    calls[event.index][2] += delta.partial_json
            elif event.type == "message_delta":
                _end(reading, event.delta)
                _count(reading, event.usage)
    reading.calls = [(native, name, arguments or "{}") for native, name, arguments in calls.values()]
    return reading


def whole(base_url: str, model: str) -> Reading:
    """Read an answer that is no stream; the arguments are an object there, and stay to be compared as one."""
    answer = client(base_url).messages.create(
        model=model, max_tokens=1024, messages=[{"role": "user", "content": QUESTION}], tools=TOOLS
    )
    reading = Reading(
        text="".join(block.text for block in answer.content if block.type == "text"),
        reasoning="".join(block.thinking for block in answer.content if block.type == "thinking"),
        calls=[(block.id, block.name, _compact(block.input)) for block in answer.content if block.type == "tool_use"],
    )
    _end(reading, answer)
    _count(reading, answer.usage)
    return reading


def follow_up(reading: Reading) -> list:
    """The history after a turn that called tools; the arguments as an object, as this wire wants them."""
    import json

    calls = [
        {"type": "tool_use", "id": native, "name": name, "input": json.loads(arguments)}
        for native, name, arguments in reading.calls
    ]
    answers = [{"type": "tool_result", "tool_use_id": native, "content": "42"} for native, _, _ in reading.calls]
    return [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": calls},
        {"role": "user", "content": answers},
    ]


def _compact(value: object) -> str:
    import json

    return json.dumps(value, separators=(",", ":"))


def _end(reading: Reading, said: object) -> None:
    reading.end = said.stop_reason or reading.end
    if said.stop_reason == "refusal" and said.stop_details is not None:
        reading.refusal = said.stop_details.explanation or ""


def _count(reading: Reading, usage: object) -> None:
    fresh = getattr(usage, "input_tokens", None)
    if fresh is not None:
        cached, written = usage.cache_read_input_tokens, usage.cache_creation_input_tokens
        reading.prompt, reading.cached = fresh + (cached or 0) + (written or 0), cached
    reading.output = usage.output_tokens
    details = getattr(usage, "output_tokens_details", None)
    if details is not None:
        reading.thought = details.thinking_tokens


def end(reading: Reading) -> str:
    """limen's word for how this answer ended, from what the client said alone (E3)."""
    if reading.end in ("refusal", "content_filter"):
        return "CONTENT_FILTER"
    if reading.end == "max_tokens":
        return "max-tokens"
    if reading.end not in ("end_turn", "tool_use", "stop_sequence"):
        return "UNKNOWN_FINISH"
    if reading.calls:
        return "tool-calls"
    return "stop" if reading.text.strip() or reading.reasoning or reading.end == "stop_sequence" else "EMPTY_RESPONSE"
