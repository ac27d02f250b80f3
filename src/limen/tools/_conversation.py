"""The state of a conversation between a model and tools, without I/O; `converse` drives it in both faces (X8)."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from limen.contract import (
    GenerateOptions,
    LlmError,
    Message,
    Response,
    StreamChunk,
    TokenUsage,
    ToolCallBlock,
    ToolResultBlock,
    check_history,
    codes,
    encode,
    json_fault,
)
from limen.tools._errors import failed
from limen.tools._registry import ToolRegistry

Why: TypeAlias = Literal["answer", "max-turns", "aborted", "failure"]

DEFAULT_MAX_TURNS: Final = 16


class ChunkEvent(msgspec.Struct, frozen=True):
    """A chunk of the model's answer; `messages` is the whole history so far, the answer included at its finish."""

    chunk: StreamChunk
    messages: Sequence[Message] = ()


class ResultEvent(msgspec.Struct, frozen=True):
    """A tool's result; the turn stands in `messages` from its last result on."""

    result: ToolResultBlock
    messages: Sequence[Message] = ()


class Ended(msgspec.Struct, frozen=True):
    """The end of a conversation: `why`, the last response, the whole history, and the usage of all turns.

    `why` is `answer` (the model called no tool; `response.finish` tells a stop from `max-tokens`), `max-turns` (the
    results of the last turn are in the history), `aborted` or `failure` (`response` is what had arrived, its finish
    holds the failure). `usage` is the sum over the turns that reported it, field by field; `None` if none did.
    """

    why: Why
    response: Response | None
    messages: Sequence[Message] = ()
    usage: TokenUsage | None = None


Event: TypeAlias = ChunkEvent | ResultEvent | Ended


class Allow(msgspec.Struct, frozen=True):
    """`before_call`'s yes: the call is executed as it is; returning `None` means the same."""


class Deny(msgspec.Struct, frozen=True):
    """`before_call`'s no: the call is not executed, and the model reads the reason as an error result."""

    reason: str


class Replace(msgspec.Struct, frozen=True):
    """`before_call`'s other arguments: JSON text or an object, validated like the model's own.

    The history keeps the call as the model made it.
    """

    arguments: str | Mapping[str, object]


Verdict: TypeAlias = Allow | Deny | Replace | None
BeforeCall: TypeAlias = Callable[[ToolCallBlock], Verdict | Awaitable[Verdict]]
"""The hook before each call, async or not; what it raises is raised unchanged, before any call of the turn is run."""


