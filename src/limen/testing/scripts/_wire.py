"""One wire as the mock provider serves it: the protocol that each wire implements, and helpers to read requests."""

import json
from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from limen.testing.scripts._answer import ProviderError, RequestFacts, Send
from limen.testing.scripts._script import Turn

RequestKind: TypeAlias = Literal["call", "models"]


class ReceivedRequest(Protocol):
    """A request as it arrived: method, path without its query, JSON body, headers."""

    @property
    def method(self) -> str:
        """The HTTP method in capitals."""
        ...

    @property
    def path(self) -> str:
        """The path without its query."""
        ...

    @property
    def json(self) -> Mapping[str, object]:
        """The body as a JSON object; empty if it is none."""
        ...

    def header(self, name: str) -> str | None:
        """Return the first header of that name, in any case."""
        ...


class MockWire(Protocol):
    """One wire on the provider's side: reads requests, writes answers.

    It is written from the provider's documentation and shares no code with the adapter that it is used to test, so
    that one misreading does not confirm the other. A wire that has an encoder in `limen.views` stands on it.
    """

    @property
    def name(self) -> str:
        """The wire's name, such as `openai-chat`."""
        ...

    @property
    def base_path(self) -> str:
        """The path that stands before `path` in the URL that clients are given, such as `/v1`."""
        ...

    @property
    def path(self) -> str:
        """The end of the path of a model call, such as `/chat/completions`, as it is shown to people."""
        ...

    @property
    def stream_type(self) -> str:
        """The content type of a stream."""
        ...

    def recognizes(self, request: ReceivedRequest) -> RequestKind | None:
        """Tell a model call and a request for the list of models from all others, by method, path and headers."""
        ...

    def read_request(self, request: ReceivedRequest) -> RequestFacts:
        """Read the facts of a model call; a wire may have them in its path or in its body."""
        ...

    def events(self, turn: Turn, facts: RequestFacts) -> Sequence[Send]:
        """Return the answer as stream events, each one complete with its line ends."""
        ...

    def whole(self, turn: Turn, facts: RequestFacts) -> bytes:
        """Return the answer as one body, for a request that asked for no stream."""
        ...

    def models(self, names: Sequence[str]) -> bytes:
        """Return the list of models as the wire writes it."""
        ...

    def error_body(self, error: ProviderError) -> bytes:
        """Return the body of a failed answer."""
        ...

    def error_event(self, error: ProviderError) -> Send:
        """Return an error inside a stream."""
        ...

    def keep_alive(self) -> bytes:
        """Return bytes that keep a silent connection open."""
        ...

    def broken(self, shape: str) -> Send:
        """Return an event that is `malformed` (no JSON), `wrong-shape` or `unknown` (a type nobody documented)."""
        ...

    def more_text(self, text: str, index: int) -> Sequence[Send]:
        """Return events that add visible text in block `index`, out of turn."""
        ...

    def padded(self, size: int) -> Send:
        """Return a harmless event of at least `size` bytes."""
        ...


def compact(value: object) -> str:
    """Return JSON as providers write it: no spaces, text as itself; half a surrogate pair can only be escaped."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if text.isprintable() or not any("\ud800" <= letter <= "\udfff" for letter in text):
        return text
    return json.dumps(value, separators=(",", ":"))


def request_facts(body: Mapping[str, object]) -> RequestFacts:
    """Read the fields that chat wires have in common: `model`, `stream`, `messages`, `stream_options`."""
    messages = body.get("messages")
    count = sum(1 for item in items_of(messages) if field_of(item, "role") == "assistant")
    model = body.get("model")
    return RequestFacts(
        model=model if isinstance(model, str) else "",
        stream=body.get("stream") is True,
        assistant_messages=count,
        include_usage=field_of(body.get("stream_options"), "include_usage") is True,
    )


def items_of(value: object) -> Sequence[object]:
    """Return the items of a JSON array; none of anything else."""
    return msgspec.convert(value, list[object]) if isinstance(value, list) else ()


def field_of(value: object, name: str) -> object:
    """Return a field of a JSON object; `None` of anything else."""
    return msgspec.convert(value, dict[str, object]).get(name) if isinstance(value, dict) else None
