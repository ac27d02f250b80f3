"""Endpoint of a check: what a factory needs to make the adapter under test."""

from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from limen.contract import Limits, LlmAdapter, Timeouts

API_KEY: Final = "sk-limen-conformance-0123456789abcdef"


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Address, key and limits for an adapter under test.

    A factory passes all four on. One that cannot (because it wraps a library without such limits) leaves them out, and
    the checks that need them say so by failing.
    """

    base_url: str
    api_key: str = API_KEY
    timeouts: Timeouts = Timeouts()
    limits: Limits = Limits()


Factory: TypeAlias = Callable[[Endpoint], LlmAdapter]
"""Makes the adapter under test, for one endpoint; called for every check anew."""
