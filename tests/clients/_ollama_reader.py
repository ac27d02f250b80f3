"""The official `ollama` client, unmodified, as a reader of what the mock provider says."""

import json

import ollama
from _compare import FORMS as ALL_FORMS
from _compare import NUMBERS, QUESTION, Reading

# The client ends a line only at its LF, and takes no white space behind the last one.
FORMS = tuple(form for form in ALL_FORMS if form != "+keep-alives-between")
# It reads no ids of calls.
IDS = False
TOOLS = [
    {"type": "function", "function": {"name": "add", "description": "Adds two numbers", "parameters": NUMBERS}},
    {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}},
]
STATUSES = dict.fromkeys(("400", "401", "403", "404", "409", "422", "429-no-hint", "500", "529"), ollama.ResponseError)
CODES = {
    400: "INVALID_REQUEST",
    401: "AUTH",
    403: "AUTH",
    404: "HTTP_404",
    409: "INVALID_REQUEST",
    422: "INVALID_REQUEST",
    429: "RATE_LIMIT",
    500: "SERVER",
    529: "OVERLOADED",
}


def ask(base_url: str, model: str, messages: list | None = None, *, stream: bool) -> object:
    client = ollama.Client(host=base_url, timeout=20)
    return client.chat(
        model=model, messages=messages or [{"role": "user", "content": QUESTION}], tools=TOOLS, stream=stream
    )


def streamed(base_url: str, model: str, messages: list | None = None) -> Reading:
    """Read a stream, line by line, up to the one that says that it is the last."""
    reading = Reading()
    for part in ask(base_url, model, messages, stream=True):
        _add(reading, part)
        if part.done:
            break
    return reading


def whole(base_url: str, model: str) -> Reading:
    """Read an answer that is no stream."""
    reading = Reading()
    _add(reading, ask(base_url, model, stream=False))
    return reading


def follow_up(reading: Reading) -> list:
    """The history after a turn that called tools."""
    calls = [{"function": {"name": name, "arguments": json.loads(given)}} for _, name, given in reading.calls]
    answers = [{"role": "tool", "tool_name": name, "content": "42"} for _, name, _ in reading.calls]
    return [
        {"role": "user", "content": QUESTION},
        {"role": "assistant", "content": reading.text, "tool_calls": calls},
        *answers,
    ]


def _add(reading: Reading, part: ollama.ChatResponse) -> None:
    message = part.message
    if part.done_reason == "content_filter":
        reading.refusal += message.content or ""
    else:
        reading.text += message.content or ""
    reading.reasoning += message.thinking or ""
    for call in message.tool_calls or ():
        given = json.dumps(call.function.arguments, separators=(",", ":"))
        reading.calls.append(("", call.function.name, given))
    if part.done:
        reading.end = part.done_reason or ""
        reading.prompt, reading.output = part.prompt_eval_count, part.eval_count


def end(reading: Reading) -> str:
    """limen's word for how this answer ended, from what the client said alone (E3)."""
    if reading.end == "content_filter":
        return "CONTENT_FILTER"
    if reading.end == "length":
        return "max-tokens"
    if reading.end != "stop":
        return "UNKNOWN_FINISH"
    if reading.calls:
        return "tool-calls"
    return "stop" if reading.text.strip() or reading.reasoning else "EMPTY_RESPONSE"


def code_of(error: Exception) -> str:
    """limen's code for a failed answer."""
    return CODES.get(getattr(error, "status_code", 0), "?")
