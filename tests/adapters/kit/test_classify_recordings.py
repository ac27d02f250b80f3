"""Every recorded error answer of the wire has the code that one would defend."""

import json
import os
from pathlib import Path

import pytest

from limen.adapters.openai_chat import WIRE
from limen.contract import codes

_PLACES = (os.environ.get("LIMEN_RECORDINGS", ""), str(Path(__file__).parents[4] / "shared" / "recordings"))
RECORDINGS = next((Path(place) for place in _PLACES if place and (Path(place) / "manifest.jsonl").is_file()), None)

pytestmark = pytest.mark.skipif(RECORDINGS is None, reason="no recordings: set LIMEN_RECORDINGS to run these")

# provider of the recording, where it is no dialect's name
DIALECTS = {"ollama-cloud": "ollama", "doubleword": "generic"}

# file -> code, and why
EXPECTED = {
    "azure--rubyllm-chat-error-handling-azure-grok-4-1-fast-non-reas-6dc53a.json": (codes.AUTH, "401, bad key"),
    "azure--lmnr-prompt-content-filtering.json": (codes.CONTENT_FILTER, "code content_filter, under HTTP 200"),
    "azure--openllmetry-azure-chat-reasoning-1.json": (codes.MODEL_NOT_FOUND, "code DeploymentNotFound"),
    "deepseek--rig-blocking-audio-part-reaches-wire.json": (codes.INVALID_REQUEST, "400, unknown part"),
    "deepseek--rig-blocking-image-base64-part-reaches-wire.json": (codes.INVALID_REQUEST, "400, unknown part"),
    "deepseek--rig-forced-tool-choice-under-thinking-rejected-upstream.json": (codes.INVALID_REQUEST, "400, option"),
    "deepseek--rubyllm-chat-error-handling-deepseek-deepseek-chat-raise-192a97.json": (codes.AUTH, "401"),
    "deepseek--rubyllm-chat-real-error-scenarios-deepseek-deepseek-chat-54f93c.json": (
        codes.CONTEXT_WINDOW_EXCEEDED,
        "maximum context length is 1048565 tokens; its code only says invalid_request_error",
    ),
    "doubleword--rig-error-matrix-invalid-key-blocking.json": (codes.AUTH, "403"),
    "doubleword--rig-error-matrix-unknown-model-blocking.json": (codes.MODEL_NOT_FOUND, "code model_not_found"),
    "groq--rig-auth-rejection-classifies-contract.json": (codes.AUTH, "401, code invalid_api_key"),
    "groq--rig-provider-error-response-carries-request-id.json": (codes.MODEL_NOT_FOUND, "code model_not_found"),
    "groq--pydanticai-model-name-suggestion-groq.json": (codes.MODEL_NOT_FOUND, "code model_not_found"),
    "groq--pydanticai-groq-tool-regular-error.json": (codes.MODEL_NOT_FOUND, "code model_not_found"),
    "groq--pydanticai-tool-use-failed-error.json": (
        codes.INVALID_REQUEST,
        "400 tool_use_failed has no code of its own",
    ),
    "groq--pydanticai-tool-use-failed-error-text.json": (codes.INVALID_REQUEST, "400 tool_use_failed"),
    "groq--reqllm-meta-llama-llama-4-scout-17b-16e-instruct-object-basic.json": (codes.INVALID_REQUEST, "400"),
    "groq--reqllm-meta-llama-llama-4-scout-17b-16e-instruct-tool-r-1c9149.json": (codes.INVALID_REQUEST, "400"),
    "llamacpp--rig-error-matrix-context-overflow-blocking.json": (
        codes.CONTEXT_WINDOW_EXCEEDED,
        "type exceed_context_size_error",
    ),
    "llamacpp--rig-error-matrix-malformed-request-field.json": (codes.INVALID_REQUEST, "400"),
    "llamacpp--rig-multimodal-matrix-image-without-mmproj.json": (
        codes.INVALID_REQUEST,
        "500, and no repetition gives the server a projector",
    ),
    "llamacpp--rig-multimodal-matrix-malformed-data-uri.json": (codes.INVALID_REQUEST, "400"),
    "llamacpp--rig-multimodal-matrix-video-part-refused.json": (codes.INVALID_REQUEST, "400"),
    "ollama-cloud--rubyllm-chat-error-handling-ollama-cloud-gpt-oss-120b-ra-9175fc.json": (codes.AUTH, "401"),
    "openai--openinference-testinputvalueimagehiding-input-value-hides-regu-070230.json": (
        codes.INVALID_REQUEST,
        "400 invalid_image_url",
    ),
    "openai--mirascope-model-not-found-openai-gpt-4o-completions.json": (codes.MODEL_NOT_FOUND, "code"),
    "openai--rubyopenai-gpt-3-5-turbo-streamed-chat-json-error-response.json": (codes.INVALID_REQUEST, "400, made up"),
    "openai--elastic-chat-model-not-found.json": (codes.MODEL_NOT_FOUND, "code"),
    "openai--otel-async-chat-completion-404.json": (codes.MODEL_NOT_FOUND, "code"),
    "openai--openllmetry-agents-agents-tools-2.json": (codes.MODEL_NOT_FOUND, "code, a retired model"),
    "openai--openllmetry-vision-vision-base64-3.json": (codes.INVALID_REQUEST, "400 invalid_image_format"),
    "openai--vercel-reasoning-model-legacy-parameter-error-whole.json": (codes.INVALID_REQUEST, "400 option"),
    "openrouter--rig-routed-failure-error-shape.json": (codes.MODEL_NOT_FOUND, "is not a valid model ID"),
    "openrouter--rubyllm-chat-error-handling-openrouter-claude-haiku-4-5-6ea349.json": (codes.AUTH, "401"),
    "openrouter--pydanticai-openrouter-errors-raised.json": (codes.RATE_LIMIT, "429, upstream throttles"),
    "openrouter--langchaingo-testdata-testopenrouterstreaming-1.json": (codes.RATE_LIMIT, "429, per minute"),
    "openrouter--reqllm-minimax-minimax-01-multi-tool.json": ("HTTP_404", "no endpoint has tools; the model is known"),
    "openrouter--reqllm-x-ai-grok-3-object-basic.json": (codes.INVALID_REQUEST, "400, upstream refuses the request"),
    "openrouter--reqllm-x-ai-grok-3-mini-reasoning-basic.json": (
        codes.CONTENT_FILTER,
        "403, and the upstream says: Content violates usage guidelines",
    ),
}


def _recorded() -> list[dict[str, object]]:
    if RECORDINGS is None:
        return []
    lines = (RECORDINGS / "manifest.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    return [row for row in rows if row["wire"] == "openai-chat" and row["file"].endswith(".json") and _failed(row)]


def _failed(row: dict[str, object]) -> bool:
    status, expected = row["status"], row["expect"]
    return (isinstance(status, int) and status >= 400) or (isinstance(expected, dict) and "error" in expected)


def test_every_recorded_error_has_the_code_that_was_reviewed() -> None:
    """All recorded error bodies of the wire are classified, none is missing from the table (issue 5)."""
    found: dict[str, str] = {}
    for row in _recorded():
        assert RECORDINGS is not None
        path = RECORDINGS.parent / str(row["file"])
        provider = str(row["provider"])
        status, headers = row["status"], row["headers"]
        assert isinstance(status, int)
        assert isinstance(headers, dict)
        dialect = DIALECTS.get(provider, provider)
        failure = WIRE.classify(status, headers, path.read_bytes(), dialect=dialect)
        assert failure.message
        found[path.name] = failure.code
    assert found == {name: code for name, (code, _) in EXPECTED.items()}
