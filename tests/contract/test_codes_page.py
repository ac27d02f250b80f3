"""The page of error codes says what the code says."""

import re
from pathlib import Path

from limen.contract import CODES, RetryPolicy

PAGE = Path(__file__).resolve().parents[2] / "docs" / "errors.md"


def test_the_page_lists_every_code_with_its_meaning() -> None:
    """docs/errors.md has one row for each code, in order and word for word, and the open family last (E3)."""
    rows = re.findall(r"^\| `([^`]+)` \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)

    assert rows == [*CODES.items(), ("HTTP_<n>", "any other status ≥ 300; redirects are not followed")]


def test_the_page_names_the_codes_that_are_retried() -> None:
    """The page's list of retried codes is the default policy's (R9)."""
    line = PAGE.read_text(encoding="utf-8").splitlines()[-1]

    assert re.findall(r"`([A-Z_]+)`", line) == list(RetryPolicy().codes)
