"""The official `cohere` client, unmodified, as a reader of what the mock provider says."""

import cohere
from _compare import NUMBERS, QUESTION, Reading
from cohere.core import ApiError

TOOLS = [
    {"type": "function", "function": {"name": "add", "parameters": NUMBERS}},
    {"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}},
]
STATUSES = {
    "400": cohere.BadRequestError,
    "401": cohere.UnauthorizedError,
    "403": cohere.ForbiddenError,
    "404": cohere.NotFoundError,
    "409": ApiError,
    "422": cohere.UnprocessableEntityError,
    "429-no-hint": cohere.TooManyRequestsError,
    "500": cohere.InternalServerError,
}
ONCE = {"max_retries": 0}


def client(base_url: str) -> cohere.ClientV2:
    return cohere.ClientV2(api_key="co-witness-0123456789", base_url=base_url, timeout=20)


def streamed(base_url: str, model: str, messages: list | None = None) -> Reading:
    """Read a stream, event by event."""
    reading = Reading()
    calls: dict[int, list[str]] = {}
    asked = messages or [{"role": "user", "content": QUESTION}]
    for event in client(base_url).chat_stream(model=model, messages=asked, tools=TOOLS, request_options=ONCE):
        if event.type == "content-delta":
            content = event.delta.message.content
            reading.text += content.text or ""
            reading.reasoning += content.thinking or ""
        elif event.type == "tool-plan-delta":
            reading.reasoning += event.delta.message.tool_plan or ""
        elif event.type == "tool-call-start":
            call = event.delta.message.tool_calls
            calls[event.index] = [call.id, call.function.name, call.function.arguments or ""]
        elif event.type == "tool-call-delta":
            calls[event.index][2] += event.delta.message.tool_calls.function.arguments or ""
        elif event.type == "message-end":
            reading.end = event.delta.finish_reason or reading.end
            if reading.end == "ERROR_TOXIC" and not reading.text:
                reading.refusal = event.delta.error or ""
            _count(reading, event.delta.usage)
    reading.calls = [(native, name, arguments or "{}") for native, name, arguments in calls.values()]
    return reading


def whole(base_url: str, model: str) -> Reading:
    """Read an answer that is no stream."""
    answer = client(base_url).chat(
        model=model, messages=[{"role": "user", "content": QUESTION}], tools=TOOLS, request_options=ONCE
    )
    message = answer.message
    parts = message.content or []
    reading = Reading(
        text="".join(part.text for part in parts if part.type == "text"),
        reasoning=(message.tool_plan or "") + "".join(part.thinking for part in parts if part.type == "thinking"),
        calls=[(call.id, call.function.name, call.function.arguments or "{}") for call in message.tool_calls or []],
        end=answer.finish_reason or "",
    )
    if reading.end == "ERROR_TOXIC" and not reading.text:
        # The client's type of a whole answer has no field for it and keeps it as an extra one.
        reading.refusal = getattr(answer, "error", None) or ""
    _count(reading, answer.usage)
    return reading


def follow_up(reading: Reading) -> list:
    """The history after a turn that called tools."""
    calls = [
        {"id": native, "type": "function", "function": {"name": name, "arguments": arguments}}
        for native, name, arguments in reading.calls
    ]
    answers = [{"role": "tool", "tool_call_id": native, "content": "42"} for native, _, _ in reading.calls]
    return [{"role": "user", "content": QUESTION}, {"role": "assistant", "tool_calls": calls}, *answers]


def _count(reading: Reading, usage: object) -> None:
    if usage is None or usage.tokens is None:
        return
    reading.prompt, reading.output = int(usage.tokens.input_tokens), int(usage.tokens.output_tokens)
    reading.cached = None if usage.cached_tokens is None else int(usage.cached_tokens)
    # Not a field of the client's type; it keeps what it does not know.
    reading.thought = getattr(usage.tokens, "reasoning_tokens", None)


def end(reading: Reading) -> str:
    """limen's word for how this answer ended, from what the client said alone (E3)."""
    if reading.end in ("ERROR_TOXIC", "content_filter"):
        return "CONTENT_FILTER"
    if reading.end == "MAX_TOKENS":
        return "max-tokens"
    if reading.end not in ("COMPLETE", "TOOL_CALL", "STOP_SEQUENCE"):
        return "UNKNOWN_FINISH"
    if reading.calls:
        return "tool-calls"
    return "stop" if reading.text.strip() or reading.reasoning or reading.end == "STOP_SEQUENCE" else "EMPTY_RESPONSE"
