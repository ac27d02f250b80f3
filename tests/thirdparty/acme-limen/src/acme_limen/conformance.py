"""Acme's wire for limen's kit: its side of the mock provider, a description, and a factory to judge.

limen check acme_limen.conformance:make --wire acme_limen.conformance:WIRE
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final

from acme_limen import AcmeAdapter, AcmeOptions
from limen.testing.conformance import Endpoint, WireDescription
from limen.testing.server import (
    Kind,
    Part,
    ProviderError,
    Raw,
    Reasoning,
    ReceivedRequest,
    Refusal,
    RequestFacts,
    RequestKind,
    Send,
    Text,
    ToolCall,
    Turn,
    Usage,
    compact,
    pieces,
)

_ENDS: Final = {
    "stop": "done",
    "tool-calls": "calls",
    "max-tokens": "limit",
    "stop-sequence": "stopword",
    "refusal": "refused",
}


class AcmeMock:
    """Acme's lines as the mock provider serves them, written from Acme's page and not from the adapter."""

    name = "acme-lines"
    base_path = "/v3"
    path = "/generate"
    stream_type = "application/x-ndjson"

    def recognizes(self, request: ReceivedRequest) -> RequestKind | None:
        """Tell a model call; Acme has no list of models."""
        return "call" if request.method == "POST" and request.path.endswith(self.path) else None

    def read_request(self, request: ReceivedRequest) -> RequestFacts:
        """Read the model and how many turns of it the history holds; Acme always streams."""
        body = request.json
        turns = body.get("turns")
        said = (
            [turn for turn in turns if isinstance(turn, dict) and turn.get("who") == "model"]
            if isinstance(turns, list)
            else []
        )
        return RequestFacts(str(body.get("model", "")), stream=True, assistant_messages=len(said), include_usage=True)

    def events(self, turn: Turn, facts: RequestFacts) -> Sequence[Send]:
        """Return a greeting, the fragments, the end word, the count and the goodbye."""
        sends = [_line("open", hello=turn.model or facts.model)]
        sends += [
            Send("noise", part.data.encode()) if isinstance(part, Raw) else _line("content", **part)
            for part in _fragments(turn)
        ]
        if turn.usage is not None and turn.usage_at == "repeated":
            sends.append(_line("usage", count={"out": 1}))
        attached = {"count": _count(turn.usage)} if turn.usage is not None and turn.usage_at != "trailing" else {}
        sends.append(_line("finish", end=_ENDS.get(turn.finish_kind, turn.finish_kind), **_why(turn), **attached))
        if turn.usage is not None and not attached:
            sends.append(_line("usage", count=_count(turn.usage)))
        return [*sends, _line("end", bye=True)]

    def whole(self, turn: Turn, facts: RequestFacts) -> bytes:
        """Return the same lines in one object."""
        lines = [send.data.decode().strip() for send in self.events(turn, facts)]
        return ('{"whole":[' + ",".join(lines) + "]}").encode()

    def models(self, names: Sequence[str]) -> bytes:
        """Return an empty object: Acme has no list of models."""
        return b"{}"

    def error_body(self, error: ProviderError) -> bytes:
        """Return an object with an error."""
        return compact({"error": {"message": error.message, "type": error.type, "code": error.code}}).encode()

    def error_event(self, error: ProviderError) -> Send:
        """Return the same as a line."""
        return Send("error", self.error_body(error) + b"\n")

    def keep_alive(self) -> bytes:
        """Return a blank line."""
        return b"\n"

    def broken(self, shape: str) -> Send:
        """Return half an object, a number where text belongs, or a line that nobody documented."""
        lines = {"malformed": '{"say":"Hel', "wrong-shape": '{"say":7}', "unknown": '{"weather":"fair"}'}
        return Send("noise", f"{lines[shape]}\n".encode())

    def more_text(self, text: str, index: int) -> Sequence[Send]:
        """Return one more fragment."""
        return (_line("content", say=text),)

    def padded(self, size: int) -> Send:
        """Return a line with a long field that nobody documented."""
        return _line("noise", padding="x" * size)


def _line(kind: Kind, **fields: object) -> Send:
    return Send(kind, f"{compact(fields)}\n".encode())


def _why(turn: Turn) -> dict[str, object]:
    words = "".join("".join(pieces(part.text)) for part in turn.parts if isinstance(part, Refusal))
    return {"why": words} if words else {}


def _count(usage: Usage) -> Mapping[str, object]:
    told = {
        "in": usage.input,
        "out": usage.output,
        "cached": usage.cache_read,
        "stored": usage.cache_write,
        "thought": usage.reasoning,
    }
    return {name: value for name, value in told.items() if value is not None}


def _fragments(turn: Turn) -> Iterator[dict[str, object] | Raw]:
    lists: list[list[dict[str, object] | Raw]] = []
    calls = 0
    for part in turn.parts:
        lists.append(list(_part(part, calls)))
        calls += isinstance(part, ToolCall)
    rows = zip_longest(*lists) if turn.interleave else lists
    for row in rows:
        yield from (fragment for fragment in row if fragment is not None)


def _part(part: Part, call: int) -> Iterator[dict[str, object] | Raw]:
    match part:
        case Text():
            for piece in pieces(part.text):
                yield {"say": piece}
        case Reasoning():
            for piece in pieces(part.text):
                yield {"think": piece}
            yield {"seal": part.redacted or part.signature}
        case ToolCall():
            yield {"call": call, "id": part.id, "name": part.name}
            for piece in pieces(part.arguments):
                yield {"call": call, "args": piece}
        case Raw():
            yield part
        case Refusal():
            return


WIRE: Final = WireDescription(mock=AcmeMock(), sse=False)


def make(endpoint: Endpoint) -> AcmeAdapter:
    """Make the adapter that is judged."""
    return AcmeAdapter(
        AcmeOptions(
            base_url=endpoint.base_url, api_key=endpoint.api_key, timeouts=endpoint.timeouts, limits=endpoint.limits
        )
    )
