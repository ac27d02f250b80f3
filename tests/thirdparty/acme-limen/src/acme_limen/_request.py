"""Options and history to the body of Acme's request."""

from collections.abc import Iterator
from typing import Final

import msgspec

from acme_limen._wire import WIRE
from limen.adapters.kit import BuildContext, RequestWriter, check_call, check_role, read_state, refuse_block
from limen.contract import (
    ContentBlock,
    GenerateOptions,
    Message,
    ReasoningBlock,
    ReplayDrop,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolSpec,
)

HONOURS: Final = frozenset({"system", "tools", "temperature", "max_tokens", "stop", "extra"})
STATE_VERSION: Final = 1
_NO_SEAL: Final = "Acme takes a thought back under its own seal only"


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Replay state of one block: the seal of a thought."""

    seal: str


class _State(msgspec.Struct, frozen=True):
    """Replay state of one turn."""

    blocks: tuple[_Entry | None, ...]


def write_request(options: GenerateOptions, context: BuildContext, dialect: str) -> bytes:
    """Return the body's bytes; raises `LlmError` for what Acme has no field for (Q1)."""
    writer = RequestWriter(options, context, wire=WIRE, dialect=dialect)
    writer.body["model"] = options.model
    writer.put("system", options.system)
    writer.body["turns"] = [turn for index in range(len(options.messages)) for turn in _turns(writer, index)]
    writer.put("tools", writer.tools(lambda tool, path: _tool(writer, tool, path)) or None)
    writer.put("temperature", options.temperature)
    writer.put("max_tokens", writer.max_tokens(), field="limit")
    writer.put("stop", writer.stops(None), field="stopwords")
    writer.merge_extra()
    return writer.encoded()


def _tool(writer: RequestWriter, tool: ToolSpec, path: str) -> object:
    if tool.strict is not None:
        writer.refuse(f"{path}.strict", "it has no strict tools")
    written = {"name": tool.name, "about": tool.description, "takes": tool.parameters}
    return {name: value for name, value in written.items() if value is not None}


def _turns(writer: RequestWriter, index: int) -> Iterator[dict[str, object]]:
    message, dropped = writer.options.messages[index], writer.context.replay_dropped
    check_role(writer, index, message.role)
    state = read_state(message, index, _State, wire=WIRE, version=STATE_VERSION, dropped=dropped)
    for place, block in enumerate(message.content):
        path = f"messages[{index}].content[{place}]"
        entry = None if state is None else state.blocks[place]
        if not isinstance(block, ReasoningBlock):
            yield _turn(writer, message, block, path)
        elif entry is not None:
            yield {"who": "model", "think": block.text, "seal": entry.seal}
        elif all(one.message_index != index for one in dropped):
            dropped.append(ReplayDrop(_NO_SEAL, index))


def _turn(writer: RequestWriter, message: Message, block: ContentBlock, path: str) -> dict[str, object]:
    who = "model" if message.role == "assistant" else message.role
    if isinstance(block, TextBlock):
        return {"who": who, "say": block.text}
    if isinstance(block, ToolCallBlock):
        check_call(writer, block, path)
        return {"who": who, "call": block.id, "name": block.name, "args": block.arguments or "{}"}
    if not isinstance(block, ToolResultBlock) or not isinstance(block.content, str):
        refuse_block(writer, path, "it reads text only")
    failed: dict[str, object] = {"failed": True} if block.is_error else {}
    return {"who": who, "answers": block.tool_call_id, "say": block.content, **failed}
