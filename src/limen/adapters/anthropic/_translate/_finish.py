"""Why an answer ended, and what it cost.

Source of truth: https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons, read 2026-11-30. Beside
the wire's own words stand those that gateways pass through from other wires (E3).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from limen.adapters.anthropic._wire import Count, WireStop, WireStopDetails, WireUsage
from limen.contract import Failure, LlmError, TokenUsage, codes, scrub

# One word of several wins by rank: error over filter over length over calls over stop.
STOP: Final = "stop"
CALLS: Final = "tool-calls"
LENGTH: Final = "max-tokens"
RANKS: Final = (STOP, CALLS, LENGTH, codes.CONTENT_FILTER, codes.SERVER, codes.UNKNOWN_FINISH)

_WORDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(("end_turn", "stop_sequence", "pause_turn", "compaction"), STOP),
        **dict.fromkeys(("stop", "eos", "end", "COMPLETE"), STOP),
        **dict.fromkeys(("tool_use", "tool_calls", "tool_call", "function_call", "TOOL_CALL"), CALLS),
        **dict.fromkeys(("max_tokens", "model_context_window_exceeded", "length", "model_length"), LENGTH),
        # `sensitive`: Z.ai's endpoint, seen 2026-11.
        **dict.fromkeys(("refusal", "sensitive", "content_filter", "safety", "guardrail"), codes.CONTENT_FILTER),
        **dict.fromkeys(("error", "network_error", "insufficient_system_resource", "abort"), codes.SERVER),
    }
)


def meaning(word: str) -> str:
    """Say what a stop reason means: a kind of finish, or the code of a failure."""
    known = _WORDS.get(word)
    if known is None:
        known = codes.SERVER if word.startswith("malformed_") else codes.UNKNOWN_FINISH
    return known


def outranks(new: WireStop, old: WireStop) -> bool:
    """Whether a later report says more than an earlier one; of equals the later one counts (W5)."""
    if not old.stop_reason or not new.stop_reason:
        return bool(new.stop_reason)
    return RANKS.index(meaning(new.stop_reason)) >= RANKS.index(meaning(old.stop_reason))


def failed(word: str, code: str, details: WireStopDetails | None) -> Failure:
    """Make the failure of an answer that its stop reason ends as one."""
    if code == codes.CONTENT_FILTER:
        message = _refusal(details)
    elif code == codes.UNKNOWN_FINISH:
        message = f"the answer ended for a reason that nobody documented: {scrub(word)}"
    else:
        message = f"the provider ended the answer with {scrub(word)}"
    return Failure(message, code, phase="mid-stream", provider_code=scrub(word))


def _refusal(details: WireStopDetails | None) -> str:
    explanation = None if details is None else details.explanation
    category = None if details is None else details.category
    text = explanation or "the provider refused to answer or to go on"
    return scrub(f"{text} ({category})" if category else text)


def empty(word: str | None) -> Failure:
    """Make the failure of a stop that is no answer (C12)."""
    return Failure(
        "the model ended its turn without saying anything", codes.EMPTY_RESPONSE, phase="mid-stream", provider_code=word
    )


def no_call(word: str) -> Failure:
    """Make the failure of a turn that claims tool calls and has none."""
    return Failure(
        f"the answer ended with {word} and holds no tool call",
        codes.MALFORMED_RESPONSE,
        phase="mid-stream",
        provider_code=word,
    )


def merged(old: WireUsage | None, new: WireUsage | None) -> WireUsage | None:
    """Counts are cumulative: field by field the last one that is not null stands (W7)."""
    if old is None or new is None:
        return new or old
    fields = {name: getattr(new, name) for name in new.__struct_fields__}
    return msgspec.structs.replace(old, **{name: value for name, value in fields.items() if value is not None})


def counted(usage: WireUsage) -> TokenUsage | None:
    """Return the counts, which this wire has disjoint already; `None` where it named none."""
    output = _count(usage.output_tokens)
    reasoning = None if usage.output_tokens_details is None else _count(usage.output_tokens_details.thinking_tokens)
    if output is not None and reasoning is not None and reasoning > output:
        # At most five over is rounding; more says that thinking was counted beside the output.
        output, reasoning = (output, output) if reasoning - output <= 5 else (output + reasoning, reasoning)
    found = TokenUsage(
        input_tokens=_count(usage.input_tokens),
        output_tokens=output,
        cache_read_tokens=_count(usage.cache_read_input_tokens),
        cache_write_tokens=_written(usage),
        reasoning_tokens=reasoning,
    )
    return None if found == TokenUsage() else found


def _written(usage: WireUsage) -> int | None:
    whole = _count(usage.cache_creation_input_tokens)
    split = usage.cache_creation
    if whole is not None or split is None:
        return whole
    parts = [_count(split.ephemeral_5m_input_tokens), _count(split.ephemeral_1h_input_tokens)]
    return None if parts == [None, None] else sum(part or 0 for part in parts)


def _count(value: Count) -> int | None:
    if value is None or value < 0:
        return None
    if value != int(value):
        raise LlmError(f"the answer counts {value} tokens", codes.MALFORMED_RESPONSE)
    return int(value)
