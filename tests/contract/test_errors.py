"""E3-E6: codes are stable, facts are checked when an error is made, and nothing foreign is believed or shown whole."""

import pickle
import traceback
from collections.abc import Callable

import pytest

import limen
from limen.contract import (
    CODES,
    STOP,
    Failure,
    ForeignError,
    LlmError,
    Response,
    codes,
    failure_fault,
    foreign_text,
    http_code,
    safe_cause,
)

KEY = "sk-canary-0123456789abcdef"


def test_codes_are_their_own_names() -> None:
    """E3: every code is upper-case, named like its constant, and has a meaning."""
    constants = {name: value for name, value in vars(codes).items() if name.isupper() and isinstance(value, str)}

    assert constants == {name: name for name in CODES}
    assert all(CODES.values())
    assert http_code(418) == "HTTP_418"


def test_an_error_holds_its_facts() -> None:
    """E3: everything that was known is in `failure`; the code is at hand; the message is the text."""
    error = LlmError(
        "slow down",
        codes.RATE_LIMIT,
        phase="headers",
        status=429,
        provider_code="rate",
        provider_retry_after_ms=1500,
        request_id="r",
        should_retry=True,
    )

    assert error.failure == Failure("slow down", "RATE_LIMIT", "headers", 429, "rate", 1500, "r", True)
    assert (str(error), error.code, error.partial) == (
        "RATE_LIMIT: slow down [HTTP 429, request r]",
        "RATE_LIMIT",
        None,
    )
    assert repr(error) == "LlmError('slow down', 'RATE_LIMIT')"


def test_an_error_travels_with_its_facts_and_partial() -> None:
    """E2: a pickled error keeps its facts and what had arrived; a chained cause stays behind."""
    error = LlmError.of(Failure("m", "SERVER", status=500), partial=Response(None, STOP, text="Hel"))
    error.__cause__ = OSError("gone")

    copy = pickle.loads(pickle.dumps(error))

    assert (copy.failure, copy.partial, copy.__cause__) == (error.failure, error.partial, None)


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (Failure(5, "SERVER"), TypeError),  # type: ignore[arg-type]  # on purpose, as all of these
        (Failure("m", None), TypeError),  # type: ignore[arg-type]
        (Failure("m", ""), ValueError),
        (Failure("m", "server"), ValueError),
        (Failure("m", "SERVER", "later"), ValueError),  # type: ignore[arg-type]
        (Failure("m", "SERVER", status=42), ValueError),
        (Failure("m", "SERVER", status=600), ValueError),
        (Failure("m", "SERVER", status=True), ValueError),
        (Failure("m", "SERVER", status="500"), ValueError),  # type: ignore[arg-type]
        (Failure("m", "SERVER", provider_retry_after_ms=0), ValueError),
        (Failure("m", "SERVER", provider_retry_after_ms=float("nan")), ValueError),  # type: ignore[arg-type]
        (Failure("m", "SERVER", provider_retry_after_ms=True), ValueError),
        (Failure("m", "SERVER", provider_retry_after_ms=1.5), ValueError),  # type: ignore[arg-type]  # it would not read back
        (Failure("m", "SERVER", provider_code=""), ValueError),
        (Failure("m", "SERVER", provider_code=7), ValueError),  # type: ignore[arg-type]
        (Failure("m", "SERVER", request_id=""), ValueError),
        (Failure("m", "SERVER", should_retry="yes"), ValueError),  # type: ignore[arg-type]
    ],
)
def test_facts_that_no_failure_can_have(failure: Failure, kind: type[Exception]) -> None:
    """E3, H59: impossible facts are refused when the error is made."""
    assert isinstance(failure_fault(failure), kind)
    with pytest.raises(kind):
        LlmError.of(failure)


def test_facts_that_a_failure_can_have() -> None:
    """E3: an open family of codes, and every phase."""
    for phase in codes.PHASES:
        assert failure_fault(Failure("", "HTTP_418", phase, 599, "x", 1, "r", False)) is None  # type: ignore[arg-type]  # a phase


class Unreadable(Exception):
    """Its text cannot be read."""

    def __str__(self) -> str:
        raise ValueError("no")


class Sly(str):
    """A text that lies when it is used."""

    def strip(self, characters: str | None = None) -> str:
        raise ValueError("no")


class SlyText(Exception):
    """Its text is of a class of its own."""

    def __str__(self) -> str:
        return Sly("sly")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError("gone"), "gone"),
        (KeyError(), "KeyError"),
        (RuntimeError(" "), "RuntimeError"),
        (RuntimeError(f"denied {KEY}"), "denied [redacted]"),
        (Unreadable(), "an exception whose text cannot be read"),
        (SlyText(), "sly"),
        ("a string", "a string"),
    ],
)
def test_foreign_text_never_fails(error: object, text: str) -> None:
    """E4, E5, H57: a foreign object's text is scrubbed, never empty, and reading it never raises."""
    found = foreign_text(error)

    assert (found, type(found)) == (text, str)


