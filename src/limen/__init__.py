"""The threshold between LLM providers and your code: what leaves it is proved.

The vocabulary is loaded with the package. What needs an event loop or a connection (`LlmRuntime`, `open_runtime`,
`Retry` …) and every submodule (`limen.sync`, `limen.fixture`, `limen.adapters`, `limen.testing` …) loads when it is
first named, so `import limen` loads neither asyncio, httptools, tomllib nor typer.
"""

from typing import TYPE_CHECKING

from limen._version import __version__
from limen.contract import (
    AbortController,
    AbortError,
    AbortSignal,
    BlockEnd,
    BlockStart,
    CallInfo,
    ContentBlock,
    Effort,
    ErrorCode,
    Failure,
    FileBlock,
    Finish,
    FinishReason,
    GenerateOptions,
    ImageBlock,
    JsonSchema,
    Limits,
    LlmError,
    Message,
    ModelInfo,
    ModelSource,
    ProviderInfo,
    ReasoningBlock,
    ReasoningDelta,
    ReplayDrop,
    Response,
    StreamChunk,
    TextBlock,
    TextDelta,
    Timeouts,
    TokenUsage,
    ToolCallBlock,
    ToolCallDelta,
    ToolChoice,
    ToolResultBlock,
    ToolSpec,
    UsageChunk,
    assistant,
    system,
    tool_result,
    user,
)

if TYPE_CHECKING:
    from limen import adapters as adapters
    from limen import batch as batch
    from limen import config as config
    from limen import contract as contract
    from limen import fixture as fixture
    from limen import pricing as pricing
    from limen import recording as recording
    from limen import runtime as runtime
    from limen import sync as sync
    from limen import testing as testing
    from limen import tools as tools
    from limen import transport as transport
    from limen import views as views
    from limen._compose import build_request, classify_error, iter_chunks, open_runtime, wires
    from limen.contract import (
        CredentialSource,
        LlmAdapter,
        RetryPolicy,
        decode,
        decode_chunk,
        decode_message,
        decode_options,
        decode_response,
        encode,
    )
    from limen.runtime import Fallback, LlmRuntime, ModelStream, Retry, repair_history
    from limen.transport import TransportOptions
    from limen.views import messages_from_openai, messages_to_openai

__all__ = [
    "AbortController",
    "AbortError",
    "AbortSignal",
    "BlockEnd",
    "BlockStart",
    "CallInfo",
    "ContentBlock",
    "CredentialSource",
    "Effort",
    "ErrorCode",
    "Failure",
    "Fallback",
    "FileBlock",
    "Finish",
    "FinishReason",
    "GenerateOptions",
    "ImageBlock",
    "JsonSchema",
    "Limits",
    "LlmAdapter",
    "LlmError",
    "LlmRuntime",
    "Message",
    "ModelInfo",
    "ModelSource",
    "ModelStream",
    "ProviderInfo",
    "ReasoningBlock",
    "ReasoningDelta",
    "ReplayDrop",
    "Response",
    "Retry",
    "RetryPolicy",
    "StreamChunk",
    "TextBlock",
    "TextDelta",
    "Timeouts",
    "TokenUsage",
    "ToolCallBlock",
    "ToolCallDelta",
    "ToolChoice",
    "ToolResultBlock",
    "ToolSpec",
    "TransportOptions",
    "UsageChunk",
    "__version__",
    "assistant",
    "build_request",
    "classify_error",
    "decode",
    "decode_chunk",
    "decode_message",
    "decode_options",
    "decode_response",
    "encode",
    "iter_chunks",
    "messages_from_openai",
    "messages_to_openai",
    "open_runtime",
    "repair_history",
    "system",
    "tool_result",
    "user",
    "wires",
]

_LAZY_NAMES = {
    "CredentialSource": "limen.contract",
    "LlmAdapter": "limen.contract",
    "RetryPolicy": "limen.contract",
    "decode": "limen.contract",
    "decode_chunk": "limen.contract",
    "decode_message": "limen.contract",
    "decode_options": "limen.contract",
    "decode_response": "limen.contract",
    "encode": "limen.contract",
    "Fallback": "limen.runtime",
    "LlmRuntime": "limen.runtime",
    "ModelStream": "limen.runtime",
    "Retry": "limen.runtime",
    "TransportOptions": "limen.transport",
    "build_request": "limen._compose",
    "classify_error": "limen._compose",
    "iter_chunks": "limen._compose",
    "messages_from_openai": "limen.views",
    "messages_to_openai": "limen.views",
    "open_runtime": "limen._compose",
    "repair_history": "limen.runtime",
    "wires": "limen._compose",
}
_SUBMODULES = (
    "adapters",
    "batch",
    "config",
    "contract",
    "fixture",
    "pricing",
    "recording",
    "runtime",
    "sync",
    "testing",
    "tools",
    "transport",
    "views",
)

if not TYPE_CHECKING:

    def _public(found: object) -> object:
        """Let a class or function of limen name `limen` as its module, which is where it is imported from (E3).

        A log then reads `limen.LlmError` and not `limen.contract._errors.LlmError`; pickles name it so, too.
        """
        if getattr(found, "__module__", "").startswith("limen."):
            found.__module__ = "limen"
        return found

    for _name in __all__:
        # Unions such as `StreamChunk` have another module, or none, and the lazy names are not here yet.
        _public(globals().get(_name))

    # A checker reads the imports above; a `__getattr__` that it could see would hide misspelt names from it.

    def __getattr__(name: str) -> object:
        import importlib

        if name in _SUBMODULES:
            return importlib.import_module(f"limen.{name}")
        if name not in _LAZY_NAMES:
            raise AttributeError(f"module 'limen' has no attribute {name!r}")
        found = _public(getattr(importlib.import_module(_LAZY_NAMES[name]), name))
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__, *_SUBMODULES})
