"""Every recorded answer gives what the manifest expects; docs/corpus-openai-chat.md has the exceptions."""

import hashlib
import itertools
import json
import random
import re
from pathlib import Path

import pytest

from adapters.openai_chat._chat_wire import Expected, Outcome, Row, bytewise, read, recordings, rows_of
from limen.adapters.openai_chat import ROWS as DIALECTS
from limen.contract import ReasoningBlock, TextBlock, ToolCallBlock, codes

ROWS = rows_of("openai-chat")
DOCS = Path(__file__).resolve().parents[3] / "docs" / "corpus-openai-chat.md"

pytestmark = pytest.mark.skipif(recordings() is None, reason="no recordings: set LIMEN_RECORDINGS to their folder")

# Providers that have no row of their own are read as what nobody knows.
ROW_OF = {"alibaba": "dashscope", "moonshotai": "moonshot", "ollama-cloud": "ollama"}
KINDS = {
    "stop": "stop",
    "length": "max-tokens",
    "tool_calls": "tool-calls",
    "tool_call": "tool-calls",
    "function_call": "tool-calls",
    "content_filter": codes.CONTENT_FILTER,
}

# How an answer ends where it is not as the finish word says; the reasons stand in docs/corpus-openai-chat.md.
ENDINGS = {
    # a forced tool choice finishes as `stop` on OpenAI's models
    "azure--reqllm-gpt-4-1-object-streaming.sse": "tool-calls",
    "azure--reqllm-gpt-4-1-nano-object-streaming.sse": "tool-calls",
    "openai--magentic-litellm-chat-model-acomplete-raises-tool-schema-6a65b2.sse": "tool-calls",
    "openai--magentic-openai-chat-model-acomplete-raises-tool-schema-p-50596f.sse": "tool-calls",
    # the model refused
    "openai--mirascope-openai-gpt-4o-completions-async-stream.sse": codes.CONTENT_FILTER,
    "openai--lmnr-async-parsed-refused-completion.json": codes.CONTENT_FILTER,
    "openrouter--rig-streaming-raw-model-surfaces-refusal.sse": codes.CONTENT_FILTER,
    # an error in the answer
    "groq--pydanticai-tool-use-failed-error-streaming.sse": codes.INVALID_REQUEST,
    "groq--pydanticai-tool-use-failed-error-streaming-text.sse": codes.INVALID_REQUEST,
    "groq--reqllm-meta-llama-llama-4-scout-17b-16e-instruct-object-c2aa7a.sse": codes.INVALID_REQUEST,
    "azure--lmnr-prompt-content-filtering.json": f"raised {codes.CONTENT_FILTER}",
    # the marker, and no finish word
    "openrouter--reqllm-minimax-minimax-m1-object-streaming.sse": codes.EMPTY_RESPONSE,
    "snowflake--pydanticai-snowflake-model-streaming.sse": "stop",
    "snowflake--pydanticai-snowflake-thinking-streaming.sse": "stop",
}
# The manifest reads strings only; this message's content is a JSON object.
OBJECT_CONTENT = "cloudflare--chatlas-cloudflare-data-extraction.json"
# Cache reads under Anthropic's name, which the manifest does not look for.
OTHER_NAMES = {
    "databricks--chatlas-databricks-data-extraction-2.json",
    "databricks--chatlas-provider-databricks-databricks-images.sse",
    "databricks--chatlas-databricks-tool-variations-2.sse",
}


def outcome_of(row: Row, reads: list[bytes]) -> Outcome:
    """Read a recording through its provider's row."""
    dialect = ROW_OF.get(row.provider, row.provider)
    content_type = row.headers.get("content-type")
    return read(reads, dialect if dialect in DIALECTS else "generic", content_type=content_type)


