"""Vocabulary of requests and answers, and the rules that bind them; no I/O, msgspec the only third party.

Values are immutable, hashable and have one JSON form (`encode`, `decode_*`). `_grammar` decides which chunk may
follow which; `_assembler` turns chunks into a `Response`; `_ports` are the interfaces of adapters, interceptors,
wires and taps.
"""

from typing import TYPE_CHECKING

from limen.contract import _codes as codes
from limen.contract._abort import AbortController, AbortError, AbortSignal
from limen.contract._blocks import (
    BlockType,
    ContentBlock,
    FileBlock,
    ImageBlock,
    ReasoningBlock,
    StreamBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from limen.contract._chunks import (
    BlockEnd,
    BlockStart,
    Finish,
    ReasoningDelta,
    StreamChunk,
    TextDelta,
    ToolCallDelta,
    UsageChunk,
)
from limen.contract._codes import CODES, Code, ErrorCode, Phase, http_code
from limen.contract._controls import visible
from limen.contract._errors import ForeignError, LlmError, foreign_text, safe_cause
from limen.contract._failure import ErrorMatch, Failure, failure_fault
from limen.contract._finish import MAX_TOKENS, STOP, TOOL_CALLS, FinishKind, FinishReason
from limen.contract._json import (
    MAX_DEPTH,
    FrozenDict,
    JsonObject,
    TooDeep,
    dumps,
    freeze,
    freeze_object,
    json_fault,
    loads,
    replace_surrogates,
)
from limen.contract._limits import Limits, Timeouts
from limen.contract._messages import Message, ModelSource, Role, assistant, system, tool_result, user
from limen.contract._models import Effort, Modality, ModelInfo, ProviderInfo
from limen.contract._options import CacheHint, GenerateOptions
from limen.contract._redact import MASK, looks_secret, names_secret, remember_header, remember_secret, scrub
from limen.contract._response import CallInfo, RateLimit, RateLimits, ReplayDrop, Response
from limen.contract._tools import JsonSchema, ResponseFormat, ToolChoice, ToolChoiceOption, ToolSpec
from limen.contract._usage import TokenUsage

if TYPE_CHECKING:
    from limen.contract._address import address_fault, is_loopback, is_plain_and_far
    from limen.contract._assembler import Arrived, Assembler, assemble
    from limen.contract._credentials import (
        CredentialSource,
        Secret,
        StaticCredential,
        ValueSource,
        clean_header,
        clean_key,
    )
    from limen.contract._encoding import (
        decode,
        decode_chunk,
        decode_message,
        decode_options,
        decode_response,
        encode,
    )
    from limen.contract._grammar import ChunkGrammar, GrammarError
    from limen.contract._history import check_history, check_request, checked
    from limen.contract._ports import (
        WIRE_TAP,
        Abandonable,
        AdapterCall,
        BatchSource,
        CallFacts,
        IdSeed,
        Interceptor,
        LlmAdapter,
        Next,
        ReportsCall,
        Wire,
        WireReader,
        WireRequest,
        WireTap,
        unknown_dialect,
    )
    from limen.contract._replay import aligned, replay_fault
    from limen.contract._retry_policy import MAX_DELAY_MS, RETRYABLE, RetryPolicy
    from limen.contract._schemas import SchemaFault, TypeSchema, annotated_text, enum_type, record_type, type_name
    from limen.contract._short_calls import CallOptions, Prompt, call_options, split_target

__all__ = [
    "CODES",
    "MASK",
    "MAX_DELAY_MS",
    "MAX_DEPTH",
    "MAX_TOKENS",
    "RETRYABLE",
    "STOP",
    "TOOL_CALLS",
    "WIRE_TAP",
    "Abandonable",
    "AbortController",
    "AbortError",
    "AbortSignal",
    "AdapterCall",
    "Arrived",
    "Assembler",
    "BatchSource",
    "BlockEnd",
    "BlockStart",
    "BlockType",
    "CacheHint",
    "CallFacts",
    "CallInfo",
    "CallOptions",
    "ChunkGrammar",
    "Code",
    "ContentBlock",
    "CredentialSource",
    "Effort",
    "ErrorCode",
    "ErrorMatch",
    "Failure",
    "FileBlock",
    "Finish",
    "FinishKind",
    "FinishReason",
    "ForeignError",
    "FrozenDict",
    "GenerateOptions",
    "GrammarError",
    "IdSeed",
    "ImageBlock",
    "Interceptor",
    "JsonObject",
    "JsonSchema",
    "Limits",
    "LlmAdapter",
    "LlmError",
    "Message",
    "Modality",
    "ModelInfo",
    "ModelSource",
    "Next",
    "Phase",
    "Prompt",
    "ProviderInfo",
    "RateLimit",
    "RateLimits",
    "ReasoningBlock",
    "ReasoningDelta",
    "ReplayDrop",
    "ReportsCall",
    "Response",
    "ResponseFormat",
    "RetryPolicy",
    "Role",
    "SchemaFault",
    "Secret",
    "StaticCredential",
    "StreamBlock",
    "StreamChunk",
    "TextBlock",
    "TextDelta",
    "Timeouts",
    "TokenUsage",
    "TooDeep",
    "ToolCallBlock",
    "ToolCallDelta",
    "ToolChoice",
    "ToolChoiceOption",
    "ToolResultBlock",
    "ToolSpec",
    "TypeSchema",
    "UsageChunk",
    "ValueSource",
    "Wire",
    "WireReader",
    "WireRequest",
    "WireTap",
    "address_fault",
    "aligned",
    "annotated_text",
    "assemble",
    "assistant",
    "call_options",
    "check_history",
    "check_request",
    "checked",
    "clean_header",
    "clean_key",
    "codes",
    "decode",
    "decode_chunk",
    "decode_message",
    "decode_options",
    "decode_response",
    "dumps",
    "encode",
    "enum_type",
    "failure_fault",
    "foreign_text",
    "freeze",
    "freeze_object",
    "http_code",
    "is_loopback",
    "is_plain_and_far",
    "json_fault",
    "loads",
    "looks_secret",
    "names_secret",
    "record_type",
    "remember_header",
    "remember_secret",
    "replace_surrogates",
    "replay_fault",
    "safe_cause",
    "scrub",
    "split_target",
    "system",
    "tool_result",
    "type_name",
    "unknown_dialect",
    "user",
    "visible",
]

# Names that a process needs only once it makes a call: their modules load when one of them is first named, so that
# `import limen` stays light.
_HOMES = {
    "_address": (
        "address_fault",
        "is_loopback",
        "is_plain_and_far",
    ),
    "_assembler": (
        "Arrived",
        "Assembler",
        "assemble",
    ),
    "_credentials": (
        "CredentialSource",
        "Secret",
        "StaticCredential",
        "ValueSource",
        "clean_header",
        "clean_key",
    ),
    "_encoding": (
        "decode",
        "decode_chunk",
        "decode_message",
        "decode_options",
        "decode_response",
        "encode",
    ),
    "_grammar": (
        "ChunkGrammar",
        "GrammarError",
    ),
    "_history": (
        "check_history",
        "check_request",
        "checked",
    ),
    "_ports": (
        "Abandonable",
        "AdapterCall",
        "BatchSource",
        "CallFacts",
        "IdSeed",
        "Interceptor",
        "LlmAdapter",
        "Next",
        "ReportsCall",
        "WIRE_TAP",
        "Wire",
        "WireReader",
        "WireRequest",
        "WireTap",
        "unknown_dialect",
    ),
    "_replay": (
        "aligned",
        "replay_fault",
    ),
    "_retry_policy": (
        "MAX_DELAY_MS",
        "RETRYABLE",
        "RetryPolicy",
    ),
    "_schemas": (
        "SchemaFault",
        "TypeSchema",
        "annotated_text",
        "enum_type",
        "record_type",
        "type_name",
    ),
    "_short_calls": (
        "CallOptions",
        "Prompt",
        "call_options",
        "split_target",
    ),
}
_LAZY = {name: module for module, names in _HOMES.items() for name in names}

if not TYPE_CHECKING:  # pragma: no branch - a checker alone takes the other way
    # A checker reads the imports above; a `__getattr__` that it could see would hide misspelt names from it.

    def __getattr__(name: str) -> object:
        import importlib

        if name not in _LAZY:
            raise AttributeError(f"module 'limen.contract' has no attribute {name!r}")
        found = getattr(importlib.import_module(f"limen.contract.{_LAZY[name]}"), name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
