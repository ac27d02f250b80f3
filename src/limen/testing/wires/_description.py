"""Description of a wire for the kit: how the mock provider serves it, and what its hosts are known to send."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

import msgspec

from limen.contract import TokenUsage
from limen.testing.scripts import MockWire, Turn


class Oddity(NamedTuple):
    """One answer in an odd form: the rule that gives it a meaning, and the text and calls that it means.

    Hosts of a wire were seen to send it though the wire's documentation has no such thing (W2-W4, W8).
    """

    rule: str
    what: str
    turn: Turn
    text: str = ""
    calls: Sequence[tuple[str, str, str]] = ()


class WireDescription(msgspec.Struct, frozen=True, kw_only=True):
    """Facts of a wire that cannot be seen from outside. Where a wire lacks something, its checks do not apply.

    `mock` serves it. `sse`: whether it is framed as server-sent events. `arguments`: whether it hands over tool
    arguments as strings, or as objects; `takes_arguments`: the same for the way back.
    `block_events`: whether it has block events of its own (C18). `stop_sequences`: whether it says
    which stop sequence matched. `unknown_events`: what its forward-compatibility rule says of event types that nobody
    documented (C15). `codes`: what the provider's row makes of a fault, where that differs from the contract's general
    judgement. `oddities`: what its hosts send beside its documentation. `tools`: whether requests may hold tools.
    `counts`: the fields of `TokenUsage` that it reports. `claims_calls`: whether it has a finish word that says that
    there are tool calls. `end_marker`: whether a stream says itself that it is complete, before its body ends.
    `finish_ends`: whether the event with the finish word is the end of the stream. `refusal_words`: whether a refusal
    has words beside the text.
    """

    mock: MockWire
    sse: bool = True
    arguments: Literal["string", "object"] = "string"
    takes_arguments: Literal["string", "object"] = "string"
    block_events: bool = False
    reasoning: bool = True
    stop_sequences: bool = False
    unknown_events: Literal["ignore", "refuse"] = "ignore"
    codes: Mapping[str, str] = MappingProxyType({})
    oddities: Sequence[Oddity] = ()
    tools: bool = True
    counts: Collection[str] = TokenUsage.__struct_fields__
    claims_calls: bool = True
    end_marker: bool = True
    finish_ends: bool = False
    refusal_words: bool = True

    @property
    def name(self) -> str:
        """The wire's name."""
        return self.mock.name
