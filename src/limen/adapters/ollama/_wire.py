"""Types of Ollama's native chat, as far as they are read.

Sources, read 2026-12-01: https://docs.ollama.com/api/chat, `…/api/tags`, `…/api-reference/show-model-details`,
`…/capabilities/thinking`, and the server's `api/types.go` (https://github.com/ollama/ollama, 2026-08-21).

    {"model":"qwen3","created_at":"…","message":{"role":"assistant","content":"","thinking":"Let"},"done":false}
    {"model":"qwen3","created_at":"…","message":{"role":"assistant","content":"","tool_calls":[
        {"id":"call_ab12cd34","function":{"index":0,"name":"get_weather","arguments":{"city":"Tokyo"}}}]},"done":false}
    {"model":"qwen3","created_at":"…","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop",
        "total_duration":182242375,"prompt_eval_count":169,"eval_count":15,"eval_duration":115959084}

(each on one line). Null, absent and empty are one thing for every optional field (W2). Fields beside the answer are
`object`: a type that nobody documented costs them and nothing else (C15).
"""

from typing import Final

import msgspec

WIRE: Final = "ollama-chat"

NOTHING: Final = msgspec.Raw(b"")


class WireMessage(msgspec.Struct, frozen=True, gc=False):
    """A piece of the answer, or all of it; `tool_calls` are read by `WireCalls`, which keeps the arguments' bytes."""

    content: str | None = None
    thinking: str | None = None
    tool_calls: object = None


class WireLine(msgspec.Struct, frozen=True, gc=False):
    """One line of a stream; a whole answer is the same object, once, with `done`."""

    message: WireMessage | None = None
    done: bool | None = None
    done_reason: str | None = None
    error: object = None
    prompt_eval_count: object = None
    eval_count: object = None


class WireModelName(msgspec.Struct, frozen=True, gc=False):
    """The model that answers, which every line names and the first one that is read tells."""

    model: str | None = None


class WireFunction(msgspec.Struct, frozen=True, gc=False):
    """The function of a call; `index` is not read, because older servers give every call the same."""

    name: str | None = None
    arguments: msgspec.Raw = NOTHING


class WireCall(msgspec.Struct, frozen=True, gc=False):
    """One whole call; servers before 2025-10 send no id."""

    id: str | int | None = None
    function: WireFunction | None = None


class WireCallsMessage(msgspec.Struct, frozen=True, gc=False):
    """The calls of a message."""

    tool_calls: list[WireCall | None] | None = None


class WireCalls(msgspec.Struct, frozen=True, gc=False):
    """A line as far as its calls go."""

    message: WireCallsMessage | None = None


class WireDetails(msgspec.Struct, frozen=True):
    """Facts of a model beside its name in the list of models."""

    context_length: object = None


class WireModel(msgspec.Struct, frozen=True):
    """One model of `GET /api/tags`; older servers send `name` alone, and no capabilities."""

    model: str | None = None
    name: str | None = None
    details: WireDetails | None = None
    capabilities: list[str] | None = None


class WireModels(msgspec.Struct, frozen=True):
    """`GET /api/tags`; a server without models sends null."""

    models: list[WireModel] | None


class WireShown(msgspec.Struct, frozen=True):
    """`POST /api/show`: `parameters` is text of a Modelfile, such as `num_ctx    8192`."""

    model_info: dict[str, object] | None = None
    parameters: str | None = None
    capabilities: list[str] | None = None
