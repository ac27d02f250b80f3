"""Every recorded Responses answer goes back as it came; what it reads as: tests/recording/test_corpus.py."""

import json
import re
from collections.abc import Iterator

import pytest

from adapters.openai_responses._responses_wire import Outcome, read, sent_back
from limen.adapters.openai_responses import WIRE
from limen.contract import codes
from recording._corpus import Row, recordings, rows

ROWS = [row for row in rows() if row.wire == "openai-responses"]
pytestmark = pytest.mark.skipif(recordings() is None, reason="no recordings: set LIMEN_RECORDINGS to their folder")

ANSWERS = [row for row in ROWS if row.status == 200]
ERRORS = [row for row in ROWS if row.status != 200]


def named(row: Row) -> str:
    """A test's name for a row."""
    return row.name


def dialect_of(row: Row) -> str | None:
    """The dialect row of the host, where the wire has one."""
    return row.provider if row.provider in WIRE.dialects else None


def responses(body: bytes) -> Iterator[dict[str, object]]:
    """Every event of a body, or the one response that it is, by the plainest reading."""
    if body.lstrip()[:1] == b"{":
        yield json.loads(body)
        return
    for line in body.replace(b"\r", b"").split(b"\n"):
        if line.startswith(b"data:") and line[5:].strip() != b"[DONE]":
            yield json.loads(line[5:])


def items_of(body: bytes) -> list[dict[str, object]]:
    """The recorded items: those that ended in the stream, else those of the last response."""
    ended: list[tuple[int, dict[str, object]]] = []
    last: object = []
    for found in responses(body):
        if found.get("type") == "response.output_item.done":
            index, item = found["output_index"], found["item"]
            assert isinstance(index, int)
            assert isinstance(item, dict)
            ended.append((index, item))
        response = found.get("response", found)
        if isinstance(response, dict) and response.get("output"):
            last = response["output"]
    assert isinstance(last, list)
    items: list[dict[str, object]] = [item for _, item in sorted(ended, key=lambda one: one[0])] or last
    for item in items:
        for part in item.get("content") or []:  # type: ignore[attr-defined]
            if part["type"] == "output_text" and "logprobs" in part:
                # Nobody needs log-probabilities again (C14).
                part["logprobs"] = []
    return items


SUCCEEDED = [row for row in ANSWERS if row.expect.finish in ("completed", "complete") and row.expect.error is None]


@pytest.mark.parametrize("row", SUCCEEDED, ids=named)
def test_recorded_turn_is_sent_back_as_it_came(row: Row) -> None:
    """Reasoning, ids, phases, annotations, calls and the provider's own tools go back unchanged and in place (N4)."""
    outcome = read(row.body(), dialect=dialect_of(row))
    if outcome.finish.reason.failure is not None:
        assert outcome.failure.code == codes.CONTENT_FILTER
        return

    # A row that does not look ids up, so that reasoning without sealed content goes back too.
    sent = sent_back(outcome.message, "openrouter")

    assert sent == items_of(row.body())


@pytest.mark.parametrize("row", [row for row in ANSWERS if row.name.endswith(".sse")], ids=named)
def test_recorded_stream_cut_off(row: Row) -> None:
    """Without its terminal event, every recorded stream is truncated, wherever it ends (E6)."""
    body = row.body()
    last = max(found.start() for found in re.finditer(rb"(?:event: ?response\.\w+\r?\n)?data: ?\{", body))

    for step in range(1, 5):
        assert read(body[: last * step // 5], dialect=dialect_of(row)).code == codes.STREAM_CLOSED


@pytest.mark.parametrize("row", [row for row in ANSWERS if row.expect.error is not None], ids=named)
def test_recorded_failure_inside_a_stream(row: Row) -> None:
    """A rate limit and an exhausted quota that come inside a stream have their codes, in-band (E1)."""
    outcome: Outcome = read(row.body(), dialect=dialect_of(row))

    wanted = str(row.expect.error)
    assert outcome.failure.code == (codes.QUOTA if "insufficient_quota" in wanted else codes.RATE_LIMIT)


@pytest.mark.parametrize("row", ERRORS, ids=named)
def test_recorded_error(row: Row) -> None:
    """Every recorded error has its code (section 3)."""
    failure = WIRE.classify(row.status, row.headers, row.body(), dialect=dialect_of(row))

    wanted = str(row.expect.error)
    special = {
        "model_not_found": codes.MODEL_NOT_FOUND,
        "context_length_exceeded": codes.CONTEXT_WINDOW_EXCEEDED,
        "insufficient_quota": codes.QUOTA,
        "invalid_api_key": codes.AUTH,
    }
    found = [code for word, code in special.items() if word in wanted]
    general = codes.AUTH if row.status == 401 else codes.INVALID_REQUEST
    assert failure.code in found if found else failure.code in (general, codes.MODEL_NOT_FOUND, codes.AUTH), failure
