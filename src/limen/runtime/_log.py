"""The logger `limen`: DEBUG only, no bodies, scrubbed (E5)."""

import logging
from typing import Final

from limen.contract import scrub

_LOGGER: Final = logging.getLogger("limen")


def debug(message: str, *facts: object) -> None:
    """Log one line at DEBUG; what it says of foreign things is scrubbed before any handler sees it."""
    if _LOGGER.isEnabledFor(logging.DEBUG):
        _LOGGER.debug("%s", scrub(message % facts))
