"""Failed answers: statuses, retry hints in each form, bodies that are no JSON or do not end."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Final

import msgspec

from limen.testing.scripts import ERRORS, Answer, ProviderError, Send, Stall
from limen.testing.server._fault import Edit, Fault, FaultContext, with_steps
from limen.testing.server._faults_events import failed

RETRY_DATE_SECONDS: Final = 30


def _status(error: ProviderError, *headers: tuple[str, str]) -> Edit:
    def edit(answer: Answer, context: FaultContext) -> Answer:
        changed = failed(answer, context, error)
        for name, value in headers:
            changed = changed.with_header(name, value)
        return changed

    return edit


def _retry_date(answer: Answer, context: FaultContext) -> Answer:
    moment = datetime.now(UTC) + timedelta(seconds=RETRY_DATE_SECONDS)
    return failed(answer, context, ERRORS[429]).with_header("retry-after", format_datetime(moment, usegmt=True))


def _echo(answer: Answer, context: FaultContext) -> Answer:
    message = f"Incorrect API key provided: {context.credential}"
    return failed(answer, context, ERRORS[401]._replace(message=message))


def _body(status: int, body: bytes, content_type: str) -> Edit:
    def edit(answer: Answer, context: FaultContext) -> Answer:
        changed = failed(answer, context, ERRORS[status])
        return with_steps(changed, [Send("content", body)]).with_header("content-type", content_type)

    return edit


def _stalled_body(answer: Answer, context: FaultContext) -> Answer:
    changed = failed(answer, context, ERRORS[500])
    return msgspec.structs.replace(changed, steps=(*changed.steps, Stall()), framing="chunked")


def _redirect(answer: Answer, context: FaultContext) -> Answer:
    body = Send("content", b"elsewhere")
    changed = msgspec.structs.replace(answer, status=307, steps=(body,), framing="length", delay_ms=0)
    return changed.with_header("content-type", "text/plain").with_header("location", context.elsewhere)


_LIMIT: Final = ERRORS[429]
_QUOTA: Final = ProviderError(429, "You exceeded your current quota", "insufficient_quota", "insufficient_quota")
_WINDOW: Final = ProviderError(
    400,
    "prompt is too long: this model's maximum context length is 8192 tokens",
    "invalid_request_error",
    "context_length_exceeded",
)
_MODEL: Final = ProviderError(404, "model: mock-of-tomorrow does not exist", "not_found_error", "model_not_found")
_FULL: Final = ProviderError(503, "The server is overloaded", "overloaded_error", "server_is_overloaded")
_PAGE: Final = b"<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>"

_EDITS: Final[Sequence[tuple[str, str, Edit]]] = (
    *((str(status), f"status {status}", _status(error)) for status, error in ERRORS.items() if status != 429),
    ("401-echo", "status 401, with the key that was sent in its message", _echo),
    ("429", "status 429, Retry-After in seconds: 2", _status(_LIMIT, ("retry-after", "2"))),
    ("429-fraction", "status 429, Retry-After: 1.5", _status(_LIMIT, ("retry-after", "1.5"))),
    (
        "429-ms",
        "status 429, retry-after-ms: 1500 beside Retry-After: 9",
        _status(_LIMIT, ("retry-after-ms", "1500"), ("retry-after", "9")),
    ),
    ("429-list", "status 429, Retry-After: 2, 60", _status(_LIMIT, ("retry-after", "2, 60"))),
    ("429-date", f"status 429, Retry-After as an HTTP date {RETRY_DATE_SECONDS} s ahead", _retry_date),
    ("429-zero", "status 429, Retry-After: 0", _status(_LIMIT, ("retry-after", "0"))),
    ("429-no-hint", "status 429 without any hint", _status(_LIMIT)),
    ("429-no-retry", "status 429, x-should-retry: false", _status(_LIMIT, ("x-should-retry", "false"))),
    ("quota", "status 429: the quota is exhausted", _status(_QUOTA)),
    ("context-window", "status 400: the prompt does not fit", _status(_WINDOW)),
    ("model-not-found", "status 404: the model is unknown", _status(_MODEL)),
    ("503-overloaded", "status 503 with an overload body", _status(_FULL)),
    ("500-empty", "status 500 without a body", _body(500, b"", "application/json")),
    ("500-html", "status 500 with an HTML page", _body(500, _PAGE, "text/html")),
    ("500-huge", "status 500 with a body of 1 MiB", _body(500, b"x" * 1024 * 1024, "text/plain")),
    ("500-stalled", "status 500 whose body never ends", _stalled_body),
    ("redirect", "status 307 to another origin", _redirect),
)

STATUS_FAULTS: Final[Mapping[str, Fault]] = {name: Fault(name, text, "events", edit) for name, text, edit in _EDITS}
