"""What a wire must be able to say for the mock provider to speak it."""

import json
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from limen.testing.server._answer import Ask, ProviderError, Send
from limen.testing.server._script import Turn


class Speaker(Protocol):
    """One wire, written from its provider's documentation and from nothing of limen's own.

    An adapter's author who has a wire of their own writes one of these and hands it to `MockProvider` and the kit.
    """

    @property
    def name(self) -> str:
        """The wire's name, such as `openai-chat`."""
        ...

    @property
    def base_path(self) -> str:
        """What stands before `path` in the URL that clients are given, such as `/v1`."""
        ...

    @property
    def path(self) -> str:
        """The end of the path of a model call, such as `/chat/completions`."""
        ...

    @property
    def stream_type(self) -> str:
        """The content type of a stream."""
        ...

    def ask(self, body: Mapping[str, object]) -> Ask:
        """Read what is asked for."""
        ...

    def events(self, turn: Turn, ask: Ask) -> Sequence[Send]:
        """Return the answer as stream events, each one complete with its line ends."""
        ...

    def whole(self, turn: Turn, ask: Ask) -> bytes:
        """Return the answer as one body, for a request that asked for no stream."""
        ...

    def error_body(self, error: ProviderError) -> bytes:
        """Return the body of a failed answer."""
        ...

    def error_event(self, error: ProviderError) -> Send:
        """Return an error inside a stream."""
        ...

    def keep_alive(self) -> bytes:
        """Return what this wire sends to keep a silent connection open."""
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


def ask_of(body: Mapping[str, object]) -> Ask:
    """Read the fields that chat wires have in common: `model`, `stream`, `messages`, `stream_options`."""
    messages = body.get("messages")
    count = sum(1 for item in items_of(messages) if field_of(item, "role") == "assistant")
    model = body.get("model")
    return Ask(
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
