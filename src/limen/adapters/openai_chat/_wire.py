"""Chat-completions answers as they stand on the wire. Types only.

Source of truth: https://platform.openai.com/docs/api-reference/chat-streaming (read 2026-11-30), and what other
hosts were recorded to send. Every field may be null or absent, which is one thing (W2); unknown fields are ignored
(C15). A field that is `object` here is read only in some dialects or some places, and is checked there.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

import msgspec

from limen.adapters.kit import Count

Identifier: TypeAlias = str | int | None

REPLAY_VERSION: Final = 1

# State that a gateway asks to have back (N4), by the place where it puts it; 2026-11. `thinking_blocks`: LiteLLM's
# proxy in front of Claude (NQ301); `reasoning_opaque`: GitHub Copilot (NQ302); `extra_content`: Gemini's layer, on the
# turn (NQ303) and on a call; `provider_specific_fields`: LiteLLM's proxy in front of Gemini (NQ305).
TURN_STATE: Final = ("thinking_blocks", "reasoning_opaque", "extra_content", "provider_specific_fields")
CALL_STATE: Final = ("extra_content", "provider_specific_fields")


class InputDetails(msgspec.Struct, gc=False):
    """Cached parts of the prompt; DashScope has its own name for cache writes."""

    cached_tokens: Count = None
    cache_write_tokens: Count = None
    cache_creation_input_tokens: Count = None


class OutputDetails(msgspec.Struct, gc=False):
    """The reasoning part of the completion."""

    reasoning_tokens: Count = None


class Usage(msgspec.Struct, gc=False):
    """Token counts. Beside OpenAI's names: DeepSeek's, Moonshot's and Together's flat ones, and Anthropic's."""

    prompt_tokens: Count = None
    completion_tokens: Count = None
    total_tokens: Count = None
    prompt_tokens_details: InputDetails | None = None
    completion_tokens_details: OutputDetails | None = None
    prompt_cache_hit_tokens: Count = None
    cached_tokens: Count = None
    num_cached_tokens: Count = None
    cache_read_input_tokens: Count = None
    cache_creation_input_tokens: Count = None
    reasoning_tokens: Count = None
    input_tokens: Count = None
    output_tokens: Count = None


COUNTS: Final = tuple(name for name in Usage.__struct_fields__ if not name.endswith("_details"))


class Function(msgspec.Struct, gc=False):
    """A function call's name and arguments; llama.cpp once put the call's id here."""

    name: str | None = None
    arguments: str | None = None
    id: Identifier = None


class CustomCall(msgspec.Struct, gc=False):
    """A call of a custom tool: free text in place of arguments."""

    name: str | None = None
    input: str | None = None


class ToolCall(msgspec.Struct, gc=False):
    """A tool call or a fragment of one; the fields of `CALL_STATE` hold a thought signature of Gemini's."""

    index: int | None = None
    id: Identifier = None
    function: Function | None = None
    custom: CustomCall | None = None
    extra_content: dict[str, object] | None = None
    provider_specific_fields: dict[str, object] | None = None


class SummaryPart(msgspec.Struct, gc=False):
    """A piece of a `reasoning` part, as Databricks sends it (NQ304)."""

    text: str | None = None
    signature: str | None = None


class Part(msgspec.Struct, gc=False):
    """One part of a content array: `text`, `refusal`, Mistral's `thinking` and `reference`, Databricks' `reasoning`."""

    type: str | None = None
    text: str | None = None
    thinking: "str | list[Part] | None" = None
    refusal: str | None = None
    summary: list[SummaryPart] | None = None
    signature: object = None
    reference_ids: object = None


class ImageUrl(msgspec.Struct, gc=False):
    """Address of an image, which is often its data too (`data:`)."""

    url: str | None = None


class Image(msgspec.Struct, gc=False):
    """An image of the answer; https://openrouter.ai/docs/features/multimodal/image-generation (read 2026-11-30)."""

    image_url: ImageUrl | None = None


class Delta(msgspec.Struct, gc=False):
    """Addition of one event to the answer; a whole answer's `message` has the same fields."""

    content: str | list[Part] | None = None
    tool_calls: list[ToolCall | None] | None = None
    reasoning_content: object = None
    reasoning: object = None
    reasoning_text: object = None
    reasoning_details: object = None
    refusal: str | None = None
    function_call: Function | None = None
    images: list[Image | None] | None = None
    thinking_blocks: object = None
    reasoning_opaque: object = None
    extra_content: object = None
    provider_specific_fields: object = None


class Choice(msgspec.Struct, gc=False):
    """One of the answers asked for; only number 0 is read (W8). `stop_reason`, `matched_stop`: local servers'."""

    index: int | None = None
    delta: Delta | None = None
    finish_reason: str | None = None
    message: object = None
    usage: Usage | None = None
    error: object = None
    stop_reason: object = None
    matched_stop: object = None


class XGroq(msgspec.Struct, gc=False):
    """Groq's own part of an event."""

    usage: Usage | None = None
    error: object = None


class BaseResponse(msgspec.Struct, gc=False):
    """MiniMax's outcome inside a 200; `status_code` 0 is success."""

    status_code: int | None = None


class Event(msgspec.Struct, gc=False):
    """One event of a stream, or a whole answer."""

    choices: list[Choice | None] | None = None
    usage: Usage | None = None
    error: object = None
    x_groq: XGroq | None = None
    base_resp: BaseResponse | None = None
    finish_reason: str | None = None


class FirstEvent(Event, gc=False):
    """An event from which the answer's id and model are still wanted."""

    id: Identifier = None
    model: str | None = None


class Message(msgspec.Struct, gc=False):
    """A choice whose message is wanted: in a whole answer, or where no delta ever came (W8)."""

    index: int | None = None
    message: Delta | None = None


class WholeAnswer(msgspec.Struct, gc=False):
    """The messages of an answer."""

    choices: list[Message | None] | None = None


class Fault(msgspec.Struct, gc=False):
    """Places where an event without choices, usage and `error` still tells a failure.

    `{"object":"error","message":…}`: Mistral, SGLang, old vLLM. `{"error_type":…,"error_message":…}`: seen in a
    stream. `{"success":false,"errors":[…]}`: Cloudflare.
    """

    kind: object = msgspec.field(default=None, name="object")
    error_type: object = None
    error_message: object = None
    errors: object = None


class ReplayEntry(msgspec.Struct):
    """The state of one block: where its reasoning came, a text's references, a call's kind and what came with it."""

    field: str | None = None
    type: str | None = None
    signature: str | None = None
    references: tuple[tuple[int, tuple[str | int, ...]], ...] = ()
    extra_content: Mapping[str, object] | None = None
    provider_specific_fields: Mapping[str, object] | None = None


class ReplayState(msgspec.Struct):
    """The replay state of one assistant turn on this wire."""

    blocks: tuple[ReplayEntry | None, ...]
    reasoning_details: tuple[object, ...] | None = None
    turn: Mapping[str, object] | None = None
