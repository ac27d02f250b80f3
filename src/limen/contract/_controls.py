"""Control characters of foreign text, shown in place of being obeyed."""

from typing import Final

# What moves a terminal's cursor, changes its state, or reorders a line: C0 and C1 controls but tab and line feed, and
# the bidirectional marks, embeddings and isolates of Unicode.
_OBEYED: Final = (
    *(sign for sign in range(0x20) if sign not in (0x09, 0x0A)),
    *range(0x7F, 0xA0),
    *(0x061C, 0x200E, 0x200F),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
)
_ESCAPES: Final = {sign: f"\\u{sign:04x}" if sign > 0xFF else f"\\x{sign:02x}" for sign in _OBEYED}


def visible(text: str) -> str:
    r"""Return a text whose controls and bidirectional marks are written as escapes, such as `\x1b` and `\u202e`."""
    return text.translate(_ESCAPES)
