"""The history as the messages that the library takes, which are those of chat completions (Q4).

- System text first, then every message in its place; text and images of a user are parts where there is an image.
- A tool result is a `tool` message; one with `is_error` is marked `Error: `, since there is no field for it. An image
  in a result is refused: what becomes of it depends on the provider.
- A call's arguments are one JSON object or refused: the library would mend others in silence.
- Reasoning of an earlier turn goes back as thinking blocks where this adapter kept them (replay state); without them
  it is left out and reported.
- Files are refused.
"""

from limen.adapters.kit import (
    ImageRules,
    RequestWriter,
    arguments_object,
    base64_of,
    block_words,
    check_call,
    check_image,
    check_result,
    check_role,
    read_state,
    refuse_block,
)
from limen.adapters.library._wire import NAME, REPLAY_VERSION, ReplayState
from limen.contract import (
    ContentBlock,
    ImageBlock,
    Message,
    ReasoningBlock,
    ReplayDrop,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
)

_IMAGES = ImageRules()


def write_messages(writer: RequestWriter) -> list[dict[str, object]]:
    """Return the messages; refuses what has no place, naming `messages[i].content[j]`."""
    system = writer.options.system
    out: list[dict[str, object]] = [] if system is None else [{"role": "system", "content": system}]
    for index, message in enumerate(writer.options.messages):
        check_role(writer, index, message.role)
        if message.role == "assistant":
            out.append(_assistant(writer, index, message))
            continue
        own: list[tuple[str, ContentBlock]] = []
        for position, block in enumerate(message.content):
            path = f"messages[{index}].content[{position}]"
            if isinstance(block, ToolResultBlock) and message.role != "system":
                out.append(_result(writer, block, path))
            elif message.role == "tool":
                refuse_block(writer, path, "a tool message holds tool results only")
            else:
                own.append((path, block))
        if own:
            out.append({"role": message.role, "content": _parts(writer, own, images=message.role == "user")})
    if not out:
        writer.invalid("there is no message and no system text")
    return out


def _assistant(writer: RequestWriter, index: int, message: Message) -> dict[str, object]:
    dropped = writer.context.replay_dropped
    state = read_state(message, index, ReplayState, wire=NAME, version=REPLAY_VERSION, dropped=dropped)
    texts: list[str] = []
    calls: list[dict[str, object]] = []
    reasoned = False
    for position, block in enumerate(message.content):
        path = f"messages[{index}].content[{position}]"
        if isinstance(block, TextBlock):
            texts.append(block.text)
        elif isinstance(block, ReasoningBlock):
            reasoned = True
        elif isinstance(block, ToolCallBlock):
            check_call(writer, block, path)
            # The library parses them for some providers and would mend in silence what is no object.
            arguments = bytes(arguments_object(writer, block, path)).decode()
            function = {"name": block.name, "arguments": arguments}
            calls.append({"id": block.id, "type": "function", "function": function})
        else:
            refuse_block(writer, path, f"an assistant message has no place for {block_words(block)}")
    turn: dict[str, object] = {"role": "assistant", "content": "".join(texts)}
    if state is not None and state.thinking:
        turn["thinking_blocks"] = state.thinking
    elif reasoned:
        dropped.append(
            ReplayDrop("litellm has no field for reasoning of earlier turns that every provider takes", index)
        )
    return {**turn, "tool_calls": calls} if calls else turn


def _result(writer: RequestWriter, block: ToolResultBlock, path: str) -> dict[str, object]:
    check_result(writer, block, path)
    text = block.content if isinstance(block.content, str) else ""
    for number, part in enumerate(() if isinstance(block.content, str) else block.content):
        if isinstance(part, ImageBlock):
            refuse_block(
                writer, f"{path}.content[{number}]", "litellm sends images in tool results to some providers only"
            )
        text += part.text
    mark = "Error: " if block.is_error else ""
    return {"role": "tool", "tool_call_id": block.tool_call_id, "content": f"{mark}{text}"}


def _parts(writer: RequestWriter, own: list[tuple[str, ContentBlock]], *, images: bool) -> object:
    parts: list[dict[str, object]] = []
    texts: list[str] = []
    for path, block in own:
        if isinstance(block, TextBlock):
            texts.append(block.text)
            parts.append({"type": "text", "text": block.text})
        elif isinstance(block, ImageBlock) and images:
            check_image(writer, block, path, _IMAGES)
            address = block.url if block.data is None else f"data:{block.media_type};base64,{base64_of(block)}"
            parts.append({"type": "image_url", "image_url": {"url": address}})
        else:
            refuse_block(writer, path, f"the adapter litellm has no place for {block_words(block)} here")
    return parts if len(parts) > len(texts) else "".join(texts)
