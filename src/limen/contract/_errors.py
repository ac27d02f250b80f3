"""Failure as data (`Failure`) and as an exception (`LlmError`).

Who is at fault can be read off the code: the caller (`INVALID_OPTIONS`, `UNSUPPORTED…`), the provider
(`SERVER`, `MALFORMED_RESPONSE` …), the network (`TRANSPORT`, `TIMEOUT`), an adapter (`PROTOCOL_VIOLATION`).
An adapter raises `LlmError`; a consumer of the runtime reads the same facts from the terminal `Finish` (E1, E2).
"""

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from limen.contract import _codes as codes
from limen.contract._redact import scrub

if TYPE_CHECKING:
    from limen.contract._response import Response


class Failure(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """Why a call failed: stable facts, no live object.

    `message` is for people; `code` is what to route on (E3); `phase` says how far the call had come (E6);
    `status` is the HTTP status; `provider_code` the provider's own code, type or finish word, verbatim;
    `provider_retry_after_ms` a positive delay that a failed answer asked for; `should_retry` the provider's
    own `x-should-retry`, where it was sent. Absent is unknown.
    """

    message: str
    code: str
    phase: codes.Phase | None = None
    status: int | None = None
    provider_code: str | None = None
    provider_retry_after_ms: int | None = None
    request_id: str | None = None
    should_retry: bool | None = None


class LlmError(Exception):
    """An operational failure with a stable code; `.failure` holds its facts, `.partial` what had arrived.

    Raises `TypeError` or `ValueError` on facts that no failure can have (status 42, a retry delay of NaN).
    Pickles with its facts and its `partial`; a chained cause stays behind.
    """

    def __init__(  # noqa: PLR0913 - the facts of a failure; the signature is public and fixed
        self,
        message: str,
        code: str,
        *,
        phase: codes.Phase | None = None,
        status: int | None = None,
        provider_code: str | None = None,
        provider_retry_after_ms: int | None = None,
        request_id: str | None = None,
        should_retry: bool | None = None,
    ) -> None:
        facts = Failure(message, code, phase, status, provider_code, provider_retry_after_ms, request_id, should_retry)
        fault = failure_fault(facts)
        if fault is not None:
            raise fault
        super().__init__(message)
        self._failure = facts
        self.partial: Response | None = None

    @classmethod
    def of(cls, failure: Failure, *, partial: "Response | None" = None) -> "LlmError":
        """Make the exception for known facts, with what had arrived."""
        error = cls(
            failure.message,
            failure.code,
            phase=failure.phase,
            status=failure.status,
            provider_code=failure.provider_code,
            provider_retry_after_ms=failure.provider_retry_after_ms,
            request_id=failure.request_id,
            should_retry=failure.should_retry,
        )
        error.partial = partial
        return error

    @property
    def failure(self) -> Failure:
        """The facts."""
        return self._failure

    @property
    def code(self) -> str:
        """The stable code, `failure.code`."""
        return self._failure.code

    def __reduce__(self) -> "tuple[Callable[..., LlmError], tuple[Failure, Response | None]]":
        return (_restore, (self._failure, self.partial))

    def __repr__(self) -> str:
        return f"LlmError({self._failure.message!r}, {self._failure.code!r})"


def _restore(failure: Failure, partial: "Response | None") -> LlmError:
    return LlmError.of(failure, partial=partial)


def failure_fault(failure: Failure) -> Exception | None:
    """Say what is wrong with these facts, as the exception to raise, or `None` (E3, E6)."""
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
    if delay is not None and (type(delay) not in (int, float) or not math.isfinite(delay) or delay <= 0):
        return ValueError(f"a retry delay is a positive number of milliseconds, got {delay!r}")
    for name in ("provider_code", "request_id"):
        text: object = getattr(failure, name)
        if text is not None and (type(text) is not str or not text):
            return ValueError(f"a failure's {name} is a string that is not empty, got {text!r}")
    should_retry: object = failure.should_retry
    if should_retry is not None and type(should_retry) is not bool:
        return ValueError(f"should_retry is a bool, got {should_retry!r}")
    return None


UNREADABLE: Final = "an exception whose text cannot be read"


def foreign_text(error: object) -> str:
    """Return a foreign object's text, scrubbed, whatever its `__str__` does; never raises, never empty.

    A class name stands where the text is empty: `raise KeyError()` has something to say only by its type.
    """
    try:
        # A subclass of str that __str__ returned could lie again; `str.__str__` makes it an exact one.
        text = str.__str__(str(error))
    except Exception:  # noqa: BLE001 - a hostile __str__ may raise anything; its own error says nothing of the call
        return UNREADABLE
    if not text.strip():
        text = type(error).__name__
    return scrub(text)


class ForeignError(Exception):
    """Stands in a cause chain for a foreign exception whose own text held a credential (E5)."""


def safe_cause(error: BaseException) -> BaseException:
    """Return what may be chained: the exception itself, or a stand-in where its chain's text holds a secret."""
    try:
        tainted = any(_tainted(link) for link in _chain(error))
    except Exception:  # noqa: BLE001 - a hostile `__class__` or `exceptions`: what cannot be read cannot be shown
        tainted = True
    return ForeignError(f"{type(error).__name__}: {foreign_text(error)}") if tainted else error


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    stack: list[BaseException | None] = [error]
    while stack:
        link = stack.pop()
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        stack += [link.__cause__, link.__context__]
        members: tuple[BaseException, ...] = getattr(link, "exceptions", ())
        if isinstance(link, BaseExceptionGroup):
            stack += members


def _tainted(error: BaseException) -> bool:
    try:
        texts = [str(error), repr(error), *(repr(arg) for arg in error.args)]
        return any(type(text) is not str or scrub(text) != text for text in texts)
    except Exception:  # noqa: BLE001 - what cannot be read cannot be shown to be clean
        return True
