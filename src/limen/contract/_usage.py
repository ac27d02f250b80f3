"""Token accounting with disjoint counts."""

import msgspec


class TokenUsage(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """Token counts of one call; absent is unknown, zero is the provider's zero.

    `input_tokens` is uncached input; cache reads and writes stand beside it, so the prompt is the sum of the
    three. `output_tokens` is all that was generated, `reasoning_tokens` its reasoning part.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
