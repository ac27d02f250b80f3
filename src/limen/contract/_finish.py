"""How a stream ended."""

from typing import Final, Literal, TypeAlias

import msgspec

from limen.contract._failure import Failure

FinishKind: TypeAlias = Literal["stop", "tool-calls", "max-tokens", "aborted", "error"]


class FinishReason(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """The outcome: `failure` is there with `aborted` and `error`, and only then."""

    kind: FinishKind
    failure: Failure | None = None


STOP: Final = FinishReason("stop")
TOOL_CALLS: Final = FinishReason("tool-calls")
MAX_TOKENS: Final = FinishReason("max-tokens")
