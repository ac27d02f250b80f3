"""Views: limen's chunks as the events of other protocols, purely.

- `pi.View(provider=, model=, timestamp=)`: the lifecycle events of Pi's assistant messages.
- `ui_messages.View(message_id=)`: the parts of a UI message stream, which web chat components read.
- `encoder(wire, model=, id=)`: the server's side of a wire; fed with chunks, it returns the bytes that a client of
  that wire reads, streamed or whole.
- `messages_from_openai` and `messages_to_openai`: histories in the shape of OpenAI's chat messages.
"""

from limen.views import pi, ui_messages
from limen.views._encoder import EncoderOptions, EventKind, WholeAnswer, WireEncoder, WireError, WireEvent
from limen.views._openai_messages import messages_from_openai, messages_to_openai
from limen.views._registry import ENCODERS, encoder

__all__ = [
    "ENCODERS",
    "EncoderOptions",
    "EventKind",
    "WholeAnswer",
    "WireEncoder",
    "WireError",
    "WireEvent",
    "encoder",
    "messages_from_openai",
    "messages_to_openai",
    "pi",
    "ui_messages",
]
