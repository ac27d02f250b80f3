"""Check of a request before any I/O: the type of each field, and the history (Q1, N1)."""

from collections.abc import Iterable, Sequence
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Final, NoReturn

from limen.contract import _codes as codes
from limen.contract._blocks import FileBlock, ImageBlock, ReasoningBlock, TextBlock, ToolCallBlock, ToolResultBlock
from limen.contract._errors import LlmError
from limen.contract._messages import Message
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


# -- the history

_BLOCKS: Final = (TextBlock, ReasoningBlock, ImageBlock, FileBlock, ToolCallBlock, ToolResultBlock)
_REMEDY: Final = "limen.repair_history(messages) returns a history that passes, with a report"


def check_history(messages: Sequence[Message]) -> None:
    """Raise `INVALID_OPTIONS`, naming `messages[i]`, unless the history can be served (N1).

    Every tool result answers a call of the assistant turn before it; every call is answered once before the next
    turn begins, the end of the history included; ids are unique within their turn; an assistant turn has a block or
    replay state. A user message that holds text beside results is the turn that its results still belong to.
    """
    turn = _Turn(-1)
    given: Sequence[object] = messages
    for index, message in enumerate(given):
        if type(message) is not Message:
            raise LlmError(
                f"messages[{index}] is a {type(message).__name__}, not a Message",
                codes.INVALID_OPTIONS,
                phase="resolve",
            )
        content = message.content
        if len(content) == 1 and type(content[0]) is TextBlock and type(content[0].text) is str and not turn.unanswered:
            # Fast path of nearly every turn of a long history: no calls and no results.
            if message.role == "assistant":
                turn.index = index
                if turn.calls:
                    turn.calls.clear()
            continue
        if message.role == "assistant":
            turn.check_answered(f"messages[{index}]")
            turn = _Turn(index)
            if not content and message.replay_state is None:
                _refuse_history(f"messages[{index}] is an assistant turn with neither a block nor replay state")
            for block in content:
                if type(block) is ToolCallBlock:
                    turn.call(block.id)
                elif type(block) is ToolResultBlock:
                    _refuse_history(f"messages[{index}] is an assistant turn, and holds a tool result")
                else:
                    _check_block(index, block)
            continue
        ends_turn = not content
        for block in content:
            if type(block) is ToolResultBlock:
                turn.answer(block.tool_call_id, index)
            else:
                _check_block(index, block)
                ends_turn = True
        if ends_turn and turn.unanswered:
            turn.check_answered(f"messages[{index}]")
    turn.check_answered("the end of the history")


def _check_block(index: int, block: object) -> None:
    fault = None
    if not isinstance(block, _BLOCKS):
        fault = f"a {type(block).__name__}, which is no block of content"
    elif isinstance(block, TextBlock | ReasoningBlock):
        fault = _text_fault(block.text)
    if fault is not None:
        raise LlmError(f"messages[{index}] holds {fault}", codes.INVALID_OPTIONS, phase="resolve")


def _text_fault(text: object) -> str | None:
    return None if isinstance(text, str) else f"a block whose text is a {type(text).__name__}, not a string"


class _Turn:
    """Preceding assistant turn: its index, and for each call id whether it was answered."""

    __slots__ = ("calls", "index", "unanswered")

    def __init__(self, index: int) -> None:
        self.index = index
        self.calls: dict[str, bool] = {}
        self.unanswered = 0

    def call(self, call_id: str) -> None:
        if call_id in self.calls:
            _refuse_history(f"messages[{self.index}] holds two tool calls with the id {call_id!r}")
        self.calls[call_id] = False
        self.unanswered += 1

    def answer(self, call_id: str, index: int) -> None:
        answered = self.calls.get(call_id)
        if answered is None:
            _refuse_history(
                f"messages[{index}] answers the call {call_id!r}, which the assistant turn before it did not make"
            )
        if answered:
            _refuse_history(f"messages[{index}] answers the call {call_id!r} a second time")
        self.calls[call_id] = True
        self.unanswered -= 1

    def check_answered(self, where: str) -> None:
        if self.unanswered:
            missing = ", ".join(repr(call_id) for call_id, answered in self.calls.items() if not answered)
            _refuse_history(f"messages[{self.index}] makes a tool call that is not answered before {where}: {missing}")


def _refuse_history(fault: str) -> NoReturn:
    raise LlmError(f"{fault}; {_REMEDY}", codes.INVALID_OPTIONS, phase="resolve")
