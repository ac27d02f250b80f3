"""Cost of an answer, with its source; `None` where it cannot be known, never zero. Needs `limen[pricing]`.

- `price(response)`: the amount, its currency, the counts that it was made of, and the table that it comes from.
- `Rates`: own prices of a model, which go before the table's.
- `total(prices)`: the sum of several answers, which says how many of them have no price.
- `described(response)`: the price in words, as `limen stream` shows it.
"""

from limen.pricing._price import Price, Rates, Total, described, price, total

__all__ = ["Price", "Rates", "Total", "described", "price", "total"]
