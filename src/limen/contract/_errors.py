"""`LlmError`, and the scrubbed text and cause of foreign exceptions.

The code tells who is at fault: the caller (`INVALID_OPTIONS`, `UNSUPPORTED…`), the provider
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
    """Operational failure with a stable code; `.failure` holds its facts, `.partial` the `Response` received so far.

    Its text is `CODE: message [route/model, HTTP 429, request req_1]`, with what is known of the bracket, so that one
    line of a log tells the story; the message alone is `failure.message` (E3).
    Raises `TypeError` or `ValueError` on facts that no failure can have (status 42, a retry delay of NaN).
    Pickles with its facts and its `partial`; a chained cause stays behind.
    """

    def __init__(  # noqa: PLR0913 - the facts of a failure; the signature is public and fixed
        self,
        message: str,
        code: codes.Code,
        *,
        phase: codes.Phase | None = None,
        status: int | None = None,
        provider_code: str | None = None,
        provider_retry_after_ms: int | None = None,
        request_id: str | None = None,
        should_retry: bool | None = None,
        provider: str | None = None,
        model: str | None = None,
    ) -> None:
        facts = Failure(
            message,
            code,
            phase,
            status,
            provider_code,
            provider_retry_after_ms,
            request_id,
            should_retry,
            provider,
            model,
        )
        fault = failure_fault(facts)
        if fault is not None:
            raise fault
        super().__init__(message)
        self._failure = facts
        self.partial: Response | None = None

    @classmethod
    def of(cls, failure: Failure, *, partial: Response | None = None) -> "LlmError":
        """Make the exception from its facts, with the partial response if there is one."""
        error = cls(
            failure.message,
            failure.code,
            phase=failure.phase,
            status=failure.status,
            provider_code=failure.provider_code,
            provider_retry_after_ms=failure.provider_retry_after_ms,
            request_id=failure.request_id,
            should_retry=failure.should_retry,
            provider=failure.provider,
            model=failure.model,
        )
        error.partial = partial
        return error

    @property
    def failure(self) -> Failure:
        """Facts of the failure, as data."""
        return self._failure

    @property
    def code(self) -> codes.Code:
        """Stable code, `failure.code`, an upper-case word such as `RATE_LIMIT` (E3)."""
        return self._failure.code

    def __reduce__(self) -> "tuple[Callable[..., LlmError], tuple[Failure, Response | None]]":
        return (_restore, (self._failure, self.partial))

    def __str__(self) -> str:
        failure = self._failure
        facts = [
            "/".join(filter(None, (failure.provider, failure.model))),
            "" if failure.status is None else f"HTTP {failure.status}",
            "" if failure.request_id is None else f"request {failure.request_id}",
        ]
        known = ", ".join(filter(None, facts))
        return f"{failure.code}: {failure.message}{f' [{known}]' if known else ''}"

    def __repr__(self) -> str:
        return f"LlmError({self._failure.message!r}, {self._failure.code!r})"


def _restore(failure: Failure, partial: Response | None) -> LlmError:
    return LlmError.of(failure, partial=partial)


UNREADABLE: Final = "an exception whose text cannot be read"


def foreign_text(error: object) -> str:
    """Return a foreign object's text, scrubbed, whatever its `__str__` does; never raises, never empty.

    An empty text, as of `raise KeyError()`, becomes the name of the class.
    """
    try:
        # `__str__` may return a subclass of str with overridden methods; `str.__str__` makes it an exact str.
        text = str.__str__(str(error))
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - an object's own __str__ may raise anything; that error is unrelated to the call
        return UNREADABLE
    if not text.strip():
        text = type(error).__name__
    return scrub(text)


class ForeignError(Exception):
    """Stand-in, in a cause chain, for a foreign exception whose text held a credential (E5)."""


def safe_cause(error: BaseException) -> BaseException:
    """Return the exception to chain: the given one, or a stand-in where the text of its chain holds a secret (E5)."""
    try:
        tainted = any(_tainted(link) for link in _chain(error))
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - an object's own `__class__` or `exceptions` may raise; unreadable text is not shown
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
    except BaseException:  # noqa: BLE001 - unreadable text cannot be checked for secrets
        return True
