"""The judge's page in a real browser: it renders by itself, and a failure's stream can be opened."""

import shutil
import subprocess
from pathlib import Path

import pytest

from limen.testing.conformance import Report, Result, page

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
REPORT = Report(
    "an adapter",
    "openai-chat",
    (
        Result("C1", "text-reply", "An ordered text reply", True, "pass"),
        Result("C4", "assembly", "Equal <ends>", False, "fail", "text: C4: differs & more", ['{"type":"text-delta"}']),
        Result("S1", "sse-forms", "Every form", False, "n/a", "no server-sent events"),
    ),
)


@pytest.mark.browser
@pytest.mark.skipif(BROWSER is None, reason="Chromium is not installed")
def test_the_page_renders_by_itself(tmp_path: Path) -> None:
    """From a file and without a network the page has every row, and text stays text."""
    report = tmp_path / "report.html"
    report.write_text(page(REPORT), encoding="utf-8")
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", report.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout

    assert shown.count("<tr>") == 5
    assert "Equal &lt;ends&gt;" in shown
    assert "<details><summary>the exact stream</summary>" in shown
    assert "an adapter on openai-chat: 1 passed, 1 failed, 1 not applicable" in shown
