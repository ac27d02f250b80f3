"""Failure as data, shared by exception, finish and response."""

import msgspec

from limen.contract import _codes as codes


class Failure(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """Facts of a failed call, without any live object.

    `message` is for people; `code` is what to route on (E3); `phase` says how far the call had come (E6);
    `status` is the HTTP status; `provider_code` the provider's own code, type or finish word, verbatim;
    `provider_retry_after_ms` a positive delay that a failed answer asked for; `should_retry` the provider's
    own `x-should-retry`, where it was sent; `provider` and `model` are the route and the model of the call, set by
    the runtime. Absent is unknown.
    """

    message: str
    code: codes.Code
    phase: codes.Phase | None = None
    status: int | None = None
    provider_code: str | None = None
    provider_retry_after_ms: int | None = None
    request_id: str | None = None
    should_retry: bool | None = None
    provider: str | None = None
    model: str | None = None


class ErrorMatch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One sentence of a gateway's own errors: where `match` is found in a message, the failure has this `code`.

    `match` is a regular expression, compared without case; it comes before everything else that limen knows (E3).
    """

    match: str
    code: str


def failure_fault(failure: Failure) -> Exception | None:
    """Return the exception to raise for facts that no failure can have, or `None` (E3, E6)."""
    texts: tuple[object, object] = (failure.message, failure.code)
    if any(type(text) is not str for text in texts):
        return TypeError("a failure's message and code are strings")
    if not failure.code or failure.code != failure.code.upper():
        return ValueError(f"a failure's code is upper-case and not empty, got {failure.code!r}")
    if failure.phase is not None and failure.phase not in codes.PHASES:
        return ValueError(f"a failure's phase is one of {sorted(codes.PHASES)}, got {failure.phase!r}")
    if failure.status is not None and (type(failure.status) is not int or not 100 <= failure.status <= 599):
        return ValueError(f"a failure's status is an HTTP status, got {failure.status!r}")
    delay = failure.provider_retry_after_ms
    if delay is not None and (type(delay) is not int or delay <= 0):
        return ValueError(f"a retry delay is a positive whole number of milliseconds, got {delay!r}")
    for name in ("provider_code", "request_id", "provider", "model"):
        text: object = getattr(failure, name)
        if text is not None and (type(text) is not str or not text):
            return ValueError(f"a failure's {name} is a string that is not empty, got {text!r}")
    should_retry: object = failure.should_retry
    if should_retry is not None and type(should_retry) is not bool:
        return ValueError(f"should_retry is a bool, got {should_retry!r}")
    return None
