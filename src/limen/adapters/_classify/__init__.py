"""What a provider's error means, as data; for every wire, whether it came as an HTTP body or inside a stream.

`classify_answer` judges an HTTP failure, `classify_event` an error object inside a well-formed stream (E1). Both
read the body's shape (`_body`), then judge in the order of E3: the dialect's own rows
(`ErrorRules`), then the tables that all wires share (`_tables`), then the status.
"""

from limen.adapters._classify._body import ErrorFacts, read_error
from limen.adapters._classify._judge import (
    ErrorRow,
    ErrorRules,
    classify_answer,
    classify_event,
    judge,
    status_code,
)

__all__ = [
    "ErrorFacts",
    "ErrorRow",
    "ErrorRules",
    "classify_answer",
    "classify_event",
    "judge",
    "read_error",
    "status_code",
]
