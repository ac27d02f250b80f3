"""Every recorded answer of every wire that limen has, by the public functions, against an independent manifest."""

import hashlib
import itertools
import json
import random
from collections import Counter

import pytest

import limen
from limen.contract import Assembler, ChunkGrammar, Finish, Response, assemble
from recording._corpus import TABLE, Row, exceptions, recordings, rows

WIRES = limen.wires()
# A wire of the manifest that is a row of another wire here.
ROW_OF = {"bedrock-invoke-anthropic": ("anthropic-messages", "bedrock")}
ROWS = [row for row in rows() if row.wire in WIRES or row.wire in ROW_OF]
NAMES = sorted({*WIRES, *ROW_OF})
EXPLAINED = exceptions()
CUTS = 3
# Fewer recordings of a wire than this are a folder that is not whole.
FEWEST = {
    "ollama-chat": 12,
    "cohere": 16,
    "mistral": 31,
    "bedrock-converse": 31,
    "bedrock-invoke-anthropic": 12,
}

pytestmark = pytest.mark.skipif(recordings() is None, reason="no recordings: set LIMEN_RECORDINGS to their folder")

# Finish words of any wire, as E3 sorts them.
FINISHED = {
    **dict.fromkeys(("stop", "end_turn", "stop_sequence", "eos", "completed"), "stop"),
    **dict.fromkeys(("tool_calls", "tool_call", "tool_use", "function_call"), "tool-calls"),
    **dict.fromkeys(("length", "max_tokens"), "max-tokens"),
    **dict.fromkeys(("refusal", "content_filter", "guardrail_intervened"), "CONTENT_FILTER"),
    "COMPLETE": "stop",
    "TOOL_CALL": "tool-calls",
    "MAX_TOKENS": "max-tokens",
}


def wire_of(row: Row) -> str:
    return ROW_OF[row.wire][0] if row.wire in ROW_OF else row.wire


def dialect_of(row: Row) -> str | None:
    if row.wire in ROW_OF:
        return ROW_OF[row.wire][1]
    names = {"alibaba": "dashscope", "moonshotai": "moonshot", "ollama-cloud": "ollama", "vertex-anthropic": "vertex"}
    dialect = names.get(row.provider, row.provider)
    return dialect if dialect in WIRES[row.wire] else None


def response_of(row: Row, reads: list[bytes]) -> Response:
    """The whole answer, its chunks checked against the grammar."""
    grammar, assembler = ChunkGrammar(), Assembler()
    finish: Finish | None = None
    for chunk in limen.iter_chunks(wire_of(row), reads, dialect=dialect_of(row)):
        grammar.feed(chunk)
        assembler.feed(chunk)
        finish = chunk if isinstance(chunk, Finish) else finish
    grammar.eof()
    assert finish is not None
    return assemble(assembler.arrived(), finish.reason)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def canonical(arguments: str) -> str:
    if not arguments:
        return "{}"
    try:
        return json.dumps(json.loads(arguments), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    except ValueError:
        return arguments


def found(response: Response) -> dict[str, object]:
    failure = response.finish.failure
    usage = response.usage
    return {
        "text": sha(response.text),
        "reasoning": sha(response.reasoning),
        "calls": [
            (call.name, sha(canonical(call.arguments)))
            for call in (*response.tool_calls, *response.incomplete_tool_calls)
        ],
        "finish": response.finish.kind if failure is None else failure.code,
        "usage": usage is not None,
    }


def expected(row: Row, actual: dict[str, object]) -> dict[str, object]:
    """What the manifest says; where it says nothing of a part, that part is as it was found."""
    wanted = row.expect
    finish = FINISHED.get(str(wanted.finish), actual["finish"])
    if finish == "stop" and wanted.tool_calls:
        finish = "tool-calls"  # the manifest has the wire's word; a plain stop after calls is one for calls (C11)
    return {
        "text": wanted.text_sha256 or actual["text"],
        "reasoning": wanted.reasoning_sha256 or actual["reasoning"],
        "calls": [(call.name, call.arguments_sha256) for call in wanted.tool_calls],
        "finish": finish,
        "usage": wanted.input_tokens is not None,
    }


def cut(body: bytes, seed: int) -> list[bytes]:
    places = random.Random(seed)
    cuts = sorted({0, len(body), *(places.randrange(len(body)) for _ in range(4 * 5**seed))})
    return [body[begin:end] for begin, end in itertools.pairwise(cuts)]


@pytest.mark.parametrize("wire", NAMES)
def test_recorded_answers_are_the_manifests(wire: str) -> None:
    """Text, reasoning, calls, finish and usage of each, whole and at random cuts; exceptions stand in docs (C16)."""
    counts = TABLE[wire] = Counter(answers=0, errors=0, exceptions=0, reads=0, bytes=0)
    wrong: dict[str, object] = {}
    for row in ROWS:
        if row.wire != wire or row.expect.error is not None or row.status != 200:
            continue
        counts["answers"] += 1
        body = row.body()
        if row.name in EXPLAINED:
            counts["exceptions"] += 1
            continue
        try:
            whole = response_of(row, [body])
        except limen.LlmError as error:
            wrong[row.name] = error
            continue
        actual = found(whole)
        if actual != expected(row, actual):
            wrong[row.name] = (actual, expected(row, actual))
        for seed in range(CUTS):
            reads = cut(body, seed)
            counts.update(reads=len(reads), bytes=len(body))
            if response_of(row, reads) != whole:
                wrong[row.name] = f"differs at the cuts of seed {seed}"
    assert wrong == {}
    assert counts["answers"] > FEWEST.get(wire, 50)


@pytest.mark.parametrize("wire", NAMES)
def test_recorded_errors_have_a_code_of_their_own(wire: str) -> None:
    """Every recorded refusal is classified, keeps its status, and its message shows no more than was sent."""
    wrong: dict[str, object] = {}
    for row in ROWS:
        if row.wire != wire or row.status < 300:
            continue
        TABLE[wire].update(errors=1)
        failure = limen.classify_error(wire_of(row), row.status, row.headers, row.body(), dialect=dialect_of(row))
        if failure.code not in limen.contract.CODES and failure.code != f"HTTP_{row.status}":
            wrong[row.name] = failure
        if failure.status != row.status or not failure.message.strip():
            wrong[row.name] = failure
    assert wrong == {}
