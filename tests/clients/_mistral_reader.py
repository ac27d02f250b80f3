"""The official `mistralai` client, unmodified, as a reader of what the mock provider says."""

from _compare import NUMBERS, QUESTION, Reading
from mistralai.client import Mistral
from mistralai.client.errors import HTTPValidationError, SDKError

TOOLS = [
    {"type": "function", "function": {"name": "add", "parameters": NUMBERS}},
    {"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}},
]
STATUSES = {
    **dict.fromkeys(("400", "401", "403", "404", "409", "429-no-hint", "500"), SDKError),
    "422": HTTPValidationError,
}
# The client's type of a whole answer requires usage.
NOT_WHOLE = {"no-usage"}
# The client has no field for the words of a refusal, which this host does not send.
SKIPPED = {"refusal"}


def client(base_url: str) -> Mistral:
    return Mistral(api_key="mistral-witness-0123456789", server_url=base_url.removesuffix("/v1"), timeout_ms=20_000)


def streamed(base_url: str, model: str, messages: list | None = None) -> Reading:
    """Read a stream, event by event."""
    reading = Reading()
    calls: dict[int, list[str]] = {}
    asked = messages or [{"role": "user", "content": QUESTION}]
    with client(base_url) as open_client, open_client.chat.stream(model=model, messages=asked, tools=TOOLS) as stream:
        for event in stream:
            for choice in event.data.choices:
                _content(reading, choice.delta.content)
                for call in choice.delta.tool_calls or []:
                    # The client gives a fragment without an id the id "null".
                    known = calls.setdefault(call.index, [call.id, call.function.name, ""])
                    known[2] += call.function.arguments
                reading.end = choice.finish_reason or reading.end
            if event.data.usage is not None:
                _count(reading, event.data.usage)
    reading.calls = [(native, name, arguments or "{}") for native, name, arguments in calls.values()]
    return reading


def whole(base_url: str, model: str) -> Reading:
    """Read an answer that is no stream."""
    with client(base_url) as open_client:
        answer = open_client.chat.complete(model=model, messages=[{"role": "user", "content": QUESTION}], tools=TOOLS)
    choice = answer.choices[0]
    reading = Reading(
        calls=[
            (call.id, call.function.name, call.function.arguments or "{}") for call in choice.message.tool_calls or []
        ],
        end=choice.finish_reason or "",
    )
    _content(reading, choice.message.content)
    _count(reading, answer.usage)
    return reading


def follow_up(reading: Reading) -> list:
    """The history after a turn that called tools."""
    calls = [
        {"id": native, "type": "function", "function": {"name": name, "arguments": arguments}}
        for native, name, arguments in reading.calls
    ]
    answers = [{"role": "tool", "tool_call_id": native, "content": "42"} for native, _, _ in reading.calls]
    return [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": "", "tool_calls": calls}, *answers]


def _content(reading: Reading, content: object) -> None:
    if isinstance(content, str):
        reading.text += content
    elif isinstance(content, list):
        for part in content:
            if part.type == "text":
                reading.text += part.text
            elif part.type == "thinking":
                reading.reasoning += "".join(inner.text for inner in part.thinking)


def _count(reading: Reading, usage: object) -> None:
    if usage is None:
        return
    reading.prompt, reading.output = usage.prompt_tokens, usage.completion_tokens
    details = getattr(usage, "prompt_tokens_details", None)
    reading.cached = (
        getattr(details, "cached_tokens", None) if not isinstance(details, dict) else details["cached_tokens"]
    )
    thought = getattr(usage, "completion_tokens_details", None)
    reading.thought = thought["reasoning_tokens"] if isinstance(thought, dict) else None


def end(reading: Reading) -> str:
    """limen's word for how this answer ended, from what the client said alone (E3)."""
    if reading.end in ("length", "model_length"):
        return "max-tokens"
    if reading.end not in ("stop", "tool_calls"):
        return "CONTENT_FILTER" if reading.end == "content_filter" else "UNKNOWN_FINISH"
    if reading.calls:
        return "tool-calls"
    return "stop" if reading.text.strip() or reading.reasoning else "EMPTY_RESPONSE"
