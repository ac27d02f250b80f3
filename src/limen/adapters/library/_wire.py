"""Objects of `litellm` that the adapter reads, by attribute: types only.

Source: `litellm.types.utils` (`ModelResponseStream`, `Usage`) of 1.110.2, read 2026-12-01. An attribute that is absent
or `None` is the default; every other type than the one named here is a fault.
"""

from typing import Final

import msgspec

NAME: Final = "litellm"
"""The name under which `extra` and replay state belong to this adapter, as a wire's name does elsewhere."""
REPLAY_VERSION: Final = 1


class Function(msgspec.Struct):
    """Name and a fragment of the arguments of a call."""

    name: str | None = None
    arguments: str | None = None


class ToolCall(msgspec.Struct):
    """A fragment of a tool call."""

    index: int | None = None
    id: str | int | None = None
    function: Function | None = None


class Delta(msgspec.Struct):
    """Content of one chunk."""

    content: str | None = None
    reasoning_content: str | None = None
    refusal: str | None = None
    tool_calls: list[ToolCall] | None = None
    thinking_blocks: list[object] | None = None


class Choice(msgspec.Struct):
    """One choice of a chunk; only choice 0 becomes the response (W8)."""

    index: int | None = None
    delta: Delta | None = None
    finish_reason: str | None = None


class Part(msgspec.Struct):
    """One chunk of a stream."""

    id: str | None = None
    model: str | None = None
    choices: list[Choice] | None = None


class PromptDetails(msgspec.Struct):
    """Parts of the prompt's count."""

    cached_tokens: int | float | None = None
    cache_creation_tokens: int | float | None = None


class CompletionDetails(msgspec.Struct):
    """Parts of the completion's count."""

    reasoning_tokens: int | float | None = None


class Usage(msgspec.Struct):
    """Counts of an answer; the library's prompt count includes what was read from and written to the cache."""

    prompt_tokens: int | float | None = None
    completion_tokens: int | float | None = None
    total_tokens: int | float | None = None
    prompt_tokens_details: PromptDetails | None = None
    completion_tokens_details: CompletionDetails | None = None


class Thinking(msgspec.Struct):
    """A part of a thinking block of Anthropic's, which a later turn sends back (N4)."""

    type: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None


class ReplayState(msgspec.Struct, frozen=True):
    """Replay state of a turn: its thinking blocks, each as Anthropic has it."""

    blocks: tuple[None, ...]
    thinking: tuple[dict[str, str], ...] = ()