def sha(text: str) -> str:
    """The manifest's hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def canonical(arguments: str) -> str:
    """Arguments as the manifest hashes them: sorted, without white space, `{}` for none."""
    if not arguments:
        return "{}"
    try:
        return json.dumps(json.loads(arguments), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    except ValueError:
        return arguments


@pytest.fixture(params=ROWS, ids=lambda row: row.name)
def row(request: pytest.FixtureRequest) -> Row:
    """Each recorded answer."""
    found: Row = request.param
    return found


def test_the_answer_is_the_manifests(row: Row) -> None:
    """Text, reasoning, calls, finish and model, as computed by other code."""
    outcome = outcome_of(row, [row.body()])
    assert outcome.kind == ENDINGS.get(row.name, KINDS.get(row.expect.finish or "", "an ending of ENDINGS"))
    if outcome.raised is not None:
        return
    response = outcome.response
    calls = (*response.tool_calls, *response.incomplete_tool_calls)

    if row.name != OBJECT_CONTENT:
        assert sha(response.text) == row.expect.text_sha256
    if row.expect.reasoning_sha256 is not None or response.reasoning:
        assert sha(response.reasoning) == row.expect.reasoning_sha256
    if row.expect.refusal_sha256 is not None:
        assert sha(outcome.failure.message) == row.expect.refusal_sha256
    assert [(call.name, sha(canonical(call.arguments))) for call in calls] == [
        (call.name, call.arguments_sha256) for call in row.expect.tool_calls
    ]
    for call, expected in zip(calls, row.expect.tool_calls, strict=True):
        if expected.id_sha256 is None:
            assert re.fullmatch("limen_[0-9a-f]{16}", call.id)
        else:
            assert sha(call.id) == expected.id_sha256
    assert outcome.facts[1] == row.expect.model


def disjoint(expect: Expected) -> tuple[int | None, int | None]:
    """Uncached input and all output by section 1, from the manifest's raw counts."""
    prompt, cached = expect.input_tokens, expect.cached_tokens or 0
    uncached = None if prompt is None else prompt - cached if cached <= prompt else prompt
    output, reasoning = expect.output_tokens, expect.reasoning_tokens or 0
    if output is None or prompt is None:
        return uncached, output
    beside = reasoning > output + 5 or expect.total_tokens == prompt + output + reasoning
    return uncached, output + reasoning if beside else output


def test_the_usage_is_the_manifests_made_disjoint(row: Row) -> None:
    """Input without its cached part, output with its reasoning part (section 1)."""
    outcome = outcome_of(row, [row.body()])
    usage = outcome.usage
    if usage is None:
        assert row.expect.input_tokens is None
        return
    uncached, output = disjoint(row.expect)
    reasoning = row.expect.reasoning_tokens

    assert usage.input_tokens is not None
    assert (usage.input_tokens + (usage.cache_write_tokens or 0), usage.output_tokens) == (uncached, output)
    assert usage.cache_read_tokens == (0 if row.name in OTHER_NAMES else row.expect.cached_tokens)
    assert usage.reasoning_tokens == (reasoning if reasoning is None or output is None else min(reasoning, output))


def test_where_the_network_cuts_does_not_show(row: Row) -> None:
    """Two reads of the same bytes give the same chunks (C16); small bodies byte by byte."""
    body = row.body()
    whole = outcome_of(row, [body])

    for seed in range(4):
        places = random.Random(seed)
        cuts = sorted({0, len(body), *(places.randrange(len(body)) for _ in range(8 * 6**seed))})
        reads = [body[begin:end] for begin, end in itertools.pairwise(cuts)]
        assert outcome_of(row, reads) == whole
    if len(body) < 3_000:
        assert outcome_of(row, bytewise(body)) == whole


@pytest.mark.slow
def test_every_recording_byte_by_byte(row: Row) -> None:
    """The longest ones too (C16)."""
    body = row.body()

    assert outcome_of(row, bytewise(body)) == outcome_of(row, [body])


def test_blocks_of_a_success_have_something_to_say(row: Row) -> None:
    """No success is empty, and no block of one (C12, C13)."""
    outcome = outcome_of(row, [row.body()])
    for block in outcome.blocks:
        assert isinstance(block, ToolCallBlock) or (isinstance(block, (TextBlock, ReasoningBlock)) and block.text)
    if outcome.kind in ("stop", "tool-calls"):
        assert outcome.blocks


def test_every_deviation_is_explained() -> None:
    """The page names each recording that is not read as the manifest has it, and no other."""
    named = set(re.findall(r"`([a-z0-9-]+--[^`]+\.(?:sse|json))`", DOCS.read_text(encoding="utf-8")))

    assert named == {*ENDINGS, OBJECT_CONTENT, *OTHER_NAMES}
    assert named <= {row.name for row in ROWS}
