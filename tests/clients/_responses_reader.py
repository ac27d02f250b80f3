"""The official `openai` client on the wire `openai-responses`, as a reader of what the mock provider says."""

from _compare import NUMBERS, QUESTION, Reading
from _openai_reader import STATUSES, client

__all__ = ["STATUSES", "client", "end", "follow_up", "streamed", "whole"]

TOOLS = [
    {"type": "function", "name": "add", "parameters": NUMBERS, "strict": False},
    {"type": "function", "name": "now", "parameters": {"type": "object"}, "strict": False},
]


def streamed(base_url: str, model: str, messages: list | None = None) -> Reading:
    """Read a stream by its deltas, and its ending by the last event."""
    reading = Reading()
    calls: dict[int, list[str]] = {}
    with client(base_url).responses.create(
        model=model, input=messages or QUESTION, tools=TOOLS, store=False, stream=True
    ) as stream:
        for event in stream:
            if event.type == "response.output_text.delta":
                reading.text += event.delta
            elif event.type == "response.reasoning_summary_text.delta":
                reading.reasoning += event.delta
            elif event.type == "response.refusal.delta":
                reading.refusal += event.delta
            elif event.type == "response.output_item.added" and event.item.type == "function_call":
                calls[event.output_index] = [event.item.call_id, event.item.name, ""]
            elif event.type == "response.function_call_arguments.delta":
                calls[event.output_index][2] += event.delta
            elif event.type in ("response.completed", "response.incomplete") and not reading.end:
                _finish(reading, event.response)
    reading.calls = [tuple(call) for call in calls.values()]
    return reading


def whole(base_url: str, model: str) -> Reading:
    """Read an answer that is no stream."""
    answer = client(base_url).responses.create(model=model, input=QUESTION, tools=TOOLS, store=False)
    reading = Reading(text=answer.output_text)
    for item in answer.output:
        if item.type == "reasoning":
            reading.reasoning += "".join(part.text for part in item.summary)
        elif item.type == "function_call":
            reading.calls.append((item.call_id, item.name, item.arguments))
        elif item.type == "message":
            reading.refusal += "".join(part.refusal for part in item.content if part.type == "refusal")
    _finish(reading, answer)
    return reading


def follow_up(reading: Reading) -> list:
    """The history after a turn that called tools."""
    calls = [
        {"type": "function_call", "call_id": native, "name": name, "arguments": arguments}
        for native, name, arguments in reading.calls
    ]
    answers = [{"type": "function_call_output", "call_id": native, "output": "42"} for native, _, _ in reading.calls]
    return [{"role": "user", "content": QUESTION}, *calls, *answers]


def _finish(reading: Reading, response: object) -> None:
    details = response.incomplete_details
    reading.end = response.status if details is None else details.reason
    usage = response.usage
    if usage is None:
        return
    reading.prompt, reading.output = usage.input_tokens, usage.output_tokens
    # Counts that nobody knows are left out by the mock provider, and are then no attributes.
    reading.cached = getattr(usage.input_tokens_details, "cached_tokens", None)
    reading.thought = getattr(usage.output_tokens_details, "reasoning_tokens", None)


def end(reading: Reading) -> str:
    """limen's word for how this answer ended, from what the client said alone (E3)."""
    if reading.refusal or reading.end == "content_filter":
        return "CONTENT_FILTER"
    if reading.end == "max_output_tokens":
        return "max-tokens"
    if reading.end != "completed":
        return "UNKNOWN_FINISH"
    if reading.calls:
        return "tool-calls"
    return "stop" if reading.text.strip() or reading.reasoning else "EMPTY_RESPONSE"
