"""Check of a request before any I/O: the type of each field, and the history."""

from collections.abc import Iterable
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Final, NoReturn

from limen.contract import _codes as codes
from limen.contract._errors import LlmError
from limen.contract._history import check_history
from limen.contract._options import GenerateOptions
from limen.contract._tools import ToolSpec

_KINDS: Final[tuple[tuple[str, tuple[type, ...], str], ...]] = (
    ("model", (str,), "a string"),
    ("system", (str,), "a string"),
    ("parallel_tool_calls", (bool,), "a bool"),
    ("temperature", (int, float), "a number"),
    ("top_p", (int, float), "a number"),
    ("max_tokens", (int,), "a whole number"),
    ("seed", (int,), "a whole number"),
    ("reasoning_effort", (str,), "a string"),
    ("session_id", (str,), "a string"),
    ("purpose", (str,), "a string"),
)


_CHECKED: Final[ContextVar[GenerateOptions | None]] = ContextVar("limen_checked_request", default=None)


class checked:  # noqa: N801 - read as a word: `with checked(options):`
    """Context manager in which `check_request(options)` returns at once, for this very object only.

    For a caller that has checked the request and hands it on, as the runtime does around `adapter.stream(options)`:
    the check runs once a call, and an adapter that is used without a runtime still makes it. The mark holds while the
    block runs, in this context; a generator's body begins after it, and checks again.
    """

    __slots__ = ("_options", "_token")

    def __init__(self, options: GenerateOptions) -> None:
        self._options = options

    def __enter__(self) -> None:
        self._token: Token[GenerateOptions | None] = _CHECKED.set(self._options)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _CHECKED.reset(self._token)


def check_request(options: GenerateOptions) -> None:
    """Raise `INVALID_OPTIONS`, naming the field or `messages[i]`, for a request that no wire could send (Q1, N1).

    Each field is checked against its declared type, as a static type checker would; its value is checked by the
    wire. Inside of `checked(options)` nothing is left to check.
    """
    if options is _CHECKED.get():
        return
    if options.model == "":
        raise LlmError("model is empty; name one of the route's models", codes.INVALID_OPTIONS, phase="resolve")
    for name, kinds, words in _KINDS:
        value: object = getattr(options, name)
        if value is None and name != "model":
            continue
        # isinstance takes True for an int; it is no number here.
        if not isinstance(value, kinds) or (type(value) is bool and bool not in kinds):
            _refuse(name, value, words)
    _check_each("tools", options.tools, ToolSpec, "a ToolSpec")
    _check_each("stop", options.stop, str, "a string")
    check_history(options.messages)


def _check_each(name: str, values: Iterable[object] | None, kind: type, words: str) -> None:
    for index, value in enumerate(values or ()):
        if not isinstance(value, kind):
            _refuse(f"{name}[{index}]", value, words)


def _refuse(field: str, value: object, words: str) -> NoReturn:
    raise LlmError(f"{field} is a {type(value).__name__}, not {words}", codes.INVALID_OPTIONS, phase="resolve")
