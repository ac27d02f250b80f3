"""Foreign text whose controls are shown."""

from limen.contract import visible


def test_controls_are_escapes_and_text_is_text() -> None:
    """Controls and bidirectional marks are escapes; tab, line feed and every other character stay as they are."""
    assert visible("a\x1b[2J\r\u202eb\u2069\u200f\u061c\x9f") == (r"a\x1b[2J\x0d\u202eb\u2069\u200f\u061c\x9f")
    assert visible("tab\tline\nü é 😀") == "tab\tline\nü é 😀"
