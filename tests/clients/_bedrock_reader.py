"""The official `boto3` client, unmodified, as a reader of what the mock provider says on Bedrock's Converse."""

import json

import boto3
from _compare import CODE_OF_STATUS, NUMBERS, QUESTION, Reading
from _compare import FORMS as ALL_FORMS
from botocore.config import Config
from botocore.exceptions import ClientError

TOOLS = {
    "tools": [
        {"toolSpec": {"name": "add", "description": "Adds two numbers", "inputSchema": {"json": NUMBERS}}},
        {"toolSpec": {"name": "now", "description": "Tells the time", "inputSchema": {"json": {"type": "object"}}}},
    ]
}
# Frames have no lines whose ends could be changed.
FORMS = tuple(form for form in ALL_FORMS if form != "+crlf-split")
# The client makes the class of an error from its name, and knows one for each name in the service's model.
STATUSES = dict.fromkeys(("400", "401", "403", "404", "409", "422", "429-no-hint", "500", "529"), ClientError)
# A finish word tells of a refusal; its sentence is limen's own.
UNSEEN = ("refusal",)


def client(base_url: str) -> object:
    once = Config(retries={"total_max_attempts": 1}, read_timeout=20, parameter_validation=True)
    return boto3.client(
        "bedrock-runtime",
        endpoint_url=base_url,
        region_name="us-east-1",
        aws_access_key_id="AKIDEXAMPLE",
        aws_secret_access_key="witness-0123456789",
        config=once,
    )


def request(model: str, messages: list | None) -> dict:
    question = [{"role": "user", "content": [{"text": QUESTION}]}]
    return {"modelId": model, "messages": messages or question, "toolConfig": TOOLS}


def streamed(base_url: str, model: str, messages: list | None = None) -> Reading:
    """Read a stream, event by event; a call's name and id come before its arguments."""
    reading = Reading()
    calls: dict[int, list[str]] = {}
    for event in client(base_url).converse_stream(**request(model, messages))["stream"]:
        if "contentBlockStart" in event:
            start = event["contentBlockStart"]
            call = start["start"]["toolUse"]
            calls[start["contentBlockIndex"]] = [call["toolUseId"], call["name"], ""]
        elif "contentBlockDelta" in event:
            delta = event["contentBlockDelta"]["delta"]
            reading.text += delta.get("text", "")
            reading.reasoning += delta.get("reasoningContent", {}).get("text", "")
            if "toolUse" in delta:
                calls[event["contentBlockDelta"]["contentBlockIndex"]][2] += delta["toolUse"]["input"]
        elif "messageStop" in event:
            reading.end = event["messageStop"]["stopReason"]
        elif "metadata" in event:
            _count(reading, event["metadata"].get("usage", {}))
    reading.calls = [(native, name, text) for native, name, text in calls.values()]
    return reading


def whole(base_url: str, model: str) -> Reading:
    """Read an answer that is no stream."""
    reading = Reading()
    answer = client(base_url).converse(**request(model, None))
    for block in answer["output"]["message"]["content"]:
        reading.text += block.get("text", "")
        reading.reasoning += block.get("reasoningContent", {}).get("reasoningText", {}).get("text", "")
        if "toolUse" in block:
            call = block["toolUse"]
            text = json.dumps(call["input"], separators=(",", ":"), ensure_ascii=False)
            reading.calls.append((call["toolUseId"], call["name"], text))
    reading.end = answer["stopReason"]
    _count(reading, answer.get("usage", {}))
    return reading


def follow_up(reading: Reading) -> list:
    """The history after a turn that called tools."""
    calls, results = [], []
    for native, name, text in reading.calls:
        calls.append({"toolUse": {"toolUseId": native, "name": name, "input": json.loads(text or "{}")}})
        results.append({"toolResult": {"toolUseId": native, "content": [{"text": "42"}]}})
    return [
        {"role": "user", "content": [{"text": QUESTION}]},
        {"role": "assistant", "content": calls},
        {"role": "user", "content": results},
    ]


def _count(reading: Reading, usage: dict) -> None:
    names = ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
    found = [usage[name] for name in names if name in usage]
    if found:
        reading.prompt = sum(found)
        reading.output, reading.cached = usage.get("outputTokens"), usage.get("cacheReadInputTokens")


def end(reading: Reading) -> str:
    """limen's word for how this answer ended, from what the client said alone (E3)."""
    if reading.end in ("content_filtered", "guardrail_intervened"):
        return "CONTENT_FILTER"
    if reading.end == "max_tokens":
        return "max-tokens"
    if reading.end not in ("end_turn", "stop_sequence", "tool_use"):
        return "UNKNOWN_FINISH"
    if reading.calls:
        return "tool-calls"
    return "stop" if reading.text.strip() or reading.reasoning.strip() else "EMPTY_RESPONSE"


def code_of(error: Exception) -> str:
    """limen's code for a failed answer, by its status: of the statuses here, the service's model names a few."""
    return CODE_OF_STATUS.get(error.response["ResponseMetadata"]["HTTPStatusCode"], "?")
