"""Encoder of the wire `mistral`: chat completions with thinking as a part of the content.

Source: https://docs.mistral.ai/api (2026-11) and traffic of 2026-01 … 2026-08.
"""

from collections.abc import Mapping
from typing import ClassVar, Final

from limen.views._encoder import WireError, WireEvent, compact, sse
from limen.views._openai_chat import OpenAIChatEncoder


class MistralEncoder(OpenAIChatEncoder):
    """Mistral's chat completions: those of `OpenAIChatEncoder`, and

    - reasoning is a `thinking` part of `content`, streamed and whole; in a whole answer with one, so is the text
    - a call's later fragments have an empty name
    - an error is `{"object": "error", message, type, param, code}`
    """

    wire: ClassVar[str] = "mistral"

    def error_body(self, error: WireError) -> bytes:
        """Return `{"object": "error", message, type, param, code}`."""
        return compact(_error(error))

    def error_event(self, error: WireError) -> bytes:
        """Return a `data:` line with the same."""
        return sse(compact(_error(error)))

    def _reasoned(self, text: str) -> WireEvent:
        return self._delta({"content": (_thinking(text),)})

    def _fragment_of(self, arguments: str) -> Mapping[str, object]:
        # Recorded 2026-08; Mistral's own client wants a name in every fragment.
        return {"name": "", "arguments": arguments}

    def _message(self) -> dict[str, object]:
        message = super()._message()
        reasoning = message.pop("reasoning_content", None)
        if isinstance(reasoning, str):
            text = message["content"]
            parts = [_thinking(reasoning), *([{"type": "text", "text": text}] if text else [])]
            message["content"] = parts
        return message


def _thinking(text: str) -> Mapping[str, object]:
    return {"type": "thinking", "thinking": ({"type": "text", "text": text},)}


def _error(error: WireError) -> Mapping[str, object]:
    return {
        "object": "error", "message": error.message, "type": error.type, "param": error.param, "code": error.code,
    }  # fmt: skip


ENCODER: Final = MistralEncoder
