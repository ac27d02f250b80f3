"""The official `google-genai` client, unmodified, as a reader of what the mock provider says."""

import json

from _compare import CODE_OF_STATUS, NUMBERS, QUESTION, Reading
from google import genai
from google.genai import errors, types

TOOLS = [
    types.Tool(
        function_declarations=[
            types.FunctionDeclaration(name="add", description="Adds", parameters_json_schema=NUMBERS),
            types.FunctionDeclaration(name="now", description="Tells the time"),
        ]
    )
]
STATUSES = {
    "400": errors.ClientError,
    "401": errors.ClientError,
    "403": errors.ClientError,
    "404": errors.ClientError,
    "409": errors.ClientError,
    "422": errors.ClientError,
    "429-no-hint": errors.ClientError,
    "500": errors.ServerError,
    "529": errors.ServerError,
}

# The client takes `finishMessage` from Vertex alone.
UNSEEN = ("refusal",)


def client(base_url: str) -> genai.Client:
    base, _, version = base_url.rpartition("/")
    retry = types.HttpRetryOptions(attempts=1)
    options = types.HttpOptions(base_url=base, api_version=version, timeout=20_000, retry_options=retry)
    return genai.Client(api_key="AIza-witness-0123456789", vertexai=False, http_options=options)


def config() -> types.GenerateContentConfig:
    never = types.AutomaticFunctionCallingConfig(disable=True)
    return types.GenerateContentConfig(tools=TOOLS, automatic_function_calling=never)


def streamed(base_url: str, model: str, messages: list | None = None) -> Reading:
    """Read a stream, chunk by chunk."""
    reading = Reading()
    with client(base_url) as made:
        for chunk in made.models.generate_content_stream(model=model, contents=messages or QUESTION, config=config()):
            _take(reading, chunk)
    return reading


def whole(base_url: str, model: str) -> Reading:
    """Read an answer that is no stream."""
    reading = Reading()
    with client(base_url) as made:
        _take(reading, made.models.generate_content(model=model, contents=QUESTION, config=config()))
    return reading


def follow_up(reading: Reading) -> list:
    """The history after a turn that called tools."""
    calls, results = [], []
    for native, name, arguments in reading.calls:
        call = types.FunctionCall(id=native, name=name, args=json.loads(arguments))
        calls.append(types.Part(function_call=call))
        answer = types.FunctionResponse(id=native, name=name, response={"output": "42"})
        results.append(types.Part(function_response=answer))
    return [
        types.Content(role="user", parts=[types.Part(text=QUESTION)]),
        types.Content(role="model", parts=calls),
        types.Content(role="user", parts=results),
    ]


def _take(reading: Reading, chunk: types.GenerateContentResponse) -> None:
    for candidate in chunk.candidates or []:
        for part in (candidate.content.parts if candidate.content else None) or []:
            if part.function_call is not None:
                call = part.function_call
                arguments = json.dumps(call.args or {}, separators=(",", ":"), ensure_ascii=False)
                reading.calls.append((call.id or "", call.name or "", arguments))
            elif part.thought:
                reading.reasoning += part.text or ""
            else:
                reading.text += part.text or ""
        if candidate.finish_reason is not None:
            reading.end = candidate.finish_reason.value
    usage = chunk.usage_metadata
    if usage is not None and usage.prompt_token_count is not None:
        reading.prompt, reading.cached = usage.prompt_token_count, usage.cached_content_token_count
        reading.output = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
        reading.thought = usage.thoughts_token_count


def end(reading: Reading) -> str:
    """limen's word for how this answer ended, from what the client said alone (E3)."""
    if reading.end == "SAFETY":
        return "CONTENT_FILTER"
    if reading.end == "MAX_TOKENS":
        return "max-tokens"
    if reading.end != "STOP":
        return "UNKNOWN_FINISH"
    if reading.calls:
        return "tool-calls"
    return "stop" if reading.text.strip() or reading.reasoning.strip() else "EMPTY_RESPONSE"


def code_of(error: Exception) -> str:
    """limen's code for a failed answer: the client has one class for each half of the statuses, and a `code`."""
    return CODE_OF_STATUS.get(getattr(error, "code", 0), "?")
