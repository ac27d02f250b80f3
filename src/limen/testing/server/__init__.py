"""A mock provider: a real server on loopback that answers what a script says, and misbehaves on command.

It shares no code with limen's own framing, parsing and serializing, so a mistake there cannot hide behind the same
mistake here: its answers come from the encoders of `limen.views`, written from the providers' documentation. Starting
it needs `h11`: `pip install 'limen[mock]'`.
"""

from limen.testing.scripts import (
    ERRORS,
    Answer,
    BrokenFraming,
    HangUp,
    Kind,
    MockWire,
    Part,
    Pieces,
    ProviderError,
    Raw,
    Reasoning,
    ReceivedRequest,
    Refusal,
    RepeatForever,
    RequestFacts,
    RequestKind,
    Reset,
    Script,
    Send,
    Stall,
    Text,
    ToolCall,
    Turn,
    Usage,
    compact,
    decode_script,
    pieces,
    request_facts,
)
from limen.testing.server._choice import Source, UnknownScenario, model_names, script_of
from limen.testing.server._fault import Fault, FaultContext
from limen.testing.server._faults import FAULTS, apply_faults
from limen.testing.server._provider import Listen, MockProvider
from limen.testing.server._recorded import RecordedRequest
from limen.testing.server._scenarios import SCENARIOS
from limen.testing.server._serve import serve
from limen.testing.server._threadsafe_event import ThreadsafeEvent
from limen.testing.server._tls import NoCertificate

__all__ = [
    "ERRORS",
    "FAULTS",
    "SCENARIOS",
    "Answer",
    "BrokenFraming",
    "Fault",
    "FaultContext",
    "HangUp",
    "Kind",
    "Listen",
    "MockProvider",
    "MockWire",
    "NoCertificate",
    "Part",
    "Pieces",
    "ProviderError",
    "Raw",
    "Reasoning",
    "ReceivedRequest",
    "RecordedRequest",
    "Refusal",
    "RepeatForever",
    "RequestFacts",
    "RequestKind",
    "Reset",
    "Script",
    "Send",
    "Source",
    "Stall",
    "Text",
    "ThreadsafeEvent",
    "ToolCall",
    "Turn",
    "UnknownScenario",
    "Usage",
    "apply_faults",
    "compact",
    "decode_script",
    "model_names",
    "pieces",
    "request_facts",
    "script_of",
    "serve",
]
