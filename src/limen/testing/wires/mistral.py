"""The wire `mistral` for the kit: the mock provider's side and the oddities of its host.

Source of the request's fields: https://docs.mistral.ai/api, read 2026-11.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from limen.testing.scripts import Raw, ReceivedRequest, RequestFacts, RequestKind, Send, Text, Turn, compact
from limen.testing.wires._description import Oddity, WireDescription
from limen.testing.wires.openai_chat import WIRE as CHAT
from limen.testing.wires.openai_chat import OpenAIChatMock


class MistralMock(OpenAIChatMock):
    """Mistral's chat completions as the mock provider serves them: usage stands in the finish chunk, unasked.

    It has a path of its own, since other hosts of chat completions are asked at the same one.
    """

    name = encodes = "mistral"
    base_path = "/mistral/v1"
    path = "/v1/chat/completions"

    def __init__(self) -> None:
        super().__init__(counts_unasked=True)

    def recognizes(self, request: ReceivedRequest) -> RequestKind | None:
        """Tell `POST …/mistral/v1/chat/completions` and `GET …/mistral/v1/models`."""
        if request.method == "POST" and request.path.endswith(f"/mistral{self.path}"):
            return "call"
        return "models" if request.method == "GET" and request.path.endswith(f"{self.base_path}/models") else None

    def events(self, turn: Turn, facts: RequestFacts) -> Sequence[Send]:
        """Return the role chunk, the fragments, the finish chunk with the usage, and `[DONE]`."""
        attached = turn.usage_at if turn.usage_at != "trailing" else "attached"
        return super().events(msgspec.structs.replace(turn, usage_at=attached), facts)

    def models(self, names: Sequence[str]) -> bytes:
        """Return `{"object": "list", "data": […]}` with what a model can do."""
        data = [
            {"id": name, "object": "model", "max_context_length": 131072, "capabilities": {"vision": True}}
            for name in names
        ]
        return compact({"object": "list", "data": data}).encode()


def _delta(delta: Mapping[str, object]) -> Raw:
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    return Raw(f"data: {json.dumps({'id': 'x', 'choices': [choice]})}\n\n")


_ODDITIES: Final[Sequence[Oddity]] = (
    *CHAT.oddities,
    Oddity(
        "W3",
        "content as parts, and as a string after them",
        Turn(
            (
                _delta({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}),
                _delta({"content": [{"type": "text", "text": "a"}, {"type": "reference", "reference_ids": [1]}]}),
                Text(["b"]),
            ),
            finish="stop",
        ),
        text="ab",
    ),
)


WIRE: Final = WireDescription(mock=MistralMock(), oddities=_ODDITIES)