class Conversation:
    """History, usage and turns of one run.

    A driver asks for `request()`, reports the answer by `answered`, and where it has `calls`, their results by
    `resolved`.
    Raises `LlmError` `INVALID_OPTIONS` for a history that cannot be served (N1) and `ValueError` for bad limits.
    """

    def __init__(self, options: GenerateOptions, registry: ToolRegistry, max_turns: int) -> None:
        if type(max_turns) is not int or max_turns < 1:
            raise ValueError(f"max_turns is a whole number of at least 1, got {max_turns!r}")
        check_history(options.messages)
        self._options = options
        self._registry = registry
        self._turns_left = max_turns
        self.messages: tuple[Message, ...] = tuple(options.messages)
        self.usage: TokenUsage | None = None
        self.response: Response | None = None

    def request(self) -> GenerateOptions:
        """Return the options of the next turn; tools that are unset are those of the registry now."""
        self._turns_left -= 1
        tools = self._options.tools
        if tools is None:
            tools = self._registry.specs() or None
        return msgspec.structs.replace(self._options, messages=self.messages, tools=tools)

    @property
    def offered(self) -> frozenset[str] | None:
        """The tools that the model was told of, where the options name them; a call of any other is not executed."""
        tools = self._options.tools
        return None if tools is None else frozenset(spec.name for spec in tools)

    @property
    def calls(self) -> Sequence[ToolCallBlock]:
        """The calls of the last answer that have to be resolved."""
        return () if self.response is None else self.response.tool_calls

    @property
    def may_go_on(self) -> bool:
        """True while another turn may follow."""
        return self._turns_left > 0

    def answered(self, response: Response | None) -> None:
        """Take a turn's answer; one with calls enters the history with their results.

        Raises `LlmError` `INVALID_OPTIONS` before any call runs where no history can hold the calls (N1): an object of
        the caller's own may name one id twice.
        """
        self.response = response
        if self.calls:
            check_history(self._with_results([ToolResultBlock(call.id, "") for call in self.calls]))
        if response is not None:
            self.usage = _sum(self.usage, response.usage)
            if response.message is not None and not response.tool_calls:
                self.messages = (*self.messages, response.message)

    def resolved(self, results: Sequence[ToolResultBlock]) -> list[ResultEvent]:
        """Take the results of the answer's calls, and return their events."""
        before = self.messages
        self.messages = self._with_results(results)
        return [*(ResultEvent(result, before) for result in results[:-1]), ResultEvent(results[-1], self.messages)]

    def _with_results(self, results: Sequence[ToolResultBlock]) -> tuple[Message, ...]:
        message = None if self.response is None else self.response.message
        # An object of the caller's own may leave the message out; the calls are what results have to follow.
        asked = message or Message("assistant", self.calls)
        return (*self.messages, asked, *(Message("tool", (result,)) for result in results))

    def ended(self, why: Why) -> Ended:
        """Return the last event."""
        return Ended(why, self.response, self.messages, self.usage)

    def outcome(self) -> Ended | None:
        """Return the end if the last answer is one; `None` where its calls are to be resolved."""
        kind = "error" if self.response is None else self.response.finish.kind
        if kind == "aborted":
            return self.ended("aborted")
        if kind == "error":
            return self.ended("failure")
        return None if self.calls else self.ended("answer")


def judged(call: ToolCallBlock, verdict: object) -> ToolCallBlock | ToolResultBlock:
    """Return the call as the hook wants it, or the result of its being denied; `TypeError` for no verdict."""
    if verdict is None or type(verdict) is Allow:
        return call
    if type(verdict) is Deny:
        reason: object = verdict.reason
        if not isinstance(reason, str):  # pyright: ignore[reportUnnecessaryIsInstance] - no struct checks its fields
            raise TypeError(f"the reason of a Deny is a text, not a {type(reason).__name__}")
        return failed(call, codes.TOOL_CALL_DENIED, verdict.reason)
    if type(verdict) is Replace:
        arguments = verdict.arguments
        text = arguments if isinstance(arguments, str) else encode(arguments).decode()
        fault = json_fault(arguments)
        if fault is not None:
            # Encoding writes NaN as null, which is other arguments than those that were given.
            words = f"before_call replaced arguments by no JSON: {fault}"
            raise LlmError(words, codes.INVALID_OPTIONS, phase="resolve")
        return ToolCallBlock(call.id, call.name, text)
    raise TypeError(
        f"before_call returns Allow(), Deny(reason), Replace(arguments) or None, not {type(verdict).__name__}"
    )


def merged(
    judgements: Sequence[ToolCallBlock | ToolResultBlock], executed: Sequence[ToolResultBlock]
) -> list[ToolResultBlock]:
    """Return one result per call, in order: of those that were executed, and of those that were denied."""
    following = iter(executed)
    return [found if isinstance(found, ToolResultBlock) else next(following) for found in judgements]


def _sum(left: TokenUsage | None, right: TokenUsage | None) -> TokenUsage | None:
    if left is None or right is None:
        return left or right
    return TokenUsage(*(_added(getattr(left, name), getattr(right, name)) for name in TokenUsage.__struct_fields__))


def _added(left: int | None, right: int | None) -> int | None:
    return left if right is None else right if left is None else left + right
