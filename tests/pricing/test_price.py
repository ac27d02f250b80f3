"""Prices of answers: by hand for ten models, own rates, sums, and what has no price."""

from decimal import Decimal

import pytest

from limen.contract import STOP, CallInfo, Response, TokenUsage
from limen.pricing import Price, Rates, Total, described, price, total

USAGE = TokenUsage(input_tokens=1000, output_tokens=500)
MILLION = Decimal(1_000_000)


def answer(route: str, model: str, usage: TokenUsage | None = USAGE, served: str | None = None) -> Response:
    return Response(None, STOP, usage, info=CallInfo(route, model, response_model=served))


@pytest.mark.parametrize(
    ("route", "model", "each_input", "each_output"),
    [
        ("openai", "gpt-4o", "2.5", "10"),
        ("openai", "gpt-4o-mini", "0.15", "0.6"),
        ("openai", "o3-mini", "1.1", "4.4"),
        ("anthropic", "claude-sonnet-4-5", "3", "15"),
        ("anthropic", "claude-haiku-4-5", "1", "5"),
        ("gemini", "gemini-2.5-flash", "0.3", "2.5"),
        ("mistral", "mistral-large-latest", "2", "6"),
        ("cohere", "command-r-08-2024", "0.15", "0.6"),
        ("bedrock", "anthropic.claude-3-haiku-20240307-v1:0", "0.25", "1.25"),
        ("xai", "grok-3", "3", "15"),
    ],
)
def test_ten_models_by_hand(route: str, model: str, each_input: str, each_output: str) -> None:
    """1,000 tokens in and 500 out cost what the price lists say for a million, exactly."""
    by_hand = 1000 * Decimal(each_input) / MILLION + 500 * Decimal(each_output) / MILLION

    found = price(answer(route, model))

    assert found is not None
    assert (found.amount, found.currency, found.usage, found.source) == (by_hand, "USD", USAGE, "genai-prices")
    assert found.version


def test_cached_input_has_its_own_price() -> None:
    """Cache reads and writes stand beside the uncached input, each at its price (Anthropic: 3, 0.3, 3.75 and 15)."""
    usage = TokenUsage(input_tokens=100, output_tokens=10, cache_read_tokens=1000, cache_write_tokens=200)
    by_hand = (100 * 3 + 1000 * Decimal("0.3") + 200 * Decimal("3.75") + 10 * 15) / MILLION

    found = price(answer("anthropic", "claude-sonnet-4-5", usage))

    assert found is not None
    assert found.amount == by_hand


def test_the_model_that_answered_counts() -> None:
    """The provider's own name for the model goes before the asked one, which counts where that one is unknown."""
    served = price(answer("openai", "gpt-4o", served="gpt-4o-mini-2024-07-18"))
    unknown = price(answer("openai", "gpt-4o", served="nobody-knows-it"))

    assert (served and served.amount, unknown and unknown.amount) == (Decimal("0.00045"), Decimal("0.0075"))


@pytest.mark.parametrize(
    "response",
    [
        answer("openai", "nobody-knows-it"),
        answer("my-own-server", "gpt-4o"),
        answer("openai", "gpt-4o", None),
        answer("openai", "gpt-4o", TokenUsage(output_tokens=5)),
        answer("openai", "gpt-4o", TokenUsage(input_tokens=5)),
        Response(None, STOP, USAGE),
    ],
)
def test_what_is_unknown_has_no_price(response: Response) -> None:
    """Without a known model, a known provider and both counts the price is None, never zero."""
    assert price(response) is None
    assert described(response) is None


def test_the_provider_of_a_route_can_be_told() -> None:
    """A route of another name has the prices of the provider that is named."""
    found = price(answer("work", "gpt-4o"), provider="openai")

    assert found is not None
    assert found.amount == Decimal("0.0075")


def test_own_rates_go_first() -> None:
    """Own prices by route and model go before the table's; a count without a rate makes the price unknown."""
    rates = Rates(input=Decimal("1.5"), output=Decimal(2), cache_read=Decimal("0.1"), currency="EUR")
    cached = TokenUsage(input_tokens=1000, output_tokens=0, cache_read_tokens=10_000)
    own = {"openai/gpt-4o": rates}

    assert price(answer("openai", "gpt-4o", cached), own=own) == Price(Decimal("0.0025"), "EUR", cached, "own")
    written = TokenUsage(input_tokens=1, output_tokens=1, cache_write_tokens=1)
    assert price(answer("openai", "gpt-4o", written), own=own) is None


def test_a_sum_says_what_it_does_not_know() -> None:
    """Sums are by currency, and count the answers without a price."""
    euro = Price(Decimal("0.1"), "EUR", USAGE, "own")
    dollars = [Price(Decimal("0.2"), "USD", USAGE, "own")] * 3

    assert total([euro, *dollars, None]) == Total({"EUR": Decimal("0.1"), "USD": Decimal("0.6")}, 4, 1)
    assert total([]) == Total({}, 0, 0)


def test_words() -> None:
    """The words name amount, currency, and the table with its version."""
    words = described(answer("openai", "gpt-4o"))

    assert words is not None
    assert words.startswith("0.0075 USD (genai-prices ")
