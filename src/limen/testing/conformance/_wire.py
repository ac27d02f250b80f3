"""What the judge must know of a wire, and what it hands to the adapter's author."""

from collections.abc import Callable, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

import msgspec

from limen.contract import Limits, LlmAdapter, Timeouts, TokenUsage
from limen.testing.conformance import _oddities
from limen.testing.conformance._oddities import Oddity
from limen.testing.server import SPEAKERS, Speaker

API_KEY: Final = "sk-limen-conformance-0123456789abcdef"


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where an adapter under test shall connect, with which key and which limits.

    A factory passes all four on. One that cannot (because it wraps a library without such limits) leaves them out, and
    the checks that need them say so by failing.
    """

    base_url: str
    api_key: str = API_KEY
    timeouts: Timeouts = Timeouts()
    limits: Limits = Limits()


Factory: TypeAlias = Callable[[Endpoint], LlmAdapter]
"""Makes the adapter under test, for one endpoint; called for every check anew."""


class WireDescription(msgspec.Struct, frozen=True, kw_only=True):
    """What of a wire cannot be seen from outside. Where a wire lacks something, its checks do not apply.

    `speaker` speaks it. `sse`: whether it is framed as server-sent events. `arguments`: whether it hands over tool
    arguments as strings, or as objects; `takes_arguments`: the same for the way back; `no_arguments`: what a call
    without any becomes. `block_events`: whether it has block events of its own (C18). `stop_sequences`: whether it says
    which stop sequence matched. `unknown_events`: what its forward-compatibility rule says of event types that nobody
    documented (C15). `codes`: what the provider's row makes of a fault, where that differs from the contract's general
    judgement. `oddities`: what its hosts send beside its documentation. `tools`: whether requests may hold tools.
    `counts`: the fields of `TokenUsage` that it reports.
    """

    speaker: Speaker
    sse: bool = True
    arguments: Literal["string", "object"] = "string"
    takes_arguments: Literal["string", "object"] = "string"
    no_arguments: Literal["", "{}"] = ""
    block_events: bool = False
    reasoning: bool = True
    stop_sequences: bool = False
    unknown_events: Literal["ignore", "refuse"] = "ignore"
    codes: Mapping[str, str] = MappingProxyType({})
    oddities: Sequence[Oddity] = ()
    tools: bool = True
    counts: Collection[str] = TokenUsage.__struct_fields__

    @property
    def name(self) -> str:
        """The wire's name."""
        return self.speaker.name


def _speaker(name: str) -> Speaker:
    return next(speaker for speaker in SPEAKERS if speaker.name == name)


WIRES: Final[Mapping[str, WireDescription]] = MappingProxyType(
    {
        "openai-chat": WireDescription(speaker=_speaker("openai-chat"), oddities=_oddities.CHAT),
        "anthropic-messages": WireDescription(
            speaker=_speaker("anthropic-messages"),
            takes_arguments="object",
            block_events=True,
            stop_sequences=True,
            no_arguments="{}",
            oddities=_oddities.MESSAGES,
        ),
    }
)


def wire_named(name: str) -> WireDescription:
    """Return the description of a wire that limen knows; another name is a `ValueError`."""
    if name not in WIRES:
        raise ValueError(f"the kit describes the wires {', '.join(WIRES)}, not {name!r}; give it a WireDescription")
    return WIRES[name]
