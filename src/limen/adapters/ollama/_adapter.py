"""Ollama's native chat: one adapter for servers of one's own and for Ollama's cloud."""

from collections.abc import Mapping
from typing import Final

import msgspec

from limen.adapters._codec import WireOptions
from limen.adapters._http_adapter import WireAdapter
from limen.adapters._spec import CodecWire
from limen.adapters.ollama._codec import OllamaCodec
from limen.adapters.ollama._dialects import ROWS, Dialect
from limen.adapters.ollama._request import RouteDefaults

WIRE: Final = CodecWire(Dialect.wire, {name: OllamaCodec(row) for name, row in ROWS.items()}, default_dialect="ollama")


class OllamaOptions(WireOptions, frozen=True, kw_only=True):
    """Options of `OllamaAdapter`; those of every adapter, and two of this wire.

    - `keep_alive`: how long the server keeps the model loaded after a call: seconds, or a text such as `10m`; 0
      unloads it at once, below zero it stays. The server's own five minutes unless given.
    - `options`: parameters of the model for every call, such as `num_ctx` or `top_k`. What a call sets itself, by its
      own fields or by `extra`, comes before them.
    """

    keep_alive: str | float | None = None
    options: Mapping[str, object] = msgspec.field(default_factory=dict[str, object])


class OllamaAdapter(WireAdapter):
    """Ollama's own chat, `POST /api/chat` (docs/adapters-ollama.md).

    Mapped:

    - `system` and system messages in their place; several texts of one message are joined, images stand beside them.
    - Reasoning of earlier turns as `thinking`, whoever made it; tool calls with their arguments embedded as they are
      (blank ones as `{}`) and their ids; results as `tool` messages with the tool's name, an error marked by `Error: `,
      images of a result in a user message behind it.
    - `tools`; `response_format` as `format` (`json`, or the schema itself); `reasoning_effort` as `think`, `off` as
      `false`; `temperature`, `top_p`, `max_tokens` (`num_predict`), `stop` and `seed` inside `options`.
    - `extra["ollama-chat"]`, merged last: `keep_alive`, `truncate`, `shift`, `logprobs`, further `options`.
    - `thinking` and `content` of an answer as one block each, every tool call as one whole block; a call without an id
      gets a made one. `stop` after calls is a finish for calls, `length` a token limit.
    - An `error` line ends the stream in-band. `"done": true` alone completes it.
    - `list_models`: the models of `/api/tags` that answer chats, each with the window, input and thinking that
      `/api/show` tells; the window of the route's `num_ctx` where it sets one.

    Refused before any I/O (`UNSUPPORTED…`, naming the field):

    - `tool_choice` but `auto`, `parallel_tool_calls`, strict tools, `cache`, a schema that is not to be strict.
    - Efforts outside the model's list, else `off`, `low`, `medium`, `high`, `max`.
    - Image addresses, files, images outside user messages and results, extra of another wire.

    Ignored: `session_id`, `purpose`. Left out of the answer: durations, log-probabilities, `created_at`, the remote
    host of a cloud model, images, unknown fields, lines without a known field. There is no replay state.
    """

    def __init__(self, options: OllamaOptions | None = None) -> None:
        made = OllamaOptions() if options is None else options
        super().__init__(made, codec_of(made))


def codec_of(options: OllamaOptions) -> OllamaCodec:
    """Return the row that options name, with the route's defaults; without a name it is a server of one's own."""
    row = ROWS[WIRE.codec_at(options).dialect]
    return OllamaCodec(row, RouteDefaults(keep_alive=options.keep_alive, options=options.options))
