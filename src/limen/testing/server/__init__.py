"""A mock provider: a real server on loopback that says what a script says, and misbehaves on command.

Its encoders are written from the providers' documentation and share nothing with limen's own framing, parsing or
serializing, so a mistake there cannot hide behind the same mistake here. Needs `h11`: `pip install limen[mock]`.
"""

from limen.testing.server._answer import (
    ERRORS,
    Answer,
    Ask,
    BrokenFraming,
    Chatter,
    HangUp,
    Kind,
    ProviderError,
    Reset,
    Send,
    Stall,
)
from limen.testing.server._chat import ChatSpeaker
from limen.testing.server._choice import Source, UnknownScenario, model_names, script_of
from limen.testing.server._fault import Fault, Scene
from limen.testing.server._faults import FAULTS, spoil
from limen.testing.server._messages import MessagesSpeaker
from limen.testing.server._occasion import Occasion
from limen.testing.server._provider import SPEAKERS, Listen, MockProvider
from limen.testing.server._recorded import RecordedRequest
from limen.testing.server._scenarios import SCENARIOS
from limen.testing.server._script import (
    Part,
    Pieces,
    Raw,
    Reasoning,
    Refusal,
    Script,
    Text,
    ToolCall,
    Turn,
    Usage,
    decode_script,
    pieces,
)
from limen.testing.server._serve import serve
from limen.testing.server._speaker import Speaker, ask_of, compact
from limen.testing.server._tls import NoCertificate

__all__ = [
    "ERRORS",
    "FAULTS",
    "SCENARIOS",
    "SPEAKERS",
    "Answer",
    "Ask",
    "BrokenFraming",
    "ChatSpeaker",
    "Chatter",
    "Fault",
    "HangUp",
    "Kind",
    "Listen",
    "MessagesSpeaker",
    "MockProvider",
    "NoCertificate",
    "Occasion",
    "Part",
    "Pieces",
    "ProviderError",
    "Raw",
    "Reasoning",
    "RecordedRequest",
    "Refusal",
    "Reset",
    "Scene",
    "Script",
    "Send",
    "Source",
    "Speaker",
    "Stall",
    "Text",
    "ToolCall",
    "Turn",
    "UnknownScenario",
    "Usage",
    "ask_of",
    "compact",
    "decode_script",
    "model_names",
    "pieces",
    "script_of",
    "serve",
    "spoil",
]
