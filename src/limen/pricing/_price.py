"""Amount of an answer from its counts and a table of prices, in exact decimals."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from importlib.metadata import version
from typing import Final

import msgspec

from limen.contract import FrozenDict, Response, TokenUsage

_PER_MILLION: Final = Decimal(1_000_000)
_TABLE: Final = "genai-prices"

# The table's name for a provider whose conventional route has another; read 2026-12-01 from genai-prices 0.2.3.
_PROVIDERS: Final[Mapping[str, str]] = {
    "bedrock": "aws",
    "gemini": "google",
    "vertex": "google",
    "moonshot": "moonshotai",
    "xai": "x-ai",
}
# Routes whose name is also the table's; a name that is in neither list is a host that nobody knows the prices of.
_SAME: Final = frozenset(
    {
        *("anthropic", "azure", "cerebras", "cohere", "deepseek", "fireworks", "groq", "minimax", "mistral"),
        *("openai", "openrouter", "perplexity", "together", "zai"),
    }
)


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """Prices of a model for a million tokens, in one currency; a kind of tokens without a price has none.

    `input` is uncached input; `cache_read` and `cache_write` are what stands beside it in `TokenUsage`.
    """

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    currency: str = "USD"


class Price(msgspec.Struct, frozen=True):
    """Cost of one answer.

    `usage` holds the counts it was made of; `source` is `genai-prices` or `own`, and `version` is the table's.
    """

    amount: Decimal
    currency: str
    usage: TokenUsage
    source: str
    version: str | None = None


class Total(msgspec.Struct, frozen=True):
    """Sum of several answers: an amount for each currency, how many were priced, and how many could not be."""

    amounts: Mapping[str, Decimal]
    priced: int
    unknown: int


def price(
    response: Response, *, provider: str | None = None, own: Mapping[str, Rates] = FrozenDict[Rates]()
) -> Price | None:
    """Return what an answer cost; `None` where its model or a count that matters is unknown.

    `own` gives prices by `"route/model"` and goes before the table. The table is asked for the provider that the
    route's conventional name stands for; for a route of another name `provider` is the table's own id, such as
    `"openai"`. A cache count that the provider does not report is none; without the counts of input and output there is
    no price.
    """
    usage, call = response.usage, response.info
    if call is None or usage is None or usage.input_tokens is None or usage.output_tokens is None:
        return None
    rates = own.get(f"{call.provider}/{call.model}")
    if rates is not None:
        return _from_rates(usage, rates)
    named = provider or _PROVIDERS.get(call.provider) or (call.provider if call.provider in _SAME else None)
    if named is None:
        return None
    for model in dict.fromkeys((call.response_model or call.model, call.model)):
        found = _from_table(usage, model, named)
        if found is not None:
            return found
    return None


def total(prices: Iterable[Price | None]) -> Total:
    """Return the sum of prices; those that are unknown are counted, not taken for zero."""
    amounts: dict[str, Decimal] = {}
    priced = unknown = 0
    for one in prices:
        if one is None:
            unknown += 1
            continue
        priced += 1
        amounts[one.currency] = amounts.get(one.currency, Decimal(0)) + one.amount
    return Total(FrozenDict(amounts), priced, unknown)


def described(response: Response) -> str | None:
    """Return an answer's price in words, such as `0.000195 USD (genai-prices 0.2.3)`; `None` where it is unknown."""
    found = price(response)
    if found is None:
        return None
    return f"{found.amount.normalize():f} {found.currency} ({found.source} {found.version})"


def _from_rates(usage: TokenUsage, rates: Rates) -> Price | None:
    amount = Decimal(0)
    counts = (
        (usage.input_tokens, rates.input),
        (usage.output_tokens, rates.output),
        (usage.cache_read_tokens, rates.cache_read),
        (usage.cache_write_tokens, rates.cache_write),
    )
    for count, rate in counts:
        if not count:
            continue
        if rate is None:
            return None
        amount += count * rate / _PER_MILLION
    return Price(amount, rates.currency, usage, "own")


def _from_table(usage: TokenUsage, model: str, provider: str) -> Price | None:
    import genai_prices  # the table takes a while to load, and only where a price is asked for

    read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
    counts = genai_prices.Usage(
        input_tokens=(usage.input_tokens or 0) + read + written,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    try:
        found = genai_prices.calc_price(counts, model, provider_id=provider)
    except LookupError:
        return None
    return Price(found.total_price, "USD", usage, _TABLE, version(_TABLE))
