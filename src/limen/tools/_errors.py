"""Errors of tools, and results that tell the model of one."""

from typing import Final

from limen.contract import ToolCallBlock, ToolResultBlock, codes, dumps, scrub

MESSAGE_MAX: Final = 1_024
"""Code points of an error's message, in a result or an exception."""

# Looking for credentials takes a second per million characters, and a tool may raise a whole file: of a longer text
# the beginning is looked through. A credential that this cut tears apart is recognised by nothing, so the end of what
# was looked through is left out again.
_SCRUBBED_MAX: Final = 16 * MESSAGE_MAX
_TORN_MAX: Final = 4 * MESSAGE_MAX


class ToolContractError(Exception):
    """A tool, batch or call that is wrong by itself: the program's mistake, raised and never sent to the model.

    `code` is `INVALID_TOOL_DEFINITION`, `INVALID_TOOL_BATCH`, `DUPLICATE_TOOL_NAME` or `INVALID_TOOL_CALL`.
    """

    __module__ = "limen.tools"  # the name that a program imports, in tracebacks and logs (E3)

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(f"{code}: {message}" if message else code)
        self.code = code
        self.message = message

    def __reduce__(self) -> tuple[type["ToolContractError"], tuple[str, str]]:
        return (type(self), (self.code, self.message))


class NonRecoverableToolError(Exception):
    """Raised by a tool or validator to stop the run: it leaves the run unchanged instead of becoming a result (X4)."""

    __module__ = "limen.tools"


def bounded(text: str) -> str:
    """Return a message without credentials (E5), as valid Unicode, of at most `MESSAGE_MAX` code points."""
    text = scrub(text) if len(text) <= _SCRUBBED_MAX else f"{scrub(text[:_SCRUBBED_MAX])[:-_TORN_MAX]}…"
    return text if len(text) <= MESSAGE_MAX else text[: MESSAGE_MAX - 1] + "…"


def failed(call: ToolCallBlock, code: str, message: str) -> ToolResultBlock:
    """Return the result that tells the model of a failure: `{"error":{"code","message"}}`, linked by the call's id."""
    content = dumps({"error": {"code": code, "message": bounded(message)}}).decode()
    return ToolResultBlock(call.id, content, is_error=True)


def error_words(error: BaseException) -> str:
    """Return an exception's class name and text, scrubbed and bounded, whatever its class does when asked."""
    text = error_text(error)
    try:
        name = str.__str__(type(error).__name__)
    except Exception:  # noqa: BLE001 - a metaclass may raise anything for the name of its class
        return text
    return f"{name}: {text}" if text.strip() and text != name else name


def error_text(error: BaseException) -> str:
    """Return an exception's text, scrubbed and bounded, whatever its class does when asked."""
    try:
        # `__str__` may return a subclass of str with methods of its own; `str.__str__` makes it an exact str.
        return bounded(str.__str__(str(error)))
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - a foreign `__str__` may raise anything; that error is not the one to tell of
        return "an exception whose text cannot be read"


def invalid_definition(message: str) -> ToolContractError:
    """Return the refusal of a tool's definition (X1)."""
    return ToolContractError(codes.INVALID_TOOL_DEFINITION, bounded(message))
