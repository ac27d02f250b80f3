"""The page that `make bench` writes: spread, date, machine, missed targets; at every width and in dark mode."""

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from browsing import contrast, laid_out, luminance

REPORT: dict[str, Any] = runpy.run_path(str(Path(__file__).resolve().parents[2] / "benchmarks" / "report.py"))
ROWS = [
    {"subject": subject, "case": "throughput", "us_per_chunk": value, "repeat": 0}
    for subject, values in (("floor", (1.0, 1.1, 1.2)), ("limen", (1.5, 1.6, 1.9)), ("openai", (20.0, 24.0, 30.0)))
    for value in values
] + [
    {"subject": subject, "case": "small", "cpu_ms": value, "repeat": 0}
    for subject, value in (("floor", 0.1), ("limen", 0.3))
]
ROWS.append({"subject": "litellm", "case": "small", "failed": "no <such> module", "repeat": 0})


def test_the_page_says_what_was_measured() -> None:
    """Median with spread and runs, the date and machine, what the floor is, and a target that was missed."""
    page: Callable[..., str] = REPORT["page"]
    text = page(ROWS)

    assert "1.6 (1.5 to 1.9, 3 runs)" in text
    assert "litellm failed in small: no &lt;such&gt; module" in text
    assert REPORT["machine"]() in text
    assert "The floor is the best that plain Python can do" in text
    assert "<tr class=missed><td>MISSED<td>small<td>chat<td>floor<td>2.5<td>3</tr>" in text
    assert "<tr><td>held<td>throughput<td>chat<td>floor<td>2<td>1.45</tr>" in text


@pytest.mark.browser
@pytest.mark.parametrize("width", [400, 800, 1200])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_browser_draws_the_benchmarks(tmp_path: Path, width: int, dark: bool) -> None:
    """At each width, light and dark, nothing overflows, a bar is as wide as its median, and contrast is enough."""
    measure = (
        "{over:document.documentElement.scrollWidth-document.documentElement.clientWidth,wide:innerWidth,"
        "page:getComputedStyle(document.body).backgroundColor,ink:getComputedStyle(document.body).color,"
        "soft:getComputedStyle(document.querySelector('p')).color,"
        "missed:getComputedStyle(document.querySelector('.missed')).color,"
        "bar:getComputedStyle(document.querySelector('.limen .b')).backgroundColor,"
        "part:document.querySelector('.limen .b').offsetWidth/document.querySelector('.limen .l').offsetWidth}"
    )

    facts = laid_out(REPORT["page"](ROWS), measure, tmp_path, width=width, dark=dark)

    assert (facts["wide"], facts["over"]) == (width, 0)
    assert (luminance(facts["page"]) < 0.1) is dark
    assert min(contrast(facts[name], facts["page"]) for name in ("ink", "soft", "missed")) >= 4.5
    assert contrast(facts["bar"], facts["page"]) >= 3
    assert facts["part"] == pytest.approx(1.6 / 30, abs=0.01)
