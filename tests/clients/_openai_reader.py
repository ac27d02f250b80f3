"""The official `openai` client, unmodified, as a reader of what the mock provider says."""

import openai
from _compare import NUMBERS, QUESTION, Reading

TOOLS = [
    {"type": "function", "function": {"name": "add", "parameters": NUMBERS}},
    {"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}},
]
STATUSES = {
    "400": openai.BadRequestError,
    "401": openai.AuthenticationError,
    "403": openai.PermissionDeniedError,
    "404": openai.NotFoundError,
    "409": openai.ConflictError,
    "422": openai.UnprocessableEntityError,
    "429-no-hint": openai.RateLimitError,
    "500": openai.InternalServerError,
    "529": openai.InternalServerError,
}


def client(base_url: str) -> openai.OpenAI:
    return openai.OpenAI(base_url=base_url, api_key="sk-witness-0123456789", max_retries=0, timeout=20)


def streamed(base_url: str, model: str, messages: list | None = None) -> Reading:
    """Read a stream."""
    reading = Reading()
    calls: dict[int, list[str]] = {}
    with client(base_url).chat.completions.create(
        model=model,
        messages=messages or [{"role": "user", "content": QUESTION}],
        tools=TOOLS,
        stream=True,
        stream_options={"include_usage": True},
    ) as stream:
        for chunk in stream:
            if chunk.usage is not None:
                _count(reading, chunk.usage)
            for choice in chunk.choices:
                reading.text += choice.delta.content or ""
                reading.refusal += choice.delta.refusal or ""
                reading.reasoning += (choice.delta.model_extra or {}).get("reasoning_content") or ""
                for call in choice.delta.tool_calls or []:
                    kept = calls.setdefault(call.index, ["", "", ""])
                    kept[0] = kept[0] or call.id or ""
                    kept[1] = kept[1] or call.function.name or ""
                    kept[2] += call.function.arguments or ""
                reading.end = choice.finish_reason or reading.end
    reading.calls = [tuple(kept) for kept in calls.values()]
    return reading


def whole(base_url: str, model: str) -> Reading:
    """Read an answer that is no stream."""
    answer = client(base_url).chat.completions.create(
        model=model, messages=[{"role": "user", "content": QUESTION}], tools=TOOLS
    )
    (choice,) = answer.choices
    reading = Reading(
        text=choice.message.content or "",
        refusal=choice.message.refusal or "",
        reasoning=(choice.message.model_extra or {}).get("reasoning_content") or "",
        calls=[(call.id, call.function.name, call.function.arguments) for call in choice.message.tool_calls or []],
        end=choice.finish_reason,
    )
    if answer.usage is not None:
        _count(reading, answer.usage)
    return reading


def follow_up(reading: Reading) -> list:
    """The history after a turn that called tools."""
    calls = [
        {"id": native, "type": "function", "function": {"name": name, "arguments": arguments}}
        for native, name, arguments in reading.calls
    ]
    answers = [{"role": "tool", "tool_call_id": native, "content": "42"} for native, _, _ in reading.calls]
    return [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": None, "tool_calls": calls},
        *answers,
    ]


def _count(reading: Reading, usage: openai.types.CompletionUsage) -> None:
    reading.prompt, reading.output = usage.prompt_tokens, usage.completion_tokens
    if usage.prompt_tokens_details is not None:
        reading.cached = usage.prompt_tokens_details.cached_tokens
    if usage.completion_tokens_details is not None:
        reading.thought = usage.completion_tokens_details.reasoning_tokens


def end(reading: Reading) -> str:
    """limen's word for how this answer ended, from what the client said alone (E3)."""
    if reading.refusal or reading.end == "content_filter":
        return "CONTENT_FILTER"
    if reading.end == "length":
        return "max-tokens"
    if reading.end not in ("stop", "tool_calls"):
        return "UNKNOWN_FINISH"
    if reading.calls:
        return "tool-calls"
    return "stop" if reading.text.strip() or reading.reasoning else "EMPTY_RESPONSE"
