"""Failure as an exception, and what may be said of a foreign one.

Who is at fault can be read off the code: the caller (`INVALID_OPTIONS`, `UNSUPPORTED…`), the provider
(`SERVER`, `MALFORMED_RESPONSE` …), the network (`TRANSPORT`, `TIMEOUT`), an adapter (`PROTOCOL_VIOLATION`).
An adapter raises `LlmError`; a consumer of the runtime reads the same facts from the terminal `Finish` (E1, E2).
"""

from collections.abc import Callable, Iterator
from typing import Final

from limen.contract import _codes as codes
from limen.contract._failure import Failure, failure_fault
from limen.contract._redact import scrub
from limen.contract._response import Response


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
    def of(cls, failure: Failure, *, partial: Response | None = None) -> "LlmError":
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


def _restore(failure: Failure, partial: Response | None) -> LlmError:
    return LlmError.of(failure, partial=partial)


UNREADABLE: Final = "an exception whose text cannot be read"


def foreign_text(error: object) -> str:
    """Return a foreign object's text, scrubbed, whatever its `__str__` does; never raises, never empty.

    A class name stands where the text is empty: `raise KeyError()` has something to say only by its type.
    """
    try:
        # A subclass of str that __str__ returned could lie again; `str.__str__` makes it an exact one.
        text = str.__str__(str(error))
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - a hostile __str__ may raise anything; its own error says nothing of the call
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
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - a hostile `__class__` or `exceptions`: what cannot be read cannot be shown
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
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - what cannot be read cannot be shown to be clean
        return True
