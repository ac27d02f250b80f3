"""Acme's failures as limen's codes, its lines as typed values."""

from typing import Final

import msgspec

from acme_limen._wire import BODY, LINE, WireError, WireLine
from limen.contract import Failure, LlmError, TooDeep, codes, http_code, loads, scrub

_ANYTHING: "Final[msgspec.json.Decoder[object]]" = msgspec.json.Decoder(object)
_BY_CODE: Final = {
    "insufficient_balance": codes.QUOTA,
    "insufficient_quota": codes.QUOTA,
    "context_length_exceeded": codes.CONTEXT_WINDOW_EXCEEDED,
    "model_not_found": codes.MODEL_NOT_FOUND,
    "overloaded_error": codes.OVERLOADED,
}
_BY_STATUS: Final = {
    **dict.fromkeys((400, 409, 413, 422, 424), codes.INVALID_REQUEST),
    **dict.fromkeys((401, 403), codes.AUTH),
    402: codes.QUOTA,
    **dict.fromkeys((408, 504), codes.TIMEOUT),
    429: codes.RATE_LIMIT,
    529: codes.OVERLOADED,
}


def read_line(data: bytes) -> WireLine:
    """Read one line, or raise `MALFORMED_RESPONSE` with its first words."""
    try:
        return loads(data, LINE)
    except (msgspec.DecodeError, TooDeep, ValueError) as fault:
        words = scrub(data[:80].decode("utf-8", "replace"))
        raise LlmError(f"Acme sent what is none of its lines: {fault}: {words}", codes.MALFORMED_RESPONSE) from None


def is_cut(data: bytes) -> bool:
    """Whether this is the beginning of an object and no whole one: the body was cut short."""
    try:
        loads(data, _ANYTHING)
    except (msgspec.DecodeError, TooDeep, ValueError):
        return data.startswith(b"{")
    return False


def failure_of(error: WireError, status: int | None = None) -> Failure:
    """Say what an error means: its code, its kind, then the status."""
    word = error.code or error.kind
    known = _BY_CODE.get(error.code or "") or _BY_CODE.get(error.kind or "")
    if known is None and status is None:
        known = codes.SERVER
    return Failure(
        scrub(error.message or f"Acme answered {status or 'an error'}"),
        known or _status_code(status or 500),
        status=status,
        provider_code=word or None,
    )


def refusal_of(status: int, body: bytes) -> Failure:
    """Say what a failed answer means, whatever its body is."""
    try:
        error = loads(body, BODY).error
    except (msgspec.DecodeError, TooDeep, ValueError):
        error = None
    return failure_of(error or WireError(), status)


def _status_code(status: int) -> str:
    return _BY_STATUS.get(status) or (codes.SERVER if status >= 500 else http_code(status))
