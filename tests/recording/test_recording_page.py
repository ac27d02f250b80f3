"""What docs/recording.md says is what the code does."""

import re
import subprocess
import sys
from pathlib import Path

from limen.recording import render_text, trace_exchange
from limen.recording._redact import FIELDS, REQUEST_HEADERS, REQUEST_IDS, RESPONSE_HEADERS
from recording.test_trace import MESSAGES, exchange

PAGE = Path(__file__).parents[2] / "docs" / "recording.md"
WORDS = PAGE.read_text(encoding="utf-8")


def named(begin: str, end: str) -> set[str]:
    """The names in back-ticks between two phrases."""
    part = re.sub(r"\s+", " ", WORDS).split(begin, 1)[1].split(end, 1)[0]
    return set(re.findall(r"`([a-zA-Z_-]+)`", part))


def test_the_pages_example_prints_what_the_page_shows(tmp_path: Path) -> None:
    """The example records a call as it stands, and its output is the block below it."""
    section = WORDS.split("<!-- run: record -->", 1)[1]
    program, shown = re.findall(r"```(?:python|text)\n(.*?)```", section, re.DOTALL)[:2]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.stdout, done.stderr) == (shown, "")
    assert "sk-not-written" not in (tmp_path / "calls.json").read_text(encoding="utf-8")


def test_the_page_names_what_is_kept() -> None:
    """The allowed headers and the cleaned fields are those of the code."""
    assert named("Of a request:", "Of a response:") == REQUEST_HEADERS
    assert named("Of a response:", "and the headers") == RESPONSE_HEADERS - set(REQUEST_IDS)
    assert named("the values of the fields", "and of those") == set(FIELDS)


def test_the_page_shows_a_trace_as_it_is_drawn() -> None:
    """The timeline on the page is that of a capture."""
    lines = render_text(trace_exchange(exchange("tool-use.sse"), MESSAGES), width=20)
    assert "\n".join(lines) in WORDS
