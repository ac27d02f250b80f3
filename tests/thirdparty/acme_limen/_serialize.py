"""Options to Acme's request; refuses what Acme has no word for (Q1)."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from limen.contract import (
    ContentBlock,
    GenerateOptions,
    LlmError,
    Message,
    ReasoningBlock,
    ReplayDrop,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    codes,
    dumps,
    json_fault,
    replay_fault,
)

WIRE: Final = "acme-lines"
VERSION: Final = 1
_REFUSED: Final = (
    "tool_choice",
    "parallel_tool_calls",
    "response_format",
    "top_p",
    "seed",
    "cache",
)
_WHO: Final = {"user": "user", "assistant": "model", "tool": "tool", "system": "system"}


class _Seal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    seal: str


def body_of(options: GenerateOptions, dropped: list[ReplayDrop]) -> bytes:
    """Return the request's JSON; what is wrong with the request is raised."""
    for name in _REFUSED:
        if getattr(options, name) is not None:
            raise _unsupported(f"Acme has no word for {name}; leave it out")
    if options.reasoning_effort is not None:
        raise LlmError("Acme has no efforts", codes.UNSUPPORTED_REASONING_EFFORT, phase="resolve")
    body: dict[str, object] = {"model": options.model}
    if options.system is not None:
        body["system"] = options.system
    body["turns"] = [
        turn for index, message in enumerate(options.messages) for turn in _turns(message, index=index, dropped=dropped)
    ]
    if options.tools:
        body["tools"] = [
            _tool(tool.name, tool.description, tool.parameters, strict=tool.strict) for tool in options.tools
        ]
    body |= {
        name: value
        for name, value in (
            ("temperature", options.temperature),
            ("limit", options.max_tokens),
            ("stopwords", options.stop),
        )
        if value is not None
    }
    _merge(body, options.extra)
    fault = json_fault(body)
    if fault is not None:
        raise LlmError(f"the request is not JSON: {fault}", codes.INVALID_OPTIONS, phase="resolve")
    return dumps(body)


def _merge(body: dict[str, object], extra: Mapping[str, Mapping[str, object]] | None) -> None:
    for wire, fields in (extra or {}).items():
        if wire != WIRE:
            raise _unsupported(f"extra is for the wire {wire!r}, and this one is {WIRE}")
        for name, value in fields.items():
            if name in body:
                raise LlmError(f"extra.{name} is written by the adapter itself", codes.INVALID_OPTIONS, phase="resolve")
            body[name] = value


def _tool(
    name: str, description: str | None, parameters: Mapping[str, object] | None, *, strict: bool | None
) -> Mapping[str, object]:
    if strict is not None:
        raise _unsupported(f"Acme has no strict tools; {name} asks for it")
    tool: dict[str, object] = {"name": name}
    if description is not None:
        tool["about"] = description
    if parameters is not None:
        tool["takes"] = parameters
    return tool


def _turns(message: Message, *, index: int, dropped: list[ReplayDrop]) -> Sequence[Mapping[str, object]]:
    who = _WHO[message.role]
    seals = _seals(message, index, dropped)
    turns: list[Mapping[str, object]] = []
    for place, block in enumerate(message.content):
        where = f"messages[{index}].content[{place}]"
        turns += _turn(block, who=who, seal=seals[place], where=where)
    return turns


def _turn(block: ContentBlock, *, who: str, seal: str | None, where: str) -> Sequence[Mapping[str, object]]:
    match block:
        case TextBlock(text=text):
            return [{"who": who, "say": text}]
        case ReasoningBlock(text=text):
            # Acme takes a thought back only under its own seal; of any other history it is left out (N4).
            return [] if seal is None else [{"who": who, "think": text, "seal": seal}]
        case ToolCallBlock():
            return [{"who": who, "call": block.id, "name": block.name, "args": block.arguments or "{}"}]
        case ToolResultBlock(content=str() as text):
            failed: dict[str, object] = {"failed": True} if block.is_error else {}
            return [{"who": who, "answers": block.tool_call_id, "say": text, **failed}]
        case _:
            raise LlmError(
                f"{where} holds an image, and Acme reads text only", codes.UNSUPPORTED_CONTENT, phase="resolve"
            )


def _seals(message: Message, index: int, dropped: list[ReplayDrop]) -> Sequence[str | None]:
    nothing: list[str | None] = [None] * len(message.content)
    if message.replay_state is None:
        return nothing
    fault = replay_fault(message, wire=WIRE, version=VERSION)
    if fault is not None:
        dropped.append(ReplayDrop(fault, index))
        return nothing
    try:
        entries = msgspec.convert(message.replay_state["blocks"], list[_Seal | None])
    except msgspec.ValidationError as wrong:
        raise LlmError(
            f"the replay state of messages[{index}] does not validate: {wrong}",
            codes.INVALID_REPLAY_STATE,
            phase="resolve",
        ) from None
    return [None if entry is None else entry.seal for entry in entries]


def _unsupported(message: str) -> LlmError:
    return LlmError(message, codes.UNSUPPORTED, phase="resolve")
