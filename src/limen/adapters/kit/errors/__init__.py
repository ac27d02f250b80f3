"""Classification of a provider's errors, as data; for every wire, in an HTTP body or inside a stream.

`classify_answer` judges an HTTP failure, `classify_event` an error object inside a well-formed stream (E1). Both
read the body's shape (`_body`), then judge in the order of E3: the dialect's own rows (`ErrorRules`), then the tables
that all wires share (`_tables`, `_sentences`), then the status. `own_rules` puts a route's own sentences first.
"""

from limen.adapters.kit.errors._body import ErrorFacts, read_error
from limen.adapters.kit.errors._headers import delay_ms, rate_limits, request_id, retry_after_ms, should_retry
from limen.adapters.kit.errors._judge import (
    ErrorRow,
    ErrorRules,
    classify_answer,
    classify_event,
    judge,
    own_rules,
    status_code,
)

__all__ = [
    "ErrorFacts",
    "ErrorRow",
    "ErrorRules",
    "classify_answer",
    "classify_event",
    "delay_ms",
    "judge",
    "own_rules",
    "rate_limits",
    "read_error",
    "request_id",
    "retry_after_ms",
    "should_retry",
    "status_code",
]
