"""Scripts: the answers of a mock provider, in terms that no wire owns; each wire puts them into its own bytes."""

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

Pieces: TypeAlias = str | Sequence[str]
"""Text as it is sent: a string goes word by word, a list piece by piece as it stands."""


def pieces(text: Pieces) -> tuple[str, ...]:
    """Return the fragments in which a text is sent; joined, they are the text."""
    if isinstance(text, str):
        return tuple(re.findall(r"\s*\S+\s*$|\s*\S+|\s+", text))
    return tuple(text)


class Text(msgspec.Struct, frozen=True, tag="text", rename="camel", forbid_unknown_fields=True):
    """Visible text."""

    text: Pieces


class Reasoning(msgspec.Struct, frozen=True, tag="reasoning", rename="camel", forbid_unknown_fields=True):
    """Thinking; a wire that signs it uses `signature`, one that can hide it sends `redacted` in its place."""

    text: Pieces
    signature: str = "c2lnbmF0dXJl"
    redacted: str | None = None


class ToolCall(msgspec.Struct, frozen=True, tag="tool-call", rename="camel", forbid_unknown_fields=True):
    """A call; `arguments` are the fragments of the raw JSON string."""

    id: str
    name: str
    arguments: Pieces = "{}"


class Refusal(msgspec.Struct, frozen=True, tag="refusal", rename="camel", forbid_unknown_fields=True):
    """Refusal of the provider, in its own words."""

    text: Pieces


class Raw(msgspec.Struct, frozen=True, tag="raw", rename="camel", forbid_unknown_fields=True):
    """One event exactly as written, for what the other parts have no word for; line ends included."""

    data: str


Part: TypeAlias = Text | Reasoning | ToolCall | Refusal | Raw


class Usage(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Token counts, disjoint as in the contract; each wire adds up what it adds up."""

    input: int = 0
    output: int = 0
    cache_read: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None


class Turn(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """One answer.

    `finish` is `stop`, `tool-calls`, `max-tokens`, `stop-sequence`, `refusal`, or a word of the wire's own, sent as it
    stands; absent, it follows from the parts. `usage_at` says where a wire that has a choice puts usage: in an event
    after the finish, in the finish, or several times with growing counts. `interleave` mixes the fragments of the parts
    instead of sending one part after the other.
    """

    parts: Sequence[Part]
    finish: str | None = None
    usage: Usage | None = Usage(input=12, output=7)
    usage_at: Literal["trailing", "attached", "repeated"] = "trailing"
    interleave: bool = False
    stop_sequence: str | None = None
    model: str | None = None

    @property
    def finish_kind(self) -> str:
        """Ending of the answer, in the script's words or the wire's own."""
        if self.finish is not None:
            return self.finish
        if any(isinstance(part, Refusal) for part in self.parts):
            return "refusal"
        return "tool-calls" if any(isinstance(part, ToolCall) for part in self.parts) else "stop"


class Script(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """The answers of a conversation, and how they are delivered.

    Which turn answers a request follows from the request alone: as many assistant messages as its history holds, that
    many turns are skipped, and after the last one it begins again. `delay_ms` is the time between two events.
    `faults` names what goes wrong; see `limen.testing.server.FAULTS`.
    """

    turns: Sequence[Turn]
    delay_ms: float = 0
    faults: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not self.turns:
            raise ValueError("a script has at least one turn")

    def turn(self, assistant_messages: int) -> Turn:
        """Return the turn that answers a request whose history holds that many assistant messages."""
        return self.turns[assistant_messages % len(self.turns)]

    def with_faults(self, *faults: str) -> "Script":
        """Return the script with further faults."""
        return msgspec.structs.replace(self, faults=(*self.faults, *faults))


_SCRIPT = msgspec.json.Decoder(Script)
_SCRIPTS = msgspec.json.Decoder(list[Script])


def decode_script(data: bytes | str) -> Script | list[Script]:
    """Read a script, or a list of scripts to answer one request each, from JSON; a fault is `ValueError`."""
    text = data.encode() if isinstance(data, str) else data
    try:
        return _SCRIPTS.decode(text) if text.lstrip().startswith(b"[") else _SCRIPT.decode(text)
    except msgspec.DecodeError as fault:
        raise ValueError(f"this is no script for the mock provider: {fault}") from None