class Hostile(Exception):
    """Cannot be asked for its class, nor for members of a group."""

    @property
    def exceptions(self) -> object:
        raise OSError("no")


class ReprLies(Exception):
    """Its repr is no text."""

    def __repr__(self) -> str:
        return 5  # type: ignore[return-value]  # on purpose


def chained(outer: BaseException, inner: BaseException) -> BaseException:
    """One with the other as its cause."""
    outer.__cause__ = inner
    return outer


def circular() -> BaseException:
    """One that is its own cause, by a detour."""
    first, second = OSError("a"), OSError("b")
    first.__cause__, second.__context__ = second, first
    return first


@pytest.mark.parametrize(
    "make",
    [
        lambda: OSError("gone"),
        lambda: chained(OSError("outer"), ValueError("inner")),
        lambda: ExceptionGroup("several", [OSError("a"), ValueError("b")]),
        circular,
    ],
)
def test_a_clean_cause_is_chained_itself(make: Callable[[], BaseException]) -> None:
    """E5: where nothing needs scrubbing, the exception itself may be shown."""
    error = make()

    assert safe_cause(error) is error


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: OSError(f"denied {KEY}"), "OSError: denied [redacted]"),
        (lambda: chained(OSError("outer"), ValueError(KEY)), "OSError: outer"),
        (lambda: ExceptionGroup("several", [OSError(KEY)]), "ExceptionGroup: several (1 sub-exception)"),
        (lambda: OSError(7, {"key": KEY}), None),
        (lambda: Unreadable(), "Unreadable: an exception whose text cannot be read"),
        (lambda: Hostile("hostile"), "Hostile: hostile"),
        (lambda: ReprLies("lies"), "ReprLies: lies"),
    ],
)
def test_a_tainted_cause_has_a_stand_in(make: Callable[[], BaseException], text: str | None) -> None:
    """E5: a secret anywhere in the chain, or what cannot be read, is replaced by its type name and scrubbed text."""
    found = safe_cause(make())

    assert isinstance(found, ForeignError)
    assert KEY not in repr(found)
    if text is not None:
        assert str(found) == text


class Interrupting(Exception):
    """Ctrl-C arrives while its text is made."""

    def __str__(self) -> str:
        raise KeyboardInterrupt


class Grouped(ExceptionGroup[Exception]):
    """Ctrl-C arrives while its members are looked up."""

    @property
    def exceptions(self) -> "tuple[Exception, ...]":
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("read", "error"),
    [
        (foreign_text, Interrupting("x")),
        (safe_cause, Interrupting("x")),
        (safe_cause, Grouped("x", [ValueError("y")])),
    ],
)
def test_ctrl_c_while_a_foreign_exception_is_read_gets_through(
    read: Callable[[BaseException], object], error: Exception
) -> None:
    """E4: whatever else reading a foreign exception raises means nothing; Ctrl-C is never swallowed."""
    with pytest.raises(KeyboardInterrupt):
        read(error)


@pytest.mark.parametrize(
    ("failure", "text"),
    [
        (Failure("gone", "TRANSPORT"), "TRANSPORT: gone"),
        (Failure("gone", "TRANSPORT", provider="work"), "TRANSPORT: gone [work]"),
        (
            Failure("slow down", "RATE_LIMIT", "headers", 429, request_id="req_1", provider="work", model="a/b"),
            "RATE_LIMIT: slow down [work/a/b, HTTP 429, request req_1]",
        ),
    ],
)
def test_the_text_of_an_error_tells_the_story(failure: Failure, text: str) -> None:
    """A log line alone names code, message, route and model, status and request id (E3)."""
    error = LlmError.of(failure)
    copy = pickle.loads(pickle.dumps(error))

    assert (str(error), str(copy), copy.failure) == (text, text, failure)


@pytest.mark.parametrize("field", ["provider", "model"])
def test_a_route_and_a_model_are_texts(field: str) -> None:
    """A failure's route and model are absent, or texts that are not empty (E3)."""
    for value in ("", 7):
        assert isinstance(failure_fault(Failure("m", "SERVER", **{field: value})), ValueError)  # type: ignore[arg-type]  # on purpose


def test_public_names_live_where_they_are_imported_from() -> None:
    """A traceback names `limen.LlmError`, and every public class and function has `limen` for its module (E3)."""
    modules = {name: getattr(getattr(limen, name), "__module__", "") for name in limen.__all__}

    assert {name for name, module in modules.items() if module != "limen"} == {
        "ContentBlock",
        "ErrorCode",
        "StreamChunk",
        "__version__",
    }
    assert traceback.format_exception_only(LlmError("m", "SERVER")) == ["limen.LlmError: SERVER: m\n"]
