"""Finish reason, the outcome of a stream."""

from typing import Final, Literal, TypeAlias

import msgspec

from limen.contract._failure import Failure

FinishKind: TypeAlias = Literal["stop", "tool-calls", "max-tokens", "aborted", "error"]


class FinishReason(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """Outcome of a stream; `failure` is set exactly for the kinds `aborted` and `error`."""

    kind: FinishKind
    failure: Failure | None = None


STOP: Final = FinishReason("stop")
TOOL_CALLS: Final = FinishReason("tool-calls")
MAX_TOKENS: Final = FinishReason("max-tokens")
