"""DeepSeek's own API, on the adapter of chat completions."""

from typing import Final

from limen.adapters._codec import Codec, WireOptions
from limen.adapters._http_adapter import WireAdapter
from limen.adapters.openai_chat import WIRE

DIALECTS: Final = ("deepseek", "deepseek-beta")


class DeepSeekOptions(WireOptions, frozen=True, kw_only=True):
    """Options of `DeepSeekAdapter`; all have defaults, and `api_key` is what a real call needs.

    `dialect` is `deepseek`, or `deepseek-beta` for the address that takes strict tools.
    """


class DeepSeekAdapter(WireAdapter):
    """DeepSeek's chat completions (https://api-docs.deepseek.com, read 2026-10).

    Mapped:

    - `system`, system, user, assistant and tool messages; text blocks of a message join into one string.
    - `tools`, `tool_choice`, `temperature`, `top_p`, `max_tokens`, `stop` (at most 16).
    - `response_format` text and json.
    - `reasoning_effort`: `off` is `thinking: disabled`; `low`, `high`, `max` are `thinking: enabled` with that effort;
      unset sends nothing, and the model's own default holds. While it thinks, DeepSeek takes `temperature` without
      effect.
    - Reasoning of earlier turns as `reasoning_content`; where tools are in play every assistant turn has it, empty
      where there was none, because the API refuses the request otherwise. It is the block's own text, so replay state
      only says which field it came under.
    - Tool calls with their ids and raw arguments; results as `tool` messages, an error result marked by `Error: `.
    - Images as data URLs in user messages, for models whose facts say `input_modalities: image`; images of tool
      results in a user message after the results.
    - `extra["openai-chat"]`, merged last; `cache="none"`, which holds anyhow: caching is automatic.

    Refused before any I/O:

    - `seed`, `parallel_tool_calls`, JSON schemas, `cache` short and long: the API has no such parameter.
    - `strict` tools, except with the dialect `deepseek-beta`, where all tools are strict or none.
    - A forced tool (`required` or by name) together with an effort: thinking does not support it.
    - Images by address, images in system, assistant messages, and for models that are not known to take them.

    Ignored: `session_id` and `purpose`, which are hints. Left out of the answer: log-probabilities, fingerprints.
    An unknown kind of event is an event without choices, and passes.
    """

    def __init__(self, options: DeepSeekOptions | None = None) -> None:
        made = DeepSeekOptions() if options is None else options
        super().__init__(made, codec_of(made))


def codec_of(options: WireOptions) -> Codec:
    """Return the row that options name, `deepseek` unless they name another of DeepSeek's."""
    return WIRE.codec_at(options, among=DIALECTS)
