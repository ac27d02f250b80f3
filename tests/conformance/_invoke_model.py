"""Claude by InvokeModel as the mock provider serves it: Anthropic's events, each in base64 inside of Amazon's frame."""

from base64 import b64encode
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote

import msgspec

from adapters.bedrock._converse_wire import event
from limen.testing.scripts import ProviderError, ReceivedRequest, RequestFacts, RequestKind, Send, Turn
from limen.testing.wires.anthropic_messages import AnthropicMessagesMock
from limen.testing.wires.bedrock_converse import BedrockConverseMock

_PATH: Final = "/invoke-with-response-stream"


class InvokeModelMock(AnthropicMessagesMock):
    """`POST /model/{id}/invoke-with-response-stream`; errors and the list of models are Bedrock's."""

    stream_type = "application/vnd.amazon.eventstream"

    def __init__(self) -> None:
        super().__init__(path=_PATH)
        self._bedrock = BedrockConverseMock()

    def recognizes(self, request: ReceivedRequest) -> RequestKind | None:
        """Tell the call by its path, and Bedrock's list of models."""
        if request.method == "POST" and request.path.endswith(_PATH):
            return "call"
        return "models" if self._bedrock.recognizes(request) == "models" else None

    def read_request(self, request: ReceivedRequest) -> RequestFacts:
        """Read the model from the path; every such call streams."""
        model = unquote(request.path.removesuffix(_PATH).rpartition("/model/")[2])
        return super().read_request(request)._replace(model=model, stream=True)

    def events(self, turn: Turn, facts: RequestFacts) -> Sequence[Send]:
        """Return the events of the Messages wire in frames."""
        return [framed(send) for send in super().events(turn, facts)]

    def models(self, names: Sequence[str]) -> bytes:
        """Return Bedrock's list."""
        return self._bedrock.models(names)

    def error_body(self, error: ProviderError) -> bytes:
        """Return Bedrock's error body."""
        return self._bedrock.error_body(error)

    def error_event(self, error: ProviderError) -> Send:
        """Return an exception of the stream."""
        return self._bedrock.error_event(error)

    def keep_alive(self) -> bytes:
        """Return a frame of a name that clients pass over."""
        return self._bedrock.keep_alive()

    def broken(self, shape: str) -> Send:
        """Return the broken event of the Messages wire in a frame."""
        return framed(super().broken(shape))

    def more_text(self, text: str, index: int) -> Sequence[Send]:
        """Return a whole text block in frames."""
        return [framed(send) for send in super().more_text(text, index)]

    def padded(self, size: int) -> Send:
        """Return a ping with a long unknown field in a frame."""
        return framed(super().padded(size))


def framed(send: Send) -> Send:
    """Return a server-sent event as one frame; what carries no event stays."""
    head, _, data = send.data.partition(b"data: ")
    if not head.startswith(b"event: "):
        return send
    return msgspec.structs.replace(send, data=event("chunk", bytes=b64encode(data.strip()).decode()))
